//! The state of a refinement: who is in which block, what each block weighs, and how strongly the vertices near a
//! boundary are tied to the blocks around them.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::partition::multilevel::graph::{Graph, Weight};

/// A vertex without a row: all its neighbours were in its own block when that was last looked at.
const NO_ROW: u32 = u32::MAX;

/// Vertices whose rows a thread fills in one go.
const STRETCH: usize = 2048;

/// One tie of a vertex: the weight of its edges into a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tie<W> {
    pub(crate) block: u32,
    pub(crate) weight: W,
}

/// The ties of a vertex, so far as they are not 0: with a place for each block, or a list.
pub(crate) struct Row<'t, W> {
    /// With room for as many ties as there can be.
    pub(crate) ties: &'t mut [Tie<W>],
    pub(crate) len: &'t mut u32,
    pub(crate) is_dense: bool,
}

impl<W: Weight> Row<'_, W> {
    /// Fills the row anew.
    pub(crate) fn fill(&mut self, ties: impl Iterator<Item = (u32, W)>) {
        *self.len = 0;
        if self.is_dense {
            for (block, tie) in (0..).zip(self.ties.iter_mut()) {
                *tie = Tie { block, weight: W::default() };
            }
            *self.len = self.ties.len() as u32;
        }
        for (block, weight) in ties {
            self.strengthen(block, weight);
        }
    }

    /// Returns the tie's weight after that.
    #[inline]
    pub(crate) fn strengthen(&mut self, block: u32, weight: W) -> i64 {
        let weight = weight.wide();
        if self.is_dense {
            let tie = &mut self.ties[block as usize];
            let sum = tie.weight.wide() + weight;
            tie.weight = W::narrow(sum);
            return sum;
        }
        let len = *self.len as usize;
        match self.ties[..len].iter_mut().find(|tie| tie.block == block) {
            Some(tie) => {
                let sum = tie.weight.wide() + weight;
                tie.weight = W::narrow(sum);
                sum
            }
            None if weight == 0 => 0,
            None => {
                self.ties[len] = Tie { block, weight: W::narrow(weight) };
                *self.len += 1;
                weight
            }
        }
    }

    /// Returns the tie's weight before that.
    #[inline]
    pub(crate) fn weaken(&mut self, block: u32, weight: W) -> i64 {
        let weight = weight.wide();
        if self.is_dense {
            let tie = &mut self.ties[block as usize];
            let before = tie.weight.wide();
            tie.weight = W::narrow(before - weight);
            return before;
        }
        let len = *self.len as usize;
        let Some(at) = self.ties[..len].iter().position(|tie| tie.block == block) else { return 0 };
        let before = self.ties[at].weight.wide();
        if before == weight {
            self.ties[at] = self.ties[len - 1];
            *self.len -= 1;
        } else {
            self.ties[at].weight = W::narrow(before - weight);
        }
        before
    }

    /// Moves the weight of an edge from one block to another.
    #[inline]
    pub(crate) fn follow(&mut self, from: u32, to: u32, weight: W) -> Change {
        let before = self.weaken(from, weight);
        Change { from, to, weight: weight.wide(), before, after: self.strengthen(to, weight) }
    }
}

/// What a neighbour's move changes for a vertex.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// Where the neighbour was and is.
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// The weight of the edge to it.
    pub(crate) weight: i64,
    /// The tie to the block where it was, before.
    pub(crate) before: i64,
    /// The tie to the block where it is, after.
    pub(crate) after: i64,
}

/// What a change means for a vertex that waits for its move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// It gains as much as before.
    Same,
    /// It gains so much.
    Gain(i64),
    /// Another block may be the best now.
    Open,
}

