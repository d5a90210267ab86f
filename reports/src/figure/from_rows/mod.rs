//! From result rows to figures.
//!
//! Placers are in the order of the registry in every figure, those it does not have after them. Where a figure has no
//! schedulers, a placer is shown with the best of them, as [`Summary`](crate::Summary) does.

mod compare;
mod series;

use std::collections::BTreeMap;
use std::str::FromStr;

use placebench_harness::results::{Metric, Row};

use super::Figure;
use crate::results::Results;

/// The kinds of figures that rows alone can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFigure {
    /// Grouped bars: placers under schedulers, one figure a scenario.
    Bars,
    /// Grouped bars: placers on clusters, each with its best scheduler, one figure a graph and network model.
    Clusters,
    /// Heat map: placer × scenario, relative to the best.
    Heat,
    /// Performance profiles.
    Profile,
    /// Quality against time to place.
    Pareto,
    /// Critical-difference diagram.
    Ranks,
    /// Against the number of devices, one figure a graph and family of clusters.
    Scaling,
    /// Against a placer's parameter, one figure a parameter and scenario.
    Sweep,
}

/// A figure with a name for its file.
pub struct NamedFigure {
    /// Letters, digits, `-`, `_`, `.`: the file's name without its extension. Unique within what one call returns.
    pub name: String,
    /// What it shows, in one sentence: a caption.
    pub caption: String,
    /// The figure.
    pub figure: Box<dyn Figure>,
}

/// No figure from rows has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind of figure '{0}'")]
pub struct UnknownFigure(pub String);

impl FromStr for RowFigure {
    type Err = UnknownFigure;

    fn from_str(text: &str) -> Result<Self, UnknownFigure> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| UnknownFigure(text.to_owned()))
    }
}

/// The probability of seeing a difference between ranks where there is none.
const ALPHA: f64 = 0.05;

impl RowFigure {
    /// All of them.
    pub const ALL: [Self; 8] =
        [Self::Bars, Self::Clusters, Self::Heat, Self::Profile, Self::Pareto, Self::Ranks, Self::Scaling, Self::Sweep];

    /// The name on the command line, and the beginning of the files' names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bars => "bars",
            Self::Clusters => "clusters",
            Self::Heat => "heat",
            Self::Profile => "profile",
            Self::Pareto => "pareto",
            Self::Ranks => "ranks",
            Self::Scaling => "scaling",
            Self::Sweep => "sweep",
        }
    }

    /// A name that every file system takes, from a text.
    pub fn file_name(text: &str) -> String {
        let safe = |character: char| match character {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' | '.' => character,
            _ => '_',
        };
        let name: String = text.chars().map(safe).take(150).collect();
        name.trim_end_matches('_').to_owned()
    }

    /// The figures of this kind that `rows` have data for: none, one or many.
    ///
    /// # Complexity
    /// O(rows · log rows) for each figure.
    pub fn of_rows(self, rows: &[Row], metric: Metric) -> Vec<NamedFigure> {
        let results = Results::new(rows, metric);
        if results.placers.is_empty() || results.scenarios.is_empty() {
            return Vec::new();
        }
        let mut figures = match self {
            Self::Bars => results.bars(rows),
            Self::Clusters => results.clusters(),
            Self::Heat => results.heat(),
            Self::Profile => results.profile(rows),
            Self::Pareto => results.pareto(rows),
            Self::Ranks => results.ranks(),
            Self::Scaling => results.scaling(),
            Self::Sweep => results.sweeps(rows),
        };
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        for figure in &mut figures {
            let name = Self::file_name(&figure.name);
            let before = taken.entry(name.clone()).or_default();
            *before += 1;
            figure.name = if *before > 1 { format!("{name}-{before}") } else { name };
        }
        figures
    }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
