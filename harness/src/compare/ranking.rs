//! Ranks algorithms over the instances that all of them finish.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use placebench_algorithms::ONLINE;
use polars::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde::Serialize;

use super::matching::cells;
use super::statistics::{bootstrap, geometric_mean, holm, mean, percentile_interval, signed_rank};
use super::{ComparisonError, RunTable};
use crate::results::{CELL, CellKey, Metric, Status, Table, cell_keys, values};

/// What is ranked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Candidates {
    /// Placers, each with its best scheduler on the instance.
    Placer,
    /// Schedulers, over the placements of all placers. `static` and `online` are left out: they run only with some placers.
    Scheduler,
    /// Placers with schedulers.
    Pair,
}

/// What to rank, by what, over what.
#[derive(Clone, Debug, PartialEq)]
pub struct RankOptions {
    /// What is ranked.
    pub by: Candidates,
    /// The number.
    pub metric: Metric,
    /// Candidates without a result on more than this share of the instances do not take part; `None` keeps all.
    pub drop_failing: Option<f64>,
    /// Resamples of the bootstrap.
    pub resamples: usize,
    /// Seed of the bootstrap.
    pub seed: u64,
}

impl Default for RankOptions {
    fn default() -> Self {
        Self { by: Candidates::Placer, metric: Metric::Makespan, drop_failing: None, resamples: 10_000, seed: 0 }
    }
}

/// Share of the resampled means beyond each end of an interval: 95 % confidence.
const TAIL: f64 = 0.025;

/// Values this close are equal: simulations that add the same times in another order differ by rounding.
const TIE: f64 = 1e-9;

/// A ranking.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranking {
    /// What is ranked.
    pub by: Candidates,
    /// The number.
    pub metric: Metric,
    /// Instances in the runs.
    pub instances: usize,
    /// Instances that count: every ranked candidate has a result.
    pub common: usize,
    /// Instances left out because a candidate's number is 0 there, so that there is no ratio.
    pub zeros: usize,
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
    /// Geometric mean of its number / the best candidate's, instance by instance.
    pub mean_ratio: f64,
    /// Lower end of the confidence interval of that.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Mean rank, from 1; candidates that tie share the mean of their ranks.
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
    /// Instances without a result, by the status of its cells there.
    pub failed: BTreeMap<String, usize>,
    /// Instances on which it was not run.
    pub not_run: usize,
    /// Whether it does not take part because of them.
    pub dropped: bool,
}

impl Gap {
    /// Instances without a result.
    pub fn lacking(&self) -> usize {
        self.failed.values().sum::<usize>() + self.not_run
    }
}

/// Values of one instance, by candidate: `Err` with the status of a failed cell.
type Values = BTreeMap<Arc<str>, Result<f64, Arc<str>>>;

impl Ranking {
    /// Ranks the candidates of all runs together.
    ///
    /// # Errors
    /// If a cell is in the runs twice.
    ///
    /// # Complexity
    /// O(n log n) in the number of rows, and resamples · draws · candidates.
    pub fn new(runs: &[RunTable], options: &RankOptions) -> Result<Self, ComparisonError> {
        let instances = instances(runs, options)?;
        let names: BTreeSet<&Arc<str>> = instances.values().flat_map(BTreeMap::keys).collect();
        let mut names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
        let mut gaps: Vec<Gap> = names.iter().filter_map(|name| gap(name, &instances, options.drop_failing)).collect();
        gaps.sort_by_key(|gap| std::cmp::Reverse(gap.lacking()));
        names.retain(|name| !gaps.iter().any(|gap| gap.dropped && gap.name == *name));
        let mut common = Vec::new();
        let mut zeros = 0;
        for (id, values) in &instances {
            let finished = names.iter().map(|name| values.get(name.as_str())?.as_ref().ok().copied());
            match finished.collect::<Option<Vec<f64>>>() {
                Some(values) if values.iter().all(|&value| value > 0.0) => common.push((id, log_ratios(&values))),
                Some(_) => zeros += 1,
                None => {}
            }
        }
        let mut entries = entries(&names, &common, options);
        entries.sort_by(|a, b| a.mean_ratio.total_cmp(&b.mean_ratio).then_with(|| a.name.cmp(&b.name)));
        let mut ranking = Self {
            by: options.by,
            metric: options.metric,
            instances: instances.len(),
            common: common.len(),
            zeros,
            entries,
            gaps,
        };
        ranking.test(&names, &draws(&common));
        Ok(ranking)
    }

