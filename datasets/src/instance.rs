//! An instance: one graph to be placed on one cluster.

use std::sync::Arc;

use crate::magnitude::{self, MagnitudeError};
use crate::{AssignmentUnits, Cluster, DataflowGraph, DeviceClasses, DeviceId, MemoryRule, OpId, Time};

/// L's unit of times that nothing else is known of.
const EXECUTION_UNIT: &str = "EU";

/// Why a graph and a cluster make no instance.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InstanceError {
    /// No device is of a kind that an op, or its whole colocation group, may run on.
    #[error("{op} may run only on {kinds}, and the cluster has no such device")]
    NoDevice {
        /// The op, or the first of its group.
        op: String,
        /// What it may run on.
        kinds: crate::KindSet,
    },
    /// A number is too large or too small to compute with.
    #[error(transparent)]
    Magnitude(#[from] MagnitudeError),
}

/// A graph, a cluster, and what both together determine. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Instance {
    graph: Arc<DataflowGraph>,
    cluster: Arc<Cluster>,
    units: Arc<AssignmentUnits>,
    classes: Arc<DeviceClasses>,
    memory_rule: MemoryRule,
    peak_limits: Arc<[Option<u64>]>,
    time_unit: Arc<str>,
}

impl Instance {
    /// An instance of a graph and a cluster under [`MemoryRule::Static`].
    ///
    /// # Errors
    /// If some op can run nowhere because of device kinds, or a number is outside of
    /// [`MAGNITUDES`](crate::MAGNITUDES).
    ///
    /// # Complexity
    /// O(ops + edges + devices²).
    pub fn new(graph: impl Into<Arc<DataflowGraph>>, cluster: impl Into<Arc<Cluster>>) -> Result<Self, InstanceError> {
        Self::with_memory_rule(graph, cluster, MemoryRule::Static)
    }

    /// An instance of a graph and a cluster under a memory rule. Unless the rule is [`MemoryRule::Static`], the devices of
    /// [`Instance::cluster`] have unlimited memory, so that nothing that places is limited by it.
    ///
    /// # Errors
    /// As [`Instance::new`].
    ///
    /// # Complexity
    /// O(ops + edges + devices²).
    pub fn with_memory_rule(
        graph: impl Into<Arc<DataflowGraph>>,
        cluster: impl Into<Arc<Cluster>>,
        memory_rule: MemoryRule,
    ) -> Result<Self, InstanceError> {
        let (graph, mut cluster) = (graph.into(), cluster.into());
        let memory = |device: &crate::Device| device.memory_bytes.filter(|_| memory_rule != MemoryRule::Unlimited);
        let peak_limits = cluster.devices().iter().map(memory).collect();
        if memory_rule != MemoryRule::Static {
            cluster = Arc::new(Arc::unwrap_or_clone(cluster).without_memory_limits());
        }
        let units = AssignmentUnits::new(&graph);
        let present: crate::KindSet = cluster.devices().iter().map(|device| device.kind).collect();
        if let Some(unit) = units.ids().find(|&unit| units.kinds(unit).intersection(present).is_empty()) {
            return Err(InstanceError::NoDevice { op: graph.label(units.members(unit)[0]), kinds: units.kinds(unit) });
        }
        magnitude::check(&graph, &cluster, &units)?;
        let kinds = units.ids().map(|unit| units.kinds(unit)).reduce(crate::KindSet::union);
        if let Some(kinds) = kinds.filter(|kinds| kinds.intersection(present) != present) {
            cluster = Arc::new(Arc::unwrap_or_clone(cluster).in_use(|device| kinds.contains(device.kind)));
        }
        Ok(Self {
            units: Arc::new(units),
            classes: Arc::new(DeviceClasses::new(&graph, &cluster)),
            graph,
            cluster,
            memory_rule,
            peak_limits,
            time_unit: EXECUTION_UNIT.into(),
        })
    }

