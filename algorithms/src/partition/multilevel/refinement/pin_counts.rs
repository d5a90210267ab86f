//! For each net, how many of its pins are in each block.

use rayon::prelude::*;

use super::gain_cache::{Connection, GainRow, connection_to};
use crate::partition::multilevel::structure::Structure;

/// Nets whose pins a thread counts at a time.
const STRETCH: usize = 4096;

/// The pins of nets by block: a row for each net, with room for the blocks that it can be in. Empty for graphs.
pub(crate) struct PinCounts {
    blocks: usize,
    /// Where each net's row begins, and the end of the last.
    offsets: Vec<u32>,
    /// How long each row is.
    lens: Vec<u32>,
    counts: Vec<Connection>,
}

impl PinCounts {
    /// # Complexity
    /// O(pins · blocks of a net), shared among threads; 8 bytes a pin and a net at most.
    pub(crate) fn new<S: Structure>(nets: &S, blocks: usize, block_of: &[u32]) -> Self {
        let count = nets.net_count();
        let mut offsets = Vec::with_capacity(count + 1);
        offsets.push(0);
        let mut end = 0;
        offsets.extend((0..count as u32).map(|net| {
            end += nets.pins(net).len().min(blocks) as u32;
            end
        }));
        let mut lens = vec![0; count];
        let mut counts = vec![Connection::default(); end as usize];
        let mut rest = counts.as_mut_slice();
        let stretches: Vec<_> = lens
            .chunks_mut(STRETCH)
            .enumerate()
            .map(|(at, lens)| {
                let first = at * STRETCH;
                let length = offsets[first + lens.len()] - offsets[first];
                let (own, behind) = std::mem::take(&mut rest).split_at_mut(length as usize);
                rest = behind;
                (first as u32, lens, own)
            })
            .collect();
        stretches.into_par_iter().with_max_len(1).for_each(|(first, lens, mut counts)| {
            for (net, len) in (first..).zip(lens) {
                let pins = nets.pins(net);
                let (own, behind) = std::mem::take(&mut counts).split_at_mut(pins.len().min(blocks));
                counts = behind;
                let mut row = GainRow { is_dense: own.len() == blocks, connections: own, len };
                row.clear();
                for &pin in pins {
                    row.raise(block_of[pin as usize], 1);
                }
            }
        });
        Self { blocks, offsets, lens, counts }
    }

    /// The blocks of a net, and how many pins are there; blocks without any may be among them.
    #[inline]
    pub(crate) fn row(&self, net: u32) -> &[Connection] {
        &self.counts[self.offsets[net as usize] as usize..][..self.lens[net as usize] as usize]
    }

    /// The pins that a net has in a block.
    #[inline]
    pub(crate) fn count(&self, net: u32, block: u32) -> i64 {
        connection_to(self.row(net), block, self.blocks)
    }

    /// Moves a pin of a net. Returns how many were in `from` before, and how many are in `to` after.
    #[inline]
    pub(crate) fn move_pin(&mut self, net: u32, from: u32, to: u32) -> (i64, i64) {
        let (start, end) = (self.offsets[net as usize] as usize, self.offsets[net as usize + 1] as usize);
        let connections = &mut self.counts[start..end];
        let is_dense = connections.len() == self.blocks;
        let mut row = GainRow { connections, len: &mut self.lens[net as usize], is_dense };
        (row.lower(from, 1), row.raise(to, 1))
    }
}
