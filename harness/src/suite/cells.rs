//! The cells of a suite, in the order of its tables.

use placebench_algorithms::{ONLINE, Placer, Spec, SpecError, registry};
use placebench_base::process::{NotEnoughMemory, check_memory};
use placebench_datasets::Kinds;
use polars::prelude::PolarsError;

use super::{PlacerEntry, Suite};
use crate::execute::simulate::{NetworkModel, Noise, network_model};
use crate::execute::{EXECUTORS, ExecutorEntry, ExecutorName, executor};
use crate::objective::NamedScheduler;
use crate::problem::{GraphEntry, Problem, ProblemError};
use crate::request::{CHOSEN, CellRequest, named_scheduler, silent};
use crate::results::{CellKey, Column, Filter, FilterError, TableBuilder, TableError};

/// Why a suite has no list of cells.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// It names an unknown algorithm or parameter.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Its `where` selects no cell, or names a value that no cell has.
    #[error("where: {0}")]
    Filter(#[from] FilterError),
    /// The list of its cells, which its `where` goes through, cannot be kept.
    #[error("where: {0}")]
    Table(#[from] TableError),
    /// A graph's file, which says on which kinds of devices its ops may run, cannot be read.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// Its cells do not fit into memory.
    #[error("{0}; the suite's repetitions and numberings multiply them")]
    Memory(#[from] NotEnoughMemory),
    /// Its `where` names a column that is empty before the run.
    #[error("where: {column} is known only when a cell has run: use one of {known}", known = known_columns())]
    Unknown {
        /// The column.
        column: &'static str,
    },
}

impl From<PolarsError> for PlanError {
    fn from(error: PolarsError) -> Self {
        Self::Filter(error.into())
    }
}

fn known_columns() -> String {
    let known = Column::ALL.into_iter().filter(|column| column.is_known_before_the_run());
    known.map(Column::name).collect::<Vec<_>>().join(", ")
}

/// One graph on one cluster in one repetition: what shares an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellGroup {
    /// Index into [`Suite::graphs`].
    pub graph: usize,
    /// Index into [`Suite::clusters`].
    pub cluster: usize,
    /// Repetition, from 0.
    pub repetition: u32,
    /// Seed of the repetition.
    pub seed: u64,
}

/// One execution: a group, a placer, a network model, a scheduler, an executor. Ordered as in tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    /// Index into [`RunPlan::groups`].
    pub group: usize,
    /// Index into [`RunPlan::placers`].
    pub placer: usize,
    /// Which numbers ops and devices have for the placer: those given if 0.
    pub numbering: u32,
    /// Index into [`RunPlan::networks`].
    pub network: usize,
    /// Index into [`RunPlan::schedulers`]; `None` if the placer decides online, or if it searches and chooses among several.
    pub scheduler: Option<usize>,
    /// Index into [`RunPlan::executors`].
    pub executor: usize,
}

/// What executes cells.
#[derive(Clone, Debug)]
pub struct CellExecutor {
    /// Its name in tables.
    pub name: ExecutorName,
    /// What it is.
    pub entry: &'static ExecutorEntry,
    /// By how much costs vary, if it simulates that.
    pub noise: Option<Noise>,
}

impl CellExecutor {
    /// An executor as it is.
    pub fn plain(entry: &'static ExecutorEntry) -> Self {
        Self { name: ExecutorName::from(entry.name), entry, noise: None }
    }

    /// The simulator under a noise.
    pub fn noisy(noise: Noise) -> Self {
        Self { name: ExecutorName::from(&*noise.executor()), entry: &EXECUTORS[0], noise: Some(noise) }
    }
}

