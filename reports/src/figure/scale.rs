//! From values to coordinates: linear and logarithmic scales with round ticks.

use super::quantity::{Quantity, Unit};

/// How values become positions between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    /// Equal differences are equal lengths.
    Linear {
        /// Value at 0.
        low: f64,
        /// Value at 1.
        high: f64,
    },
    /// Equal ratios are equal lengths.
    Log {
        /// Value at 0, above 0.
        low: f64,
        /// Value at 1.
        high: f64,
    },
}

/// A mark on an axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    /// Where, as a value.
    pub(crate) value: f64,
    /// What it says; empty for one between labelled ones.
    pub(crate) label: String,
}

impl Scale {
    /// A linear scale from 0, or from a round number below the least value if all are far above 0 or some are below.
    pub(crate) fn linear(values: impl Iterator<Item = f64>, from_zero: bool) -> Self {
        let (low, high) = range(values).unwrap_or((0.0, 1.0));
        let low = if from_zero || low > 0.0 && low < 0.6 * high { low.min(0.0) } else { low };
        let span = if high > low { high - low } else { high.abs().max(1.0) };
        let step = round_step(span / 5.0);
        let down = if low == 0.0 { 0.0 } else { (low / step).floor() * step };
        let up = if high > low { high } else { low + span };
        // A little room above the largest value, but no more than to the next tick.
        Self::Linear { low: down, high: (up + 0.04 * span).min(((up / step).floor() + 1.0) * step).max(up) }
    }

    /// A linear scale from 1 to a little above the largest value, for ratios to the best.
    pub(crate) fn from_one(most: f64) -> Self {
        Self::Linear { low: 1.0, high: (1.0 + 1.06 * (most - 1.0)).max(1.05) }
    }

    /// A linear scale around the values, with a little room at both ends.
    pub(crate) fn around(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = range(values).unwrap_or((0.0, 1.0));
        let room = if high > low { 0.05 * (high - low) } else { high.abs().max(1.0) / 2.0 };
        Self::Linear { low: low - room, high: high + room }
    }

    /// A logarithmic scale over the values above 0; `None` if there is none.
    pub(crate) fn log(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) = range(values.filter(|&value| value > 0.0))?;
        // At least half a decade, and some room at both ends.
        let middle = (low.log10() + high.log10()) / 2.0;
        let half = ((high.log10() - low.log10()) / 2.0 * 1.06).max(0.25);
        Some(Self::Log { low: 10f64.powf(middle - half), high: 10f64.powf(middle + half) })
    }

    /// The same, ending at powers of ten: for bars, which must begin at a number that can be named.
    pub(crate) fn log_decades(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (low, high) = range(values.filter(|&value| value > 0.0))?;
        // The least value needs a bar that can be seen.
        let down = (low.log10() - 0.1).floor();
        Some(Self::Log { low: 10f64.powf(down), high: (high * 1.3).max(10f64.powf(down + 1.0)) })
    }

    /// Where a value is, from 0 to 1; values beyond the ends are at the ends.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let position = match *self {
            Self::Linear { low, high } => (value - low) / (high - low),
            Self::Log { low, high } if value > 0.0 => (value / low).ln() / (high / low).ln(),
            Self::Log { .. } => 0.0,
        };
        position.clamp(0.0, 1.0)
    }

    /// Whether a value lies between the ends.
    pub(crate) fn contains(&self, value: f64) -> bool {
        let (Self::Linear { low, high } | Self::Log { low, high }) = *self;
        (low..=high).contains(&value)
    }

    /// Round ticks, at most about `most` of them labelled, and the label of the axis with the unit that they are in.
    pub(crate) fn ticks(&self, quantity: &Quantity, most: usize) -> (Vec<Tick>, String) {
        match *self {
            Self::Linear { low, high } => linear_ticks(low, high, quantity, most.max(2)),
            // Too little for two of 1, 2 and 5.
            Self::Log { low, high } if high < NARROW * low => {
                let (_, symbol) = quantity.unit.multiple(low.abs().max(high.abs()));
                let scale = if symbol.is_empty() { "log scale".to_owned() } else { format!("{symbol}, log scale") };
                (linear_ticks(low, high, quantity, most.max(2)).0, quantity.label(&scale))
            }
            Self::Log { low, high } => {
                let mut ticks = log_ticks(low, high, &quantity.unit, most.max(2));
                // Below 1 there is nothing to count.
                ticks.retain(|tick| quantity.unit != Unit::Count || tick.value > 0.999_999);
                (ticks, log_label(quantity))
            }
        }
    }
}

/// A logarithmic axis that spans less than this factor has ticks at equal differences.
const NARROW: f64 = 3.0;

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite()).fold(None, |range, value| {
        let (low, high) = range.unwrap_or((value, value));
        Some((value.min(low), value.max(high)))
    })
}

/// 1, 2 or 5 times a power of ten, at least `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|factor| factor * power >= least * 0.999_999).unwrap_or(10.0);
    factor * power
}

fn linear_ticks(low: f64, high: f64, quantity: &Quantity, most: usize) -> (Vec<Tick>, String) {
    let (factor, symbol) = quantity.unit.multiple(low.abs().max(high.abs()));
    let (low, high) = (low / factor, high / factor);
    let mut step = round_step((high - low) / most as f64);
    if quantity.unit == Unit::Count {
        step = step.max(1.0 / factor);
    }
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    let first = (low / step - 1e-6).ceil() as i64;
    let last = (high / step + 1e-6).floor() as i64;
    let tick = |index: i64| {
        let value = index as f64 * step;
        Tick { value: value * factor, label: format!("{value:.decimals$}") }
    };
    ((first..=last).map(tick).collect(), quantity.label(&symbol))
}

