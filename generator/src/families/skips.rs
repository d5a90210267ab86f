//! Picks each number of a range with one probability, in time proportional to what is picked.

use std::ops::Range;

use crate::random::{Stream, unit};

/// The numbers of a range that are picked, ascending, each independently with the same probability.
///
/// The gap from one to the next is geometric: ⌊ln(1 − u) / ln(1 − p)⌋ numbers are skipped.
///
/// # Reference
/// V. Batagelj, U. Brandes: Efficient generation of large random networks. Physical Review E 71, 036113, 2005.
pub(super) struct Skips<'r> {
    next: u64,
    end: u64,
    probability: f64,
    rng: &'r mut Stream,
}

impl<'r> Skips<'r> {
    pub(super) fn new(range: Range<u64>, probability: f64, rng: &'r mut Stream) -> Self {
        Self { next: range.start, end: range.end, probability, rng }
    }
}

impl Iterator for Skips<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if self.probability <= 0.0 || self.next >= self.end {
            return None;
        }
        if self.probability < 1.0 {
            let skipped = libm::log1p(-unit(self.rng)) / libm::log1p(-self.probability);
            // The cast saturates.
            self.next = self.next.saturating_add(skipped as u64);
        }
        let picked = self.next;
        self.next = picked.saturating_add(1);
        (picked < self.end).then_some(picked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    #[test]
    fn each_number_is_picked_with_the_probability() {
        let mut rng = stream(2, Purpose::Structure, 0);
        for probability in [0.0, 0.03, 0.5, 0.97, 1.0] {
            let mut counts = [0u32; 40];
            for _ in 0..20_000 {
                Skips::new(100..140, probability, &mut rng).for_each(|number| counts[number as usize - 100] += 1);
            }
            let deviation = (20_000.0 * probability * (1.0 - probability)).sqrt();
            for count in counts {
                assert!(
                    (f64::from(count) - 20_000.0 * probability).abs() <= 4.5 * deviation,
                    "{probability}: {counts:?}"
                );
            }
        }
        assert_eq!(Skips::new(5..5, 1.0, &mut rng).count(), 0);
    }
}
