//! How far placers are from the proven optimum, where a suite has it.

use std::collections::BTreeMap;

use placebench_harness::compare::statistics::geometric_mean;
use placebench_harness::results::{
    CELL, CellKey, Metric, SCENARIO, Status, Table, cell_keys, left_join, lists, scenarios, values,
};
use polars::prelude::*;

use crate::scores::{Scores, positions};

/// Makespans relative to those that the placer `optimal` has proven, under the network model that it proves them for.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimality {
    /// The scenarios in which every repetition has a proven optimum, as indices into [`Summary::scenarios`](crate::Summary::scenarios).
    pub scenarios: Vec<usize>,
    /// Instances with a proven optimum in those scenarios.
    pub instances: usize,
    /// By placer, then by scenario of [`Optimality::scenarios`]; `None` where the placer failed under every scheduler.
    pub entries: Vec<Vec<Option<OptimalityEntry>>>,
    /// Results below the optimum, whatever the scheduler: each is a bug.
    pub impossible: Vec<Impossible>,
}

/// A placer in a scenario with its best scheduler, as [`Summary`](crate::Summary) chooses it.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimalityEntry {
    /// The scheduler.
    pub scheduler: String,
    /// Geometric mean over the instances of makespan / optimum.
    pub mean: f64,
    /// The largest of these ratios.
    pub max: f64,
    /// Instances that are solved to optimality, within a relative 10⁻⁹.
    pub optimal: usize,
    /// Instances in all.
    pub instances: usize,
}

/// A makespan below the proven optimum.
#[derive(Clone, Debug, PartialEq)]
pub struct Impossible {
    /// The placer.
    pub placer: String,
    /// The scheduler.
    pub scheduler: String,
    /// The graph.
    pub graph: String,
    /// The repetition.
    pub repetition: u32,
    /// Makespan / optimum.
    pub ratio: f64,
}

/// Relative differences up to this are rounding.
const TOLERANCE: f64 = 1e-9;

/// The network model under which the optimum is proven.
const NETWORK: &str = "contention_free";

/// The name of the placer that proves optima.
const OPTIMAL: &str = "optimal";

/// Whether a placer, as a suite spells it, is the one that proves optima.
pub(crate) fn is_optimal(placer: &str) -> bool {
    placer.split('(').next().is_some_and(|name| name.trim() == OPTIMAL)
}

impl Optimality {
    /// The comparison of rows whose makespans have been condensed to scores; `None` if no optimum was proven.
    pub(crate) fn new(table: &Table, scores: &Scores) -> PolarsResult<Option<Self>> {
        if !scores.specs.iter().any(|spec| is_optimal(spec)) {
            return Ok(None);
        }
        let instance = ["graph", "cluster", "network", "executor", "repetition"];
        let proves = col("placer_name").eq(lit(OPTIMAL)).and(col("network").eq(lit(NETWORK)));
        let is_proven = proves.and(col("status").eq(lit(Status::Ok.name()))).and(col("planned_makespan").is_not_null());
        let with_optima = |rows: LazyFrame| -> PolarsResult<LazyFrame> {
            let optima = rows.clone().filter(is_proven.clone()).group_by_stable(instance);
            let optima = optima.agg([col("planned_makespan").last().alias("optimum")]);
            let columns = [&CELL.map(col)[..], &[Metric::Makespan.expr()]].concat();
            let unproven = col("optimum").null_count().over(SCENARIO.map(col))?.alias("unproven");
            Ok(left_join(rows.select(columns), optima, &instance).with_column(unproven))
        };
        let known = table.by_part(|rows| {
            let known = with_optima(rows)?.filter(col("unproven").eq(lit(0))).group_by_stable(SCENARIO);
            Ok(known.agg([col("repetition").n_unique().alias("instances")]))
        })?;
        if known.height() == 0 {
            return Ok(None);
        }
        let at = positions(&scores.scenarios);
        let mut columns: Vec<usize> = scenarios(&known)?.iter().map(|scenario| at[scenario]).collect();
        columns.sort_unstable();
        let ratio = col("makespan") / col("optimum");
        let ratios = |rows: LazyFrame| -> PolarsResult<LazyFrame> {
            Ok(with_optima(rows)?.filter(ratio.clone().is_not_null()).with_column(ratio.clone().alias("ratio")))
        };
        let by = ["graph", "cluster", "network", "executor", "placer", "scheduler"];
        let of_cells = table.by_part(|rows| Ok(ratios(rows)?.group_by_stable(by).agg([col("ratio")])))?;
        let below = table.by_part(|rows| Ok(ratios(rows)?.filter(col("ratio").lt(lit(1.0 - TOLERANCE)))))?;
        Ok(Some(Self {
            entries: entries(&of_cells, scores, &columns)?,
            instances: values::<u32>(&known, "instances")?.iter().map(|&count| count as usize).sum(),
            scenarios: columns,
            impossible: impossible(&below)?,
        }))
    }

    /// The geometric mean over all instances, and the share of them solved to optimality; `None` if the placer failed
    /// somewhere.
    pub(crate) fn overall(&self, placer: usize) -> Option<(f64, f64)> {
        let entries: Option<Vec<&OptimalityEntry>> = self.entries[placer].iter().map(Option::as_ref).collect();
        let (mut logarithm, mut optimal, mut instances) = (0.0, 0, 0);
        for entry in entries? {
            logarithm += entry.mean.ln() * entry.instances as f64;
            optimal += entry.optimal;
            instances += entry.instances;
        }
        Some(((logarithm / instances as f64).exp(), optimal as f64 / instances as f64))
    }
}

/// The ratios of each placer with its best scheduler in these scenarios.
fn entries(frame: &DataFrame, scores: &Scores, columns: &[usize]) -> PolarsResult<Vec<Vec<Option<OptimalityEntry>>>> {
    let names = values::<String>(frame, "placer")?.into_iter().zip(values::<String>(frame, "scheduler")?);
    let found: BTreeMap<_, Vec<f64>> = scenarios(frame)?.into_iter().zip(names).zip(lists(frame, "ratio")?).collect();
    let entry = |placer: usize, column: usize| {
        let scheduler = &scores.best(placer, column)?.scheduler;
        let names = (scores.placers[placer].clone(), scheduler.to_string());
        let ratios = found.get(&(scores.scenarios[column].clone(), names))?;
        Some(OptimalityEntry {
            scheduler: scheduler.to_string(),
            mean: geometric_mean(ratios.iter().copied())?,
            max: ratios.iter().copied().fold(0.0, f64::max),
            optimal: ratios.iter().filter(|&&ratio| ratio <= 1.0 + TOLERANCE).count(),
            instances: ratios.len(),
        })
    };
    let placers = 0..scores.placers.len();
    Ok(placers.map(|placer| columns.iter().map(|&column| entry(placer, column)).collect()).collect())
}

/// The results below the optimum.
fn impossible(below: &DataFrame) -> PolarsResult<Vec<Impossible>> {
    let ratios = values::<f64>(below, "ratio")?;
    let impossible = |(key, ratio): (CellKey, f64)| Impossible {
        placer: key.placer,
        scheduler: key.scheduler,
        graph: key.graph,
        repetition: key.repetition,
        ratio,
    };
    Ok(cell_keys(below)?.into_iter().zip(ratios).map(impossible).collect())
}