/// A suite with its names resolved and its cells listed.
pub struct RunPlan {
    /// The suite.
    pub suite: Suite,
    /// Placers as tables print them: by name, else with their specs as written.
    pub placers: Vec<(String, Box<dyn Placer>)>,
    /// Schedulers with their specs as written.
    pub schedulers: Vec<NamedScheduler>,
    /// Network models with their names.
    pub networks: Vec<(String, &'static dyn NetworkModel)>,
    /// Executors, and then the simulator under each noise.
    pub executors: Vec<CellExecutor>,
    /// All groups: graphs, then clusters, then repetitions.
    pub groups: Vec<CellGroup>,
    /// All cells that the suite selects: groups, then placers, then numberings, then networks, then schedulers, then
    /// executors.
    pub cells: Vec<Cell>,
}

impl RunPlan {
    /// Resolves a suite. Where it leaves open on which kinds of devices the ops of a graph may run, [`RunPlan::suite`] says
    /// what the graph's own rule is: a run whose files are gone can still be read.
    ///
    /// # Errors
    /// If it names an unknown algorithm or parameter, which [`Suite::parse`] has checked already, or its filter is wrong; if a
    /// graph has to be asked for its rule and cannot be read.
    pub fn new(mut suite: Suite) -> Result<Self, PlanError> {
        if suite.clusters.iter().any(|cluster| cluster.kinds.is_none()) {
            for graph in &mut suite.graphs {
                let kinds = graph.kinds()?;
                if graph.file.is_some() || kinds != Kinds::default() {
                    graph.kinds = Some(kinds);
                }
            }
        }
        let parse = |text: &String| text.parse::<Spec>();
        let mut placers = suite
            .placers
            .iter()
            .map(|text| Ok((text.clone(), registry::placer(&parse(text)?)?)))
            .collect::<Result<Vec<_>, SpecError>>()?;
        for entry in &suite.placer_entries {
            let placer: Box<dyn Placer> = match entry {
                PlacerEntry::Named { placer, .. } => registry::placer(&parse(placer)?)?,
                PlacerEntry::Program(program) => Box::new(program.within(suite.time_limit_seconds)),
                PlacerEntry::Function(placer) => Box::new(placer.clone()),
            };
            placers.push((entry.name().to_owned(), placer));
        }
        let schedulers =
            suite.schedulers.iter().map(|text| named_scheduler(text)).collect::<Result<Vec<_>, SpecError>>()?;
        let networks =
            suite.networks.iter().filter_map(|text| Some((text.clone(), network_model(text).ok()?))).collect();
        let plain = suite.executors.iter().filter_map(|text| executor(text).ok()).map(CellExecutor::plain);
        let executors = plain.chain(suite.noise.iter().copied().map(CellExecutor::noisy)).collect();
        let mut plan = Self { suite, placers, schedulers, networks, executors, groups: Vec::new(), cells: Vec::new() };
        plan.check_memory()?;
        plan.list_groups();
        for group in 0..plan.groups.len() {
            plan.list_cells(group);
        }
        plan.select(&plan.suite.only.clone())?;
        Ok(plan)
    }

    /// Gives the placer of a `[[placer]]` table with a function what it calls. Nothing happens if there is none of that name.
    pub fn provide(&mut self, name: &str, placer: Box<dyn Placer>) {
        let first = self.suite.placers.len();
        let of_entry = |entry: &PlacerEntry| matches!(entry, PlacerEntry::Function(function) if function.name == name);
        if let Some(entry) = self.suite.placer_entries.iter().position(of_entry) {
            self.placers[first + entry].1 = placer;
        }
    }

    /// Keeps the cells whose rows will pass a filter. Many rows go to a temporary file, so that memory does not grow with them.
    fn select(&mut self, only: &Filter) -> Result<(), PlanError> {
        if let Some(column) = only.columns().find(|column| !column.is_known_before_the_run()) {
            return Err(PlanError::Unknown { column: column.name() });
        }
        if only.is_empty() {
            return Ok(());
        }
        let mut rows = TableBuilder::new();
        self.cells.iter().try_for_each(|&cell| rows.push(self.request(cell).blank_row()))?;
        let table = rows.finish()?;
        only.check(&[&table])?;
        let passing: Vec<u32> = table.filter(only.expr())?.column("row")?;
        self.cells = passing.into_iter().map(|row| self.cells[row as usize]).collect();
        Ok(())
    }

    /// The groups that have cells, in order.
    pub fn used_groups(&self) -> impl Iterator<Item = &CellGroup> {
        let mut used = vec![false; self.groups.len()];
        self.cells.iter().for_each(|cell| used[cell.group] = true);
        self.groups.iter().zip(used).filter(|(_, used)| *used).map(|(group, _)| group)
    }

    /// The entries of placers that have cells, in order.
    pub fn used_placer_entries(&self) -> impl Iterator<Item = &PlacerEntry> {
        let mut used = vec![false; self.placers.len()];
        self.cells.iter().for_each(|cell| used[cell.placer] = true);
        let used = used.into_iter().skip(self.suite.placers.len());
        self.suite.placer_entries.iter().zip(used).filter(|(_, used)| *used).map(|(entry, _)| entry)
    }

    /// Refuses more cells than have room in memory, before they are listed.
    fn check_memory(&self) -> Result<(), NotEnoughMemory> {
        /// The cell in the list, and the place of its row while journals are merged.
        const CELL_BYTES: u64 = size_of::<Cell>() as u64 + 16;
        let repetitions = |entry: &GraphEntry| u64::from(entry.repetitions.unwrap_or(self.suite.repetitions));
        let groups = self.suite.graphs.iter().map(|entry| {
            let clusters = entry.clusters.as_ref().map_or(self.suite.clusters.len(), Vec::len);
            repetitions(entry).saturating_mul(clusters as u64)
        });
        let groups = groups.fold(0, u64::saturating_add);
        let runs = |placer| self.schedulers_for(placer).len() * self.numberings(placer) as usize;
        let placed: usize = (0..self.placers.len()).map(runs).sum();
        let cells = groups.saturating_mul((placed * self.networks.len() * self.executors.len()) as u64);
        check_memory(&[(cells, CELL_BYTES)], || format!("a suite of {cells} cells"))
    }

