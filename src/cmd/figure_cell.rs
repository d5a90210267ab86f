//! Figures of a run that need its graphs: one cell simulated once more, and colocation groups.

use std::path::Path;

use anyhow::{anyhow, bail};
use placebench::algorithms::StopToken;
use placebench::datasets::nearest;
use placebench::datasets::{DataflowGraph, PlacedGraph};
use placebench::harness::problem::Problem;
use placebench::harness::results::{CellKey, Row};
use placebench::harness::runner::replay;
use placebench::harness::suite::{Cell, Plan, Suite};
use placebench::reports::figure::{NamedFigure, RowFigure, colocation_histogram, executable_ops, gantt};

/// The figures of cells of a run, which are placed and simulated once more: what each device did, or else how many ops
/// it could choose from. Without a wanted one, it is the cell of least makespan on the first graph.
pub(super) fn of_cells(
    run: &Path,
    rows: &[Row],
    wanted: &[String],
    as_gantt: bool,
) -> anyhow::Result<Vec<NamedFigure>> {
    let plan = Plan::new(suite_of(run)?)?;
    let cells: Vec<Cell> = match wanted.is_empty() {
        true => best_cell(&plan, rows).into_iter().collect(),
        false => wanted.iter().map(|wanted| find_cell(&plan, wanted)).collect::<anyhow::Result<_>>()?,
    };
    let figures = cells.into_iter().map(|cell| of_cell(&plan, cell, as_gantt));
    Ok(figures.collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

fn of_cell(plan: &Plan, cell: Cell, as_gantt: bool) -> anyhow::Result<Option<NamedFigure>> {
    let CellKey { graph, cluster, placer, scheduler, network, .. } = plan.key(cell);
    let Problem { instance, time_unit } = plan.problem(&plan.groups[cell.group])?;
    let simulated = replay(plan, cell, &instance, &StopToken::default()).map_err(|error| anyhow!(error))?;
    let placed = PlacedGraph::new(&instance, &simulated.decision.placement);
    let title = format!("{graph} on {cluster}, placed by {placer}, scheduled by {scheduler}, {network}");
    let file = |kind: &str| RowFigure::file_name(&format!("{kind}-{graph}-{cluster}-{placer}-{scheduler}"));
    if as_gantt {
        let figure = gantt(&placed, &simulated.timeline, &time_unit, title.clone());
        let caption = format!("What each device executes when: {title}. White is idle; at the right the busy share.");
        return Ok(Some(NamedFigure { name: file("gantt"), caption, figure: Box::new(figure) }));
    }
    let figure = executable_ops(instance.cluster(), &simulated.timeline, title.clone());
    let caption = format!("Executable ops on each device before each of its decisions: {title}.");
    Ok(figure.map(|figure| NamedFigure { name: file("executable"), caption, figure: Box::new(figure) }))
}

/// The colocation groups of a run's graphs, those without groups left out.
pub(super) fn colocation(run: &Path) -> anyhow::Result<Vec<NamedFigure>> {
    let suite = suite_of(run)?;
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

fn suite_of(run: &Path) -> anyhow::Result<Suite> {
    Ok(Suite::read(&run.join("suite.toml"))?)
}

/// The cell of the least makespan on the first graph with a result.
fn best_cell(plan: &Plan, rows: &[Row]) -> Option<Cell> {
    let graph = &rows.iter().find(|row| row.is_ok())?.graph;
    let makespan = |row: &Row| row.makespan.unwrap_or(f64::INFINITY);
    let on_graph = rows.iter().filter(|row| row.is_ok() && row.graph == *graph);
    let best = on_graph.min_by(|a, b| makespan(a).total_cmp(&makespan(b)))?;
    plan.cells.iter().copied().find(|&cell| plan.key(cell) == best.key())
}

/// The first repetition of the cell with a name.
fn find_cell(plan: &Plan, wanted: &str) -> anyhow::Result<Cell> {
    let names = |cell: Cell| {
        let CellKey { graph, cluster, placer, scheduler, .. } = plan.key(cell);
        [format!("{graph}/{placer}/{scheduler}"), format!("{graph}@{cluster}/{placer}/{scheduler}")]
    };
    if let Some(cell) = plan.cells.iter().copied().find(|&cell| names(cell).iter().any(|name| name == wanted)) {
        return Ok(cell);
    }
    let all: Vec<String> = plan.cells.iter().flat_map(|&cell| names(cell)).collect();
    match nearest(wanted, all.iter().map(String::as_str)) {
        Some(nearest) => bail!("the run has no cell '{wanted}': did you mean '{nearest}'?"),
        None => bail!("the run has no cell '{wanted}': write graph/placer/scheduler, as in '{}'", all[0]),
    }
}
