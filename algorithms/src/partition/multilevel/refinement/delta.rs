//! Searches that run at the same time: each sees the partition as it was before all of them, moves vertices in an overlay of
//! its own, and what they found is carried out one after the other.
//!
//! So the result depends on which searches run together, but not on the number of threads that run them.

use std::collections::BinaryHeap;

use rayon::prelude::*;

use super::partitioned_graph::{Change, Outlook, Row, State, Target, Tie, targets, weight_of_tie};
use crate::partition::multilevel::graph::Weight;
use crate::partition::multilevel::heap::Heap;
use crate::partition::multilevel::pool::{Pool, written_zeros};

/// A row that no move of the search has changed.
const SHARED: u32 = u32::MAX;

/// What a search knows about a vertex.
#[derive(Clone, Copy)]
struct Slot {
    vertex: u32,
    block: u32,
    /// Where the overlay has the vertex's ties, or [`SHARED`].
    row_start: u32,
    row_len: u32,
    moved: bool,
}

/// A partition as one search sees it. Vertices have a slot from when the search first meets them.
pub(crate) struct Overlay<W: Weight> {
    /// One more than the vertex's slot; 0 if it has none.
    slot_of: Vec<u32>,
    slots: Vec<Slot>,
    ties: Vec<Tie<W>>,
    /// What the search added to each block.
    added: Vec<i64>,
    /// Slots by gain.
    heap: Heap,
    /// Slots that would gain in a block without room for them, by that block.
    waiting: Vec<BinaryHeap<(i64, u32)>>,
    waited_for: Vec<u32>,
    /// Slots in the order of their moves.
    trail: Vec<u32>,
}

/// What a search found.
struct Found {
    /// Moves that lower the cut together: who and whereto.
    moves: Vec<(u32, u32)>,
    /// Who moved in vain.
    tried: Vec<u32>,
}

/// Searches that a thread does one after the other.
const AT_ONCE: usize = 8;

/// Runs a search from each set of vertices, which ends after `patience` moves in vain, and carries out what they found.
/// Vertices that `moved` marks stay; whoever moved is marked, and listed in `touched`. Returns by how much the cut fell.
pub(crate) fn search_together<W: Weight>(
    state: &mut State<'_, '_, W>,
    starts: &[&[u32]],
    patience: u32,
    overlays: &Pool<Overlay<W>>,
    moved: &mut [bool],
    touched: &mut Vec<u32>,
) -> i64 {
    let seen: &State<'_, '_, W> = state;
    let marks: &[bool] = moved;
    let some = if starts.len() > 4 * AT_ONCE { AT_ONCE } else { 1 };
    let run = |starts: &[&[u32]]| {
        overlays.with(
            || Overlay::new(seen),
            |overlay| starts.iter().map(|seeds| overlay.search(seen, marks, seeds, patience)).collect::<Vec<Found>>(),
        )
    };
    let found: Vec<Vec<Found>> = starts.par_chunks(some).with_max_len(1).map(run).collect();
    found.iter().flatten().map(|found| carry_out(state, found, moved, touched)).sum()
}

/// Makes the moves of a search that still can be made, back to the point where the cut is least. Returns by how much it fell.
fn carry_out<W: Weight>(
    state: &mut State<'_, '_, W>,
    found: &Found,
    moved: &mut [bool],
    touched: &mut Vec<u32>,
) -> i64 {
    let mut trail: Vec<(u32, u32)> = Vec::with_capacity(found.moves.len());
    let (mut gain, mut best, mut best_len) = (0i64, 0i64, 0usize);
    for &(vertex, to) in &found.moves {
        let from = state.block_of[vertex as usize];
        let weight = state.graph.weight(vertex);
        let (first, last) = state.graph.window(vertex, |other| state.block_of[other as usize]);
        if moved[vertex as usize] || state.room(to) < weight || to < first || to > last {
            continue;
        }
        let change = state.tie_to(vertex, to) - state.tie_to(vertex, from);
        gain += change;
        let levels_out = change == 0 && state.loads[from as usize] - state.loads[to as usize] > weight;
        state.relocate(vertex, to, |_, _, _| ());
        moved[vertex as usize] = true;
        touched.push(vertex);
        trail.push((vertex, from));
        if gain > best || (gain == best && levels_out) {
            (best, best_len) = (gain, trail.len());
        }
    }
    for &(vertex, from) in trail[best_len..].iter().rev() {
        state.relocate(vertex, from, |_, _, _| ());
    }
    for &vertex in &found.tried {
        if !std::mem::replace(&mut moved[vertex as usize], true) {
            touched.push(vertex);
        }
    }
    best
}

