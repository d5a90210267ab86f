//! A schedule as the searches keep it: the device of each op, and an order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use placebench_datasets::{OpId, Time};

use super::problem::Problem;
use super::way::Way;

/// Where each op runs, and a linear extension of the graph that says in which order each device executes its ops.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Schedule {
    /// The device of each op.
    pub(super) devices: Vec<u32>,
    /// All ops.
    pub(super) order: Vec<u32>,
    /// When the last op finishes.
    pub(super) makespan: Time,
}

impl Schedule {
    /// A schedule with its makespan.
    pub(super) fn new(way: Way<'_>, devices: Vec<u32>, order: Vec<u32>) -> Self {
        let mut finish = vec![0.0; devices.len()];
        let makespan = way.finish_times(&devices, order.iter().copied(), &mut finish);
        Self { devices, order, makespan }
    }

    /// The time from each op's start to the end in a direction of time.
    pub(super) fn tails(&self, way: Way<'_>) -> Vec<Time> {
        let mut tails = vec![0.0; self.devices.len()];
        way.reversed().finish_times(&self.devices, self.order.iter().rev().copied(), &mut tails);
        tails
    }

    /// Given devices, each executing, whenever it is free, what has the longest path behind it of the ops whose inputs are there.
    ///
    /// # Complexity
    /// O(edges + ops · log ops).
    pub(super) fn of_devices(problem: &Problem<'_>, devices: Vec<u32>) -> Self {
        let way = problem.forward();
        let topological: Vec<u32> = problem.instance.graph().topological_order().map(|op| op.0).collect();
        let mut tails = vec![0.0; problem.ops];
        for &op in topological.iter().rev() {
            let (op, device) = (op as usize, devices[op as usize]);
            let behind =
                way.after.of(op).iter().map(|&(after, bytes)| {
                    way.from.time(device, devices[after as usize], bytes) + tails[after as usize]
                });
            tails[op] = behind.fold(0.0, Time::max) + problem.exec(op, device);
        }
        let order = dispatched(way, &devices, &tails);
        Self::new(way, devices, order)
    }

    /// The same devices and order on a problem with other links.
    pub(super) fn on(&self, problem: &Problem<'_>) -> Self {
        Self::new(problem.forward(), self.devices.clone(), self.order.clone())
    }

    /// The same schedule with time reversed.
    pub(super) fn reversed(mut self) -> Self {
        self.reverse();
        self
    }

    /// Reverses time.
    pub(super) fn reverse(&mut self) {
        self.order.reverse();
    }
}

/// The ops in the order in which they start if each device, whenever it is free, executes the op of the longest tail of those whose
/// inputs are there. Ties: the lowest id.
fn dispatched(way: Way<'_>, devices: &[u32], tails: &[Time]) -> Vec<u32> {
    // Bits of floats ≥ 0 order as they do.
    let key = |time: Time| time.to_bits();
    let ops = devices.len();
    let mut missing: Vec<u32> = (0..ops).map(|op| way.before.of(op).len() as u32).collect();
    let mut arrivals = vec![0.0; ops];
    let mut ready: Vec<BinaryHeap<(u64, Reverse<u32>)>> = vec![BinaryHeap::new(); way.problem.devices];
    let mut is_busy = vec![false; way.problem.devices];
    // An op becomes ready, or, numbered from `ops` on, a device becomes free.
    let mut events: BinaryHeap<Reverse<(u64, usize)>> =
        (0..ops).filter(|&op| missing[op] == 0).map(|op| Reverse((key(0.0), op))).collect();
    let (mut order, mut touched) = (Vec::with_capacity(ops), Vec::new());
    while let Some(&Reverse((now, _))) = events.peek() {
        // All that happens now comes before any decision now.
        while let Some(Reverse((_, what))) = events.peek().copied().filter(|event| event.0.0 == now) {
            events.pop();
            let device = match what.checked_sub(ops) {
                Some(device) => {
                    is_busy[device] = false;
                    device
                }
                None => {
                    ready[devices[what] as usize].push((key(tails[what]), Reverse(what as u32)));
                    devices[what] as usize
                }
            };
            touched.push(device);
        }
        for device in touched.drain(..) {
            if is_busy[device] {
                continue;
            }
            let Some((_, Reverse(op))) = ready[device].pop() else { continue };
            order.push(op);
            is_busy[device] = true;
            let finish = f64::from_bits(now) + way.problem.exec(op as usize, device as u32);
            events.push(Reverse((key(finish), ops + device)));
            for &(after, bytes) in way.after.of(op as usize) {
                let after = after as usize;
                let arrival = finish + way.from.time(device as u32, devices[after], bytes);
                arrivals[after] = if arrival > arrivals[after] { arrival } else { arrivals[after] };
                missing[after] -= 1;
                if missing[after] == 0 {
                    events.push(Reverse((key(arrivals[after]), after)));
                }
            }
        }
    }
    order
}

/// The ops of a schedule by their tails, longest first; equal ones as they are.
pub(super) fn by_tail(schedule: &Schedule, tails: &[Time]) -> Vec<OpId> {
    sorted_by(schedule.order.iter().copied(), |op| -tails[op as usize]).into_iter().map(OpId).collect()
}

/// The ops by a key, least first; equal keys stay in the order given.
pub(super) fn sorted_by(ops: impl Iterator<Item = u32>, key: impl Fn(u32) -> Time) -> Vec<u32> {
    let mut keyed: Vec<(Time, u32, u32)> = ops.zip(0..).map(|(op, position)| (key(op), position, op)).collect();
    keyed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    keyed.into_iter().map(|(_, _, op)| op).collect()
}
