//! A placement: one device for each op.

use placebench_base::significant::excess_texts;

use crate::{DeviceId, Instance, OpId};

/// The device of each op.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    device_of: Vec<DeviceId>,
}

/// Why a placement is not feasible (L §4.1).
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PlacementError {
    /// The placement has entries for another number of ops.
    #[error("the placement has {found} entries, but the graph has {expected} ops")]
    WrongLength {
        /// Entries found.
        found: usize,
        /// Ops of the graph.
        expected: usize,
    },
    /// An entry names a device that does not exist.
    #[error("{op} is placed on device {device}, but the cluster has only {devices}")]
    UnknownDevice {
        /// The op.
        op: String,
        /// The device named.
        device: u32,
        /// How many there are.
        devices: usize,
    },
    /// An op is on a device of a kind that it may not run on.
    #[error("{op} may run only on {kinds}, but is placed on '{device}', a {kind}")]
    WrongKind {
        /// The op.
        op: String,
        /// What it may run on.
        kinds: crate::KindSet,
        /// The device.
        device: String,
        /// The device's kind.
        kind: crate::Kind,
    },
    /// Colocated ops are apart.
    #[error("{first} and {second} are colocated, but placed on '{first_device}' and '{second_device}'")]
    Separated {
        /// One op.
        first: String,
        /// The other.
        second: String,
        /// Device of the first.
        first_device: String,
        /// Device of the second.
        second_device: String,
    },
    /// The demands on a device are not below its memory.
    #[error(
        "the ops on '{device}' demand {}, not below its memory of {}: the memory rule static counts every tensor as if it were \
         never freed; place fewer ops there, or choose the rule peak",
        excess_texts(*.demand_bytes, *.memory_bytes).0,
        excess_texts(*.demand_bytes, *.memory_bytes).1
    )]
    OutOfMemory {
        /// The device.
        device: String,
        /// Sum of the demands of its ops.
        demand_bytes: u64,
        /// Its memory.
        memory_bytes: u64,
    },
}

impl Placement {
    /// The placement that puts op `i` on the `i`-th device given.
    pub fn new(device_of: Vec<DeviceId>) -> Self {
        Self { device_of }
    }

    /// The device of an op.
    #[inline]
    pub fn device_of(&self, op: OpId) -> DeviceId {
        self.device_of[op.index()]
    }

    /// The devices of all ops, in the order of ops.
    #[inline]
    pub fn devices(&self) -> &[DeviceId] {
        &self.device_of
    }

    /// Checks the three constraints of L §4.1: kinds, colocation, memory (the sum of demands stays below the memory).
    ///
    /// # Errors
    /// The first violation, in that order.
    pub fn check(&self, instance: &Instance) -> Result<(), PlacementError> {
        let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
        if self.device_of.len() != graph.op_count() {
            return Err(PlacementError::WrongLength { found: self.device_of.len(), expected: graph.op_count() });
        }
        let name = |device: DeviceId| cluster.device(device).name.clone();
        for op in graph.op_ids() {
            let device = self.device_of(op);
            if device.index() >= cluster.device_count() {
                let devices = cluster.device_count();
                return Err(PlacementError::UnknownDevice { op: graph.label(op), device: device.0, devices });
            }
            let kind = cluster.device(device).kind;
            if !graph.kinds(op).contains(kind) {
                let (op, kinds) = (graph.label(op), graph.kinds(op));
                return Err(PlacementError::WrongKind { op, kinds, device: name(device), kind });
            }
        }
        for (_, members) in graph.colocation().groups() {
            let first = members[0];
            if let Some(&second) = members.iter().find(|&&op| self.device_of(op) != self.device_of(first)) {
                return Err(PlacementError::Separated {
                    first: graph.label(first),
                    second: graph.label(second),
                    first_device: name(self.device_of(first)),
                    second_device: name(self.device_of(second)),
                });
            }
        }
        let mut demands = vec![0u64; cluster.device_count()];
        for unit in units.ids() {
            let demand = &mut demands[self.device_of(units.members(unit)[0]).index()];
            *demand = demand.saturating_add(units.demand_bytes(unit));
        }
        for (device, &demand_bytes) in cluster.device_ids().zip(&demands) {
            // An empty device is feasible whatever its memory. L's strict inequality is about devices with ops.
            if let Some(memory_bytes) = cluster.device(device).memory_bytes
                && demand_bytes > 0
                && demand_bytes >= memory_bytes
            {
                return Err(PlacementError::OutOfMemory { device: name(device), demand_bytes, memory_bytes });
            }
        }
        Ok(())
    }
}
