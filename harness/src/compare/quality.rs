//! Changes of the numbers that do not depend on the clock: exact, since runs are deterministic. Of measured cells, of those
//! beyond the noise.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use polars::prelude::*;
use serde::Serialize;

use super::time::LEAST_NOISE;
use crate::execute::EXECUTORS;
use crate::results::grid::{Grid, GridBuilder, GridCell, GridError};
use crate::results::{CellKey, Metric, Status, cell_keys, values};
use crate::statistics::{descending, holm, mean, signed_rank};

/// A cell whose value changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CellChange {
    /// The cell.
    pub cell: CellKey,
    /// Unit of the values, where a row has one.
    pub time_unit: String,
    /// The value in the old run.
    pub old: f64,
    /// The value in the new run.
    pub new: f64,
    /// New / old: infinite (null in JSON) if the old value is 0.
    pub ratio: f64,
}

/// With fewer repetitions than this in either run, nothing is said of a measured cell. Of two runs with this few, by chance alone
/// all of one are below all of the other in 2 of 252 cases; with the usual nine, in 2 of 48,620.
pub const LEAST_REPETITIONS: u32 = 5;

/// What measuring does to a metric.
#[derive(Clone, Copy, PartialEq)]
enum Noise {
    /// Nothing: it follows from the placement.
    None,
    /// It is the makespan but for a factor.
    OfMakespan,
    /// Repetitions do not say.
    Unknown,
}

fn noise_of(metric: Metric) -> Noise {
    match metric {
        Metric::TrafficBytes | Metric::CutBytes | Metric::Transfers | Metric::CutEdges | Metric::DevicesUsed => {
            Noise::None
        }
        Metric::Makespan | Metric::Slr | Metric::Gap | Metric::StepTime => Noise::OfMakespan,
        _ => Noise::Unknown,
    }
}

/// Whether a cell was measured.
pub(super) fn is_measured() -> Expr {
    let measuring = EXECUTORS.iter().filter(|entry| entry.measures);
    let is_one = measuring.map(|entry| col("executor").eq(lit(entry.name)));
    is_one.reduce(Expr::or).unwrap_or_else(|| lit(false))
}

/// Whether both runs repeated a measured cell often enough.
pub(super) fn is_repeated() -> Expr {
    let enough = |column: &str| col(column).gt_eq(lit(LEAST_REPETITIONS)).fill_null(lit(false));
    enough("repetitions").and(enough("repetitions_new"))
}

/// Whether what repetitions gave from least to largest is apart in the two runs, and by more than runs differ as a whole.
fn is_beyond_noise() -> Expr {
    let least = |side: &str| col(["makespan_least_share", side].concat());
    let largest = |side: &str| col(["makespan_largest_share", side].concat());
    let above = |a: &str, a_side: &str, b: &str, b_side: &str| {
        let apart = (col(a) * least(a_side)).gt(col(b) * largest(b_side));
        apart.and(col(a).gt(col(b) * lit(LEAST_NOISE)))
    };
    above("new", "_new", "old", "").or(above("old", "", "new", "_new"))
}

/// A metric over the cells that are `ok` in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QualityComparison {
    /// The metric.
    pub metric: Metric,
    /// All cells together.
    pub total: QualityGroup,
    /// By placer, those that got worse most first.
    pub placers: Vec<QualityGroup>,
    /// By graph, those that got worse most first.
    pub graphs: Vec<QualityGroup>,
    /// Changed cells, those that got worse most first: all, or of very many the first [`MOST_CHANGES`].
    pub changes: Vec<CellChange>,
    /// Changed cells that are not among them.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_changes: usize,
    /// Cells that are `ok` in both runs with a value in the old, in the new and in both of them.
    #[serde(skip)]
    pub(super) with_value: [usize; 3],
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Of more changed cells than this only the worst are kept: some 40 MB.
pub const MOST_CHANGES: usize = 100_000;