    /// Compares every candidate with the first.
    fn test(&mut self, names: &[String], draws: &[Draw]) {
        let column = |name: &str| names.iter().position(|known| known == name);
        let Some(first) = self.entries.first().and_then(|entry| column(&entry.name)) else { return };
        let p_value = |name: &str| {
            let own = column(name)?;
            // Draws that differ only in what other candidates made of them are one observation of these two.
            let difference = |draw: &Draw| {
                let (own, first) = (draw.sums[own] / draw.instances as f64, draw.sums[first] / draw.instances as f64);
                ((draw.graph.clone(), own.to_bits(), first.to_bits()), own - first)
            };
            let distinct: BTreeMap<_, f64> = draws.iter().map(difference).collect();
            Some(signed_rank(&distinct.into_values().collect::<Vec<_>>())?.p)
        };
        let tested: Vec<(usize, f64)> =
            self.entries.iter().enumerate().filter_map(|(index, entry)| Some((index, p_value(&entry.name)?))).collect();
        let corrected = holm(&tested.iter().map(|&(_, p)| p).collect::<Vec<_>>());
        for ((index, _), p) in tested.into_iter().zip(corrected) {
            self.entries[index].p_holm = Some(p);
        }
    }
}

/// The least value of each candidate on each instance. An instance's identity leaves out what the candidates differ in.
fn instances(runs: &[RunTable], options: &RankOptions) -> Result<BTreeMap<CellKey, Values>, ComparisonError> {
    let mut instances = BTreeMap::new();
    let mut texts = BTreeSet::new();
    let tables: Vec<&Table> = runs.iter().map(|run| &run.table).collect();
    for part in Table::aligned(&tables) {
        let mut all = Vec::new();
        for (run, rows) in runs.iter().zip(&part) {
            let cells = cells(&run.name, rows, &[options.metric], false)?;
            all.push(cells.lazy().with_column(lit(run.name.as_str()).alias("run")));
        }
        let all = concat(all, UnionArgs::default())?.collect()?.lazy();
        if let Some(twice) = first_duplicate(&all)? {
            return Err(twice);
        }
        add_instances(all, options, &mut instances, &mut texts)?;
    }
    Ok(instances)
}

/// The one copy of a text that many instances have.
fn shared(text: &str, texts: &mut BTreeSet<Arc<str>>) -> Arc<str> {
    if let Some(known) = texts.get(text) {
        return Arc::clone(known);
    }
    let text: Arc<str> = text.into();
    texts.insert(Arc::clone(&text));
    text
}

/// Adds the instances of the rows of some graphs.
fn add_instances(
    all: LazyFrame,
    options: &RankOptions,
    instances: &mut BTreeMap<CellKey, Values>,
    texts: &mut BTreeSet<Arc<str>>,
) -> PolarsResult<()> {
    let (differ, left_out) = match options.by {
        Candidates::Placer => (&["placer"][..], lit(false)),
        Candidates::Scheduler => {
            (&["scheduler"][..], col("scheduler").eq(lit("static")).or(col("scheduler").eq(lit(ONLINE))))
        }
        Candidates::Pair => (&["placer", "scheduler"][..], lit(false)),
    };
    let same: Vec<&str> = match options.by {
        Candidates::Scheduler => CELL.into_iter().filter(|name| *name != "scheduler").collect(),
        _ => CELL.into_iter().filter(|name| !["placer", "scheduler"].contains(name)).collect(),
    };
    let metric = options.metric.column();
    let failed = col("status").neq(lit(Status::Ok.name()));
    let why = when(failed).then(col("status")).otherwise(lit(format!("no {metric}")));
    let frame = all
        .filter(left_out.not())
        .sort(CELL, SortMultipleOptions::default())
        .group_by_stable([&same[..], differ].concat())
        .agg([col(metric).min().alias("value"), why.first().alias("why")])
        .collect()?;
    let identities = frame.clone().lazy().with_columns(
        CELL.into_iter().filter(|name| !same.contains(name)).map(|name| lit("").alias(name)).collect::<Vec<_>>(),
    );
    let names = differ.iter().map(|name| values::<String>(&frame, name)).collect::<PolarsResult<Vec<_>>>()?;
    let results = values::<Option<f64>>(&frame, "value")?.into_iter().zip(values::<String>(&frame, "why")?);
    for (row, (id, (value, why))) in cell_keys(&identities.collect()?)?.into_iter().zip(results).enumerate() {
        let candidate = names.iter().map(|column| column[row].as_str()).collect::<Vec<_>>().join(" + ");
        let result = value.ok_or_else(|| shared(&why, texts));
        instances.entry(id).or_default().insert(shared(&candidate, texts), result);
    }
    Ok(())
}

