//! What each candidate of a ranking reaches on each instance.

use std::collections::{BTreeMap, HashMap};

use placebench_algorithms::ONLINE;
use polars::prelude::{Expr, PolarsResult, col};
use serde::Serialize;

use super::{ComparisonError, RunTable};
use crate::problem::Kinds;
use crate::results::{CELL, CellKey, Codes, Metric, Status, Table, values};

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

/// What identifies a cell, by the codes of its names, in the order of [`CellKey`]. That of an instance has no placer or
/// scheduler that the candidates differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id {
    pub(super) suite: u32,
    pub(super) graph: u32,
    cluster: u32,
    kinds: Kinds,
    network: u32,
    executor: u32,
    placer: u32,
    scheduler: u32,
    pub(super) repetition: u32,
    pub(super) seed: u64,
}

/// What a candidate reaches on an instance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reached {
    /// The least value under any scheduler.
    Value(f64),
    /// None: the code of the reason under the alphabetically first scheduler, and the code of that.
    Nothing { why: u32, scheduler: u32 },
    /// It was not run.
    NotRun,
}

/// All instances of some runs.
pub(super) struct Instances {
    /// The candidates, in alphabetical order.
    pub(super) names: Vec<String>,
    /// What identifies the instances, ascending; names stand for their places in alphabetical order.
    pub(super) ids: Vec<Id>,
    /// By instance, then by candidate.
    pub(super) reached: Vec<Vec<Reached>>,
    whys: Codes,
}

impl Instances {
    /// Reads the rows of all runs together.
    ///
    /// # Errors
    /// If a cell is in the runs twice.
    ///
    /// # Complexity
    /// O(rows + instances · log instances); memory for 16 bytes a candidate and some 70 more, on each instance.
    pub(super) fn new(runs: &[RunTable], by: Candidates, metric: Metric) -> Result<Self, ComparisonError> {
        let mut reading = Reading::default();
        let tables: Vec<&Table> = runs.iter().map(|run| &run.table).collect();
        for part in Table::aligned(&tables) {
            let mut of_part = OfPart::default();
            for (run, rows) in part.iter().enumerate() {
                reading.add(&mut of_part, (runs, run), rows, by, metric)?;
            }
        }
        Ok(reading.sorted(by))
    }

    /// Why a candidate reached nothing.
    pub(super) fn why(&self, code: u32) -> &str {
        self.whys.name(code)
    }
}

/// What is known of the cells of some graphs on their clusters.
#[derive(Default)]
struct OfPart {
    /// Which run has a cell.
    runs: HashMap<Id, usize>,
    instances: HashMap<Id, usize>,
}

#[derive(Default)]
struct Reading {
    suites: Codes,
    graphs: Codes,
    clusters: Codes,
    kinds: Codes,
    networks: Codes,
    executors: Codes,
    placers: Codes,
    schedulers: Codes,
    statuses: Codes,
    whys: Codes,
    /// Placer and scheduler of each candidate.
    candidates: Vec<(u32, u32)>,
    candidate_of: HashMap<(u32, u32), usize>,
    ids: Vec<Id>,
    reached: Vec<Vec<Reached>>,
}

