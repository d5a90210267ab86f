//! Reads the rows of tables into the grid, in one pass.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use placebench_algorithms::registry;
use polars::prelude::{DataFrame, Expr, PolarsError, PolarsResult, col, polars_err};

use super::{Draw, Grid, GridCell, GridInstance, InstanceKey};
use crate::results::{CellKey, Codes, Column, Metric, Status, Table, values};

/// Why tables have no grid.
#[derive(Debug, thiserror::Error)]
pub enum GridError {
    /// A cell is there twice.
    #[error("{run}: has more than one row for {cell}: compare tables of one run")]
    Duplicate {
        /// The run, or the two of them.
        run: String,
        /// The cell.
        cell: Box<CellKey>,
    },
    /// The table library refuses.
    #[error(transparent)]
    Table(#[from] PolarsError),
}

/// The columns that [`InstanceKey`] is made of.
const INSTANCE: [&str; 7] = ["suite", "graph", "cluster", "kinds", "memory", "network", "executor"];

impl Grid {
    /// The grid of a table.
    ///
    /// # Errors
    /// If a cell is in it twice, or Polars refuses.
    ///
    /// # Complexity
    /// As [`Grid::of_runs`].
    pub fn new(table: &Table, metric: Metric, others: &[Metric]) -> Result<Self, GridError> {
        Self::of_runs(&[("the table", table)], metric, others)
    }

    /// The grid of the rows of several tables together, each with a name for messages. Beside the metric that candidates
    /// are judged by, it keeps the means of some `others`.
    ///
    /// # Errors
    /// If a cell is in them twice, or Polars refuses.
    ///
    /// # Complexity
    /// One pass over the rows. Memory: 8 bytes a row and about 150 for each candidate on each instance; 16 more a row while
    /// rows are read.
    pub fn of_runs(tables: &[(&str, &Table)], metric: Metric, others: &[Metric]) -> Result<Self, GridError> {
        let mut builder = GridBuilder::new(metric, others);
        let values = [&[metric], others].concat().into_iter().map(Metric::expr);
        let columns = GridBuilder::columns(values);
        for (number, (_, table)) in (0..).zip(tables) {
            for part in table.parts() {
                builder.add(number, &part.lazy()?.select(columns.clone()).collect()?)?;
            }
        }
        builder.finish(&tables.iter().map(|(name, _)| *name).collect::<Vec<_>>())
    }
}

/// A candidate on an instance while rows are read.
struct CellSoFar {
    cell: GridCell,
    rows: Vec<GridRow>,
}

/// What a row says of its cell.
struct GridRow {
    draw: u32,
    numbering: u32,
    run: u32,
    /// NaN if it has none.
    value: f64,
}

struct InstanceSoFar {
    codes: [u32; INSTANCE.len()],
    time_unit: String,
    devices: u32,
    draws: Vec<Draw>,
    draw_of: HashMap<(u32, u64), u32>,
    cells: Vec<CellSoFar>,
    cell_of: HashMap<(u32, u32), u32>,
}

/// Makes a grid from rows that come in parts.
pub(crate) struct GridBuilder {
    metric: Metric,
    /// The metrics that it keeps the means of besides.
    others: Vec<Metric>,
    /// Of the columns [`INSTANCE`].
    names: [Codes; INSTANCE.len()],
    placers: Codes,
    /// By placer.
    specs: Vec<u32>,
    all_specs: Codes,
    schedulers: Codes,
    statuses: Codes,
    rows_of_status: Vec<usize>,
    assumptions: Codes,
    assumptions_broken: Vec<(u32, u32)>,
    reasons: Codes,
    instances: Vec<InstanceSoFar>,
    instance_of: HashMap<[u32; INSTANCE.len()], usize>,
}

impl GridBuilder {
    pub(crate) fn new(metric: Metric, others: &[Metric]) -> Self {
        Self {
            metric,
            others: others.to_vec(),
            names: Default::default(),
            placers: Codes::default(),
            specs: Vec::new(),
            all_specs: Codes::default(),
            schedulers: Codes::default(),
            statuses: Codes::default(),
            rows_of_status: Vec::new(),
            assumptions: Codes::default(),
            assumptions_broken: Vec::new(),
            reasons: Codes::default(),
            instances: Vec::new(),
            instance_of: HashMap::new(),
        }
    }

    /// The columns that [`GridBuilder::add`] needs. `values` are those of the metric that candidates are judged by,
    /// and of the other metrics.
    pub(crate) fn columns(values: impl Iterator<Item = Expr>) -> Vec<Expr> {
        let names = [
            "placer",
            "scheduler",
            "status",
            "assumptions_broken",
            "row",
            "repetition",
            "seed",
            "numbering",
            "time_unit",
        ];
        let numbers = ["devices", "ops", "edges", "lower_bound"];
        let named = INSTANCE.into_iter().chain(names).chain(numbers).map(col);
        let values = values.enumerate().map(|(index, value)| value.alias(format!("value {index}")));
        named.chain([Column::PlacerSpec.expr().alias("spec")]).chain(values).collect()
    }

