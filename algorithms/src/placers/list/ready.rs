//! The ops that may be placed next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use placebench_datasets::OpId;

use crate::Directed;

/// How many predecessors of each op are not placed yet.
pub(super) struct Waiting {
    predecessors: Vec<u32>,
}

impl Waiting {
    pub(super) fn new(graph: &impl Directed) -> Self {
        Self { predecessors: ops(graph).map(|op| graph.before(op).len() as u32).collect() }
    }

    /// Whether all predecessors of an op are placed.
    pub(super) fn is_ready(&self, op: OpId) -> bool {
        self.predecessors[op.index()] == 0
    }

    /// Counts an op as placed; `ready` is called with each op that waited for nothing else.
    pub(super) fn place(&mut self, graph: &impl Directed, op: OpId, mut ready: impl FnMut(OpId)) {
        for (after, _) in graph.after(op) {
            let left = &mut self.predecessors[after.index()];
            *left -= 1;
            if *left == 0 {
                ready(after);
            }
        }
    }
}

fn ops(graph: &impl Directed) -> impl Iterator<Item = OpId> {
    (0..graph.op_count()).map(OpId::new)
}

/// For each op, its place in an order of all ops.
pub(super) fn positions(order: &[OpId]) -> Vec<u32> {
    let mut positions = vec![0; order.len()];
    for (position, op) in order.iter().enumerate() {
        positions[op.index()] = position as u32;
    }
    positions
}

/// The linear extension of the graph that takes, of the ops whose predecessors it has taken, always the first in `order`.
///
/// # Complexity
/// O(edges + ops · log ops).
pub(crate) fn most_urgent_first(graph: &impl Directed, order: &[OpId]) -> Vec<OpId> {
    let position = positions(order);
    let mut waiting = Waiting::new(graph);
    let sources = ops(graph).filter(|&op| waiting.is_ready(op));
    let mut ready: BinaryHeap<Reverse<u32>> = sources.map(|op| Reverse(position[op.index()])).collect();
    let mut extension = Vec::with_capacity(order.len());
    while let Some(Reverse(next)) = ready.pop() {
        let op = order[next as usize];
        extension.push(op);
        waiting.place(graph, op, |after| ready.push(Reverse(position[after.index()])));
    }
    extension
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{GraphBuilder, OpSpec};

    use super::*;

    #[test]
    fn the_most_urgent_of_the_ready_ops_comes_first() {
        let mut builder = GraphBuilder::default();
        let ops = [(); 4].map(|()| builder.add_op(OpSpec::cost(1.0), &[1]));
        builder.add_edge(ops[3], 0, ops[0]).unwrap();
        builder.add_edge(ops[2], 0, ops[1]).unwrap();
        let graph = builder.build().unwrap();
        assert_eq!(most_urgent_first(&graph, &ops).as_slice(), [ops[2], ops[1], ops[3], ops[0]]);
    }
}
