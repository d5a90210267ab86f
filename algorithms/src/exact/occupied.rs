//! The optimum where sends and receives keep devices busy.
//!
//! Placements are searched as elsewhere, with bounds that take a transfer for a delay, its ends included: that is never longer than
//! what happens. Of each placement that is left, ops, sends and receives together are tasks whose devices are given, and the
//! search for the best order finds theirs.

use placebench_datasets::{DeviceId, Instance, OpId, PlacedGraph, Placement, Time};

use super::assigning::{Assigning, Next};
use super::incumbent::Incumbent;
use super::problem::Problem;
use super::search::{Progress, Search};
use super::state::{State, Step};
use super::tables::{Arc, MOST, Tables};
use super::{LONGEST_TURN, Optimum, greedy, no_placement, unproven};
use crate::{Decision, PlaceError, Plan, StopToken, Task};

/// As [`solve`](super::solve), for an instance with sends or receives that take time.
pub(super) fn solve(instance: &Instance, most_nodes: u64, stop: &StopToken) -> Result<Optimum, PlaceError> {
    let problem = Problem::relaxed(instance)?;
    let mut best = Best::default();
    if let Some(steps) = greedy::schedule(&problem) {
        let placement = super::decision(&problem, &steps, 0.0).placement;
        if !best.order(instance, &problem, placement, most_nodes, stop)? {
            return Err(unproven(instance, most_nodes, &best.incumbent, 0.0));
        }
    }
    let mut assigning = Assigning::new(&problem);
    assigning.begin(&best.incumbent);
    loop {
        stop.check()?;
        let left = most_nodes.saturating_sub(best.nodes + assigning.nodes());
        match assigning.next(best.incumbent.cutoff(), left.min(LONGEST_TURN)) {
            Next::Placement(bound) => {
                let placement = placement(&problem, assigning.placement());
                if !best.order(instance, &problem, placement, most_nodes - assigning.nodes().min(most_nodes), stop)? {
                    let bound = bound.min(assigning.bound_left()).min(best.incumbent.cutoff());
                    return Err(unproven(instance, most_nodes, &best.incumbent, bound));
                }
            }
            Next::Paused if left == 0 => {
                let bound = assigning.bound_left().min(best.incumbent.cutoff());
                return Err(unproven(instance, most_nodes, &best.incumbent, bound));
            }
            Next::Paused => {}
            Next::Exhausted => break,
        }
    }
    let nodes = best.nodes + assigning.nodes();
    match (best.incumbent.best, best.decision) {
        (Some((makespan, _)), Some(decision)) => Ok(Optimum { decision, makespan, nodes }),
        _ => Err(no_placement(instance)),
    }
}

/// The best schedule of all placements that were ordered.
#[derive(Default)]
struct Best {
    /// Its steps are those of the tasks of its placement.
    incumbent: Incumbent,
    decision: Option<Decision>,
    /// Nodes of all searches for an order; to begin one takes as long as a node for each task.
    nodes: u64,
}

impl Best {
    /// Finds the best order of a placement, if it is better than what is known; `false` if the nodes do not suffice.
    fn order(
        &mut self,
        instance: &Instance,
        relaxed: &Problem,
        placement: Placement,
        most_nodes: u64,
        stop: &StopToken,
    ) -> Result<bool, PlaceError> {
        let placed = PlacedGraph::new(instance, &placement);
        let tasks = tasks(&placed, relaxed)?;
        self.nodes += tasks.len() as u64;
        let problem = Problem::of(tables(&placed, &tasks)?);
        let known = self.incumbent.cutoff();
        let mut search = Search::new(&problem);
        search.begin(&State::new(&problem), &self.incumbent);
        loop {
            stop.check()?;
            let left = most_nodes.saturating_sub(self.nodes + search.nodes);
            let progress = search.run(&mut self.incumbent, left.min(LONGEST_TURN));
            if self.incumbent.cutoff() < known
                && let Some((makespan, steps)) = &self.incumbent.best
            {
                self.decision = Some(decision(&problem, &tasks, steps, *makespan, placement.clone()));
            }
            if progress == Progress::Exhausted || left == 0 {
                self.nodes += search.nodes;
                return Ok(progress == Progress::Exhausted);
            }
        }
    }
}

/// The devices that a state gives to all units.
fn placement(problem: &Problem, state: &State) -> Placement {
    let mut devices = vec![DeviceId(0); problem.ops];
    for (op, &unit) in problem.unit.iter().enumerate() {
        if let Some(device) = state.device_of_unit[unit] {
            devices[problem.ids[op].index()] = DeviceId::new(device);
        }
    }
    Placement::new(devices)
}

