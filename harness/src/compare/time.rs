//! Changes of wall-clock seconds, judged against the noise that the repetitions show.

use std::collections::BTreeMap;

use polars::prelude::*;
use serde::Serialize;

use crate::results::{Codes, Metric, values};
use crate::statistics::{descending, mean, median, t_exceeded};

/// What is timed: placing, by placer, and simulating, by scheduler.
pub const TIMED: [Metric; 2] = [Metric::PlaceSeconds, Metric::SimulateSeconds];

/// Chance that noise alone, within this model of it, makes any change of a comparison count.
pub const FALSE_ALARM: f64 = 0.01;

/// No change below this factor counts, however small the noise: what differs between two runs as a whole (the build, the
/// layout of memory, the room's temperature) does not show in repetitions.
pub const LEAST_NOISE: f64 = 1.05;

/// The noise of all algorithms counts like this many degrees of freedom of an algorithm's own: with few repetitions an algorithm's
/// own scatter says little, and one that is noisier than others must not be judged by them alone (a moderated t-statistic).
const PRIOR_FREEDOM: f64 = 10.0;

/// With fewer pairs than this a single place is not judged: one of two times is too easily an outlier.
const LEAST_PAIRS: usize = 3;

/// The median of three or more normal values scatters so much more than their mean.
const MEDIAN_TO_MEAN: f64 = 1.253_314_137_315_5;

/// Seconds of one kind in two runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeComparison {
    /// What was timed.
    pub metric: Metric,
    /// Geometric mean of new / old over all.
    pub mean_ratio: f64,
    /// Placers, or schedulers: geometric means over their groups, the slowest first.
    pub algorithms: Vec<TimeChange>,
    /// One placer on one graph and cluster (and scheduler and network model, where simulations are timed), the slowest first.
    pub groups: Vec<TimeChange>,
}

/// A time in two runs, and what noise alone can do to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimeChange {
    /// What was timed.
    pub metric: Metric,
    /// The placer or scheduler.
    pub algorithm: String,
    /// Where: empty for the algorithm as a whole.
    pub place: String,
    /// Seconds in the old run: the median over the repetitions, or the sum of these medians over the groups.
    pub old_seconds: f64,
    /// The same in the new run.
    pub new_seconds: f64,
    /// New / old: the median of the repetitions' ratios, or the geometric mean of these over the groups.
    pub ratio: f64,
    /// The least ratio of a repetition; of the algorithm as a whole, of a group.
    pub least: f64,
    /// The factor that noise can make; `None` if the runs have nothing to estimate it from.
    pub noise: Option<f64>,
    /// Pairs of times.
    pub pairs: usize,
}

impl TimeChange {
    /// Whether the new run is slower by more than `limit` and by more than the noise; in one place, also in the repetition that
    /// changed least by more than the limit's square root.
    pub fn is_slower_than(&self, limit: f64) -> bool {
        let slower = self.ratio > limit && self.noise.is_some_and(|noise| self.ratio > noise);
        slower && (self.place.is_empty() || self.pairs >= LEAST_PAIRS && self.least > limit.sqrt())
    }
}

/// The repetitions of one group: old and new seconds.
type Times = Vec<(f64, f64)>;

/// The times of matched cells.
pub(super) struct Timed {
    least_seconds: f64,
    groups: [BTreeMap<(String, String), Times>; TIMED.len()],
}

impl Timed {
    /// None yet. Times below `least_seconds` will count as that.
    pub(super) fn new(least_seconds: f64) -> Self {
        Self { least_seconds, groups: Default::default() }
    }

    /// Adds matched cells: all of some graphs on their clusters.
    pub(super) fn add(&mut self, pairs: &DataFrame) -> PolarsResult<()> {
        for (metric, groups) in TIMED.into_iter().zip(&mut self.groups) {
            groups.extend(grouped(metric, pairs, self.least_seconds)?);
        }
        Ok(())
    }

    /// Compares both kinds.
    pub(super) fn compared(self) -> Vec<TimeComparison> {
        let tests = self.groups.iter().map(|groups| groups.len() + algorithms(groups).len()).sum();
        let all = TIMED.into_iter().zip(&self.groups);
        all.filter_map(|(metric, groups)| TimeComparison::new(metric, groups, tests)).collect()
    }
}

