//! Claims of a paper as data, checked against the rows of a run.
//!
//! A claim compares a metric of two selections of rows, pair by pair: rows agree in the columns of `each` and in the
//! repetition, and differ in what `numerator` and `denominator` say. Each combination of `each`, and of the values that
//! `numerator` and `denominator` list, is a [`ClaimRatio`] with one ratio, the geometric mean over its repetitions; the claim
//! holds if enough groups are on the right side of the limit.
//!
//! A claim that one metric follows another (`correlates_with`) needs no numerator and denominator: each group gives the
//! rank correlation of the two metrics over its cells.
//!
//! What a source leaves open is a [`Reading`]; each claim is checked under every reading.

mod bootstrap;
mod cells;
mod check;
mod checked;
mod document;
mod print;
mod reading;
mod records;
mod verdict;

use std::collections::BTreeMap;

use placebench_harness::results::{Column, Filter, Metric};
use serde::Deserialize;

pub use check::ClaimRatio;
pub use checked::{Checked, CheckedError};
pub use document::{Part, document};
pub use print::claims_markdown;
pub(crate) use print::{claims_table, counts};
pub use records::{ClaimRecord, ClaimsDocument, ReadingRecord, VerdictRecord};
pub use verdict::{ClaimOutcome, ClaimVerdict, Standing};

/// The claims of one source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// The suite whose rows they are checked against.
    pub suite: String,
    /// The heading of its part of the reproduction.
    pub title: String,
    /// Full citation.
    pub source: String,
    /// Threads that the suite runs on: 1 if claims are about seconds, which other cells would disturb.
    #[serde(default)]
    pub threads: Option<u32>,
    /// The ways to read what the source leaves open; the first is the one that figures are made of.
    #[serde(rename = "reading")]
    pub readings: Vec<Reading>,
    /// The claims, in the order of the source.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
}

/// A way to read what a source leaves open: which rows of the run stand for what claims name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// A letter or a word.
    pub name: String,
    /// What is read how.
    pub text: String,
    /// Rows that count, by column.
    #[serde(default, rename = "where")]
    pub only: Filter,
    /// What claims call a cluster, and the cluster of the suite that stands for it.
    #[serde(default)]
    pub clusters: BTreeMap<String, String>,
    /// Placers by name, and the parameters that they have in this reading; claims do not name these parameters.
    #[serde(default)]
    pub placers: BTreeMap<String, BTreeMap<String, String>>,
}

/// One claim.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The figure or section in the source.
    pub figure: String,
    /// What the source says.
    pub text: String,
    /// The number that the source prints, as a ratio where ours is one.
    #[serde(default)]
    pub printed: Option<String>,
    /// What explains it if the claim does not hold, as a run has shown.
    #[serde(default)]
    pub why: Option<String>,
    /// The command of that run.
    #[serde(default)]
    pub shown_by: Option<String>,
    /// Why the claim cannot be tested; such a claim has none of the entries below.
    #[serde(default)]
    pub cannot_be_tested: Option<String>,
    /// What is compared.
    #[serde(default)]
    pub metric: Option<Metric>,
    /// Rows that count, by column.
    #[serde(default, rename = "where")]
    pub only: Filter,
    /// What makes a row the numerator.
    #[serde(default)]
    pub numerator: Filter,
    /// What makes a row the denominator; without, the claim is about the numerator itself.
    #[serde(default)]
    pub denominator: Filter,
    /// What the values that the numerator lists count for.
    #[serde(default)]
    pub numerator_takes: Taken,
    /// What the values that the denominator lists count for.
    #[serde(default)]
    pub denominator_takes: Taken,
    /// Whether the first value of the numerator is compared with the first of the denominator, the second with the second,
    /// and not each with each.
    #[serde(default)]
    pub paired: bool,
    /// Values count in multiples of the arithmetic mean of these rows of the same graph, cluster and repetition.
    #[serde(default)]
    pub relative_to: Filter,
    /// What repetitions count for.
    #[serde(default)]
    pub repetitions: Repetitions,
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
    /// The share of ratios that must be within the limits: 1 unless the source says "almost" or "most".
    #[serde(default = "all")]
    pub share: f64,
}

fn all() -> f64 {
    1.0
}

/// What several values on a side of a ratio count for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    /// Each is compared.
    #[default]
    Each,
    /// The least of them.
    Least,
    /// The most of them.
    Most,
}

