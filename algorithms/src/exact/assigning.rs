//! Branch and bound over placements, with a search for the best order of each that is left.

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
    /// For each unit of a single op, the units before it in the order that it can be exchanged with.
    twins: Vec<Vec<usize>>,
    /// One for each number of units with a device.
    frames: Vec<Frame>,
    depth: Option<usize>,
    sequencing: Search<'a>,
    /// The bound of the placement that is being ordered.
    sequenced: Option<Time>,
    nodes: u64,
}

struct Frame {
    state: State,
    /// Devices of the next unit, the most promising last, with their bounds.
    children: Vec<(Time, usize)>,
}

impl<'a> Assigning<'a> {
    pub(super) fn new(problem: &'a Problem) -> Self {
        let order = order(problem);
        let mut twins = vec![Vec::new(); problem.members.len()];
        for op in 0..problem.ops {
            let units = problem.symmetry.lower_twins(problem, op).map(|twin| problem.unit[twin]);
            twins[problem.unit[op]].extend(units.filter(|&unit| unit != problem.unit[op]));
        }
        let frame = || Frame { state: State::new(problem), children: Vec::new() };
        Self {
            problem,
            bound: Bound::new(problem),
            packing: Packing::default(),
            frames: (0..=order.len()).map(|_| frame()).collect(),
            order,
            twins,
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

    /// Searches on until nothing is left or so many further nodes were visited.
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
            let Some(depth) = self.depth else { return Progress::Exhausted };
            let Some((bound, device)) = self.frames[depth].children.pop() else {
                self.depth = depth.checked_sub(1);
                continue;
            };
            if bound >= incumbent.cutoff() {
                continue;
            }
            if left == 0 {
                self.frames[depth].children.push((bound, device));
                return Progress::Paused;
            }
            let (above, below) = self.frames.split_at_mut(depth + 1);
            below[0].state.copy(&above[depth].state);
            below[0].state.assign(self.problem, self.order[depth], device);
            if depth + 1 == self.order.len() {
                self.sequencing.begin(&below[0].state, incumbent);
                self.sequenced = Some(bound);
            } else {
                self.depth = Some(depth + 1);
                self.visit(depth + 1, incumbent.cutoff());
            }
        }
    }

    /// The least bound of a placement that was not looked at to its end.
    pub(super) fn bound_left(&self) -> Time {
        let open = self.depth.map_or(&[][..], |depth| &self.frames[..=depth]);
        let open = open.iter().flat_map(|frame| &frame.children).map(|&(bound, _)| bound);
        open.fold(self.sequenced.unwrap_or(f64::INFINITY), Time::min)
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
            // Units that can be exchanged get ascending devices.
            let breaks_order =
                self.twins[unit].iter().any(|&twin| state.device_of_unit[twin].is_some_and(|other| other > device));
            if breaks_order
                || !state.allows(problem, first, device)
                || problem.symmetry.has_empty_device_before(state, device)
            {
                continue;
            }
            child.copy(state);
            child.assign(problem, unit, device);
            let Some(bound) = self.bound.of(child, cutoff) else { continue };
            let memory = problem.memory.as_ref();
            if memory.is_none_or(|memory| self.packing.is_possible(memory, &child.device_of_unit, &child.used)) {
                children.push((bound, device));
            }
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
