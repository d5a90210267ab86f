//! Which cells get a timeline, and making them: a run folder keeps only measured ones, so the others are simulated once more.
//!
//! What is chosen follows from the table alone, the times that it holds included, and not from the clock: the same run
//! folder gives the same report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use placebench_datasets::{Instance, PlacedGraph};
use placebench_harness::results::Row;
use placebench_harness::results::grid::{Grid, Standings, ascending};
use placebench_harness::runner::{MeasuredCell, replay_within};
use placebench_harness::suite::{Cell, Positions, RunPlan};
use serde_json::json;

use super::strips::strips;

/// Which cells get a timeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Timelines {
    /// The best scheduler of each graph, cluster, network model and placer, first repetition; the best placers first, until
    /// the report is large or making them would take long.
    #[default]
    Auto,
    /// No cell.
    None,
    /// Those of `Auto` without a limit of time or size.
    All,
}

/// Seconds, by the table's own account, that making timelines may take.
const SECONDS: f64 = 15.0;
/// What reading or making a graph is taken to cost.
const SECONDS_PER_EDGE: f64 = 2e-6;
/// How much longer than the first time a cell may take before it is given up.
const PATIENCE: f64 = 20.0;

/// The timelines of a report.
#[derive(Clone, Debug, Default)]
pub(super) struct Made {
    /// The strips by row, as JSON.
    pub(super) strips: BTreeMap<usize, String>,
    /// Why a cell has none although it was chosen, by row.
    pub(super) refused: BTreeMap<usize, String>,
    /// How many cells could have one.
    pub(super) candidates: usize,
}

/// Makes the timelines of those of the [`candidates`] that fit in `bytes`.
pub(super) fn make(
    choice: Timelines,
    plan: Option<&Arc<RunPlan>>,
    (folder, rows): (&Path, &[Row]),
    candidates: Vec<usize>,
    bytes: usize,
) -> Made {
    let mut made = Made { candidates: candidates.len(), ..Made::default() };
    let (Some(plan), true) = (plan, choice != Timelines::None) else { return made };
    let positions = Positions::new(plan);
    let known = candidates.into_iter().filter_map(|row| Some((row, plan.cells[positions.of(&rows[row].key())?])));
    let chosen: Vec<(usize, Cell)> = match choice {
        Timelines::All => known.collect(),
        _ => within_seconds(known.collect(), rows),
    };
    let mut left = if choice == Timelines::All { usize::MAX } else { bytes };
    for (row, outcome) in replay_all(plan, (folder, rows), &chosen) {
        match outcome {
            Err(reason) => {
                made.refused.insert(row, reason);
            }
            Ok(strips) if strips.len() <= left => {
                left -= strips.len();
                made.strips.insert(row, strips);
            }
            Ok(_) => left = 0,
        }
    }
    made
}

/// The numbers of the rows that may get a timeline: the best scheduler of each placer on each instance, in its first
/// repetition. The best placers of all instances come first, then the second best of all, and so on.
pub(super) fn candidates(standings: &Standings, grid: &Grid) -> Vec<u32> {
    let mut ranked: Vec<(usize, u32)> = Vec::new();
    for place in 0..standings.places.len() {
        let of = |own: usize| {
            let cell = standings.cell(grid, own, place)?;
            Some((cell.mean()?, cell.of_repetition_0?))
        };
        let own: Vec<(f64, u32)> = (0..standings.candidates.len()).filter_map(of).collect();
        let order = ascending(&own.iter().map(|(mean, _)| *mean).collect::<Vec<_>>());
        ranked.extend(order.into_iter().enumerate().map(|(rank, index)| (rank, own[index].1)));
    }
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, row)| row).collect()
}

/// Chooses cells while the time that they took in the run, and their graphs, stay within [`SECONDS`]: the best of each
/// instance, then those that took least, since one search may take as long as all other placers together.
fn within_seconds(cells: Vec<(usize, Cell)>, rows: &[Row]) -> Vec<(usize, Cell)> {
    let mut order: Vec<usize> = (0..cells.len()).collect();
    let mut instances = BTreeSet::new();
    // The first of an instance is its best.
    let best: Vec<bool> = cells.iter().map(|(row, _)| instances.insert(rows[*row].instance())).collect();
    let seconds = |index: usize| seconds_of(&rows[cells[index].0]);
    order.sort_by(|&a, &b| best[b].cmp(&best[a]).then(seconds(a).total_cmp(&seconds(b))).then(a.cmp(&b)));
    let mut left = SECONDS;
    let mut graphs = BTreeSet::new();
    let mut chosen = BTreeSet::new();
    for index in order {
        let (row, cell) = cells[index];
        let graph = (rows[row].ops + rows[row].edges) as f64 * SECONDS_PER_EDGE;
        let cost = if graphs.contains(&cell.group) { seconds(index) } else { seconds(index) + graph };
        if cost <= left {
            left -= cost;
            graphs.insert(cell.group);
            chosen.insert(index);
        }
    }
    cells.into_iter().enumerate().filter(|(index, _)| chosen.contains(index)).map(|(_, cell)| cell).collect()
}