/// The error that names the first cell that is in two runs.
fn first_duplicate(all: &LazyFrame) -> PolarsResult<Option<ComparisonError>> {
    let runs = [col("run").first(), col("run").last().alias("other"), len().alias("rows")];
    let twice = all.clone().group_by_stable(CELL).agg(runs).filter(col("rows").gt(lit(1))).collect()?;
    let runs = values::<String>(&twice, "run")?.into_iter().zip(values::<String>(&twice, "other")?);
    Ok(cell_keys(&twice)?.into_iter().zip(runs).next().map(|(cell, (run, other))| ComparisonError::Duplicate {
        run: format!("{run} and {other}"),
        cell: Box::new(cell),
    }))
}

fn gap(name: &str, instances: &BTreeMap<CellKey, Values>, drop_failing: Option<f64>) -> Option<Gap> {
    let mut gap = Gap { name: name.to_owned(), failed: BTreeMap::new(), not_run: 0, dropped: false };
    for values in instances.values() {
        match values.get(name) {
            None => gap.not_run += 1,
            Some(Err(status)) => *gap.failed.entry(status.to_string()).or_default() += 1,
            Some(Ok(_)) => {}
        }
    }
    let share = gap.lacking() as f64 / instances.len() as f64;
    gap.dropped = drop_failing.is_some_and(|most| share > most);
    (gap.lacking() > 0).then_some(gap)
}

/// Logarithms of value / least value.
fn log_ratios(values: &[f64]) -> Vec<f64> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    values.iter().map(|value| if *value <= least * (1.0 + TIE) { 0.0 } else { (value / least).ln() }).collect()
}

/// Instances that share a drawn graph: what the bootstrap takes or leaves together.
struct Draw {
    /// Suite and graph.
    graph: (String, String),
    /// Sums of log ratios over the instances, by candidate.
    sums: Vec<f64>,
    instances: usize,
}

/// The instances by graph and repetition. Repetitions of a graph that gave every candidate the same are one draw: they drew
/// nothing new.
fn draws(common: &[(&CellKey, Vec<f64>)]) -> Vec<Draw> {
    let mut by_repetition: BTreeMap<_, Vec<&Vec<f64>>> = BTreeMap::new();
    for (id, ratios) in common {
        by_repetition.entry((&id.suite, &id.graph, id.repetition, id.seed)).or_default().push(ratios);
    }
    let mut distinct: BTreeMap<_, Draw> = BTreeMap::new();
    for ((suite, graph, ..), rows) in by_repetition {
        let bits: Vec<u64> = rows.iter().flat_map(|row| row.iter().map(|ratio| ratio.to_bits())).collect();
        let candidates = rows[0].len();
        let draw = distinct.entry((suite, graph, bits)).or_insert_with(|| Draw {
            graph: (suite.clone(), graph.clone()),
            sums: vec![0.0; candidates],
            instances: 0,
        });
        for row in &rows {
            draw.sums.iter_mut().zip(*row).for_each(|(sum, ratio)| *sum += ratio);
        }
        draw.instances += rows.len();
    }
    distinct.into_values().collect()
}

fn entries(names: &[String], common: &[(&CellKey, Vec<f64>)], options: &RankOptions) -> Vec<RankEntry> {
    let draws = draws(common);
    let mut random = Pcg64::seed_from_u64(options.seed);
    let means = |sample: &[Vec<&Draw>]| -> Vec<f64> {
        let drawn = || sample.iter().flatten();
        let instances: usize = drawn().map(|draw| draw.instances).sum();
        let mean = |column: usize| drawn().map(|draw| draw.sums[column]).sum::<f64>() / instances as f64;
        (0..names.len()).map(|column| mean(column).exp()).collect()
    };
    let below = |count: usize| random.random_range(0..count);
    let resampled = bootstrap(&[draws.iter().collect()], options.resamples, below, means);
    let entry = |(column, name): (usize, &String)| {
        let own = || common.iter().map(|(_, ratios)| ratios[column]);
        let rank = |(_, ratios): &(&CellKey, Vec<f64>)| {
            let better = ratios.iter().filter(|&&ratio| ratio < ratios[column]).count();
            let equal = ratios.iter().filter(|&&ratio| ratio == ratios[column]).count();
            better as f64 + (equal as f64 + 1.0) / 2.0
        };
        let mean_ratio = geometric_mean(own().map(f64::exp))?;
        // A single draw says nothing about others.
        let interval = resampled.get(column).and_then(|means| percentile_interval(means, TAIL));
        let (low, high) = interval.unwrap_or((mean_ratio, mean_ratio));
        Some(RankEntry {
            name: name.clone(),
            mean_ratio,
            low,
            high,
            mean_rank: mean(common.iter().map(rank))?,
            wins: own().filter(|&ratio| ratio == 0.0).count(),
            p_holm: None,
        })
    };
    names.iter().enumerate().filter_map(entry).collect()
}
