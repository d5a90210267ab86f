//! What is in the tensors that move: bytes that tell one tensor from another.

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// The number of places where a tensor may begin.
const PLACES: u64 = 4093;

/// Random bytes; each tensor is a part of them. Processes that know the seed have the same.
pub(super) struct Payload {
    bytes: Vec<u8>,
}

impl Payload {
    /// Enough bytes for the largest tensor.
    pub(super) fn new(seed: u64, largest: u64) -> Self {
        let mut bytes = vec![0; (largest + PLACES) as usize];
        Pcg64Mcg::seed_from_u64(seed).fill_bytes(&mut bytes);
        Self { bytes }
    }

    /// Bytes that a payload takes in memory.
    pub(super) fn size(largest: u64) -> u64 {
        largest + PLACES
    }

    /// A tensor's content. Two tensors of a few bytes differ with a probability of 1 − 1/4093.
    pub(super) fn of(&self, content: u64, bytes: u64) -> &[u8] {
        let start = (content.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) % PLACES;
        &self.bytes[start as usize..(start + bytes) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tensors_differ_and_every_process_with_the_seed_has_the_same() {
        let (a, b) = (Payload::new(7, 1000), Payload::new(7, 1000));
        assert_eq!(a.of(3, 1000), b.of(3, 1000));
        assert_ne!(a.of(3, 1000), a.of(4, 1000));
        assert_ne!(a.of(3, 1000), Payload::new(8, 1000).of(3, 1000));
        assert_eq!(a.of(u64::MAX, 0), [0; 0]);
    }
}