impl Taken {
    /// The filters whose rows are compared on their own, with their labels.
    fn sides(self, filter: &Filter) -> Vec<(String, Filter)> {
        match self {
            Self::Each => filter.alternatives(),
            Self::Least | Self::Most => vec![(String::new(), filter.clone())],
        }
    }

    fn of(self, values: &[f64]) -> Option<f64> {
        match self {
            Self::Each => placebench_harness::statistics::geometric_mean(values.iter().copied()),
            Self::Least => values.iter().copied().reduce(f64::min),
            Self::Most => values.iter().copied().reduce(f64::max),
        }
    }
}

/// What the repetitions of a group count for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repetitions {
    /// The ratio is their geometric mean.
    #[default]
    Mean,
    /// Each has a ratio of its own, and one within the limits is enough: the source says "in some runs".
    Some,
    /// Compared is how far they spread: the most / the least of each side.
    Spread,
}

/// The sources whose claims come along.
pub const SOURCES: [&str; 4] = ["laich2017", "laich2017_seconds", "bahnmueller2018", "tolstobrov"];

/// The claims of `name`, if there are any.
pub fn claims_of(name: &str) -> Option<Result<Claims, String>> {
    let text = match name {
        "laich2017" => include_str!("../../claims/laich2017.toml"),
        "laich2017_seconds" => include_str!("../../claims/laich2017_seconds.toml"),
        "bahnmueller2018" => include_str!("../../claims/bahnmueller2018.toml"),
        "tolstobrov" => include_str!("../../claims/tolstobrov.toml"),
        _ => return None,
    };
    Some(toml::from_str(text).map_err(|error| error.message().to_owned()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use placebench_harness::suite::BuiltIn;

    use super::*;

    #[test]
    fn the_claims_that_come_along_are_valid() {
        for source in SOURCES {
            let claims = claims_of(source).unwrap().unwrap();
            assert_eq!(claims.suite, source);
            for claim in &claims.claims {
                assert_eq!(claim.why.is_some(), claim.shown_by.is_some(), "{}: which run shows why?", claim.text);
                if claim.cannot_be_tested.is_some() {
                    assert!(claim.metric.is_none() && claim.each.is_empty(), "{}", claim.text);
                    continue;
                }
                assert!(claim.metric.is_some(), "{}", claim.text);
                assert!(claim.above.is_some() || claim.below.is_some(), "{}", claim.text);
                assert!(claim.numerator.is_empty() == claim.correlates_with.is_some(), "{}", claim.text);
            }
            let mut texts: Vec<String> = claims.claims.iter().map(|c| format!("{} {:?}", c.text, c.metric)).collect();
            texts.sort_unstable();
            texts.dedup();
            assert_eq!(texts.len(), claims.claims.len(), "{source}: a claim is listed twice");
        }
    }

    #[test]
    fn readings_and_claims_name_what_their_suites_have() {
        for source in SOURCES {
            let claims = claims_of(source).unwrap().unwrap();
            let suite = BuiltIn::find(source).unwrap().suite().unwrap();
            let clusters: BTreeSet<String> = suite.clusters.iter().map(|entry| entry.label()).collect();
            let graphs: BTreeSet<String> = suite.graphs.iter().map(|entry| entry.label()).collect();
            for reading in &claims.readings {
                let missing: Vec<_> = reading.clusters.values().filter(|label| !clusters.contains(*label)).collect();
                assert!(missing.is_empty(), "{source} {}: {missing:?}", reading.name);
                let specs: BTreeSet<String> =
                    suite.placers.iter().filter_map(|spec| reading.placer(spec, &claims.readings)).collect();
                for claim in &claims.claims {
                    for filter in [&claim.only, &claim.numerator, &claim.denominator, &claim.relative_to] {
                        let known = |column, known: &BTreeSet<String>| {
                            let unknown: Vec<_> =
                                filter.values(column).iter().filter(|v| !known.contains(*v)).collect();
                            assert!(unknown.is_empty(), "{source} {}: {}: {unknown:?}", reading.name, claim.text);
                        };
                        known(Column::Graph, &graphs);
                        known(Column::Cluster, &clusters);
                        known(Column::PlacerSpec, &specs);
                    }
                }
            }
        }
    }
}
