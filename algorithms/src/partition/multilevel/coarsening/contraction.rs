//! Contraction: each cluster becomes a vertex, parallel edges become one, edges inside a cluster vanish.

use std::ops::Range;

use rayon::prelude::*;

use crate::partition::multilevel::graph::Graph;
use crate::partition::multilevel::pool::written_zeros;
use crate::partition::multilevel::structure::Structure;
use crate::partition::multilevel::weights::append;

/// The members of each cluster of a range, cluster by cluster, ascending.
struct Members {
    first: usize,
    starts: Vec<u32>,
    vertices: Vec<u32>,
}

impl Members {
    fn new(cluster_of: &[u32], range: Range<usize>) -> Self {
        let mut starts = vec![0u32; range.len() + 1];
        for &cluster in cluster_of {
            if let Some(count) = starts[1..].get_mut((cluster as usize).wrapping_sub(range.start)) {
                *count += 1;
            }
        }
        for cluster in 0..range.len() {
            starts[cluster + 1] += starts[cluster];
        }
        let mut vertices = vec![0; starts[range.len()] as usize];
        let mut cursor = starts[..range.len()].to_vec();
        for (vertex, &cluster) in cluster_of.iter().enumerate() {
            if let Some(slot) = cursor.get_mut((cluster as usize).wrapping_sub(range.start)) {
                vertices[*slot as usize] = vertex as u32;
                *slot += 1;
            }
        }
        Self { first: range.start, starts, vertices }
    }

    fn of(&self, cluster: usize) -> &[u32] {
        let at = cluster - self.first;
        &self.vertices[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// Entries of a graph below which threads cost more than they bring.
const SMALL: usize = 20_000;

/// The graph of the clusters: `cluster_of` gives each vertex a cluster below `clusters`. Threads make the rows of ranges of
/// clusters, which do not depend on each other.
///
/// # Complexity
/// O(vertices + entries), without hashing: a slot a cluster says where the current row has its entry.
pub(crate) fn contract(graph: &Graph<'_>, cluster_of: &[u32], clusters: usize) -> Graph<'static> {
    let parts = if graph.entries() < SMALL { 1 } else { rayon::current_num_threads() };
    let border = |part: usize| clusters * part / parts;
    let rows = |part: usize| {
        // The first has room for all, since the others are added to it.
        let room = if part == 0 { (clusters, graph.entries()) } else { (clusters / parts, graph.entries() / parts) };
        contract_range(graph, cluster_of, clusters, border(part)..border(part + 1), room)
    };
    let made: Vec<Graph<'static>> = (0..parts).into_par_iter().map(rows).collect();
    let mut made = made.into_iter();
    let mut coarse = made.next().unwrap_or_default();
    for next in made {
        append_rows(&mut coarse, &next);
    }
    coarse.neighbours.to_mut().shrink_to_fit();
    coarse.edge_weights.shrink_to_fit();
    coarse
}

/// The rows of a range of clusters. Offsets begin with 0; the last parameter reserves room for rows and entries.
fn contract_range(
    graph: &Graph<'_>,
    cluster_of: &[u32],
    clusters: usize,
    range: Range<usize>,
    (rows, entries): (usize, usize),
) -> Graph<'static> {
    let members = Members::new(cluster_of, range.clone());
    let mut offsets = Vec::with_capacity(rows + 1);
    let mut vertex_weights = graph.vertex_weights.no_sums_of(rows);
    // Pages that are not written cost nothing, and the rest is given back at the end.
    let mut neighbours: Vec<u32> = Vec::with_capacity(entries);
    let mut edge_weights = graph.edge_weights.no_sums_of(entries);
    let directed = !graph.directions.is_empty();
    let mut directions = Vec::new();
    // The weights of the current row's edges.
    let mut sums: Vec<i64> = Vec::new();
    // One more than the position of the cluster's entry; what lies before the current row is out of date.
    let mut slot_of: Vec<u32> = written_zeros(clusters);
    offsets.push(0);
    for cluster in range {
        let first = neighbours.len();
        sums.clear();
        let mut total = 0;
        for &vertex in members.of(cluster) {
            total += graph.weight(vertex);
            for (at, (neighbour, weight)) in graph.row(vertex).zip(graph.edges(vertex)) {
                let other = cluster_of[neighbour as usize];
                if other as usize == cluster {
                    continue;
                }
                let slot = &mut slot_of[other as usize];
                if *slot as usize > first {
                    sums[*slot as usize - 1 - first] += weight;
                    if directed {
                        directions[*slot as usize - 1] |= graph.directions[at];
                    }
                } else {
                    neighbours.push(other);
                    sums.push(weight);
                    if directed {
                        directions.push(graph.directions[at]);
                    }
                    *slot = neighbours.len() as u32;
                }
            }
        }
        edge_weights.extend(&sums);
        vertex_weights.push(total);
        offsets.push(neighbours.len() as u32);
    }
    Graph { offsets: offsets.into(), neighbours: neighbours.into(), edge_weights, vertex_weights, directions }
}

/// Adds further rows to the first ones.
fn append_rows(first: &mut Graph<'static>, next: &Graph<'static>) {
    let before = first.entries() as u32;
    first.offsets.to_mut().extend(next.offsets[1..].iter().map(|offset| before + offset));
    append(first.neighbours.to_mut(), &next.neighbours);
    first.edge_weights.append(&next.edge_weights);
    first.vertex_weights.append(&next.vertex_weights);
    append(&mut first.directions, &next.directions);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_edges_and_members_add_up() {
        // A path 0-1-2-3 and an edge 0-3; clusters {0, 2}, {1}, {3}.
        let graph = Graph {
            offsets: vec![0, 2, 4, 6, 8].into(),
            neighbours: vec![1, 3, 0, 2, 1, 3, 2, 0].into(),
            edge_weights: vec![5, 1, 5, 7, 7, 2, 2, 1].into(),
            vertex_weights: vec![1, 2, 3, 4].into(),
            directions: vec![1, 1, 2, 1, 2, 1, 2, 2],
        };
        let coarse = contract(&graph, &[0, 1, 0, 2], 3);
        assert_eq!([0, 1, 2].map(|vertex| coarse.weight(vertex)), [4, 2, 4]);
        assert_eq!(coarse.edges(0).collect::<Vec<_>>(), [(1, 12), (2, 3)]);
        assert_eq!(coarse.edges(1).collect::<Vec<_>>(), [(0, 12)]);
        assert_eq!(coarse.edges(2).collect::<Vec<_>>(), [(0, 3)]);
        // 0 → 1 → 2 became an edge both ways, 0 → 3 and 2 → 3 remain one.
        assert_eq!(coarse.directions, [3, 1, 3, 2]);
        assert_eq!(coarse.cut(&[0, 1, 1]), graph.cut(&[0, 1, 0, 1]));
    }
}
