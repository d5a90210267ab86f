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
//! What a source leaves open is a [`Dimension`] with options. A [`Reading`] is a combination of options; each claim is checked
//! under every reading. What words such as "slightly" mean is one table (`reports/claims/limits.toml`). Two [`CONTROLS`] take
//! the place of the placers that a claim is about: what they pass may say nothing. Where a figure shows an order of placers,
//! a [`FigureOrder`] says how far ours agrees.

mod bootstrap;
mod cells;
mod check;
mod checked;
mod control;
mod dimension;
mod document;
mod limits;
mod order;
mod print;
mod reading;
mod records;
mod verdict;

use std::collections::BTreeMap;

use placebench_harness::results::{Column, Filter, Metric};
use serde::Deserialize;

pub use check::ClaimRatio;
pub use checked::{Checked, CheckedError};
pub use control::CONTROLS;
pub use dimension::{Dimension, ReadingOption};
pub use document::{Part, document};
pub use order::{FigureOrder, OrderAgreement, OrderValues};
pub use print::claims_markdown;
pub(crate) use print::{claims_table, counts};
pub use records::{ClaimRecord, ClaimsDocument, OrderRecord, ReadingRecord, VerdictRecord};
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
    /// Whether the suite draws nothing, so that one draw says all.
    #[serde(default)]
    pub nothing_is_drawn: bool,
    /// What the source leaves open.
    #[serde(default, rename = "dimension")]
    pub dimensions: Vec<Dimension>,
    /// All combinations of the options; the first is the one that figures are made of.
    #[serde(skip)]
    pub readings: Vec<Reading>,
    /// The claims, in the order of the source.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
    /// Orders of placers that figures show.
    #[serde(default, rename = "order")]
    pub orders: Vec<FigureOrder>,
}

/// A way to read what the source leaves open: an option of each dimension.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The names of the options.
    pub name: String,
    /// For each dimension, which of its options.
    pub options: Vec<usize>,
    /// Rows that count, by column.
    pub only: Filter,
    /// What follows the names of clusters in the suite.
    pub suffix: String,
    /// What follows the names of graphs in the suite that this reading counts.
    pub graphs: String,
    /// Placers by name, and the parameters that they have in this reading; claims do not name these parameters.
    pub placers: BTreeMap<String, BTreeMap<String, String>>,
    /// Metrics that claims name by their columns, and those that count instead.
    pub metrics: BTreeMap<String, Metric>,
}

impl Claims {
    /// Claims from the text of their file.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut claims: Self = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        claims.readings = dimension::readings(&claims.dimensions);
        let words = limits::Words::new()?;
        claims.claims.iter_mut().try_for_each(|claim| claim.resolve(&words))?;
        Ok(claims)
    }
}

impl Claims {
    /// The claims that rest on one sentence of the source each, in its order.
    pub(crate) fn sentences(&self) -> Vec<Vec<usize>> {
        let mut all: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
        for (index, claim) in self.claims.iter().enumerate() {
            let sentence = claim.sentence.as_deref();
            match all.iter_mut().find(|(known, _)| sentence.is_some() && *known == sentence) {
                Some((_, members)) => members.push(index),
                None => all.push((sentence, vec![index])),
            }
        }
        all.into_iter().map(|(_, members)| members).collect()
    }
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
    /// That number: how far readings are from all of them says which is closest.
    #[serde(default)]
    pub printed_value: Option<f64>,
    /// A name for the sentence of the source that this claim rests on, if others do, too: together they count once.
    #[serde(default)]
    pub sentence: Option<String>,
    /// Why it says something although a control passes: a word of the table of reasons.
    #[serde(default)]
    pub control_passes: Option<String>,
    /// Whether it is about placements that use several accelerators: draws of the numerator that use one do not count.
    #[serde(default)]
    pub distributes: bool,
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
    /// The word of the source, whose limits the table of words has.
    #[serde(default)]
    pub limit: Option<String>,
    /// The words of the source for how many ratios must be within the limits, if not all.
    #[serde(default)]
    pub how_many: Option<String>,
    /// The ratio must be above this.
    #[serde(default)]
    pub above: Option<f64>,
    /// The ratio must be below this.
    #[serde(default)]
    pub below: Option<f64>,
    /// Whether the mean of the ratios must be within the limits, and not each.
    #[serde(default)]
    pub on_average: bool,
    /// The share of ratios that must be within the limits.
    #[serde(default = "all")]
    pub share: f64,
}

