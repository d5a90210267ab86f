//! Longest paths of a graph, one after the other, each without the edges of those before (L §4.5, step 1).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use placebench_datasets::{DataflowGraph, OpId};

use crate::ranks::OperationsRanks;
use crate::total::{Total, steady};

/// An op and the length by which it competes: the largest first, of those equal up to rounding the lowest id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    length: Total,
    op: Reverse<OpId>,
}

impl Candidate {
    fn new(length: f64, op: OpId) -> Self {
        Self { length: steady(length), op: Reverse(op) }
    }
}

/// What is known of an op. One record, since the search jumps from op to op and pays for each cache line.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// Upper bound of the source rank.
    rank: f64,
    ops: f64,
    /// Where the op's heap of producers starts in [`PathExtraction::producers`].
    heap_start: u32,
    /// How many edges are left before the op.
    heap_len: u32,
    /// How many edges are left behind it.
    consumers_left: u32,
    /// Whether `rank` is the rank itself.
    is_exact: bool,
    /// The producer that gives the op its rank, if the rank is exact and the op has a producer.
    best: Option<OpId>,
}

impl Node {
    /// What the op gives to the ranks of its consumers.
    fn behind(&self) -> f64 {
        self.rank + self.ops
    }
}

/// Hands out, again and again, the path that leads to the sink with the largest operations source rank (L Eq. 4.3), and
/// removes its edges. Parallel edges count as one.
///
/// Removing edges only ever lowers source ranks, so a rank that was computed once is an upper bound for ever, and exact as
/// long as the path that gave it is whole. Each op points to its producer on that path; taking a path out makes inexact
/// what hangs on it in this tree, and nothing else. Inexact ranks are computed again only where the search for the next
/// path needs them: from the sink, then from the producer, that still looks best by its bound.
///
/// # Complexity
/// O(edges · log degree + ranks computed again · degree) for all paths together, where at most paths · ops ranks are.
pub(super) struct PathExtraction<'a> {
    graph: &'a DataflowGraph,
    nodes: Vec<Node>,
    /// For each op a max-heap of the producers over edges that are left, by an upper bound of what they contribute.
    producers: Vec<Candidate>,
    /// The ops with edges left before and none behind, by an upper bound of their rank.
    sinks: BinaryHeap<Candidate>,
    path: Vec<OpId>,
    stack: Vec<OpId>,
}

impl<'a> PathExtraction<'a> {
    pub(super) fn new(graph: &'a DataflowGraph) -> Self {
        let ranks = OperationsRanks::new(graph).source;
        let mut consumers_left = vec![0u32; graph.op_count()];
        let mut producers: Vec<Candidate> = Vec::with_capacity(graph.edge_count());
        let mut nodes = Vec::with_capacity(graph.op_count());
        for op in graph.op_ids() {
            let start = producers.len();
            let candidate = |&op: &OpId| Candidate::new(ranks[op.index()] + graph.ops(op), op);
            producers.extend(graph.predecessor_ops(op).iter().map(candidate));
            // Descending is a heap; parallel edges lie side by side.
            producers[start..].sort_unstable_by(|a, b| b.cmp(a));
            dedup_from(&mut producers, start);
            for producer in &producers[start..] {
                consumers_left[producer.op.0.index()] += 1;
            }
            nodes.push(Node {
                rank: ranks[op.index()],
                ops: graph.ops(op),
                heap_start: start as u32,
                heap_len: (producers.len() - start) as u32,
                consumers_left: 0,
                is_exact: true,
                best: producers.get(start).map(|candidate| candidate.op.0),
            });
        }
        let mut sinks = BinaryHeap::new();
        for ((op, node), consumers_left) in graph.op_ids().zip(&mut nodes).zip(consumers_left) {
            node.consumers_left = consumers_left;
            if consumers_left == 0 && node.heap_len > 0 {
                sinks.push(Candidate::new(node.rank, op));
            }
        }
        Self { graph, nodes, producers, sinks, path: Vec::new(), stack: Vec::new() }
    }

    /// The next path, from its sink to its source; `None` if no edge is left.
    pub(super) fn next_path(&mut self) -> Option<&[OpId]> {
        loop {
            let Candidate { op: Reverse(sink), length } = self.sinks.pop()?;
            self.make_exact(sink);
            if steady(self.nodes[sink.index()].rank) < length {
                // Its bound was too high: it has to compete again.
                self.push_if_sink(sink);
            } else {
                self.path.clear();
                self.path.extend(std::iter::successors(Some(sink), |op| self.nodes[op.index()].best));
                self.remove_path();
                return Some(&self.path);
            }
        }
    }

    /// Computes an op's rank, and of the ranks before it those that it takes to know it.
    fn make_exact(&mut self, op: OpId) {
        if self.nodes[op.index()].is_exact {
            return;
        }
        self.stack.push(op);
        while let Some(&op) = self.stack.last() {
            let best = self.best_producer(op);
            match best {
                Some(best) if !self.nodes[best.op.0.index()].is_exact => self.stack.push(best.op.0),
                _ => {
                    let best = best.map(|best| best.op.0);
                    let rank = best.map_or(0.0, |best| self.nodes[best.index()].behind());
                    let node = &mut self.nodes[op.index()];
                    node.rank = rank;
                    node.best = best;
                    node.is_exact = true;
                    self.stack.pop();
                }
            }
        }
    }