fn log_ticks(low: f64, high: f64, unit: &Unit, most: usize) -> Vec<Tick> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let decades = high.log10() - low.log10();
    // 1, 2, 5 where there is room; else every decade, or every second, third, …
    let labelled: &[f64] = match decades * 3.0 <= most as f64 {
        true => &[1.0, 2.0, 5.0],
        false => &[1.0],
    };
    let every = (decades / most as f64).ceil().max(1.0) as i32;
    let mut ticks = Vec::new();
    for decade in first..=last {
        for digit in 1..=9 {
            let value = power_of_ten(decade) * f64::from(digit);
            if value < low * 0.999_999 || value > high * 1.000_001 {
                continue;
            }
            let label = labelled.contains(&f64::from(digit)) && decade.rem_euclid(every) == 0;
            ticks.push(Tick { value, label: if label { unit.log_text(value) } else { String::new() } });
        }
    }
    if ticks.iter().filter(|tick| !tick.label.is_empty()).count() < 2 {
        for tick in &mut ticks {
            tick.label = unit.log_text(tick.value);
        }
    }
    ticks
}

/// A power of ten without the rounding errors of `powi` below 1.
fn power_of_ten(exponent: i32) -> f64 {
    if exponent < 0 { 1.0 / 10f64.powi(-exponent) } else { 10f64.powi(exponent) }
}

fn log_label(quantity: &Quantity) -> String {
    match &quantity.unit {
        Unit::Other(name) => quantity.label(&format!("{name}, log scale")),
        _ => quantity.label("log scale"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn quantity() -> Quantity {
        Quantity::new("makespan", Unit::Seconds)
    }

    #[test]
    fn ticks_are_round_and_in_the_multiple_that_fits() {
        let scale = Scale::linear([0.003, 0.0094].into_iter(), true);
        let (ticks, label) = scale.ticks(&quantity(), 5);
        let labels: Vec<&str> = ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["0", "2", "4", "6", "8"]);
        assert_eq!(label, "makespan (ms)");
    }

    #[test]
    fn a_logarithmic_axis_names_every_tick_with_its_unit() {
        let scale = Scale::log_decades([2e-6, 0.5].into_iter()).unwrap();
        let (ticks, label) = scale.ticks(&quantity(), 8);
        let labels: Vec<&str> =
            ticks.iter().map(|tick| tick.label.as_str()).filter(|label| !label.is_empty()).collect();
        assert_eq!(labels, ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms"]);
        assert_eq!(label, "makespan (log scale)");
    }

    #[test]
    fn an_axis_that_counts_has_whole_numbers_only() {
        let counted = Quantity::new("devices", Unit::Count);
        let labels = |scale: Scale, most: usize| -> Vec<String> {
            scale.ticks(&counted, most).0.into_iter().map(|tick| tick.label).filter(|label| !label.is_empty()).collect()
        };
        assert_eq!(labels(Scale::around([1.0, 2.0].into_iter()), 9), ["1", "2"]);
        assert_eq!(labels(Scale::around([3.0, 3.0].into_iter()), 9), ["2", "3", "4"]);
        assert_eq!(labels(Scale::linear([3.0].into_iter(), true), 9), ["0", "1", "2", "3"]);
        assert_eq!(labels(Scale::Log { low: 0.5, high: 8.0 }, 9), ["1", "2", "5"]);
        assert_eq!(labels(Scale::linear([0.0, 11_000.0].into_iter(), true), 5), ["0", "5", "10"]);
        assert_eq!(Unit::of_numbers([1.0, 2.0].into_iter()), Unit::Count);
        assert_eq!(Unit::of_numbers([1.0, 1.5].into_iter()), Unit::One);
    }

    #[test]
    fn a_logarithmic_axis_of_less_than_a_factor_of_three_has_ticks_too() {
        let scale = Scale::Log { low: 1.0, high: 1.45 };
        let (ticks, label) = scale.ticks(&Quantity::new("makespan / best", Unit::One), 5);
        let labels: Vec<&str> = ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!((labels, label.as_str()), (vec!["1.0", "1.1", "1.2", "1.3", "1.4"], "makespan / best (log scale)"));
    }

    #[test]
    fn no_values_and_equal_values_have_a_scale_too() {
        for values in [vec![], vec![0.0], vec![5.0, 5.0], vec![-2.0, -2.0]] {
            let scale = Scale::linear(values.iter().copied(), false);
            let Scale::Linear { low, high } = scale else { panic!("linear") };
            assert!(low < high, "{values:?}");
            assert!(scale.ticks(&quantity(), 5).0.len() >= 2, "{values:?}");
        }
        assert_eq!(Scale::log([0.0].into_iter()), None);
        assert!(Scale::log([3.0].into_iter()).is_some());
    }

    proptest! {
        #[test]
        fn larger_values_never_have_smaller_positions(mut values in prop::collection::vec(1e-9f64..1e12, 2..40)) {
            values.sort_by(f64::total_cmp);
            let all = || values.iter().copied();
            for scale in [Some(Scale::linear(all(), true)), Some(Scale::linear(all(), false)), Scale::log(all()), Scale::log_decades(all())] {
                let scale = scale.unwrap();
                for pair in values.windows(2) {
                    prop_assert!(scale.position(pair[0]) <= scale.position(pair[1]));
                }
                prop_assert!(scale.position(values[values.len() - 1]) > 0.0 || values[0] == values[values.len() - 1]);
                let (ticks, _) = scale.ticks(&quantity(), 6);
                prop_assert!(ticks.windows(2).all(|pair| pair[0].value < pair[1].value));
                prop_assert!(ticks.iter().filter(|tick| !tick.label.is_empty()).count() >= 1);
            }
        }
    }
}
