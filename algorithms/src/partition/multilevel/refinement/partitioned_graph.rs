//! A partition under change: the block of each vertex, the weight of each block, and the gain cache.

use rayon::prelude::*;

use super::gain_cache::{Change, Connection, GainRow, GainUpdate, Target, best_moves, connection_to};
use super::pin_counts::PinCounts;
use crate::partition::multilevel::structure::{Pins, Structure};

/// Where a vertex's row begins, and how long it is.
#[derive(Clone, Copy)]
struct Place {
    start: u32,
    len: u32,
}

impl Place {
    /// A vertex without a row: all its neighbours were in its own block when that was last looked at.
    const NONE: Self = Self { start: u32::MAX, len: 0 };

    #[inline]
    fn is_none(self) -> bool {
        self.start == Self::NONE.start
    }
}

/// Vertices whose rows a thread fills at a time.
const STRETCH: usize = 2048;

/// A partition under change.
///
/// The gain cache has rows only for vertices that are or were at a boundary. A vertex with at least as many neighbours as
/// there are blocks has a dense row.
pub(crate) struct PartitionedGraph<'g, S> {
    pub(crate) graph: &'g S,
    pub(crate) max_block_weights: &'g [i64],
    pub(crate) block_of: Vec<u32>,
    pub(crate) block_weights: Vec<i64>,
    /// For each vertex.
    rows: Vec<Place>,
    connections: Vec<Connection>,
    /// Where the pins of nets are.
    pub(crate) pins: PinCounts,
    /// By how much blocks may exceed what they may weigh while a search is loosened.
    pub(crate) grace: i64,
}

impl<'g, S: Structure> PartitionedGraph<'g, S> {
    /// Takes a partition. Vertices that `maybe_boundary` denies must have no neighbour in another block.
    pub(crate) fn new(
        graph: &'g S,
        max_block_weights: &'g [i64],
        block_of: Vec<u32>,
        maybe_boundary: impl Fn(u32) -> bool + Sync,
    ) -> Self {
        let blocks = max_block_weights.len();
        let block_weights = graph.block_weights(&block_of, blocks);
        let pins = PinCounts::new(graph, blocks, &block_of);
        let is_boundary = |vertex: u32| maybe_boundary(vertex) && graph.is_torn(vertex, &block_of, |net| pins.row(net));
        let (rows, connections) = fill_rows(graph, blocks, &block_of, &pins, is_boundary);
        Self { graph, max_block_weights, block_of, block_weights, rows, connections, pins, grace: 0 }
    }

    #[inline]
    pub(crate) fn blocks(&self) -> usize {
        self.max_block_weights.len()
    }

    /// Makes the row of a vertex that has none.
    fn make_row(&mut self, vertex: u32) {
        let (start, room) = (self.connections.len(), self.row_room(vertex));
        if self.connections.capacity() < start + room {
            // A list that doubles would waste nearly half of it.
            self.connections.reserve_exact(room + start / 8);
        }
        self.connections.resize(start + room, Connection::default());
        let is_dense = room == self.blocks();
        let place = &mut self.rows[vertex as usize];
        place.start = start as u32;
        let mut row = GainRow { connections: &mut self.connections[start..], len: &mut place.len, is_dense };
        row.clear();
        self.graph.connect(vertex, &mut row, |other| self.block_of[other as usize], |net| self.pins.row(net));
    }

    /// Connections that a row must have room for.
    #[inline]
    pub(crate) fn row_room(&self, vertex: u32) -> usize {
        self.graph.most_connections(vertex, self.blocks())
    }

    /// The connections of a vertex, if it is or was at a boundary.
    #[inline]
    pub(crate) fn known_row(&self, vertex: u32) -> Option<&[Connection]> {
        let place = self.rows[vertex as usize];
        (!place.is_none()).then(|| &self.connections[place.start as usize..][..place.len as usize])
    }

