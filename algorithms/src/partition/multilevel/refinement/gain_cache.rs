//! The gain cache: for a vertex, its connections to the blocks around it.

use std::cmp::Ordering;

use crate::partition::multilevel::weights::{BLOCK_BITS, MOST_BLOCKS};

/// A move that a vertex could make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) block: u32,
    /// By how much the cut would fall.
    pub(crate) gain: i64,
}

/// A block, and how much a vertex is connected to it, or how many pins a net has there. Both share a word, so that more
/// of them fit into a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Connection(u64);

impl Connection {
    #[inline]
    fn new(block: u32, weight: i64) -> Self {
        Self((weight as u64) << BLOCK_BITS | u64::from(block))
    }

    #[inline]
    pub(crate) fn block(self) -> u32 {
        self.0 as u32 & (MOST_BLOCKS - 1)
    }

    #[inline]
    pub(crate) fn weight(self) -> i64 {
        (self.0 >> BLOCK_BITS) as i64
    }

    #[inline]
    fn raise(&mut self, by: i64) {
        self.0 = self.0.wrapping_add((by as u64) << BLOCK_BITS);
    }
}

/// The connections of a vertex, or the pins of a net. A dense row has a place for each block; any other lists the
/// blocks that the vertex is connected to, which are fewer.
pub(crate) struct GainRow<'c> {
    /// With room for all connections that there can be; what lies behind is not touched, but by [`GainRow::clear`].
    pub(crate) connections: &'c mut [Connection],
    pub(crate) len: &'c mut u32,
    pub(crate) is_dense: bool,
}

impl GainRow<'_> {
    /// Makes the row empty.
    #[inline]
    pub(crate) fn clear(&mut self) {
        *self.len = 0;
        if self.is_dense {
            for (block, connection) in (0..).zip(self.connections.iter_mut()) {
                *connection = Connection::new(block, 0);
            }
            *self.len = self.connections.len() as u32;
        }
    }

    /// Adds weight to a connection, and returns its weight after that.
    #[inline]
    pub(crate) fn raise(&mut self, block: u32, weight: i64) -> i64 {
        if self.is_dense {
            let connection = &mut self.connections[block as usize];
            connection.raise(weight);
            return connection.weight();
        }
        let len = *self.len as usize;
        match self.connections[..len].iter_mut().find(|connection| connection.block() == block) {
            Some(connection) => {
                connection.raise(weight);
                connection.weight()
            }
            None if weight == 0 => 0,
            None => {
                self.connections[len] = Connection::new(block, weight);
                *self.len += 1;
                weight
            }
        }
    }

    /// Takes weight from a connection, and returns its weight before that.
    #[inline]
    pub(crate) fn lower(&mut self, block: u32, weight: i64) -> i64 {
        if self.is_dense {
            let connection = &mut self.connections[block as usize];
            let before = connection.weight();
            connection.raise(-weight);
            return before;
        }
        let len = *self.len as usize;
        let Some(at) = self.connections[..len].iter().position(|connection| connection.block() == block) else {
            return 0;
        };
        let before = self.connections[at].weight();
        if before == weight {
            self.connections[at] = self.connections[len - 1];
            *self.len -= 1;
        } else {
            self.connections[at].raise(-weight);
        }
        before
    }

    /// Takes weight from the connection to one block, and adds some to that to another: for an edge, the same.
    #[inline]
    pub(crate) fn follow(&mut self, from: u32, to: u32, lost: i64, gained: i64) -> Change {
        let before = self.lower(from, lost);
        Change { from, to, lost, gained, before, after: self.raise(to, gained) }
    }
}

/// What a neighbour's move changes for a vertex.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    /// Where the neighbour was and is.
    from: u32,
    pub(crate) to: u32,
    /// By how much the connection to the block where it was falls.
    lost: i64,
    /// By how much that to the block where it is rises.
    gained: i64,
    /// The connection to the block where it was, before.
    before: i64,
    /// The connection to the block where it is, after.
    after: i64,
}

