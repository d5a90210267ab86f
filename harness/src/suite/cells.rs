//! The cells of a suite, in the order of its tables.

use placebench_algorithms::{ONLINE, Placer, Scheduler, Spec, SpecError, registry};
use placebench_datasets::MemoryRule;

use super::{PlacerEntry, Suite};
use crate::execute::simulate::{NetworkModel, network_model};
use crate::problem::{Problem, ProblemError};
use crate::results::CellKey;

/// One graph on one cluster in one repetition: what shares an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Index into [`Suite::graphs`].
    pub graph: usize,
    /// Index into [`Suite::clusters`].
    pub cluster: usize,
    /// Repetition, from 0.
    pub repetition: u32,
    /// Seed of the repetition.
    pub seed: u64,
}

/// One simulation: a group, a placer, a scheduler, a network model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Index into [`Plan::groups`].
    pub group: usize,
    /// Index into [`Plan::placers`].
    pub placer: usize,
    /// Index into [`Plan::schedulers`]; `None` if the placer decides online, whatever schedulers there are.
    pub scheduler: Option<usize>,
    /// Index into [`Plan::networks`].
    pub network: usize,
}

/// A suite with its names resolved and its cells listed.
pub struct Plan {
    /// The suite.
    pub suite: Suite,
    /// Placers as tables print them: by name, else with their specs as written.
    pub placers: Vec<(String, Box<dyn Placer>)>,
    /// Schedulers with their specs as written.
    pub schedulers: Vec<(String, Box<dyn Scheduler>)>,
    /// Network models with their names.
    pub networks: Vec<(String, &'static dyn NetworkModel)>,
    /// All groups: graphs, then clusters, then repetitions.
    pub groups: Vec<Group>,
    /// All cells: groups, then placers, then networks, then schedulers.
    pub cells: Vec<Cell>,
}

impl Plan {
    /// Resolves a suite.
    ///
    /// # Errors
    /// If it names an unknown algorithm or parameter; [`Suite::parse`] has checked that already.
    pub fn new(suite: Suite) -> Result<Self, SpecError> {
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
            };
            placers.push((entry.name().to_owned(), placer));
        }
        let schedulers = suite
            .schedulers
            .iter()
            .map(|text| Ok((text.clone(), registry::scheduler(&parse(text)?)?)))
            .collect::<Result<Vec<_>, SpecError>>()?;
        let networks =
            suite.networks.iter().filter_map(|text| Some((text.clone(), network_model(text).ok()?))).collect();
        let mut plan = Self { suite, placers, schedulers, networks, groups: Vec::new(), cells: Vec::new() };
        plan.list_groups();
        for group in 0..plan.groups.len() {
            plan.list_cells(group);
        }
        Ok(plan)
    }

    fn list_groups(&mut self) {
        for (graph, entry) in self.suite.graphs.iter().enumerate() {
            for (cluster, cluster_entry) in self.suite.clusters.iter().enumerate() {
                if entry.clusters.as_ref().is_some_and(|names| !names.contains(&cluster_entry.label())) {
                    continue;
                }
                for repetition in 0..entry.repetitions.unwrap_or(self.suite.repetitions) {
                    let seed = self.suite.seed.wrapping_add(u64::from(repetition));
                    self.groups.push(Group { graph, cluster, repetition, seed });
                }
            }
        }
    }

    fn list_cells(&mut self, group: usize) {
        for placer in 0..self.placers.len() {
            for network in 0..self.networks.len() {
                if self.placers[placer].1.online().is_some() {
                    self.cells.push(Cell { group, placer, scheduler: None, network });
                    continue;
                }
                for scheduler in 0..self.schedulers.len() {
                    // The static scheduler executes a placer's own schedule: without one there is nothing to run.
                    if self.schedulers[scheduler].1.needs_plan() && !self.placers[placer].1.makes_plan() {
                        continue;
                    }
                    self.cells.push(Cell { group, placer, scheduler: Some(scheduler), network });
                }
            }
        }
    }

    /// The instance of a group, made as the suite says.
    ///
    /// # Errors
    /// If a file is gone or cannot be read, or graph and cluster do not fit together.
    pub fn problem(&self, group: &Group) -> Result<Problem, ProblemError> {
        Problem::new(&self.suite.graphs[group.graph], &self.suite.clusters[group.cluster], group.seed)
    }

    /// The specification of a cell's placer, where the suite gives it a name for print.
    pub fn placer_spec(&self, cell: Cell) -> Option<&str> {
        let entry = cell.placer.checked_sub(self.suite.placers.len())?;
        self.suite.placer_entries.get(entry)?.spec()
    }

    /// How memory limits the placement of a cell.
    pub fn memory_rule(&self, cell: Cell) -> MemoryRule {
        self.suite.clusters[self.groups[cell.group].cluster].memory
    }

    /// What identifies a cell.
    pub fn key(&self, cell: Cell) -> CellKey {
        let group = &self.groups[cell.group];
        CellKey {
            suite: self.suite.name.clone(),
            graph: self.suite.graphs[group.graph].label(),
            cluster: self.suite.clusters[group.cluster].label(),
            kinds: self.suite.clusters[group.cluster].kinds,
            network: self.networks[cell.network].0.clone(),
            placer: self.placers[cell.placer].0.clone(),
            scheduler: cell
                .scheduler
                .map_or_else(|| ONLINE.to_owned(), |scheduler| self.schedulers[scheduler].0.clone()),
            repetition: group.repetition,
            seed: group.seed,
        }
    }
}
