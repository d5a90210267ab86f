//! Runs the cells of one placement: place once, then simulate, validate and measure under each scheduler and network.

use std::sync::Arc;
use std::time::{Duration, Instant};

use placebench_algorithms::bounds::{self, LowerBound};
use placebench_algorithms::{Decision, ExternalFault, OnlinePlacer, PlaceContext, PlaceError, Scheduler, StopToken};
use placebench_datasets::process::peak_rss_bytes;
use placebench_datasets::{Instance, PlacedGraph};
use rayon::ThreadPool;

use super::Judged;
use crate::memory::MemoryUse;
use crate::metrics::Metrics;
use crate::objective::SimulatedObjective;
use crate::results::{CellKey, Row, Status};
use crate::simulator::{NetworkModel, OnlineError, Options, SimulationError, simulate_online, simulate_with};
use crate::suite::{Cell, Plan};
use crate::timeline::Timeline;
use crate::validator;

/// What simulating and checking a decision gave.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// When everything happened.
    pub timeline: Timeline,
    /// The numbers.
    pub metrics: Metrics,
    /// How long the simulation took.
    pub simulated_in: Duration,
}

/// What an instance is judged against, whatever the placement: computed once for all its cells.
#[derive(Clone, Debug)]
pub struct Yardstick {
    /// The largest lower bound.
    pub bound: LowerBound,
    /// Denominator of the schedule length ratio.
    pub slr_denominator: f64,
}

impl Yardstick {
    /// The yardstick of an instance.
    pub fn new(instance: &Instance) -> Self {
        Self { bound: bounds::best(instance), slr_denominator: bounds::slr_denominator(instance) }
    }
}

/// Simulates a decision, validates the timeline and measures it.
///
/// # Errors
/// The status and the reason, if the placement or the timeline is refused or the simulation ends early.
pub fn judge(
    instance: &Instance,
    decision: &Decision,
    scheduler: &dyn Scheduler,
    network: NetworkModel,
    yardstick: &Yardstick,
    stop: &StopToken,
) -> Result<Judgement, (Status, String)> {
    decision.placement.check(instance).map_err(|error| invalid(&error))?;
    let started = Instant::now();
    let placed = PlacedGraph::new(instance, &decision.placement);
    let options = Options { plan: decision.plan.as_ref(), network, stop: stop.clone(), ..Options::default() };
    let timeline = simulate_with(&placed, scheduler, &options).map_err(|error| simulation_failure(&error))?;
    let simulated_in = started.elapsed();
    measure(&placed, timeline, network, yardstick, simulated_in)
}

/// Lets a placer choose devices during the simulation, validates the timeline and measures it. The time of the simulation
/// includes that of the decisions.
///
/// # Errors
/// The status and the reason, if a unit fits nowhere, the timeline is refused or the simulation ends early.
pub fn judge_online(
    instance: &Instance,
    placer: &dyn OnlinePlacer,
    network: NetworkModel,
    yardstick: &Yardstick,
    stop: &StopToken,
) -> Result<(Decision, Judgement), (Status, String)> {
    let started = Instant::now();
    let options = Options { network, stop: stop.clone(), ..Options::default() };
    let run = simulate_online(instance, placer, &options).map_err(|error| match error {
        OnlineError::Simulation(error) => simulation_failure(&error),
        OnlineError::Place(error) => (status_of(&error), error.to_string()),
        error => (Status::Error, error.to_string()),
    })?;
    let simulated_in = started.elapsed();
    run.placement.check(instance).map_err(|error| invalid(&error))?;
    let placed = PlacedGraph::new(instance, &run.placement);
    let judgement = measure(&placed, run.timeline, network, yardstick, simulated_in)?;
    Ok((Decision::placement(run.placement), judgement))
}

fn invalid(error: &dyn std::fmt::Display) -> (Status, String) {
    (Status::Invalid, error.to_string())
}

fn simulation_failure(error: &SimulationError) -> (Status, String) {
    let status = if matches!(error, SimulationError::Stopped { .. }) { Status::TimedOut } else { Status::Error };
    (status, error.to_string())
}

fn measure(
    placed: &PlacedGraph<'_>,
    timeline: Timeline,
    network: NetworkModel,
    yardstick: &Yardstick,
    simulated_in: Duration,
) -> Result<Judgement, (Status, String)> {
    validator::validate(placed.instance(), placed.placement(), &timeline.records(placed), network)
        .map_err(|error| invalid(&error))?;
    let memory = MemoryUse::new(placed, &timeline);
    let metrics = Metrics::new(placed, &timeline, &memory);
    let bound = yardstick.bound.value;
    // A makespan below a proven bound means that one of the two is wrong.
    if metrics.makespan < bound * (1.0 - 1e-9) {
        let reason =
            format!("makespan {} is below the lower bound {bound} ({})", metrics.makespan, yardstick.bound.name);
        return Err((Status::Invalid, reason));
    }
    Ok(Judgement { timeline, metrics, simulated_in })
}

