//! Runs one job: a placement, and the cells that share it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use placebench_algorithms::fairness::Assumption;
use placebench_algorithms::{Scheduler, StopToken};
use placebench_datasets::Instance;
use rayon::ThreadPool;

use crate::evaluate::{Evaluation, EvaluationError, Evaluator, Placed, Reference};
use crate::execute::{ExecutionError, Executor, Setup};
use crate::results::{Row, Status};
use crate::suite::{Cell, Plan};

/// The instance of a group, with what all its cells share.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) instance: Instance,
    pub(super) time_unit: String,
    /// What makespans are compared with, for each network model of the plan.
    pub(super) references: Vec<Reference>,
    /// What placers' authors may assume and this instance breaks.
    pub(super) broken: Vec<Assumption>,
}

/// Runs cells that share a placement, searches on the threads of `pool`; `None` if
/// the whole run was stopped meanwhile.
pub(super) fn run(
    plan: &Plan,
    prepared: &Prepared,
    cells: &[Cell],
    pool: Option<&ThreadPool>,
    stop: &StopToken,
) -> Option<Vec<Row>> {
    let evaluator =
        Evaluator { instance: &prepared.instance, reference: None, seed: plan.groups[cells[0].group].seed, stop };
    let (placer, network) = (&*plan.placers[cells[0].placer].1, plan.networks[cells[0].network].1);
    let placed = match pool {
        Some(pool) if placer.uses_objective() => pool.install(|| evaluator.place(placer, network)),
        _ => evaluator.place(placer, network),
    };
    let rows = cells.iter().map(|&cell| {
        let blank = bounded_row(plan, cell, prepared);
        let reference = Some(&prepared.references[cell.network]);
        match &placed {
            Ok(placed) => {
                let found = executor(plan, prepared, cell).and_then(|executor| {
                    Evaluator { reference, ..evaluator }.execute(placed, scheduler(plan, cell), &*executor)
                });
                row(blank, placed, found)
            }
            Err(error) => row_of_error(blank, error),
        }
    });
    rows.collect()
}

/// Measures cells of one group, executor and network model together, so that their placements can take turns; `None` if
/// the whole run was stopped meanwhile. Each placer has the time limit of a cell.
pub(super) fn measure(plan: &Plan, prepared: &Prepared, cells: &[Cell], stop: &StopToken) -> Option<Vec<Row>> {
    let first = cells[0];
    // A simulated makespan is no measure for a measured one.
    let reference = Reference { single_device: None, ..prepared.references[first.network].clone() };
    let seed = plan.groups[first.group].seed;
    let evaluator = Evaluator { instance: &prepared.instance, reference: Some(&reference), seed, stop };
    let limit = plan.suite.time_limit_seconds.map(Duration::from_secs_f64);
    let place = |&cell: &Cell| {
        let stop = limit.map_or_else(|| stop.clone(), |limit| stop.until(Instant::now() + limit));
        Evaluator { stop: &stop, ..evaluator }.place(&*plan.placers[cell.placer].1, plan.networks[cell.network].1)
    };
    let placed: Vec<Result<Placed<'_>, EvaluationError>> = cells.iter().map(place).collect();
    let runs = placed.iter().zip(cells);
    let runs: Vec<_> =
        runs.filter_map(|(placed, &cell)| Some((placed.as_ref().ok()?, scheduler(plan, cell)))).collect();
    let mut found = match executor(plan, prepared, first) {
        Ok(executor) => evaluator.execute_all(&runs, &*executor),
        Err(error) => vec![Err(error); runs.len()],
    }
    .into_iter();
    let rows = cells.iter().zip(&placed).map(|(&cell, placed)| {
        let blank = bounded_row(plan, cell, prepared);
        match placed {
            Ok(placed) => row(blank, placed, found.next()?),
            Err(error) if error.is_stop() && !stop.is_stopped() => {
                let limit = limit.unwrap_or_default().as_secs_f64();
                Some(failed(blank, Status::TimedOut, &format!("not placed within {limit} s")))
            }
            Err(error) => row_of_error(blank, error),
        }
    });
    rows.collect()
}

fn scheduler(plan: &Plan, cell: Cell) -> Option<&dyn Scheduler> {
    cell.scheduler.map(|scheduler| &*plan.schedulers[scheduler].1)
}

fn executor(plan: &Plan, prepared: &Prepared, cell: Cell) -> Result<Box<dyn Executor>, EvaluationError> {
    let setup = Setup {
        network: plan.networks[cell.network].1,
        settings: &plan.suite.execute,
        graph: &plan.suite.graphs[plan.groups[cell.group].graph],
        time_unit: &prepared.time_unit,
        notify: Arc::new(|_| ()),
    };
    let entry = &plan.executors[cell.executor];
    let failed = |reason| ExecutionError::Failed { executor: entry.name, reason }.into();
    (entry.make)(&setup).map_err(failed)
}

/// The row of a cell that was placed; `None` if the run was stopped meanwhile.
fn row(blank: Row, placed: &Placed<'_>, found: Result<Evaluation, EvaluationError>) -> Option<Row> {
    let took = match placed {
        Placed::Before { took, .. } => Some(took.as_secs_f64()),
        Placed::During(_) => None,
    };
    match found {
        Ok(evaluation) => Some(evaluation.row(blank)),
        Err(error) => row_of_error(Row { place_seconds: took, ..blank }, &error),
    }
}

/// The row of a cell that failed; `None` if it was stopped.
fn row_of_error(row: Row, error: &EvaluationError) -> Option<Row> {
    let row = match error {
        EvaluationError::Place { took, .. } => Row { place_seconds: Some(took.as_secs_f64()), ..row },
        _ => row,
    };
    (!error.is_stop()).then(|| failed(row, error.status(), &error.to_string()))
}

fn bounded_row(plan: &Plan, cell: Cell, prepared: &Prepared) -> Row {
    let bound = prepared.references[cell.network].bound;
    Row { lower_bound: Some(bound.value), bound: Some(bound.name.to_owned()), ..blank_row(plan, cell, Some(prepared)) }
}

/// A row with what is known of a cell before it runs.
pub(super) fn blank_row(plan: &Plan, cell: Cell, prepared: Option<&Prepared>) -> Row {
    let row = plan.blank_row(cell);
    let Some(Prepared { instance, time_unit, broken, .. }) = prepared else { return row };
    let assumed = plan.assumptions(cell).iter().filter(|assumption| broken.contains(assumption));
    let assumed: Vec<&str> = assumed.map(|assumption| assumption.name()).collect();
    Row {
        assumptions_broken: (!assumed.is_empty()).then(|| assumed.join(", ")),
        devices: instance.cluster().device_count() as u32,
        ops: instance.graph().op_count() as u64,
        edges: instance.graph().edge_count() as u64,
        time_unit: time_unit.clone(),
        ..row
    }
}

/// The row of a cell that failed.
pub(super) fn failed(mut row: Row, status: Status, reason: &str) -> Row {
    row.status = status.name().to_owned();
    row.error = Some(reason.replace('\n', " "));
    row
}