/// A metric over a group of cells.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QualityGroup {
    /// The placer or graph; empty for all.
    pub name: String,
    /// Cells with a value in both runs.
    pub cells: usize,
    /// Cells whose value got smaller.
    pub better: usize,
    /// Cells whose value is the same, bit by bit; of measured cells, those whose values differ no more than noise makes them.
    pub equal: usize,
    /// Cells whose value got larger.
    pub worse: usize,
    /// Geometric mean of new / old over the instances, of each placer with its best scheduler in either run, as the grid has
    /// it; `None` if there are none.
    pub mean_ratio: Option<f64>,
    /// Instances that the mean is over; of a group of several placers, an instance for each.
    pub instances: usize,
    /// Instances that have no ratio, because a value is 0 in either run.
    pub zeros: usize,
    /// The cell with the largest ratio, if any changed.
    pub worst: Option<CellChange>,
    /// Observations that differ: what the test ranks.
    pub tested: usize,
    /// Two-sided p of the Wilcoxon signed-rank test over the drawn graphs, if anything changed; only for placers.
    pub p: Option<f64>,
    /// The same after Holm's correction over the placers.
    pub p_holm: Option<f64>,
}

/// A metric over the matched cells so far. All of them are of one problem in both runs.
pub(super) struct QualityCounts {
    metric: Metric,
    total: QualityGroup,
    placers: BTreeMap<String, QualityGroup>,
    graphs: BTreeMap<String, QualityGroup>,
    /// The values of these cells in the old and in the new run.
    grids: [GridBuilder; 2],
    changes: Vec<CellChange>,
    more_changes: usize,
    with_value: [usize; 3],
}

impl QualityGroup {
    fn count(&mut self, old: f64, new: f64) {
        self.cells += 1;
        self.better += usize::from(new < old);
        self.equal += usize::from(new == old);
        self.worse += usize::from(new > old);
    }

    fn note(&mut self, change: &CellChange) {
        let is_worse = |worst: &CellChange| worst_first(change, worst).is_lt();
        if self.worst.as_ref().is_none_or(is_worse) {
            self.worst = Some(change.clone());
        }
    }
}

impl QualityCounts {
    pub(super) fn new(metric: Metric) -> Self {
        Self {
            metric,
            total: QualityGroup::default(),
            placers: BTreeMap::new(),
            graphs: BTreeMap::new(),
            grids: [GridBuilder::new(metric, &[]), GridBuilder::new(metric, &[])],
            changes: Vec::new(),
            more_changes: 0,
            with_value: [0; 3],
        }
    }

    /// Adds matched cells of one problem. A change of a measured cell within the noise is none. A cell that failed in either
    /// run counts only as a draw that its placer lacks.
    pub(super) fn add(&mut self, pairs: &DataFrame) -> PolarsResult<()> {
        for (count, more) in self.with_value.iter_mut().zip(with_value(pairs, self.metric)?) {
            *count += more;
        }
        let draws = compared(pairs, self.metric)?;
        for (grid, side) in self.grids.iter_mut().zip(["old", "new"]) {
            grid.add(0, &grid_rows(&draws, side)?)?;
        }
        let compared = draws.lazy().filter(col("old").is_not_null()).collect()?;
        let [placers, graphs] = ["placer", "graph"].map(|name| values::<String>(&compared, name));
        let [old, new] = ["old", "new"].map(|name| values::<f64>(&compared, name));
        let (placers, graphs, old, new) = (placers?, graphs?, old?, new?);
        for (row, (placer, graph)) in placers.into_iter().zip(graphs).enumerate() {
            self.total.count(old[row], new[row]);
            self.placers.entry(placer).or_default().count(old[row], new[row]);
            self.graphs.entry(graph).or_default().count(old[row], new[row]);
        }
        for change in changes(&compared)? {
            self.total.note(&change);
            let of_names = [(&mut self.placers, &change.cell.placer), (&mut self.graphs, &change.cell.graph)];
            for (groups, name) in of_names {
                groups.entry(name.clone()).or_default().note(&change);
            }
            self.changes.push(change);
        }
        if self.changes.len() > 2 * MOST_CHANGES {
            self.cut();
        }
        Ok(())
    }

    /// Keeps the worst changes.
    fn cut(&mut self) {
        self.changes.sort_by(worst_first);
        self.more_changes += self.changes.len().saturating_sub(MOST_CHANGES);
        self.changes.truncate(MOST_CHANGES);
    }

