//! Runs one job: a placement, and the cells that share it.

use std::sync::Arc;

use placebench_algorithms::StopToken;
use placebench_algorithms::fairness::Assumption;
use placebench_datasets::Instance;
use rayon::ThreadPool;

use crate::evaluate::{EvaluationError, Evaluator, Placed, Reference};
use crate::execute::{ExecutionError, Setup};
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
        match &placed {
            Ok(placed) => {
                let simulated = &prepared.references[cell.network];
                // A simulated makespan is no measure for a measured one.
                let measured = Reference { single_device: None, ..simulated.clone() };
                let reference = Some(if plan.executors[cell.executor].measures { &measured } else { simulated });
                execute(plan, prepared, &Evaluator { reference, ..evaluator }, cell, placed, blank)
            }
            Err(error) => row_of_error(blank, error),
        }
    });
    rows.collect()
}

/// The row of a cell that is placed; `None` if the run was stopped meanwhile.
fn execute(
    plan: &Plan,
    prepared: &Prepared,
    evaluator: &Evaluator<'_>,
    cell: Cell,
    placed: &Placed<'_>,
    blank: Row,
) -> Option<Row> {
    let scheduler = cell.scheduler.map(|scheduler| &*plan.schedulers[scheduler].1);
    let setup = Setup {
        network: plan.networks[cell.network].1,
        settings: &plan.suite.execute,
        graph: &plan.suite.graphs[plan.groups[cell.group].graph],
        time_unit: &prepared.time_unit,
        notify: Arc::new(|_| ()),
    };
    let executor = &plan.executors[cell.executor];
    let took = match placed {
        Placed::Before { took, .. } => Some(took.as_secs_f64()),
        Placed::During(_) => None,
    };
    let made = (executor.make)(&setup).map_err(|reason| ExecutionError::Failed { executor: executor.name, reason });
    match made.map_err(EvaluationError::from).and_then(|made| evaluator.execute(placed, scheduler, &*made)) {
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
