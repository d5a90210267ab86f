//! Timelines and executable ops of a single cell, which is run again.

use placebench_algorithms::StopToken;
use placebench_harness::results::{CELL, CellKey, Table, cell_keys};
use placebench_harness::runner::replay;
use placebench_harness::suite::RunPlan;
use polars::prelude::col;

use super::Panel;
use crate::FigureKind;
use crate::figure::{Drawing, Figure, Style, executable_ops, gantt};

/// The picture of the first repetition of the one cell that a table is of.
///
/// # Errors
/// If rows are of several cells, or the cell fails.
pub(super) fn timeline(
    panel: &Panel,
    plan: &RunPlan,
    table: &Table,
    title: String,
    style: &Style,
) -> Result<Drawing, String> {
    let cells = table.lazy().and_then(|rows| rows.select(CELL.map(col)).collect());
    let keys = cells.and_then(|cells| cell_keys(&cells)).map_err(|error| error.to_string())?;
    // Repetitions come in ascending order.
    let key = keys.first().ok_or("no row is selected")?;
    let repeats = |other: &CellKey| {
        let &CellKey { repetition, seed, numbering, .. } = key;
        CellKey { repetition, seed, numbering, ..other.clone() } == *key
    };
    if !keys.iter().all(repeats) {
        return Err(format!("a timeline is of one cell: select more than {}", key.mark()));
    }
    let cell = plan.cells.iter().copied().find(|&cell| plan.key(cell) == *key);
    let cell = cell.ok_or_else(|| format!("the suite has no cell {}", key.mark()))?;
    let problem = plan.problem(&plan.groups[cell.group]).map_err(|error| error.to_string())?;
    let instance = problem.instance;
    let replayed = replay(plan, cell, &instance, &StopToken::default())?;
    match panel.kind {
        FigureKind::Executable => {
            let figure = executable_ops(instance.cluster(), &replayed.timeline, title);
            Ok(figure.ok_or("no device had a choice")?.draw(style))
        }
        _ => {
            let placed = replayed.placed(&instance);
            Ok(gantt(&placed, &[("", &replayed.timeline)], instance.time_unit(), title).draw(style))
        }
    }
}
