//! The grid: what each candidate reaches on each instance. The only place where a run is condensed.
//!
//! `table`, `rank`, `compare`, `trend`, summaries, figures, claims and pages ask the grid, so they cannot disagree.
//! `docs/METHODOLOGY.md`, "How a run is condensed", states the rules and says why:
//!
//! - An instance is what [`InstanceKey`] names. Repetitions are draws within it. A placer's value of a draw is the mean over
//!   the numberings of ops and devices under which it placed.
//! - A candidate is a placer under a scheduler. It has a value on an instance if every draw of the instance gave it one:
//!   their mean. One failed or missing draw fails it.
//! - A placer stands on an instance by its best scheduler: that of the best mean over the draws, the first listed of equals.
//! - Values that differ by rounding are equal ([`is_equal`]).
//! - Ratios to the best and means over instances: [`Standings`].

mod instance;
mod observations;
mod read;
mod standings;

use std::collections::BTreeMap;

use placebench_datasets::{is_equal, is_less};

pub use instance::{InstanceKey, labels};
pub use observations::{Observation, Resampling};
pub(crate) use read::GridBuilder;
pub use read::GridError;
pub use standings::{Candidates, DROP_FAILING, Standings};

use super::Metric;

/// What each candidate reaches on each instance of some tables, by one metric.
#[derive(Clone, Debug)]
pub struct Grid {
    /// The metric that candidates are judged by.
    pub metric: Metric,
    /// The metrics that it keeps the means of besides.
    others: Vec<Metric>,
    /// Instances, in the order of the rows.
    pub instances: Vec<GridInstance>,
    /// Placers as tables print them, in the order of the rows.
    pub placers: Vec<String>,
    /// The placers with their parameters.
    pub specs: Vec<String>,
    /// Schedulers, in the order of the rows.
    pub schedulers: Vec<String>,
    /// Rows by how they ended.
    pub statuses: BTreeMap<String, usize>,
    /// Placers with what their authors assume and an instance breaks, in the order of the rows.
    pub assumptions_broken: Vec<(String, String)>,
    /// Reasons why a candidate has no value, which [`GridCell::why`] counts.
    reasons: Vec<String>,
}

/// An instance with what its candidates reach.
#[derive(Clone, Debug)]
pub struct GridInstance {
    /// What identifies it.
    pub key: InstanceKey,
    /// Unit of its times.
    pub time_unit: String,
    /// Devices of the cluster.
    pub devices: u32,
    /// Its draws, by repetition.
    pub draws: Vec<Draw>,
    /// The candidates that were run on it, in the order of the rows.
    pub cells: Vec<GridCell>,
}

/// A draw of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Draw {
    /// Repetition, from 0.
    pub repetition: u32,
    /// Its seed.
    pub seed: u64,
    /// What was drawn: ops, edges and the bits of the lower bound. Draws with the same numbers share their graph.
    problem: (u64, u64, u64),
}

/// A candidate on an instance.
#[derive(Clone, Debug)]
pub struct GridCell {
    /// Index into [`Grid::placers`].
    pub placer: u32,
    /// Index into [`Grid::schedulers`].
    pub scheduler: u32,
    /// For each draw a value under each numbering; NaN where there is none.
    values: Box<[f64]>,
    /// Under how many numberings of ops and devices the placer placed in each draw.
    numberings: u32,
    /// Number of its first row.
    pub first: u32,
    /// Number of its first row that failed.
    pub first_failed: Option<u32>,
    /// Number of its row of repetition 0, if that has a value.
    pub of_repetition_0: Option<u32>,
    /// Why it has no value: index into the grid's reasons.
    why: Option<u32>,
    /// Whether a draw is ok and yet has no value.
    is_undefined: bool,
    /// Sums of the grid's other metrics over the draws, and how many values they are of.
    others: Box<[(f64, u32)]>,
}

impl GridCell {
    /// One value a draw, in the order of [`GridInstance::draws`]; `None` if any draw has none.
    pub fn values(&self) -> Option<Vec<f64>> {
        (0..self.values.len() / self.numberings as usize).map(|draw| self.value(draw)).collect()
    }

    /// The value of a draw: the mean over its numberings; `None` if any of them has no value.
    pub fn value(&self, draw: usize) -> Option<f64> {
        let width = self.numberings as usize;
        let own = &self.values[draw * width..][..width];
        Some(own.iter().sum::<f64>() / width as f64).filter(|value| !value.is_nan())
    }

    /// The values under all numberings of the first draw, then of the next; `None` if any has none.
    pub fn samples(&self) -> Option<impl Iterator<Item = f64>> {
        let is_there = self.values.iter().all(|value| !value.is_nan());
        is_there.then(|| self.values.iter().copied())
    }

