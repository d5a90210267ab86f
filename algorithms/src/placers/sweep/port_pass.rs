//! List passes where each device sends one tensor at a time and receives one at a time.

use placebench_datasets::{DeviceId, OpId, Time, UnitId};

use super::problem::Problem;
use super::schedule::{Schedule, by_tail};
use super::way::Way;
use crate::placers::list::{Slot, planned_order};
use crate::{Assignment, StopToken};

/// A schedule that guides a pass.
pub(super) struct Guide<'g> {
    /// The device of each op in it.
    devices: &'g [u32],
    /// The time from each op's start to its end.
    tails: &'g [Time],
}

/// Schedules the ops in the order given, a linear extension, where each device sends one tensor at a time and receives one at a
/// time, as the network model `one_port` has it. Nothing is inserted. With a guide, a device costs what is ahead of the op if
/// all its successors stay where they are. `None` if a unit finds no memory, or it is time to stop.
///
/// # Reference
/// HEFT with ports: O. Beaumont, V. Boudet, Y. Robert, *The iso-level scheduling heuristic for heterogeneous processors*, PDP 2002.
///
/// # Complexity
/// O(edges · (devices + log in-degree)).
pub(super) fn port_pass(
    problem: &Problem<'_>,
    sequence: &[OpId],
    guide: Option<Guide<'_>>,
    stop: &StopToken,
) -> Option<Schedule> {
    let mut pass = PortPass::new(problem, guide);
    for (nth, &op) in sequence.iter().enumerate() {
        stop.check_at(nth).ok()?;
        pass.take(op);
        let unit = UnitId(problem.units[op.index()]);
        let device = match pass.assignment.device_of_unit(unit) {
            Some(device) => device,
            None => {
                let device = pass.best_device(op, unit)?;
                pass.assignment.assign(unit, device);
                device
            }
        };
        pass.schedule(op, device);
    }
    let order = planned_order(sequence.iter().copied(), &pass.slots).into_iter().map(|op| op.0).collect();
    let devices = pass.slots.iter().map(|slot| slot.device.0).collect();
    Some(Schedule::new(problem.forward(), devices, order))
}

/// A [`port_pass`] guided by a schedule, in the order of the paths that are left on links that are slower because transfers wait.
pub(super) fn informed_port_pass(
    problem: &Problem<'_>,
    slower: &Problem<'_>,
    former: &Schedule,
    stop: &StopToken,
) -> Option<Schedule> {
    let tails = former.tails(slower.forward());
    let guide = Guide { devices: &former.devices, tails: &tails };
    port_pass(problem, &by_tail(former, &tails), Some(guide), stop)
}

/// An output of an op on another device.
#[derive(Clone, Copy)]
struct Copy {
    device: u32,
    bytes: f64,
    arrival: Time,
}

/// A transfer that an op needs on its device.
struct Needed {
    producer: u32,
    copy: Copy,
    /// When it has left both ports, and how long it holds them.
    moved: Time,
    takes: Time,
    /// What it takes of the sender's time.
    send: Time,
}

/// The state of a pass.
struct PortPass<'p> {
    way: Way<'p>,
    guide: Option<Guide<'p>>,
    assignment: Assignment<'p>,
    slots: Vec<Slot>,
    /// When each device is free, and its ports.
    free: Vec<Time>,
    sends: Vec<Time>,
    receives: Vec<Time>,
    /// By op.
    copies: Vec<Vec<Copy>>,
    /// What the op at hand waits for, in the order in which it is sent.
    inputs: Vec<(u32, f64)>,
    /// What is ahead of the op at hand on each device.
    ahead: Vec<Time>,
    needed: Vec<Needed>,
}

impl<'p> PortPass<'p> {
    fn new(problem: &'p Problem<'_>, guide: Option<Guide<'p>>) -> Self {
        let free = vec![0.0; problem.devices];
        Self {
            way: problem.forward(),
            guide,
            assignment: problem.assignment(),
            slots: vec![Slot::default(); problem.ops],
            sends: free.clone(),
            receives: free.clone(),
            copies: vec![Vec::new(); problem.ops],
            inputs: Vec::new(),
            ahead: free.clone(),
            needed: Vec::new(),
            free,
        }
    }

    /// Takes an op at hand: its inputs by when they are made, and what is ahead of it.
    fn take(&mut self, op: OpId) {
        let finish = |op: u32| self.slots[op as usize].finish;
        self.inputs.clear();
        self.inputs.extend_from_slice(self.way.before.of(op.index()));
        self.inputs.sort_by(|a, b| finish(a.0).total_cmp(&finish(b.0)).then(a.0.cmp(&b.0)).then(b.1.total_cmp(&a.1)));
        self.ahead.fill(0.0);
        if let Some(guide) = &self.guide {
            for &(after, bytes) in self.way.after.of(op.index()) {
                let (device, tail) = (guide.devices[after as usize], guide.tails[after as usize]);
                self.way.to.raise(device, tail, bytes, &mut self.ahead);
            }
        }
    }

    /// The device on which the op at hand finishes first, counted with what is ahead of it; ties: the lowest id.
    fn best_device(&mut self, op: OpId, unit: UnitId) -> Option<DeviceId> {
        let problem = self.way.problem;
        let mut best: Option<(Time, DeviceId)> = None;
        for device in problem.allowed(unit.0).iter().map(|&device| DeviceId(device)) {
            if !self.assignment.has_room(unit, device) {
                continue;
            }
            let value = self.start_on(device) + problem.exec(op.index(), device.0) + self.ahead[device.index()];
            if best.is_none_or(|(best, _)| value < best) {
                best = Some((value, device));
            }
        }
        best.map(|(_, device)| device)
    }

    /// When the op at hand could start on a device. Leaves the transfers that it would take in `needed`.
    fn start_on(&mut self, device: DeviceId) -> Time {
        let (mut ready, mut port, mut received) = (0.0f64, self.receives[device.index()], 0.0);
        self.needed.clear();
        for &(producer, bytes) in &self.inputs {
            let from = self.slots[producer as usize];
            let same = |copy: &&Copy| (copy.device, copy.bytes) == (device.0, bytes);
            let arrival = if from.device == device {
                from.finish
            } else if let Some(copy) = self.copies[producer as usize].iter().find(same) {
                copy.arrival
            } else {
                let (send, receive) = self.way.problem.ends(from.device.0, device.0, bytes);
                let takes = self.way.from.time(from.device.0, device.0, bytes) - send - receive;
                let sender = if takes > 0.0 { self.sends[from.device.index()] } else { 0.0 };
                let moved = (from.finish + send).max(port).max(sender) + takes;
                if takes > 0.0 {
                    port = moved;
                }
                received += receive;
                let copy = Copy { device: device.0, bytes, arrival: moved + receive };
                self.needed.push(Needed { producer, copy, moved, takes, send });
                copy.arrival
            };
            ready = ready.max(arrival);
        }
        ready.max(self.free[device.index()] + received)
    }

    /// Schedules the op at hand with its transfers.
    fn schedule(&mut self, op: OpId, device: DeviceId) {
        let start = self.start_on(device);
        for Needed { producer, copy, moved, takes, send } in self.needed.drain(..) {
            let from = self.slots[producer as usize].device;
            self.free[from.index()] += send;
            if takes > 0.0 {
                (self.sends[from.index()], self.receives[device.index()]) = (moved, moved);
            }
            self.copies[producer as usize].push(copy);
        }
        let finish = start + self.way.problem.exec(op.index(), device.0);
        self.slots[op.index()] = Slot { device, start, finish };
        self.free[device.index()] = finish;
    }
}
