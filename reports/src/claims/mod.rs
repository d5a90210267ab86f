//! Claims of a paper as data, checked against the rows of a run.
//!
//! A claim compares a metric of two selections of rows, pair by pair: rows agree in the columns of `each` and in the
//! repetition, and differ in what `numerator` and `denominator` say. Each group of `each` gives one ratio, the geometric
//! mean over its repetitions; the claim holds if enough groups are on the right side of the limit.
//!
//! A claim that one metric follows another (`correlates_with`) needs no numerator and denominator: each group gives the
//! rank correlation of the two metrics over its cells.

mod bootstrap;
mod check;
mod print;

use placebench_harness::compare::statistics::geometric_mean;
use placebench_harness::results::Metric;
use serde::Deserialize;

pub use check::{Outcome, Verdict};
pub use print::claims_markdown;

use crate::query::{Column, Selection};

/// The claims of one source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// The suite whose rows they are checked against.
    pub suite: String,
    /// Full citation.
    pub source: String,
    /// The claims, in the order of the source.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
}

/// One claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The figure or section in the source.
    pub figure: String,
    /// What the source says.
    pub text: String,
    /// What explains it if the claim does not hold.
    #[serde(default)]
    pub why: Option<String>,
    /// Why the claim cannot be tested; such a claim has none of the entries below.
    #[serde(default)]
    pub cannot_be_tested: Option<String>,
    /// What is compared.
    #[serde(default)]
    pub metric: Option<Metric>,
    /// Rows that count, by column.
    #[serde(default, rename = "where")]
    pub only: Selection,
    /// What makes a row the numerator.
    #[serde(default)]
    pub numerator: Selection,
    /// What makes a row the denominator.
    #[serde(default)]
    pub denominator: Selection,
    /// What several rows of one repetition in the numerator count for.
    #[serde(default)]
    pub numerator_takes: Taken,
    /// What several rows of one repetition in the denominator count for.
    #[serde(default)]
    pub denominator_takes: Taken,
    /// Instead of a ratio: the rank correlation of `metric` with this one over the cells of a group, each the mean over
    /// its repetitions.
    #[serde(default)]
    pub correlates_with: Option<Metric>,
    /// Columns in which the two rows agree; each combination gives one ratio.
    #[serde(default)]
    pub each: Vec<Column>,
    /// The ratio must be above this.
    #[serde(default)]
    pub above: Option<f64>,
    /// The ratio must be below this.
    #[serde(default)]
    pub below: Option<f64>,
    /// Whether the mean of the ratios must be within the limits, and not each.
    #[serde(default)]
    pub on_average: bool,
    /// The share of ratios that must be within the limits: 1 unless the source says "almost".
    #[serde(default = "all")]
    pub share: f64,
}

fn all() -> f64 {
    1.0
}

/// What several rows on a side of a ratio count for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// Their geometric mean.
    #[default]
    Mean,
    /// The least of them.
    Least,
    /// The most of them.
    Most,
}

impl Taken {
    fn of(self, values: &[f64]) -> Option<f64> {
        match self {
            Self::Mean => geometric_mean(values.iter().copied()),
            Self::Least => values.iter().copied().reduce(f64::min),
            Self::Most => values.iter().copied().reduce(f64::max),
        }
    }
}

/// The sources whose claims come along.
pub const SOURCES: [&str; 3] = ["laich2017", "bahnmueller2018", "tolstobrov"];

/// The claims of `name`, if there are any.
pub fn claims_of(name: &str) -> Option<Result<Claims, String>> {
    let text = match name {
        "laich2017" => include_str!("../../claims/laich2017.toml"),
        "bahnmueller2018" => include_str!("../../claims/bahnmueller2018.toml"),
        "tolstobrov" => include_str!("../../claims/tolstobrov.toml"),
        _ => return None,
    };
    Some(toml::from_str(text).map_err(|error| error.message().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claims_that_come_along_are_valid() {
        for source in SOURCES {
            let claims = claims_of(source).unwrap().unwrap();
            assert_eq!(claims.suite, source);
            for claim in &claims.claims {
                if claim.cannot_be_tested.is_some() {
                    assert!(claim.metric.is_none() && claim.each.is_empty(), "{}", claim.text);
                    continue;
                }
                assert!(claim.metric.is_some(), "{}", claim.text);
                assert!(claim.above.is_some() || claim.below.is_some(), "{}", claim.text);
                let compares = !claim.numerator.is_empty() && !claim.denominator.is_empty();
                assert!(compares != claim.correlates_with.is_some(), "{}", claim.text);
            }
        }
    }
}