    /// Adds rows of the run of this number: a frame with [`GridBuilder::columns`].
    pub(crate) fn add(&mut self, run: u32, frame: &DataFrame) -> PolarsResult<()> {
        let mut codes: Vec<Vec<u32>> = Vec::new();
        for (names, column) in self.names.iter_mut().zip(INSTANCE) {
            let empty = names.code("");
            codes.push(match column {
                "memory" => names.of_nullable(frame, column)?.into_iter().map(|code| code.unwrap_or(empty)).collect(),
                _ => names.of(frame, column)?,
            });
        }
        let (placers, schedulers) = (self.placers.of(frame, "placer")?, self.schedulers.of(frame, "scheduler")?);
        let (specs, statuses) = (self.all_specs.of(frame, "spec")?, self.statuses.of(frame, "status")?);
        let assumptions = self.assumptions.of_nullable(frame, "assumptions_broken")?;
        let (rows, repetitions) = (values::<u32>(frame, "row")?, values::<u32>(frame, "repetition")?);
        let numberings = values::<u32>(frame, "numbering")?;
        let (seeds, bounds) = (values::<u64>(frame, "seed")?, values::<Option<f64>>(frame, "lower_bound")?);
        let (ops, edges) = (values::<u64>(frame, "ops")?, values::<u64>(frame, "edges")?);
        let metrics = (0..=self.others.len())
            .map(|index| values::<Option<f64>>(frame, &format!("value {index}")))
            .collect::<PolarsResult<Vec<_>>>()?;
        let (units, devices) = (frame.column("time_unit")?.str()?, frame.column("devices")?.u32()?);
        self.rows_of_status.resize(self.statuses.names().len(), 0);
        let ok = self.statuses.find(Status::Ok.name());
        let no_value = format!("no {}", self.metric.column());
        for (row, &number) in rows.iter().enumerate() {
            let key: [u32; INSTANCE.len()] = std::array::from_fn(|column| codes[column][row]);
            let instance = *self.instance_of.entry(key).or_insert_with(|| {
                self.instances.push(InstanceSoFar {
                    codes: key,
                    time_unit: String::new(),
                    devices: 0,
                    draws: Vec::new(),
                    draw_of: HashMap::new(),
                    cells: Vec::new(),
                    cell_of: HashMap::new(),
                });
                self.instances.len() - 1
            });
            let (placer, scheduler, status) = (placers[row], schedulers[row], statuses[row]);
            if placer as usize == self.specs.len() {
                self.specs.push(specs[row]);
            }
            self.rows_of_status[status as usize] += 1;
            if let Some(broken) = assumptions[row]
                && !self.assumptions_broken.contains(&(placer, broken))
            {
                self.assumptions_broken.push((placer, broken));
            }
            let instance = &mut self.instances[instance];
            // A row of a graph that could not be made knows neither.
            if instance.devices == 0 {
                instance.devices = devices.get(row).unwrap_or_default();
                instance.time_unit = units.get(row).unwrap_or_default().to_owned();
            }
            let draw = *instance.draw_of.entry((repetitions[row], seeds[row])).or_insert_with(|| {
                instance.draws.push(Draw { repetition: repetitions[row], seed: seeds[row], problem: (0, 0, 0) });
                instance.draws.len() as u32 - 1
            });
            let drawn = &mut instance.draws[draw as usize].problem;
            if let Some(bound) = bounds[row]
                && *drawn == (0, 0, 0)
            {
                *drawn = (ops[row], edges[row], bound.to_bits());
            }
            let cell = *instance.cell_of.entry((placer, scheduler)).or_insert_with(|| {
                let cell = GridCell {
                    placer,
                    scheduler,
                    values: Box::default(),
                    numberings: 1,
                    first: number,
                    first_failed: None,
                    of_repetition_0: None,
                    why: None,
                    is_undefined: false,
                    others: vec![(0.0, 0); self.others.len()].into(),
                };
                instance.cells.push(CellSoFar { cell, rows: Vec::new() });
                instance.cells.len() as u32 - 1
            });
            let CellSoFar { cell, rows } = &mut instance.cells[cell as usize];
            let value = metrics[0][row];
            rows.push(GridRow { draw, numbering: numberings[row], run, value: value.unwrap_or(f64::NAN) });
            if Some(status) != ok {
                cell.first_failed.get_or_insert(number);
            } else if value.is_none() {
                cell.is_undefined = true;
            }
            if value.is_none() && cell.why.is_none() {
                let reason = if Some(status) == ok { &no_value } else { &**self.statuses.name(status) };
                cell.why = Some(self.reasons.code(reason));
            }
            if value.is_some() && repetitions[row] == 0 && numberings[row] == 0 {
                cell.of_repetition_0.get_or_insert(number);
            }
            for (other, metric) in cell.others.iter_mut().zip(&metrics[1..]) {
                if let Some(value) = metric[row] {
                    *other = (other.0 + value, other.1 + 1);
                }
            }
        }
        Ok(())
    }

