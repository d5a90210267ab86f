//! What follows what among vertices, without cycles, and B's upward rank.

use placebench_datasets::Instance;

use super::{Vertices, grouped};

/// The simple directed graph of the vertices, acyclic: contraction can close cycles (a ▶ x ▶ b with a and b colocated),
/// and B's rule drops, of each, the edge that a traversal takes last (B §4.1).
///
/// The traversal is depth first from the sources, then from vertices not yet seen, both ascending; successors ascend.
#[derive(Clone, Debug)]
pub(in crate::placers) struct VertexGraph {
    out_offsets: Vec<u32>,
    successors: Vec<u32>,
    in_offsets: Vec<u32>,
    predecessors: Vec<u32>,
    /// A topological order.
    order: Vec<u32>,
}

impl VertexGraph {
    /// The graph of the vertices.
    ///
    /// # Complexity
    /// O(ops + edges · log edges).
    pub(in crate::placers) fn new(instance: &Instance, vertices: &Vertices) -> Self {
        let mut arcs: Vec<(u32, u32)> = vertices.edges(instance).collect();
        arcs.sort_unstable();
        arcs.dedup();
        let (offsets, _) = group_by(vertices.count(), arcs.iter().map(|&(from, _)| from));
        let (kept, order) = acyclic(vertices.count(), &offsets, &arcs);
        let mut kept = kept.into_iter();
        arcs.retain(|_| kept.next() == Some(true));
        let (out_offsets, _) = group_by(vertices.count(), arcs.iter().map(|&(from, _)| from));
        let (in_offsets, positions) = group_by(vertices.count(), arcs.iter().map(|&(_, to)| to));
        let predecessors = positions.into_iter().map(|position| arcs[position as usize].0).collect();
        let successors = arcs.into_iter().map(|(_, to)| to).collect();
        Self { out_offsets, successors, in_offsets, predecessors, order }
    }

    /// The vertices after a vertex, ascending.
    pub(in crate::placers) fn successors(&self, vertex: u32) -> &[u32] {
        let range = self.out_offsets[vertex as usize] as usize..self.out_offsets[vertex as usize + 1] as usize;
        &self.successors[range]
    }

    /// The vertices before a vertex, ascending.
    pub(in crate::placers) fn predecessors(&self, vertex: u32) -> &[u32] {
        let range = self.in_offsets[vertex as usize] as usize..self.in_offsets[vertex as usize + 1] as usize;
        &self.predecessors[range]
    }

    /// B's upward rank of every vertex: the number of edges on the longest path to a sink (Alg. 4.1).
    ///
    /// # Complexity
    /// O(vertices + edges), where Alg. 4.1 may visit a vertex once for each path.
    pub(in crate::placers) fn hop_ranks(&self) -> Vec<u32> {
        let mut ranks = vec![0; self.order.len()];
        for &vertex in self.order.iter().rev() {
            let longest = self.successors(vertex).iter().map(|&next| ranks[next as usize] + 1).max();
            ranks[vertex as usize] = longest.unwrap_or(0);
        }
        ranks
    }
}

fn group_by(count: usize, labels: impl Iterator<Item = u32>) -> (Vec<u32>, Vec<u32>) {
    grouped(count, &labels.collect::<Vec<_>>())
}

/// Which arcs to keep, and a topological order of what is left: an arc to a vertex on the path from the root of the
/// search to where it stands closes a cycle.
fn acyclic(count: usize, offsets: &[u32], arcs: &[(u32, u32)]) -> (Vec<bool>, Vec<u32>) {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        OnPath,
        Done,
    }
    let mut has_input = vec![false; count];
    for &(_, to) in arcs {
        has_input[to as usize] = true;
    }
    let all = 0..count as u32;
    let starts = all.clone().filter(|&vertex| !has_input[vertex as usize]).chain(all);
    let mut seen = vec![Seen::No; count];
    let mut kept = vec![true; arcs.len()];
    let mut order = Vec::with_capacity(count);
    let mut path: Vec<u32> = Vec::new();
    let mut cursors = offsets[..count].to_vec();
    for start in starts {
        if seen[start as usize] != Seen::No {
            continue;
        }
        seen[start as usize] = Seen::OnPath;
        path.push(start);
        while let Some(&vertex) = path.last() {
            let cursor = cursors[vertex as usize];
            if cursor == offsets[vertex as usize + 1] {
                seen[vertex as usize] = Seen::Done;
                order.push(vertex);
                path.pop();
                continue;
            }
            cursors[vertex as usize] += 1;
            let next = arcs[cursor as usize].1;
            match seen[next as usize] {
                Seen::No => {
                    seen[next as usize] = Seen::OnPath;
                    path.push(next);
                }
                Seen::OnPath => kept[cursor as usize] = false,
                Seen::Done => {}
            }
        }
    }
    order.reverse();
    (kept, order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::coarse::cells::Cells;
    use crate::placers::example;

    fn graph_of(op_count: usize, edges: &[(u32, u32)], colocated: &[(u32, u32)]) -> VertexGraph {
        let edges: Vec<_> = edges.iter().map(|&(from, to)| (from, to, 1)).collect();
        let graph = example::graph(&vec![1.0; op_count], &edges, colocated);
        let instance = Instance::new(graph, example::cluster(&[1.0], 1.0)).unwrap();
        VertexGraph::new(&instance, &Vertices::new(&instance, Cells::None))
    }

    #[test]
    fn the_rank_counts_the_edges_to_the_farthest_sink() {
        // 0 ▶ 1 ▶ 3, 0 ▶ 2 ▶ 4 ▶ 3, 5 alone.
        let graph = graph_of(6, &[(0, 1), (1, 3), (0, 2), (2, 4), (4, 3)], &[]);
        assert_eq!(graph.hop_ranks(), [3, 1, 2, 0, 1, 0]);
    }

    #[test]
    fn the_edge_that_closes_a_cycle_is_dropped() {
        // 0 ▶ 1 ▶ 2 ▶ 3 with {1, 3}: vertices a = 0, b = {1, 3}, c = 2; a ▶ b ▶ c ▶ b. From the source a the last edge of
        // the cycle b ▶ c ▶ b is c ▶ b.
        let graph = graph_of(4, &[(0, 1), (1, 2), (2, 3)], &[(1, 3)]);
        assert_eq!((graph.successors(1), graph.successors(2)), (&[2u32][..], &[][..]));
        assert_eq!(graph.predecessors(1), [0]);
        assert_eq!(graph.hop_ranks(), [2, 1, 0]);
    }

    #[test]
    fn a_cycle_without_a_source_starts_at_its_lowest_vertex() {
        // 0 ▶ 1, 2 ▶ 3 with {0, 3} and {1, 2}: a ▶ b ▶ a. The edge b ▶ a goes.
        let graph = graph_of(4, &[(0, 1), (2, 3)], &[(0, 3), (1, 2)]);
        assert_eq!((graph.successors(0), graph.successors(1)), (&[1u32][..], &[][..]));
    }
}
