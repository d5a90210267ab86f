//! What a placement takes under noise: the makespans of its draws.

use placebench_datasets::Time;

use crate::statistics::mean;

/// The makespans of the draws, and that of the run without noise.
#[derive(Clone, Debug, PartialEq)]
pub struct Draws {
    /// By draw; at least one.
    pub makespans: Vec<Time>,
    /// What everything takes that takes what it costs.
    pub predicted: Time,
}

impl Draws {
    /// The mean makespan.
    pub fn mean(&self) -> Time {
        mean(self.makespans.iter().copied()).unwrap_or_default()
    }

    /// The 95th percentile: the least makespan that at most one draw in twenty exceeds.
    pub fn percentile_95(&self) -> Time {
        let sorted = self.sorted();
        sorted[((sorted.len() * 19).div_ceil(20)).max(1) - 1]
    }

    /// The least makespan.
    pub fn least(&self) -> Time {
        self.makespans.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The largest makespan.
    pub fn largest(&self) -> Time {
        self.makespans.iter().copied().fold(0.0, f64::max)
    }

    /// How much longer the mean is than predicted; `None` if nothing takes time.
    pub fn stretch(&self) -> Option<f64> {
        (self.predicted > 0.0).then(|| self.mean() / self.predicted)
    }

    /// The means over the first, third, … and over the second, fourth, … draw, if there are several.
    pub fn halves(&self) -> Option<[Time; 2]> {
        let half = |first: usize| mean(self.makespans.iter().copied().skip(first).step_by(2));
        Some([half(0)?, half(1)?])
    }

    /// The draw whose makespan is the median; of an even number the smaller of the two in the middle.
    pub(crate) fn median_draw(&self) -> usize {
        let mut order: Vec<usize> = (0..self.makespans.len()).collect();
        order.sort_by(|&a, &b| self.makespans[a].total_cmp(&self.makespans[b]).then(a.cmp(&b)));
        order[(order.len() - 1) / 2]
    }

    fn sorted(&self) -> Vec<Time> {
        let mut sorted = self.makespans.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_draws_say_follows_from_their_makespans() {
        let draws = Draws { makespans: vec![5.0, 1.0, 2.0, 4.0], predicted: 2.0 };
        assert_eq!((draws.mean(), draws.least(), draws.largest(), draws.stretch()), (3.0, 1.0, 5.0, Some(1.5)));
        assert_eq!((draws.halves(), draws.median_draw()), (Some([3.5, 2.5]), 2));
        let of = |count: u32| Draws { makespans: (1..=count).rev().map(f64::from).collect(), predicted: 0.0 };
        let percentiles = [1, 19, 20, 21, 100].map(|count| of(count).percentile_95());
        assert_eq!(percentiles, [1.0, 19.0, 19.0, 20.0, 95.0]);
        assert_eq!((of(1).halves(), of(1).stretch(), of(1).median_draw()), (None, None, 0));
    }
}
