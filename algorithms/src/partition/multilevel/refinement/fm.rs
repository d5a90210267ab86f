//! Fiduccia–Mattheyses refinement with k blocks: hill-climbing from the boundary, undone back to the best point.

use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::delta::{Overlay, search_together};
use super::greedy::{greedy, most_promising};
use super::partitioned_graph::{Outlook, State, Target};
use crate::StopToken;
use crate::partition::multilevel::graph::Weight;
use crate::partition::multilevel::heap::Heap;
use crate::partition::multilevel::pool::Pool;
use crate::partition::multilevel::random::Random;

/// How long and how widely to search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FmConfig {
    /// Passes at most; a pass moves each vertex at most once.
    pub(crate) rounds: u32,
    /// A pass that lowers the cut by a smaller share is the last.
    pub(crate) min_improvement: f64,
    /// Boundary vertices that a search starts from; the larger, the more global.
    pub(crate) seeds: usize,
    /// Moves without a new best after which a search ends.
    pub(crate) patience: u32,
    /// A search ends where [`STRIDE`] moves lowered the cut by a smaller share.
    pub(crate) worthwhile: f64,
}

/// Moves after which a search asks whether it is still worth its while.
const STRIDE: usize = 1000;

/// Boundary vertices from which on a search from all of them is cut short.
const MANY: usize = 20_000;
/// Rounds of moves that help at once.
const GREEDY_ROUNDS: u32 = 12;
/// Of so many searches one runs at the same time as others.
const SPARSE: usize = 64;
/// Searches at the same time, at most.
const MOST_TOGETHER: usize = 512;

/// Seeds that a thread looks at in one go.
const FEW: usize = 1024;

/// Scratch space, kept between passes.
pub(crate) struct Fm<W: Weight> {
    heap: Heap,
    overlays: Pool<Overlay<W>>,
    moved: Vec<bool>,
    touched: Vec<u32>,
    trail: Vec<(u32, u32)>,
    waiting: Waiting,
}

/// Vertices that would lower the cut in a block that has no room for them, by that block.
#[derive(Default)]
struct Waiting {
    by_block: Vec<BinaryHeap<(i64, u32)>>,
    used: Vec<u32>,
}

impl Waiting {
    fn clear(&mut self, blocks: usize) {
        for block in self.used.drain(..) {
            self.by_block[block as usize].clear();
        }
        self.by_block.resize_with(blocks, BinaryHeap::new);
    }

    fn push(&mut self, vertex: u32, target: Target) {
        let queue = &mut self.by_block[target.block as usize];
        if queue.is_empty() {
            self.used.push(target.block);
        }
        queue.push((target.gain, vertex));
    }

    /// Who waits for room in a block and would gain most.
    fn pop(&mut self, block: u32, moved: &[bool]) -> Option<u32> {
        let queue = &mut self.by_block[block as usize];
        std::iter::from_fn(|| queue.pop()).map(|(_, vertex)| vertex).find(|&vertex| !moved[vertex as usize])
    }
}

impl<W: Weight> Fm<W> {
    pub(crate) fn new(vertices: usize) -> Self {
        Self {
            heap: Heap::new(0),
            overlays: Pool::default(),
            moved: vec![false; vertices],
            touched: Vec::new(),
            trail: Vec::new(),
            waiting: Waiting::default(),
        }
    }

    /// Passes until one brings little. Returns by how much the cut fell; it never rises.
    pub(crate) fn refine(
        &mut self,
        state: &mut State<'_, '_, W>,
        config: &FmConfig,
        random: &mut Random,
        stop: &StopToken,
    ) -> i64 {
        let cut = state.cut();
        let mut total = 0;
        for _ in 0..config.rounds {
            let seeds = state.boundary();
            if seeds.is_empty() || stop.is_stopped() {
                break;
            }
            let gained = if config.seeds == usize::MAX {
                self.pass_from_all(state, seeds, config, random)
            } else {
                self.pass_from_few(state, seeds, config, random)
            };
            for vertex in self.touched.drain(..) {
                self.moved[vertex as usize] = false;
            }
            total += gained;
            if gained == 0 || (gained as f64) < config.min_improvement * (cut - total + gained) as f64 {
                break;
            }
        }
        total
    }

    /// One search from everywhere. Where that is much, moves that help at once are made before, and it starts where gains
    /// are largest: more it would hardly reach.
    fn pass_from_all(
        &mut self,
        state: &mut State<'_, '_, W>,
        mut seeds: Vec<u32>,
        config: &FmConfig,
        random: &mut Random,
    ) -> i64 {
        if seeds.len() < MANY {
            random.shuffle(&mut seeds);
            return self.search(state, &seeds, config);
        }
        let gained = greedy(state, seeds, GREEDY_ROUNDS);
        let seeds = most_promising(state, &state.boundary(), MANY.max(4 * config.patience as usize));
        gained + self.search(state, &seeds, config)
    }

