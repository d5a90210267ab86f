//! The optimum of small instances: branch and bound over placements and schedules together.
//!
//! What is minimised is the makespan as the network model `contention_free` simulates it: an op starts when its inputs are there
//! and its device is idle, a tensor arrives latency + bytes / rate after its producer ended, at once on the same device. Where
//! sends and receives take time, they are ops of their devices, in the best order (`occupied`). Kinds, colocation and memory (the
//! static demand of L §4.1) are respected. Nothing here is shared with the placers, which are measured against it.
//!
//! # The searches
//! Two searches take turns, share the best schedule, and the first that has nothing left has proven it. In one (`search`)
//! a node is a partial schedule; a child appends a ready op to a device, and ops are appended in the order of their
//! starts, so that every schedule without needless waiting is met. What is cut off:
//! - children that would make an op wait only to be appended in order: the same schedule with the op in its place is met too;
//! - nodes that another node with the same ops dominates (`dominance`): no device is free later, no input arrives later,
//!   no memory is used more;
//! - all but one of interchangeable ops and of interchangeable devices that are still empty (`symmetry`);
//! - nodes whose lower bound reaches the best schedule known (`bound`, `tails`, `area`);
//! - placements whose rest no longer fits in memory (`memory`).
//!
//! The other (`assigning`) gives all units their devices first, with the same bounds, and then searches as above for the best
//! order: where memory is tight or orders hardly matter, there are far fewer placements than partial schedules.
//!
//! The first upper bound comes from a randomised greedy heuristic (`greedy`).

mod area;
mod assigning;
mod bound;
mod dominance;
mod greedy;
mod incumbent;
mod memory;
mod occupied;
mod problem;
mod search;
mod state;
mod symmetry;
mod tables;
mod tails;
#[cfg(test)]
mod tests;

use placebench_datasets::{Instance, Placement, Time};

use crate::{Assignment, Decision, PlaceError, Plan, StopToken, bounds};
use assigning::Assigning;
use incumbent::Incumbent;
use problem::Problem;
use search::{Progress, Search};
use state::{State, Step};
pub use tables::MOST;

/// A schedule that is proven to be optimal, to a relative 10⁻¹¹.
#[derive(Clone, Debug, PartialEq)]
pub struct Optimum {
    /// Placement and order; the scheduler `static` executes the plan to exactly its makespan.
    pub decision: Decision,
    /// The makespan, in the instance's unit of time.
    pub makespan: Time,
    /// Nodes of the search tree whose children were generated.
    pub nodes: u64,
}

/// Finds a schedule of least makespan and proves that there is none shorter.
///
/// # Errors
/// - [`PlaceError::Infeasible`] if no placement respects kinds, colocation and memory, which is proven as well;
/// - [`PlaceError::Unsupported`] for more than [`MOST`] ops or devices, counting sends and receives that take time, for times that
///   are not finite, and if `most_nodes` nodes do not suffice: the message has the best makespan and the bound reached;
/// - [`PlaceError::Stopped`].
///
/// # Complexity
/// Exponential. A node takes O(edges · devices² + ops · devices) a child; memory is bounded, by some
/// hundred MiB for each of the two searches.
pub fn solve(instance: &Instance, most_nodes: u64, stop: &StopToken) -> Result<Optimum, PlaceError> {
    stop.check()?;
    if instance.cluster().sends_cost() || instance.cluster().receives_cost() {
        return occupied::solve(instance, most_nodes, stop);
    }
    let problem = Problem::new(instance)?;
    let mut incumbent = Incumbent::default();
    if let Some(steps) = greedy::schedule(&problem) {
        incumbent.offer(&problem, &steps);
    }
    let nodes = search(instance, &problem, &mut incumbent, most_nodes, stop)?;
    match incumbent.best {
        None => Err(no_placement(instance)),
        Some((makespan, steps)) => Ok(Optimum { decision: decision(&problem, &steps, makespan), makespan, nodes }),
    }
}