impl Change {
    /// For a vertex in block `own` whose best move gains `gain`. Ties to blocks other than the two are as they were, so
    /// that nothing changes if neither is tied as strongly as the best. `tie_to_own` is asked for if need be, and `fits`:
    /// whether the block where the neighbour is now has room.
    #[inline]
    pub(crate) fn outlook(
        &self,
        own: u32,
        gain: i64,
        tie_to_own: impl FnOnce() -> i64,
        fits: impl FnOnce() -> bool,
    ) -> Outlook {
        let gain_if_it_fits = |gain| if fits() { Outlook::Gain(gain) } else { Outlook::Open };
        if own == self.from {
            // All blocks gain alike. Those without room, too, of which nobody who waits for them is told.
            let (others, to) = (gain + self.weight, self.after - (self.before - self.weight));
            return if to < others { Outlook::Gain(others) } else { gain_if_it_fits(to) };
        }
        if own == self.to {
            let is_other = self.before - (self.after - self.weight) < gain;
            return if is_other { Outlook::Gain(gain - self.weight) } else { Outlook::Open };
        }
        let tie_to_own = tie_to_own();
        let (from, to) = (self.before - tie_to_own, self.after - tie_to_own);
        match (from.cmp(&gain), to.cmp(&gain)) {
            (Ordering::Less, Ordering::Less) => Outlook::Same,
            // It was the best; or had no room, and may have some now.
            (Ordering::Equal, Ordering::Less) | (Ordering::Greater, _) => Outlook::Open,
            _ => gain_if_it_fits(to),
        }
    }
}

/// The block of the strongest tie, of those between `window.0` and `window.1` that have room; then the one with most room,
/// then the lowest. And, if a block without room has a stronger one, the one that has the strongest. `room` tells by how
/// much a block would keep within its bounds.
#[inline]
pub(crate) fn targets<W: Weight>(
    ties: &[Tie<W>],
    own: u32,
    window: (u32, u32),
    room: impl Fn(u32) -> i64,
) -> (Option<Target>, Option<Target>) {
    let mut tie_to_own = 0;
    // Tie, room left, block.
    let mut best: Option<(i64, i64, u32)> = None;
    let mut full: Option<(i64, u32)> = None;
    for tie in ties {
        let strength = tie.weight.wide();
        if tie.block == own {
            tie_to_own = strength;
            continue;
        }
        if strength == 0
            || best.is_some_and(|(most, ..)| strength < most)
            || tie.block < window.0
            || tie.block > window.1
        {
            continue;
        }
        let room = room(tie.block);
        if room < 0 {
            if full.is_none_or(|(most, _)| strength > most) {
                full = Some((strength, tie.block));
            }
            continue;
        }
        let better = match best {
            None => true,
            Some((most, most_room, block)) => {
                (strength, room, std::cmp::Reverse(tie.block)) > (most, most_room, std::cmp::Reverse(block))
            }
        };
        if better {
            best = Some((strength, room, tie.block));
        }
    }
    let full = full.filter(|&(most, _)| best.is_none_or(|(strength, ..)| most > strength));
    let target = |strength: i64, block: u32| Target { block, gain: strength - tie_to_own };
    (best.map(|(strength, _, block)| target(strength, block)), full.map(|(strength, block)| target(strength, block)))
}

/// The weight of the tie to a block.
#[inline]
pub(crate) fn weight_of_tie<W: Weight>(ties: &[Tie<W>], block: u32, is_dense: bool) -> i64 {
    let tie = if is_dense { ties.get(block as usize) } else { ties.iter().find(|tie| tie.block == block) };
    tie.map_or(0, |tie| tie.weight.wide())
}

/// A partition under change.
///
/// Rows of ties exist only for vertices that are or were at a boundary. The row of a vertex with at least as many
/// neighbours as there are blocks has a place for each block; any other lists the blocks that it is tied to.
pub(crate) struct State<'g, 'a, W: Weight> {
    pub(crate) graph: &'g Graph<'a, W>,
    /// What each block may weigh.
    pub(crate) caps: &'g [i64],
    pub(crate) block_of: Vec<u32>,
    /// What each block weighs.
    pub(crate) loads: Vec<i64>,
    row_start: Vec<u32>,
    row_len: Vec<u32>,
    ties: Vec<Tie<W>>,
}

/// A move that a vertex could make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) block: u32,
    /// By how much the cut would fall.
    pub(crate) gain: i64,
}