    fn list_groups(&mut self) {
        for (graph, entry) in self.suite.graphs.iter().enumerate() {
            for (cluster, cluster_entry) in self.suite.clusters.iter().enumerate() {
                if entry.clusters.as_ref().is_some_and(|names| !names.contains(&cluster_entry.label())) {
                    continue;
                }
                for repetition in 0..entry.repetitions.unwrap_or(self.suite.repetitions) {
                    let seed = self.suite.seed.wrapping_add(u64::from(repetition));
                    self.groups.push(CellGroup { graph, cluster, repetition, seed });
                }
            }
        }
    }

    fn list_cells(&mut self, group: usize) {
        let numbered = |placer| (0..self.numberings(placer)).map(move |numbering| (placer, numbering));
        let placements: Vec<(usize, u32)> = (0..self.placers.len()).flat_map(numbered).collect();
        for (placer, numbering) in placements {
            for network in 0..self.networks.len() {
                for scheduler in self.schedulers_for(placer) {
                    for executor in 0..self.executors.len() {
                        // Only the simulator lets a placer choose devices during the run. What is measured is not
                        // measured under other numbers, which would take as long again.
                        let is_simulated = !self.executors[executor].entry.measures;
                        if is_simulated || scheduler.is_some() && numbering == 0 {
                            self.cells.push(Cell { group, placer, numbering, network, scheduler, executor });
                        }
                    }
                }
            }
        }
    }

    /// Under how many numberings a placer runs: searches, which take long and draw anyway, under the given one alone.
    fn numberings(&self, placer: usize) -> u32 {
        if self.placers[placer].1.uses_objective() { 1 } else { self.suite.numberings }
    }

    /// The schedulers that a placer runs with; `None` stands for its own decisions during the run, or for a search that chooses among
    /// several: one search with one budget, which knows what executes its answer.
    fn schedulers_for(&self, placer: usize) -> Vec<Option<usize>> {
        let placer = &self.placers[placer].1;
        if placer.online().is_some() {
            return vec![None];
        }
        // The static scheduler executes a placer's own schedule: without one there is nothing to run.
        let runs = |&scheduler: &usize| placer.makes_plan() || !self.schedulers[scheduler].scheduler.needs_plan();
        let runnable: Vec<_> = (0..self.schedulers.len()).filter(runs).map(Some).collect();
        if placer.uses_objective() && runnable.len() > 1 { vec![None] } else { runnable }
    }

    /// The placers that have no cells, since every scheduler of the suite follows a plan and they make none.
    pub fn placers_without_scheduler(&self) -> Vec<&str> {
        let without = (0..self.placers.len()).filter(|&placer| self.schedulers_for(placer).is_empty());
        without.map(|placer| self.placers[placer].0.as_str()).collect()
    }

    /// The instance of a group, made as the suite says.
    ///
    /// # Errors
    /// If a file is gone or cannot be read, or graph and cluster do not fit together.
    pub fn problem(&self, group: &CellGroup) -> Result<Problem, ProblemError> {
        Problem::new(&self.suite.graphs[group.graph], &self.suite.clusters[group.cluster], group.seed)
    }

    /// The specification of a placer of the registry, by its index; programs and functions have none.
    pub fn spec(&self, placer: usize) -> Option<&str> {
        match placer.checked_sub(self.suite.placers.len()) {
            None => Some(&self.suite.placers[placer]),
            Some(entry) => self.suite.placer_entries[entry].spec(),
        }
    }

    /// What makes a cell.
    pub fn request(&self, cell: Cell) -> CellRequest<'_> {
        let group = &self.groups[cell.group];
        CellRequest {
            key: self.key(cell),
            spec: self.spec(cell.placer),
            memory: self.suite.clusters[group.cluster].memory,
            graph: &self.suite.graphs[group.graph],
            placer: &*self.placers[cell.placer].1,
            schedulers: self.schedulers_of(cell),
            network: self.networks[cell.network].1,
            goal: self.suite.objective,
            executor: self.executors[cell.executor].entry,
            noise: self.executors[cell.executor].noise,
            settings: &self.suite.execute,
            notify: silent(),
        }
    }

    /// The scheduler of a cell, or those from which its search chooses.
    fn schedulers_of(&self, cell: Cell) -> &[NamedScheduler] {
        match cell.scheduler {
            Some(scheduler) => std::slice::from_ref(&self.schedulers[scheduler]),
            None if self.placers[cell.placer].1.online().is_some() => &[],
            None => &self.schedulers,
        }
    }

