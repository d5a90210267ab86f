//! An instance: one graph to be placed on one cluster.

use std::sync::Arc;

use crate::magnitude::{self, MagnitudeError};
use crate::{AssignmentUnits, Cluster, DataflowGraph, DeviceId, MemoryRule, OpId, Time};

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
        Ok(Self { graph, cluster, units: Arc::new(units), memory_rule, peak_limits })
    }

    /// The graph.
    #[inline]
    pub fn graph(&self) -> &DataflowGraph {
        &self.graph
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

    /// Time that an op takes on a device: the time measured for the device's kind, else operations / speed.
    #[inline]
    pub fn exec_time(&self, op: OpId, device: DeviceId) -> Time {
        let device = self.cluster.device(device);
        self.graph.measured_time(op, device.kind).unwrap_or_else(|| self.graph.ops(op) / device.speed)
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
    /// O(ops · kinds + devices).
    pub fn min_exec_times(&self) -> Vec<Time> {
        let mut fastest = [None::<DeviceId>; 3];
        for device in self.cluster.device_ids() {
            let best = &mut fastest[self.cluster.device(device).kind.index()];
            if best.is_none_or(|best| self.cluster.device(device).speed > self.cluster.device(best).speed) {
                *best = Some(device);
            }
        }
        self.graph
            .op_ids()
            .map(|op| {
                let kinds = self.units.kinds(self.units.unit_of(op));
                kinds
                    .iter()
                    .filter_map(|kind| fastest[kind.index()])
                    .map(|device| self.exec_time(op, device))
                    .fold(f64::INFINITY, f64::min)
            })
            .collect()
    }
}