impl<'g, 'a, W: Weight> State<'g, 'a, W> {
    /// The state of a partition. Vertices that `maybe_boundary` denies must have no neighbour in another block. Threads fill
    /// the rows of stretches of vertices.
    pub(crate) fn new(
        graph: &'g Graph<'a, W>,
        caps: &'g [i64],
        block_of: Vec<u32>,
        maybe_boundary: impl Fn(u32) -> bool + Sync,
    ) -> Self {
        let (count, blocks) = (graph.len(), caps.len());
        let mut loads = vec![0; blocks];
        for vertex in 0..count as u32 {
            loads[block_of[vertex as usize] as usize] += graph.weight(vertex);
        }
        let is_boundary = |vertex: u32| {
            let own = block_of[vertex as usize];
            maybe_boundary(vertex) && graph.neighbours(vertex).iter().any(|&n| block_of[n as usize] != own)
        };
        let mut row_start = vec![NO_ROW; count];
        // First where each row begins in its stretch.
        let lay_out = |(first, starts): (usize, &mut [u32])| {
            let mut length = 0;
            for (vertex, start) in (first as u32..).zip(starts) {
                if is_boundary(vertex) {
                    *start = length;
                    length += graph.degree(vertex).min(blocks) as u32;
                }
            }
            length as usize
        };
        let stretches = row_start.par_chunks_mut(STRETCH).enumerate();
        let lengths: Vec<usize> =
            stretches.with_max_len(1).map(|(at, starts)| lay_out((at * STRETCH, starts))).collect();
        let mut row_len = vec![0; count];
        // Threads share in touching the pages for the first time.
        let none = |_| Tie { block: 0, weight: W::default() };
        let mut ties: Vec<Tie<W>> = (0..lengths.iter().sum()).into_par_iter().with_min_len(STRETCH).map(none).collect();
        let (mut rest, mut before) = (ties.as_mut_slice(), 0u32);
        let stretches = row_start.chunks_mut(STRETCH).zip(row_len.chunks_mut(STRETCH)).zip(&lengths).enumerate();
        let stretches: Vec<_> = stretches
            .map(|(at, ((starts, lens), &length))| {
                let (ties, behind) = std::mem::take(&mut rest).split_at_mut(length);
                rest = behind;
                let stretch = (at * STRETCH, starts, lens, ties, before);
                before += length as u32;
                stretch
            })
            .collect();
        stretches.into_par_iter().with_max_len(1).for_each(|(first, starts, lens, mut ties, before)| {
            for ((vertex, start), len) in (first as u32..).zip(starts).zip(lens) {
                if *start == NO_ROW {
                    continue;
                }
                *start += before;
                let degree = graph.degree(vertex);
                let (own, behind) = std::mem::take(&mut ties).split_at_mut(degree.min(blocks));
                ties = behind;
                let mut row = Row { ties: own, len, is_dense: degree >= blocks };
                row.fill(graph.edges(vertex).map(|(n, weight)| (block_of[n as usize], weight)));
            }
        });
        Self { graph, caps, block_of, loads, row_start, row_len, ties }
    }

    fn blocks(&self) -> usize {
        self.caps.len()
    }

    /// Makes the row of a vertex that has none.
    fn make_row(&mut self, vertex: u32) {
        let room = self.row_room(vertex);
        self.row_start[vertex as usize] = self.ties.len() as u32;
        if self.ties.capacity() < self.ties.len() + room {
            // Half of a list that doubles would seldom be used.
            self.ties.reserve_exact(room + self.ties.len() / 8);
        }
        self.ties.resize(self.ties.len() + room, Tie { block: 0, weight: W::default() });
        let Self { graph, block_of, .. } = self;
        let (graph, block_of) = (*graph, std::mem::take(block_of));
        self.row_mut(vertex).fill(graph.edges(vertex).map(|(n, weight)| (block_of[n as usize], weight)));
        self.block_of = block_of;
    }

    /// Whether a row has a place for each block.
    #[inline]
    pub(crate) fn is_dense(&self, vertex: u32) -> bool {
        self.graph.degree(vertex) >= self.blocks()
    }

    /// Ties that a row must have room for.
    #[inline]
    pub(crate) fn row_room(&self, vertex: u32) -> usize {
        self.graph.degree(vertex).min(self.blocks())
    }

