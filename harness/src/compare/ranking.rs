//! Ranks algorithms over the instances that they finish: what the grid says, with intervals and tests.

use std::collections::BTreeMap;

use placebench_datasets::ROUNDING;
use serde::Serialize;

use super::{ComparisonError, RunTable};
use crate::results::Metric;
use crate::results::grid::{Candidates, DROP_FAILING, Grid, Observation, Resampling, Standings};
use crate::statistics::{holm, mean, signed_rank};

/// What to rank, by what, over what.
#[derive(Clone, Debug, PartialEq)]
pub struct RankOptions {
    /// What is ranked.
    pub by: Candidates,
    /// The number.
    pub metric: Metric,
    /// Candidates without a result on more than this share of the instances do not take part.
    pub drop_failing: f64,
    /// Resamples of the bootstrap.
    pub resamples: usize,
    /// Seed of the bootstrap.
    pub seed: u64,
}

impl Default for RankOptions {
    fn default() -> Self {
        Self {
            by: Candidates::Placer,
            metric: Metric::Makespan,
            drop_failing: DROP_FAILING,
            resamples: 10_000,
            seed: 0,
        }
    }
}

/// A ranking.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranking {
    /// What is ranked.
    pub by: Candidates,
    /// The number.
    pub metric: Metric,
    /// Instances on which at least one candidate has a result.
    pub instances: usize,
    /// Instances that count: every ranked candidate has a result.
    pub common: usize,
    /// Instances left out because the best number is 0 there, so that there is no ratio.
    pub zeros: usize,
    /// Graphs that were drawn: what intervals and tests count.
    pub observations: usize,
    /// The candidates, the best first.
    pub entries: Vec<RankEntry>,
    /// Every candidate that lacks results, those that lack most first.
    pub gaps: Vec<Gap>,
}

/// A ranked candidate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RankEntry {
    /// Its name.
    pub name: String,
    /// Geometric mean of its number / the best candidate's over the instances that count.
    pub mean_ratio: f64,
    /// Lower end of the confidence interval of that.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Mean rank over the drawn graphs, from 1; candidates that tie share the mean of their ranks.
    pub mean_rank: f64,
    /// Instances on which none is better.
    pub wins: usize,
    /// Two-sided p of the Wilcoxon signed-rank test against the first candidate, after Holm's correction; `None` for the first
    /// itself, and for one that differs from it nowhere.
    pub p_holm: Option<f64>,
}

/// Results that a candidate lacks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gap {
    /// The candidate.
    pub name: String,
    /// Instances without a result, by the reason.
    pub failed: BTreeMap<String, usize>,
    /// Whether it does not take part because of them.
    pub dropped: bool,
}

impl Gap {
    /// Instances without a result.
    pub fn lacking(&self) -> usize {
        self.failed.values().sum()
    }
}

impl Ranking {
    /// Ranks the candidates of all runs together.
    ///
    /// # Errors
    /// If a cell is in the runs twice.
    ///
    /// # Complexity
    /// That of the grid, and O(resamples · draws · candidates).
    pub fn new(runs: &[RunTable], options: &RankOptions) -> Result<Self, ComparisonError> {
        let tables: Vec<_> = runs.iter().map(|run| (run.name.as_str(), &run.table)).collect();
        let grid = Grid::of_runs(&tables, options.metric, &[])?;
        let standings = Standings::new(&grid, options.by, options.drop_failing);
        let observations = standings.observations(&grid);
        let how = Resampling { resamples: options.resamples, seed: options.seed };
        let intervals = standings.intervals(&grid, &observations, how);
        let ranks = mean_ranks(&observations);
        let participants = standings.participants();
        let entry = |own: usize| {
            let mean_ratio = standings.means[own]?;
            let column = participants.iter().position(|&participant| participant == own)?;
            let (low, high) = intervals[column].unwrap_or((mean_ratio, mean_ratio));
            Some(RankEntry {
                name: standings.candidates[own].clone(),
                mean_ratio,
                low,
                high,
                mean_rank: *ranks.get(column)?,
                wins: standings.wins(own),
                p_holm: None,
            })
        };
        let ranked = standings.ranked();
        let mut entries: Vec<RankEntry> = ranked.iter().filter_map(|&own| entry(own)).collect();
        let column = |own: &usize| participants.iter().position(|participant| participant == own);
        test(&mut entries, &ranked.iter().filter_map(column).collect::<Vec<_>>(), &observations);
        Ok(Self {
            by: options.by,
            metric: options.metric,
            instances: standings.instances,
            common: standings.common.len(),
            zeros: standings.zeros,
            observations: observations.len(),
            entries,
            gaps: gaps(&grid, &standings),
        })
    }
}

fn gaps(grid: &Grid, standings: &Standings) -> Vec<Gap> {
    let lacks = |own: &usize| standings.lacking[*own] > 0;
    let mut lacking: Vec<usize> = (0..standings.candidates.len()).filter(lacks).collect();
    lacking.sort_by_key(|&own| std::cmp::Reverse(standings.lacking[own]));
    let gap = |own: usize| Gap {
        name: standings.candidates[own].clone(),
        failed: standings.reasons(grid, own),
        dropped: !standings.takes_part[own],
    };
    lacking.into_iter().map(gap).collect()
}

/// Whether logarithms of values are those of values that are equal up to rounding.
fn is_tie(a: f64, b: f64) -> bool {
    // Equal infinities are those of values that are 0.
    a == b || (a - b).abs() <= ROUNDING
}

/// The mean rank of each participant over the observations.
fn mean_ranks(observations: &[Observation]) -> Vec<f64> {
    let Some(first) = observations.first() else { return Vec::new() };
    let rank = |logs: &[f64], own: usize| {
        let better = logs.iter().filter(|&&log| log < logs[own] && !is_tie(log, logs[own])).count();
        let equal = logs.iter().filter(|&&log| is_tie(log, logs[own])).count();
        better as f64 + (equal as f64 + 1.0) / 2.0
    };
    let of = |own| mean(observations.iter().map(|observation| rank(&observation.logs, own))).unwrap_or_default();
    (0..first.logs.len()).map(of).collect()
}

/// Compares every candidate with the first; `columns` are theirs in the observations.
fn test(entries: &mut [RankEntry], columns: &[usize], observations: &[Observation]) {
    let Some(&first) = columns.first() else { return };
    let p_value = |own: usize| {
        let difference = |observation: &Observation| {
            let (own, first) = (observation.logs[own], observation.logs[first]);
            if is_tie(own, first) { 0.0 } else { own - first }
        };
        Some(signed_rank(&observations.iter().map(difference).collect::<Vec<_>>())?.p)
    };
    let tested: Vec<(usize, f64)> =
        columns.iter().enumerate().filter_map(|(index, &own)| Some((index, p_value(own)?))).collect();
    let corrected = holm(&tested.iter().map(|&(_, p)| p).collect::<Vec<_>>());
    for ((index, _), p) in tested.into_iter().zip(corrected) {
        entries[index].p_holm = Some(p);
    }
}
