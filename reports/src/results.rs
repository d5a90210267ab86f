//! Rows by placer and scenario, for one metric: what figures and tables of placers are made of.
//!
//! Placers are in the order of the registry, those it does not have after them in the order of the rows. A placer is judged
//! by the best of its schedulers, as [`Summary`](crate::Summary) does.

use std::collections::BTreeMap;

use placebench_algorithms::registry;
use placebench_harness::results::{CellKey, Metric, Row, Scenario};

use crate::figure::Quantity;

/// Results by placer and scenario.
pub(crate) struct Results {
    pub(crate) metric: Metric,
    pub(crate) placers: Vec<String>,
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) labels: Vec<String>,
    /// Time unit of each scenario.
    pub(crate) units: Vec<String>,
    pub(crate) devices: Vec<u32>,
    /// By placer, then by scenario.
    pub(crate) best: Vec<Vec<Option<Best>>>,
}

/// A placer's result in a scenario, with the scheduler of the best mean.
#[derive(Clone)]
pub(crate) struct Best {
    pub(crate) scheduler: String,
    /// One a repetition.
    pub(crate) values: Vec<f64>,
}

impl Best {
    pub(crate) fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }
}

impl Results {
    pub(crate) fn new(rows: &[Row], metric: Metric) -> Self {
        let mut placers: Vec<String> = Vec::new();
        let mut scenarios: Vec<Scenario> = Vec::new();
        let (mut units, mut devices) = (Vec::new(), Vec::new());
        for row in rows {
            if !placers.contains(&row.placer) {
                placers.push(row.placer.clone());
            }
            let own = row.key().scenario();
            if !scenarios.contains(&own) {
                scenarios.push(own);
                units.push(row.time_unit.clone());
                devices.push(row.devices);
            }
        }
        in_registry_order(&mut placers);
        let mut cells: BTreeMap<(String, Scenario), Vec<&Row>> = BTreeMap::new();
        for row in rows {
            cells.entry((row.placer.clone(), row.key().scenario())).or_default().push(row);
        }
        let best = placers
            .iter()
            .map(|placer| {
                let cell = |scenario: &Scenario| best_of(cells.get(&(placer.clone(), scenario.clone()))?, metric);
                scenarios.iter().map(cell).collect()
            })
            .collect();
        let labels = scenarios.iter().map(|own| label(own, &scenarios)).collect();
        Self { metric, placers, scenarios, labels, units, devices, best }
    }

    pub(crate) fn quantity(&self, scenario: usize) -> Quantity {
        Quantity::of(self.metric, &self.units[scenario])
    }

    /// A value of which less is better.
    pub(crate) fn loss(&self, value: f64) -> f64 {
        if self.metric.more_is_better() { 1.0 / value } else { value }
    }

    /// Mean of a placer in a scenario over the best mean there: 1 is the best.
    pub(crate) fn ratio(&self, placer: usize, scenario: usize) -> Option<f64> {
        let losses = self.best.iter().filter_map(|row| Some(self.loss(row[scenario].as_ref()?.mean())));
        let least = losses.fold(f64::INFINITY, f64::min);
        let own = self.loss(self.best[placer][scenario].as_ref()?.mean());
        // Traffic of a single device is 0, of which nothing is a multiple.
        (least > 0.0 && own.is_finite()).then(|| if own <= least * (1.0 + 1e-9) { 1.0 } else { own / least })
    }

    pub(crate) fn key(&self, placer: usize, scenario: usize) -> String {
        let scheduler = self.best[placer][scenario].as_ref().map_or("", |best| best.scheduler.as_str());
        mark(&self.scenarios[scenario], &self.placers[placer], scheduler)
    }

    /// What ratios are ratios of: `makespan / best`.
    pub(crate) fn ratio_name(&self) -> String {
        let name = self.quantity(0).name;
        if self.metric.more_is_better() { format!("best {name} / {name}") } else { format!("{name} / best") }
    }
}

/// What a mark stands for: see [`CellKey::mark`].
pub(crate) fn mark(scenario: &Scenario, placer: &str, scheduler: &str) -> String {
    let Scenario { graph, cluster, network } = scenario.clone();
    let (placer, scheduler) = (placer.to_owned(), scheduler.to_owned());
    CellKey { graph, cluster, network, placer, scheduler, ..CellKey::default() }.mark()
}

/// Placers in the order of the registry, others after them in the order in which they are.
fn in_registry_order(placers: &mut [String]) {
    let known = registry::placer_names();
    placers.sort_by_key(|name| {
        let base = name.split('(').next().unwrap_or(name);
        known.iter().position(|known| known == base).unwrap_or(known.len())
    });
}

/// The scheduler with the best mean, the first among equals; `None` if any repetition failed under every scheduler.
fn best_of(rows: &[&Row], metric: Metric) -> Option<Best> {
    let mut schedulers: Vec<&str> = Vec::new();
    for row in rows {
        if !schedulers.contains(&row.scheduler.as_str()) {
            schedulers.push(&row.scheduler);
        }
    }
    let results = schedulers.into_iter().filter_map(|scheduler| {
        let own = rows.iter().filter(|row| row.scheduler == scheduler);
        let values: Option<Vec<f64>> = own.map(|row| metric.value(row)).collect();
        Some(Best { scheduler: scheduler.to_owned(), values: values? })
    });
    let better = |new: f64, old: f64| if metric.more_is_better() { new > old } else { new < old };
    results.reduce(|best, next| if better(next.mean(), best.mean()) { next } else { best })
}

/// The graph, and whatever else differs between scenarios.
fn label(own: &Scenario, all: &[Scenario]) -> String {
    let mut label = own.graph.clone();
    if all.iter().any(|other| other.cluster != own.cluster) {
        label = format!("{label}@{}", own.cluster);
    }
    if all.iter().any(|other| other.network != own.network) {
        label = format!("{label}/{}", own.network);
    }
    label
}
