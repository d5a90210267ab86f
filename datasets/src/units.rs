//! Assignment units: what a placer places in one go (L §4.1).

use crate::{Cluster, DataflowGraph, DeviceId, KindSet, OpId, UnitId};

/// Every colocation group and every op in none, with the kinds and the memory of the whole unit.
///
/// Groups come first, in their order, then single ops in ascending order: the order in which L's placers assign.
#[derive(Clone, Debug)]
pub struct AssignmentUnits {
    unit_of: Vec<UnitId>,
    offsets: Vec<u32>,
    members: Vec<OpId>,
    kinds: Vec<KindSet>,
    demand_bytes: Vec<u64>,
    group_count: usize,
}

impl AssignmentUnits {
    /// The units of a graph.
    ///
    /// # Complexity
    /// O(ops + edges).
    pub fn new(graph: &DataflowGraph) -> Self {
        let colocation = graph.colocation();
        let singles = graph.op_ids().filter(|&op| colocation.group_of(op).is_none());
        let mut units = Self {
            unit_of: vec![UnitId(0); graph.op_count()],
            offsets: vec![0],
            members: Vec::with_capacity(graph.op_count()),
            kinds: Vec::new(),
            demand_bytes: Vec::new(),
            group_count: colocation.group_count(),
        };
        for (_, members) in colocation.groups() {
            units.push(graph, members);
        }
        for op in singles {
            units.push(graph, &[op]);
        }
        units
    }

    fn push(&mut self, graph: &DataflowGraph, members: &[OpId]) {
        let unit = UnitId::new(self.kinds.len());
        for &op in members {
            self.unit_of[op.index()] = unit;
        }
        self.members.extend_from_slice(members);
        self.offsets.push(self.members.len() as u32);
        self.kinds.push(members.iter().fold(KindSet::ALL, |set, &op| set.intersection(graph.kinds(op))));
        self.demand_bytes.push(members.iter().fold(0, |sum, &op| graph.demand_bytes(op).saturating_add(sum)));
    }

    /// Number of units.
    pub fn count(&self) -> usize {
        self.kinds.len()
    }

    /// Number of units that are colocation groups; they come first.
    pub fn group_count(&self) -> usize {
        self.group_count
    }

    /// All units, groups first.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = UnitId> + ExactSizeIterator + Clone + use<> {
        (0..self.count() as u32).map(UnitId)
    }

    /// The unit of an op.
    #[inline]
    pub fn unit_of(&self, op: OpId) -> UnitId {
        self.unit_of[op.index()]
    }

    /// The ops of a unit, ascending.
    #[inline]
    pub fn members(&self, unit: UnitId) -> &[OpId] {
        &self.members[self.offsets[unit.index()] as usize..self.offsets[unit.index() + 1] as usize]
    }

    /// The kinds that every member may run on.
    #[inline]
    pub fn kinds(&self, unit: UnitId) -> KindSet {
        self.kinds[unit.index()]
    }

    /// The memory that placing the unit claims: the sum of its members' demands (L §4.1, size_est).
    #[inline]
    pub fn demand_bytes(&self, unit: UnitId) -> u64 {
        self.demand_bytes[unit.index()]
    }

    /// Whether the kind of a device suits every member.
    #[inline]
    pub fn kind_allows(&self, unit: UnitId, cluster: &Cluster, device: DeviceId) -> bool {
        self.kinds(unit).contains(cluster.device(device).kind)
    }
}
