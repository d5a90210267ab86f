//! Moves that help at once, for large graphs: threads look for them, and the best are made first.

use std::cmp::Reverse;

use rayon::prelude::*;

use super::partitioned_graph::PartitionedGraph;
use crate::partition::multilevel::structure::Structure;

/// A vertex and by how much its best move lowers the cut; the largest gain, then the lowest number, comes first.
type Candidate = (Reverse<i64>, u32);

/// Vertices that a thread takes at a time.
const STRETCH: usize = 4096;

/// The vertices, of those listed, that can move with at least some gain.
fn candidates<S: Structure>(partition: &PartitionedGraph<'_, S>, vertices: &[u32], least: i64) -> Vec<Candidate> {
    let some = |vertices: &[u32]| -> Vec<Candidate> {
        let gain = |&vertex: &u32| Some((Reverse(partition.best_move(vertex)?.gain), vertex));
        vertices.iter().filter_map(gain).filter(|&(Reverse(gain), _)| gain >= least).collect()
    };
    vertices.par_chunks(STRETCH).with_max_len(1).map(some).collect::<Vec<_>>().concat()
}

/// The `count` vertices of the largest gains, best first.
pub(crate) fn most_promising<S: Structure>(
    partition: &PartitionedGraph<'_, S>,
    vertices: &[u32],
    count: usize,
) -> Vec<u32> {
    let mut candidates = candidates(partition, vertices, i64::MIN);
    if count < candidates.len() {
        candidates.select_nth_unstable(count);
        candidates.truncate(count);
    }
    candidates.sort_unstable();
    candidates.into_iter().map(|(_, vertex)| vertex).collect()
}

/// Moves of a round that are too few for another.
const FEW: usize = 100;

/// In each round, every vertex that lowers the cut moves, the largest gain first. A vertex that gains much less by the time
/// of its turn waits for the next round. Returns by how much the cut fell.
pub(crate) fn greedy<S: Structure>(partition: &mut PartitionedGraph<'_, S>, mut active: Vec<u32>, rounds: u32) -> i64 {
    let mut total = 0;
    let mut queued = vec![false; partition.graph.len()];
    for _ in 0..rounds {
        let mut found = candidates(partition, &active, 1);
        if found.len() < FEW {
            break;
        }
        found.par_sort_unstable();
        active.clear();
        for (Reverse(promised), vertex) in found {
            let mut queue = |vertex: u32| {
                if !std::mem::replace(&mut queued[vertex as usize], true) {
                    active.push(vertex);
                }
            };
            match partition.best_move(vertex) {
                Some(target) if target.gain > 0 && 4 * target.gain >= 3 * promised => {
                    total += target.gain;
                    partition.relocate(vertex, target.block, |_, neighbour, _| queue(neighbour));
                }
                Some(_) => queue(vertex),
                None => {}
            }
        }
        for &vertex in &active {
            queued[vertex as usize] = false;
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::multilevel::graph::Graph;

    #[test]
    fn the_gain_told_is_the_gain_had_within_capacities() {
        for (seed, blocks) in [(1, 2usize), (2, 3), (3, 8)] {
            let graph = Graph::tangle(seed);
            let max_block_weights = vec![graph.total_weight() / blocks as i64 * 13 / 10 + 4; blocks];
            let block_of = (0..200).map(|vertex| vertex % blocks as u32).collect();
            let mut partition = PartitionedGraph::new(&graph, &max_block_weights, block_of, |_| true);
            let before = graph.cut(&partition.block_of);
            let boundary = partition.boundary();
            let told = greedy(&mut partition, boundary, 8);
            assert!(told > 0);
            assert_eq!((graph.cut(&partition.block_of), partition.cut()), (before - told, before - told));
            assert_eq!(partition.overload(), 0);
        }
    }

    #[test]
    fn the_most_promising_come_first() {
        let graph = Graph::tangle(9);
        let max_block_weights = vec![graph.total_weight(); 4];
        let partition =
            PartitionedGraph::new(&graph, &max_block_weights, (0..200).map(|vertex| vertex % 4).collect(), |_| true);
        let gain = |&vertex: &u32| partition.best_move(vertex).map(|target| target.gain);
        let all = most_promising(&partition, &partition.boundary(), 200);
        assert!(all.is_sorted_by_key(|vertex| Reverse(gain(vertex))));
        assert_eq!(most_promising(&partition, &partition.boundary(), 30), all[..30]);
    }
}