fn seconds_of(row: &Row) -> f64 {
    if row.executor.measures() {
        // What is kept is only read, and its order simulated.
        return (row.ops + row.edges) as f64 * SECONDS_PER_EDGE;
    }
    row.place_seconds.unwrap_or_default() + row.simulate_seconds.unwrap_or_default()
}

/// Runs the chosen cells again and condenses their timelines; the outcomes are in the order of `chosen`.
fn replay_all(
    plan: &Arc<RunPlan>,
    (folder, rows): (&Path, &[Row]),
    chosen: &[(usize, Cell)],
) -> Vec<(usize, Result<String, String>)> {
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (position, (_, cell)) in chosen.iter().enumerate() {
        groups.entry(cell.group).or_default().push(position);
    }
    let groups: Vec<(usize, Vec<usize>)> = groups.into_iter().collect();
    let outcomes: Mutex<Vec<Option<Result<String, String>>>> = Mutex::new(vec![None; chosen.len()]);
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((group, positions)) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
            let problem = plan.problem(&plan.groups[*group]);
            for &position in positions {
                let (row, cell) = chosen[position];
                let outcome = match &problem {
                    Ok(problem) if plan.executors[cell.executor].entry.measures => {
                        measured(folder, plan, cell, &problem.instance)
                    }
                    Ok(problem) => one(plan, &rows[row], cell, &problem.instance),
                    Err(reason) => Err(format!("the graph cannot be made again: {reason}")),
                };
                outcomes.lock().unwrap_or_else(PoisonError::into_inner)[position] = Some(outcome);
            }
        }
    };
    // Not on the threads of rayon: searches use those, and would wait for threads that wait for them.
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(groups.len());
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // With fewer threads it takes longer.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    chosen.iter().zip(outcomes).filter_map(|(&(row, _), outcome)| Some((row, outcome?))).collect()
}

fn one(plan: &Arc<RunPlan>, row: &Row, cell: Cell, instance: &Instance) -> Result<String, String> {
    if plan.suite.placer_entries.iter().any(|entry| entry.name() == row.placer && entry.spec().is_none()) {
        return Err("the placer is a program of its own, which a report does not start".to_owned());
    }
    let limit = Duration::from_secs_f64((seconds_of(row) * PATIENCE).clamp(60.0, 3_600.0));
    let again = replay_within(plan, cell, instance, limit)?;
    // Under noise that of the row is the mean of the draws, and the timeline is one of them.
    if Some(again.metrics.makespan) != row.makespan {
        return Err(
            "the cell gives another makespan now than in the run: the graph or placebench has changed".to_owned()
        );
    }
    let placed = again.placed(instance);
    Ok(strips(&placed, &again.timeline, again.timeline.makespan()).to_string())
}

/// What was measured above what was predicted, over one axis: `{"span": time, "measured": strips, "predicted": strips}`.
fn measured(folder: &Path, plan: &RunPlan, cell: Cell, instance: &Instance) -> Result<String, String> {
    let MeasuredCell { placement, measured, predicted } = MeasuredCell::read(folder, plan, cell, instance)?;
    let placed = PlacedGraph::new(instance, &placement);
    let span = measured.makespan().max(predicted.makespan());
    let [measured, predicted] = [measured, predicted].map(|timeline| strips(&placed, &timeline, span));
    Ok(json!({"span": span, "measured": measured, "predicted": predicted}).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Summary;
    use crate::summary::tests::{rows, table};

    #[test]
    fn the_best_scheduler_of_each_placer_is_chosen_and_the_best_placers_come_first() {
        let rows = rows();
        let (summary, grid) = Summary::with_grid(&table()).unwrap();
        let chosen: Vec<_> =
            candidates(&summary.standings, &grid).iter().map(|&row| rows[row as usize].key()).collect();
        let names: Vec<_> = chosen
            .iter()
            .map(|key| format!("{} {} {} {}", key.graph, key.placer, key.scheduler, key.repetition))
            .collect();
        assert_eq!(names, ["a heft pct 0", "b heft pct 0", "a random pct 0"]);
    }
}
