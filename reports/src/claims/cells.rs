//! The cells that claims compare: one value a draw, as the grid has it.

use std::collections::BTreeMap;

use placebench_algorithms::Spec;
use placebench_harness::results::grid::{Grid, GridCell, GridError, GridInstance};
use placebench_harness::results::{Metric, Table};
use polars::prelude::*;

/// A row for each draw of each cell that has a value in every draw, under each numbering, with the columns that filters and
/// `each` name, the `value`, and as `repetition` the number of the draw and its numbering, counted together. With `other`: a
/// row a cell, its mean over the draws, the mean of the other metric as `against`, and the number of draws as `count`.
///
/// # Complexity
/// O(cells · draws).
fn cells(grid: &Grid, other: Option<Metric>) -> PolarsResult<DataFrame> {
    let mut rows = Rows::default();
    for instance in &grid.instances {
        for cell in &instance.cells {
            let Some(samples) = cell.samples() else { continue };
            match other {
                None => {
                    for (sample, value) in (0..).zip(samples) {
                        rows.push(grid, instance, cell, sample, value);
                    }
                }
                Some(other) => {
                    let (Some(mean), Some(against)) = (cell.mean(), grid.other(cell, other)) else { continue };
                    rows.push(grid, instance, cell, 0, mean);
                    rows.against.push(against);
                    rows.count.push(samples.count() as u32);
                }
            }
        }
    }
    rows.frame(other.is_some())
}

/// The cells of a table, by the metrics that were asked for: claims share them.
pub(super) struct CellsOf {
    table: Table,
    known: BTreeMap<(&'static str, Option<&'static str>), DataFrame>,
}

impl CellsOf {
    pub(super) fn new(table: Table) -> Self {
        Self { table, known: BTreeMap::new() }
    }

    /// [`cells`] by a metric.
    ///
    /// # Errors
    /// If a cell is in the table twice, or Polars refuses.
    pub(super) fn by(&mut self, metric: Metric, other: Option<Metric>) -> Result<DataFrame, GridError> {
        let key = (metric.column(), other.map(Metric::column));
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let made = cells(&Grid::new(&self.table, metric, other.as_slice())?, other)?;
        self.known.insert(key, made.clone());
        Ok(made)
    }
}

/// Columns of a frame.
#[derive(Default)]
struct Rows<'a> {
    suite: Vec<&'a str>,
    graph: Vec<&'a str>,
    cluster: Vec<&'a str>,
    kinds: Vec<String>,
    network: Vec<&'a str>,
    executor: Vec<&'a str>,
    placer: Vec<&'a str>,
    placer_spec: Vec<&'a str>,
    placer_name: Vec<String>,
    scheduler: Vec<&'a str>,
    repetition: Vec<u32>,
    value: Vec<f64>,
    against: Vec<f64>,
    count: Vec<u32>,
}

impl<'a> Rows<'a> {
    fn push(&mut self, grid: &'a Grid, instance: &'a GridInstance, cell: &GridCell, sample: u32, value: f64) {
        let (placer, spec) = (&grid.placers[cell.placer as usize], &grid.specs[cell.placer as usize]);
        self.suite.push(&instance.key.suite);
        self.graph.push(&instance.key.graph);
        self.cluster.push(&instance.key.cluster);
        self.kinds.push(instance.key.kinds.to_string());
        self.network.push(&instance.key.network);
        self.executor.push(instance.key.executor.as_str());
        self.placer.push(placer);
        self.placer_spec.push(spec);
        self.placer_name.push(spec.parse::<Spec>().map_or_else(|_| spec.clone(), |spec| spec.name));
        self.scheduler.push(&grid.schedulers[cell.scheduler as usize]);
        self.repetition.push(sample);
        self.value.push(value);
    }

    fn frame(self, has_other: bool) -> PolarsResult<DataFrame> {
        let mut frame = df!(
            "suite" => self.suite,
            "graph" => self.graph,
            "cluster" => self.cluster,
            "kinds" => self.kinds,
            "network" => self.network,
            "executor" => self.executor,
            "placer" => self.placer,
            "placer_spec" => self.placer_spec,
            "placer_name" => self.placer_name,
            "scheduler" => self.scheduler,
            "repetition" => self.repetition,
            "value" => self.value,
        )?;
        if has_other {
            frame.with_column(Column::new("against".into(), self.against))?;
            frame.with_column(Column::new("count".into(), self.count))?;
        }
        Ok(frame)
    }
}
