//! What a graph loses when it is written in a format.

use std::collections::HashSet;
use std::fmt;

use super::detail::Detail;
use super::entry::{Format, Holds};
use super::undirected::Undirected;
use super::{GraphHeader, Units};
use crate::{DataflowGraph, KindSet, Kinds, OpId};

/// What every undirected view of a dataflow graph loses, whatever the format.
const VIEW: [Detail; 15] = [
    Detail::Direction,
    Detail::Kinds,
    Detail::Memory,
    Detail::Colocation,
    Detail::Times,
    Detail::BytesMoved,
    Detail::Names,
    Detail::Types,
    Detail::Layers,
    Detail::Attributes,
    Detail::Title,
    Detail::Licence,
    Detail::Units,
    Detail::Provenance,
    Detail::KindRule,
];

/// What a graph loses when it is written in a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// What is lost.
    pub detail: Detail,
    /// How often the graph has it, and of what: `(3, "op")`. None for what a graph has once.
    pub of: Option<(u64, &'static str)>,
}

impl fmt::Display for Loss {
    /// `device kinds (3 ops)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.detail)?;
        self.of.map_or(Ok(()), |(count, noun)| write!(f, " ({})", super::text::counted(count, noun)))
    }
}

impl Format {
    /// What a dataflow graph loses in this format: what the format lacks and the graph has.
    ///
    /// # Complexity
    /// O(ops + edges · log degree).
    pub fn losses(&self, header: &GraphHeader, graph: &DataflowGraph) -> Vec<Loss> {
        let view: &[Detail] = if self.is_undirected() { &VIEW } else { &[] };
        let mut losses: Vec<Loss> =
            view.iter().chain(self.lacks).filter_map(|&detail| loss(detail, header, graph)).collect();
        if matches!(self.holds, Holds::Undirected { .. }) && !self.lacks.contains(&Detail::EdgeWeights) {
            losses.extend(loss(Detail::SharedTensors, header, graph));
        }
        if self.lacks.contains(&Detail::WideWeights) {
            losses.extend(Undirected::of_dataflow(graph, self).iter().flat_map(|held| self.losses_of(held)));
        }
        losses
    }

    /// What an undirected graph or a hypergraph loses in this format, though it is one that the format holds.
    ///
    /// # Complexity
    /// O(vertices + edges or nets).
    pub fn losses_of(&self, what: &Undirected) -> Vec<Loss> {
        let is_lost = self.lacks.contains(&Detail::WideWeights) && what.is_wide();
        is_lost.then_some(Loss { detail: Detail::WideWeights, of: None }).into_iter().collect()
    }
}

fn loss(detail: Detail, header: &GraphHeader, graph: &DataflowGraph) -> Option<Loss> {
    let whole = |present: bool| present.then_some(Loss { detail, of: None });
    let some = |count: usize, noun| (count > 0).then_some(Loss { detail, of: Some((count as u64, noun)) });
    let ops = |has: &dyn Fn(OpId) -> bool| some(graph.op_ids().filter(|&op| has(op)).count(), "op");
    match detail {
        Detail::Title => whole(!header.title.is_empty()),
        Detail::Licence => whole(!header.licence.is_empty()),
        Detail::Units => whole(header.units != Units::default()),
        Detail::Provenance => whole(!header.provenance.is_empty()),
        Detail::KindRule => whole(header.kinds != Kinds::default()),
        Detail::Names => ops(&|_| graph.has_names()),
        Detail::Types => ops(&|op| graph.op_types().is_some_and(|types| types.get(op.index()).is_some())),
        Detail::Layers => ops(&|op| graph.layers().is_some_and(|layers| layers.get(op.index()).is_some())),
        Detail::Attributes => ops(&|op| graph.attributes().is_some_and(|texts| texts.get(op.index()).is_some())),
        Detail::Memory => ops(&|op| graph.memory_bytes(op) > 0),
        Detail::Kinds => ops(&|op| graph.kinds(op) != KindSet::ALL),
        Detail::Times => ops(&|op| graph.measured_times().iter().any(|times| times.of(op).is_some())),
        Detail::BytesMoved => whole(graph.has_bytes_moved()),
        Detail::Colocation => ops(&|op| graph.colocation().group_of(op).is_some()),
        Detail::Direction => some(graph.edge_count(), "edge"),
        Detail::Tensors => some(graph.tensor_count(), "tensor"),
        Detail::SharedTensors => some(consumers(graph).iter().filter(|&&count| count > 1).count(), "tensor"),
        Detail::UnusedTensors => some(consumers(graph).iter().filter(|&&count| count == 0).count(), "tensor"),
        Detail::ControlEdges => some(graph.control_edge_count(), "edge"),
        Detail::ParallelEdges => {
            some(inputs(graph, |inputs| inputs.len() - distinct(inputs.iter().map(|input| input.0))), "edge")
        }
        Detail::RepeatedInputs => some(inputs(graph, repeated), "edge"),
        Detail::InputOrder => ops(&|op| !graph.predecessors(op).filter_map(|edge| edge.tensor).is_sorted()),
        Detail::OutputOrder => {
            let mut last = vec![None; graph.op_count()];
            let mut unsorted = vec![false; graph.op_count()];
            for (edge, _) in super::values::edges_by_consumer(graph) {
                unsorted[edge.op.index()] |= edge.tensor < last[edge.op.index()];
                last[edge.op.index()] = last[edge.op.index()].max(edge.tensor);
            }
            ops(&|op| unsorted[op.index()])
        }
        Detail::VertexWeights => ops(&|op| graph.ops(op) != 1.0),
        Detail::EdgeWeights => some(graph.edge_count() - graph.control_edge_count(), "edge"),
        Detail::ZeroEdges => some(graph.edges().filter(|&(_, edge)| graph.edge_bytes(edge) == 0).count(), "edge"),
        Detail::WideWeights
        | Detail::EmptyNets
        | Detail::OneWayLinks
        | Detail::Topology
        | Detail::SendOps
        | Detail::TransferOverheads
        | Detail::DeviceClasses
        | Detail::Rooflines => None,
    }
}

/// How many edges carry each tensor.
fn consumers(graph: &DataflowGraph) -> Vec<u32> {
    let mut count = vec![0; graph.tensor_count()];
    for (_, edge) in graph.edges() {
        if let Some(tensor) = edge.tensor {
            count[tensor.index()] += 1;
        }
    }
    count
}

/// Source and raw tensor of an input.
type Input = (OpId, Option<crate::TensorId>);

/// The sum over all ops of what `count` says of the op's inputs.
fn inputs(graph: &DataflowGraph, count: impl Fn(&[Input]) -> usize) -> usize {
    let mut row = Vec::new();
    let mut sum = 0;
    for op in graph.op_ids() {
        row.clear();
        row.extend(graph.predecessors(op).map(|edge| (edge.op, edge.tensor)));
        sum += count(&row);
    }
    sum
}

/// Edges that repeat another one: of the same tensor, or control edges beside any edge of the same source.
fn repeated(inputs: &[Input]) -> usize {
    let tensors = inputs.iter().filter_map(|input| input.1);
    let carried = inputs.iter().filter(|input| input.1.is_some());
    let sources: HashSet<OpId> = carried.clone().map(|input| input.0).collect();
    let control = inputs.iter().filter(|input| input.1.is_none()).map(|input| input.0);
    let alone = distinct(control.filter(|source| !sources.contains(source)));
    inputs.len() - distinct(tensors) - alone
}

fn distinct<T: std::hash::Hash + Eq>(items: impl Iterator<Item = T>) -> usize {
    items.collect::<HashSet<_>>().len()
}
