//! Orders in which list schedulers place ops.

use placebench_datasets::{DataflowGraph, OpId, Time};

/// The ops by rank, largest first; equal ranks in topological order.
///
/// For a rank that never grows along an edge, such as the upward rank, this is a linear extension of the graph: zero
/// costs make ranks equal, not larger.
///
/// # Complexity
/// O(ops · log ops).
pub(crate) fn by_descending_rank(graph: &DataflowGraph, ranks: &[Time]) -> Vec<OpId> {
    // The order is sorted together with its keys: looking each rank up at every comparison takes three times as long.
    let mut keyed: Vec<(Time, u32, OpId)> =
        graph.topological_order().enumerate().map(|(position, op)| (ranks[op.index()], position as u32, op)).collect();
    keyed.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    keyed.into_iter().map(|(_, _, op)| op).collect()
}