    /// The comparison of the cells that were added.
    ///
    /// # Errors
    /// If a cell was added twice.
    pub(super) fn compared(mut self) -> Result<QualityComparison, GridError> {
        self.cut();
        let [old, new] = self.grids;
        let (old, new) = (old.finish(&["the old run"])?, new.finish(&["the new run"])?);
        let changed = Changed::new(&old, &new);
        let named = |(name, group): (String, QualityGroup)| QualityGroup { name, ..group };
        let mut placers: Vec<QualityGroup> = self.placers.into_iter().map(named).collect();
        for group in &mut placers {
            let Some(placer) = old.placers.iter().position(|name| *name == group.name) else { continue };
            changed.mean_over(group, |own, _| own == placer);
            let test = signed_rank(&changed.observations(placer));
            (group.tested, group.p) = (test.map_or(0, |test| test.pairs), test.map(|test| test.p));
        }
        correct(&mut placers);
        let mut graphs: Vec<QualityGroup> = self.graphs.into_iter().map(named).collect();
        for group in &mut graphs {
            let name = group.name.clone();
            changed.mean_over(group, |_, instance| old.instances[instance].key.graph == name);
        }
        // Placers share the graphs, so their observations together are not independent: the total has no test.
        changed.mean_over(&mut self.total, |_, _| true);
        for groups in [&mut placers, &mut graphs] {
            // A change under another than the best scheduler does not move the mean.
            let worst = |group: &QualityGroup| group.worst.as_ref().map_or(1.0, |change| change.ratio);
            groups.sort_by(|a, b| {
                let means = descending(a.mean_ratio.unwrap_or(1.0), b.mean_ratio.unwrap_or(1.0));
                means.then_with(|| descending(worst(a), worst(b)))
            });
        }
        Ok(QualityComparison {
            metric: self.metric,
            total: self.total,
            placers,
            graphs,
            changes: self.changes,
            more_changes: self.more_changes,
            with_value: self.with_value,
        })
    }
}

/// Cells that are `ok` in both runs with a value in the old, in the new and in both of them.
fn with_value(pairs: &DataFrame, metric: Metric) -> PolarsResult<[usize; 3]> {
    let ok = |status: &str| col(status).eq(lit(Status::Ok.name()));
    let has = |column: String| col(column).is_not_null();
    let (old, new) = (has(metric.column().to_owned()), has(format!("{}_new", metric.column())));
    let both = pairs.clone().lazy().filter(ok("status").and(ok("status_new")));
    let sides = [old.clone(), new.clone(), old.and(new)].into_iter().zip(["old", "new", "both"]);
    let counts = both.select(sides.map(|(has, name)| has.sum().alias(name)).collect::<Vec<_>>()).collect()?;
    let mut found = [0; 3];
    for (found, name) in found.iter_mut().zip(["old", "new", "both"]) {
        *found = values::<u32>(&counts, name)?.first().map_or(0, |&count| count as usize);
    }
    Ok(found)
}

/// The columns of pairs, `old`, `new` and `ratio`: null unless the cell has a value in both runs, and they can be compared.
fn compared(pairs: &DataFrame, metric: Metric) -> PolarsResult<DataFrame> {
    let (old, new) = (col(metric.column()), col(format!("{}_new", metric.column())));
    let ok = |status: &str| col(status).eq(lit(Status::Ok.name()));
    let comparable = match noise_of(metric) {
        Noise::None => lit(true),
        Noise::Unknown => is_measured().not(),
        Noise::OfMakespan => is_measured().not().or(is_repeated()),
    };
    let both = old.clone().is_not_null().and(new.clone().is_not_null()).and(ok("status")).and(ok("status_new"));
    let is_compared = both.and(comparable).fill_null(lit(false));
    let only_compared = |value: Expr| when(is_compared.clone()).then(value).otherwise(lit(NULL));
    let draws = pairs.clone().lazy();
    let draws = draws.with_columns([only_compared(old).alias("old"), only_compared(new).alias("new")]);
    let draws = match noise_of(metric) {
        Noise::OfMakespan => {
            let kept = is_measured().not().or(is_beyond_noise());
            draws.with_column(when(kept).then(col("new")).otherwise(col("old")).alias("new"))
        }
        Noise::None | Noise::Unknown => draws,
    };
    let ratio = when(col("old").eq(col("new"))).then(lit(1.0)).otherwise(col("new") / col("old"));
    draws.with_column(ratio.alias("ratio")).collect()
}