    /// The ties of a vertex, if it is or was at a boundary.
    #[inline]
    pub(crate) fn known_row(&self, vertex: u32) -> Option<&[Tie<W>]> {
        (self.row_start[vertex as usize] != NO_ROW).then(|| self.row(vertex))
    }

    #[inline]
    fn row(&self, vertex: u32) -> &[Tie<W>] {
        let start = self.row_start[vertex as usize] as usize;
        &self.ties[start..start + self.row_len[vertex as usize] as usize]
    }

    #[inline]
    fn row_mut(&mut self, vertex: u32) -> Row<'_, W> {
        let start = self.row_start[vertex as usize] as usize;
        let (room, is_dense) = (self.row_room(vertex), self.is_dense(vertex));
        Row { ties: &mut self.ties[start..start + room], len: &mut self.row_len[vertex as usize], is_dense }
    }

    /// Whether the vertex has an edge of some weight into another block.
    #[inline]
    pub(crate) fn is_boundary(&self, vertex: u32) -> bool {
        if self.row_start[vertex as usize] == NO_ROW {
            return false;
        }
        let own = self.block_of[vertex as usize];
        self.row(vertex).iter().any(|tie| tie.block != own && tie.weight != W::default())
    }

    /// The vertices with an edge of some weight into another block, ascending.
    pub(crate) fn boundary(&self) -> Vec<u32> {
        let of_stretch = |first: u32| {
            let behind = self.graph.len().min(first as usize + STRETCH) as u32;
            (first..behind).filter(|&vertex| self.is_boundary(vertex)).collect::<Vec<u32>>()
        };
        let firsts: Vec<u32> = (0..self.graph.len() as u32).step_by(STRETCH).collect();
        firsts.into_par_iter().with_max_len(1).map(of_stretch).collect::<Vec<_>>().concat()
    }

    /// The block that the vertex is tied to most, of those with room for it; then the one with most room, then the lowest.
    #[inline]
    pub(crate) fn best_target(&self, vertex: u32) -> Option<Target> {
        self.targets(vertex).0
    }

    /// As [`State::best_target`]; and, if a block without room would lower the cut by more, the one that would most.
    #[inline]
    pub(crate) fn targets(&self, vertex: u32) -> (Option<Target>, Option<Target>) {
        if self.row_start[vertex as usize] == NO_ROW {
            return (None, None);
        }
        let own = self.block_of[vertex as usize];
        let weight = self.graph.weight(vertex);
        let window = self.graph.window(vertex, |other| self.block_of[other as usize]);
        targets(self.row(vertex), own, window, |block| self.room(block) - weight)
    }

    /// What a change means for a vertex that would gain `key` if it waits for its move.
    #[inline]
    pub(crate) fn outlook(&self, vertex: u32, key: Option<i64>, change: Option<Change>) -> Outlook {
        match (key, change) {
            // Where directions matter, a neighbour's move changes also where the vertex may go.
            (Some(key), Some(change)) if self.graph.directions.is_empty() => {
                let own = self.block_of[vertex as usize];
                let fits = || self.room(change.to) >= self.graph.weight(vertex);
                change.outlook(own, key, || self.tie_to(vertex, own), fits)
            }
            _ => Outlook::Open,
        }
    }

    /// What may still be added to a block.
    #[inline]
    pub(crate) fn room(&self, block: u32) -> i64 {
        self.caps[block as usize] - self.loads[block as usize]
    }

    /// The weight of the vertex's edges into a block.
    pub(crate) fn tie_to(&self, vertex: u32, block: u32) -> i64 {
        if self.row_start[vertex as usize] == NO_ROW {
            let inside = self.block_of[vertex as usize] == block;
            return if inside { self.graph.edges(vertex).map(|(_, weight)| weight.wide()).sum() } else { 0 };
        }
        weight_of_tie(self.row(vertex), block, self.is_dense(vertex))
    }

    /// The blocks into which the vertex has edges of some weight.
    pub(crate) fn tied_blocks(&self, vertex: u32) -> impl Iterator<Item = u32> + '_ {
        let row = if self.row_start[vertex as usize] == NO_ROW { &[] } else { self.row(vertex) };
        row.iter().filter(|tie| tie.weight != W::default()).map(|tie| tie.block)
    }

    /// Moves a vertex and tells its neighbours, then calls `changed` for each of them, with what changed if the neighbour
    /// had a row.
    #[inline]
    pub(crate) fn relocate(&mut self, vertex: u32, to: u32, mut changed: impl FnMut(&Self, u32, Option<Change>)) {
        let from = std::mem::replace(&mut self.block_of[vertex as usize], to);
        let weight = self.graph.weight(vertex);
        self.loads[from as usize] -= weight;
        self.loads[to as usize] += weight;
        let graph = self.graph;
        for (neighbour, weight) in graph.edges(vertex) {
            let change = if self.row_start[neighbour as usize] == NO_ROW {
                self.make_row(neighbour);
                None
            } else {
                Some(self.row_mut(neighbour).follow(from, to, weight))
            };
            changed(self, neighbour, change);
        }
        if self.row_start[vertex as usize] == NO_ROW {
            self.make_row(vertex);
        }
    }

    /// Sum of the weights of the edges between blocks.
    pub(crate) fn cut(&self) -> i64 {
        let foreign = |vertex: u32| {
            let own = self.block_of[vertex as usize];
            self.row(vertex).iter().filter(move |tie| tie.block != own).map(|tie| tie.weight.wide()).sum::<i64>()
        };
        self.graph.vertices().filter(|&vertex| self.row_start[vertex as usize] != NO_ROW).map(foreign).sum::<i64>() / 2
    }

    /// By how much blocks exceed what they may weigh, added up.
    pub(crate) fn overload(&self) -> i64 {
        self.loads.iter().zip(self.caps).map(|(&load, &cap)| (load - cap).max(0)).sum()
    }

    /// Ends the refinement.
    pub(crate) fn finish(self) -> Refined {
        let boundary = self.graph.vertices().map(|vertex| self.is_boundary(vertex)).collect();
        Refined { block_of: self.block_of, boundary }
    }
}