    /// The same problem with another graph that is this one but for its numbers, on the devices in another order.
    pub(crate) fn renumbered(&self, graph: DataflowGraph, devices: &[DeviceId]) -> Self {
        let cluster = self.cluster.renumbered(devices);
        Self {
            units: Arc::new(AssignmentUnits::new(&graph)),
            classes: Arc::new(DeviceClasses::new(&graph, &cluster)),
            graph: Arc::new(graph),
            cluster: Arc::new(cluster),
            memory_rule: self.memory_rule,
            peak_limits: devices.iter().map(|&old| self.peak_limit(old)).collect(),
            time_unit: Arc::clone(&self.time_unit),
        }
    }

    /// The same devices and another graph, one that was placed and changed since. Under [`MemoryRule::Static`] the old graph was
    /// checked; the new one has to fit into the same memory when it runs, as [`MemoryRule::Peak`] says.
    ///
    /// # Errors
    /// As [`Instance::new`].
    ///
    /// # Complexity
    /// O(ops + edges + devices²).
    pub fn with_graph(&self, graph: impl Into<Arc<DataflowGraph>>) -> Result<Self, InstanceError> {
        let rule = if self.memory_rule == MemoryRule::Static { MemoryRule::Peak } else { self.memory_rule };
        let changed = Self::with_memory_rule(graph, Arc::clone(&self.cluster), rule)?;
        Ok(Self { peak_limits: Arc::clone(&self.peak_limits), time_unit: Arc::clone(&self.time_unit), ..changed })
    }

    /// The same instance, whose times are in this unit.
    pub fn with_time_unit(self, time_unit: &str) -> Self {
        Self { time_unit: time_unit.into(), ..self }
    }

    /// The unit of times, for people: L's execution unit (EU), operations divided by operations per unit, unless
    /// [`Instance::with_time_unit`] says another.
    pub fn time_unit(&self) -> &str {
        &self.time_unit
    }

    /// The graph.
    #[inline]
    pub fn graph(&self) -> &DataflowGraph {
        &self.graph
    }

    /// The graph, shared.
    pub fn shared_graph(&self) -> Arc<DataflowGraph> {
        Arc::clone(&self.graph)
    }

    /// The cluster, shared.
    pub fn shared_cluster(&self) -> Arc<Cluster> {
        Arc::clone(&self.cluster)
    }

    /// The cluster.
    #[inline]
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// How the memory of devices limits placements.
    pub fn memory_rule(&self) -> MemoryRule {
        self.memory_rule
    }

    /// Most bytes that may be in use on a device at one instant: its memory, or `None` where nothing limits it.
    pub fn peak_limit(&self, device: DeviceId) -> Option<u64> {
        self.peak_limits[device.index()]
    }

    /// The assignment units.
    #[inline]
    pub fn units(&self) -> &AssignmentUnits {
        &self.units
    }

    /// The devices, sorted into classes: on all devices of a class an op takes the same given time, or its operations
    /// divided by the speed of the device.
    #[inline]
    pub fn classes(&self) -> &DeviceClasses {
        &self.classes
    }

    /// Time that an op takes on a device, and the [overhead](Cluster::op_overhead) that the device adds to every op.
    ///
    /// The time is the one measured for the device's class, if there is one. Otherwise it is
    /// max(operations / speed, bytes moved / bandwidth), where the speed is that of the matrix units for ops that these do,
    /// and the bandwidth that of the device's memory ([`crate::Roofline`]).
    #[inline]
    pub fn exec_time(&self, op: OpId, device: DeviceId) -> Time {
        let given = self.classes.of(device).given_time(op);
        let time = given.unwrap_or_else(|| self.graph.ops(op) / self.cluster.device(device).speed);
        time + self.cluster.op_overhead(device)
    }

    /// Whether every op takes equally long on two devices.
    pub fn runs_alike(&self, a: DeviceId, b: DeviceId) -> bool {
        let nature = |device: DeviceId| {
            let (speed, overhead) = (self.cluster.device(device).speed, self.cluster.op_overhead(device));
            (self.classes.number(device), speed, overhead)
        };
        nature(a) == nature(b)
    }

