//! A dataflow graph as partitioners see it, numbered so that its directions are not lost.

use placebench_datasets::{DataflowGraph, OpId, UndirectedError, UndirectedGraph};

/// The undirected view of a dataflow graph whose vertices are numbered in a topological order: every edge leads from the
/// lower to the higher number, so the numbers give the directions.
#[derive(Clone, Debug)]
pub struct TopologicalView {
    /// Vertices weigh their ops' operations, rounded, at least 1; edges the bytes of the tensors along them, at least 1, so
    /// that a control edge counts little but not nothing.
    pub graph: UndirectedGraph,
    /// The op of each vertex.
    pub ops: Vec<OpId>,
}

impl TopologicalView {
    /// The view of a graph.
    ///
    /// # Errors
    /// If weights add up to more than 64 bits hold.
    ///
    /// # Complexity
    /// O(ops + edges · log degree).
    pub fn new(graph: &DataflowGraph) -> Result<Self, UndirectedError> {
        let ops: Vec<OpId> = graph.topological_order().collect();
        let position = graph.topological_positions();
        let edges: Vec<(u32, u32, u64)> = graph
            .edges()
            .map(|(source, edge)| (position[source.index()], position[edge.op.index()], graph.edge_bytes(edge).max(1)))
            .collect();
        let weights = ops.iter().map(|&op| (graph.ops(op).round() as u64).max(1)).collect();
        Ok(Self { graph: UndirectedGraph::from_edges(ops.len(), edges.into_iter(), Some(weights))?, ops })
    }
}
