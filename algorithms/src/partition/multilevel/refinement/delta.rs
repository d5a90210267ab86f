//! Concurrent searches: each sees the partition as it was before all of them, and keeps its own moves in a delta. What they
//! found is carried out one after the other.
//!
//! The result depends on which searches run together, but not on the number of threads.

use rayon::prelude::*;

use super::gain_cache::{Change, Connection, GainRow, GainUpdate, Target, best_moves, connection_to};
use super::partitioned_graph::PartitionedGraph;
use super::search::{Limits, Search, View};
use crate::partition::multilevel::pool::{Pool, written_zeros};
use crate::partition::multilevel::structure::{Pins, Structure};

/// A row that no move of the search has changed: the partition's counts.
const SHARED: u32 = u32::MAX;

/// What a search knows about a vertex.
#[derive(Clone, Copy)]
struct Slot {
    vertex: u32,
    block: u32,
    /// Where the delta has the vertex's row, or [`SHARED`].
    row_start: u32,
    row_len: u32,
    moved: bool,
}

/// A net with pins that the search has moved.
#[derive(Clone, Copy)]
struct NetSlot {
    net: u32,
    /// Where the delta has the net's row.
    row_start: u32,
    row_len: u32,
}

/// What a search has changed. Vertices get slots as the search meets them, and nets as it moves their pins.
struct Delta {
    /// One more than the vertex's slot; 0 if it has none.
    slot_of: Vec<u32>,
    slots: Vec<Slot>,
    /// The same for nets.
    net_slot_of: Vec<u32>,
    net_slots: Vec<NetSlot>,
    /// The rows of both.
    connections: Vec<Connection>,
    /// The weight added to each block.
    added: Vec<i64>,
}

/// Scratch space of a thread.
pub(crate) struct Workspace {
    search: Search,
    delta: Delta,
}

/// What a search found.
struct Moves {
    /// Moves that lower the cut together: vertex and block.
    kept: Vec<(u32, u32)>,
    /// Vertices whose moves did not help.
    undone: Vec<u32>,
}

/// Searches that a thread does one after the other.
const AT_ONCE: usize = 8;

/// Runs a search from each set of vertices, which ends after `patience` moves in vain, and carries out what they found.
/// Vertices that `moved` marks stay. Those that move are marked, and listed in `touched`. Returns by how much the cut fell.
pub(crate) fn search_together<S: Structure>(
    partition: &mut PartitionedGraph<'_, S>,
    starts: &[&[u32]],
    patience: u32,
    workspaces: &Pool<Workspace>,
    moved: &mut [bool],
    touched: &mut Vec<u32>,
) -> i64 {
    let seen: &PartitionedGraph<'_, S> = partition;
    let marks: &[bool] = moved;
    let some = if starts.len() > 4 * AT_ONCE { AT_ONCE } else { 1 };
    let run = |starts: &[&[u32]]| {
        workspaces.with(
            || Workspace::new(seen),
            |space| starts.iter().map(|seeds| space.search(seen, marks, seeds, patience)).collect::<Vec<Moves>>(),
        )
    };
    let found: Vec<Vec<Moves>> = starts.par_chunks(some).with_max_len(1).map(run).collect();
    found.iter().flatten().map(|moves| carry_out(partition, moves, moved, touched)).sum()
}

/// Makes the moves of a search that can still be made, up to the least cut. Returns by how much it fell.
fn carry_out<S: Structure>(
    partition: &mut PartitionedGraph<'_, S>,
    moves: &Moves,
    moved: &mut [bool],
    touched: &mut Vec<u32>,
) -> i64 {
    let mut trail: Vec<(u32, u32)> = Vec::with_capacity(moves.kept.len());
    let (mut gain, mut best, mut best_len) = (0i64, 0i64, 0usize);
    for &(vertex, to) in &moves.kept {
        let from = partition.block_of[vertex as usize];
        let (first, last) = partition.graph.window(vertex, |other| partition.block_of[other as usize]);
        let fits = partition.room(to) >= partition.graph.weight(vertex);
        if moved[vertex as usize] || !fits || to < first || to > last {
            continue;
        }
        let change = partition.connection_to(vertex, to) - partition.connection_to(vertex, from);
        gain += change;
        let balances = change == 0 && partition.balances(vertex, to);
        partition.relocate(vertex, to, |_, _, _| ());
        moved[vertex as usize] = true;
        touched.push(vertex);
        trail.push((vertex, from));
        if gain > best || (gain == best && balances) {
            (best, best_len) = (gain, trail.len());
        }
    }
    for &(vertex, from) in trail[best_len..].iter().rev() {
        partition.relocate(vertex, from, |_, _, _| ());
    }
    for &vertex in &moves.undone {
        if !std::mem::replace(&mut moved[vertex as usize], true) {
            touched.push(vertex);
        }
    }
    best
}

