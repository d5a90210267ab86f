//! One pass over the rows of a table: the results of each placer under each scheduler in each scenario.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use placebench_harness::results::{Codes, Column, Metric, SCENARIO, Scenario, Status, Table, values};
use polars::prelude::{Expr, PolarsResult, col};

/// What the rows of a table say, by scenario, placer and scheduler.
pub(crate) struct Tally {
    pub(crate) metric: Metric,
    /// As tables print them, in the order of the rows.
    pub(crate) placers: Vec<String>,
    /// The placers with their parameters.
    pub(crate) specs: Vec<String>,
    /// In the order of the rows.
    pub(crate) schedulers: Vec<Arc<str>>,
    /// In the order of the rows.
    pub(crate) scenarios: Vec<Scenario>,
    /// Time unit of each scenario.
    pub(crate) units: Vec<String>,
    /// Devices of each scenario.
    pub(crate) devices: Vec<u32>,
    /// Rows by how they ended.
    pub(crate) statuses: BTreeMap<String, usize>,
    /// By scenario, in the order of the rows.
    pub(crate) cells: Vec<Vec<Repeated>>,
    /// Placers with what they assume and an instance breaks, in the order of the rows.
    broken: Vec<(Arc<str>, Arc<str>)>,
}

/// The repetitions of a placer under a scheduler in a scenario.
pub(crate) struct Repeated {
    pub(crate) placer: Arc<str>,
    pub(crate) scheduler: Arc<str>,
    /// Rows.
    rows: u32,
    /// The values that there are, in the order of the rows.
    results: Vec<f64>,
    /// The repetitions that they are of.
    repetitions: Vec<u32>,
    /// Number of the first row.
    pub(crate) first: u32,
    /// Number of the first row that failed.
    pub(crate) first_failed: Option<u32>,
    /// Number of the first row of repetition 0, if it has a value.
    pub(crate) of_repetition_0: Option<u32>,
    /// Sums of other metrics, and how many values they are of.
    others: Vec<(f64, u32)>,
    pub(crate) seconds: Seconds,
}

/// Seconds to place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Seconds {
    sum: f64,
    count: u32,
    /// Of those above 0: the sum of the logarithms, and how many they are.
    logarithms: f64,
    positive: u32,
}

impl Seconds {
    fn add(&mut self, seconds: f64) {
        self.sum += seconds;
        self.count += 1;
        if seconds > 0.0 {
            self.logarithms += seconds.ln();
            self.positive += 1;
        }
    }

    /// These and others.
    pub(crate) fn and(self, other: &Self) -> Self {
        Self {
            sum: self.sum + other.sum,
            count: self.count + other.count,
            logarithms: self.logarithms + other.logarithms,
            positive: self.positive + other.positive,
        }
    }

    /// `None` of none.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }

    /// Of those above 0; `None` if there are none.
    pub(crate) fn geometric_mean(&self) -> Option<f64> {
        (self.positive > 0).then(|| (self.logarithms / f64::from(self.positive)).exp())
    }
}

impl Repeated {
    /// One a repetition; `None` if any has no value.
    pub(crate) fn values(&self) -> Option<&[f64]> {
        (self.results.len() == self.rows as usize).then_some(&*self.results)
    }

    /// Their mean: a sum in the order of the rows, so that equal repetitions tie to the last bit.
    pub(crate) fn mean(&self) -> Option<f64> {
        Some(self.values()?.iter().sum::<f64>() / f64::from(self.rows))
    }

    /// The mean of another metric, by its number; `None` if a repetition has no value.
    pub(crate) fn other(&self, metric: usize) -> Option<f64> {
        let (sum, count) = self.others[metric];
        (count == self.rows).then(|| sum / f64::from(count))
    }

    /// The repetitions with their values.
    pub(crate) fn results(&self) -> impl Iterator<Item = (u32, f64)> {
        self.repetitions.iter().copied().zip(self.results.iter().copied())
    }

    /// The value of a repetition. It is looked for first at its place among the results of another scheduler.
    pub(crate) fn result(&self, repetition: u32, place: usize) -> Option<f64> {
        let found = match self.repetitions.get(place) {
            Some(&there) if there == repetition => place,
            _ => self.repetitions.iter().position(|&own| own == repetition)?,
        };
        Some(self.results[found])
    }
}

impl Tally {
    /// Counts the rows of a table.
    ///
    /// # Complexity
    /// One pass over the rows; memory for 12 bytes of each.
    pub(crate) fn new(table: &Table, metric: Metric, others: &[Metric]) -> PolarsResult<Self> {
        let mut counting = Counting::default();
        for part in table.parts() {
            counting.add(&part, metric, others)?;
        }
        let Counting { names, placers, specs, schedulers, statuses, scenarios, rows_of_status, .. } = counting;
        let [graphs, clusters, networks, executors] = names;
        let scenario = |&[graph, cluster, network, executor]: &[u32; 4]| Scenario {
            graph: graphs.name(graph).to_string(),
            cluster: clusters.name(cluster).to_string(),
            network: networks.name(network).to_string(),
            executor: (&**executors.name(executor)).into(),
        };
        Ok(Self {
            metric,
            placers: placers.names().iter().map(|name| name.to_string()).collect(),
            specs: specs.iter().map(|name| name.to_string()).collect(),
            schedulers: schedulers.names().to_vec(),
            scenarios: scenarios.iter().map(scenario).collect(),
            units: counting.units,
            devices: counting.devices,
            statuses: statuses.names().iter().map(|name| name.to_string()).zip(rows_of_status).collect(),
            cells: counting.cells,
            broken: counting.broken,
        })
    }

