//! Changes of the numbers that do not depend on the clock: exact, since runs are deterministic. Of measured cells, of those
//! beyond the noise.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::*;
use serde::Serialize;

use super::statistics::{descending, geometric_mean, holm, mean, signed_rank};
use super::time::LEAST_NOISE;
use crate::execute::ExecutorName;
use crate::results::{CellKey, Metric, cell_keys, lists, text_lists, values};

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

/// With fewer repetitions than this in either run, nothing is said of a measured cell. Of two runs of so many, by chance alone
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
    col("executor").neq(lit(ExecutorName::default().as_str().to_owned()))
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
    /// Changed cells, those that got worse most first: all, or of very many the first [`MOST_CHANGES`].
    pub changes: Vec<CellChange>,
    /// Changed cells that are not among them.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_changes: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// Of more changed cells than this only the worst are kept: some 40 MB.
pub const MOST_CHANGES: usize = 100_000;

/// A metric over a group of cells.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QualityGroup {
    /// The placer; empty for all.
    pub placer: String,
    /// Cells with a value in both runs.
    pub cells: usize,
    /// Cells whose value got smaller.
    pub better: usize,
    /// Cells whose value is the same, bit by bit; of measured cells, those whose values differ no more than noise makes them.
    pub equal: usize,
    /// Cells whose value got larger.
    pub worse: usize,
    /// Geometric mean of new / old over the cells where both are positive; `None` if there are none.
    pub mean_ratio: Option<f64>,
    /// Cells left out of the mean because a value is 0 in one run only.
    pub zeros: usize,
    /// The cell with the largest ratio, if any changed.
    pub worst: Option<CellChange>,
    /// Observations that differ: what the test ranks.
    pub tested: usize,
    /// Two-sided p of the Wilcoxon signed-rank test, if anything changed; none for the total.
    pub p: Option<f64>,
    /// The same after Holm's correction over the placers.
    pub p_holm: Option<f64>,
}

/// A metric over the matched cells so far, of which all are `ok` and of one problem in both runs.
pub(super) struct QualityCounts {
    metric: Metric,
    total: Counts,
    placers: BTreeMap<String, Counts>,
    /// Log ratios by placer, one for each drawn instance.
    observations: BTreeMap<String, Vec<f64>>,
    changes: Vec<CellChange>,
    more_changes: usize,
}

/// What is counted of a group of cells.
#[derive(Default)]
struct Counts {
    group: QualityGroup,
    ratios: Vec<f64>,
}

impl Counts {
    fn add(&mut self, other: QualityGroup, ratios: Vec<f64>) {
        self.group.cells += other.cells;
        self.group.better += other.better;
        self.group.equal += other.equal;
        self.group.worse += other.worse;
        self.ratios.extend(ratios);
    }

    fn worst(&mut self, change: &CellChange) {
        let is_worse = |worst: &CellChange| worst_first(change, worst).is_lt();
        if self.group.worst.as_ref().is_none_or(is_worse) {
            self.group.worst = Some(change.clone());
        }
    }

    fn counted(self) -> QualityGroup {
        let finite = |ratio: &f64| ratio.is_finite() && *ratio > 0.0;
        QualityGroup {
            mean_ratio: geometric_mean(self.ratios.iter().copied().filter(finite)),
            zeros: self.ratios.iter().filter(|ratio| !finite(ratio)).count(),
            ..self.group
        }
    }
}

impl QualityCounts {
    pub(super) fn new(metric: Metric) -> Self {
        Self {
            metric,
            total: Counts::default(),
            placers: BTreeMap::new(),
            observations: BTreeMap::new(),
            changes: Vec::new(),
            more_changes: 0,
        }
    }