    /// For each of [`Instance::classes`] the devices that no other of the class excels: on one of them any op, or any set of
    /// ops, takes least time. They are one, the first of the highest speed, unless a slower one has less overhead.
    ///
    /// # Complexity
    /// O(devices · log devices).
    pub fn fastest_devices(&self) -> Vec<Vec<DeviceId>> {
        let (cluster, classes) = (&self.cluster, &self.classes);
        let mut order: Vec<DeviceId> = cluster.device_ids().collect();
        order.sort_by(|&a, &b| {
            let speeds = cluster.device(b).speed.total_cmp(&cluster.device(a).speed);
            speeds.then(cluster.op_overhead(a).total_cmp(&cluster.op_overhead(b)))
        });
        let mut fastest = vec![Vec::new(); classes.count()];
        for device in order {
            let of_class: &mut Vec<DeviceId> = &mut fastest[classes.number(device)];
            if of_class.last().is_none_or(|&last| cluster.op_overhead(device) < cluster.op_overhead(last)) {
                of_class.push(device);
            }
        }
        fastest
    }

    /// Least time that an op takes on any device of a kind allowed to its whole unit (memory is not considered).
    pub fn min_exec_time(&self, op: OpId) -> Time {
        let unit = self.units.unit_of(op);
        self.cluster
            .device_ids()
            .filter(|&device| self.units.kind_allows(unit, &self.cluster, device))
            .map(|device| self.exec_time(op, device))
            .fold(f64::INFINITY, f64::min)
    }

