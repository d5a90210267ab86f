//! What a source leaves open, question by question. A reading answers each of them: readings are all combinations.

use std::collections::BTreeMap;

use placebench_harness::results::{Filter, Metric};
use serde::Deserialize;

use super::Reading;

/// A question that a source leaves open.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dimension {
    /// A word or two.
    pub name: String,
    /// The ways to answer it.
    #[serde(rename = "option")]
    pub options: Vec<ReadingOption>,
}

/// An answer: which rows of the run stand for what claims name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadingOption {
    /// A word or two.
    pub name: String,
    /// What is read how.
    pub text: String,
    /// Rows that count, by column.
    #[serde(default, rename = "where")]
    pub only: Filter,
    /// What follows the names of clusters in the suite: claims name them without.
    #[serde(default)]
    pub suffix: String,
    /// What follows the names of graphs in the suite that only this option counts: claims name them without.
    #[serde(default)]
    pub graphs: String,
    /// Placers by name, and parameters that they have; claims do not name these parameters.
    #[serde(default)]
    pub placers: BTreeMap<String, BTreeMap<String, String>>,
    /// Metrics that claims name by their columns, and those that count instead.
    #[serde(default)]
    pub metrics: BTreeMap<String, Metric>,
}

/// All combinations of options, the first of each dimension first. Without dimensions there is one reading without a name.
pub(super) fn readings(dimensions: &[Dimension]) -> Vec<Reading> {
    let mut all = vec![Reading::default()];
    for dimension in dimensions {
        let with = |before: &Reading, (index, option): (usize, &ReadingOption)| {
            let mut reading = before.clone();
            let separator = if reading.name.is_empty() { "" } else { ", " };
            reading.name.push_str(&format!("{separator}{}", option.name));
            reading.options.push(index);
            reading.only = reading.only.and(&option.only);
            reading.suffix.push_str(&option.suffix);
            reading.graphs.push_str(&option.graphs);
            for (placer, params) in &option.placers {
                reading.placers.entry(placer.clone()).or_default().extend(params.clone());
            }
            reading.metrics.extend(option.metrics.clone());
            reading
        };
        all = all
            .iter()
            .flat_map(|before| dimension.options.iter().enumerate().map(|option| with(before, option)))
            .collect();
    }
    all
}
