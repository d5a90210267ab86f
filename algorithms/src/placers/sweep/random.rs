//! Random numbers: a stream for each purpose, and cheap exponential ones.

use std::sync::LazyLock;

use placebench_datasets::{SplitMix64, splitmix64};

const TABLE_BITS: u32 = 12;

/// Quantiles of the exponential distribution of mean 1.
static EXPONENTIALS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let size = f64::from(1u32 << TABLE_BITS);
    (0..1u32 << TABLE_BITS).map(|at| -libm::log((f64::from(at) + 0.5) / size)).collect()
});

/// A stream of random numbers that depends on nothing but a seed and a number.
#[derive(Clone)]
pub(in crate::placers) struct Random {
    generator: SplitMix64,
    exponentials: &'static [f64],
}

impl Random {
    /// The stream of that number.
    pub(in crate::placers) fn new(seed: u64, stream: u64) -> Self {
        let generator = SplitMix64::new(splitmix64(splitmix64(seed) ^ splitmix64(!stream)));
        Self { generator, exponentials: &EXPONENTIALS }
    }

    /// A number below `bound`, which must not be 0.
    #[inline]
    pub(in crate::placers) fn below(&mut self, bound: usize) -> usize {
        self.generator.below(bound)
    }

    /// A number in [0, 1).
    #[inline]
    pub(in crate::placers) fn unit(&mut self) -> f64 {
        (self.generator.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number of the exponential distribution of mean 1, to 12 bits.
    #[inline]
    pub(in crate::placers) fn exponential(&mut self) -> f64 {
        self.exponentials[(self.generator.next_u64() >> (64 - TABLE_BITS)) as usize]
    }
}
