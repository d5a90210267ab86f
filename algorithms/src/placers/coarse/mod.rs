//! The coarser graph that B's placers see: colocation groups, and where wanted recurrent cells, are one vertex (B §4.1).
//!
//! [`Vertices`] says what belongs together, [`dag::VertexGraph`] what follows what, [`workers`] which devices compete,
//! and [`placing`] puts vertices on devices.

pub(crate) mod cells;
pub(super) mod dag;
pub(super) mod placing;
pub(crate) mod readings;
pub(super) mod ready;
pub(super) mod workers;

use cells::Cells;
use placebench_datasets::{Instance, KindSet, OpId, UnitId};
use readings::Weight;

/// The vertices of the coarse graph: sets of assignment units, numbered by their smallest op.
///
/// A vertex weighs as much as it has ops, unless [`Vertices::weighing`] says otherwise, and may run on the kinds that all its
/// units may run on.
#[derive(Clone, Debug)]
pub(super) struct Vertices {
    vertex_of_unit: Vec<u32>,
    offsets: Vec<u32>,
    units: Vec<UnitId>,
    weights: Vec<u64>,
    kinds: Vec<KindSet>,
    demand_bytes: Vec<u64>,
}

impl Vertices {
    /// One vertex a recurrent cell ([`cells::cells_of_units`]) and one each other assignment unit.
    ///
    /// # Complexity
    /// O(ops + bytes of names).
    pub(super) fn new(instance: &Instance, cells: Cells) -> Self {
        match cells::cells_of_units(instance, cells) {
            None => Self::of_cells(instance, |_| None),
            Some(cells) => Self::of_cells(instance, |unit| cells[unit.index()]),
        }
    }

    /// Units with the same cell are one vertex, a unit without a cell is one of its own.
    fn of_cells(instance: &Instance, cell_of: impl Fn(UnitId) -> Option<u32>) -> Self {
        let (graph, units) = (instance.graph(), instance.units());
        let cell_count = units.ids().filter_map(&cell_of).max().map_or(0, |largest| largest as usize + 1);
        let mut vertex_of_cell: Vec<Option<u32>> = vec![None; cell_count];
        let mut vertex_of_unit: Vec<Option<u32>> = vec![None; units.count()];
        let mut count = 0;
        for op in graph.op_ids() {
            let unit = units.unit_of(op);
            if vertex_of_unit[unit.index()].is_none() {
                let mut fresh = || {
                    count += 1;
                    count - 1
                };
                let vertex = match cell_of(unit) {
                    Some(cell) => *vertex_of_cell[cell as usize].get_or_insert_with(fresh),
                    None => fresh(),
                };
                vertex_of_unit[unit.index()] = Some(vertex);
            }
        }
        let vertex_of_unit: Vec<u32> = vertex_of_unit.into_iter().flatten().collect();
        let (offsets, members) = grouped(count as usize, &vertex_of_unit);
        let mut vertices = Self {
            vertex_of_unit,
            offsets,
            units: members.into_iter().map(UnitId).collect(),
            weights: vec![0; count as usize],
            kinds: vec![KindSet::ALL; count as usize],
            demand_bytes: vec![0; count as usize],
        };
        for unit in units.ids() {
            let vertex = vertices.vertex_of_unit[unit.index()] as usize;
            vertices.weights[vertex] += units.members(unit).len() as u64;
            vertices.kinds[vertex] = vertices.kinds[vertex].intersection(units.kinds(unit));
            let demand = &mut vertices.demand_bytes[vertex];
            *demand = demand.saturating_add(units.demand_bytes(unit));
        }
        vertices
    }

    /// The same vertices with other weights.
    #[must_use]
    pub(super) fn weighing(mut self, weight: Weight) -> Self {
        if weight == Weight::One {
            self.weights.fill(1);
        }
        self
    }

    /// Number of vertices.
    pub(super) fn count(&self) -> usize {
        self.weights.len()
    }

    /// The vertex of an op.
    #[inline]
    pub(super) fn of_op(&self, instance: &Instance, op: OpId) -> u32 {
        self.vertex_of_unit[instance.units().unit_of(op).index()]
    }

    /// The units of a vertex, ascending.
    pub(super) fn units(&self, vertex: u32) -> &[UnitId] {
        &self.units[self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize]
    }

    /// What each vertex weighs.
    pub(super) fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// The kinds that all units of a vertex may run on.
    pub(super) fn kinds(&self, vertex: u32) -> KindSet {
        self.kinds[vertex as usize]
    }

    /// The memory that all units of a vertex claim together.
    pub(super) fn demand_bytes(&self, vertex: u32) -> u64 {
        self.demand_bytes[vertex as usize]
    }

    /// Every edge between different vertices as (producer, consumer), parallel ones each.
    ///
    /// # Complexity
    /// O(ops + edges).
    pub(super) fn edges<'a>(&'a self, instance: &'a Instance) -> impl Iterator<Item = (u32, u32)> + 'a {
        instance.graph().op_ids().flat_map(move |op| {
            let from = self.of_op(instance, op);
            let ends = instance.graph().successor_ops(op).iter();
            ends.map(move |&to| (from, self.of_op(instance, to))).filter(|(from, to)| from != to)
        })
    }
}

/// The positions of each label in turn, ascending: offsets by label, and positions.
fn grouped(label_count: usize, labels: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut offsets = vec![0u32; label_count + 1];
    for &label in labels {
        offsets[label as usize + 1] += 1;
    }
    for label in 0..label_count {
        offsets[label + 1] += offsets[label];
    }
    let mut cursors = offsets.clone();
    let mut positions = vec![0u32; labels.len()];
    for (position, &label) in labels.iter().enumerate() {
        let cursor = &mut cursors[label as usize];
        positions[*cursor as usize] = position as u32;
        *cursor += 1;
    }
    (offsets, positions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;

    #[test]
    fn a_colocation_group_is_one_vertex_with_the_edges_of_its_members() {
        // op0 ▶ op1 ▶ op2 ▶ op3, with 1 and 3 a group, and 0 ▶ 2. Vertices: {0}, {1, 3}, {2}.
        let graph = example::graph(&[1.0; 4], &[(0, 1, 1), (1, 2, 1), (2, 3, 1), (0, 2, 1)], &[(1, 3)]);
        let instance = Instance::new(graph, example::cluster(&[1.0], 1.0)).unwrap();
        let vertices = Vertices::new(&instance, Cells::Step);
        assert_eq!(vertices.weights(), [1, 2, 1]);
        assert_eq!(vertices.edges(&instance).collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 2), (2, 1)]);
    }
}