/// Ops, sends and receives, each after what it waits for.
fn tasks(placed: &PlacedGraph<'_>, relaxed: &Problem) -> Result<Vec<Task>, PlaceError> {
    let mut tasks = Vec::with_capacity(MOST);
    for &op in &relaxed.ids {
        tasks.push(Task::Op(op));
        for transfer in placed.transfers_of(op) {
            tasks.extend(placed.has_send(transfer).then_some(Task::Send(transfer)));
            tasks.extend(placed.has_receive(transfer).then_some(Task::Receive(transfer)));
        }
    }
    if tasks.len() > MOST {
        return Err(PlaceError::Unsupported(format!(
            "the optimum is only sought for up to {MOST} ops, sends and receives, and a placement has {}: take a smaller instance, or \
             set send_ops and the overheads of transfers to 0",
            tasks.len()
        )));
    }
    Ok(tasks)
}

/// The tables of the tasks of a placed graph: each task has its device.
fn tables(placed: &PlacedGraph<'_>, tasks: &[Task]) -> Result<Tables, PlaceError> {
    let graph = placed.instance().graph();
    let (ops, devices) = (tasks.len(), placed.instance().cluster().device_count());
    let mut time = vec![f64::INFINITY; ops * devices];
    let mut inputs: Vec<Vec<Arc>> = vec![Vec::new(); ops];
    let mut position = vec![0; graph.op_count()];
    for (at, &task) in tasks.iter().enumerate() {
        if let Task::Op(op) = task {
            position[op.index()] = at;
        }
    }
    let mut wait =
        |task: usize, producer: usize, delay: Time| match inputs[task].iter_mut().find(|arc| arc.op == producer) {
            Some(arc) => arc.delay.iter_mut().for_each(|old| *old = old.max(delay)),
            None => inputs[task].push(Arc { op: producer, delay: vec![delay; devices * devices] }),
        };
    let mut sent = None;
    for (at, &task) in tasks.iter().enumerate() {
        let (device, duration) = match task {
            Task::Op(op) => (placed.device_of(op), placed.exec_time(op)),
            Task::Send(transfer) => (placed.transfer(transfer).from, placed.send_time(transfer)),
            Task::Receive(transfer) => (placed.transfer(transfer).to, placed.receive_time(transfer)),
        };
        time[at * devices + device.index()] = duration + 0.0;
        match task {
            Task::Op(op) => {
                placed.local_consumers(op).iter().for_each(|consumer| wait(position[consumer.index()], at, 0.0));
                for transfer in placed.transfers_of(op).filter(|&id| !placed.has_send(id) && !placed.has_receive(id)) {
                    let delay = placed.transfer(transfer).time + 0.0;
                    let consumers = placed.remote_consumers(transfer);
                    consumers.iter().for_each(|consumer| wait(position[consumer.index()], at, delay));
                }
            }
            Task::Send(transfer) => {
                wait(at, position[placed.transfer(transfer).source.index()], 0.0);
                sent = Some((transfer, at));
                if !placed.has_receive(transfer) {
                    let delay = placed.transfer(transfer).time + 0.0;
                    let consumers = placed.remote_consumers(transfer);
                    consumers.iter().for_each(|consumer| wait(position[consumer.index()], at, delay));
                }
            }
            Task::Receive(transfer) => {
                let source = position[placed.transfer(transfer).source.index()];
                let producer = sent.filter(|&(id, _)| id == transfer).map_or(source, |(_, at)| at);
                wait(at, producer, placed.transfer(transfer).time + 0.0);
                let consumers = placed.remote_consumers(transfer);
                consumers.iter().for_each(|consumer| wait(position[consumer.index()], at, 0.0));
            }
        }
    }
    inputs.iter_mut().for_each(|inputs| inputs.sort_by_key(|arc| arc.op));
    let mut outputs: Vec<Vec<Arc>> = vec![Vec::new(); ops];
    for (op, arcs) in inputs.iter().enumerate() {
        arcs.iter().for_each(|arc| outputs[arc.op].push(Arc { op, delay: arc.delay.clone() }));
    }
    Ok(Tables {
        ops,
        devices,
        ids: (0..ops).map(OpId::new).collect(),
        time,
        inputs,
        outputs,
        unit: (0..ops).collect(),
        members: (0..ops).map(|task| 1 << task).collect(),
        memory: None,
    })
}

/// The decision of a complete schedule of the tasks.
fn decision(problem: &Problem, tasks: &[Task], steps: &[Step], makespan: Time, placement: Placement) -> Decision {
    let mut steps = problem.starts(steps);
    // Stable: of tasks that start together, those without duration stay before what waits for them.
    steps.sort_by(|a, b| a.1.total_cmp(&b.1));
    let tasks = steps.iter().map(|(step, _)| tasks[step.op]).collect();
    Decision { plan: Some(Plan { tasks, makespan }), ..Decision::placement(placement) }
}