    /// Whether the vertex has an edge of some weight into another block.
    #[inline]
    pub(crate) fn is_boundary(&self, vertex: u32) -> bool {
        let Some(row) = self.known_row(vertex) else { return false };
        let own = self.block_of[vertex as usize];
        row.iter().any(|connection| connection.block() != own && connection.weight() != 0)
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

    /// The best move of a vertex to a block with room; see [`best_moves`].
    #[inline]
    pub(crate) fn best_move(&self, vertex: u32) -> Option<Target> {
        self.best_moves(vertex).0
    }

    /// The best move of a vertex to a block with room; and the best to a block without, if that would gain more.
    #[inline]
    pub(crate) fn best_moves(&self, vertex: u32) -> (Option<Target>, Option<Target>) {
        let Some(row) = self.known_row(vertex) else { return (None, None) };
        let own = self.block_of[vertex as usize];
        let weight = self.graph.weight(vertex);
        let window = self.graph.window(vertex, |other| self.block_of[other as usize]);
        best_moves(row, own, window, |block| self.room(block) - weight)
    }

    /// What a change means for a vertex whose best move gains `known`, if that is known.
    #[inline]
    pub(crate) fn gain_update(&self, vertex: u32, known: Option<i64>, change: Option<Change>) -> GainUpdate {
        match (known, change) {
            // Where directions matter, a neighbour's move also changes where the vertex may go.
            (Some(known), Some(change)) if !self.graph.is_directed() => {
                let own = self.block_of[vertex as usize];
                let fits = || self.room(change.to) >= self.graph.weight(vertex);
                change.gain_update(own, known, || self.connection_to(vertex, own), fits)
            }
            _ => GainUpdate::Unknown,
        }
    }

    /// The weight that may still be added to a block, with the grace that it has.
    #[inline]
    pub(crate) fn room(&self, block: u32) -> i64 {
        self.max_block_weights[block as usize] + self.grace - self.block_weights[block as usize]
    }

    /// Whether a move brings the weights of the two blocks closer.
    #[inline]
    pub(crate) fn balances(&self, vertex: u32, to: u32) -> bool {
        let from = self.block_of[vertex as usize];
        self.block_weights[from as usize] - self.block_weights[to as usize] > self.graph.weight(vertex)
    }

    /// How much a vertex is connected to a block.
    pub(crate) fn connection_to(&self, vertex: u32, block: u32) -> i64 {
        match self.known_row(vertex) {
            Some(row) => connection_to(row, block, self.blocks()),
            None if self.block_of[vertex as usize] != block => 0,
            None => self.graph.whole_connection(vertex),
        }
    }

    /// Moves a vertex, then calls `changed` for each neighbour whose connections change, with how if it had a row.
    #[inline]
    pub(crate) fn relocate(&mut self, vertex: u32, to: u32, mut changed: impl FnMut(&Self, u32, Option<Change>)) {
        let (graph, from) = (self.graph, self.leave(vertex, to));
        graph.for_each_change(self, vertex, from, to, |this, neighbour, lost, gained| {
            let change = this.follow(neighbour, from, to, lost, gained);
            changed(this, neighbour, change);
        });
        self.arrive(vertex);
    }

    /// The first step of a move: the block and the block weights. Returns the block that the vertex leaves.
    #[inline]
    pub(crate) fn leave(&mut self, vertex: u32, to: u32) -> u32 {
        let from = std::mem::replace(&mut self.block_of[vertex as usize], to);
        let weight = self.graph.weight(vertex);
        self.block_weights[from as usize] -= weight;
        self.block_weights[to as usize] += weight;
        from
    }

    /// The second step, for each neighbour: its row. Returns what changed if it had one.
    #[inline]
    pub(crate) fn follow(&mut self, neighbour: u32, from: u32, to: u32, lost: i64, gained: i64) -> Option<Change> {
        let blocks = self.blocks();
        let place = &mut self.rows[neighbour as usize];
        if place.is_none() {
            self.make_row(neighbour);
            return None;
        }
        let is_dense = place.len as usize == blocks;
        let mut row =
            GainRow { connections: &mut self.connections[place.start as usize..], len: &mut place.len, is_dense };
        Some(row.follow(from, to, lost, gained))
    }

    /// The last step: the vertex is at a boundary, and so needs a row.
    #[inline]
    pub(crate) fn arrive(&mut self, vertex: u32) {
        if self.rows[vertex as usize].is_none() {
            self.make_row(vertex);
        }
    }

    /// What the partition costs.
    pub(crate) fn cut(&self) -> i64 {
        S::known_cut(self)
    }

    /// By how much blocks exceed what they may weigh, added up.
    pub(crate) fn overload(&self) -> i64 {
        (0..self.blocks() as u32).map(|block| (-self.room(block)).max(0)).sum()
    }

    /// Ends the refinement.
    pub(crate) fn finish(self) -> Refined {
        let boundary = self.graph.vertices().map(|vertex| self.is_boundary(vertex)).collect();
        Refined { block_of: self.block_of, boundary }
    }
}

impl<S: Structure> Pins for PartitionedGraph<'_, S> {
    #[inline]
    fn block_of(&self, vertex: u32) -> u32 {
        self.block_of[vertex as usize]
    }

    #[inline]
    fn move_pin(&mut self, net: u32, from: u32, to: u32) -> (i64, i64) {
        self.pins.move_pin(net, from, to)
    }
}