fn all() -> f64 {
    1.0
}

impl Claim {
    /// Looks up what its words mean.
    fn resolve(&mut self, words: &limits::Words) -> Result<(), String> {
        let fault = |error: String| format!("'{}': {error}", self.text);
        if let Some(word) = &self.limit {
            if self.above.is_some() || self.below.is_some() {
                return Err(fault("has a limit in words and in numbers: keep one".to_owned()));
            }
            let limit = words.limit(word).map_err(fault)?;
            (self.above, self.below) = (limit.above, limit.below);
        }
        if let Some(word) = &self.how_many {
            self.share = words.share(word).map_err(fault)?;
        }
        if let Some(word) = &self.control_passes {
            words.reason(word).map_err(fault)?;
        }
        Ok(())
    }
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
pub const SOURCES: [&str; 5] = ["laich2017", "laich2017_seconds", "bahnmueller2018", "tolstobrov", "abadi2015"];

/// The claims of `name`, if there are any.
pub fn claims_of(name: &str) -> Option<Result<Claims, String>> {
    let text = match name {
        "laich2017" => include_str!("../../claims/laich2017.toml"),
        "laich2017_seconds" => include_str!("../../claims/laich2017_seconds.toml"),
        "bahnmueller2018" => include_str!("../../claims/bahnmueller2018.toml"),
        "tolstobrov" => include_str!("../../claims/tolstobrov.toml"),
        "abadi2015" => include_str!("../../claims/abadi2015.toml"),
        _ => return None,
    };
    Some(Claims::parse(text))
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
                let graphs: BTreeSet<String> =
                    graphs.iter().flat_map(|label| [Some(label.clone()), reading.graph(label)]).flatten().collect();
                let called: BTreeSet<String> =
                    clusters.iter().filter_map(|label| reading.cluster(label, &claims.readings)).collect();
                let specs: BTreeSet<String> =
                    suite.placers.iter().filter_map(|spec| reading.placer(spec, &claims.readings)).collect();
                let filters = claims.claims.iter().flat_map(|claim| {
                    [&claim.only, &claim.numerator, &claim.denominator, &claim.relative_to].map(|f| (&claim.text, f))
                });
                for (text, filter) in filters.chain(claims.orders.iter().map(|order| (&order.text, &order.only))) {
                    let known = |column, known: &BTreeSet<String>| {
                        let unknown: Vec<_> = filter.values(column).iter().filter(|v| !known.contains(*v)).collect();
                        assert!(unknown.is_empty(), "{source} {}: {text}: {unknown:?}", reading.name);
                    };
                    known(Column::Graph, &graphs);
                    known(Column::Cluster, &called);
                    known(Column::PlacerSpec, &specs);
                }
            }
        }
    }

    #[test]
    fn a_word_has_one_meaning_and_what_is_wrong_with_a_file_is_one_line() {
        let parse = |claim: &str| {
            let text =
                "suite = 's'\ntitle = 'T'\nsource = 'x'\n[[claim]]\nfigure = '1'\ntext = 't'\nmetric = 'makespan'\n";
            Claims::parse(&format!("{text}numerator = {{placer = ['heft']}}\n{claim}"))
        };
        let claim = parse("limit = 'slightly more'\nhow_many = 'in most cases'").unwrap().claims.remove(0);
        assert_eq!((claim.above, claim.below, claim.share), (Some(1.0), Some(1.3), 0.6));
        let said = |claim: &str| parse(claim).unwrap_err();
        assert_eq!(said("limit = 'slightly mor'"), "'t': no limit 'slightly mor': did you mean 'slightly more'?");
        assert_eq!(said("limit = 'more'\nabove = 2.0"), "'t': has a limit in words and in numbers: keep one");
        assert!(said("how_many = 'in al cases'").starts_with("'t': no share 'in al cases'"));
        assert_eq!(said("control_passes = 'graph'"), "'t': no reason 'graph': did you mean 'graphs'?");
        assert_eq!(parse("control_passes = 'graphs'").unwrap().claims[0].control_passes.as_deref(), Some("graphs"));
    }
}
