//! Moves that help at once, for large graphs: threads look for them, and the best are made first.

use std::cmp::Reverse;

use rayon::prelude::*;

use super::partitioned_graph::State;
use crate::partition::multilevel::graph::Weight;

/// A vertex and by how much its best move lowers the cut; the largest gain, then the lowest number, comes first.
type Candidate = (Reverse<i64>, u32);

/// Vertices that a thread looks at in one go.
const STRETCH: usize = 4096;

/// The vertices, of those listed, that can move with at least some gain.
fn candidates<W: Weight>(state: &State<'_, '_, W>, vertices: &[u32], least: i64) -> Vec<Candidate> {
    let some = |vertices: &[u32]| -> Vec<Candidate> {
        let gain = |&vertex: &u32| Some((Reverse(state.best_target(vertex)?.gain), vertex));
        vertices.iter().filter_map(gain).filter(|&(Reverse(gain), _)| gain >= least).collect()
    };
    vertices.par_chunks(STRETCH).with_max_len(1).map(some).collect::<Vec<_>>().concat()
}

/// The vertices of the largest gains, so many of them, the best first.
pub(crate) fn most_promising<W: Weight>(state: &State<'_, '_, W>, vertices: &[u32], count: usize) -> Vec<u32> {
    let mut candidates = candidates(state, vertices, i64::MIN);
    if count < candidates.len() {
        candidates.select_nth_unstable(count);
        candidates.truncate(count);
    }
    candidates.sort_unstable();
    candidates.into_iter().map(|(_, vertex)| vertex).collect()
}

/// Moves of a round that are too few for another.
const FEW: usize = 100;

/// Rounds in which every vertex that lowers the cut moves, the largest gain first; who gained much less by the time of its
/// turn waits for the next round. Returns by how much the cut fell.
pub(crate) fn greedy<W: Weight>(state: &mut State<'_, '_, W>, mut active: Vec<u32>, rounds: u32) -> i64 {
    let mut total = 0;
    let mut queued = vec![false; state.graph.len()];
    for _ in 0..rounds {
        let mut found = candidates(state, &active, 1);
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
            match state.best_target(vertex) {
                Some(target) if target.gain > 0 && 4 * target.gain >= 3 * promised => {
                    total += target.gain;
                    state.relocate(vertex, target.block, |_, neighbour, _| queue(neighbour));
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
    use super::super::fm::tests::tangle;
    use super::*;

    #[test]
    fn the_gain_told_is_the_gain_had_within_capacities() {
        for (seed, blocks) in [(1, 2usize), (2, 3), (3, 8)] {
            let graph = tangle(seed);
            let caps = vec![graph.total_weight() / blocks as i64 * 13 / 10 + 4; blocks];
            let block_of = (0..200).map(|vertex| vertex % blocks as u32).collect();
            let mut state = State::new(&graph, &caps, block_of, |_| true);
            let before = graph.cut(&state.block_of);
            let boundary = state.boundary();
            let told = greedy(&mut state, boundary, 8);
            assert!(told > 0);
            assert_eq!((graph.cut(&state.block_of), state.cut()), (before - told, before - told));
            assert_eq!(state.overload(), 0);
        }
    }

    #[test]
    fn the_most_promising_come_first() {
        let graph = tangle(9);
        let caps = vec![graph.total_weight(); 4];
        let state = State::new(&graph, &caps, (0..200).map(|vertex| vertex % 4).collect(), |_| true);
        let gain = |&vertex: &u32| state.best_target(vertex).map(|target| target.gain);
        let all = most_promising(&state, &state.boundary(), 200);
        assert!(all.is_sorted_by_key(|vertex| Reverse(gain(vertex))));
        assert_eq!(most_promising(&state, &state.boundary(), 30), all[..30]);
    }
}
