//! What list scheduling sees of an instance: as time runs, or with time reversed.

use placebench_datasets::{DataflowGraph, DeviceId, Instance, OpId, Time};

use super::slot::Slot;
use crate::Directed;

/// An instance in one direction of time: its graph, and what ops and transfers take.
pub(crate) trait View: Directed {
    /// Raises each device's time to when all inputs of an op, whose producers have slots, are there.
    fn raise_to_arrivals(&self, op: OpId, slots: &[Slot], ready: &mut [Time]);

    /// When all inputs of an op, whose producers have slots, are on one device.
    fn ready_time(&self, op: OpId, device: DeviceId, slots: &[Slot]) -> Time;

    /// Time that an op takes on a device.
    fn exec_time(&self, op: OpId, device: DeviceId) -> Time;

    /// Writes the time that an op takes on each device.
    fn exec_times(&self, op: OpId, exec: &mut [Time]);

    /// Whether the ends of transfers occupy devices. If not, they only delay.
    fn transfers_occupy_devices(&self) -> bool;
}

/// An instance as time runs.
#[derive(Debug)]
pub(crate) struct Forward<'a> {
    instance: &'a Instance,
    /// Speed and overhead of each device.
    speeds: Vec<(f64, Time)>,
}

impl<'a> Forward<'a> {
    pub(super) fn new(instance: &'a Instance) -> Self {
        let cluster = instance.cluster();
        let overheads = cluster.op_overheads().iter().copied();
        Self { instance, speeds: cluster.devices().iter().map(|device| device.speed).zip(overheads).collect() }
    }

    fn graph(&self) -> &'a DataflowGraph {
        self.instance.graph()
    }
}

impl Directed for Forward<'_> {
    fn op_count(&self) -> usize {
        self.graph().op_count()
    }

    fn topological_order(&self) -> impl DoubleEndedIterator<Item = OpId> {
        self.graph().topological_order()
    }

    fn before(&self, op: OpId) -> impl ExactSizeIterator<Item = (OpId, f64)> {
        self.graph().before(op)
    }

    fn after(&self, op: OpId) -> impl ExactSizeIterator<Item = (OpId, f64)> {
        self.graph().after(op)
    }
}

impl View for Forward<'_> {
    fn raise_to_arrivals(&self, op: OpId, slots: &[Slot], ready: &mut [Time]) {
        let (graph, cluster) = (self.graph(), self.instance.cluster());
        for edge in graph.predecessors(op) {
            let slot = slots[edge.op.index()];
            cluster.raise_to_arrivals(slot.finish, slot.device, graph.edge_bytes(edge), ready);
        }
    }

    fn ready_time(&self, op: OpId, device: DeviceId, slots: &[Slot]) -> Time {
        let (graph, cluster) = (self.graph(), self.instance.cluster());
        let arrivals = graph.predecessors(op).map(|edge| {
            let slot = slots[edge.op.index()];
            slot.finish + cluster.communication_time(graph.edge_bytes(edge), slot.device, device)
        });
        arrivals.fold(0.0, f64::max)
    }

    fn exec_time(&self, op: OpId, device: DeviceId) -> Time {
        self.instance.exec_time(op, device)
    }

    fn exec_times(&self, op: OpId, exec: &mut [Time]) {
        let graph = self.graph();
        let ops = graph.ops(op);
        for (exec, &(speed, overhead)) in exec.iter_mut().zip(&self.speeds) {
            *exec = ops / speed + overhead;
        }
        for class in self.instance.classes().all() {
            if let Some(time) = class.given_time(op) {
                for device in &class.devices {
                    exec[device.index()] = time + self.speeds[device.index()].1;
                }
            }
        }
    }

    fn transfers_occupy_devices(&self) -> bool {
        self.instance.cluster().has_transfer_overheads()
    }
}

/// The least and the most time that any op can take on each device, as exact as [`Instance::exec_time`]: division and addition
/// are monotone.
pub(super) fn extreme_exec_times(instance: &Instance) -> impl Iterator<Item = (Time, Time)> {
    let (graph, classes) = (instance.graph(), instance.classes());
    // By class: the least and the most operations, and given times.
    let mut ops = vec![(f64::INFINITY, 0.0f64); classes.count()];
    let mut times = ops.clone();
    for op in graph.op_ids() {
        for (number, class) in classes.of_kinds(graph.kinds(op)) {
            let (extremes, value) = match class.given_time(op) {
                Some(time) => (&mut times[number], time),
                None => (&mut ops[number], graph.ops(op)),
            };
            *extremes = (extremes.0.min(value), extremes.1.max(value));
        }
    }
    let cluster = instance.cluster();
    cluster.device_ids().map(move |device| {
        let (ops, times) = (ops[classes.number(device)], times[classes.number(device)]);
        let (speed, overhead) = (cluster.device(device).speed, cluster.op_overhead(device));
        ((ops.0 / speed).min(times.0) + overhead, (ops.1 / speed).max(times.1) + overhead)
    })
}
