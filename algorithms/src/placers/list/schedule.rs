//! A schedule in the making: what is placed where and when, and what that means for the next op.

use placebench_datasets::{DataflowGraph, Device, DeviceId, Instance, Kind, KindSet, OpId, Time, UnitId};

use super::timeline::Timeline;
use crate::{Assignment, Decision, PlaceError, Plan};

/// Where and when an op runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Slot {
    pub(crate) device: DeviceId,
    pub(crate) start: Time,
    pub(crate) finish: Time,
}

/// Ops scheduled one after the other, predecessors first. Colocated ops follow the first of them that was scheduled
/// (L §4.3).
#[derive(Debug)]
pub(crate) struct PartialSchedule<'a> {
    instance: &'a Instance,
    assignment: Assignment<'a>,
    timelines: Vec<Timeline>,
    slots: Vec<Slot>,
    makespan: Time,
    speeds: Vec<f64>,
    kinds: Vec<Kind>,
    /// The devices of each set of kinds, ascending.
    devices_of: [Vec<DeviceId>; 8],
    /// For the op at hand and each device: when its inputs are there.
    ready: Vec<Time>,
    /// For the op at hand and each device: how long it takes.
    exec: Vec<Time>,
}

impl<'a> PartialSchedule<'a> {
    /// Nothing scheduled yet.
    ///
    /// # Complexity
    /// O(ops · kinds + devices).
    pub(crate) fn new(instance: &'a Instance) -> Self {
        let (graph, cluster) = (instance.graph(), instance.cluster());
        let kinds: Vec<Kind> = cluster.devices().iter().map(|device| device.kind).collect();
        let devices_of = std::array::from_fn(|bits| {
            let set = KindSet::from_bits(bits as u8).unwrap_or(KindSet::EMPTY);
            cluster.device_ids().filter(|device| set.contains(kinds[device.index()])).collect()
        });
        let shortest = shortest_exec_times(instance);
        Self {
            instance,
            assignment: Assignment::new(instance),
            timelines: shortest.into_iter().map(Timeline::new).collect(),
            slots: vec![Slot::default(); graph.op_count()],
            makespan: 0.0,
            speeds: cluster.devices().iter().map(|device| device.speed).collect(),
            kinds,
            devices_of,
            ready: vec![0.0; cluster.device_count()],
            exec: vec![0.0; cluster.device_count()],
        }
    }

    /// Schedules an op on the feasible device where it finishes first (ties: the lowest id), in the earliest gap there.
    ///
    /// All predecessors must be scheduled. The first op of a colocation group to be scheduled fixes the group's device,
    /// and the memory of the whole group is claimed then.
    ///
    /// # Errors
    /// [`PlaceError::Infeasible`] if no device can take the op's unit.
    ///
    /// # Complexity
    /// O(in-degree · devices) for transfers and O(devices · log ops) for gaps; the latter only for devices that would
    /// win without waiting.
    pub(crate) fn schedule_at_earliest_finish(&mut self, op: OpId) -> Result<Slot, PlaceError> {
        let unit = self.instance.units().unit_of(op);
        let device = match self.assignment.device_of_unit(unit) {
            Some(device) => {
                self.ready[device.index()] = self.ready_time(op, device);
                self.exec[device.index()] = self.instance.exec_time(op, device);
                device
            }
            None => {
                self.fill_ready_times(op);
                self.fill_exec_times(op);
                let device = self.earliest_finish(unit).ok_or_else(|| self.assignment.infeasible(unit))?;
                self.assignment.assign(unit, device);
                device
            }
        };
        Ok(self.reserve(op, device))
    }

    /// The feasible device with the least finish time for the op at hand.
    fn earliest_finish(&self, unit: UnitId) -> Option<DeviceId> {
        let units = self.instance.units();
        let demand = units.demand_bytes(unit);
        let mut best: Option<(Time, DeviceId)> = None;
        for &device in &self.devices_of[usize::from(units.kinds(unit).bits())] {
            let (ready, exec) = (self.ready[device.index()], self.exec[device.index()]);
            // No gap can make it finish before this, and a tie goes to the lower id, which came before.
            if best.is_some_and(|(finish, _)| ready + exec >= finish) || !self.assignment.fits(demand, device) {
                continue;
            }
            let finish = self.timelines[device.index()].earliest(ready, exec) + exec;
            if best.is_none_or(|(least, _)| finish < least) {
                best = Some((finish, device));
            }
        }
        best.map(|(_, device)| device)
    }

