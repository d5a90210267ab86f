//! Depth-first branch and bound over the ops in the order of their starts.
//!
//! Why what is cut off never cuts off itself in a circle: a child is left out for a node Y with the same ops that is no worse,
//! and Y, or its parent, may in turn be left out for another, Z, and so on. Each step of such a chain makes the sum of the
//! times from which devices are available smaller (an op that need not wait does not), or keeps it and makes the
//! duration of the op that comes last larger, then its class (`should_precede`), or only renames ops or devices
//! (`Symmetry`). So chains end, and at their end is a node that was searched. Ops that take no time may be appended out of
//! order, since for them waiting would change none of these.

use placebench_datasets::Time;

use super::bound::Bound;
use super::dominance::Dominance;
use super::incumbent::Incumbent;
use super::memory::Packing;
use super::problem::Problem;
use super::state::{State, Step};

/// How far a search got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Everything was looked at or cut off.
    Exhausted,
    /// The budget was used up.
    Paused,
}

/// A depth-first search that can be paused.
pub(super) struct Search<'a> {
    problem: &'a Problem,
    bound: Bound<'a>,
    seen: Dominance,
    packing: Packing,
    /// One for each number of scheduled ops.
    frames: Vec<Frame>,
    /// The frame that is being searched; `None` if nothing is left.
    depth: Option<usize>,
    /// Nodes whose children were generated.
    pub(super) nodes: u64,
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
    pub(super) fn new(problem: &'a Problem) -> Self {
        let frame = || Frame { state: State::new(problem), children: Vec::new(), step: None };
        Self {
            problem,
            bound: Bound::new(problem),
            seen: Dominance::default(),
            packing: Packing::default(),
            frames: (0..=problem.ops).map(|_| frame()).collect(),
            depth: None,
            nodes: 0,
        }
    }

    /// Begins anew, from a state in which nothing is scheduled, though units may have devices.
    pub(super) fn begin(&mut self, root: &State, incumbent: &Incumbent) {
        self.seen.clear();
        self.frames[0].state.copy(root);
        self.depth = None;
        if self.packing_is_possible(0) && self.bound.of(&self.frames[0].state, incumbent.cutoff()).is_some() {
            self.depth = Some(0);
            self.visit(0, incumbent.cutoff());
        }
    }

    /// Searches on until nothing is left or `budget` further nodes were visited.
    pub(super) fn run(&mut self, incumbent: &mut Incumbent, budget: u64) -> Progress {
        let most_nodes = self.nodes.saturating_add(budget);
        while let Some(depth) = self.depth {
            let Some((bound, step)) = self.frames[depth].children.pop() else {
                self.depth = depth.checked_sub(1);
                continue;
            };
            if bound >= incumbent.cutoff() {
                continue;
            }
            if self.nodes >= most_nodes {
                self.frames[depth].children.push((bound, step));
                return Progress::Paused;
            }
            let (above, below) = self.frames.split_at_mut(depth + 1);
            above[depth].step = Some(step);
            let child = &mut below[0];
            child.state.copy(&above[depth].state);
            child.state.append(self.problem, step);
            if depth + 1 == self.problem.ops {
                let steps: Vec<Step> = self.frames[..=depth].iter().filter_map(|frame| frame.step).collect();
                incumbent.offer(self.problem, &steps);
            } else if !self.seen.is_dominated(self.problem, &child.state) {
                self.depth = Some(depth + 1);
                self.visit(depth + 1, incumbent.cutoff());
            }
        }
        Progress::Exhausted
    }

    /// The least bound of a node that was not looked at; infinite if there is none.
    pub(super) fn bound_left(&self) -> Time {
        let open = self.depth.map_or(&[][..], |depth| &self.frames[..=depth]);
        open.iter().flat_map(|frame| &frame.children).map(|&(bound, _)| bound).fold(f64::INFINITY, Time::min)
    }

    /// Generates the children of the node at a depth.
    fn visit(&mut self, depth: usize, cutoff: Time) {
        self.nodes += 1;
        let problem = self.problem;
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
        let Some(memory) = memory else { return true };
        let possible = self.packing.is_possible(memory, &state.device_of_unit, &state.used);
        self.nodes += self.packing.nodes();
        possible
    }
}

/// Whether a child has to be looked at: whether it is possible, and no other child or node stands for it.
fn is_worthwhile(problem: &Problem, state: &State, step: Step) -> bool {
    let Step { op, device } = step;
    if !state.is_ready(problem, op) || !state.allows(problem, op, device) {
        return false;
    }
    let symmetry = &problem.symmetry;
    if symmetry.has_twin_before(problem, state, op) || symmetry.has_empty_device_before(state, device) {
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