    /// The grid of all rows that were added; `runs` are the names of their runs.
    ///
    /// # Errors
    /// If a cell was added twice.
    pub(crate) fn finish(mut self, runs: &[&str]) -> Result<Grid, GridError> {
        // A search has the given numbering alone, any other placer all of an instance. Only the registry knows who searches: of the
        // others, those are no searches that placed under another numbering.
        let mut is_numbered: Vec<bool> =
            self.specs.iter().map(|&spec| is_known_not_to_search(self.all_specs.name(spec))).collect();
        for CellSoFar { cell, rows } in self.instances.iter().flat_map(|instance| &instance.cells) {
            is_numbered[cell.placer as usize] |= rows.iter().any(|row| row.numbering > 0);
        }
        let mut instances = Vec::with_capacity(self.instances.len());
        for InstanceSoFar { codes, time_unit, devices, draws, cells, .. } in std::mem::take(&mut self.instances) {
            let key = self.key(&codes)?;
            // By repetition, so that means do not depend on the order of the rows.
            let mut order: Vec<usize> = (0..draws.len()).collect();
            order.sort_by_key(|&draw| (draws[draw].repetition, draws[draw].seed));
            let numbered = cells.iter().filter(|cell| is_numbered[cell.cell.placer as usize]);
            let all: BTreeSet<u32> = numbered.flat_map(|cell| &cell.rows).map(|row| row.numbering).collect();
            let mut finished = Vec::with_capacity(cells.len());
            for CellSoFar { cell, mut rows } in cells {
                rows.sort_by_key(|row| (row.draw, row.numbering));
                let is_twice =
                    |pair: &&[GridRow]| (pair[0].draw, pair[0].numbering) == (pair[1].draw, pair[1].numbering);
                if let Some(twice) = rows.windows(2).find(is_twice) {
                    let [first, second] = [0, 1].map(|row: usize| twice[row].run as usize);
                    let run = match first == second {
                        true => runs[first].to_owned(),
                        false => format!("{} and {}", runs[first], runs[second]),
                    };
                    return Err(self.duplicate(&key, &cell, draws[twice[0].draw as usize], twice[0].numbering, run));
                }
                let numberings = match is_numbered[cell.placer as usize] {
                    true => all.clone(),
                    false => rows.iter().map(|row| row.numbering).collect(),
                };
                let width = numberings.len();
                let mut values = vec![f64::NAN; draws.len() * width];
                let columns: HashMap<u32, usize> = numberings.into_iter().zip(0..).collect();
                for row in &rows {
                    values[row.draw as usize * width + columns[&row.numbering]] = row.value;
                }
                let values = order.iter().flat_map(|&draw| &values[draw * width..][..width]).copied().collect();
                finished.push(GridCell { values, numberings: width as u32, ..cell });
            }
            let draws = order.into_iter().map(|draw| draws[draw]).collect();
            instances.push(GridInstance { key, time_unit, devices, draws, cells: finished });
        }
        let texts = |codes: &Codes| codes.names().iter().map(|name| name.to_string()).collect::<Vec<String>>();
        let counts: BTreeMap<String, usize> = texts(&self.statuses).into_iter().zip(self.rows_of_status).collect();
        let broken = |&(placer, broken): &(u32, u32)| {
            (self.placers.name(placer).to_string(), self.assumptions.name(broken).to_string())
        };
        Ok(Grid {
            metric: self.metric,
            others: self.others,
            instances,
            placers: texts(&self.placers),
            specs: self.specs.iter().map(|&spec| self.all_specs.name(spec).to_string()).collect(),
            schedulers: texts(&self.schedulers),
            statuses: counts,
            assumptions_broken: self.assumptions_broken.iter().map(broken).collect(),
            reasons: texts(&self.reasons),
        })
    }

    fn key(&self, codes: &[u32; INSTANCE.len()]) -> PolarsResult<InstanceKey> {
        let name = |column: usize| self.names[column].name(codes[column]).to_string();
        let kinds = name(3).parse().map_err(|error| polars_err!(ComputeError: "column 'kinds': {error}"))?;
        Ok(InstanceKey {
            suite: name(0),
            graph: name(1),
            cluster: name(2),
            kinds,
            memory: name(4),
            network: name(5),
            executor: name(6).as_str().into(),
        })
    }

    fn duplicate(&self, key: &InstanceKey, cell: &GridCell, draw: Draw, numbering: u32, run: String) -> GridError {
        let InstanceKey { suite, graph, cluster, kinds, network, executor, .. } = key.clone();
        let cell = CellKey {
            suite,
            graph,
            cluster,
            kinds,
            network,
            executor,
            placer: self.placers.name(cell.placer).to_string(),
            scheduler: self.schedulers.name(cell.scheduler).to_string(),
            repetition: draw.repetition,
            seed: draw.seed,
            numbering,
        };
        GridError::Duplicate { run, cell: Box::new(cell) }
    }
}

fn is_known_not_to_search(spec: &str) -> bool {
    spec.parse().is_ok_and(|spec| registry::placer(&spec).is_ok_and(|placer| !placer.uses_objective()))
}