    /// Placers with what they assume and an instance breaks, in the order of the rows.
    pub(crate) fn broken(&self) -> impl Iterator<Item = (&str, &str)> {
        self.broken.iter().map(|(placer, broken)| (&**placer, &**broken))
    }
}

/// What is known while rows are counted.
#[derive(Default)]
struct Counting {
    /// Of graphs, clusters, networks and executors.
    names: [Codes; 4],
    placers: Codes,
    /// By placer.
    specs: Vec<Arc<str>>,
    all_specs: Codes,
    schedulers: Codes,
    statuses: Codes,
    rows_of_status: Vec<usize>,
    assumptions: Codes,
    broken: Vec<(Arc<str>, Arc<str>)>,
    scenarios: Vec<[u32; 4]>,
    scenario_of: HashMap<[u32; 4], usize>,
    units: Vec<String>,
    devices: Vec<u32>,
    cells: Vec<Vec<Repeated>>,
}

impl Counting {
    /// Adds all rows of some graphs on their clusters.
    fn add(&mut self, part: &Table, metric: Metric, others: &[Metric]) -> PolarsResult<()> {
        let numbers: Vec<Metric> = [metric, Metric::PlaceSeconds].iter().chain(others).copied().collect();
        let number = |(index, metric): (usize, &Metric)| metric.expr().alias(format!("metric {index}"));
        let columns: Vec<Expr> = SCENARIO
            .into_iter()
            .chain(["placer", "scheduler", "status", "assumptions_broken", "row", "repetition", "time_unit", "devices"])
            .map(col)
            .chain([Column::PlacerSpec.expr().alias("spec")])
            .chain(numbers.iter().enumerate().map(number))
            .collect();
        let frame = part.lazy()?.select(columns).collect()?;
        let mut codes: Vec<Vec<u32>> = Vec::new();
        for (names, column) in self.names.iter_mut().zip(SCENARIO) {
            codes.push(names.of(&frame, column)?);
        }
        let placers = self.placers.of(&frame, "placer")?;
        let specs = self.all_specs.of(&frame, "spec")?;
        let schedulers = self.schedulers.of(&frame, "scheduler")?;
        let statuses = self.statuses.of(&frame, "status")?;
        let assumptions = self.assumptions.of_nullable(&frame, "assumptions_broken")?;
        let (rows, repetitions) = (values::<u32>(&frame, "row")?, values::<u32>(&frame, "repetition")?);
        let metrics = (0..numbers.len())
            .map(|index| values::<Option<f64>>(&frame, &format!("metric {index}")))
            .collect::<PolarsResult<Vec<_>>>()?;
        let [units, devices] = ["time_unit", "devices"].map(|name| frame.column(name));
        let (units, devices) = (units?.str()?, devices?.u32()?);
        self.rows_of_status.resize(self.statuses.names().len(), 0);
        let ok = self.statuses.find(Status::Ok.name());
        let mut cell_of: HashMap<(usize, u32, u32), usize> = HashMap::new();
        let mut seen = HashMap::new();
        for (row, &number) in rows.iter().enumerate() {
            let scenario = [codes[0][row], codes[1][row], codes[2][row], codes[3][row]];
            let scenario = *self.scenario_of.entry(scenario).or_insert_with(|| {
                self.scenarios.push(scenario);
                self.units.push(units.get(row).unwrap_or_default().to_owned());
                self.devices.push(devices.get(row).unwrap_or_default());
                self.cells.push(Vec::new());
                self.cells.len() - 1
            });
            let (placer, scheduler, status) = (placers[row], schedulers[row], statuses[row]);
            if placer as usize == self.specs.len() {
                self.specs.push(Arc::clone(self.all_specs.name(specs[row])));
            }
            self.rows_of_status[status as usize] += 1;
            if let Some(broken) = assumptions[row]
                && seen.insert((placer, broken), ()).is_none()
            {
                let pair = (Arc::clone(self.placers.name(placer)), Arc::clone(self.assumptions.name(broken)));
                if !self.broken.contains(&pair) {
                    self.broken.push(pair);
                }
            }
            let cells = &mut self.cells[scenario];
            let cell = *cell_of.entry((scenario, placer, scheduler)).or_insert_with(|| {
                cells.push(Repeated {
                    placer: Arc::clone(self.placers.name(placer)),
                    scheduler: Arc::clone(self.schedulers.name(scheduler)),
                    rows: 0,
                    results: Vec::new(),
                    repetitions: Vec::new(),
                    first: number,
                    first_failed: None,
                    of_repetition_0: None,
                    others: vec![(0.0, 0); others.len()],
                    seconds: Seconds::default(),
                });
                cells.len() - 1
            });
            let cell = &mut cells[cell];
            cell.rows += 1;
            if Some(status) != ok {
                cell.first_failed.get_or_insert(number);
            }
            if let Some(result) = metrics[0][row] {
                cell.results.push(result);
                cell.repetitions.push(repetitions[row]);
                if repetitions[row] == 0 {
                    cell.of_repetition_0.get_or_insert(number);
                }
            }
            if let Some(seconds) = metrics[1][row] {
                cell.seconds.add(seconds);
            }
            for (other, metric) in cell.others.iter_mut().zip(&metrics[2..]) {
                if let Some(value) = metric[row] {
                    *other = (other.0 + value, other.1 + 1);
                }
            }
        }
        // Vectors that have grown have room to spare: a fifth of the memory of the whole.
        for ((scenario, ..), cell) in cell_of {
            let cell = &mut self.cells[scenario][cell];
            cell.results.shrink_to_fit();
            cell.repetitions.shrink_to_fit();
        }
        Ok(())
    }
}
