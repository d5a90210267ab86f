//! SplitMix64, for seeds, hashes of ids, and draws that need not be fast.
//!
//! # Reference
//! G. L. Steele, D. Lea, C. H. Flood. "Fast splittable pseudorandom number generators." OOPSLA 2014.
//! doi:10.1145/2660193.2660195

/// What the state grows by with each draw: 2^64 divided by the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator with 64 bits of state. Every number comes once in 2^64 draws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The generator of a seed.
    #[inline]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The generator after this many draws.
    #[inline]
    pub fn after(self, draws: u64) -> Self {
        Self { state: self.state.wrapping_add(STEP.wrapping_mul(draws)) }
    }

    /// The next number.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let drawn = splitmix64(self.state);
        self.state = self.state.wrapping_add(STEP);
        drawn
    }

    /// A number below `bound`, which must not be 0. Its bias is at most `bound` / 2^64.
    #[inline]
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }
}

/// The first number that the generator of a seed draws. Neighbouring seeds give unrelated numbers, so that this also
/// serves as a hash of a number.
#[inline]
pub fn splitmix64(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_draws_what_the_reference_program_draws() {
        // S. Vigna's splitmix64.c with seed 1234567.
        let mut random = SplitMix64::new(1_234_567);
        let drawn = [(); 3].map(|()| random.next_u64());
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        assert_eq!(splitmix64(1_234_567), drawn[0]);
        assert_eq!(SplitMix64::new(1_234_567).after(2).next_u64(), drawn[2]);
        let half = |first: u64| usize::from(first >= 1 << 63);
        assert_eq!(SplitMix64::new(1_234_567).below(2), half(drawn[0]));
    }
}