/// The gain of a vertex's best move after a neighbour's move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GainUpdate {
    /// As before.
    Unchanged,
    /// This much.
    Gain(i64),
    /// Another block may be the best now: look at all of them.
    Unknown,
}

impl Change {
    /// For a vertex in block `own` whose best move gains `gain`. Connections to other blocks than the two stay as they are,
    /// so nothing changes if neither of the two is as strong as the best. `connection_to_own` and `fits`, whether the
    /// neighbour's new block has room, are called only if they matter.
    #[inline]
    pub(crate) fn gain_update(
        &self,
        own: u32,
        gain: i64,
        connection_to_own: impl FnOnce() -> i64,
        fits: impl FnOnce() -> bool,
    ) -> GainUpdate {
        let gain_if_it_fits = |gain| if fits() { GainUpdate::Gain(gain) } else { GainUpdate::Unknown };
        if own == self.from {
            // A move to any block gains more by what is lost. A vertex that waits for room in a full block keeps its
            // old place in that queue.
            let (others, to) = (gain + self.lost, self.after - (self.before - self.lost));
            return if to < others { GainUpdate::Gain(others) } else { gain_if_it_fits(to) };
        }
        if own == self.to {
            let is_other = self.before - (self.after - self.gained) < gain;
            return if is_other { GainUpdate::Gain(gain - self.gained) } else { GainUpdate::Unknown };
        }
        let connection_to_own = connection_to_own();
        let (from, to) = (self.before - connection_to_own, self.after - connection_to_own);
        match (from.cmp(&gain), to.cmp(&gain)) {
            (Ordering::Less, Ordering::Less) => GainUpdate::Unchanged,
            // It was the best; or had no room, and may have some now.
            (Ordering::Equal, Ordering::Less) | (Ordering::Greater, _) => GainUpdate::Unknown,
            _ => gain_if_it_fits(to),
        }
    }
}

/// The strongest connection to a block with room between `window.0` and `window.1`; of equal ones that to the block with the
/// most room, then the lowest number. And the strongest to a block without room, if that is stronger. `room` is what a block
/// could still take after the move, below 0 if the move does not fit.
#[inline]
pub(crate) fn best_moves(
    connections: &[Connection],
    own: u32,
    window: (u32, u32),
    room: impl Fn(u32) -> i64,
) -> (Option<Target>, Option<Target>) {
    let mut to_own = 0;
    // The weights are 0 as long as no block was found.
    let (mut most, mut most_room, mut best) = (0, i64::MIN, u32::MAX);
    let (mut most_full, mut full) = (0, u32::MAX);
    // Connections compare by weight first: weaker ones are passed over.
    let mut strongest = Connection::new(0, 1);
    for &connection in connections {
        let block = connection.block();
        if block == own {
            to_own = connection.weight();
            continue;
        }
        if connection < strongest || block < window.0 || block > window.1 {
            continue;
        }
        let (weight, room) = (connection.weight(), room(block));
        if room < 0 {
            if weight > most_full {
                (most_full, full) = (weight, block);
            }
        } else if weight > most || room > most_room || (room == most_room && block < best) {
            (most, most_room, best) = (weight, room, block);
            strongest = Connection::new(0, weight);
        }
    }
    let target = |weight: i64, block: u32| Target { block, gain: weight - to_own };
    ((most > 0).then(|| target(most, best)), (most_full > most).then(|| target(most_full, full)))
}

/// The weight of the connection to a block. `blocks` is the number of all blocks.
#[inline]
pub(crate) fn connection_to(connections: &[Connection], block: u32, blocks: usize) -> i64 {
    let connection = match connections.len() == blocks {
        true => connections.get(block as usize),
        false => connections.iter().find(|connection| connection.block() == block),
    };
    connection.map_or(0, |connection| connection.weight())
}