    /// What tables name the scheduler of a cell.
    pub(super) fn scheduler_name(&self, cell: Cell) -> &str {
        match cell.scheduler {
            Some(scheduler) => &self.schedulers[scheduler].name,
            None if self.placers[cell.placer].1.online().is_some() => ONLINE,
            None => CHOSEN,
        }
    }

    /// What identifies a cell.
    pub fn key(&self, cell: Cell) -> CellKey {
        let group = &self.groups[cell.group];
        CellKey {
            suite: self.suite.name.clone(),
            graph: self.suite.graphs[group.graph].label(),
            cluster: self.suite.clusters[group.cluster].label(),
            kinds: self.suite.kinds(group.graph, group.cluster),
            network: self.networks[cell.network].0.clone(),
            executor: self.executors[cell.executor].name.clone(),
            placer: self.placers[cell.placer].0.clone(),
            scheduler: self.scheduler_name(cell).to_owned(),
            repetition: group.repetition,
            seed: group.seed,
            numbering: cell.numbering,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: &str = r#"
        name = "small"
        repetitions = 2
        networks = ["contention_free", "one_port"]
        placers = ["heft", "scoring(alpha=2)", "cats"]
        schedulers = ["pct", "static"]
        WHERE
        [[graph]]
        catalogue = "convnet"
        [[graph]]
        preset = "laich1"
        repetitions = 1
        [[cluster]]
        preset = "laich7"
        [[placer]]
        name = "HEFT"
        placer = "heft(average=speed)"
    "#;

    fn plan(filter: &str) -> Result<RunPlan, PlanError> {
        let line = if filter.is_empty() { String::new() } else { format!("where = \"{filter}\"") };
        RunPlan::new(Suite::parse(&SUITE.replace("WHERE", &line), "s.toml").unwrap())
    }

    #[test]
    fn a_filter_keeps_the_cells_whose_rows_a_table_of_the_whole_run_would_keep() {
        let whole = plan("").unwrap();
        let keys = |plan: &RunPlan| plan.cells.iter().map(|&cell| plan.key(cell)).collect::<Vec<_>>();
        let all = keys(&whole);
        let kept = |filter: &str, keep: &dyn Fn(&CellKey) -> bool| {
            let expected: Vec<CellKey> = all.iter().filter(|key| keep(key)).cloned().collect();
            assert!(!expected.is_empty() && expected.len() < all.len(), "{filter}");
            assert_eq!(keys(&plan(filter).unwrap()), expected, "{filter}");
        };
        kept("graph=laich1", &|key| key.graph == "laich1");
        kept("placer=heft", &|key| ["heft", "HEFT"].contains(&key.placer.as_str()));
        kept("placer=HEFT", &|key| key.placer == "HEFT");
        kept("placer_spec=heft(average=speed)", &|key| key.placer == "HEFT");
        kept("placer=scoring", &|key| key.placer == "scoring(alpha=2)");
        kept("scheduler=online,static network=one_port repetition=1", &|key| {
            key.scheduler != "pct" && key.network == "one_port" && key.repetition == 1
        });
        kept("seed=1", &|key| key.seed == 1);
        assert_eq!(keys(&plan("suite=small cluster=laich7").unwrap()), all);
        let used = |plan: &RunPlan| (plan.used_groups().count(), plan.used_placer_entries().count());
        assert_eq!(used(&whole), (3, 1));
        assert_eq!(used(&plan("graph=laich1 placer=cats").unwrap()), (1, 0));
    }

    #[test]
    fn placers_that_no_scheduler_of_the_suite_runs_are_named() {
        assert!(plan("").unwrap().placers_without_scheduler().is_empty());
        let text = SUITE.replace("WHERE", "").replace("[\"pct\", \"static\"]", "[\"static\"]");
        let plan = RunPlan::new(Suite::parse(&text, "s.toml").unwrap()).unwrap();
        assert_eq!(plan.placers_without_scheduler(), ["scoring(alpha=2)"]);
    }

    #[test]
    fn a_filter_that_no_cell_passes_or_that_needs_results_is_refused() {
        let error = |filter: &str| plan(filter).err().unwrap().to_string();
        assert_eq!(error("graph=convnett"), "where: no row has graph 'convnett': did you mean 'convnet'?");
        assert_eq!(error("placer=cats scheduler=pct"), "where: no row has all of 'placer=cats scheduler=pct'");
        assert_eq!(
            error("graph=convnet status=ok"),
            "where: status is known only when a cell has run: use one of suite, graph, passes, cluster, kinds, placer, \
             placer_spec, scheduler, network, executor, repetition, seed, numbering"
        );
    }
}