    /// Searches from some vertices each. Where there are many, so many at the same time that they hardly meet.
    fn pass_from_few(
        &mut self,
        state: &mut State<'_, '_, W>,
        mut seeds: Vec<u32>,
        config: &FmConfig,
        random: &mut Random,
    ) -> i64 {
        random.shuffle(&mut seeds);
        let starts: Vec<&[u32]> = seeds.chunks(config.seeds).collect();
        let together = (starts.len() / SPARSE).min(MOST_TOGETHER);
        if together < 2 {
            return starts.into_iter().map(|seeds| self.search(state, seeds, config)).sum();
        }
        let Self { moved, touched, overlays, .. } = self;
        let batch = |starts| search_together(state, starts, config.patience, overlays, moved, touched);
        starts.chunks(together).map(batch).sum()
    }

    /// One search: the best move first, until too many in vain; then back to the best point. Returns the gain.
    fn search(&mut self, state: &mut State<'_, '_, W>, seeds: &[u32], config: &FmConfig) -> i64 {
        let Self { heap, moved, touched, trail, waiting, .. } = self;
        waiting.clear(state.caps.len());
        heap.admit(state.graph.len());
        heap.clear();
        trail.clear();
        let looks = |seeds: &[u32]| -> Vec<_> {
            let free = seeds.iter().filter(|&&vertex| !moved[vertex as usize]);
            free.map(|&vertex| (vertex, state.targets(vertex))).collect()
        };
        let looks: Vec<Vec<_>> = match seeds.len() {
            ..=FEW => vec![looks(seeds)],
            _ => seeds.par_chunks(FEW).with_max_len(1).map(looks).collect(),
        };
        for (vertex, (target, full)) in looks.into_iter().flatten() {
            if let Some(target) = target {
                heap.set(vertex, target.gain);
            }
            if let Some(full) = full.filter(|full| full.gain > 0) {
                waiting.push(vertex, full);
            }
        }
        let least = if config.worthwhile > 0.0 { (config.worthwhile * state.cut() as f64) as i64 } else { 0 };
        let (mut gain, mut best, mut best_len) = (0i64, 0i64, 0usize);
        let (mut in_vain, mut best_before) = (0, 0);
        while let Some((vertex, key)) = heap.pop() {
            // Room has changed since the key was made.
            let Some(target) = state.best_target(vertex) else { continue };
            if target.gain < key {
                heap.set(vertex, target.gain);
                continue;
            }
            let from = state.block_of[vertex as usize];
            moved[vertex as usize] = true;
            touched.push(vertex);
            trail.push((vertex, from));
            gain += target.gain;
            let levels_out = target.gain == 0
                && state.loads[from as usize] - state.loads[target.block as usize] > state.graph.weight(vertex);
            state.relocate(vertex, target.block, |state, neighbour, change| {
                if moved[neighbour as usize] {
                    return;
                }
                match state.outlook(neighbour, heap.key(neighbour), change) {
                    Outlook::Same => return,
                    Outlook::Gain(gain) => return heap.set(neighbour, gain),
                    Outlook::Open => {}
                }
                let (target, full) = state.targets(neighbour);
                match target {
                    Some(target) => heap.set(neighbour, target.gain),
                    None => heap.remove(neighbour),
                }
                if let Some(full) = full.filter(|full| full.gain > 0) {
                    waiting.push(neighbour, full);
                }
            });
            if let Some(next) = waiting.pop(from, moved)
                && let Some(target) = state.best_target(next)
            {
                heap.set(next, target.gain);
            }
            if gain > best || (gain == best && levels_out) {
                (best, best_len, in_vain) = (gain, trail.len(), 0);
            } else {
                in_vain += 1;
                if in_vain > config.patience {
                    break;
                }
            }
            if trail.len().is_multiple_of(STRIDE) {
                if best - best_before < least {
                    break;
                }
                best_before = best;
            }
        }
        for &(vertex, from) in trail[best_len..].iter().rev() {
            state.relocate(vertex, from, |_, _, _| ());
        }
        best
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::partition::multilevel::graph::Graph;

    /// A random graph of some 600 weighted edges on 200 vertices.
    pub(crate) fn tangle(seed: u64) -> Graph<'static, u32> {
        let mut random = Random::new(seed, 0);
        let mut rows: Vec<Vec<(u32, u32)>> = vec![Vec::new(); 200];
        for _ in 0..600 {
            let (a, b, weight) = (random.below(200), random.below(200), random.below(9) as u32);
            if a != b && rows[a].iter().all(|&(n, _)| n as usize != b) {
                rows[a].push((b as u32, weight));
                rows[b].push((a as u32, weight));
            }
        }
        Graph { vertex_weights: (0..200).map(|_| 1 + random.below(4) as u32).collect(), ..Graph::of_rows(&rows) }
    }