/// Runs cells that share a placement, searches on the threads of `pool`; `None` if the whole run was told to stop meanwhile.
pub(super) fn run(
    plan: &Plan,
    judged: &Judged,
    cells: &[Cell],
    pool: Option<&ThreadPool>,
    stop: &StopToken,
) -> Option<Vec<Row>> {
    let Judged { instance, yardstick, .. } = judged;
    let placer = &*plan.placers[cells[0].placer].1;
    if let Some(online) = placer.online() {
        return cells.iter().map(|&cell| run_online(plan, judged, cell, online, stop)).collect();
    }
    let group = &plan.groups[cells[0].group];
    let network = plan.networks[cells[0].network].1;
    let context = PlaceContext {
        seed: group.seed,
        stop: stop.clone(),
        objective: Some(Arc::new(SimulatedObjective { network })),
    };
    let started = Instant::now();
    let decision = match pool {
        Some(pool) if placer.needs_objective() => pool.install(|| placer.place(instance, &context)),
        _ => placer.place(instance, &context),
    };
    let placed_in = started.elapsed();
    let row = |cell: Cell| Row { place_seconds: Some(placed_in.as_secs_f64()), ..bounded_row(plan, cell, judged) };
    let decision = match decision {
        Ok(decision) => decision,
        Err(PlaceError::Stopped) => return None,
        Err(error) => {
            let status = status_of(&error);
            return Some(cells.iter().map(|&cell| failed(row(cell), status, &error.to_string())).collect());
        }
    };
    let mut rows = Vec::with_capacity(cells.len());
    for &cell in cells {
        // Every cell of a placer that is not online has a scheduler.
        let Some(scheduler) = cell.scheduler.map(|scheduler| &*plan.schedulers[scheduler].1) else { continue };
        let network = plan.networks[cell.network].1;
        match judge(instance, &decision, scheduler, network, yardstick, stop) {
            Ok(judgement) => rows.push(measured(row(cell), &decision, &judgement, yardstick)),
            Err((Status::TimedOut, _)) => return None,
            Err((status, reason)) => rows.push(failed(row(cell), status, &reason)),
        }
    }
    Some(rows)
}

/// How a cell without a placement ends.
fn status_of(error: &PlaceError) -> Status {
    match error {
        PlaceError::Infeasible { .. } => Status::Infeasible,
        PlaceError::Stopped => Status::TimedOut,
        PlaceError::Unsupported(_) => Status::Error,
        PlaceError::External { fault, .. } => match fault {
            ExternalFault::Failed => Status::Error,
            ExternalFault::Infeasible => Status::Infeasible,
            ExternalFault::TimedOut => Status::TimedOut,
            ExternalFault::Invalid => Status::Invalid,
        },
    }
}

/// Runs the cell of a placer that decides during the simulation: all of its time is that of placing.
fn run_online(plan: &Plan, judged: &Judged, cell: Cell, placer: &dyn OnlinePlacer, stop: &StopToken) -> Option<Row> {
    let network = plan.networks[cell.network].1;
    let row = bounded_row(plan, cell, judged);
    match judge_online(&judged.instance, placer, network, &judged.yardstick, stop) {
        Ok((decision, judgement)) => {
            let row = measured(row, &decision, &judgement, &judged.yardstick);
            Some(Row { place_seconds: row.simulate_seconds, simulate_seconds: None, ..row })
        }
        Err((Status::TimedOut, _)) => None,
        Err((status, reason)) => Some(failed(row, status, &reason)),
    }
}

fn bounded_row(plan: &Plan, cell: Cell, judged: &Judged) -> Row {
    Row {
        lower_bound: Some(judged.yardstick.bound.value),
        bound: Some(judged.yardstick.bound.name.to_owned()),
        ..blank_row(plan, cell, Some(judged))
    }
}

/// A row with what is known of a cell before it runs.
pub(super) fn blank_row(plan: &Plan, cell: Cell, judged: Option<&Judged>) -> Row {
    let instance = judged.map(|judged| &judged.instance);
    let CellKey { suite, graph, cluster, network, placer, scheduler, repetition, seed } = plan.key(cell);
    Row {
        suite,
        graph,
        cluster,
        placer,
        scheduler,
        network,
        repetition,
        seed,
        devices: instance.map_or(0, |instance| instance.cluster().device_count() as u32),
        ops: instance.map_or(0, |instance| instance.graph().op_count() as u64),
        time_unit: judged.map_or_else(String::new, |judged| judged.time_unit.clone()),
        edges: instance.map_or(0, |instance| instance.graph().edge_count() as u64),
        ..Row::default()
    }
}

/// The row of a cell that failed.
pub(super) fn failed(mut row: Row, status: Status, reason: &str) -> Row {
    row.status = status.name().to_owned();
    row.error = Some(reason.replace('\n', " "));
    row
}

fn measured(row: Row, decision: &Decision, judgement: &Judgement, yardstick: &Yardstick) -> Row {
    let metrics = &judgement.metrics;
    let ratio = |denominator: f64| (denominator > 0.0).then(|| metrics.makespan / denominator);
    Row {
        status: Status::Ok.name().to_owned(),
        makespan: Some(metrics.makespan),
        slr: ratio(yardstick.slr_denominator),
        gap: ratio(yardstick.bound.value),
        speedup: metrics.speedup,
        efficiency: metrics.efficiency,
        planned_makespan: decision.plan.as_ref().map(|plan| plan.makespan),
        repaired: decision.repaired,
        traffic_bytes: Some(metrics.traffic_bytes),
        cut_bytes: Some(metrics.cut_bytes),
        transfers: Some(metrics.transfers),
        cut_edges: Some(metrics.cut_edges),
        load_imbalance: metrics.load_imbalance,
        utilization: metrics.utilization,
        idle_time: Some(metrics.idle_time),
        peak_memory_bytes: Some(metrics.peak_memory_bytes),
        devices_used: Some(metrics.devices_used),
        executable_mean: metrics.executable_mean,
        simulate_seconds: Some(judgement.simulated_in.as_secs_f64()),
        peak_rss_bytes: peak_rss_bytes(),
        ..row
    }
}
