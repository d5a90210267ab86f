//! What an axis measures, in which unit, and how its numbers are written.

use placebench_harness::results::{Content, Metric};

use crate::export::number_text;

/// What numbers are numbers of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Shown as ns, µs, ms or s.
    Seconds,
    /// Shown as B, kB, MB, GB or TB: powers of 1000.
    Bytes,
    /// A number without unit: a ratio.
    One,
    /// A number of things: its axis has whole numbers only.
    Count,
    /// From 0 to 1, shown as per cent.
    Share,
    /// Another unit, shown as it is: `EU`.
    Other(String),
}

/// What an axis measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Its name: `makespan`.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
}

impl Unit {
    /// The unit of a column of times: `seconds`, or another name.
    pub fn of_time(name: &str) -> Self {
        if name == "seconds" { Self::Seconds } else { Self::Other(name.to_owned()) }
    }

    /// That of numbers without unit: whole ones count something.
    pub fn of_numbers(mut numbers: impl Iterator<Item = f64>) -> Self {
        if numbers.all(|number| number.fract() == 0.0) { Self::Count } else { Self::One }
    }

    /// The name in a table's header.
    pub fn name(&self) -> &str {
        match self {
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
            Self::One | Self::Count => "",
            Self::Share => "share",
            Self::Other(name) => name,
        }
    }

    /// The multiple of the unit in which a number of this size is written, and its symbol.
    pub(crate) fn multiple(&self, largest: f64) -> (f64, String) {
        let pick = |multiples: &[(f64, &str)]| {
            // Of nothing but zeros, or of no number, the unit itself.
            let largest = if largest == 0.0 { 1.0 } else { largest };
            let fits = multiples.iter().rev().find(|(factor, _)| largest >= *factor * 0.999_999);
            let (factor, symbol) = fits.or(multiples.first()).copied().unwrap_or((1.0, ""));
            (factor, symbol.to_owned())
        };
        match self {
            Self::Seconds => pick(&[(1e-12, "ps"), (1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s")]),
            Self::Bytes => pick(&[(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB")]),
            Self::One | Self::Count if largest >= 1e7 => (1e6, "millions".to_owned()),
            Self::One | Self::Count if largest >= 1e4 => (1e3, "thousands".to_owned()),
            Self::One | Self::Count => (1.0, String::new()),
            Self::Share => (0.01, "%".to_owned()),
            Self::Other(name) if largest > 0.0 && largest.is_finite() && !(1e-3..1e12).contains(&largest) => {
                let thousands = (largest.log10() / 3.0).floor() as i32;
                (10f64.powi(3 * thousands), format!("1e{} {name}", 3 * thousands))
            }
            Self::Other(name) => (1.0, name.clone()),
        }
    }

    /// A value with its unit, for a label of its own: `12.5 ms`, `3 GB`, `1.25`.
    pub fn text(&self, value: f64) -> String {
        let (factor, symbol) = match self {
            Self::One | Self::Count => (1.0, String::new()),
            Self::Other(name) => (1.0, name.clone()),
            _ => self.multiple(value.abs()),
        };
        let number = number_text(value / factor);
        match symbol.as_str() {
            "" => number,
            "%" => format!("{number}%"),
            symbol => format!("{number} {symbol}"),
        }
    }

    /// A tick of a logarithmic axis, which spans many multiples: `10 µs`, `1 kB`, `10k`.
    pub(crate) fn log_text(&self, value: f64) -> String {
        match self {
            Self::Seconds | Self::Bytes | Self::Share => self.text(value),
            Self::One | Self::Count | Self::Other(_) => {
                let multiples = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
                let multiple = multiples.iter().find(|(factor, _)| value >= *factor * 0.999_999 && value >= 9_999.0);
                multiple.map_or_else(
                    || number_text(value),
                    |(factor, symbol)| format!("{}{symbol}", number_text(value / factor)),
                )
            }
        }
    }
}

impl Quantity {
    /// A quantity by its name and unit.
    pub fn new(name: impl Into<String>, unit: Unit) -> Self {
        Self { name: name.into(), unit }
    }

    /// What an axis of a metric measures, for rows of this time unit.
    pub fn of(metric: Metric, time_unit: &str) -> Self {
        let unit = match metric.content() {
            Content::Time => Unit::of_time(time_unit),
            Content::Seconds => Unit::Seconds,
            Content::Bytes => Unit::Bytes,
            Content::Share => Unit::Share,
            Content::Text | Content::Count | Content::Ratio => Unit::One,
        };
        Self::new(metric.title(), unit)
    }

    /// The name in a table's header, which other programs can write down: `makespan_seconds`, `makespan_per_best`.
    pub fn column(&self) -> String {
        let name = self.name.replace(" / ", "_per_").replace([' ', '/', ','], "_");
        match self.unit.name() {
            "" => name,
            unit => format!("{name}_{unit}"),
        }
    }

    /// The label of an axis whose ticks are written in a multiple of the unit: `makespan (ms)`.
    pub(crate) fn label(&self, symbol: &str) -> String {
        if symbol.is_empty() { self.name.clone() } else { format!("{} ({symbol})", self.name) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_get_the_multiple_that_fits_them() {
        assert_eq!(Unit::Seconds.text(0.0125), "12.5 ms");
        assert_eq!(Unit::Seconds.text(3.0e-7), "300 ns");
        assert_eq!(Unit::Bytes.text(3e9), "3 GB");
        assert_eq!(Unit::One.text(1.25), "1.25");
        assert_eq!(Unit::Share.text(0.5), "50%");
        assert_eq!(Unit::Other("EU".into()).text(2400.0), "2400 EU");
        assert_eq!(Unit::Other("EU".into()).text(7.14e-11), "7.14000e-11 EU");
        assert_eq!(Unit::Seconds.multiple(0.0), (1.0, "s".into()));
        assert_eq!(Unit::Bytes.multiple(0.0), (1.0, "B".into()));
        assert_eq!(Unit::Other("EU".into()).multiple(7.14e-11), (1e-12, "1e-12 EU".into()));
        assert_eq!(Unit::Other("EU".into()).multiple(2400.0), (1.0, "EU".into()));
        assert_eq!(Unit::One.log_text(10_000.0), "10k");
        assert_eq!(Unit::One.log_text(1000.0), "1000");
    }

    #[test]
    fn columns_carry_their_unit() {
        assert_eq!(Quantity::new("makespan", Unit::Seconds).column(), "makespan_seconds");
        assert_eq!(Quantity::new("SLR", Unit::One).column(), "SLR");
    }
}
