//! Changes of the numbers that do not depend on the clock: exact, since runs are deterministic.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;

use super::matching::Pair;
use super::statistics::{geometric_mean, holm, mean, signed_rank};
use crate::results::{CellKey, Metric};

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

/// A metric over the cells that are `ok` in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QualityComparison {
    /// The metric.
    pub metric: Metric,
    /// All cells together.
    pub total: QualityGroup,
    /// By placer, those that got worse most first.
    pub placers: Vec<QualityGroup>,
    /// All changed cells, those that got worse most first.
    pub changes: Vec<CellChange>,
}

/// A metric over a group of cells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QualityGroup {
    /// The placer; empty for all.
    pub placer: String,
    /// Cells with a value in both runs.
    pub cells: usize,
    /// Cells whose value got smaller.
    pub better: usize,
    /// Cells whose value is the same, bit by bit.
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

impl QualityComparison {
    /// Compares a metric over pairs of rows that are both `ok` and of one problem.
    pub(super) fn new(metric: Metric, pairs: &[&Pair<'_>]) -> Self {
        let values: Vec<Value<'_>> = pairs.iter().filter_map(|pair| Value::new(metric, pair)).collect();
        let mut by_placer: BTreeMap<&str, Vec<&Value<'_>>> = BTreeMap::new();
        for value in &values {
            by_placer.entry(&value.pair.id.placer).or_default().push(value);
        }
        let mut placers: Vec<QualityGroup> =
            by_placer.iter().map(|(placer, values)| QualityGroup::new(placer, values)).collect();
        correct(&mut placers);
        placers.sort_by(|a, b| descending(a.mean_ratio.unwrap_or(1.0), b.mean_ratio.unwrap_or(1.0)));
        let mut changes: Vec<CellChange> = values.iter().filter_map(Value::change).collect();
        changes.sort_by(|a, b| descending(a.ratio, b.ratio).then_with(|| a.cell.cmp(&b.cell)));
        let mut total = QualityGroup::new("", &values.iter().collect::<Vec<_>>());
        // Placers share the graphs, so their observations together are not independent.
        (total.p, total.p_holm, total.tested) = (None, None, 0);
        Self { metric, total, placers, changes }
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

pub(super) fn descending(a: f64, b: f64) -> Ordering {
    b.total_cmp(&a)
}

struct Value<'a> {
    pair: &'a Pair<'a>,
    old: f64,
    new: f64,
}

impl<'a> Value<'a> {
    fn new(metric: Metric, pair: &'a Pair<'a>) -> Option<Self> {
        Some(Self { pair, old: metric.value(pair.old)?, new: metric.value(pair.new)? })
    }

    fn ratio(&self) -> f64 {
        if self.old == self.new { 1.0 } else { self.new / self.old }
    }

    fn change(&self) -> Option<CellChange> {
        (self.old != self.new).then(|| CellChange {
            cell: self.pair.id.clone(),
            time_unit: self.pair.new.time_unit.clone(),
            old: self.old,
            new: self.new,
            ratio: self.ratio(),
        })
    }
}

impl QualityGroup {
    fn new(placer: &str, values: &[&Value<'_>]) -> Self {
        let count = |ordering| values.iter().filter(|v| v.new.partial_cmp(&v.old) == Some(ordering)).count();
        let finite = |ratio: &f64| ratio.is_finite() && *ratio > 0.0;
        let ratios: Vec<f64> = values.iter().map(|value| value.ratio()).collect();
        let worst = values.iter().copied().filter(|value| value.new != value.old);
        let worst = worst.reduce(|worst, next| if next.ratio() > worst.ratio() { next } else { worst });
        let test = signed_rank(&observations(values));
        Self {
            placer: placer.to_owned(),
            cells: values.len(),
            better: count(Ordering::Less),
            equal: count(Ordering::Equal),
            worse: count(Ordering::Greater),
            mean_ratio: geometric_mean(ratios.iter().copied().filter(finite)),
            zeros: ratios.iter().filter(|ratio| !finite(ratio)).count(),
            worst: worst.and_then(Value::change),
            tested: test.map_or(0, |test| test.pairs),
            p: test.map(|test| test.p),
            p_holm: None,
        }
    }
}

/// Log ratios, one for each placer and drawn instance. Schedulers of one placement are not independent of each other, so
/// they are averaged; repetitions that give the same values as another one of their scenario drew nothing new and count once.
fn observations(values: &[&Value<'_>]) -> Vec<f64> {
    let mut instances: BTreeMap<_, Vec<&Value<'_>>> = BTreeMap::new();
    for &value in values {
        let CellKey { suite, graph, cluster, network, placer, repetition, seed, .. } = &value.pair.id;
        let scenario = (suite, graph, cluster, network, placer);
        instances.entry((scenario, repetition, seed)).or_default().push(value);
    }
    let mut distinct: BTreeMap<_, f64> = BTreeMap::new();
    for ((scenario, ..), values) in instances {
        let bits: Vec<_> = values.iter().map(|v| (&v.pair.id.scheduler, v.old.to_bits(), v.new.to_bits())).collect();
        let Some(log_ratio) = mean(values.iter().map(|value| value.ratio().ln())) else { continue };
        distinct.insert((scenario, bits), log_ratio);
    }
    distinct.into_values().collect()
}