impl Workspace {
    fn new<S: Structure>(partition: &PartitionedGraph<'_, S>) -> Self {
        let delta = Delta {
            slot_of: written_zeros(partition.graph.len()),
            slots: Vec::new(),
            net_slot_of: written_zeros(partition.graph.net_count()),
            net_slots: Vec::new(),
            connections: Vec::new(),
            added: vec![0; partition.max_block_weights.len()],
        };
        Self { search: Search::default(), delta }
    }

    /// One search. Leaves the delta empty.
    fn search<S: Structure>(
        &mut self,
        partition: &PartitionedGraph<'_, S>,
        moved: &[bool],
        seeds: &[u32],
        patience: u32,
    ) -> Moves {
        let Self { search, delta } = self;
        search.clear(partition.max_block_weights.len());
        let mut view = DeltaView { partition, moved, delta };
        for &vertex in seeds.iter().filter(|&&vertex| !moved[vertex as usize]) {
            let slot = view.slot(vertex);
            search.enqueue(slot, view.best_moves(slot));
        }
        let found = search.run(&mut view, Limits { patience, least: 0 });
        let (kept, undone) = search.trail.split_at(found.kept);
        let slot = |&(slot, _): &(u32, u32)| view.delta.slots[slot as usize];
        let moves = Moves {
            kept: kept.iter().map(slot).map(|slot| (slot.vertex, slot.block)).collect(),
            undone: undone.iter().map(slot).map(|slot| slot.vertex).collect(),
        };
        delta.clear(partition);
        moves
    }
}

impl Delta {
    fn clear<S: Structure>(&mut self, partition: &PartitionedGraph<'_, S>) {
        for slot in self.slots.drain(..) {
            self.slot_of[slot.vertex as usize] = 0;
            if slot.moved {
                self.added[slot.block as usize] = 0;
                self.added[partition.block_of[slot.vertex as usize] as usize] = 0;
            }
        }
        for slot in self.net_slots.drain(..) {
            self.net_slot_of[slot.net as usize] = 0;
        }
        self.connections.clear();
    }
}

/// A partition and a delta over it; handles are slots.
struct DeltaView<'v, 'g, S> {
    partition: &'v PartitionedGraph<'g, S>,
    /// Vertices that moved before.
    moved: &'v [bool],
    delta: &'v mut Delta,
}

impl<S: Structure> DeltaView<'_, '_, S> {
    #[inline]
    fn slot(&mut self, vertex: u32) -> u32 {
        let Delta { slot_of, slots, .. } = self.delta;
        match slot_of[vertex as usize] {
            0 => {
                let block = self.partition.block_of[vertex as usize];
                slots.push(Slot { vertex, block, row_start: SHARED, row_len: 0, moved: false });
                slot_of[vertex as usize] = slots.len() as u32;
                slots.len() as u32 - 1
            }
            slot => slot - 1,
        }
    }

    #[inline]
    fn room(&self, block: u32) -> i64 {
        self.partition.room(block) - self.delta.added[block as usize]
    }