    /// Adds matched cells: all of some graphs on their clusters. A change of a measured cell within the noise is none.
    pub(super) fn add(&mut self, pairs: &DataFrame) -> PolarsResult<()> {
        let metric = self.metric;
        let (old, new) = (col("old"), col("new"));
        let ratio = when(old.clone().eq(new.clone())).then(lit(1.0)).otherwise(new.clone() / old.clone());
        let values = pairs
            .clone()
            .lazy()
            .with_columns([col(metric.column()).alias("old"), col(format!("{}_new", metric.column())).alias("new")])
            .filter(old.is_not_null().and(new.is_not_null()));
        let values = match noise_of(metric) {
            Noise::None => values,
            Noise::Unknown => values.filter(is_measured().not()),
            Noise::OfMakespan => {
                let kept = is_measured().not().or(is_beyond_noise());
                let new = when(kept).then(col("new")).otherwise(col("old")).alias("new");
                values.filter(is_measured().not().or(is_repeated())).with_column(new)
            }
        };
        let values = values.with_column(ratio.alias("ratio")).collect()?;
        for (group, ratios) in groups(values.clone().lazy().group_by_stable(["placer"]).agg(counted()).collect()?)? {
            self.placers.entry(group.placer.clone()).or_default().add(group, ratios);
        }
        let all = values.clone().lazy().with_column(lit("").alias("placer"));
        for (group, ratios) in groups(all.group_by_stable(["placer"]).agg(counted()).collect()?)? {
            self.total.add(group, ratios);
        }
        for (placer, ratios) in observations(&values)? {
            self.observations.entry(placer).or_default().extend(ratios);
        }
        let changes = changes(&values)?;
        for change in &changes {
            self.total.worst(change);
            if let Some(counts) = self.placers.get_mut(&change.cell.placer) {
                counts.worst(change);
            }
        }
        self.changes.extend(changes);
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
    pub(super) fn compared(mut self) -> QualityComparison {
        self.cut();
        let placer = |(placer, counts): (String, Counts)| QualityGroup { placer, ..counts.counted() };
        let mut placers: Vec<QualityGroup> = self.placers.into_iter().map(placer).collect();
        for group in &mut placers {
            let test = self.observations.get(&group.placer).and_then(|ratios| signed_rank(ratios));
            (group.tested, group.p) = (test.map_or(0, |test| test.pairs), test.map(|test| test.p));
        }
        correct(&mut placers);
        placers.sort_by(|a, b| descending(a.mean_ratio.unwrap_or(1.0), b.mean_ratio.unwrap_or(1.0)));
        // Placers share the graphs, so their observations together are not independent: the total has no test.
        QualityComparison {
            metric: self.metric,
            total: self.total.counted(),
            placers,
            changes: self.changes,
            more_changes: self.more_changes,
        }
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

/// What is counted of a group of cells.
fn counted() -> [Expr; 5] {
    let (old, new) = (|| col("old"), || col("new"));
    [
        len().alias("cells"),
        new().lt(old()).sum().alias("better"),
        new().eq(old()).sum().alias("equal"),
        new().gt(old()).sum().alias("worse"),
        col("ratio").alias("ratios"),
    ]
}

/// Groups from what is counted of them, each with its ratios.
fn groups(counted: DataFrame) -> PolarsResult<Vec<(QualityGroup, Vec<f64>)>> {
    let count = |name: &str| -> PolarsResult<Vec<usize>> {
        Ok(values::<u32>(&counted, name)?.into_iter().map(|count| count as usize).collect())
    };
    let (cells, better, equal, worse) = (count("cells")?, count("better")?, count("equal")?, count("worse")?);
    let (placers, ratios) = (values::<String>(&counted, "placer")?, lists(&counted, "ratios")?);
    let group = |(row, placer): (usize, String)| QualityGroup {
        cells: cells[row],
        better: better[row],
        equal: equal[row],
        worse: worse[row],
        placer,
        ..QualityGroup::default()
    };
    Ok(placers.into_iter().enumerate().map(group).zip(ratios).collect())
}

/// Log ratios by placer, one for each drawn instance. Schedulers of one placement are not independent of each other, so
/// they are averaged; repetitions that give the same values as another one of their scenario drew nothing new and count
/// once.
fn observations(compared: &DataFrame) -> PolarsResult<BTreeMap<String, Vec<f64>>> {
    let scenario = ["suite", "graph", "cluster", "network", "executor", "placer"];
    let instance = [&scenario[..], &["repetition", "seed"]].concat();
    let frame = compared.clone().lazy().group_by_stable(instance);
    let frame = frame.agg([col("scheduler"), col("old"), col("new"), col("ratio")]).collect()?;
    let names = scenario.map(|name| values::<String>(&frame, name));
    let names = names.into_iter().collect::<PolarsResult<Vec<_>>>()?;
    let placers = values::<String>(&frame, "placer")?;
    let [old, new, ratios] = ["old", "new", "ratio"].map(|name| lists(&frame, name));
    let (old, new, ratios, schedulers) = (old?, new?, ratios?, text_lists(&frame, "scheduler")?);
    let mut seen = BTreeSet::new();
    let mut observations: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (row, ratios) in ratios.iter().enumerate() {
        let scenario: Vec<&String> = names.iter().map(|column| &column[row]).collect();
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let Some(log_ratio) = mean(ratios.iter().map(|ratio| ratio.ln())) else { continue };
        if seen.insert((scenario, &schedulers[row], bits(&old[row]), bits(&new[row]))) {
            observations.entry(placers[row].clone()).or_default().push(log_ratio);
        }
    }
    Ok(observations)
}
