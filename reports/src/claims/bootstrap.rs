//! Confidence intervals by resampling, the same at every call.

use placebench_harness::compare::statistics::bootstrap;

/// What an interval leaves out on each side: 95 % confidence.
const TAIL: f64 = 0.025;
/// Resamples behind an interval.
const RESAMPLES: usize = 1000;

/// The 95 % percentile interval of `statistic` over groups of samples: see [`bootstrap`]. `None` if nothing can be
/// resampled or the statistic does not exist.
pub(super) fn interval<T: Clone>(
    groups: &[Vec<T>],
    statistic: impl Fn(&[Vec<T>]) -> Option<f64>,
) -> Option<(f64, f64)> {
    let mut random = SplitMix(0x706c_6163_6562_656e);
    let one = |sample: &[Vec<T>]| statistic(sample).into_iter().collect();
    let values = bootstrap(groups, RESAMPLES, |count| random.below(count), one).pop()?;
    let last = values.len().checked_sub(1)?;
    let at = |share: f64| values[(share * last as f64).round() as usize];
    Some((at(TAIL), at(1.0 - TAIL)))
}

/// SplitMix64 (Steele, Lea, Flood 2014): small, and good enough to draw indices.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An index below `count`, which is not 0.
    fn below(&mut self, count: usize) -> usize {
        ((u128::from(self.next()) * count as u128) >> 64) as usize
    }
}