    fn configs() -> [FmConfig; 3] {
        let config =
            FmConfig { rounds: 10, min_improvement: 0.0, seeds: usize::MAX, patience: u32::MAX, worthwhile: 0.0 };
        [config, FmConfig { patience: 5, ..config }, FmConfig { seeds: 1, patience: 15, ..config }]
    }

    #[test]
    fn the_gain_told_is_the_gain_had_and_blocks_stay_within() {
        for (seed, blocks) in [(1, 2usize), (2, 3), (3, 8), (4, 50)] {
            let graph = tangle(seed);
            let caps = vec![graph.total_weight() / blocks as i64 * 13 / 10 + 4; blocks];
            for config in configs() {
                let block_of = (0..200).map(|vertex| vertex % blocks as u32).collect();
                let mut state = State::new(&graph, &caps, block_of, |_| true);
                let before = graph.cut(&state.block_of);
                assert_eq!(state.overload(), 0);
                let mut random = Random::new(seed, 9);
                let gain = Fm::new(200).refine(&mut state, &config, &mut random, &StopToken::default());
                assert!(gain > 0);
                assert_eq!(graph.cut(&state.block_of), before - gain);
                assert_eq!((state.cut(), state.overload()), (before - gain, 0));
            }
        }
    }

    #[test]
    fn a_search_in_vain_leaves_everything_as_it_was() {
        let graph = tangle(5);
        let caps = vec![graph.total_weight(); 4];
        let block_of: Vec<u32> = (0..200).map(|vertex| vertex % 4).collect();
        let mut state = State::new(&graph, &caps, block_of, |_| true);
        let (mut fm, config) = (Fm::new(200), configs()[0]);
        let random = || Random::new(5, 9);
        while fm.refine(&mut state, &config, &mut random(), &StopToken::default()) > 0 {}
        let (blocks, loads) = (state.block_of.clone(), state.loads.clone());
        let levelled = fm.refine(&mut state, &config, &mut random(), &StopToken::default());
        assert_eq!(levelled, 0);
        let again = State::new(&graph, &caps, state.block_of.clone(), |_| true);
        for vertex in 0..200 {
            for block in 0..4 {
                assert_eq!(state.tie_to(vertex, block), again.tie_to(vertex, block));
            }
        }
        assert_eq!(again.loads, state.loads);
        assert_eq!((state.block_of.len(), state.loads.iter().sum::<i64>()), (blocks.len(), loads.iter().sum()));
    }

    #[test]
    fn a_search_ends_where_it_is_not_worth_its_while() {
        // A path whose vertices lie in random halves: nearly every move helps, but none by much of the cut.
        let count = 8000u32;
        let near = |vertex: u32| [vertex.checked_sub(1), (vertex + 1 < count).then_some(vertex + 1)];
        let rows: Vec<Vec<(u32, u32)>> =
            (0..count).map(|vertex| near(vertex).into_iter().flatten().map(|other| (other, 1)).collect()).collect();
        let graph = Graph::of_rows(&rows);
        let caps = [i64::from(count); 2];
        let gained = |worthwhile: f64| {
            let block_of = (0..count).map(|vertex| vertex * 7919 % 104_729 % 2).collect();
            let mut state = State::new(&graph, &caps, block_of, |_| true);
            let (cut, seeds) = (state.cut(), state.boundary());
            let config = FmConfig { worthwhile, ..configs()[0] };
            let gain = Fm::new(count as usize).search(&mut state, &seeds, &config);
            assert_eq!(state.cut(), cut - gain);
            (gain, gain as f64 / cut as f64)
        };
        let (all, share) = gained(0.0);
        assert!(share > 0.9, "{share}");
        // The first thousand moves bring more than a tenth, and less than all.
        assert_eq!(gained(0.1).0, all);
        let (some, share) = gained(0.9);
        assert!(some < all && (0.1..0.9).contains(&share), "{some} of {all}");
    }

    #[test]
    fn a_wall_between_two_basins_is_climbed() {
        // Two cliques of four, tied by light edges, with one vertex of each on the wrong side: each swap step alone loses.
        let mut rows: Vec<Vec<(u32, u32)>> = vec![Vec::new(); 8];
        for a in 0..8u32 {
            for b in (0..8u32).filter(|&b| b != a && b / 4 == a / 4) {
                rows[a as usize].push((b, 1));
            }
        }
        let offsets = (0..=8).map(|at| 3 * at).collect();
        let neighbours = Cow::Owned(rows.iter().flatten().map(|&(n, _)| n).collect());
        let graph = Graph::<u32> { offsets, neighbours, ..Graph::default() };
        let mut state = State::new(&graph, &[5, 5], vec![0, 0, 1, 1, 0, 0, 1, 1], |_| true);
        let mut random = Random::new(1, 1);
        Fm::new(8).refine(&mut state, &configs()[0], &mut random, &StopToken::default());
        assert_eq!(graph.cut(&state.block_of), 0);
    }
}
