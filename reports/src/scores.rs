//! A metric by placer and scenario: what summaries, figures and tables of placers are made of.
//!
//! A placer is judged by the best of its schedulers: that of the best mean over the repetitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use placebench_algorithms::registry;
use placebench_harness::results::{CellKey, Metric, Scenario, Table};
use polars::prelude::PolarsResult;

use crate::figure::Quantity;
use crate::marks::Marks;
use crate::tally::{Repeated, Seconds, Tally};

/// A metric by placer and scenario.
pub(crate) struct Scores {
    pub(crate) metric: Metric,
    /// As tables print them.
    pub(crate) placers: Vec<String>,
    /// The same with their marks: what figures and tables show.
    pub(crate) shown: Vec<String>,
    pub(crate) marks: Marks,
    /// The placers with their parameters.
    pub(crate) specs: Vec<String>,
    /// In the order of the rows.
    pub(crate) schedulers: Vec<Arc<str>>,
    /// In the order of the rows.
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) labels: Vec<String>,
    /// Time unit of each scenario.
    pub(crate) units: Vec<String>,
    pub(crate) devices: Vec<u32>,
    /// Placers under schedulers, by scenario, in the order of the rows.
    pub(crate) cells: Vec<Vec<Repeated>>,
    /// By placer, then by scenario: which of the cells there is the best; `None` where any repetition failed under every
    /// scheduler.
    best: Vec<Vec<Option<u32>>>,
}

impl Scores {
    /// The scores of a table, its placers in the order of the rows, and the means of other metrics.
    ///
    /// # Complexity
    /// One pass over the rows; memory for 12 bytes of each.
    pub(crate) fn new(table: &Table, metric: Metric, others: &[Metric]) -> PolarsResult<Self> {
        Ok(Self::of(Tally::new(table, metric, others)?))
    }

    /// The scores of rows that were counted.
    pub(crate) fn of(tally: Tally) -> Self {
        let mut scores = Self {
            marks: Marks::new(tally.broken()),
            metric: tally.metric,
            placers: tally.placers,
            shown: Vec::new(),
            specs: tally.specs,
            schedulers: tally.schedulers,
            scenarios: tally.scenarios,
            labels: Vec::new(),
            units: tally.units,
            devices: tally.devices,
            cells: tally.cells,
            best: Vec::new(),
        };
        scores.settle();
        scores
    }

    /// Sets what follows from placers, scenarios and cells.
    fn settle(&mut self) {
        self.shown = self.placers.iter().map(|placer| self.marks.shown(placer)).collect();
        self.labels = labels(&self.scenarios);
        let own = positions(&self.placers);
        let mut best: Vec<Vec<Option<u32>>> = vec![vec![None; self.scenarios.len()]; self.placers.len()];
        for (column, cells) in self.cells.iter().enumerate() {
            let means: Vec<Option<f64>> = cells.iter().map(Repeated::mean).collect();
            for (index, cell) in cells.iter().enumerate() {
                let (Some(&row), Some(mean)) = (own.get(&*cell.placer), means[index]) else { continue };
                let better = |known: f64| if self.metric.more_is_better() { mean > known } else { mean < known };
                if best[row][column].is_none_or(|known| means[known as usize].is_none_or(better)) {
                    best[row][column] = Some(index as u32);
                }
            }
        }
        self.best = best;
    }

    /// The same with the placers in the order of the registry, others after them in the order in which they are.
    pub(crate) fn in_registry_order(mut self) -> Self {
        let known = registry::placer_names();
        let mut placers: Vec<(String, String)> = self.placers.into_iter().zip(self.specs).collect();
        placers.sort_by_key(|(_, spec)| {
            let base = spec.split('(').next().unwrap_or(spec);
            known.iter().position(|known| known == base).unwrap_or(known.len())
        });
        (self.placers, self.specs) = placers.into_iter().unzip();
        self.settle();
        self
    }

    /// The scores under each network model, in the order of the rows: makespans under different ones do not compare.
    pub(crate) fn by_network(self) -> Vec<(String, Self)> {
        let empty = || Self {
            metric: self.metric,
            placers: Vec::new(),
            shown: Vec::new(),
            marks: self.marks.clone(),
            specs: Vec::new(),
            schedulers: self.schedulers.clone(),
            scenarios: Vec::new(),
            labels: Vec::new(),
            units: Vec::new(),
            devices: Vec::new(),
            cells: Vec::new(),
            best: Vec::new(),
        };
        let mut parts: Vec<(String, Self)> = Vec::new();
        let scenarios = self.scenarios.into_iter().zip(self.units).zip(self.devices).zip(self.cells);
        for (((scenario, unit), devices), cells) in scenarios {
            let known = parts.iter().position(|(network, _)| *network == scenario.network);
            let at = known.unwrap_or_else(|| {
                parts.push((scenario.network.clone(), empty()));
                parts.len() - 1
            });
            let part = &mut parts[at].1;
            part.scenarios.push(scenario);
            part.units.push(unit);
            part.devices.push(devices);
            part.cells.push(cells);
        }
        for (_, part) in &mut parts {
            let there: BTreeSet<&str> = part.cells.iter().flatten().map(|cell| &*cell.placer).collect();
            let placers = self.placers.iter().zip(&self.specs).filter(|(placer, _)| there.contains(placer.as_str()));
            (part.placers, part.specs) = placers.map(|(placer, spec)| (placer.clone(), spec.clone())).unzip();
            part.settle();
        }
        parts
    }

