//! What the row of a cell does not keep, the placement and the timeline: a simulated cell is run once more, and of a measured
//! one the run folder has them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use placebench_algorithms::StopToken;
use placebench_datasets::{Instance, PlacedGraph, Placement};

use super::guard::{Guarded, Limit, guarded};
use crate::MeasuredTimeline;
use crate::evaluate::Evaluation;
use crate::execute::simulate::{Simulator, simulate};
use crate::execute::{Replay, order_of, simulating};
use crate::suite::{Cell, RunPlan};
use crate::timeline::Timeline;

/// As [`replay`], but a panic or a placer that takes too long is an error, too.
///
/// # Errors
/// One line that says what went wrong: the placer refuses, panics, or is not done within `limit`.
pub fn replay_within(
    plan: &Arc<RunPlan>,
    cell: Cell,
    instance: &Instance,
    limit: Duration,
) -> Result<Evaluation, String> {
    let (plan, instance) = (Arc::clone(plan), instance.clone());
    let work = move |stop: StopToken| replay(&plan, cell, &instance, &stop);
    match guarded(Some(Limit::Processor(limit)), &StopToken::default(), work) {
        Guarded::Done(result) | Guarded::Late(result) => result,
        Guarded::Panicked(message) => Err(format!("panicked: {message}")),
        Guarded::TimedOut | Guarded::Stopped => {
            Err(format!("not done within {} s of processor time", limit.as_secs_f64()))
        }
    }
}

/// Places and simulates a cell again, on the instance of its group ([`RunPlan::problem`]). The outcome is that of the run, byte
/// for byte, as long as the version of placebench is the same; of a measured cell it is the simulation whose order was
/// executed, and of one under noise the draw with the median makespan. Every choice of a device is recorded, unless the placer
/// decides during the run. There are no ratios to reference values.
///
/// # Errors
/// One line, if the cell fails, which its row would say, too.
///
/// # Complexity
/// That of the cell.
pub fn replay(plan: &RunPlan, cell: Cell, instance: &Instance, stop: &StopToken) -> Result<Evaluation, String> {
    let request = plan.request(cell);
    let simulator = Simulator { record_choices: true, ..Simulator::new(request.network) };
    let executor = simulating(simulator, request.noise, request.key.seed);
    request.evaluate_on(&*executor, instance, stop).map_err(|error| error.to_string())
}

/// A measured cell.
#[derive(Clone, Debug)]
pub struct MeasuredCell {
    /// The device of each op.
    pub placement: Placement,
    /// What was measured, in one repetition or a traced step.
    pub measured: Timeline,
    /// What the cell's network model predicts for this placement and the order that was measured.
    pub predicted: Timeline,
}

impl MeasuredCell {
    /// What the folder of a run keeps of a cell, on the instance of the cell's group ([`RunPlan::problem`]).
    ///
    /// # Errors
    /// One line, if the folder keeps nothing of the cell, or what it keeps is of another instance.
    ///
    /// # Complexity
    /// That of a simulation.
    pub fn read(run: &Path, plan: &RunPlan, cell: Cell, instance: &Instance) -> Result<Self, String> {
        let (placement, measured) = MeasuredTimeline::read(run, &plan.key(cell))?.restore(instance)?;
        let placed = PlacedGraph::new(instance, &placement);
        let replay = Replay { order: order_of(&placed, &measured) };
        let predicted = simulate(&placed, &replay, None, plan.networks[cell.network].1);
        let predicted = predicted.map_err(|error| error.to_string())?;
        Ok(Self { placement, measured, predicted })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::results::Row;
    use crate::runner::{Silent, run};
    use crate::suite::Suite;

    #[test]
    fn a_replayed_cell_has_the_makespan_of_its_row() {
        let text = r#"
            name = "small"
            repetitions = 2
            placers = ["heft", "random", "cats", "simulated_annealing"]
            schedulers = ["pct", "static"]
            [[graph]]
            catalogue = "convnet"
            costs = "laich"
            ccr = 2.0
            [[cluster]]
            preset = "laich7"
            send_ops = 10.0
        "#;
        let plan = Arc::new(RunPlan::new(Suite::parse(text, "small.toml").unwrap()).unwrap());
        let rows = Mutex::new(Vec::new());
        let keep = |_, row: &Row| {
            rows.lock().unwrap().push(row.clone());
            Ok::<(), ()>(())
        };
        assert!(run(&plan, |_| false, &StopToken::default(), &Silent, keep).unwrap().is_complete());
        let rows = rows.into_inner().unwrap();
        assert_eq!(rows.len(), plan.cells.len());
        for &cell in &plan.cells {
            let row = rows.iter().find(|row| row.key() == plan.key(cell)).unwrap();
            let problem = plan.problem(&plan.groups[cell.group]).unwrap();
            let replay = replay_within(&plan, cell, &problem.instance, Duration::from_secs(60)).unwrap();
            assert_eq!(
                (Some(replay.timeline.makespan()), problem.instance.time_unit()),
                (row.makespan, row.time_unit.as_str()),
                "{:?}",
                row.key()
            );
        }
    }
}
