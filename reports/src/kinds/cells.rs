//! Figures of a run that need its graphs: cells that are placed and simulated once more, or were measured, and colocation
//! groups.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use placebench_base::nearest;
use placebench_base::significant::time_text;
use placebench_datasets::{DataflowGraph, Instance, PlacedGraph};
use placebench_harness::problem::ProblemError;
use placebench_harness::request::CHOSEN;
use placebench_harness::results::grid::{Candidates, DROP_FAILING, Grid, GridError, Standings};
use placebench_harness::results::{CellKey, Column, Filter, Table};
use placebench_harness::runner::{FolderError, MeasuredCell, read_suite, replay_within};
use placebench_harness::suite::{Cell, PlacerEntry, PlanError, Positions, RunPlan, Suite};
use polars::prelude::PolarsError;

use crate::figure::{NamedFigure, colocation_histogram, executable_ops, gantt, load};

/// Why figures that need a run's graphs cannot be drawn.
#[derive(Debug, thiserror::Error)]
pub enum CellsError {
    /// The run's suite cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The suite names an algorithm that does not exist.
    #[error(transparent)]
    RunPlan(#[from] PlanError),
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
    /// The rows have no grid.
    #[error(transparent)]
    Grid(#[from] GridError),
}

/// A cell of a run, to draw a figure of it.
pub(super) struct CellRun<'a> {
    run: &'a Path,
    plan: &'a Arc<RunPlan>,
    cell: Cell,
    key: CellKey,
    instance: Instance,
}

/// Draws a cell, which may be run again for it; `None` if there is nothing to show.
pub(super) type CellFigure = fn(&CellRun<'_>) -> Result<Option<NamedFigure>, String>;

impl CellRun<'_> {
    /// What it shows, with the scheduler that a search chose.
    fn title(&self, chosen: Option<&str>) -> String {
        let CellKey { graph, cluster, placer, scheduler, network, .. } = &self.key;
        let scheduler = match chosen.filter(|_| scheduler == CHOSEN) {
            Some(chosen) => format!("{chosen}, which it chose"),
            None => scheduler.clone(),
        };
        format!("{graph} on {cluster}, placed by {placer}, scheduled by {scheduler}, {network}")
    }

    fn file(&self, kind: &str) -> String {
        NamedFigure::file_name(&format!("{kind}-{}", self.key.mark().replace('|', "-")))
    }

    fn is_measured(&self) -> bool {
        self.plan.executors[self.cell.executor].entry.measures
    }
}

/// What each device did when: of a measured cell, above what was predicted for it.
pub(super) fn gantt_figure(cell: &CellRun<'_>) -> Result<Option<NamedFigure>, String> {
    let (name, unit) = (cell.file("gantt"), cell.instance.time_unit());
    if !cell.is_measured() {
        let replayed = replay_within(cell.plan, cell.cell, &cell.instance, PATIENCE)?;
        let title = cell.title(replayed.decision.scheduler.as_deref());
        let placed = replayed.placed(&cell.instance);
        let caption = format!("What each device executes when: {title}. White is idle; at the right the busy share.");
        let figure = Box::new(gantt(&placed, &[("", &replayed.timeline)], unit, title));
        return Ok(Some(NamedFigure { name, caption, figure }));
    }
    let MeasuredCell { placement, measured, predicted } =
        MeasuredCell::read(cell.run, cell.plan, cell.cell, &cell.instance)?;
    let placed = PlacedGraph::new(&cell.instance, &placement);
    let title = format!("{}, executed by {}", cell.title(None), cell.key.executor);
    let caption = format!(
        "What each device executed when, and what is predicted for the same placement and order: {title}. White is idle; at \
         the right the busy share. What is measured is one repetition, or a step that was traced, which takes longer than others."
    );
    let above = format!("measured: {}", time_text(measured.makespan(), unit));
    let below = format!("predicted by {}: {}", cell.key.network, time_text(predicted.makespan(), unit));
    let figure = Box::new(gantt(&placed, &[(&above, &measured), (&below, &predicted)], unit, title));
    Ok(Some(NamedFigure { name, caption, figure }))
}

/// How long one sample keeps each device and the network busy, in a simulation.
pub(super) fn load_figure(cell: &CellRun<'_>) -> Result<Option<NamedFigure>, String> {
    if cell.is_measured() {
        return Ok(None);
    }
    let replayed = replay_within(cell.plan, cell.cell, &cell.instance, PATIENCE)?;
    let title = cell.title(replayed.decision.scheduler.as_deref());
    let caption = format!(
        "How long one sample keeps each device and the network busy: {title}. At the right the memory in flight."
    );
    let placed = replayed.placed(&cell.instance);
    let network = cell.plan.request(cell.cell).network;
    let figure = load(&placed, &replayed.timeline, network, cell.instance.time_unit(), title);
    Ok(Some(NamedFigure { name: cell.file("load"), caption, figure: Box::new(figure) }))
}

/// How many ops each device could choose from, in a simulation.
pub(super) fn executable_figure(cell: &CellRun<'_>) -> Result<Option<NamedFigure>, String> {
    let replayed = replay_within(cell.plan, cell.cell, &cell.instance, PATIENCE)?;
    let title = cell.title(replayed.decision.scheduler.as_deref());
    let caption = format!("Executable ops on each device before each of its decisions: {title}.");
    let figure = executable_ops(cell.instance.cluster(), &replayed.timeline, title);
    Ok(figure.map(|figure| NamedFigure { name: cell.file("executable"), caption, figure: Box::new(figure) }))
}

/// How long a cell that is run again may take.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// The figures of cells of a run, by name; without names, of the best cell on the first graph, unless the
/// folder keeps too little of it. A program that places is started only if its cell is named.
pub(super) fn of_cells(
    run: &Path,
    table: &Table,
    wanted: &[String],
    draw: CellFigure,
) -> Result<Vec<NamedFigure>, CellsError> {
    let plan = Arc::new(RunPlan::new(read_suite(run)?.1?)?);
    let cells: Vec<Cell> = match wanted.is_empty() {
        true => best_cell(&plan, table)?.into_iter().collect(),
        false => wanted.iter().map(|wanted| find_cell(&plan, table, wanted)).collect::<Result<_, _>>()?,
    };
    let mut figures = Vec::new();
    for cell in cells {
        let instance = plan.problem(&plan.groups[cell.group])?.instance;
        let cell = CellRun { run, plan: &plan, cell, key: plan.key(cell), instance };
        match draw(&cell) {
            Ok(figure) => figures.extend(figure),
            Err(_) if wanted.is_empty() && cell.is_measured() => {}
            Err(reason) => return Err(CellsError::Replay(reason)),
        }
    }
    Ok(figures)
}

/// The colocation groups of a run's graphs, those without groups left out.
pub(super) fn colocation(run: &Path) -> Result<Vec<NamedFigure>, CellsError> {
    let suite: Suite = read_suite(run)?.1?;
    let mut graphs: Vec<(String, DataflowGraph)> = Vec::new();
    for entry in &suite.graphs {
        let (_, passed) = entry.passed_before_placement(suite.seed)?;
        let graph = passed.graph;
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

/// The best cell on the first graph with a result, as the grid has it, in its first repetition, among placers that are no programs.
fn best_cell(plan: &RunPlan, table: &Table) -> Result<Option<Cell>, CellsError> {
    let grid = Grid::new(table, table.goal()?, &[])?;
    let standings = Standings::new(&grid, Candidates::Placer, DROP_FAILING);
    let programs: Vec<&str> =
        plan.suite.placer_entries.iter().filter(|entry| entry.spec().is_none()).map(PlacerEntry::name).collect();
    let best = |place: usize| {
        let of = |own: usize| {
            let cell = standings.cell(&grid, own, place)?;
            let is_program = programs.contains(&grid.placers[cell.placer as usize].as_str());
            if is_program { None } else { Some((cell.mean()?, cell.of_repetition_0?)) }
        };
        (0..standings.candidates.len()).filter_map(of).min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let Some((_, row)) = (0..standings.places.len()).find_map(best) else { return Ok(None) };
    let rows = table.only(&[row]).rows()?;
    Ok(rows.first().and_then(|row| plan.cells.get(Positions::new(plan).of(&row.key())?).copied()))
}

/// The first cell with a name, in the order of the suite, of those that have a row in the table.
fn find_cell(plan: &RunPlan, table: &Table, wanted: &str) -> Result<Cell, CellsError> {
    let names = |cell: Cell| {
        let CellKey { graph, cluster, placer, scheduler, executor, .. } = plan.key(cell);
        let plain = [format!("{graph}/{placer}/{scheduler}"), format!("{graph}@{cluster}/{placer}/{scheduler}")];
        let of_executor = plain.clone().map(|name| format!("{name}/{executor}"));
        plain.into_iter().chain(of_executor).collect::<Vec<_>>()
    };
    let mut is_known = false;
    for cell in plan.cells.iter().copied().filter(|&cell| names(cell).iter().any(|name| name == wanted)) {
        is_known = true;
        let CellKey { graph, cluster, network, executor, repetition, .. } = plan.key(cell);
        let parts = [
            (Column::Graph, graph),
            (Column::Cluster, cluster),
            (Column::Network, network),
            (Column::Executor, executor.to_string()),
            (Column::Repetition, repetition.to_string()),
        ];
        let rows = parts.iter().fold(Filter::default(), |rows, (column, value)| rows.and_one(*column, value));
        if table.filter(rows.expr())?.height() > 0 {
            return Ok(cell);
        }
    }
    if is_known {
        let remedy = "no row that counts is of its instance: see --where, or finish the run".to_owned();
        return Err(CellsError::Cell { wanted: wanted.to_owned(), remedy });
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