    /// The row of a vertex, to be changed.
    #[inline]
    fn row_mut(&mut self, slot: u32) -> GainRow<'_> {
        let (partition, Delta { slots, connections, .. }) = (self.partition, &mut *self.delta);
        let slot = &mut slots[slot as usize];
        if slot.row_start == SHARED {
            let (start, room) = (connections.len(), partition.row_room(slot.vertex));
            slot.row_start = start as u32;
            connections.resize(start + room, Connection::default());
            let own = &mut connections[start..];
            match partition.known_row(slot.vertex) {
                Some(known) => {
                    own[..known.len()].copy_from_slice(known);
                    slot.row_len = known.len() as u32;
                }
                // All neighbours were in the vertex's own block.
                None => {
                    let is_dense = room == partition.blocks();
                    let mut row = GainRow { connections: own, len: &mut slot.row_len, is_dense };
                    row.clear();
                    let block_of = |other: u32| partition.block_of[other as usize];
                    partition.graph.connect(slot.vertex, &mut row, block_of, |net| partition.pins.row(net));
                }
            }
        }
        let is_dense = slot.row_len as usize == partition.blocks();
        GainRow { connections: &mut connections[slot.row_start as usize..], len: &mut slot.row_len, is_dense }
    }

    /// The pins of a net by block, to be changed.
    #[inline]
    fn net_row_mut(&mut self, net: u32) -> GainRow<'_> {
        let (partition, Delta { net_slot_of, net_slots, connections, .. }) = (self.partition, &mut *self.delta);
        let room = partition.graph.pins(net).len().min(partition.blocks());
        if net_slot_of[net as usize] == 0 {
            let (start, known) = (connections.len(), partition.pins.row(net));
            connections.extend_from_slice(known);
            connections.resize(start + room, Connection::default());
            net_slots.push(NetSlot { net, row_start: start as u32, row_len: known.len() as u32 });
            net_slot_of[net as usize] = net_slots.len() as u32;
        }
        let NetSlot { row_start, row_len, .. } = &mut net_slots[net_slot_of[net as usize] as usize - 1];
        let connections = &mut connections[*row_start as usize..];
        GainRow { connections, len: row_len, is_dense: room == partition.blocks() }
    }
}

impl<S: Structure> Pins for DeltaView<'_, '_, S> {
    #[inline]
    fn block_of(&self, vertex: u32) -> u32 {
        match self.delta.slot_of[vertex as usize] {
            0 => self.partition.block_of[vertex as usize],
            slot => self.delta.slots[slot as usize - 1].block,
        }
    }

    #[inline]
    fn move_pin(&mut self, net: u32, from: u32, to: u32) -> (i64, i64) {
        let mut row = self.net_row_mut(net);
        (row.lower(from, 1), row.raise(to, 1))
    }
}

impl<S: Structure> View for DeltaView<'_, '_, S> {
    #[inline]
    fn best_moves(&mut self, slot: u32) -> (Option<Target>, Option<Target>) {
        let Slot { vertex, block, row_start, row_len, .. } = self.delta.slots[slot as usize];
        let connections = match row_start {
            SHARED => match self.partition.known_row(vertex) {
                Some(row) => row,
                None => return (None, None),
            },
            start => &self.delta.connections[start as usize..(start + row_len) as usize],
        };
        let window = self.partition.graph.window(vertex, |other| self.block_of(other));
        let weight = self.partition.graph.weight(vertex);
        best_moves(connections, block, window, |block| self.room(block) - weight)
    }

    #[inline]
    fn block(&self, slot: u32) -> u32 {
        self.delta.slots[slot as usize].block
    }

    #[inline]
    fn balances(&self, slot: u32, to: u32) -> bool {
        let Slot { vertex, block: from, .. } = self.delta.slots[slot as usize];
        let weight = |block: u32| self.partition.block_weights[block as usize] + self.delta.added[block as usize];
        weight(from) - weight(to) > self.partition.graph.weight(vertex)
    }

    #[inline]
    fn has_moved(&self, slot: u32) -> bool {
        let Slot { vertex, moved, .. } = self.delta.slots[slot as usize];
        moved || self.moved[vertex as usize]
    }

    #[inline]
    fn gain_update(&self, slot: u32, known: Option<i64>, change: Option<Change>) -> GainUpdate {
        let (Some(known), Some(change), false) = (known, change, self.partition.graph.is_directed()) else {
            return GainUpdate::Unknown;
        };
        let Slot { vertex, block, row_start, row_len, .. } = self.delta.slots[slot as usize];
        let connection_to_own = || {
            let connections = &self.delta.connections[row_start as usize..(row_start + row_len) as usize];
            connection_to(connections, block, self.partition.blocks())
        };
        let fits = || self.room(change.to) >= self.partition.graph.weight(vertex);
        change.gain_update(block, known, connection_to_own, fits)
    }