    /// The least and the largest value under any numbering of any draw; `None` if any has none, or there is but one.
    pub fn range(&self) -> Option<[f64; 2]> {
        if self.values.len() < 2 || self.values.iter().any(|value| value.is_nan()) {
            return None;
        }
        let fold = |start: f64, of: fn(f64, f64) -> f64| self.values.iter().copied().fold(start, of);
        Some([fold(f64::INFINITY, f64::min), fold(f64::NEG_INFINITY, f64::max)])
    }

    /// The mean over the draws; `None` if any draw has no value.
    pub fn mean(&self) -> Option<f64> {
        let mean = self.values.iter().sum::<f64>() / self.values.len() as f64;
        Some(mean).filter(|mean| !mean.is_nan())
    }
}

impl Grid {
    /// The most numberings of ops and devices under which a placer placed; 1 where there is but the given one.
    pub fn numberings(&self) -> u32 {
        self.instances.iter().flat_map(|instance| &instance.cells).map(|cell| cell.numberings).max().unwrap_or(1)
    }

    /// What instances are called in tables and figures: the graph, and whatever else differs among them.
    pub fn labels(&self) -> Vec<String> {
        labels(self.instances.iter().map(|instance| &instance.key))
    }

    /// The instances under each network model as a grid of their own, with the placers that ran there; in the order of the
    /// rows.
    pub fn by_network(self) -> Vec<(String, Self)> {
        let Self { metric, others, instances, placers, specs, schedulers, assumptions_broken, reasons, .. } = self;
        let mut networks: Vec<(String, Vec<GridInstance>)> = Vec::new();
        for instance in instances {
            match networks.iter_mut().find(|(network, _)| *network == instance.key.network) {
                Some((_, own)) => own.push(instance),
                None => networks.push((instance.key.network.clone(), vec![instance])),
            }
        }
        let grid = |(network, mut instances): (String, Vec<GridInstance>)| {
            let mut is_there = vec![false; placers.len()];
            let cells = || instances.iter().flat_map(|instance| &instance.cells);
            cells().for_each(|cell| is_there[cell.placer as usize] = true);
            let there: Vec<usize> = (0..placers.len()).filter(|&placer| is_there[placer]).collect();
            let cells = instances.iter_mut().flat_map(|instance| &mut instance.cells);
            cells.for_each(|cell| cell.placer = there.partition_point(|&own| own < cell.placer as usize) as u32);
            let grid = Self {
                metric,
                others: others.clone(),
                instances,
                placers: there.iter().map(|&placer| placers[placer].clone()).collect(),
                specs: there.iter().map(|&placer| specs[placer].clone()).collect(),
                schedulers: schedulers.clone(),
                statuses: BTreeMap::new(),
                assumptions_broken: assumptions_broken.clone(),
                reasons: reasons.clone(),
            };
            (network, grid)
        };
        networks.into_iter().map(grid).collect()
    }

    /// The mean of another metric over the draws of a cell; `None` if any draw has none, or the grid was not made with it.
    pub fn other(&self, cell: &GridCell, metric: Metric) -> Option<f64> {
        let (sum, count) = cell.others[self.others.iter().position(|&own| own == metric)?];
        (count as usize == cell.values.len()).then(|| sum / f64::from(count))
    }

    /// Whether the metric says nothing on an instance: more of it is better, and a cell that went well has no
    /// value, since its makespan is 0.
    pub(super) fn is_undefined(&self, instance: usize) -> bool {
        self.metric.more_is_better() && self.instances[instance].cells.iter().any(|cell| cell.is_undefined)
    }

    /// A value turned so that less is better.
    pub fn loss(&self, value: f64) -> f64 {
        if self.metric.more_is_better() { 1.0 / value } else { value }
    }

    /// Why a cell has no value: the status of its first row without one, or that it was not run on every draw.
    pub fn why(&self, cell: &GridCell) -> &str {
        cell.why.map_or("not run", |reason| &self.reasons[reason as usize])
    }

    /// For each instance, then for each placer: which of the instance's cells stands for it, that of its best scheduler.
    ///
    /// # Complexity
    /// O(rows).
    pub fn best(&self) -> Vec<Vec<Option<u32>>> {
        let of_instance = |instance: &GridInstance| {
            let mut best: Vec<Option<(f64, u32)>> = vec![None; self.placers.len()];
            for (index, cell) in (0..).zip(&instance.cells) {
                let Some(loss) = cell.mean().map(|mean| self.loss(mean)) else { continue };
                let known = &mut best[cell.placer as usize];
                if known.is_none_or(|(least, _)| is_less(loss, least)) {
                    *known = Some((loss, index));
                }
            }
            best.into_iter().map(|found| found.map(|(_, index)| index)).collect()
        };
        self.instances.iter().map(of_instance).collect()
    }
}

/// Indices in the order of their values, the least first. Values equal up to rounding keep the order of the indices.
pub fn ascending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    order
        .chunk_by(|&a, &b| is_equal(values[a], values[b]))
        .flat_map(|equal| {
            let mut equal = equal.to_vec();
            equal.sort_unstable();
            equal
        })
        .collect()
}

#[cfg(test)]
mod tests;
