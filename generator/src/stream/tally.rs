//! Counts of numbers, exact for small ones.

use serde::{Deserialize, Serialize};

/// How often numbers occur: each number below 64 by itself, larger ones in ranges that double.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// How many numbers were counted.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The least of them.
    pub least: u64,
    /// The largest of them.
    pub largest: u64,
    /// For each range with numbers in it its first number and how many fall into it; ranges from 64 on double.
    pub bins: Vec<(u64, u64)>,
}

/// Numbers below this have a bin each.
const EXACT: u64 = 64;

/// Counts while numbers come, with a place for every bin.
pub(crate) struct Counter {
    bins: [u64; (EXACT + 64 - 6) as usize],
    sum: u64,
    least: u64,
    largest: u64,
}

impl Counter {
    pub(crate) fn new() -> Self {
        Self { bins: [0; (EXACT + 64 - 6) as usize], sum: 0, least: u64::MAX, largest: 0 }
    }

    #[inline]
    pub(crate) fn count(&mut self, number: u64) {
        self.sum += number;
        self.least = self.least.min(number);
        self.largest = self.largest.max(number);
        let bin = if number < EXACT { number } else { EXACT + u64::from(number.ilog2()) - 6 };
        self.bins[bin as usize] += 1;
    }

    pub(crate) fn count_zeros(&mut self, times: u64) {
        if times > 0 {
            self.least = 0;
            self.bins[0] += times;
        }
    }

    pub(crate) fn tally(&self) -> Tally {
        let first = |bin: u64| if bin < EXACT { bin } else { 1 << (bin - EXACT + 6) };
        let bins: Vec<(u64, u64)> =
            (0..).zip(self.bins).filter(|&(_, count)| count > 0).map(|(bin, count)| (first(bin), count)).collect();
        let count = bins.iter().map(|bin| bin.1).sum();
        let least = if count == 0 { 0 } else { self.least };
        Tally { count, sum: self.sum, least, largest: self.largest, bins }
    }
}

impl Tally {
    /// The tally of some numbers.
    pub fn of(numbers: impl IntoIterator<Item = u64>) -> Self {
        let mut counter = Counter::new();
        numbers.into_iter().for_each(|number| counter.count(number));
        counter.tally()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The mean; 0 if nothing was counted.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        self.least = if self.is_empty() { other.least } else { self.least.min(other.least) };
        self.largest = self.largest.max(other.largest);
        self.count += other.count;
        self.sum += other.sum;
        for &(first, count) in &other.bins {
            match self.bins.binary_search_by_key(&first, |bin| bin.0) {
                Ok(at) => self.bins[at].1 += count,
                Err(at) => self.bins.insert(at, (first, count)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_have_a_bin_each_and_large_ones_share() {
        let tally = Tally::of([0, 3, 3, 63, 64, 127, 128, 1 << 40]);
        assert_eq!(tally.bins, [(0, 1), (3, 2), (63, 1), (64, 2), (128, 1), (1 << 40, 1)]);
        assert_eq!((tally.count, tally.least, tally.largest), (8, 0, 1 << 40));
        assert_eq!(Tally::default(), Tally::of([]));
    }

    #[test]
    fn tallies_of_parts_add_up_to_that_of_the_whole() {
        let numbers: Vec<u64> = (0..1000).map(|number| number * number % 997).collect();
        for cut in [0, 1, 500, 1000] {
            let mut sum = Tally::of(numbers[..cut].iter().copied());
            sum.add(&Tally::of(numbers[cut..].iter().copied()));
            assert_eq!(sum, Tally::of(numbers.iter().copied()));
        }
    }
}