/// What a refinement leaves behind for the next finer graph.
pub(crate) struct Refined {
    pub(crate) block_of: Vec<u32>,
    /// Whether each vertex has an edge of some weight into another block.
    pub(crate) boundary: Vec<bool>,
}

#[cfg(test)]
mod tests {
    use super::super::fm::tests::tangle;
    use super::*;
    use crate::partition::multilevel::random::Random;

    #[test]
    fn what_a_neighbours_move_means_is_what_looking_again_tells() {
        let mut seen = [0; 3];
        for (seed, blocks) in [(1, 2usize), (2, 3), (3, 8), (4, 40)] {
            let graph = tangle(seed);
            // Room for all, so that gains depend on ties alone; and room for hardly more than are there.
            for room in [graph.total_weight(), graph.total_weight() / blocks as i64 * 11 / 10 + 2] {
                let caps = vec![room; blocks];
                let block_of = (0..200).map(|vertex| vertex % blocks as u32).collect();
                let mut state = State::new(&graph, &caps, block_of, |_| true);
                let mut random = Random::new(seed, 7);
                let gain =
                    |state: &State<'_, '_, u32>, vertex: u32| state.best_target(vertex).map(|target| target.gain);
                for _ in 0..2000 {
                    let (vertex, to) = (random.below(200) as u32, random.below(blocks) as u32);
                    if state.block_of[vertex as usize] == to || state.room(to) < graph.weight(vertex) {
                        continue;
                    }
                    let known: Vec<Option<i64>> = (0..200).map(|vertex| gain(&state, vertex)).collect();
                    state.relocate(vertex, to, |state, neighbour, change| {
                        let known = known[neighbour as usize];
                        let now = gain(state, neighbour);
                        match state.outlook(neighbour, known, change) {
                            Outlook::Same => assert_eq!((now, seen[0] += 1), (known, ())),
                            Outlook::Gain(gain) => assert_eq!((now, seen[1] += 1), (Some(gain), ())),
                            Outlook::Open => seen[2] += 1,
                        }
                    });
                }
            }
        }
        assert!(seen.iter().all(|&count| count > 1000), "{seen:?}");
    }
}
