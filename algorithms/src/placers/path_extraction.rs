//! Longest paths of a graph, one after the other, each without the edges of those before (L §4.5, step 1).

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use placebench_datasets::{DataflowGraph, OpId};

use crate::ranks::OperationsRanks;

/// An op and the length by which it competes: the largest first, of equals the lowest id.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Candidate {
    length: f64,
    op: OpId,
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.length.total_cmp(&other.length).then(other.op.cmp(&self.op))
    }
}

/// Hands out, again and again, the path that leads to the sink with the largest operations source rank (L Eq. 4.3), and
/// removes its edges. Parallel edges count as one.
///
/// Removing edges only ever lowers source ranks. So the ranks kept here are upper bounds, exact at first, and a bound is
/// looked at again only when a walk back from the most promising sink comes by: if the bound no longer holds, it is
/// lowered and the walk steps back; if the walk reaches a source, all bounds on it hold, and it is the path.
/// Each step of a walk ends on the path or lowers a bound.
///
/// # Complexity
/// O((edges + bounds lowered) · log degree) for all paths together.
pub(super) struct PathExtraction<'a> {
    graph: &'a DataflowGraph,
    /// Upper bound of each op's source rank.
    rank: Vec<f64>,
    /// For each op the producers over edges that are left, by an upper bound of what they contribute to its rank.
    before: Vec<BinaryHeap<Candidate>>,
    /// For each op the number of edges that are left behind it.
    consumers_left: Vec<u32>,
    /// The ops with edges left before and none behind, by rank.
    sinks: BinaryHeap<Candidate>,
    path: Vec<OpId>,
}

impl<'a> PathExtraction<'a> {
    pub(super) fn new(graph: &'a DataflowGraph) -> Self {
        let rank = OperationsRanks::new(graph).source;
        let mut consumers_left = vec![0u32; graph.op_count()];
        let mut producers: Vec<OpId> = Vec::new();
        let mut before = Vec::with_capacity(graph.op_count());
        for op in graph.op_ids() {
            producers.clear();
            producers.extend_from_slice(graph.predecessor_ops(op));
            producers.sort_unstable();
            producers.dedup();
            let candidates: Vec<Candidate> =
                producers.iter().map(|&op| Candidate { length: rank[op.index()] + graph.ops(op), op }).collect();
            for producer in &producers {
                consumers_left[producer.index()] += 1;
            }
            before.push(BinaryHeap::from(candidates));
        }
        let mut paths = Self { graph, rank, before, consumers_left, sinks: BinaryHeap::new(), path: Vec::new() };
        for op in graph.op_ids() {
            paths.push_if_sink(op);
        }
        paths
    }

    /// The next path, from its sink to its source; `None` if no edge is left.
    pub(super) fn next_path(&mut self) -> Option<&[OpId]> {
        while let Some(Candidate { op: sink, .. }) = self.sinks.pop() {
            if self.walk_back(sink) {
                self.remove_path();
                return Some(&self.path);
            }
            // Its bound was too high: it has to compete again.
            self.push_if_sink(sink);
        }
        None
    }

    /// Follows the best producers from a sink to a source. False if the sink's own bound turned out to be too high.
    fn walk_back(&mut self, sink: OpId) -> bool {
        self.path.clear();
        self.path.push(sink);
        while let Some(&op) = self.path.last() {
            let best = self.best_producer(op);
            let rank = best.map_or(0.0, |best| best.length);
            if rank < self.rank[op.index()] {
                self.rank[op.index()] = rank;
                self.path.pop();
            } else {
                match best {
                    Some(best) => self.path.push(best.op),
                    None => return true,
                }
            }
        }
        false
    }

    /// The producer that contributes most to an op's rank, as far as the bounds tell.
    fn best_producer(&mut self, op: OpId) -> Option<Candidate> {
        loop {
            let mut top = self.before[op.index()].peek_mut()?;
            let length = self.rank[top.op.index()] + self.graph.ops(top.op);
            if length < top.length {
                top.length = length;
            } else {
                return Some(*top);
            }
        }
    }

    fn remove_path(&mut self) {
        for position in 1..self.path.len() {
            // The walk left each op's producer on the path at the top of the op's heap.
            let removed = self.before[self.path[position - 1].index()].pop();
            debug_assert_eq!(removed.map(|candidate| candidate.op), Some(self.path[position]));
            self.consumers_left[self.path[position].index()] -= 1;
        }
        for position in 0..self.path.len() {
            self.push_if_sink(self.path[position]);
        }
    }

    fn push_if_sink(&mut self, op: OpId) {
        if self.consumers_left[op.index()] == 0 && !self.before[op.index()].is_empty() {
            self.sinks.push(Candidate { length: self.rank[op.index()], op });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;

    #[test]
    fn paths_come_longest_first_and_use_each_edge_once() {
        // op0(1) ─▶ op1(2) ─▶ op3(1) ─▶ op5(1)
        //    └────▶ op2(5) ─▶ op3 ────▶ op4(9)
        // Source ranks: op1, op2: 1; op3: 6; op4, op5: 7. Sink 4 has the lower id: path 4 3 2 0. What is left:
        // 0→1→3→5 with ranks op1 1, op3 3, op5 4. Then nothing.
        let graph = example::graph(
            &[1.0, 2.0, 5.0, 1.0, 9.0, 1.0],
            &[(0, 1, 1), (0, 2, 1), (1, 3, 1), (2, 3, 1), (3, 4, 1), (3, 5, 1), (0, 1, 1)],
            &[],
        );
        let mut paths = PathExtraction::new(&graph);
        assert_eq!(paths.next_path(), Some([4, 3, 2, 0].map(OpId).as_slice()));
        assert_eq!(paths.next_path(), Some([5, 3, 1, 0].map(OpId).as_slice()));
        assert_eq!(paths.next_path(), None);
    }
}
