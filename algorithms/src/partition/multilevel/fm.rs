//! Fiduccia–Mattheyses refinement with k blocks: hill-climbing from the boundary, undone back to the best point.

use super::graph::Weight;
use super::heap::Heap;
use super::random::Random;
use super::state::State;
use crate::StopToken;

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
}

/// Scratch space, kept between passes.
pub(crate) struct Fm {
    heap: Heap,
    moved: Vec<bool>,
    touched: Vec<u32>,
    trail: Vec<(u32, u32)>,
}

impl Fm {
    pub(crate) fn new(vertices: usize) -> Self {
        Self { heap: Heap::new(vertices), moved: vec![false; vertices], touched: Vec::new(), trail: Vec::new() }
    }

    /// Passes until one brings little. Returns by how much the cut fell; it never rises.
    pub(crate) fn refine<W: Weight>(
        &mut self,
        state: &mut State<'_, '_, W>,
        config: &FmConfig,
        cut: i64,
        random: &mut Random,
        stop: &StopToken,
    ) -> i64 {
        let mut total = 0;
        for _ in 0..config.rounds {
            let mut seeds = state.boundary();
            if seeds.is_empty() || stop.is_stopped() {
                break;
            }
            random.shuffle(&mut seeds);
            let mut gained = 0;
            for batch in seeds.chunks(config.seeds.max(1)) {
                gained += self.search(state, batch, config);
            }
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

    /// One search: the best move first, until too many in vain; then back to the best point. Returns the gain.
    fn search<W: Weight>(&mut self, state: &mut State<'_, '_, W>, seeds: &[u32], config: &FmConfig) -> i64 {
        let Self { heap, moved, touched, trail } = self;
        heap.clear();
        trail.clear();
        for &vertex in seeds.iter().filter(|&&vertex| !moved[vertex as usize]) {
            if let Some(target) = state.best_target(vertex) {
                heap.set(vertex, target.gain);
            }
        }
        let (mut gain, mut best, mut best_len) = (0i64, 0i64, 0usize);
        let mut in_vain = 0;
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
            state.relocate(vertex, target.block, |state, neighbour| {
                if moved[neighbour as usize] {
                    return;
                }
                match state.best_target(neighbour) {
                    Some(target) => heap.set(neighbour, target.gain),
                    None => heap.remove(neighbour),
                }
            });
            if gain > best || (gain == best && levels_out) {
                (best, best_len, in_vain) = (gain, trail.len(), 0);
            } else {
                in_vain += 1;
                if in_vain > config.patience {
                    break;
                }
            }
        }
        for &(vertex, from) in trail[best_len..].iter().rev() {
            state.relocate(vertex, from, |_, _| ());
        }
        best
    }
}