/// What a refinement leaves behind for the next finer graph.
pub(crate) struct Refined {
    pub(crate) block_of: Vec<u32>,
    /// Whether each vertex has an edge of some weight into another block.
    pub(crate) boundary: Vec<bool>,
}

/// The rows of all boundary vertices: where each is, and all of them. Threads fill stretches of vertices.
fn fill_rows<S: Structure>(
    graph: &S,
    blocks: usize,
    block_of: &[u32],
    pins: &PinCounts,
    is_boundary: impl Fn(u32) -> bool + Sync,
) -> (Vec<Place>, Vec<Connection>) {
    let room = |vertex: u32| graph.most_connections(vertex, blocks);
    let mut rows = vec![Place::NONE; graph.len()];
    // First where each row begins in its stretch.
    let lay_out = |(first, rows): (usize, &mut [Place])| {
        let mut length = 0;
        for (vertex, place) in (first as u32..).zip(rows) {
            if is_boundary(vertex) {
                place.start = length;
                length += room(vertex) as u32;
            }
        }
        length as usize
    };
    let stretches = rows.par_chunks_mut(STRETCH).enumerate();
    let lengths: Vec<usize> = stretches.with_max_len(1).map(|(at, rows)| lay_out((at * STRETCH, rows))).collect();
    // Threads share the first touch of the pages.
    let none = |_| Connection::default();
    let all = (0..lengths.iter().sum()).into_par_iter().with_min_len(STRETCH);
    let mut connections: Vec<Connection> = all.map(none).collect();
    let (mut rest, mut before) = (connections.as_mut_slice(), 0u32);
    let stretches = rows.chunks_mut(STRETCH).zip(&lengths).enumerate();
    let stretches: Vec<_> = stretches
        .map(|(at, (rows, &length))| {
            let (connections, behind) = std::mem::take(&mut rest).split_at_mut(length);
            rest = behind;
            let stretch = (at * STRETCH, rows, connections, before);
            before += length as u32;
            stretch
        })
        .collect();
    stretches.into_par_iter().with_max_len(1).for_each(|(first, rows, mut connections, before)| {
        for (vertex, place) in (first as u32..).zip(rows) {
            if place.is_none() {
                continue;
            }
            place.start += before;
            let (own, behind) = std::mem::take(&mut connections).split_at_mut(room(vertex));
            connections = behind;
            let mut row = GainRow { is_dense: own.len() == blocks, connections: own, len: &mut place.len };
            row.clear();
            graph.connect(vertex, &mut row, |other| block_of[other as usize], |net| pins.row(net));
        }
    });
    (rows, connections)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::multilevel::graph::Graph;
    use crate::partition::multilevel::random::Random;

    #[test]
    fn what_a_neighbours_move_means_is_what_looking_again_tells() {
        let mut seen = [0; 3];
        for (seed, blocks) in [(1, 2usize), (2, 3), (3, 8), (4, 40)] {
            let graph = Graph::tangle(seed);
            // Room for all, so that gains depend on connections alone; and room for hardly more than are there.
            for room in [graph.total_weight(), graph.total_weight() / blocks as i64 * 11 / 10 + 2] {
                let max_block_weights = vec![room; blocks];
                let block_of = (0..200).map(|vertex| vertex % blocks as u32).collect();
                let mut partition = PartitionedGraph::new(&graph, &max_block_weights, block_of, |_| true);
                let mut random = Random::new(seed, 7);
                let gain = |partition: &PartitionedGraph<'_, Graph<'_>>, vertex: u32| {
                    partition.best_move(vertex).map(|target| target.gain)
                };
                for _ in 0..2000 {
                    let (vertex, to) = (random.below(200) as u32, random.below(blocks) as u32);
                    if partition.block_of[vertex as usize] == to || partition.room(to) < graph.weight(vertex) {
                        continue;
                    }
                    let known: Vec<Option<i64>> = (0..200).map(|vertex| gain(&partition, vertex)).collect();
                    partition.relocate(vertex, to, |partition, neighbour, change| {
                        let known = known[neighbour as usize];
                        let now = gain(partition, neighbour);
                        match partition.gain_update(neighbour, known, change) {
                            GainUpdate::Unchanged => assert_eq!((now, seen[0] += 1), (known, ())),
                            GainUpdate::Gain(gain) => assert_eq!((now, seen[1] += 1), (Some(gain), ())),
                            GainUpdate::Unknown => seen[2] += 1,
                        }
                    });
                }
            }
        }
        assert!(seen.iter().all(|&count| count > 1000), "{seen:?}");
    }
}