impl<W: Weight> Overlay<W> {
    fn new(state: &State<'_, '_, W>) -> Self {
        let blocks = state.caps.len();
        Self {
            slot_of: written_zeros(state.graph.len()),
            slots: Vec::new(),
            ties: Vec::new(),
            added: vec![0; blocks],
            heap: Heap::new(0),
            waiting: std::iter::repeat_with(BinaryHeap::new).take(blocks).collect(),
            waited_for: Vec::new(),
            trail: Vec::new(),
        }
    }

    fn slot(&mut self, state: &State<'_, '_, W>, vertex: u32) -> u32 {
        match self.slot_of[vertex as usize] {
            0 => {
                let block = state.block_of[vertex as usize];
                self.slots.push(Slot { vertex, block, row_start: SHARED, row_len: 0, moved: false });
                self.slot_of[vertex as usize] = self.slots.len() as u32;
                self.heap.admit(self.slots.len());
                self.slots.len() as u32 - 1
            }
            slot => slot - 1,
        }
    }

    fn block(&self, state: &State<'_, '_, W>, vertex: u32) -> u32 {
        match self.slot_of[vertex as usize] {
            0 => state.block_of[vertex as usize],
            slot => self.slots[slot as usize - 1].block,
        }
    }

    fn load(&self, state: &State<'_, '_, W>, block: u32) -> i64 {
        state.loads[block as usize] + self.added[block as usize]
    }

    fn room(&self, state: &State<'_, '_, W>, block: u32) -> i64 {
        state.room(block) - self.added[block as usize]
    }

    fn targets(&self, state: &State<'_, '_, W>, slot: u32) -> (Option<Target>, Option<Target>) {
        let Slot { vertex, block, row_start, row_len, .. } = self.slots[slot as usize];
        let ties = match row_start {
            SHARED => match state.known_row(vertex) {
                Some(row) => row,
                None => return (None, None),
            },
            start => &self.ties[start as usize..(start + row_len) as usize],
        };
        let window = state.graph.window(vertex, |other| self.block(state, other));
        let weight = state.graph.weight(vertex);
        targets(ties, block, window, |block| self.room(state, block) - weight)
    }

