//! Figures of a run that need its graphs: cells that are placed and simulated once more, and colocation groups.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use placebench_datasets::{DataflowGraph, Instance, PlacedGraph, nearest};
use placebench_harness::evaluate::Evaluation;
use placebench_harness::problem::{Problem, ProblemError};
use placebench_harness::results::{CellKey, Metric, Table, cell_keys};
use placebench_harness::runner::{FolderError, read_suite, replay_within};
use placebench_harness::suite::{Cell, PlacerEntry, Plan, PlanError, Suite};
use polars::prelude::*;

use crate::figure::{NamedFigure, colocation_histogram, executable_ops, gantt};

/// Why figures that need a run's graphs cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub enum CellsError {
    /// The run's suite cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The suite names an algorithm that does not exist.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A graph cannot be made.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// A cell cannot be run again.
    #[error("{0}")]
    Replay(String),
    /// There is no such cell.
    #[error("the run has no cell '{wanted}': {remedy}")]
    Cell {
        /// The name.
        wanted: String,
        /// What to write instead.
        remedy: String,
    },
    /// The rows cannot be queried.
    #[error(transparent)]
    Table(#[from] PolarsError),
}

/// A cell that was run again, to draw a figure of it.
pub(super) struct CellRun<'a> {
    key: &'a CellKey,
    instance: &'a Instance,
    time_unit: &'a str,
    replay: &'a Evaluation,
}

/// Draws a cell that was run again; `None` if there is nothing to show.
pub(super) type CellFigure = fn(&CellRun<'_>) -> Option<NamedFigure>;

impl CellRun<'_> {
    fn title(&self) -> String {
        let CellKey { graph, cluster, placer, scheduler, network, .. } = self.key;
        format!("{graph} on {cluster}, placed by {placer}, scheduled by {scheduler}, {network}")
    }

    fn file(&self, kind: &str) -> String {
        let CellKey { graph, cluster, placer, scheduler, .. } = self.key;
        NamedFigure::file_name(&format!("{kind}-{graph}-{cluster}-{placer}-{scheduler}"))
    }
}

/// What each device did when.
pub(super) fn gantt_figure(cell: &CellRun<'_>) -> Option<NamedFigure> {
    let (title, timeline) = (cell.title(), &cell.replay.timeline);
    let placed = PlacedGraph::new(cell.instance, &cell.replay.decision.placement);
    let caption = format!("What each device executes when: {title}. White is idle; at the right the busy share.");
    let figure = Box::new(gantt(&placed, timeline, cell.time_unit, title));
    Some(NamedFigure { name: cell.file("gantt"), caption, figure })
}

/// How many ops each device could choose from.
pub(super) fn executable_figure(cell: &CellRun<'_>) -> Option<NamedFigure> {
    let title = cell.title();
    let caption = format!("Executable ops on each device before each of its decisions: {title}.");
    let figure = Box::new(executable_ops(cell.instance.cluster(), &cell.replay.timeline, title)?);
    Some(NamedFigure { name: cell.file("executable"), caption, figure })
}

/// How long a cell that is run again may take.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// The figures of cells of a run, by name; without names, of the cell of least makespan on the first graph. A program that
/// places is started only if its cell is named.
pub(super) fn of_cells(
    run: &Path,
    table: &Table,
    wanted: &[String],
    draw: CellFigure,
) -> Result<Vec<NamedFigure>, CellsError> {
    let plan = Arc::new(Plan::new(read_suite(run)?.1?)?);
    let cells: Vec<Cell> = match wanted.is_empty() {
        true => best_cell(&plan, table)?.into_iter().collect(),
        false => wanted.iter().map(|wanted| find_cell(&plan, wanted)).collect::<Result<_, _>>()?,
    };
    let mut figures = Vec::new();
    for cell in cells {
        let Problem { instance, time_unit } = plan.problem(&plan.groups[cell.group])?;
        let replay = replay_within(&plan, cell, &instance, PATIENCE).map_err(CellsError::Replay)?;
        let key = plan.key(cell);
        let cell = CellRun { key: &key, instance: &instance, time_unit: &time_unit, replay: &replay };
        figures.extend(draw(&cell));
    }
    Ok(figures)
}

/// The colocation groups of a run's graphs, those without groups left out.
pub(super) fn colocation(run: &Path) -> Result<Vec<NamedFigure>, CellsError> {
    let suite: Suite = read_suite(run)?.1?;
    let mut graphs: Vec<(String, DataflowGraph)> = Vec::new();
    for entry in &suite.graphs {
        let (_, graph) = entry.load(suite.seed)?;
        // The same structure with other costs has the same groups.
        if graph.colocation().group_count() > 0
            && graphs.iter().all(|(_, known)| known.colocation() != graph.colocation())
        {
            graphs.push((entry.label(), graph));
        }
    }
    if graphs.is_empty() {
        return Ok(Vec::new());
    }
    let named: Vec<(String, &DataflowGraph)> = graphs.iter().map(|(name, graph)| (name.clone(), graph)).collect();
    let title = "Sizes of colocation groups".to_owned();
    Ok(vec![NamedFigure {
        name: "colocation".to_owned(),
        caption: "Number of colocation groups by their size.".to_owned(),
        figure: Box::new(colocation_histogram(&named, title)),
    }])
}

/// The cell of the least makespan on the first graph with a result, among placers that are no programs.
fn best_cell(plan: &Plan, table: &Table) -> PolarsResult<Option<Cell>> {
    let best_first = SortMultipleOptions::default().with_maintain_order(true);
    let sorted = table
        .lazy()
        .with_column(Metric::Makespan.expr())
        .filter(col("makespan").is_not_null())
        .filter(col("graph").eq(col("graph").first()))
        .sort(["makespan"], best_first)
        .collect()?;
    let programs: Vec<&str> =
        plan.suite.placer_entries.iter().filter(|entry| entry.spec().is_none()).map(PlacerEntry::name).collect();
    let best = cell_keys(&sorted)?.into_iter().find(|key| !programs.contains(&key.placer.as_str()));
    Ok(plan.cells.iter().copied().find(|&cell| Some(plan.key(cell)) == best))
}

/// The first repetition of the cell with a name.
fn find_cell(plan: &Plan, wanted: &str) -> Result<Cell, CellsError> {
    let names = |cell: Cell| {
        let CellKey { graph, cluster, placer, scheduler, .. } = plan.key(cell);
        [format!("{graph}/{placer}/{scheduler}"), format!("{graph}@{cluster}/{placer}/{scheduler}")]
    };
    if let Some(cell) = plan.cells.iter().copied().find(|&cell| names(cell).iter().any(|name| name == wanted)) {
        return Ok(cell);
    }
    let all: Vec<String> = plan.cells.iter().flat_map(|&cell| names(cell)).collect();
    let remedy = match nearest(wanted, all.iter().map(String::as_str)) {
        Some(nearest) => format!("did you mean '{nearest}'?"),
        None => {
            let example = all.first().map_or("", String::as_str);
            format!("write graph/placer/scheduler, as in '{example}'")
        }
    };
    Err(CellsError::Cell { wanted: wanted.to_owned(), remedy })
}