    /// Least time of every op: [`Instance::min_exec_time`] once per class of devices instead of per device.
    ///
    /// # Complexity
    /// O(ops · classes + devices · log devices); where slower devices have less overhead, ops times their number.
    pub fn min_exec_times(&self) -> Vec<Time> {
        let fastest = self.fastest_devices();
        self.graph
            .op_ids()
            .map(|op| {
                self.classes
                    .of_kinds(self.units.kinds(self.units.unit_of(op)))
                    .flat_map(|(class, _)| &fastest[class])
                    .map(|&device| self.exec_time(op, device))
                    .fold(f64::INFINITY, f64::min)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Device, GraphBuilder, Kind, KindSet, Link, OpSpec, Roofline};

    use super::*;

    /// CPUs of speeds 1 and 4 that add 0.5 and 3, and a GPU of speed 9 that adds 7.
    fn instance(specs: Vec<OpSpec<'_>>) -> Instance {
        let mut builder = GraphBuilder::default();
        for spec in specs {
            builder.add_op(spec, &[]);
        }
        let device = |name: &str, kind, speed| Device { name: name.to_owned(), kind, memory_bytes: None, speed };
        let devices = vec![device("a", Kind::Cpu, 1.0), device("b", Kind::Cpu, 4.0), device("c", Kind::Gpu, 9.0)];
        let cluster = Cluster::new(devices, |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
        let cluster = cluster.with_op_overheads(|device| [0.5, 3.0, 7.0][device.index()]).unwrap();
        Instance::new(builder.build().unwrap(), cluster).unwrap()
    }

    #[test]
    fn each_op_has_the_overhead_of_its_device_also_if_it_costs_nothing_or_was_measured() {
        let measured = OpSpec { times: &[("gpu", 1.5)], ..OpSpec::cost(8.0) };
        let instance = instance(vec![OpSpec::cost(8.0), OpSpec::cost(0.0), measured]);
        let times = |op| [0, 1, 2].map(|device| instance.exec_time(OpId(op), DeviceId(device)));
        assert_eq!(times(0), [8.5, 5.0, 8.0 / 9.0 + 7.0]);
        assert_eq!(times(1), [0.5, 3.0, 7.0]);
        assert_eq!(times(2), [8.5, 5.0, 8.5]);
    }

    #[test]
    fn the_fastest_devices_of_a_class_are_those_that_no_other_excels_in_both_speed_and_overhead() {
        let devices = |overheads: [f64; 5]| {
            let device = |(id, kind): (usize, Kind)| Device {
                name: format!("d{id}"),
                kind,
                memory_bytes: None,
                speed: [1.0, 4.0, 4.0, 2.0, 9.0][id],
            };
            let kinds = [Kind::Cpu, Kind::Cpu, Kind::Cpu, Kind::Cpu, Kind::Gpu];
            let devices = kinds.into_iter().enumerate().map(device).collect();
            let cluster = Cluster::new(devices, |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
            let cluster = cluster.with_op_overheads(|device| overheads[device.index()]).unwrap();
            let mut builder = GraphBuilder::default();
            builder.add_op(OpSpec::cost(1.0), &[]);
            Instance::new(builder.build().unwrap(), cluster).unwrap()
        };
        let ids = |ids: &[u32]| ids.iter().map(|&id| DeviceId(id)).collect::<Vec<_>>();
        assert_eq!(devices([0.0; 5]).fastest_devices(), [ids(&[1]), ids(&[4])]);
        let instance = devices([0.5, 3.0, 2.0, 2.0, 7.0]);
        assert_eq!(instance.fastest_devices(), [ids(&[2, 0]), ids(&[4])]);
        assert!(!instance.runs_alike(DeviceId(1), DeviceId(2)));
        assert_eq!(instance.cluster().first_devices(2).unwrap().op_overheads(), [0.5, 3.0]);
    }

    /// Two GPUs of one kind: `h100` with matrix units and a bandwidth, and one that has neither.
    #[test]
    fn an_op_takes_what_was_measured_for_its_class_or_else_what_the_roofline_says() {
        let op = |name, op_type, bytes, times| OpSpec {
            name: Some(name),
            op_type: Some(op_type),
            bytes_moved: Some(bytes),
            times,
            ..OpSpec::cost(60.0)
        };
        let mut builder = GraphBuilder::default();
        builder.add_op(op("matrix", "MatMul", 20.0, &[]), &[]);
        builder.add_op(op("moves", "MatMul", 200.0, &[]), &[]);
        builder.add_op(op("adds", "Add", 20.0, &[]), &[]);
        builder.add_op(op("measured", "Add", 20.0, &[("h100", 0.25), ("cpu", 9.0)]), &[]);
        let device = |name: &str, kind, speed| Device { name: name.to_owned(), kind, memory_bytes: None, speed };
        let devices = vec![device("a", Kind::Gpu, 6.0), device("b", Kind::Gpu, 3.0), device("c", Kind::Cpu, 1.0)];
        let cluster = Cluster::new(devices, |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
        let cluster = cluster.with_classes(|device| ["h100", "gpu", "cpu"][device.index()]).unwrap();
        let limits = Roofline { matrix_speed: Some(30.0), memory_bandwidth: Some(10.0) };
        let cluster = cluster.with_rooflines(|device| if device.0 == 0 { limits } else { Roofline::NONE }).unwrap();
        let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
        let times = |op| [0, 1, 2].map(|device| instance.exec_time(OpId(op), DeviceId(device)));
        assert_eq!(times(0), [2.0, 20.0, 60.0]);
        assert_eq!(times(1), [20.0, 20.0, 60.0]);
        assert_eq!(times(2), [10.0, 20.0, 60.0]);
        assert_eq!(times(3), [0.25, 20.0, 9.0]);
        assert_eq!(instance.classes().count(), 3);
        assert_eq!(instance.min_exec_times(), [2.0, 20.0, 10.0, 0.25]);
    }

    #[test]
    fn a_slow_device_with_less_overhead_is_the_fastest_for_small_ops() {
        let cpu = |ops| OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(ops) };
        let instance = instance(vec![cpu(1.0), cpu(8.0), OpSpec::cost(72.0), cpu(0.0)]);
        assert_eq!(instance.min_exec_times(), [1.5, 5.0, 15.0, 0.5]);
        let one_by_one: Vec<_> = instance.graph().op_ids().map(|op| instance.min_exec_time(op)).collect();
        assert_eq!(instance.min_exec_times(), one_by_one);
    }
}
