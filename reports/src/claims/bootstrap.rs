//! Confidence intervals by resampling, the same at every call.

use placebench_datasets::SplitMix64;
use placebench_harness::compare::statistics::{bootstrap, percentile_interval};

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
    let mut random = SplitMix64::new(0x706c_6163_6562_656e);
    let one = |sample: &[Vec<T>]| statistic(sample).into_iter().collect();
    percentile_interval(&bootstrap(groups, RESAMPLES, |count| random.below(count), one).pop()?, TAIL)
}