impl Reading {
    /// Adds the rows of some graphs in one of the runs.
    fn add(
        &mut self,
        of_part: &mut OfPart,
        (runs, run): (&[RunTable], usize),
        rows: &Table,
        by: Candidates,
        metric: Metric,
    ) -> Result<(), ComparisonError> {
        let columns: Vec<Expr> =
            CELL.map(col).into_iter().chain([col("status"), metric.expr().alias("value")]).collect();
        let frame = rows.lazy()?.select(columns).collect()?;
        let (suites, graphs) = (self.suites.of(&frame, "suite")?, self.graphs.of(&frame, "graph")?);
        let (clusters, networks) = (self.clusters.of(&frame, "cluster")?, self.networks.of(&frame, "network")?);
        let (executors, placers) = (self.executors.of(&frame, "executor")?, self.placers.of(&frame, "placer")?);
        let (schedulers, statuses) = (self.schedulers.of(&frame, "scheduler")?, self.statuses.of(&frame, "status")?);
        let kinds = self.kinds.of(&frame, "kinds")?;
        let known_kinds = kinds_of(&self.kinds)?;
        let (repetitions, seeds) = (values::<u32>(&frame, "repetition")?, values::<u64>(&frame, "seed")?);
        let results = values::<Option<f64>>(&frame, "value")?;
        let whys: Vec<u32> = self
            .statuses
            .names()
            .iter()
            .map(|status| match &**status == Status::Ok.name() {
                true => self.whys.code(&format!("no {}", metric.column())),
                false => self.whys.code(status),
            })
            .collect();
        let none = (self.placers.code(""), self.schedulers.code(""));
        let left_out: Vec<bool> = self
            .schedulers
            .names()
            .iter()
            .map(|name| by == Candidates::Scheduler && (&**name == "static" || &**name == ONLINE))
            .collect();
        for (row, result) in results.into_iter().enumerate() {
            let (placer, scheduler) = (placers[row], schedulers[row]);
            let cell = Id {
                suite: suites[row],
                graph: graphs[row],
                cluster: clusters[row],
                kinds: known_kinds[kinds[row] as usize],
                network: networks[row],
                executor: executors[row],
                placer,
                scheduler,
                repetition: repetitions[row],
                seed: seeds[row],
            };
            if let Some(other) = of_part.runs.insert(cell, run) {
                let run = match run == other {
                    true => runs[run].name.clone(),
                    false => format!("{} and {}", runs[other].name, runs[run].name),
                };
                return Err(ComparisonError::Duplicate { run, cell: Box::new(self.key(&cell)) });
            }
            if left_out[scheduler as usize] {
                continue;
            }
            let (candidate, id) = match by {
                Candidates::Placer => ((placer, none.1), Id { placer: none.0, scheduler: none.1, ..cell }),
                Candidates::Scheduler => ((none.0, scheduler), Id { scheduler: none.1, ..cell }),
                Candidates::Pair => ((placer, scheduler), Id { placer: none.0, scheduler: none.1, ..cell }),
            };
            let candidate = *self.candidate_of.entry(candidate).or_insert_with(|| {
                self.candidates.push(candidate);
                self.candidates.len() - 1
            });
            let instance = *of_part.instances.entry(id).or_insert_with(|| {
                self.ids.push(id);
                self.reached.push(Vec::with_capacity(self.candidates.len()));
                self.ids.len() - 1
            });
            let reached = &mut self.reached[instance];
            if reached.len() <= candidate {
                reached.resize(candidate + 1, Reached::NotRun);
            }
            let why = whys[statuses[row] as usize];
            let name = |scheduler: u32| self.schedulers.name(scheduler);
            reached[candidate] = match (reached[candidate], result) {
                (Reached::Value(known), Some(value)) => Reached::Value(known.min(value)),
                (_, Some(value)) => Reached::Value(value),
                (Reached::Nothing { scheduler: known, .. }, None) if name(scheduler) < name(known) => {
                    Reached::Nothing { why, scheduler }
                }
                (Reached::NotRun, None) => Reached::Nothing { why, scheduler },
                (known, None) => known,
            };
        }
        Ok(())
    }

    /// What people call a cell.
    fn key(&self, cell: &Id) -> CellKey {
        CellKey {
            suite: self.suites.name(cell.suite).to_string(),
            graph: self.graphs.name(cell.graph).to_string(),
            cluster: self.clusters.name(cell.cluster).to_string(),
            kinds: cell.kinds,
            network: self.networks.name(cell.network).to_string(),
            executor: (&**self.executors.name(cell.executor)).into(),
            placer: self.placers.name(cell.placer).to_string(),
            scheduler: self.schedulers.name(cell.scheduler).to_string(),
            repetition: cell.repetition,
            seed: cell.seed,
        }
    }

    /// Everything in an order that does not depend on that of the rows.
    fn sorted(mut self, by: Candidates) -> Instances {
        let name = |&(placer, scheduler): &(u32, u32)| match by {
            Candidates::Placer => self.placers.name(placer).to_string(),
            Candidates::Scheduler => self.schedulers.name(scheduler).to_string(),
            Candidates::Pair => format!("{} + {}", self.placers.name(placer), self.schedulers.name(scheduler)),
        };
        let candidates: BTreeMap<String, usize> =
            self.candidates.iter().enumerate().map(|(index, candidate)| (name(candidate), index)).collect();
        let ranks = [&self.suites, &self.graphs, &self.clusters, &self.networks, &self.executors, &self.placers];
        let [suites, graphs, clusters, networks, executors, placers] = ranks.map(Codes::ranks);
        for id in &mut self.ids {
            id.suite = suites[id.suite as usize];
            id.graph = graphs[id.graph as usize];
            id.cluster = clusters[id.cluster as usize];
            id.network = networks[id.network as usize];
            id.executor = executors[id.executor as usize];
            id.placer = placers[id.placer as usize];
        }
        let mut order: Vec<usize> = (0..self.ids.len()).collect();
        order.sort_unstable_by_key(|&instance| &self.ids[instance]);
        let of_instance = |&instance: &usize| {
            let own = std::mem::take(&mut self.reached[instance]);
            candidates.values().map(|&candidate| own.get(candidate).copied().unwrap_or(Reached::NotRun)).collect()
        };
        Instances {
            reached: order.iter().map(of_instance).collect(),
            ids: order.iter().map(|&instance| self.ids[instance]).collect(),
            names: candidates.into_keys().collect(),
            whys: self.whys,
        }
    }
}

/// The choices of kinds that codes stand for.
fn kinds_of(codes: &Codes) -> PolarsResult<Vec<Kinds>> {
    let parse = |name: &std::sync::Arc<str>| {
        name.parse().map_err(|error| polars::prelude::polars_err!(ComputeError: "column 'kinds': {error}"))
    };
    codes.names().iter().map(parse).collect()
}
