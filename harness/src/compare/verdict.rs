//! The comparison of two runs, and what of it is a regression.

use std::collections::BTreeSet;

use polars::prelude::*;
use serde::Serialize;

use super::matching::{Matching, cells, nothing_in_common};
use super::quality::{LEAST_REPETITIONS, QualityCounts, is_measured, is_repeated};
use super::time::{TIMED, TimeComparison, Timed};
use super::{
    CellChange, ComparisonError, Effect, QualityComparison, RunTable, StatusChange, TimeChange, environment_differences,
};
use crate::results::{CellKey, Metric, Status, Table, cell_keys, values};
use crate::statistics::descending;

/// What to compare, and what counts as a regression. Limits are factors, new / old.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareOptions {
    /// The metrics to compare; if none, what the runs were placed for ([`goal_of`]).
    pub metrics: Vec<Metric>,
    /// How much a cell's metric may grow.
    pub max_cell: f64,
    /// How much the geometric mean of a placer's metric may grow.
    pub max_mean: f64,
    /// How much the seconds of a placer or scheduler may grow; `None` does not compare seconds.
    pub max_time: Option<f64>,
    /// How much the seconds of one placer on one graph and cluster may grow.
    pub max_cell_time: f64,
    /// Times below this many seconds count as this.
    pub least_seconds: f64,
    /// Whether cells match without regard to the name of the suite.
    pub any_suite: bool,
    /// Whether cells that the new run lacks, has of another problem, or has cut short, are regressions.
    pub all_cells: bool,
    /// Whether cells that were broken before and are now are regressions.
    pub broken: bool,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            metrics: Vec::new(),
            max_cell: 1.001,
            max_mean: 1.001,
            max_time: Some(1.3),
            max_cell_time: 2.0,
            least_seconds: 1e-4,
            any_suite: false,
            all_cells: false,
            broken: false,
        }
    }
}

/// A run as it appears in a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// Its path as given.
    pub name: String,
    /// When it was started, in UTC (RFC 3339).
    pub date: Option<String>,
    /// The commit that made it.
    pub commit: Option<String>,
    /// Rows.
    pub cells: usize,
    /// Rows with a result.
    pub ok: usize,
}

/// Something that got worse by more than the options allow.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "regression", rename_all = "snake_case")]
pub enum Regression {
    /// A cell lost its result, or is now wrong.
    Status(StatusChange),
    /// A cell had no result before, and has none now for the same reason; with [`CompareOptions::broken`] only.
    Broken(StatusChange),
    /// The new run lacks a cell, or has it of another problem.
    Missing {
        /// The cell.
        cell: CellKey,
    },
    /// A placer's geometric mean.
    Mean {
        /// The metric.
        metric: Metric,
        /// The placer.
        placer: String,
        /// New / old.
        ratio: f64,
        /// Cells that count.
        instances: usize,
    },
    /// One cell.
    Cell {
        /// The metric.
        metric: Metric,
        /// The change.
        change: CellChange,
    },
    /// Seconds, of an algorithm or in one place.
    Time(TimeChange),
}

/// Two runs compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The old run.
    pub old: Side,
    /// The new run.
    pub new: Side,
    /// Cells in both runs.
    pub matched: usize,
    /// Cells that are `ok` in both runs, and of one problem.
    pub compared: usize,
    /// What the reader must know to trust the rest.
    pub warnings: Vec<String>,
    /// What got worse, the gravest first.
    pub regressions: Vec<Regression>,
    /// Cells that end differently, regressions first.
    pub status_changes: Vec<StatusChange>,
    /// Cells without a result in either run, for the same reason, which is not that there is no feasible placement.
    pub broken: Vec<StatusChange>,
    /// Cells only in the old run.
    pub only_old: Vec<CellKey>,
    /// Cells only in the new run.
    pub only_new: Vec<CellKey>,
    /// Cells whose graph, cluster or unit of time is not the same in both runs, although their names are.
    pub other_problems: Vec<CellKey>,
    /// The metrics.
    pub quality: Vec<QualityComparison>,
    /// Seconds to place and to simulate; empty if they are not compared.
    pub times: Vec<TimeComparison>,
}

