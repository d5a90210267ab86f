//! A metric by placer and scenario: what summaries, figures and tables of placers are made of.
//!
//! A placer is judged by the best of its schedulers: that of the best mean over the repetitions.

use std::collections::BTreeMap;

use placebench_algorithms::registry;
use placebench_harness::compare::statistics::mean;
use placebench_harness::results::{CellKey, Metric, SCENARIO, Scenario, Table, lists, scenarios, values};
use polars::prelude::*;

use crate::figure::Quantity;
use crate::marks::Marks;

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
    pub(crate) scenarios: Vec<Scenario>,
    pub(crate) labels: Vec<String>,
    /// Time unit of each scenario.
    pub(crate) units: Vec<String>,
    pub(crate) devices: Vec<u32>,
    /// By placer, then by scenario; `None` where any repetition failed under every scheduler.
    pub(crate) best: Vec<Vec<Option<Best>>>,
    /// Placers under schedulers, by scenario, in the order of the rows.
    pub(crate) cells: Vec<Vec<Repeated>>,
}

/// A placer's result in a scenario, with the scheduler of the best mean, the first among equals.
#[derive(Clone)]
pub(crate) struct Best {
    pub(crate) scheduler: String,
    /// One a repetition.
    pub(crate) values: Vec<f64>,
    /// Means of other metrics; `None` where a repetition has none.
    pub(crate) others: Vec<Option<f64>>,
}

/// The repetitions of a placer under a scheduler.
pub(crate) struct Repeated {
    pub(crate) placer: String,
    pub(crate) scheduler: String,
    /// One a repetition; `None` if any failed.
    pub(crate) values: Option<Vec<f64>>,
    others: Vec<Option<f64>>,
}

impl Best {
    pub(crate) fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }
}

impl Scores {
    /// The scores of these placers of [`Table::placers`], in their order; the best also with the means of other metrics.
    pub(crate) fn new(
        table: &Table,
        metric: Metric,
        others: &[Metric],
        placers: Vec<(String, String)>,
    ) -> PolarsResult<Self> {
        let (placers, specs): (Vec<String>, Vec<String>) = placers.into_iter().unzip();
        let about = [col("time_unit").first(), col("devices").first()];
        let known = table.by_part(|rows| Ok(rows.group_by_stable(SCENARIO).agg(&about)))?;
        let scenarios = scenarios(&known)?;
        let labels = labels(&scenarios);
        let marks = Marks::new(table)?;
        let mut scores = Self {
            shown: placers.iter().map(|placer| marks.shown(placer)).collect(),
            marks,
            best: vec![vec![None; scenarios.len()]; placers.len()],
            cells: scenarios.iter().map(|_| Vec::new()).collect(),
            units: values(&known, "time_unit")?,
            devices: values(&known, "devices")?,
            metric,
            placers,
            specs,
            scenarios,
            labels,
        };
        scores.set_cells(table, others)?;
        scores.set_best();
        Ok(scores)
    }

    fn set_cells(&mut self, table: &Table, others: &[Metric]) -> PolarsResult<()> {
        let metrics: Vec<Metric> = [self.metric].iter().chain(others).copied().collect();
        let lists_and_length = metrics.iter().map(|metric| metric.expr()).chain([len()]).collect::<Vec<_>>();
        let by = ["graph", "cluster", "network", "executor", "placer", "scheduler"];
        let at = positions(&self.scenarios);
        for part in table.parts() {
            let frame = part.lazy()?.group_by_stable(by).agg(&lists_and_length).collect()?;
            let repetitions = values::<u32>(&frame, "len")?;
            let lists =
                metrics.iter().map(|metric| lists(&frame, metric.column())).collect::<PolarsResult<Vec<_>>>()?;
            let complete = |metric: usize, row: usize| {
                Some(&lists[metric][row]).filter(|values| values.len() == repetitions[row] as usize)
            };
            let names = values::<String>(&frame, "placer")?.into_iter().zip(values::<String>(&frame, "scheduler")?);
            for (row, (scenario, (placer, scheduler))) in scenarios(&frame)?.iter().zip(names).enumerate() {
                let mean_of = |metric| complete(metric, row).and_then(|values| mean(values.iter().copied()));
                let others = (1..metrics.len()).map(mean_of).collect();
                let values = complete(0, row).cloned();
                self.cells[at[scenario]].push(Repeated { placer, scheduler, values, others });
            }
        }
        Ok(())
    }

    /// Sums in the order of the rows, so that equal repetitions tie to the last bit: a sum of Polars may take another.
    fn set_best(&mut self) {
        let placers = positions(&self.placers);
        for (column, cells) in self.cells.iter().enumerate() {
            for Repeated { placer, scheduler, values, others } in cells {
                let (Some(&row), Some(values)) = (placers.get(placer), values) else { continue };
                let own = Best { scheduler: scheduler.clone(), values: values.clone(), others: others.clone() };
                let better = |best: &Best| match self.metric.more_is_better() {
                    true => own.mean() > best.mean(),
                    false => own.mean() < best.mean(),
                };
                if self.best[row][column].as_ref().is_none_or(better) {
                    self.best[row][column] = Some(own);
                }
            }
        }
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
        let losses = self.best.iter().filter_map(|row| Some(self.loss(row[scenario].as_ref()?.mean())));
        let least = losses.fold(f64::INFINITY, f64::min);
        let own = self.loss(self.best[placer][scenario].as_ref()?.mean());
        // Traffic of a single device is 0, and nothing is a multiple of 0.
        (least > 0.0 && own.is_finite()).then(|| if own <= least * (1.0 + 1e-9) { 1.0 } else { own / least })
    }

    /// What the mark of a placer in a scenario stands for.
    pub(crate) fn key(&self, placer: usize, scenario: usize) -> String {
        let scheduler = self.best[placer][scenario].as_ref().map_or("", |best| best.scheduler.as_str());
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

/// Placers of [`Table::placers`] in the order of the registry, others after them in the order in which they are.
pub(crate) fn in_registry_order(mut placers: Vec<(String, String)>) -> Vec<(String, String)> {
    let known = registry::placer_names();
    placers.sort_by_key(|(_, spec)| {
        let base = spec.split('(').next().unwrap_or(spec);
        known.iter().position(|known| known == base).unwrap_or(known.len())
    });
    placers
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
