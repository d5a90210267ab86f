//! How far placers are from the proven optimum, where a suite has it.

use std::collections::BTreeMap;

use placebench_datasets::{is_equal, is_less};
use placebench_harness::results::grid::{Draw, Grid, GridInstance, InstanceKey, Standings};
use placebench_harness::results::{Row, Status, Table};
use placebench_harness::statistics::geometric_mean;
use polars::prelude::{PolarsResult, col, lit};

/// Makespans relative to those that the placer `optimal` has proven, under the network model that it proves them for.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimality {
    /// The instances whose draws all have a proven optimum that is not 0, as indices into
    /// [`Summary::instances`](crate::Summary::instances). Optima follow from the costs: what is measured, or where costs vary, is
    /// not held against them.
    pub proven: Vec<usize>,
    /// Draws with a proven optimum of those instances.
    pub draws: usize,
    /// By placer, then by instance of [`Optimality::proven`]; `None` where the placer has no value.
    pub entries: Vec<Vec<Option<OptimalityEntry>>>,
    /// Results below the optimum, whatever the scheduler: each is a bug.
    pub impossible: Vec<Impossible>,
}

/// A placer on an instance with its best scheduler, as the grid chooses it. An optimum belongs to a draw, so ratios are
/// taken draw by draw.
#[derive(Clone, Debug, PartialEq)]
pub struct OptimalityEntry {
    /// The scheduler.
    pub scheduler: String,
    /// Geometric mean over the draws of makespan / optimum.
    pub mean: f64,
    /// The largest of these ratios.
    pub max: f64,
    /// Draws that are solved to optimality, up to rounding.
    pub optimal: usize,
    /// Draws in all.
    pub draws: usize,
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

/// The network model under which the optimum is proven.
const NETWORK: &str = "contention_free";

/// The name of the placer that proves optima.
const OPTIMAL: &str = "optimal";

/// Whether a placer, as a suite spells it, is the one that proves optima.
pub(crate) fn is_optimal(placer: &str) -> bool {
    placer.split('(').next().is_some_and(|name| name.trim() == OPTIMAL)
}

/// What identifies a draw of an instance: the columns of the instance, repetition and seed.
type DrawKey = (InstanceKey, u32, u64);

impl Optimality {
    /// The comparison of a grid of makespans with what its table has of proven optima; `None` if none was proven.
    pub(crate) fn new(table: &Table, grid: &Grid, standings: &Standings) -> PolarsResult<Option<Self>> {
        if !grid.specs.iter().any(|spec| is_optimal(spec)) {
            return Ok(None);
        }
        let optima = optima(table)?;
        let of_instance = |instance: &GridInstance| -> Option<Vec<f64>> {
            let of_draw = |draw: &Draw| optima.get(&(instance.key.clone(), draw.repetition, draw.seed)).copied();
            instance.draws.iter().map(of_draw).collect()
        };
        let proven: Vec<(usize, Vec<f64>)> = (0..)
            .zip(&grid.instances)
            .filter(|(_, own)| own.key.executor.is_simulator())
            .filter_map(|(index, own)| Some((index, of_instance(own)?)))
            .filter(|(_, optima)| optima.iter().all(|&optimum| optimum > 0.0))
            .collect();
        if proven.is_empty() {
            return Ok(None);
        }
        let entry = |placer: usize, (instance, optima): &(usize, Vec<f64>)| {
            let cell = standings.cell(grid, placer, *instance)?;
            let ratio = |(draw, optimum): (usize, &f64)| Some(cell.value(draw)? / optimum);
            let ratios: Vec<f64> = optima.iter().enumerate().map(ratio).collect::<Option<_>>()?;
            Some(OptimalityEntry {
                scheduler: grid.schedulers[cell.scheduler as usize].clone(),
                mean: geometric_mean(ratios.iter().copied())?,
                max: ratios.iter().copied().fold(0.0, f64::max),
                optimal: ratios.iter().filter(|&&ratio| is_equal(ratio, 1.0)).count(),
                draws: ratios.len(),
            })
        };
        let of_placer = |placer| proven.iter().map(|proven| entry(placer, proven)).collect();
        Ok(Some(Self {
            entries: (0..grid.placers.len()).map(of_placer).collect(),
            draws: proven.iter().map(|(_, optima)| optima.len()).sum(),
            impossible: proven.iter().flat_map(|(instance, optima)| impossible(grid, *instance, optima)).collect(),
            proven: proven.into_iter().map(|(instance, _)| instance).collect(),
        }))
    }

    /// The geometric mean over all draws, and the share of them solved to optimality; `None` if the placer failed
    /// somewhere.
    pub(crate) fn overall(&self, placer: usize) -> Option<(f64, f64)> {
        let entries: Option<Vec<&OptimalityEntry>> = self.entries[placer].iter().map(Option::as_ref).collect();
        let (mut logarithm, mut optimal, mut draws) = (0.0, 0, 0);
        for entry in entries? {
            logarithm += entry.mean.ln() * entry.draws as f64;
            optimal += entry.optimal;
            draws += entry.draws;
        }
        Some(((logarithm / draws as f64).exp(), optimal as f64 / draws as f64))
    }
}

/// The proven optimum of each draw that has one.
fn optima(table: &Table) -> PolarsResult<BTreeMap<DrawKey, f64>> {
    let proves = col("placer_name").eq(lit(OPTIMAL)).and(col("network").eq(lit(NETWORK)));
    let proves = proves.and(col("status").eq(lit(Status::Ok.name()))).and(col("planned_makespan").is_not_null());
    let rows = table.filter(proves)?.rows()?;
    let optimum = |row: Row| Some(((row.instance(), row.repetition, row.seed), row.planned_makespan?));
    Ok(rows.into_iter().filter_map(optimum).collect())
}

/// The results on an instance that are below the optimum of their draw.
fn impossible(grid: &Grid, instance: usize, optima: &[f64]) -> Vec<Impossible> {
    let own = &grid.instances[instance];
    let mut found = Vec::new();
    for cell in &own.cells {
        for ((number, draw), &optimum) in own.draws.iter().enumerate().zip(optima) {
            if let Some(value) = cell.value(number).filter(|&value| is_less(value, optimum)) {
                found.push(Impossible {
                    placer: grid.placers[cell.placer as usize].clone(),
                    scheduler: grid.schedulers[cell.scheduler as usize].clone(),
                    graph: own.key.graph.clone(),
                    repetition: draw.repetition,
                    ratio: value / optimum,
                });
            }
        }
    }
    found
}