impl Comparison {
    /// Compares two runs.
    ///
    /// # Errors
    /// If a run has a cell twice, or the two have none in common.
    ///
    /// # Complexity
    /// O(n log n) in the number of rows.
    pub fn new(old: &RunTable, new: &RunTable, options: &CompareOptions) -> Result<Self, ComparisonError> {
        let compared = match options.metrics.is_empty() {
            true => vec![goal_of(&[old, new])?],
            false => options.metrics.clone(),
        };
        let metrics: BTreeSet<Metric> = compared.iter().copied().chain(TIMED).collect();
        let metrics: Vec<Metric> = metrics.into_iter().collect();
        let mut comparison = Self {
            old: Side::new(old)?,
            new: Side::new(new)?,
            matched: 0,
            compared: 0,
            warnings: warnings(old, new)?,
            regressions: Vec::new(),
            status_changes: Vec::new(),
            broken: Vec::new(),
            only_old: Vec::new(),
            only_new: Vec::new(),
            other_problems: Vec::new(),
            quality: Vec::new(),
            times: Vec::new(),
        };
        let mut quality: Vec<QualityCounts> = compared.iter().map(|&metric| QualityCounts::new(metric)).collect();
        let mut times = options.max_time.map(|_| Timed::new(options.least_seconds));
        let mut once = 0;
        for part in Table::aligned(&[&old.table, &new.table]) {
            let [of_old, of_new] = [0, 1].map(|run: usize| cells(&part[run], &metrics, options.any_suite));
            let Matching { pairs, only_old, only_new } = Matching::new((&old.name, &of_old?), (&new.name, &of_new?))?;
            let Both { other, same, draws } = both_ok(&pairs)?;
            comparison.matched += pairs.height();
            comparison.compared += same.height();
            comparison.status_changes.extend(StatusChange::changed(&pairs)?);
            comparison.broken.extend(StatusChange::broken(&pairs)?);
            comparison.only_old.extend(only_old);
            comparison.only_new.extend(only_new);
            comparison.other_problems.extend(cell_keys(&other)?);
            quality.iter_mut().try_for_each(|counts| counts.add(&draws))?;
            times.iter_mut().try_for_each(|times| times.add(&same))?;
            once += same.lazy().filter(is_measured().and(is_repeated().not())).collect()?.height();
        }
        if comparison.matched == 0 {
            return Err(nothing_in_common(old, new, options.any_suite)?);
        }
        comparison.status_changes.sort_by(|a, b| (a.effect, &a.cell).cmp(&(b.effect, &b.cell)));
        comparison.broken.sort_by(|a, b| a.cell.cmp(&b.cell));
        for cells in [&mut comparison.only_old, &mut comparison.only_new, &mut comparison.other_problems] {
            cells.sort();
        }
        comparison.quality = quality.into_iter().map(QualityCounts::compared).collect::<Result<_, _>>()?;
        if comparison.compared > 0 {
            for QualityComparison { metric, with_value: [of_old, of_new, both], .. } in &comparison.quality {
                for (run, count) in [(old, of_old), (new, of_new)] {
                    if *count == 0 {
                        return Err(ComparisonError::NoValue { run: run.name.clone(), metric: *metric });
                    }
                    if count > both {
                        let (lone, metric) = (count - both, metric.column());
                        let warning =
                            format!("{lone} cells are ok in both runs, but have a {metric} only in {}", run.name);
                        comparison.warnings.push(warning);
                    }
                }
            }
        }
        comparison.times = times.map(Timed::compared).unwrap_or_default();
        if once > 0 {
            let few =
                format!("{once} measured cells have fewer than {LEAST_REPETITIONS} repetitions in one of the runs");
            comparison.warnings.push(format!("{few}: what noise does is unknown, and their times are not compared"));
        }
        if comparison.compared == 0 {
            comparison.warnings.push("no cell has a result in both runs: only how cells end was compared".to_owned());
        }
        comparison.regressions = comparison.judge(options);
        Ok(comparison)
    }

    /// Whether anything got worse by more than the options allow.
    pub fn is_regression(&self) -> bool {
        !self.regressions.is_empty()
    }