    fn reserve(&mut self, op: OpId, device: DeviceId) -> Slot {
        let (ready, exec) = (self.ready[device.index()], self.exec[device.index()]);
        let start = self.timelines[device.index()].reserve(ready, exec);
        let slot = Slot { device, start, finish: start + exec };
        self.slots[op.index()] = slot;
        self.makespan = self.makespan.max(slot.finish);
        slot
    }

    /// When the inputs of an op are on one device.
    fn ready_time(&self, op: OpId, device: DeviceId) -> Time {
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        let arrivals = graph.predecessors(op).map(|edge| {
            let slot = self.slots[edge.op.index()];
            slot.finish + cluster.transfer_time(graph.edge_bytes(edge), slot.device, device)
        });
        arrivals.fold(0.0, f64::max)
    }

    /// When the inputs of an op are on each device: all devices at once for each input, over flat rows of the cluster.
    fn fill_ready_times(&mut self, op: OpId) {
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        self.ready.fill(0.0);
        for edge in graph.predecessors(op) {
            let slot = self.slots[edge.op.index()];
            let bytes = graph.edge_bytes(edge) as f64;
            // Divided, not multiplied by an inverse: the simulator must arrive at the same floats.
            let row = cluster.rates_from(slot.device).iter().zip(cluster.latencies_from(slot.device));
            for (ready, (&rate, &latency)) in self.ready.iter_mut().zip(row) {
                let arrival = slot.finish + (latency + bytes / rate);
                *ready = if arrival > *ready { arrival } else { *ready };
            }
        }
    }

    fn fill_exec_times(&mut self, op: OpId) {
        let graph = self.instance.graph();
        let ops = graph.ops(op);
        for (exec, &speed) in self.exec.iter_mut().zip(&self.speeds) {
            *exec = ops / speed;
        }
        for kind in Kind::ALL {
            if let Some(time) = graph.measured_time(op, kind) {
                for (exec, _) in self.exec.iter_mut().zip(&self.kinds).filter(|(_, other)| **other == kind) {
                    *exec = time;
                }
            }
        }
    }

    /// The placement and the plan, once all ops are scheduled.
    ///
    /// # Errors
    /// [`PlaceError::Infeasible`] for the first unit that is not placed.
    ///
    /// # Complexity
    /// O(ops · log ops).
    pub(crate) fn finish(self) -> Result<Decision, PlaceError> {
        let order = planned_order(self.instance.graph(), &self.slots);
        let plan = Plan { order, makespan: self.makespan };
        Ok(Decision { placement: self.assignment.finish()?, plan: Some(plan) })
    }
}

/// The ops by start, then finish, then topological position. An op without duration so comes before one that starts
/// when it does, which is where it lies on its device, and after those that it waits for.
fn planned_order(graph: &DataflowGraph, slots: &[Slot]) -> Vec<OpId> {
    let mut keyed: Vec<(Time, Time, u32, OpId)> = graph
        .topological_order()
        .enumerate()
        .map(|(position, op)| (slots[op.index()].start, slots[op.index()].finish, position as u32, op))
        .collect();
    keyed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    keyed.into_iter().map(|(_, _, _, op)| op).collect()
}

/// The least time that any op can take on each device, as exact as [`Instance::exec_time`]: division is monotone.
fn shortest_exec_times(instance: &Instance) -> Vec<Time> {
    let graph = instance.graph();
    let mut least_ops = [f64::INFINITY; 3];
    let mut least_time = [f64::INFINITY; 3];
    for op in graph.op_ids() {
        for kind in graph.kinds(op).iter() {
            match graph.measured_time(op, kind) {
                Some(time) => least_time[kind.index()] = least_time[kind.index()].min(time),
                None => least_ops[kind.index()] = least_ops[kind.index()].min(graph.ops(op)),
            }
        }
    }
    let shortest =
        |device: &Device| (least_ops[device.kind.index()] / device.speed).min(least_time[device.kind.index()]);
    instance.cluster().devices().iter().map(shortest).collect()
}
