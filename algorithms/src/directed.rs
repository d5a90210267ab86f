//! A graph in one direction of time.

use placebench_datasets::{DataflowGraph, OpId};

/// A graph in one direction of time: as it runs, or with all edges turned round. Ranks and orders are defined by it alone.
pub trait Directed {
    /// Number of ops.
    fn op_count(&self) -> usize;

    /// All ops, each behind those that it waits for.
    fn topological_order(&self) -> impl DoubleEndedIterator<Item = OpId>;

    /// What an op waits for, one entry an edge, each with the bytes of the edge.
    fn before(&self, op: OpId) -> impl ExactSizeIterator<Item = (OpId, f64)>;

    /// What waits for an op, one entry an edge, each with the bytes of the edge.
    fn after(&self, op: OpId) -> impl ExactSizeIterator<Item = (OpId, f64)>;
}

impl Directed for DataflowGraph {
    fn op_count(&self) -> usize {
        Self::op_count(self)
    }

    fn topological_order(&self) -> impl DoubleEndedIterator<Item = OpId> {
        Self::topological_order(self)
    }

    #[inline]
    fn before(&self, op: OpId) -> impl ExactSizeIterator<Item = (OpId, f64)> {
        self.predecessors(op).map(|edge| (edge.op, self.edge_bytes(edge) as f64))
    }

    #[inline]
    fn after(&self, op: OpId) -> impl ExactSizeIterator<Item = (OpId, f64)> {
        self.successors(op).map(|edge| (edge.op, self.edge_bytes(edge) as f64))
    }
}
