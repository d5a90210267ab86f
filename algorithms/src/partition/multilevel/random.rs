//! A small stream of pseudo-random numbers, the same everywhere.

use crate::random::{STEP, split_mix};

/// SplitMix64 as a stream.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream of a seed for a purpose.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        let mut mixed = Self(seed ^ purpose.wrapping_mul(0xD1B5_4A32_D192_ED03));
        mixed.next();
        mixed
    }

    pub(crate) fn next(&mut self) -> u64 {
        let next = split_mix(self.0);
        self.0 = self.0.wrapping_add(STEP);
        next
    }

    /// A number below `bound`, which must not be 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