/// Nodes that a search visits before the other has its first turn; then turns grow.
const FIRST_TURN: u64 = 512;

/// The most nodes between two looks at the stop token.
const LONGEST_TURN: u64 = 8192;

/// Makes the incumbent the optimum, and returns the nodes that it took.
fn search(
    instance: &Instance,
    problem: &Problem,
    incumbent: &mut Incumbent,
    most_nodes: u64,
    stop: &StopToken,
) -> Result<u64, PlaceError> {
    let mut whole = Search::new(problem);
    whole.begin(&State::new(problem), incumbent);
    let mut assigning: Option<Assigning<'_>> = None;
    let mut turn = FIRST_TURN;
    loop {
        let nodes = whole.nodes + assigning.as_ref().map_or(0, Assigning::nodes);
        let left = most_nodes.saturating_sub(nodes);
        if whole.run(incumbent, turn.min(left)) == Progress::Exhausted {
            return Ok(whole.nodes + assigning.as_ref().map_or(0, Assigning::nodes));
        }
        stop.check()?;
        let assigning = assigning.get_or_insert_with(|| {
            let mut assigning = Assigning::new(problem);
            assigning.begin(incumbent);
            assigning
        });
        let nodes = whole.nodes + assigning.nodes();
        let left = most_nodes.saturating_sub(nodes);
        if assigning.run(incumbent, turn.min(left)) == Progress::Exhausted {
            return Ok(whole.nodes + assigning.nodes());
        }
        stop.check()?;
        if whole.nodes + assigning.nodes() >= most_nodes {
            return Err(unproven(instance, most_nodes, incumbent, whole.bound_left().max(assigning.bound_left())));
        }
        turn = (turn * 2).min(LONGEST_TURN);
    }
}

/// The error for a search that ran out of nodes, when no schedule was known to be shorter than a bound.
fn unproven(instance: &Instance, most_nodes: u64, incumbent: &Incumbent, bound: Time) -> PlaceError {
    let bound = bound.max(bounds::best(instance).value);
    let best = incumbent.best.as_ref();
    let best = best.map_or_else(|| "no schedule found".to_owned(), |(best, _)| format!("best makespan {best}"));
    PlaceError::Unsupported(format!(
        "no optimum proven within {most_nodes} nodes: {best}, lower bound {bound}; raise the parameter nodes or take a \
         smaller instance"
    ))
}

/// The decision of a complete schedule.
fn decision(problem: &Problem, steps: &[Step], makespan: Time) -> Decision {
    let mut steps = problem.starts(steps);
    // Stable: of ops that start together, those without duration stay before what waits for them.
    steps.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut devices = vec![placebench_datasets::DeviceId(0); problem.ops];
    for (step, _) in &steps {
        devices[problem.ids[step.op].index()] = placebench_datasets::DeviceId::new(step.device);
    }
    let order = steps.iter().map(|(step, _)| problem.ids[step.op]);
    Decision { plan: Some(Plan::of_ops(order, makespan)), ..Decision::placement(Placement::new(devices)) }
}

/// The error for an instance that has no placement: packing units by falling demand gets stuck somewhere, and the unit where it
/// does is named.
fn no_placement(instance: &Instance) -> PlaceError {
    let units = instance.units();
    let mut assignment = Assignment::new(instance);
    let mut order: Vec<_> = units.ids().collect();
    order.sort_by_key(|&unit| (std::cmp::Reverse(units.demand_bytes(unit)), unit));
    for unit in order {
        let free = |device| {
            let memory = instance.cluster().device(device).memory_bytes.unwrap_or(u64::MAX);
            memory.saturating_sub(assignment.used_bytes(device))
        };
        match assignment.feasible_devices(unit).max_by_key(|&device| (free(device), std::cmp::Reverse(device))) {
            Some(device) => assignment.assign(unit, device),
            None => return assignment.infeasible(unit),
        }
    }
    PlaceError::Unsupported("the search found no placement, though there is one".to_owned())
}
