//! The cells that claims compare: one value a draw, as the grid has it.

use placebench_algorithms::Spec;
use placebench_harness::results::Metric;
use placebench_harness::results::grid::{Grid, GridCell, GridInstance};
use polars::prelude::*;

/// A row for each draw of each cell that has a value in every draw, with the columns that filters and `each` name, the
/// repetition, and the `value`, the mean over the draw's numberings; with `other`, a row a cell, its mean over the draws, the mean of the other metric as
/// `against`, and the number of draws as `count`.
///
/// # Complexity
/// O(cells · draws).
pub(super) fn cells(grid: &Grid, other: Option<Metric>) -> PolarsResult<DataFrame> {
    let mut rows = Rows::default();
    for instance in &grid.instances {
        for cell in &instance.cells {
            let Some(values) = cell.values() else { continue };
            match other {
                None => {
                    for (draw, value) in instance.draws.iter().zip(values) {
                        rows.push(grid, instance, cell, draw.repetition, value);
                    }
                }
                Some(other) => {
                    let (Some(mean), Some(against)) = (cell.mean(), grid.other(cell, other)) else { continue };
                    rows.push(grid, instance, cell, 0, mean);
                    rows.against.push(against);
                    rows.count.push(values.len() as u32);
                }
            }
        }
    }
    rows.frame()
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
    fn push(&mut self, grid: &'a Grid, instance: &'a GridInstance, cell: &GridCell, repetition: u32, value: f64) {
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
        self.repetition.push(repetition);
        self.value.push(value);
    }

    fn frame(self) -> PolarsResult<DataFrame> {
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
        if !self.against.is_empty() {
            frame.with_column(Column::new("against".into(), self.against))?;
            frame.with_column(Column::new("count".into(), self.count))?;
        }
        Ok(frame)
    }
}