impl TimeComparison {
    fn new(metric: Metric, groups: &BTreeMap<(String, String), Times>, tests: usize) -> Option<Self> {
        let noise = Noise::new(groups, tests);
        let mut changes = Vec::new();
        for ((algorithm, place), times) in groups {
            let seconds = |side: fn(&(f64, f64)) -> f64| median(&times.iter().map(side).collect::<Vec<_>>());
            changes.push(TimeChange {
                metric,
                algorithm: algorithm.clone(),
                place: place.clone(),
                old_seconds: seconds(|times| times.0)?,
                new_seconds: seconds(|times| times.1)?,
                ratio: median(&log_ratios(times))?.exp(),
                least: times.iter().map(|(old, new)| new / old).fold(f64::INFINITY, f64::min),
                noise: noise.factor(algorithm, noise.error(algorithm, times.len())),
                pairs: times.len(),
            });
        }
        let mut wholes = Vec::new();
        for algorithm in algorithms(groups) {
            let own: Vec<&TimeChange> = changes.iter().filter(|change| change.algorithm == algorithm).collect();
            let errors: Option<Vec<f64>> = own.iter().map(|change| noise.error(algorithm, change.pairs)).collect();
            let error = errors.map(|errors| errors.iter().map(|e| e * e).sum::<f64>().sqrt() / own.len() as f64);
            wholes.push(TimeChange {
                metric,
                algorithm: algorithm.to_owned(),
                place: String::new(),
                old_seconds: own.iter().map(|change| change.old_seconds).sum(),
                new_seconds: own.iter().map(|change| change.new_seconds).sum(),
                ratio: mean(own.iter().map(|change| change.ratio.ln()))?.exp(),
                least: own.iter().map(|change| change.ratio).fold(f64::INFINITY, f64::min),
                noise: noise.factor(algorithm, error),
                pairs: own.iter().map(|change| change.pairs).sum(),
            });
        }
        let mean_ratio = mean(changes.iter().map(|change| change.ratio.ln()))?.exp();
        for list in [&mut changes, &mut wholes] {
            list.sort_by(|a, b| descending(a.ratio, b.ratio));
        }
        Some(Self { metric, mean_ratio, algorithms: wholes, groups: changes })
    }
}

fn algorithms(groups: &BTreeMap<(String, String), Times>) -> Vec<&str> {
    let mut names: Vec<&str> = groups.keys().map(|(algorithm, _)| algorithm.as_str()).collect();
    names.dedup();
    names
}

fn log_ratios(times: &Times) -> Vec<f64> {
    times.iter().map(|(old, new)| (new / old).ln()).collect()
}

/// What tells groups of times apart: of placing the first three.
const PLACE: [&str; 6] = ["graph", "cluster", "placer", "scheduler", "network", "executor"];

/// The distinct times by algorithm and place. A placement is timed once for all the schedulers and networks that it is judged
/// under: rows that repeat a pair of times of their repetition are one observation.
fn grouped(metric: Metric, pairs: &DataFrame, least_seconds: f64) -> PolarsResult<BTreeMap<(String, String), Times>> {
    let simulated = metric == Metric::SimulateSeconds;
    let group = if simulated { &PLACE[..] } else { &PLACE[..3] };
    let frame = pairs
        .clone()
        .lazy()
        .with_columns([col(metric.column()).alias("old"), col(format!("{}_new", metric.column())).alias("new")])
        .filter(col("old").is_not_null().and(col("new").is_not_null()))
        .select(
            [
                group.iter().map(|&name| col(name)).collect(),
                ["repetition", "seed", "numbering", "old", "new"].map(col).to_vec(),
            ]
            .concat(),
        )
        .collect()?;
    let mut names: [Codes; PLACE.len()] = Default::default();
    let mut codes = vec![[0; PLACE.len()]; frame.height()];
    for (column, &name) in group.iter().enumerate() {
        let own = names[column].of(&frame, name)?;
        codes.iter_mut().zip(own).for_each(|(codes, code)| codes[column] = code);
    }
    let draws = values::<u32>(&frame, "repetition")?.into_iter().zip(values::<u64>(&frame, "seed")?);
    let draws = draws.zip(values::<u32>(&frame, "numbering")?);
    let [old, new] = ["old", "new"].map(|name| values::<f64>(&frame, name));
    let seconds = old?.into_iter().zip(new?);
    let mut times: Vec<_> = codes.into_iter().zip(draws).zip(seconds).collect();
    times.sort_by(|(a, (a_old, a_new)), (b, (b_old, b_new))| {
        a.cmp(b).then(a_old.total_cmp(b_old)).then(a_new.total_cmp(b_new))
    });
    times.dedup();
    let mut grouped = BTreeMap::new();
    for own in times.chunk_by(|((a, _), _), ((b, _), _)| a == b) {
        let codes = own[0].0.0;
        let name = |column: usize| names[column].name(codes[column]);
        let place = format!("{}@{}", name(0), name(1));
        let key = match simulated {
            true => (name(3).to_string(), format!("{place}/{} by {}", name(4), name(2))),
            false => (name(2).to_string(), place),
        };
        let at_least = |&(_, (old, new)): &(_, (f64, f64))| (old.max(least_seconds), new.max(least_seconds));
        grouped.entry(key).or_insert_with(Vec::new).extend(own.iter().map(at_least));
    }
    Ok(grouped)
}

