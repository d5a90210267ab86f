//! Runs a cell once more for what its row does not keep: the placement and the timeline.

use std::sync::Arc;
use std::time::Duration;

use placebench_algorithms::{Decision, PlaceContext, StopToken};
use placebench_datasets::{Instance, PlacedGraph};

use super::guard::{Outcome, guarded};
use crate::objective::SimulatedObjective;
use crate::simulator::{Options, simulate_online, simulate_with};
use crate::suite::{Cell, Plan};
use crate::timeline::Timeline;

/// What a cell did.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The placement, with the plan of placers that make one.
    pub decision: Decision,
    /// When everything happened.
    pub timeline: Timeline,
}

/// As [`replay`], but a panic or a placer that takes too long is an error, too.
///
/// # Errors
/// One line that says what went wrong: the placer refuses, panics, or is not done within `limit`.
pub fn replay_within(plan: &Arc<Plan>, cell: Cell, instance: &Instance, limit: Duration) -> Result<Replay, String> {
    let (plan, instance) = (Arc::clone(plan), instance.clone());
    let work = move |stop: StopToken| replay(&plan, cell, &instance, &stop);
    match guarded(Some(limit), &StopToken::default(), work) {
        Outcome::Done(result) | Outcome::Late(result) => result,
        Outcome::Panicked(message) => Err(format!("panicked: {message}")),
        Outcome::TimedOut | Outcome::Stopped => Err(format!("not done within {} s", limit.as_secs_f64())),
    }
}

/// Places and simulates a cell again, on the instance of its group ([`Plan::problem`]). The outcome is that of the run, byte
/// for byte, as long as the version of placebench is the same. Every choice of a device is recorded, unless the placer
/// decides during the run. Nothing is validated: the run did that.
///
/// # Errors
/// One line, if the cell fails, which its row would say, too.
///
/// # Complexity
/// That of the cell.
pub fn replay(plan: &Plan, cell: Cell, instance: &Instance, stop: &StopToken) -> Result<Replay, String> {
    let network = plan.networks[cell.network].1;
    let placer = &*plan.placers[cell.placer].1;
    if let Some(online) = placer.online() {
        let options = Options { network, stop: stop.clone(), ..Options::default() };
        let run = simulate_online(instance, online, &options).map_err(|error| error.to_string())?;
        return Ok(Replay { decision: Decision::placement(run.placement), timeline: run.timeline });
    }
    let scheduler = cell.scheduler.ok_or("the cell names no scheduler")?;
    let context = PlaceContext {
        seed: plan.groups[cell.group].seed,
        stop: stop.clone(),
        objective: Some(Arc::new(SimulatedObjective { network })),
    };
    let decision = placer.place(instance, &context).map_err(|error| error.to_string())?;
    decision.placement.check(instance).map_err(|error| error.to_string())?;
    let placed = PlacedGraph::new(instance, &decision.placement);
    let options = Options { plan: decision.plan.as_ref(), network, stop: stop.clone(), record_choices: true };
    let timeline =
        simulate_with(&placed, &*plan.schedulers[scheduler].1, &options).map_err(|error| error.to_string())?;
    Ok(Replay { decision, timeline })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::{RunOutcome, Silent, run};
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
            weights = "laich"
            ccr = 2.0
            [[cluster]]
            preset = "laich7"
            send_ops = 10.0
        "#;
        let plan = Arc::new(Plan::new(Suite::parse(text, "small.toml").unwrap()).unwrap());
        let outcome = run(&plan, Vec::new(), &StopToken::default(), &Silent, |_| Ok::<(), ()>(())).unwrap();
        let RunOutcome::Complete(rows) = outcome else { panic!("{outcome:?}") };
        for (&cell, row) in plan.cells.iter().zip(&rows) {
            let problem = plan.problem(&plan.groups[cell.group]).unwrap();
            let replay = replay_within(&plan, cell, &problem.instance, Duration::from_secs(60)).unwrap();
            assert_eq!(
                (Some(replay.timeline.makespan()), &problem.time_unit),
                (row.makespan, &row.time_unit),
                "{:?}",
                row.key()
            );
        }
    }
}
