//! Confidence intervals by resampling, the same at every call.

use placebench_datasets::SplitMix64;
use placebench_harness::statistics::{bootstrap, percentile_interval};

/// What an interval of its own leaves out on each side: 95 % confidence.
const TAIL: f64 = 0.025;
/// Resamples behind an interval.
const RESAMPLES: usize = 1000;

/// A statistic of resamples, ascending: see [`bootstrap`].
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Resamples(Vec<f64>);

impl Resamples {
    /// `statistic` of 1000 resamples of groups of samples; of none if nothing can be resampled or the statistic does not exist.
    pub(super) fn new<T: Clone>(groups: &[Vec<T>], statistic: impl Fn(&[Vec<T>]) -> Option<f64>) -> Self {
        let mut random = SplitMix64::new(0x706c_6163_6562_656e);
        let one = |sample: &[Vec<T>]| statistic(sample).into_iter().collect();
        Self(bootstrap(groups, RESAMPLES, |count| random.below(count), one).pop().unwrap_or_default())
    }

    /// The same of each value; `change` keeps the order.
    pub(super) fn map(mut self, change: impl Fn(f64) -> f64) -> Self {
        self.0.iter_mut().for_each(|value| *value = change(*value));
        self
    }

    /// The percentile interval that is one of `tests` on which a verdict rests together: 95 % of confidence for all of them, by
    /// Bonferroni's inequality. With more than 50 tests it is the range of the resamples. `None` without resamples.
    pub(super) fn interval(&self, tests: usize) -> Option<(f64, f64)> {
        percentile_interval(&self.0, TAIL / tests.max(1) as f64)
    }
}
