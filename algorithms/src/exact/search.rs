//! Depth-first branch and bound.

use placebench_datasets::Time;

use super::bound::Bound;
use super::dominance::Dominance;
use super::memory::Packing;
use super::problem::Problem;
use super::state::{State, Step};
use crate::StopToken;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Outcome {
    /// Everything was looked at or cut off: the best schedule is optimal, and if there is none, there is no schedule.
    Exhausted,
    /// The limit on nodes was reached; no schedule is shorter than the bound.
    OutOfNodes {
        /// The least bound of a node left.
        bound: Time,
    },
    /// Told to stop.
    Stopped,
}

/// A schedule must be shorter than the best by more than this share to be worth finding: far above the rounding
/// of the bounds, far below what matters.
const TOLERANCE: f64 = 1e-11;

/// Nodes between two looks at the stop token.
const STOP_INTERVAL: u64 = 1024;

/// A depth-first search.
pub(super) struct Search<'a> {
    problem: &'a Problem,
    most_nodes: u64,
    stop: &'a StopToken,
    bound: Bound<'a>,
    seen: Dominance,
    packing: Packing,
    /// One for each number of scheduled ops.
    frames: Vec<Frame>,
    best: Option<(Time, Vec<Step>)>,
    nodes: u64,
}

/// A node on the path that is being searched.
struct Frame {
    state: State,
    /// Children not looked at yet, the most promising last, with their bounds.
    children: Vec<(Time, Step)>,
    /// The child being looked at.
    step: Option<Step>,
}

impl<'a> Search<'a> {
    pub(super) fn new(problem: &'a Problem, most_nodes: u64, stop: &'a StopToken) -> Self {
        let frame = || Frame { state: State::new(problem), children: Vec::new(), step: None };
        Self {
            problem,
            most_nodes,
            stop,
            bound: Bound::new(problem),
            seen: Dominance::default(),
            packing: Packing::default(),
            frames: (0..=problem.ops).map(|_| frame()).collect(),
            best: None,
            nodes: 0,
        }
    }

    /// A complete schedule from elsewhere: an upper bound.
    pub(super) fn offer(&mut self, steps: &[Step]) {
        let makespan = self.problem.makespan(steps);
        if self.best.as_ref().is_none_or(|(best, _)| makespan < *best) {
            self.best = Some((makespan, steps.to_vec()));
        }
    }

    /// Nodes whose children were generated.
    pub(super) fn nodes(&self) -> u64 {
        self.nodes
    }

    /// The best schedule found.
    pub(super) fn into_best(self) -> Option<(Time, Vec<Step>)> {
        self.best
    }

    /// What a schedule's makespan has to be below.
    fn cutoff(&self) -> Time {
        self.best.as_ref().map_or(f64::INFINITY, |(best, _)| best * (1.0 - TOLERANCE))
    }

    /// Searches until nothing is left, or a limit is reached.
    pub(super) fn run(&mut self) -> Outcome {
        let possible = self.packing_is_possible(0);
        if !possible || self.bound.of(&self.frames[0].state, self.cutoff()).is_none() {
            return Outcome::Exhausted;
        }
        self.visit(0);
        let mut depth = 0;
        loop {
            let cutoff = self.cutoff();
            let Some((bound, step)) = self.frames[depth].children.pop() else {
                if depth == 0 {
                    return Outcome::Exhausted;
                }
                depth -= 1;
                continue;
            };
            if bound >= cutoff {
                continue;
            }
            let (above, below) = self.frames.split_at_mut(depth + 1);
            above[depth].step = Some(step);
            let child = &mut below[0];
            child.state.copy(&above[depth].state);
            child.state.append(self.problem, step);
            if depth + 1 == self.problem.ops {
                let steps: Vec<Step> = self.frames[..=depth].iter().filter_map(|frame| frame.step).collect();
                self.offer(&steps);
                continue;
            }
            if self.seen.is_dominated(self.problem, &child.state) {
                continue;
            }
            if self.nodes >= self.most_nodes {
                let open = self.frames[..=depth].iter().flat_map(|frame| &frame.children);
                return Outcome::OutOfNodes { bound: open.map(|&(bound, _)| bound).fold(bound, Time::min) };
            }
            if self.nodes.is_multiple_of(STOP_INTERVAL) && self.stop.is_stopped() {
                return Outcome::Stopped;
            }
            depth += 1;
            self.visit(depth);
        }
    }

    /// Generates the children of the node at a depth.
    fn visit(&mut self, depth: usize) {
        self.nodes += 1;
        let (problem, cutoff) = (self.problem, self.cutoff());
        let mut children = std::mem::take(&mut self.frames[depth].children);
        children.clear();
        for op in 0..problem.ops {
            for device in 0..problem.devices {
                let step = Step { op, device };
                if !is_worthwhile(problem, &self.frames[depth].state, step) {
                    continue;
                }
                let (above, below) = self.frames.split_at_mut(depth + 1);
                let (state, child) = (&above[depth].state, &mut below[0].state);
                child.copy(state);
                child.append(problem, step);
                if let Some(bound) = self.bound.of(child, cutoff)
                    && self.packing_is_possible(depth + 1)
                {
                    children.push((bound, step));
                }
            }
        }
        // Popped from the end: the least bound, then the earliest start, then the lowest ids.
        let state = &self.frames[depth].state;
        children.sort_by(|a, b| {
            let start = |step: Step| state.start(problem, step);
            let ids = |step: Step| (step.op, step.device);
            let order = a.0.total_cmp(&b.0).then(start(a.1).total_cmp(&start(b.1))).then(ids(a.1).cmp(&ids(b.1)));
            order.reverse()
        });
        self.frames[depth].children = children;
    }

    fn packing_is_possible(&mut self, depth: usize) -> bool {
        let state = &self.frames[depth].state;
        let memory = self.problem.memory.as_ref();
        memory.is_none_or(|memory| self.packing.is_possible(memory, &state.device_of_unit, &state.used))
    }
}

/// Whether a child has to be looked at: whether it is possible, and no other child or node stands for it.
fn is_worthwhile(problem: &Problem, state: &State, step: Step) -> bool {
    let Step { op, device } = step;
    if !state.is_ready(problem, op) || !state.allows(problem, op, device) {
        return false;
    }
    if problem.symmetry.twin_before[op].is_some_and(|twin| !state.is_done(twin)) {
        return false;
    }
    let is_empty = |device: usize| state.last[device].is_none();
    if is_empty(device)
        && (0..device).any(|lower| problem.symmetry.lower_devices[device] >> lower & 1 == 1 && is_empty(lower))
    {
        return false;
    }
    let (start, work) = (state.start(problem, step), problem.time(op, device));
    // Out of order, and the device would be free earlier with the op in its place.
    let waits = start < state.latest_start && (start + work).max(state.latest_start) < state.latest_start + work;
    !waits && !should_precede(problem, state, step)
}

/// Whether an op that nothing waits for should come before the device's last op, of the same sort, because it could have
/// and takes less time: then the last start is earlier, and all else the same.
fn should_precede(problem: &Problem, state: &State, Step { op, device }: Step) -> bool {
    let Some((last, last_start)) = state.last[device] else { return false };
    if !problem.outputs[op].is_empty() || !problem.outputs[last].is_empty() {
        return false;
    }
    let rank = |op: usize| (problem.time(op, device), problem.symmetry.class[op]);
    state.ready[op * problem.devices + device] <= last_start && rank(op) < rank(last)
}
