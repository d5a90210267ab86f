//! Branch and bound over placements, with a search for the best order of each that is left.

use std::collections::HashMap;

use placebench_datasets::Time;

use super::bound::Bound;
use super::incumbent::Incumbent;
use super::memory::Packing;
use super::problem::Problem;
use super::search::{Progress, Search};
use super::state::State;

/// A search that gives devices to all units before it orders any op. It is the better one where orders hardly matter or
/// memory decides: it never meets a placement twice.
pub(super) struct Assigning<'a> {
    problem: &'a Problem,
    bound: Bound<'a>,
    packing: Packing,
    /// Units in the order in which they get devices: those that matter most first.
    order: Vec<usize>,
    /// Placements seen, by what they look like; see [`Assigning::is_dominated`].
    seen: HashMap<Vec<u32>, Vec<Vec<u64>>>,
    /// By depth, the demands that units without a device can add up to.
    sums: Vec<Vec<u64>>,
    /// For each op in a unit of its own, the lowest such op that is alike.
    class_of_single: Vec<usize>,
    /// One for each number of units with a device.
    frames: Vec<Frame>,
    depth: Option<usize>,
    sequencing: Search<'a>,
    /// The bound of the placement that is being ordered.
    sequenced: Option<Time>,
    nodes: u64,
}

/// What a search for placements comes to.
pub(super) enum Next {
    /// A placement, with its bound.
    Placement(Time),
    /// There is no further one.
    Exhausted,
    /// This many nodes did not suffice.
    Paused,
}

/// Looks of placements remembered at most, and for each, placements.
const MOST_SEEN: usize = 1 << 16;
const MOST_ALIKE: usize = 64;

struct Frame {
    state: State,
    /// Devices of the next unit, the most promising last, with their bounds.
    children: Vec<(Time, usize)>,
}

impl<'a> Assigning<'a> {
    pub(super) fn new(problem: &'a Problem) -> Self {
        let order = order(problem);
        let is_single = |op: usize| problem.members[problem.unit[op]].count_ones() == 1;
        let class = &problem.symmetry.class;
        let class_of_single = (0..problem.ops)
            .map(|op| (0..=op).find(|&other| class[other] == class[op] && is_single(other)).unwrap_or(op))
            .collect();
        let frame = || Frame { state: State::new(problem), children: Vec::new() };
        Self {
            problem,
            bound: Bound::new(problem),
            packing: Packing::default(),
            frames: (0..=order.len()).map(|_| frame()).collect(),
            sums: (0..=order.len())
                .map(|depth| problem.memory.as_ref().map_or_else(Vec::new, |memory| memory.sums(&order[depth..])))
                .collect(),
            seen: HashMap::new(),
            class_of_single,
            order,
            depth: None,
            sequencing: Search::new(problem),
            sequenced: None,
            nodes: 0,
        }
    }

    /// Nodes visited, of both sorts.
    pub(super) fn nodes(&self) -> u64 {
        self.nodes + self.sequencing.nodes
    }

    /// Begins; the caller has made sure that units can be placed at all.
    pub(super) fn begin(&mut self, incumbent: &Incumbent) {
        self.depth = Some(0);
        self.visit(0, incumbent.cutoff());
    }

    /// Searches on until nothing is left or `budget` further nodes were visited, ordering each placement that is met.
    pub(super) fn run(&mut self, incumbent: &mut Incumbent, budget: u64) -> Progress {
        let most_nodes = self.nodes().saturating_add(budget);
        loop {
            let left = most_nodes.saturating_sub(self.nodes());
            if self.sequenced.is_some() {
                if self.sequencing.run(incumbent, left) == Progress::Paused {
                    return Progress::Paused;
                }
                self.sequenced = None;
            }
            match self.next(incumbent.cutoff(), left) {
                Next::Placement(bound) => {
                    let placement = &self.frames[self.order.len()].state;
                    self.sequencing.begin(placement, incumbent);
                    self.sequenced = Some(bound);
                }
                Next::Exhausted => return Progress::Exhausted,
                Next::Paused => return Progress::Paused,
            }
        }
    }

    /// The placement met last, in a state in which nothing is scheduled.
    pub(super) fn placement(&self) -> &State {
        &self.frames[self.order.len()].state
    }

