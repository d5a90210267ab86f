//! How full the blocks are, and which is least so.

use std::ops::Range;

use super::block_set;
use crate::partition::PartitionRequest;

/// Load and capacity of each block, with the least loaded at hand.
///
/// Loads are compared relative to the blocks' shares: with equal shares, as they are. A block without a share is never the
/// least loaded, and has no room.
///
/// # Complexity
/// 40 to 56 bytes a block; adding to a block takes O(log blocks), the least loaded O(1).
#[derive(Clone, Debug)]
pub(super) struct BlockLoads {
    load: Vec<u64>,
    capacity: Vec<u64>,
    /// 1 / (blocks · share).
    scale: Vec<f64>,
    /// Load relative to the share, infinite without one; padded to the number of leaves.
    relative: Vec<f64>,
    /// A tournament: the least loaded of each subtree, the lower id among equals; leaves are at `leaves` + block.
    least: Vec<u32>,
    leaves: usize,
    most: f64,
    /// Blocks with room for weight 1.
    open: Vec<u64>,
}

impl BlockLoads {
    /// Empty blocks that may hold what a request allows of `total`.
    pub(super) fn new(request: &PartitionRequest, total: u64) -> Self {
        let capacity = (0..request.blocks).map(|block| request.capacity(block, total)).collect();
        let scale = match &request.shares {
            None => vec![1.0; request.blocks as usize],
            Some(shares) => shares.iter().map(|share| 1.0 / (share * f64::from(request.blocks))).collect(),
        };
        Self::with(capacity, scale)
    }

    /// Empty blocks. Only those in `range` may hold anything.
    pub(super) fn within(request: &PartitionRequest, range: Range<u32>, total: u64) -> Self {
        let mut this = Self::new(request, total);
        for block in (0..request.blocks).filter(|block| !range.contains(block)) {
            this.capacity[block as usize] = 0;
            this.scale[block as usize] = f64::INFINITY;
        }
        this.clear();
        this
    }

    fn with(capacity: Vec<u64>, scale: Vec<f64>) -> Self {
        let blocks = capacity.len();
        let leaves = blocks.next_power_of_two();
        let relative = (0..leaves).map(|block| match scale.get(block) {
            Some(scale) if scale.is_finite() => 0.0,
            _ => f64::INFINITY,
        });
        let mut this = Self {
            load: vec![0; blocks],
            relative: relative.collect(),
            least: vec![0; 2 * leaves],
            leaves,
            most: 0.0,
            open: vec![0; block_set::words(blocks as u32)],
            capacity,
            scale,
        };
        for block in 0..blocks {
            this.open[block / 64] |=
                u64::from(this.capacity[block] > 0 && this.scale[block].is_finite()) << (block % 64);
        }
        for leaf in 0..leaves {
            this.least[leaves + leaf] = leaf as u32;
        }
        for node in (1..leaves).rev() {
            this.least[node] = this.winner(node);
        }
        this
    }

    #[inline]
    fn winner(&self, node: usize) -> u32 {
        let (left, right) = (self.least[2 * node], self.least[2 * node + 1]);
        if self.relative[right as usize] < self.relative[left as usize] { right } else { left }
    }

    /// Puts weight on a block.
    #[inline]
    pub(super) fn add(&mut self, block: usize, weight: u64) {
        self.load[block] += weight;
        if self.load[block] >= self.capacity[block] {
            self.open[block / 64] &= !(1 << (block % 64));
        }
        if self.scale[block].is_finite() {
            self.relative[block] = self.load[block] as f64 * self.scale[block];
            self.most = self.most.max(self.relative[block]);
        }
        let mut node = (self.leaves + block) / 2;
        while node > 0 {
            let before = self.least[node];
            let after = self.winner(node);
            self.least[node] = after;
            // Another block was the least loaded here and still is: nothing changes further up.
            if before == after && after as usize != block {
                break;
            }
            node /= 2;
        }
    }

    /// The block with the least load for its share, the lowest id among equals.
    #[inline]
    pub(super) fn least(&self) -> usize {
        self.least[1] as usize
    }

    /// Load for its share; infinite without one.
    #[inline]
    pub(super) fn relative(&self, block: usize) -> f64 {
        self.relative[block]
    }

    /// The largest load for its share.
    #[inline]
    pub(super) fn most(&self) -> f64 {
        self.most
    }

    /// Whether a block has room for so much more.
    #[inline]
    pub(super) fn has_room(&self, block: usize, weight: u64) -> bool {
        self.load[block] + weight <= self.capacity[block]
    }

    /// The least loaded block that has room, or if none has, the least loaded of all.
    pub(super) fn least_with_room(&self, weight: u64) -> usize {
        let least = self.least();
        if self.has_room(least, weight) {
            return least;
        }
        // With equal shares none has room now; otherwise another may.
        let with_room = (0..self.load.len()).filter(|&block| self.has_room(block, weight));
        with_room.min_by(|&a, &b| self.relative[a].total_cmp(&self.relative[b])).unwrap_or(least)
    }

    /// The blocks that have room for weight 1.
    #[inline]
    pub(super) fn open(&self) -> &[u64] {
        &self.open
    }

    pub(super) fn loads(&self) -> &[u64] {
        &self.load
    }

    pub(super) fn capacity(&self, block: usize) -> u64 {
        self.capacity[block]
    }

    pub(super) fn clear(&mut self) {
        *self = Self::with(std::mem::take(&mut self.capacity), std::mem::take(&mut self.scale));
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        let blocks = self.load.capacity() * 8 + self.capacity.capacity() * 8 + self.scale.capacity() * 8;
        (blocks + self.relative.capacity() * 8 + self.least.capacity() * 4 + self.open.capacity() * 8) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tournament_knows_the_least_loaded_whatever_the_number_of_blocks() {
        for blocks in [1, 2, 3, 7, 8, 33] {
            let mut loads = BlockLoads::new(&PartitionRequest::new(blocks, 0.5, 0), 10_000);
            let mut state = 7u64;
            for _ in 0..500 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                loads.add((state >> 33) as usize % blocks as usize, state >> 61);
                let least = (0..blocks as usize).min_by_key(|&block| loads.loads()[block]).unwrap();
                assert_eq!(loads.least(), least);
                assert_eq!(loads.most(), *loads.loads().iter().max().unwrap() as f64);
            }
        }
    }

    #[test]
    fn blocks_fill_by_their_shares_and_close_when_full() {
        let request = PartitionRequest { shares: Some(vec![0.5, 0.0, 0.25, 0.25]), ..PartitionRequest::new(4, 0.0, 0) };
        let mut loads = BlockLoads::new(&request, 8);
        for _ in 0..8 {
            let block = loads.least_with_room(1);
            loads.add(block, 1);
        }
        assert_eq!(loads.loads(), [4, 0, 2, 2]);
        assert_eq!(loads.open(), [0]);
        assert!(!loads.has_room(0, 1) && loads.has_room(0, 0));
    }

    #[test]
    fn only_blocks_of_the_range_are_open() {
        let mut loads = BlockLoads::within(&PartitionRequest::new(6, 0.0, 0), 2..4, 10);
        assert_eq!(loads.open(), [0b1100]);
        for _ in 0..10 {
            loads.add(loads.least(), 1);
        }
        assert_eq!(loads.loads(), [0, 0, 5, 5, 0, 0]);
    }
}