    /// The producer that contributes most to an op's rank, as far as the bounds tell.
    fn best_producer(&mut self, op: OpId) -> Option<Candidate> {
        let node = self.nodes[op.index()];
        let heap = &mut self.producers[node.heap_start as usize..][..node.heap_len as usize];
        loop {
            let top = *heap.first()?;
            let length = steady(self.nodes[top.op.0.index()].behind());
            if length < top.length {
                heap[0].length = length;
                sift_down(heap);
            } else {
                return Some(top);
            }
        }
    }

    fn remove_path(&mut self) {
        for position in 1..self.path.len() {
            let (consumer, producer) = (self.path[position - 1], self.path[position]);
            let node = &mut self.nodes[consumer.index()];
            let heap = &mut self.producers[node.heap_start as usize..][..node.heap_len as usize];
            // An exact rank's producer is at the top of the op's heap.
            debug_assert_eq!(heap[0].op.0, producer);
            let last = heap.len() - 1;
            heap.swap(0, last);
            sift_down(&mut heap[..last]);
            node.heap_len -= 1;
            node.is_exact = false;
            self.nodes[producer.index()].consumers_left -= 1;
            self.stack.push(consumer);
        }
        while let Some(op) = self.stack.pop() {
            for &consumer in self.graph.successor_ops(op) {
                let node = &mut self.nodes[consumer.index()];
                if node.is_exact && node.best == Some(op) {
                    node.is_exact = false;
                    self.stack.push(consumer);
                }
            }
        }
        for position in 0..self.path.len() {
            self.push_if_sink(self.path[position]);
        }
    }

    fn push_if_sink(&mut self, op: OpId) {
        let node = &self.nodes[op.index()];
        if node.consumers_left == 0 && node.heap_len > 0 {
            self.sinks.push(Candidate::new(node.rank, op));
        }
    }
}

/// Restores a max-heap whose first item may be too small.
fn sift_down(heap: &mut [Candidate]) {
    let mut at = 0;
    loop {
        let left = 2 * at + 1;
        let Some(mut largest) = heap.get(left) else { return };
        let mut child = left;
        if let Some(right) = heap.get(left + 1)
            && right > largest
        {
            (largest, child) = (right, left + 1);
        }
        if *largest <= heap[at] {
            return;
        }
        heap.swap(at, child);
        at = child;
    }
}

/// Removes repeated neighbours from position `start` on.
fn dedup_from(candidates: &mut Vec<Candidate>, start: usize) {
    let mut kept = start;
    for position in start..candidates.len() {
        if position == start || candidates[position].op != candidates[kept - 1].op {
            candidates[kept] = candidates[position];
            kept += 1;
        }
    }
    candidates.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;
    use proptest::collection::vec;
    use proptest::prelude::*;

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

    /// Every rank computed anew for every path, as L writes it.
    fn literal_paths(graph: &DataflowGraph) -> Vec<Vec<OpId>> {
        let largest = |candidates: &mut dyn Iterator<Item = Candidate>| candidates.max();
        let mut edges: std::collections::BTreeSet<(OpId, OpId)> =
            graph.edges().map(|(from, edge)| (from, edge.op)).collect();
        let mut paths = Vec::new();
        while !edges.is_empty() {
            let mut rank = vec![0.0; graph.op_count()];
            let mut before = vec![None; graph.op_count()];
            for op in graph.topological_order() {
                let mut contributions = edges
                    .iter()
                    .filter(|(_, to)| *to == op)
                    .map(|&(from, _)| Candidate::new(rank[from.index()] + graph.ops(from), from));
                let best = largest(&mut contributions);
                let best = best.map(|best| best.op.0);
                rank[op.index()] = best.map_or(0.0, |from| rank[from.index()] + graph.ops(from));
                before[op.index()] = best;
            }
            let mut sinks = graph
                .op_ids()
                .filter(|&op| before[op.index()].is_some() && !edges.iter().any(|(from, _)| *from == op))
                .map(|op| Candidate::new(rank[op.index()], op));
            let sink = largest(&mut sinks).map(|sink| sink.op.0);
            let path: Vec<OpId> = std::iter::successors(sink, |op| before[op.index()]).collect();
            for pair in path.windows(2) {
                edges.remove(&(pair[1], pair[0]));
            }
            paths.push(path);
        }
        paths
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Costs are tenths, whose sums round, and few of them, so that many lengths are equal.
        #[test]
        fn the_paths_are_those_of_computing_every_rank_anew(
            costs in vec(prop_oneof![Just(0.0), Just(0.1), Just(0.2), Just(0.3), Just(0.7)], 1..30),
            raw_edges in vec((0u32..30, 0u32..30), 0..120),
        ) {
            let n = costs.len() as u32;
            let edges: Vec<(u32, u32, u64)> = raw_edges
                .into_iter()
                .map(|(a, b)| (a % n, b % n))
                .filter(|(a, b)| a != b)
                .map(|(a, b)| (a.min(b), a.max(b), 1))
                .collect();
            let graph = example::graph(&costs, &edges, &[]);
            let mut extraction = PathExtraction::new(&graph);
            let mut paths = Vec::new();
            while let Some(path) = extraction.next_path() {
                paths.push(path.to_vec());
            }
            prop_assert_eq!(paths, literal_paths(&graph));
        }
    }
}