    /// Searches on until the next placement whose bound is below the cutoff, or until `budget` further nodes were visited.
    pub(super) fn next(&mut self, cutoff: Time, budget: u64) -> Next {
        let most_nodes = self.nodes.saturating_add(budget);
        loop {
            let Some(depth) = self.depth else { return Next::Exhausted };
            let Some((bound, device)) = self.frames[depth].children.pop() else {
                self.depth = depth.checked_sub(1);
                continue;
            };
            if bound >= cutoff {
                continue;
            }
            if self.nodes >= most_nodes {
                self.frames[depth].children.push((bound, device));
                return Next::Paused;
            }
            let (above, below) = self.frames.split_at_mut(depth + 1);
            below[0].state.copy(&above[depth].state);
            below[0].state.assign(self.problem, self.order[depth], device);
            if self.is_dominated(depth + 1) {
                continue;
            }
            if depth + 1 == self.order.len() {
                return Next::Placement(bound);
            }
            self.depth = Some(depth + 1);
            self.visit(depth + 1, cutoff);
        }
    }

    /// The least bound of a placement that was not looked at to its end.
    pub(super) fn bound_left(&self) -> Time {
        let open = self.depth.map_or(&[][..], |depth| &self.frames[..=depth]);
        let open = open.iter().flat_map(|frame| &frame.children).map(|&(bound, _)| bound);
        open.fold(self.sequenced.unwrap_or(f64::INFINITY), Time::min)
    }

    /// Whether a partial placement at a depth looks like one seen before that leaves no less room anywhere; if not, it is
    /// remembered. Placements look alike if they have equally many ops of each class of ops that are alike on each device, and
    /// units of several ops on the same devices: then one is as good as the other, but for memory.
    fn is_dominated(&mut self, depth: usize) -> bool {
        let (problem, state) = (self.problem, &self.frames[depth].state);
        if !problem.symmetry.has_alike() || self.seen.len() >= MOST_SEEN {
            return false;
        }
        let mut look = vec![depth as u32; 1 + problem.ops * problem.devices];
        look[1..].fill(0);
        for (unit, &device) in state.device_of_unit.iter().enumerate() {
            let Some(device) = device else { continue };
            let op = problem.members[unit].trailing_zeros() as usize;
            let is_alone = problem.members[unit].count_ones() == 1;
            // Only an op in a unit of its own stands for its class.
            let representative = if is_alone { self.class_of_single[op] } else { op };
            look[1 + representative * problem.devices + device] += 1;
        }
        let room =
            problem.memory.as_ref().map(|memory| memory.room(&self.sums[depth], &state.used)).unwrap_or_default();
        let known = self.seen.entry(look).or_default();
        if known.iter().any(|known| known.iter().zip(&room).all(|(old, new)| old >= new)) {
            return true;
        }
        if known.len() < MOST_ALIKE {
            known.push(room);
        }
        false
    }

    /// Finds the devices of the next unit.
    fn visit(&mut self, depth: usize, cutoff: Time) {
        self.nodes += 1;
        let (problem, unit) = (self.problem, self.order[depth]);
        let mut children = std::mem::take(&mut self.frames[depth].children);
        children.clear();
        let first = problem.members[unit].trailing_zeros() as usize;
        for device in 0..problem.devices {
            let (above, below) = self.frames.split_at_mut(depth + 1);
            let (state, child) = (&above[depth].state, &mut below[0].state);
            if !state.allows(problem, first, device) || problem.symmetry.has_empty_device_before(state, device) {
                continue;
            }
            child.copy(state);
            child.assign(problem, unit, device);
            let Some(bound) = self.bound.of(child, cutoff) else { continue };
            let memory = problem.memory.as_ref();
            if memory.is_none_or(|memory| self.packing.is_possible(memory, &child.device_of_unit, &child.used)) {
                children.push((bound, device));
            }
            self.nodes += self.packing.nodes();
        }
        children.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        self.frames[depth].children = children;
    }
}

/// Units by falling share of all work or of all memory, whichever is larger; then by their first op.
fn order(problem: &Problem) -> Vec<usize> {
    let mut work = vec![0.0; problem.members.len()];
    for op in 0..problem.ops {
        let times = problem.time[op * problem.devices..][..problem.devices].iter();
        work[problem.unit[op]] += times.copied().fold(f64::INFINITY, Time::min);
    }
    let demand = |unit: usize| problem.memory.as_ref().map_or(0.0, |memory| memory.demand[unit] as f64);
    let (mut total_work, mut total_demand) = (0.0, 0.0);
    for (unit, work) in work.iter().enumerate() {
        total_work += work;
        total_demand += demand(unit);
    }
    let share = |part: f64, total: f64| if total > 0.0 { part / total } else { 0.0 };
    let weight = |unit: usize| f64::max(share(work[unit], total_work), share(demand(unit), total_demand));
    let mut order: Vec<usize> = (0..problem.members.len()).collect();
    order.sort_by(|&a, &b| {
        let first = |unit: usize| problem.members[unit].trailing_zeros();
        weight(b).total_cmp(&weight(a)).then(first(a).cmp(&first(b)))
    });
    order
}