    fn judge(&self, options: &CompareOptions) -> Vec<Regression> {
        let is_lost = |change: &&StatusChange| match change.effect {
            Effect::Regression => true,
            Effect::CutShort => options.all_cells && change.old == Status::Ok.name(),
            Effect::Neutral | Effect::Fixed => false,
        };
        let lost = self.status_changes.iter().filter(is_lost);
        let mut found: Vec<Regression> = lost.cloned().map(Regression::Status).collect();
        if options.broken {
            found.extend(self.broken.iter().cloned().map(Regression::Broken));
        }
        if options.all_cells {
            let missing = self.only_old.iter().chain(&self.other_problems).cloned();
            found.extend(missing.map(|cell| Regression::Missing { cell }));
        }
        for quality in &self.quality {
            let metric = quality.metric;
            let means = quality.placers.iter().filter_map(|group| {
                let ratio = group.mean_ratio.filter(|&ratio| ratio > options.max_mean)?;
                Some(Regression::Mean { metric, placer: group.name.clone(), ratio, instances: group.instances })
            });
            found.extend(means);
        }
        for quality in &self.quality {
            let metric = quality.metric;
            let worse = quality.changes.iter().filter(|change| change.ratio > options.max_cell);
            found.extend(worse.cloned().map(|change| Regression::Cell { metric, change }));
        }
        let mut slower: Vec<&TimeChange> = Vec::new();
        for times in &self.times {
            let limit = options.max_time.unwrap_or(f64::INFINITY);
            slower.extend(times.algorithms.iter().filter(|change| change.is_slower_than(limit)));
        }
        slower.sort_by(|a, b| descending(a.ratio, b.ratio));
        let whole = slower.len();
        for times in &self.times {
            slower.extend(times.groups.iter().filter(|change| change.is_slower_than(options.max_cell_time)));
        }
        slower[whole..].sort_by(|a, b| descending(a.ratio, b.ratio));
        found.extend(slower.into_iter().cloned().map(Regression::Time));
        found
    }
}

impl Side {
    fn new(run: &RunTable) -> Result<Self, ComparisonError> {
        let ok = col("status").eq(lit(Status::Ok.name()));
        let counts = [ok.sum().alias("ok")];
        let ok = run.table.by_part(|rows| Ok(rows.select(counts.clone())))?;
        if let Some(fault) = run.table.fault()? {
            return Err(ComparisonError::Impossible { run: run.name.clone(), fault });
        }
        Ok(Self {
            name: run.name.clone(),
            date: run.date.clone(),
            commit: run.commit().map(str::to_owned),
            cells: run.table.height(),
            ok: values::<u32>(&ok, "ok")?.into_iter().map(|ok| ok as usize).sum(),
        })
    }
}

/// Matched cells.
struct Both {
    /// Those that are `ok` in both runs, and whose problem is not the same in both.
    other: DataFrame,
    /// Those that are `ok` in both runs, and whose makespans compare.
    same: DataFrame,
    /// Those of one problem, however they end: the draws that both runs have.
    draws: DataFrame,
}

fn both_ok(pairs: &DataFrame) -> PolarsResult<Both> {
    let ok = |name: &str| col(name).eq(lit(Status::Ok.name()));
    let same = PROBLEM.map(|name| col(name).eq(col(format!("{name}_new")))).into_iter().reduce(Expr::and);
    let same = same.unwrap_or_else(|| lit(true));
    let both_ok = ok("status").and(ok("status_new"));
    let of = |passes: Expr| pairs.clone().lazy().filter(passes).collect();
    Ok(Both {
        other: of(both_ok.clone().and(same.clone().not()))?,
        same: of(both_ok.and(same.clone()))?,
        draws: of(same)?,
    })
}

/// What runs are about: the period if all of them were placed for it, or else the makespan.
///
/// # Errors
/// If Polars refuses.
pub fn goal_of(runs: &[&RunTable]) -> PolarsResult<Metric> {
    let goals = runs.iter().map(|run| run.table.goal()).collect::<PolarsResult<Vec<_>>>()?;
    let is_period = !goals.is_empty() && goals.iter().all(|&goal| goal == Metric::Period);
    Ok(if is_period { Metric::Period } else { Metric::Makespan })
}

/// How a metric changed, as [`Comparison::new`] has it; nothing in common is no error.
pub(super) fn changes_of(metric: Metric, old: &RunTable, new: &RunTable) -> Result<QualityComparison, ComparisonError> {
    let mut counts = QualityCounts::new(metric);
    for part in Table::aligned(&[&old.table, &new.table]) {
        let [of_old, of_new] = [0, 1].map(|run: usize| cells(&part[run], &[metric], false));
        let Matching { pairs, .. } = Matching::new((&old.name, &of_old?), (&new.name, &of_new?))?;
        counts.add(&both_ok(&pairs)?.draws)?;
    }
    Ok(counts.compared()?)
}

/// What must be equal for makespans to compare.
const PROBLEM: [&str; 4] = ["devices", "ops", "edges", "time_unit"];

fn warnings(old: &RunTable, new: &RunTable) -> PolarsResult<Vec<String>> {
    let unfinished = [old, new].into_iter().filter(|run| run.unfinished);
    let mut warnings: Vec<String> =
        unfinished.map(|run| format!("{} is unfinished: some of its cells are missing", run.name)).collect();
    let differences = environment_differences(old, new)?;
    if !differences.is_empty() {
        warnings.push(format!("times may differ for another reason ({})", differences.join("; ")));
    }
    Ok(warnings)
}
