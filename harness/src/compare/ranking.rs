//! Ranks algorithms over the instances that all of them finish.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde::Serialize;

use super::instances::{Candidates, Id, Instances, Reached};
use super::statistics::{geometric_mean, holm, mean, percentile_interval, signed_rank};
use super::{ComparisonError, RunTable};
use crate::results::Metric;

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

impl Ranking {
    /// Ranks the candidates of all runs together.
    ///
    /// # Errors
    /// If a cell is in the runs twice.
    ///
    /// # Complexity
    /// O(n log n) in the number of rows, and resamples · draws · candidates; memory for 16 bytes a candidate and some 70
    /// more, on each instance.
    pub fn new(runs: &[RunTable], options: &RankOptions) -> Result<Self, ComparisonError> {
        let instances = Instances::new(runs, options.by, options.metric)?;
        let candidates = 0..instances.names.len();
        let gap = |candidate| Some((candidate, gap(&instances, candidate, options.drop_failing)?));
        let mut gaps: Vec<(usize, Gap)> = candidates.clone().filter_map(gap).collect();
        let ranked: Vec<usize> =
            candidates.filter(|own| !gaps.iter().any(|(candidate, gap)| gap.dropped && candidate == own)).collect();
        gaps.sort_by_key(|(_, gap)| std::cmp::Reverse(gap.lacking()));
        let names: Vec<String> = ranked.iter().map(|&candidate| instances.names[candidate].clone()).collect();
        let mut common = Common { width: ranked.len(), ids: Vec::new(), ratios: Vec::new() };
        let mut zeros = 0;
        for (&id, reached) in instances.ids.iter().zip(&instances.reached) {
            let value = |&candidate: &usize| match reached[candidate] {
                Reached::Value(value) => Some(value),
                Reached::Nothing { .. } | Reached::NotRun => None,
            };
            match ranked.iter().map(value).collect::<Option<Vec<f64>>>() {
                Some(values) if values.iter().all(|&value| value > 0.0) => common.push(id, &values),
                Some(_) => zeros += 1,
                None => {}
            }
        }
        let count = instances.ids.len();
        drop(instances);
        let draws = draws(&common);
        let mut entries = entries(&names, &common, &draws, options);
        entries.sort_by(|a, b| a.mean_ratio.total_cmp(&b.mean_ratio).then_with(|| a.name.cmp(&b.name)));
        let mut ranking = Self {
            by: options.by,
            metric: options.metric,
            instances: count,
            common: common.ids.len(),
            zeros,
            entries,
            gaps: gaps.into_iter().map(|(_, gap)| gap).collect(),
        };
        ranking.test(&names, &draws);
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
                ((draw.graph, own.to_bits(), first.to_bits()), own - first)
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

/// The instances on which every ranked candidate has a result above 0.
struct Common {
    /// Number of candidates.
    width: usize,
    ids: Vec<Id>,
    /// Logarithms of value / least value, by instance, then by candidate.
    ratios: Vec<f64>,
}

impl Common {
    fn push(&mut self, id: Id, values: &[f64]) {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let ratio = |value: &f64| if *value <= least * (1.0 + TIE) { 0.0 } else { (value / least).ln() };
        self.ids.push(id);
        self.ratios.extend(values.iter().map(ratio));
    }

    /// The ratios of an instance.
    fn of(&self, instance: usize) -> &[f64] {
        &self.ratios[instance * self.width..][..self.width]
    }
}

fn gap(instances: &Instances, candidate: usize, drop_failing: Option<f64>) -> Option<Gap> {
    let name = instances.names[candidate].clone();
    let mut gap = Gap { name, failed: BTreeMap::new(), not_run: 0, dropped: false };
    let mut failed: BTreeMap<u32, usize> = BTreeMap::new();
    for reached in &instances.reached {
        match reached[candidate] {
            Reached::NotRun => gap.not_run += 1,
            Reached::Nothing { why, .. } => *failed.entry(why).or_default() += 1,
            Reached::Value(_) => {}
        }
    }
    gap.failed = failed.into_iter().map(|(why, count)| (instances.why(why).to_owned(), count)).collect();
    let share = gap.lacking() as f64 / instances.ids.len() as f64;
    gap.dropped = drop_failing.is_some_and(|most| share > most);
    (gap.lacking() > 0).then_some(gap)
}

/// Instances that share a drawn graph: what the bootstrap takes or leaves together.
struct Draw {
    /// Suite and graph.
    graph: (u32, u32),
    /// Sums of log ratios over the instances, by candidate.
    sums: Vec<f64>,
    instances: usize,
}

/// The instances by graph and repetition. Repetitions of a graph that gave every candidate the same are one draw: they drew
/// nothing new.
fn draws(common: &Common) -> Vec<Draw> {
    let mut by_repetition: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (instance, id) in common.ids.iter().enumerate() {
        by_repetition.entry((id.suite, id.graph, id.repetition, id.seed)).or_default().push(instance);
    }
    let mut distinct: BTreeMap<_, Draw> = BTreeMap::new();
    for ((suite, graph, ..), instances) in by_repetition {
        let ratios = || instances.iter().flat_map(|&instance| common.of(instance));
        let bits: Vec<u64> = ratios().map(|ratio| ratio.to_bits()).collect();
        let graph = (suite, graph);
        let draw = distinct.entry((graph, bits)).or_insert_with(|| Draw {
            graph,
            sums: vec![0.0; common.width],
            instances: 0,
        });
        for &instance in &instances {
            draw.sums.iter_mut().zip(common.of(instance)).for_each(|(sum, ratio)| *sum += ratio);
        }
        draw.instances += instances.len();
    }
    distinct.into_values().collect()
}

/// The geometric mean ratio of each candidate in resamples of the draws, ascending; nothing of a single draw, which says
/// nothing about others. As [`bootstrap`](super::statistics::bootstrap) of one group, in one pass over the draws a resample.
///
/// # Complexity
/// O(resamples · draws · candidates).
fn resampled(draws: &[Draw], candidates: usize, options: &RankOptions) -> Vec<Vec<f64>> {
    if draws.len() < 2 || candidates == 0 {
        return vec![Vec::new(); candidates];
    }
    let mut random = Pcg64::seed_from_u64(options.seed);
    let sums: Vec<f64> = draws.iter().flat_map(|draw| draw.sums.iter().copied()).collect();
    let mut found = vec![Vec::with_capacity(options.resamples); candidates];
    let mut times = vec![0u32; draws.len()];
    for _ in 0..options.resamples {
        times.fill(0);
        draws.iter().for_each(|_| times[random.random_range(0..draws.len())] += 1);
        let mut totals = vec![0.0; candidates];
        let mut instances = 0.0;
        for ((&times, draw), sums) in times.iter().zip(draws).zip(sums.chunks_exact(candidates)) {
            let times = f64::from(times);
            totals.iter_mut().zip(sums).for_each(|(total, sum)| *total += times * sum);
            instances += times * draw.instances as f64;
        }
        found.iter_mut().zip(totals).for_each(|(found, total)| found.push((total / instances).exp()));
    }
    found.iter_mut().for_each(|means| means.sort_unstable_by(f64::total_cmp));
    found
}

fn entries(names: &[String], common: &Common, draws: &[Draw], options: &RankOptions) -> Vec<RankEntry> {
    let instances = || (0..common.ids.len()).map(|instance| common.of(instance));
    let entry = |((column, name), means): ((usize, &String), Vec<f64>)| {
        let rank = |ratios: &[f64]| {
            let better = ratios.iter().filter(|&&ratio| ratio < ratios[column]).count();
            let equal = ratios.iter().filter(|&&ratio| ratio == ratios[column]).count();
            better as f64 + (equal as f64 + 1.0) / 2.0
        };
        let mean_ratio = geometric_mean(instances().map(|ratios| ratios[column].exp()))?;
        let (low, high) = percentile_interval(&means, TAIL).unwrap_or((mean_ratio, mean_ratio));
        Some(RankEntry {
            name: name.clone(),
            mean_ratio,
            low,
            high,
            mean_rank: mean(instances().map(rank))?,
            wins: instances().filter(|ratios| ratios[column] == 0.0).count(),
            p_holm: None,
        })
    };
    names.iter().enumerate().zip(resampled(draws, names.len(), options)).filter_map(entry).collect()
}
