//! The FM search: from some vertices, the best move first, until too many in a row bring no new best cut.

use std::collections::BinaryHeap;

use super::gain_cache::{Change, GainUpdate, Target};
use crate::partition::multilevel::heap::Heap;

/// A partition as a search sees and changes it. Vertices go by handles, which each view gives out as it likes.
pub(crate) trait View {
    /// The best move of a vertex to a block with room; and the best to a block without, if that would gain more.
    fn best_moves(&mut self, vertex: u32) -> (Option<Target>, Option<Target>);

    /// The block that the vertex is in.
    fn block(&self, vertex: u32) -> u32;

    /// Whether a move without gain is worth making, since it brings the weights of the two blocks closer.
    fn balances(&self, vertex: u32, to: u32) -> bool;

    /// Whether the vertex has moved already, and so must stay.
    fn has_moved(&self, vertex: u32) -> bool;

    /// What a change means for a vertex whose best move gains `known`; `None` if it has none.
    fn gain_update(&self, vertex: u32, known: Option<i64>, change: Option<Change>) -> GainUpdate;

    /// Makes the best move of a vertex, just asked for. Calls `changed` for each neighbour that may still move, with what
    /// changed for it, if that is known.
    fn make_move(&mut self, vertex: u32, to: u32, changed: impl FnMut(&mut Self, u32, Option<Change>));
}

/// When a search ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Moves in a row without a new best cut.
    pub(crate) patience: u32,
    /// A search ends if [`STRIDE`] moves lower the cut by less than this.
    pub(crate) least: i64,
}

/// Moves after which a search asks whether it still lowers the cut.
const STRIDE: usize = 1000;

/// What a search found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// By how much the cut falls.
    pub(crate) gain: i64,
    /// The number of moves up to the least cut. The caller undoes the others.
    pub(crate) kept: usize,
}

/// Scratch space of searches, one at a time.
#[derive(Default)]
pub(crate) struct Search {
    queue: Heap,
    waiting: Waiting,
    /// The vertices that moved, in order, and the blocks they left.
    pub(crate) trail: Vec<(u32, u32)>,
}

impl Search {
    /// Forgets the last search.
    pub(crate) fn clear(&mut self, blocks: usize) {
        self.queue.clear();
        self.waiting.clear(blocks);
        self.trail.clear();
    }

    /// Queues a vertex by the gain of its best move. One that would gain more in a full block waits for that as well.
    #[inline]
    pub(crate) fn enqueue(&mut self, vertex: u32, moves: (Option<Target>, Option<Target>)) {
        enqueue(&mut self.queue, &mut self.waiting, vertex, moves);
    }

    /// Searches from the vertices that are queued.
    pub(crate) fn run(&mut self, view: &mut impl View, limits: Limits) -> Found {
        let Self { queue, waiting, trail } = self;
        let (mut gain, mut in_vain, mut best_before) = (0, 0, 0);
        let mut best = Found { gain: 0, kept: 0 };
        while let Some((vertex, known)) = queue.pop() {
            if view.has_moved(vertex) {
                continue;
            }
            // Since the vertex was queued, blocks may have filled up.
            let Some(target) = view.best_moves(vertex).0 else { continue };
            if target.gain < known {
                queue.set(vertex, target.gain);
                continue;
            }
            let from = view.block(vertex);
            let balances = target.gain == 0 && view.balances(vertex, target.block);
            trail.push((vertex, from));
            gain += target.gain;
            view.make_move(vertex, target.block, |view, near, change| {
                match view.gain_update(near, queue.key(near), change) {
                    GainUpdate::Unchanged => {}
                    GainUpdate::Gain(gain) => queue.set(near, gain),
                    GainUpdate::Unknown => enqueue(queue, waiting, near, view.best_moves(near)),
                }
            });
            // The block has room now for the vertex that would gain most there.
            if let Some(next) = waiting.pop(from, |vertex| view.has_moved(vertex))
                && let Some(target) = view.best_moves(next).0
            {
                queue.set(next, target.gain);
            }
            if gain > best.gain || (gain == best.gain && balances) {
                (best, in_vain) = (Found { gain, kept: trail.len() }, 0);
            } else {
                in_vain += 1;
                if in_vain > limits.patience {
                    break;
                }
            }
            if trail.len().is_multiple_of(STRIDE) {
                if best.gain - best_before < limits.least {
                    break;
                }
                best_before = best.gain;
            }
        }
        best
    }
}

#[inline]
fn enqueue(queue: &mut Heap, waiting: &mut Waiting, vertex: u32, (target, full): (Option<Target>, Option<Target>)) {
    match target {
        Some(target) => queue.set(vertex, target.gain),
        None => queue.remove(vertex),
    }
    if let Some(full) = full.filter(|full| full.gain > 0) {
        waiting.push(vertex, full);
    }
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

    /// The vertex that waits for a block, may still move, and would gain most.
    fn pop(&mut self, block: u32, has_moved: impl Fn(u32) -> bool) -> Option<u32> {
        let queue = &mut self.by_block[block as usize];
        std::iter::from_fn(|| queue.pop()).map(|(_, vertex)| vertex).find(|&vertex| !has_moved(vertex))
    }
}