    /// The vertex's ties, to be changed.
    fn row_mut(&mut self, state: &State<'_, '_, W>, slot: u32) -> Row<'_, W> {
        let Slot { vertex, row_start, .. } = self.slots[slot as usize];
        let (room, is_dense) = (state.row_room(vertex), state.is_dense(vertex));
        let start = if row_start == SHARED { self.ties.len() } else { row_start as usize };
        if row_start == SHARED {
            self.slots[slot as usize].row_start = start as u32;
            self.ties.resize(start + room, Tie { block: 0, weight: W::default() });
            match state.known_row(vertex) {
                Some(known) => {
                    self.ties[start..start + known.len()].copy_from_slice(known);
                    self.slots[slot as usize].row_len = known.len() as u32;
                }
                // All neighbours were in the vertex's own block.
                None => {
                    let own = state.block_of[vertex as usize];
                    let mut row =
                        Row { ties: &mut self.ties[start..], len: &mut self.slots[slot as usize].row_len, is_dense };
                    row.fill(state.graph.edges(vertex).map(|(_, weight)| (own, weight)));
                }
            }
        }
        let len = &mut self.slots[slot as usize].row_len;
        Row { ties: &mut self.ties[start..start + room], len, is_dense }
    }

    /// What a change means for a vertex.
    fn outlook(&self, state: &State<'_, '_, W>, slot: u32, change: Change) -> Outlook {
        let Some(key) = self.heap.key(slot).filter(|_| state.graph.directions.is_empty()) else { return Outlook::Open };
        let Slot { vertex, block, row_start, row_len, .. } = self.slots[slot as usize];
        let tie_to_own = || {
            let ties = &self.ties[row_start as usize..(row_start + row_len) as usize];
            weight_of_tie(ties, block, state.is_dense(vertex))
        };
        let fits = || self.room(state, change.to) >= state.graph.weight(vertex);
        change.outlook(block, key, tie_to_own, fits)
    }

    /// Considers a vertex for a move.
    fn consider(&mut self, state: &State<'_, '_, W>, slot: u32) {
        let (target, full) = self.targets(state, slot);
        match target {
            Some(target) => self.heap.set(slot, target.gain),
            None => self.heap.remove(slot),
        }
        if let Some(full) = full.filter(|full| full.gain > 0) {
            let queue = &mut self.waiting[full.block as usize];
            if queue.is_empty() {
                self.waited_for.push(full.block);
            }
            queue.push((full.gain, slot));
        }
    }

    /// The best move first, until too many in vain.
    fn search(&mut self, state: &State<'_, '_, W>, moved: &[bool], seeds: &[u32], patience: u32) -> Found {
        for &vertex in seeds.iter().filter(|&&vertex| !moved[vertex as usize]) {
            let slot = self.slot(state, vertex);
            self.consider(state, slot);
        }
        let (mut gain, mut best, mut best_len) = (0i64, 0i64, 0usize);
        let mut in_vain = 0;
        while let Some((slot, key)) = self.heap.pop() {
            // Room has changed since the key was made.
            let Some(target) = self.targets(state, slot).0 else { continue };
            if target.gain < key {
                self.heap.set(slot, target.gain);
                continue;
            }
            let from = self.slots[slot as usize].block;
            gain += target.gain;
            let levels_out = target.gain == 0
                && self.load(state, from) - self.load(state, target.block)
                    > state.graph.weight(self.slots[slot as usize].vertex);
            self.relocate(state, moved, slot, target.block);
            self.wake(state, from);
            if gain > best || (gain == best && levels_out) {
                (best, best_len, in_vain) = (gain, self.trail.len(), 0);
            } else {
                in_vain += 1;
                if in_vain > patience {
                    break;
                }
            }
        }
        let (kept, tried) = self.trail.split_at(best_len);
        let slot = |slot: &u32| self.slots[*slot as usize];
        let found = Found {
            moves: kept.iter().map(|at| (slot(at).vertex, slot(at).block)).collect(),
            tried: tried.iter().map(|at| slot(at).vertex).collect(),
        };
        self.clear(state);
        found
    }

    fn relocate(&mut self, state: &State<'_, '_, W>, moved: &[bool], slot: u32, to: u32) {
        let Slot { vertex, block: from, .. } = self.slots[slot as usize];
        self.slots[slot as usize].block = to;
        self.slots[slot as usize].moved = true;
        self.trail.push(slot);
        let weight = state.graph.weight(vertex);
        self.added[from as usize] -= weight;
        self.added[to as usize] += weight;
        for (neighbour, weight) in state.graph.edges(vertex) {
            let near = self.slot(state, neighbour);
            let change = self.row_mut(state, near).follow(from, to, weight);
            if self.slots[near as usize].moved || moved[neighbour as usize] {
                continue;
            }
            match self.outlook(state, near, change) {
                Outlook::Same => {}
                Outlook::Gain(gain) => self.heap.set(near, gain),
                Outlook::Open => self.consider(state, near),
            }
        }
    }

    /// There is room in a block: whoever waits for it and would gain most is considered again.
    fn wake(&mut self, state: &State<'_, '_, W>, block: u32) {
        while let Some((_, slot)) = self.waiting[block as usize].pop() {
            if !self.slots[slot as usize].moved {
                if let Some(target) = self.targets(state, slot).0 {
                    self.heap.set(slot, target.gain);
                }
                return;
            }
        }
    }

    fn clear(&mut self, state: &State<'_, '_, W>) {
        for &slot in &self.trail {
            let Slot { vertex, block, .. } = self.slots[slot as usize];
            self.added[block as usize] = 0;
            self.added[state.block_of[vertex as usize] as usize] = 0;
        }
        for slot in self.slots.drain(..) {
            self.slot_of[slot.vertex as usize] = 0;
        }
        self.ties.clear();
        self.heap.clear();
        for block in self.waited_for.drain(..) {
            self.waiting[block as usize].clear();
        }
        self.trail.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::fm::tests::tangle;
    use super::*;
    use crate::partition::multilevel::graph::Graph;

    fn together(graph: &Graph<'_, u32>, caps: &[i64], seeds_each: usize, threads: usize) -> (Vec<u32>, i64) {
        let blocks = caps.len() as u32;
        let mut state = State::new(graph, caps, (0..200).map(|vertex| vertex % blocks).collect(), |_| true);
        let before = state.cut();
        let seeds: Vec<u32> = (0..200).filter(|vertex| vertex % 3 > 0).collect();
        let starts: Vec<&[u32]> = seeds.chunks(seeds_each).collect();
        // Whoever has moved already stays where it is.
        let (mut moved, mut touched) = (vec![false; 200], Vec::new());
        moved[1] = true;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let overlays = Pool::default();
        let told = pool.install(|| search_together(&mut state, &starts, 9, &overlays, &mut moved, &mut touched));
        assert_eq!((before - graph.cut(&state.block_of), state.cut()), (told, graph.cut(&state.block_of)));
        assert_eq!((state.overload(), state.block_of[1]), (0, 1 % blocks));
        let again = State::new(graph, caps, state.block_of.clone(), |_| true);
        for vertex in 0..200 {
            for block in 0..blocks {
                assert_eq!(state.tie_to(vertex, block), again.tie_to(vertex, block));
            }
        }
        assert_eq!(again.loads, state.loads);
        touched.sort_unstable();
        let marked: Vec<u32> = (0..200).filter(|&vertex| vertex != 1 && moved[vertex as usize]).collect();
        assert_eq!(touched, marked);
        (state.block_of, told)
    }

    #[test]
    fn the_gain_told_is_the_gain_had_and_threads_change_nothing() {
        for (seed, blocks) in [(1, 2usize), (2, 3), (3, 8), (4, 50)] {
            let graph = tangle(seed);
            let caps = vec![graph.total_weight() / blocks as i64 * 13 / 10 + 4; blocks];
            for seeds_each in [1, 7, 50] {
                let one = together(&graph, &caps, seeds_each, 1);
                assert!(one.1 > 0, "{seed} {seeds_each}");
                assert_eq!(one, together(&graph, &caps, seeds_each, 3));
            }
        }
    }

    #[test]
    fn a_search_leaves_its_overlay_as_it_was() {
        let graph = tangle(6);
        let caps = vec![graph.total_weight(); 3];
        let state = State::new(&graph, &caps, (0..200).map(|vertex| vertex % 3).collect(), |_| true);
        let mut overlay = Overlay::new(&state);
        let seeds: Vec<u32> = (0..50).collect();
        let moves = |found: Found| (found.moves, found.tried);
        let once = moves(overlay.search(&state, &[false; 200], &seeds, 20));
        assert!(!once.0.is_empty());
        assert_eq!(once, moves(overlay.search(&state, &[false; 200], &seeds, 20)));
    }
}
