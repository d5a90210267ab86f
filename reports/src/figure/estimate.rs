//! A mean and how far values stray from it: what error bars and bands show.

use crate::export::number_text;

/// The mean of repetitions, with the ends of its error bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Lower end of the error bar.
    pub low: f64,
    /// Upper end of the error bar.
    pub high: f64,
    /// How many values.
    pub count: usize,
}

impl Estimate {
    /// Mean ± sample standard deviation; `None` of no values. One value has no deviation.
    pub fn of(values: &[f64]) -> Option<Self> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        Some(Self { mean, low: mean - deviation, high: mean + deviation, count })
    }

    /// A number known exactly.
    pub fn exact(value: f64) -> Self {
        Self { mean: value, low: value, high: value, count: 1 }
    }

    /// Whether there is an error bar to draw.
    pub(crate) fn has_spread(&self) -> bool {
        self.high > self.low
    }

    /// The sample standard deviation, if it came from one.
    pub(crate) fn deviation(&self) -> f64 {
        self.high - self.mean
    }

    /// The deviation as a table has it: empty if there is one value only.
    pub(crate) fn deviation_text(&self) -> String {
        if self.count > 1 { number_text(self.deviation()) } else { String::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        let estimate = Estimate::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((estimate.mean, estimate.count), (5.0, 8));
        assert!((estimate.deviation() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!((&*estimate.deviation_text(), &*Estimate::exact(3.0).deviation_text()), ("2.13809", ""));
        assert_eq!(Estimate::of(&[3.0]), Some(Estimate::exact(3.0)));
        assert_eq!(Estimate::of(&[]), None);
    }
}