/// The values of one side as rows of a grid.
fn grid_rows(compared: &DataFrame, side: &str) -> PolarsResult<DataFrame> {
    let columns = GridBuilder::columns([col(side)].into_iter());
    let missing = [
        lit(NULL).cast(DataType::String).alias("assumptions_broken"),
        lit(NULL).cast(DataType::String).alias("placer_spec"),
        lit(0u32).alias("row"),
    ];
    compared.clone().lazy().with_columns(missing).select(columns).collect()
}

/// What became of each placer on each instance. Both grids have the same cells in the same order, so the same numbers.
struct Changed<'g> {
    old: &'g Grid,
    /// By instance, then by placer: the cells of the best schedulers in the old and in the new run.
    best: Vec<Vec<Option<(&'g GridCell, &'g GridCell)>>>,
}

impl<'g> Changed<'g> {
    fn new(old: &'g Grid, new: &'g Grid) -> Self {
        let (best_old, best_new) = (old.best(), new.best());
        let of_instance = |instance: usize| {
            let both = best_old[instance].iter().zip(&best_new[instance]);
            let cell = |grid: &'g Grid, index: u32| &grid.instances[instance].cells[index as usize];
            both.map(|(&before, &after)| Some((cell(old, before?), cell(new, after?)))).collect()
        };
        let best = (0..old.instances.len()).map(of_instance).collect();
        Self { old, best }
    }

    /// Sets the mean of a group over what belongs to it, by placer and instance.
    fn mean_over(&self, group: &mut QualityGroup, belongs: impl Fn(usize, usize) -> bool) {
        let (mut logarithms, mut zeros) = (Vec::new(), 0);
        for (instance, row) in self.best.iter().enumerate() {
            for (_, cells) in row.iter().enumerate().filter(|(placer, _)| belongs(*placer, instance)) {
                let Some((old, new)) = cells.and_then(|(old, new)| Some((old.mean()?, new.mean()?))) else { continue };
                let ratio = new / old;
                match ratio.is_finite() && ratio > 0.0 {
                    true => logarithms.push(ratio.ln()),
                    false => zeros += 1,
                }
            }
        }
        group.instances = logarithms.len();
        // Added in the order of the values: the mean does not depend on the order of the rows.
        logarithms.sort_by(f64::total_cmp);
        (group.mean_ratio, group.zeros) = (mean(logarithms).map(f64::exp), zeros);
    }

    /// Log ratios of a placer, one for each drawn graph.
    fn observations(&self, placer: usize) -> Vec<f64> {
        let instances: Vec<usize> =
            (0..self.best.len()).filter(|&instance| self.best[instance][placer].is_some()).collect();
        let log_ratio = |&(position, draw): &(usize, usize)| {
            let (old, new) = self.best[instances[position]][placer]?;
            let (old, new) = (old.value(draw)?, new.value(draw)?);
            Some((new / old).ln()).filter(|log| !log.is_nan())
        };
        let observation = |drawn: Vec<(usize, usize)>| mean(drawn.iter().filter_map(log_ratio));
        self.old.drawn_graphs(&instances).into_iter().filter_map(observation).collect()
    }
}

/// Holm's correction over the placers that have a p-value.
fn correct(placers: &mut [QualityGroup]) {
    let tested: Vec<f64> = placers.iter().filter_map(|group| group.p).collect();
    let corrected = holm(&tested);
    for (group, p) in placers.iter_mut().filter(|group| group.p.is_some()).zip(corrected) {
        group.p_holm = Some(p);
    }
}

/// What got worse more comes first; equals in the order of the cells.
fn worst_first(a: &CellChange, b: &CellChange) -> Ordering {
    descending(a.ratio, b.ratio).then_with(|| a.cell.cmp(&b.cell))
}

/// The cells whose value changed.
fn changes(compared: &DataFrame) -> PolarsResult<Vec<CellChange>> {
    let changed = compared.clone().lazy().filter(col("old").neq(col("new"))).collect()?;
    let [old, new, ratios] = ["old", "new", "ratio"].map(|name| values::<f64>(&changed, name));
    let numbers = old?.into_iter().zip(new?).zip(ratios?).zip(values::<String>(&changed, "time_unit_new")?);
    let change = |(cell, (((old, new), ratio), time_unit))| CellChange { cell, time_unit, old, new, ratio };
    Ok(cell_keys(&changed)?.into_iter().zip(numbers).map(change).collect())
}
