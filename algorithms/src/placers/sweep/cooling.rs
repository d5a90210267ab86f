//! Temperatures of annealing.

use placebench_datasets::Time;

use super::random::Random;

/// The last temperature, as a share of the first.
const COOLED: f64 = 0.01;

/// A temperature that falls geometrically.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cooling {
    hot: Time,
    /// What is left of the first temperature in the end.
    left: f64,
}

impl Cooling {
    /// From a first temperature down to a hundredth of it.
    pub(super) fn from(hot: Time) -> Self {
        Self { hot, left: COOLED }
    }

    /// One of several equal parts that follow each other.
    pub(super) fn part(self, nth: usize, parts: usize) -> Self {
        let left = libm::pow(self.left, 1.0 / parts as f64);
        Self { hot: self.hot * libm::pow(left, nth as f64), left }
    }

    /// The longest makespan that is accepted after `spent`, a share of the whole, where it is `now`: by the rule of Metropolis, drawn
    /// before the change is evaluated, so that evaluating can stop there.
    pub(super) fn limit(self, now: Time, spent: f64, random: &mut Random) -> Time {
        now + self.hot * libm::pow(self.left, spent) * random.exponential()
    }
}