    #[inline]
    fn make_move(&mut self, slot: u32, to: u32, mut changed: impl FnMut(&mut Self, u32, Option<Change>)) {
        let Slot { vertex, block: from, .. } = self.delta.slots[slot as usize];
        self.delta.slots[slot as usize].block = to;
        self.delta.slots[slot as usize].moved = true;
        let graph = self.partition.graph;
        self.delta.added[from as usize] -= graph.weight(vertex);
        self.delta.added[to as usize] += graph.weight(vertex);
        graph.for_each_change(self, vertex, from, to, |this, neighbour, lost, gained| {
            let near = this.slot(neighbour);
            let change = this.row_mut(near).follow(from, to, lost, gained);
            if !this.has_moved(near) {
                changed(this, near, Some(change));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::multilevel::graph::Graph;
    use crate::partition::multilevel::nets::Nets;

    fn together<S: Structure>(
        graph: &S,
        max_block_weights: &[i64],
        seeds_each: usize,
        threads: usize,
    ) -> (Vec<u32>, i64) {
        let (blocks, count) = (max_block_weights.len() as u32, graph.len() as u32);
        let mut partition =
            PartitionedGraph::new(graph, max_block_weights, (0..count).map(|vertex| vertex % blocks).collect(), |_| {
                true
            });
        let before = partition.cut();
        let seeds: Vec<u32> = (0..count).filter(|vertex| vertex % 3 > 0).collect();
        let starts: Vec<&[u32]> = seeds.chunks(seeds_each).collect();
        // A vertex that has moved already stays where it is.
        let (mut moved, mut touched) = (vec![false; graph.len()], Vec::new());
        moved[1] = true;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let workspaces = Pool::default();
        let told = pool.install(|| search_together(&mut partition, &starts, 9, &workspaces, &mut moved, &mut touched));
        assert_eq!((before - graph.cut(&partition.block_of), partition.cut()), (told, graph.cut(&partition.block_of)));
        assert_eq!((partition.overload(), partition.block_of[1]), (0, 1 % blocks));
        let again = PartitionedGraph::new(graph, max_block_weights, partition.block_of.clone(), |_| true);
        for vertex in 0..count {
            for block in 0..blocks {
                assert_eq!(partition.connection_to(vertex, block), again.connection_to(vertex, block));
            }
        }
        assert_eq!(again.block_weights, partition.block_weights);
        touched.sort_unstable();
        let marked: Vec<u32> = (0..count).filter(|&vertex| vertex != 1 && moved[vertex as usize]).collect();
        assert_eq!(touched, marked);
        (partition.block_of, told)
    }

    #[test]
    fn the_gain_told_is_the_gain_had_and_threads_change_nothing() {
        for (seed, blocks) in [(1, 2usize), (2, 3), (3, 8), (4, 50)] {
            let graph = Graph::tangle(seed);
            let max_block_weights = vec![graph.total_weight() / blocks as i64 * 13 / 10 + 4; blocks];
            for seeds_each in [1, 7, 50] {
                let one = together(&graph, &max_block_weights, seeds_each, 1);
                assert!(one.1 > 0, "{seed} {seeds_each}");
                assert_eq!(one, together(&graph, &max_block_weights, seeds_each, 3));
            }
        }
    }

    #[test]
    fn the_same_goes_for_nets() {
        for (seed, blocks) in [(1, 2usize), (2, 3), (3, 8), (4, 30)] {
            let nets = Nets::tangle(seed);
            let max_block_weights = vec![nets.total_weight() / blocks as i64 * 13 / 10 + 4; blocks];
            for seeds_each in [1, 7, 50] {
                let one = together(&nets, &max_block_weights, seeds_each, 1);
                assert!(one.1 > 0, "{seed} {seeds_each}");
                assert_eq!(one, together(&nets, &max_block_weights, seeds_each, 3));
            }
        }
    }

    #[test]
    fn a_search_leaves_its_delta_as_it_was() {
        let graph = Graph::tangle(6);
        let max_block_weights = vec![graph.total_weight(); 3];
        let partition =
            PartitionedGraph::new(&graph, &max_block_weights, (0..200).map(|vertex| vertex % 3).collect(), |_| true);
        let mut space = Workspace::new(&partition);
        let seeds: Vec<u32> = (0..50).collect();
        let moves = |moves: Moves| (moves.kept, moves.undone);
        let once = moves(space.search(&partition, &[false; 200], &seeds, 20));
        assert!(!once.0.is_empty());
        assert_eq!(once, moves(space.search(&partition, &[false; 200], &seeds, 20)));
    }
}