    /// Number of the first row of a placer in a scenario that failed.
    pub(crate) fn first_failed(&self, placer: usize, scenario: usize) -> Option<u32> {
        let own = self.cells[scenario].iter().filter(|cell| *cell.placer == *self.placers[placer]);
        own.filter_map(|cell| cell.first_failed).min()
    }

    /// Seconds to place, by placer.
    pub(crate) fn seconds(&self) -> Vec<Seconds> {
        let own = positions(&self.placers);
        let mut seconds = vec![Seconds::default(); self.placers.len()];
        for cell in self.cells.iter().flatten() {
            if let Some(&placer) = own.get(&*cell.placer) {
                seconds[placer] = seconds[placer].and(&cell.seconds);
            }
        }
        seconds
    }

    /// A placer's result in a scenario, with the scheduler of the best mean, the first among equals.
    pub(crate) fn best(&self, placer: usize, scenario: usize) -> Option<&Repeated> {
        self.best[placer][scenario].map(|index| &self.cells[scenario][index as usize])
    }

    pub(crate) fn quantity(&self, scenario: usize) -> Quantity {
        Quantity::of(self.metric, &self.units[scenario])
    }

    /// The value, turned so that less is better.
    pub(crate) fn loss(&self, value: f64) -> f64 {
        if self.metric.more_is_better() { 1.0 / value } else { value }
    }

    /// Mean of a placer in a scenario over the best mean there: 1 is the best.
    pub(crate) fn ratio(&self, placer: usize, scenario: usize) -> Option<f64> {
        let mean = |placer: usize| Some(self.loss(self.best(placer, scenario)?.mean()?));
        let least = (0..self.placers.len()).filter_map(mean).fold(f64::INFINITY, f64::min);
        let own = mean(placer)?;
        // Traffic of a single device is 0, and nothing is a multiple of 0.
        (least > 0.0 && own.is_finite()).then(|| if own <= least * (1.0 + 1e-9) { 1.0 } else { own / least })
    }

    /// The network model of a scenario, and its executor if not all have the same.
    pub(crate) fn setting(&self, scenario: usize) -> String {
        let own = &self.scenarios[scenario];
        match self.scenarios.iter().all(|other| other.executor == own.executor) {
            true => own.network.clone(),
            false => format!("{}/{}", own.network, own.executor),
        }
    }

    /// What the mark of a placer in a scenario stands for.
    pub(crate) fn key(&self, placer: usize, scenario: usize) -> String {
        let scheduler = self.best(placer, scenario).map_or("", |best| &*best.scheduler);
        mark(&self.scenarios[scenario], &self.placers[placer], scheduler)
    }

    /// What ratios are ratios of: `makespan / best`.
    pub(crate) fn ratio_name(&self) -> String {
        let name = self.metric.title();
        if self.metric.more_is_better() { format!("best {name} / {name}") } else { format!("{name} / best") }
    }
}

/// Where each item is in a list.
pub(crate) fn positions<T: Clone + Ord>(list: &[T]) -> BTreeMap<T, usize> {
    list.iter().enumerate().map(|(index, item)| (item.clone(), index)).collect()
}

/// The distinct items, in their order.
pub(crate) fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

/// What a mark stands for: see [`CellKey::mark`].
pub(crate) fn mark(scenario: &Scenario, placer: &str, scheduler: &str) -> String {
    let Scenario { graph, cluster, network, executor } = scenario.clone();
    let (placer, scheduler) = (placer.to_owned(), scheduler.to_owned());
    CellKey { graph, cluster, network, executor, placer, scheduler, ..CellKey::default() }.mark()
}

/// Of each scenario the graph, and whatever else differs between scenarios.
fn labels(all: &[Scenario]) -> Vec<String> {
    let differs = |differ: fn(&Scenario, &Scenario) -> bool| all.iter().any(|own| differ(own, &all[0]));
    let clusters = differs(|a, b| a.cluster != b.cluster);
    let networks = differs(|a, b| a.network != b.network);
    let executors = differs(|a, b| a.executor != b.executor);
    let label = |own: &Scenario| {
        let mut label = own.graph.clone();
        if clusters {
            label = format!("{label}@{}", own.cluster);
        }
        if networks {
            label = format!("{label}/{}", own.network);
        }
        if executors {
            label = format!("{label}/{}", own.executor);
        }
        label
    };
    all.iter().map(label).collect()
}