/// The scatter of log ratios.
///
/// The ratio of a repetition's two times does not depend on how hard its instance is, so that its scatter around the group's
/// mean is noise, also where repetitions draw other graphs. It is pooled over the groups of an algorithm and moderated by that of
/// all. Without repetitions, the scatter between the groups of an algorithm takes its place: it can only be larger.
///
/// # Reference
/// G. K. Smyth, *Linear models and empirical Bayes methods for assessing differential expression in microarray experiments*,
/// Statistical Applications in Genetics and Molecular Biology 3(1), 2004; here the prior's weight is given, not fitted.
struct Noise {
    own: BTreeMap<String, Scatter>,
    all: Scatter,
    tests: usize,
}

/// A sum of squares and its degrees of freedom.
#[derive(Clone, Copy, Default)]
struct Scatter {
    squares: f64,
    freedom: f64,
}

impl Scatter {
    fn add(&mut self, values: &[f64]) {
        let Some(center) = mean(values.iter().copied()) else { return };
        self.squares += values.iter().map(|value| (value - center).powi(2)).sum::<f64>();
        self.freedom += values.len() as f64 - 1.0;
    }
}

impl Noise {
    fn new(groups: &BTreeMap<(String, String), Times>, tests: usize) -> Self {
        let (mut within, mut medians): (BTreeMap<String, Scatter>, BTreeMap<String, Vec<f64>>) = Default::default();
        for ((algorithm, _), times) in groups {
            let ratios = log_ratios(times);
            within.entry(algorithm.clone()).or_default().add(&ratios);
            medians.entry(algorithm.clone()).or_default().extend(median(&ratios));
        }
        if within.values().all(|scatter| scatter.freedom == 0.0) {
            for (algorithm, medians) in &medians {
                within.entry(algorithm.clone()).or_default().add(medians);
            }
        }
        let sum = |all: Scatter, own: &Scatter| Scatter {
            squares: all.squares + own.squares,
            freedom: all.freedom + own.freedom,
        };
        let all = within.values().fold(Scatter::default(), sum);
        Self { own: within, all, tests }
    }

    /// An algorithm's own scatter with that of all others as a prior; `None` if there is neither.
    fn scatter(&self, algorithm: &str) -> Option<Scatter> {
        let own = self.own.get(algorithm).copied().unwrap_or_default();
        let others = self.all.freedom - own.freedom;
        let prior = PRIOR_FREEDOM.min(others);
        let squares = if others > 0.0 { prior * (self.all.squares - own.squares) / others } else { 0.0 };
        let moderated = Scatter { squares: own.squares + squares, freedom: own.freedom + prior };
        (moderated.freedom > 0.0).then_some(moderated)
    }

    /// Standard error of the median of `pairs` log ratios; `None` without repetitions.
    fn error(&self, algorithm: &str, pairs: usize) -> Option<f64> {
        let Scatter { squares, freedom } = self.scatter(algorithm)?;
        let of_median = if pairs < 3 { 1.0 } else { MEDIAN_TO_MEAN };
        Some(of_median * (squares / freedom / pairs as f64).sqrt())
    }

    /// The factor that noise of this standard error exceeds in less than [`FALSE_ALARM`] of comparisons.
    fn factor(&self, algorithm: &str, error: Option<f64>) -> Option<f64> {
        let quantile = t_exceeded(FALSE_ALARM / self.tests as f64, self.scatter(algorithm)?.freedom)?;
        Some((quantile * error?).exp().max(LEAST_NOISE))
    }
}
