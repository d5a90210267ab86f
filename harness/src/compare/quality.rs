//! Changes of the numbers that do not depend on the clock: exact, since runs are deterministic. Of measured cells, of those
//! beyond the noise.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use polars::prelude::*;
use serde::Serialize;

use super::statistics::{descending, holm, mean, signed_rank};
use super::time::LEAST_NOISE;
use crate::execute::ExecutorName;
use crate::results::{CellKey, Codes, Metric, cell_keys, values};

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
    /// Sum over the cells whose ratio has one.
    logarithms: f64,
}

impl Counts {
    fn add(&mut self, old: f64, new: f64, ratio: f64) {
        self.group.cells += 1;
        self.group.better += usize::from(new < old);
        self.group.equal += usize::from(new == old);
        self.group.worse += usize::from(new > old);
        match ratio.is_finite() && ratio > 0.0 {
            true => self.logarithms += ratio.ln(),
            false => self.group.zeros += 1,
        }
    }

    fn worst(&mut self, change: &CellChange) {
        let is_worse = |worst: &CellChange| worst_first(change, worst).is_lt();
        if self.group.worst.as_ref().is_none_or(is_worse) {
            self.group.worst = Some(change.clone());
        }
    }

    fn counted(self) -> QualityGroup {
        let ratios = self.group.cells - self.group.zeros;
        let mean_ratio = (ratios > 0).then(|| (self.logarithms / ratios as f64).exp());
        QualityGroup { mean_ratio, ..self.group }
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
        let both = pairs
            .clone()
            .lazy()
            .with_columns([col(metric.column()).alias("old"), col(format!("{}_new", metric.column())).alias("new")])
            .filter(old.is_not_null().and(new.is_not_null()));
        let both = match noise_of(metric) {
            Noise::None => both,
            Noise::Unknown => both.filter(is_measured().not()),
            Noise::OfMakespan => {
                let kept = is_measured().not().or(is_beyond_noise());
                let new = when(kept).then(col("new")).otherwise(col("old")).alias("new");
                both.filter(is_measured().not().or(is_repeated())).with_column(new)
            }
        };
        let compared = both.with_column(ratio.alias("ratio")).collect()?;
        let mut names = Codes::default();
        let placers = names.of(&compared, "placer")?;
        let [old, new, ratios] = ["old", "new", "ratio"].map(|name| values::<f64>(&compared, name));
        let (old, new, ratios) = (old?, new?, ratios?);
        let mut counts: Vec<Counts> =
            names.names().iter().map(|name| self.placers.remove(&**name).unwrap_or_default()).collect();
        for (row, &placer) in placers.iter().enumerate() {
            for counts in [&mut counts[placer as usize], &mut self.total] {
                counts.add(old[row], new[row], ratios[row]);
            }
        }
        self.placers.extend(names.names().iter().map(|name| name.to_string()).zip(counts));
        for (placer, ratios) in observations(&compared, (&old, &new, &ratios))? {
            self.observations.entry(placer).or_default().extend(ratios);
        }
        let changes = changes(&compared)?;
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

/// Log ratios by placer, one for each drawn instance. Schedulers of one placement are not independent of each other, so
/// they are averaged; repetitions that give the same values as another one of their scenario drew nothing new and count
/// once.
fn observations(
    compared: &DataFrame,
    (old, new, ratios): (&[f64], &[f64], &[f64]),
) -> PolarsResult<BTreeMap<String, Vec<f64>>> {
    const SCENARIO: [&str; 6] = ["suite", "graph", "cluster", "network", "executor", "placer"];
    let mut names: [Codes; SCENARIO.len()] = Default::default();
    let codes = names.iter_mut().zip(SCENARIO).map(|(names, column)| names.of(compared, column));
    let codes = codes.collect::<PolarsResult<Vec<_>>>()?;
    let schedulers = Codes::default().of(compared, "scheduler")?;
    let (repetitions, seeds) = (values::<u32>(compared, "repetition")?, values::<u64>(compared, "seed")?);
    let scenario = |row: usize| -> [u32; SCENARIO.len()] { std::array::from_fn(|column| codes[column][row]) };
    let mut order: Vec<usize> = (0..ratios.len()).collect();
    order.sort_by_key(|&row| (scenario(row), repetitions[row], seeds[row]));
    let mut observations: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for of_scenario in order.chunk_by(|&a, &b| scenario(a) == scenario(b)) {
        let placer = names[SCENARIO.len() - 1].name(scenario(of_scenario[0])[SCENARIO.len() - 1]);
        let own = observations.entry(placer.to_string()).or_default();
        let mut seen = BTreeSet::new();
        for rows in of_scenario.chunk_by(|&a, &b| (repetitions[a], seeds[a]) == (repetitions[b], seeds[b])) {
            let drawn: Vec<(u32, u64, u64)> =
                rows.iter().map(|&row| (schedulers[row], old[row].to_bits(), new[row].to_bits())).collect();
            let log_ratio = mean(rows.iter().map(|&row| ratios[row].ln()));
            own.extend(log_ratio.filter(|_| seen.insert(drawn)));
        }
    }
    Ok(observations)
}
