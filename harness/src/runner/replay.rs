//! Runs one cell of a suite again, for what a row does not hold: its timeline.

use std::sync::Arc;

use placebench_algorithms::{Decision, PlaceContext, StopToken};
use placebench_datasets::{Instance, PlacedGraph};

use super::instance_of;
use crate::objective::SimulatedObjective;
use crate::simulator::{Options, simulate_online, simulate_with};
use crate::suite::{Cell, Plan};
use crate::timeline::Timeline;

/// A cell that was run again.
#[derive(Clone, Debug)]
pub struct Replay {
    /// Its instance.
    pub instance: Instance,
    /// Unit of its times.
    pub time_unit: String,
    /// What the placer decided.
    pub decision: Decision,
    /// When everything happened; every choice of a device included, unless the placer decides during the run.
    pub timeline: Timeline,
}

/// Runs a cell again: the same graph, cluster, placement and timeline as in the run, since all of it is deterministic.
///
/// # Errors
/// One line, if the cell fails, which its row would say, too.
///
/// # Complexity
/// That of the cell.
pub fn replay(plan: &Plan, cell: Cell, stop: &StopToken) -> Result<Replay, String> {
    let group = &plan.groups[cell.group];
    let (name, placer) = &plan.placers[cell.placer];
    let network = plan.networks[cell.network].1;
    let (instance, time_unit) = instance_of(plan, group)?;
    if let Some(online) = placer.online() {
        let options = Options { network, stop: stop.clone(), ..Options::default() };
        let run = simulate_online(&instance, online, &options).map_err(|error| error.to_string())?;
        let decision = Decision::placement(run.placement);
        return Ok(Replay { instance, time_unit, decision, timeline: run.timeline });
    }
    let scheduler = cell.scheduler.map(|scheduler| &*plan.schedulers[scheduler].1);
    let scheduler = scheduler.ok_or_else(|| format!("the cell of '{name}' has no scheduler"))?;
    let context = PlaceContext {
        seed: group.seed,
        stop: stop.clone(),
        objective: Some(Arc::new(SimulatedObjective { network })),
    };
    let decision = placer.place(&instance, &context).map_err(|error| error.to_string())?;
    let timeline = {
        let placed = PlacedGraph::new(&instance, &decision.placement);
        let options = Options { plan: decision.plan.as_ref(), network, stop: stop.clone(), record_choices: true };
        simulate_with(&placed, scheduler, &options).map_err(|error| error.to_string())?
    };
    Ok(Replay { instance, time_unit, decision, timeline })
}
