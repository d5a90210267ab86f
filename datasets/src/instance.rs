//! An instance: one graph to be placed on one cluster.

use std::sync::Arc;

use crate::magnitude::{self, MagnitudeError};
use crate::{AssignmentUnits, Cluster, DataflowGraph, DeviceId, MemoryRule, OpId, Time};

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
        Ok(Self { graph, cluster, units: Arc::new(units), memory_rule, peak_limits, time_unit: EXECUTION_UNIT.into() })
    }

    /// The same problem with another graph that is this one but for its numbers, on the devices in another order.
    pub(crate) fn renumbered(&self, graph: DataflowGraph, devices: &[DeviceId]) -> Self {
        Self {
            units: Arc::new(AssignmentUnits::new(&graph)),
            graph: Arc::new(graph),
            cluster: Arc::new(self.cluster.renumbered(devices)),
            memory_rule: self.memory_rule,
            peak_limits: devices.iter().map(|&old| self.peak_limit(old)).collect(),
            time_unit: Arc::clone(&self.time_unit),
        }
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

    /// Time that an op takes on a device: the time measured for the device's kind, else operations / speed; and the
    /// [overhead](Cluster::op_overhead) that the device adds to every op.
    #[inline]
    pub fn exec_time(&self, op: OpId, device: DeviceId) -> Time {
        let of = self.cluster.device(device);
        let time = self.graph.measured_time(op, of.kind).unwrap_or_else(|| self.graph.ops(op) / of.speed);
        time + self.cluster.op_overhead(device)
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

    /// Least time of every op: [`Instance::min_exec_time`] once per (unit kinds, device kind) instead of per device.
    ///
    /// # Complexity
    /// O(ops · kinds + devices · log devices); where slower devices have less overhead, ops times their number.
    pub fn min_exec_times(&self) -> Vec<Time> {
        let fastest = self.cluster.fastest_devices();
        self.graph
            .op_ids()
            .map(|op| {
                let kinds = self.units.kinds(self.units.unit_of(op));
                kinds
                    .iter()
                    .flat_map(|kind| &fastest[kind.index()])
                    .map(|&device| self.exec_time(op, device))
                    .fold(f64::INFINITY, f64::min)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Device, GraphBuilder, Kind, KindSet, Link, OpSpec};

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
        let measured = OpSpec { times: [None, Some(1.5), None], ..OpSpec::cost(8.0) };
        let instance = instance(vec![OpSpec::cost(8.0), OpSpec::cost(0.0), measured]);
        let times = |op| [0, 1, 2].map(|device| instance.exec_time(OpId(op), DeviceId(device)));
        assert_eq!(times(0), [8.5, 5.0, 8.0 / 9.0 + 7.0]);
        assert_eq!(times(1), [0.5, 3.0, 7.0]);
        assert_eq!(times(2), [8.5, 5.0, 8.5]);
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
