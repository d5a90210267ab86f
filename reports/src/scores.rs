//! How placers stand in a run, by one metric: the grid with the names and marks under which tables and figures list them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use placebench_base::did_you_mean;
use placebench_harness::results::grid::{
    Candidates, DROP_FAILING, Grid, GridCell, GridError, GridInstance, InstanceKey, Standings,
};
use placebench_harness::results::{Metric, Table};
use placebench_harness::statistics::geometric_mean;

use crate::figure::Quantity;
use crate::marks::Marks;

/// The order in which placers are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The best mean first.
    #[default]
    Mean,
    /// By name.
    Name,
    /// As the suite names them.
    Suite,
}

impl Sort {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Mean, Self::Name, Self::Suite];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Name => "name",
            Self::Suite => "suite",
        }
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Sort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|sort| sort.name() == text);
        found.ok_or_else(|| did_you_mean(text, Self::ALL.map(Self::name)))
    }
}

/// A metric by placer and instance.
pub(crate) struct Scores {
    pub(crate) grid: Grid,
    pub(crate) standings: Standings,
    /// The placers in the order in which they are listed, as indices into the grid's.
    listed: Vec<usize>,
    sort: Sort,
    /// The placers as tables print them, in that order.
    pub(crate) placers: Vec<String>,
    /// The same with their marks: what figures and tables show.
    pub(crate) shown: Vec<String>,
    /// The same with their parameters.
    pub(crate) specs: Vec<String>,
    pub(crate) marks: Marks,
    /// What instances are called.
    pub(crate) labels: Vec<String>,
    has_one_executor: bool,
}

impl Scores {
    /// The scores of a table, with its placers in this order, and the means of other metrics.
    ///
    /// # Errors
    /// If a cell is in the table twice, or Polars refuses.
    ///
    /// # Complexity
    /// That of the grid.
    pub(crate) fn new(table: &Table, metric: Metric, others: &[Metric], sort: Sort) -> Result<Self, GridError> {
        Ok(Self::of(Grid::new(table, metric, others)?, sort))
    }

    pub(crate) fn of(grid: Grid, sort: Sort) -> Self {
        let standings = Standings::new(&grid, Candidates::Placer, DROP_FAILING);
        let marks = Marks::of(&grid);
        let mut listed: Vec<usize> = (0..grid.placers.len()).collect();
        match sort {
            Sort::Mean => listed.clone_from(&standings.order),
            Sort::Name => listed.sort_by_key(|&placer| &grid.placers[placer]),
            Sort::Suite => {}
        }
        let names = |names: &[String]| listed.iter().map(|&placer| names[placer].clone()).collect::<Vec<String>>();
        let placers = names(&grid.placers);
        Self {
            shown: placers.iter().map(|placer| marks.shown(placer)).collect(),
            specs: names(&grid.specs),
            labels: grid.labels(),
            has_one_executor: grid.instances.windows(2).all(|two| two[0].key.executor == two[1].key.executor),
            placers,
            listed,
            sort,
            marks,
            standings,
            grid,
        }
    }

    pub(crate) fn metric(&self) -> Metric {
        self.grid.metric
    }

    pub(crate) fn instances(&self) -> &[GridInstance] {
        &self.grid.instances
    }

    pub(crate) fn key(&self, instance: usize) -> &InstanceKey {
        &self.grid.instances[instance].key
    }

    /// The scores under each network model, in the order of the rows: one figure does not mix them.
    pub(crate) fn by_network(self) -> Vec<(String, Self)> {
        let sort = self.sort;
        self.grid.by_network().into_iter().map(|(network, grid)| (network, Self::of(grid, sort))).collect()
    }

    /// Mean seconds to place an instance; `None` if any draw has none, or the scores were made without them.
    pub(crate) fn seconds(&self, placer: usize, instance: usize) -> Option<f64> {
        self.grid.other(self.best(placer, instance)?, Metric::PlaceSeconds)
    }

    /// Seconds to place as a mean over the instances that count; `None` for a placer that has no mean.
    pub(crate) fn mean_seconds(&self, placer: usize) -> Option<f64> {
        self.mean(placer)?;
        let seconds = self.standings.common.iter().filter_map(|&here| self.seconds(placer, here));
        geometric_mean(seconds.filter(|&seconds| seconds > 0.0))
    }

    /// The cells of a placer on an instance, one a scheduler.
    pub(crate) fn cells(&self, placer: usize, instance: usize) -> impl Iterator<Item = &GridCell> {
        let own = self.listed[placer];
        self.grid.instances[instance].cells.iter().filter(move |cell| cell.placer as usize == own)
    }

    /// The cell that stands for a placer on an instance: that of its best scheduler.
    pub(crate) fn best(&self, placer: usize, instance: usize) -> Option<&GridCell> {
        self.standings.cell(&self.grid, self.listed[placer], instance)
    }

    /// The scheduler of a cell.
    pub(crate) fn scheduler(&self, cell: &GridCell) -> &str {
        &self.grid.schedulers[cell.scheduler as usize]
    }

    pub(crate) fn quantity(&self, instance: usize) -> Quantity {
        Quantity::of(self.grid.metric, &self.grid.instances[instance].time_unit)
    }

    /// A placer's value on an instance over the best there: 1 is the best.
    pub(crate) fn ratio(&self, placer: usize, instance: usize) -> Option<f64> {
        self.standings.ratio(self.listed[placer], instance)
    }

    /// The placer's number among the candidates of the standings.
    pub(crate) fn candidate(&self, placer: usize) -> usize {
        self.listed[placer]
    }

    /// Geometric mean of a placer's ratios over the instances that count.
    pub(crate) fn mean(&self, placer: usize) -> Option<f64> {
        self.standings.means[self.listed[placer]]
    }

    /// The network model of an instance, and its executor if not all have the same.
    pub(crate) fn setting(&self, instance: usize) -> String {
        let own = self.key(instance);
        match self.has_one_executor {
            true => own.network.clone(),
            false => format!("{}/{}", own.network, own.executor),
        }
    }

    /// What the mark of a placer on an instance stands for.
    pub(crate) fn mark(&self, placer: usize, instance: usize) -> String {
        let scheduler = self.best(placer, instance).map_or("", |best| self.scheduler(best));
        self.key(instance).mark(&self.placers[placer], scheduler)
    }

    /// What ratios are ratios of: `makespan / best`.
    pub(crate) fn ratio_name(&self) -> String {
        let name = self.grid.metric.title();
        if self.grid.metric.more_is_better() { format!("best {name} / {name}") } else { format!("{name} / best") }
    }

    /// What means are over, for captions: `geometric mean over 7 instances`.
    pub(crate) fn mean_over(&self) -> String {
        let (common, all) = (self.standings.common.len(), self.standings.instances);
        match (common, all) {
            (1, 1) => "on the only instance".to_owned(),
            _ if common == all => format!("geometric mean over {all} instances"),
            _ => format!("geometric mean over {common} of {all} instances"),
        }
    }
}

/// The distinct keys in their order, each with the positions at which it stands. O(keys · log keys).
pub(crate) fn grouped<K: Ord + Clone>(keys: impl Iterator<Item = K>) -> Vec<(K, Vec<usize>)> {
    let mut groups: Vec<(K, Vec<usize>)> = Vec::new();
    let mut position: BTreeMap<K, usize> = BTreeMap::new();
    for (at, key) in keys.enumerate() {
        let own = *position.entry(key.clone()).or_insert_with(|| {
            groups.push((key, Vec::new()));
            groups.len() - 1
        });
        groups[own].1.push(at);
    }
    groups
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
