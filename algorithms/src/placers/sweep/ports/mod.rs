//! An estimate of what a change of devices costs where transfers wait for each other: a schedule in which a device sends one tensor at
//! a time and receives one at a time.
//!
//! The schedule is made op by op in a fixed order, and an op's transfers when its turn comes. So what stands before the first
//! op that a change touches stays as it is: an [`evaluation`] begins there, and ends as soon as the limit cannot be kept.

mod evaluation;
pub(super) mod starts;

use placebench_datasets::Time;

use super::cooling::Cooling;
use super::judge::Contention;
use super::memory::Memory;
use super::moves::{Region, draw_target};
use super::problem::Problem;
use super::random::Random;
use super::schedule::{Schedule, sorted_by};
use crate::StopToken;

/// The state of the devices is kept before every op whose position is a multiple of this.
const STRIDE: usize = 64;

/// The least temperature that an annealing begins with, as a share of the makespan.
const HEAT: f64 = 3e-3;

/// The same in multiples of the mean time of an op on a longest path.
const HEAT_OF_STEP: f64 = 0.3;

/// Ops are sorted anew after this number of changes.
const RESORT: u64 = 50;

/// Ends a list.
const NONE: u32 = u32::MAX;

/// A tensor on a device that did not make it.
#[derive(Clone, Copy)]
struct Copy {
    device: u32,
    bytes: f64,
    arrival: Time,
    /// The copy of an output of the same op made before this one.
    former: u32,
    producer: u32,
    /// The position of the op that it was sent for.
    position: u32,
}

/// When each device is free, and its ports, with the ops that hold them until then.
#[derive(Clone)]
struct State {
    free: Vec<(Time, u32)>,
    sends: Vec<(Time, u32)>,
    receives: Vec<(Time, u32)>,
}

/// A schedule, changes of which are estimated.
pub(super) struct Ports<'p> {
    problem: &'p Problem<'p>,
    /// Whether a transfer holds both of its ports at once, or each by itself, or none, so that transfers never wait.
    contention: Contention,
    devices: Vec<u32>,
    order: Vec<u32>,
    position: Vec<u32>,
    starts: Vec<Time>,
    finish: Vec<Time>,
    /// What each op waited for last: an op, or the op whose transfer held the port.
    blame: Vec<u32>,
    makespan: Time,
    last: u32,
    /// The state before the ops at multiples of [`STRIDE`].
    states: Vec<State>,
    /// All copies, in the order in which they are sent, and the last one of each op.
    copies: Vec<Copy>,
    heads: Vec<u32>,
    memory: Memory,
    /// From each op on, the time without transfers on the fastest devices.
    least: Vec<Time>,
    /// Ops whose chain of blame ends with the makespan.
    critical: Vec<u32>,
    // Of the change at hand:
    trial: u32,
    trial_finish: Vec<Time>,
    trial_copies: Vec<Copy>,
    trial_heads: Vec<(u32, u32)>,
    state: State,
    region: Region,
    set: Vec<u32>,
    moved: Vec<(u32, u32)>,
}

impl<'p> Ports<'p> {
    pub(super) fn new(problem: &'p Problem<'p>, schedule: &Schedule, contention: Contention) -> Self {
        let (ops, devices) = (problem.ops, problem.devices);
        let none = vec![(0.0, NONE); devices];
        let state = State { free: none.clone(), sends: none.clone(), receives: none };
        let mut least = vec![0.0; ops];
        let topological: Vec<u32> = problem.instance.graph().topological_order().map(|op| op.0).collect();
        for &op in topological.iter().rev() {
            let after = problem.forward().after.of(op as usize).iter().map(|&(after, _)| least[after as usize]);
            let allowed = problem.allowed(problem.units[op as usize]).iter();
            let exec = allowed.map(|&device| problem.exec(op as usize, device)).fold(f64::INFINITY, Time::min);
            least[op as usize] = after.fold(0.0, Time::max) + exec;
        }
        let mut annealing = Self {
            problem,
            contention,
            devices: schedule.devices.clone(),
            order: schedule.order.clone(),
            position: vec![0; ops],
            starts: vec![0.0; ops],
            finish: vec![0.0; ops],
            blame: vec![NONE; ops],
            makespan: 0.0,
            last: NONE,
            states: Vec::new(),
            copies: Vec::new(),
            heads: vec![NONE; ops],
            memory: Memory::of(problem, &schedule.devices),
            least,
            critical: Vec::new(),
            trial: 0,
            trial_finish: vec![0.0; ops],
            trial_copies: Vec::new(),
            trial_heads: vec![(0, NONE); ops],
            state,
            region: Region::new(problem),
            set: Vec::new(),
            moved: Vec::new(),
        };
        annealing.commit_all();
        annealing
    }

    /// The makespan of the schedule at hand.
    pub(super) fn makespan(&self) -> Time {
        self.makespan
    }

    /// The temperatures of an annealing of the schedule at hand.
    pub(super) fn cooling(&self) -> Cooling {
        Cooling::from(self.makespan * HEAT.max(HEAT_OF_STEP / self.steps() as f64))
    }

    /// How many ops a longest path has.
    fn steps(&self) -> usize {
        let next = |&op: &u32| Some(self.blame[op as usize]).filter(|&op| op != NONE);
        std::iter::successors(Some(self.last).filter(|&op| op != NONE), next).count().max(1)
    }

    /// The schedule at hand, with its makespan, ports respected.
    #[cfg(test)]
    pub(super) fn present(&self) -> Schedule {
        Schedule { devices: self.devices.clone(), order: self.order.clone(), makespan: self.makespan }
    }

    /// Makes one change, whatever comes of it: the makespan that its evaluation says.
    #[cfg(test)]
    pub(super) fn make_one(&mut self, random: &mut Random) -> Option<Time> {
        let first = self.change(random)?;
        let begin = first - first % STRIDE;
        let evaluated = self.evaluate(begin, f64::INFINITY);
        self.commit(begin);
        evaluated
    }

    /// Tries `trials` changes. Returns the best schedule met in each of `parts` equal parts, if it is better than those before.
    pub(super) fn run(
        &mut self,
        trials: u64,
        parts: u64,
        cooling: Cooling,
        random: &mut Random,
        stop: &StopToken,
    ) -> Vec<Schedule> {
        let forward = self.problem.forward();
        let (mut best, mut best_order) = ((self.makespan, self.devices.clone()), self.order.clone());
        let mut found: Vec<Schedule> = Vec::new();
        let (mut noted, mut accepted) = (f64::INFINITY, 0u64);
        for trial in 0..trials {
            if stop.is_stopped() {
                break;
            }
            let limit = cooling.limit(self.makespan, trial as f64 / trials as f64, random);
            if let Some(first) = self.change(random) {
                let begin = first - first % STRIDE;
                if self.evaluate(begin, limit).is_some() {
                    self.commit(begin);
                    accepted += 1;
                    if accepted.is_multiple_of(RESORT) {
                        self.sort_again();
                    }
                    if self.makespan < best.0 {
                        best.0 = self.makespan;
                        best.1.copy_from_slice(&self.devices);
                        best_order.copy_from_slice(&self.order);
                    }
                } else {
                    self.undo();
                }
            }
            if (trial + 1) * parts / trials > trial * parts / trials && best.0 < noted {
                noted = best.0;
                found.push(Schedule::new(forward, best.1.clone(), best_order.clone()));
            }
        }
        // It may have been told to stop within a part.
        if best.0 < noted {
            found.push(Schedule::new(forward, best.1, best_order));
        }
        found
    }

    /// The devices after a change of the schedule at hand that lengthens it, by the estimate, by no more than a share `slack` of the
    /// makespan on the mean; `None` if `draws` changes have none.
    pub(super) fn neighbour(&mut self, draws: usize, slack: f64, random: &mut Random) -> Option<Vec<u32>> {
        for _ in 0..draws {
            let limit = self.makespan * (1.0 + slack * random.exponential());
            let Some(first) = self.change(random) else { continue };
            let is_good = self.evaluate(first - first % STRIDE, limit).is_some();
            let found = is_good.then(|| self.devices.clone());
            self.undo();
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Goes on from other devices.
    pub(super) fn adopt(&mut self, devices: &[u32]) {
        self.devices.copy_from_slice(devices);
        self.memory = Memory::of(self.problem, devices);
        self.commit_all();
        self.sort_again();
    }

    /// Sorts ops by when they start, or as devices would dispatch them by their longest path; what is better stays.
    fn sort_again(&mut self) {
        let before = self.makespan;
        let old = self.order.clone();
        let (finish, starts) = (&self.finish, &self.starts);
        let by_finish = sorted_by(self.order.iter().copied(), |op| finish[op as usize]);
        self.order = sorted_by(by_finish.into_iter(), |op| starts[op as usize]);
        self.commit_all();
        let (sorted, by_start) = (self.makespan, self.order.clone());
        self.order = Schedule::of_devices(self.problem, self.devices.clone()).order;
        self.commit_all();
        if self.makespan > sorted.min(before) {
            self.order = if sorted <= before { by_start } else { old };
            self.commit_all();
        }
    }

    /// Moves units; the first position that it touches, or `None` if nothing changes.
    fn change(&mut self, random: &mut Random) -> Option<usize> {
        let problem = self.problem;
        let op = self.draw(random);
        self.set.clear();
        if random.below(3) == 0 {
            self.set.push(problem.units[op as usize]);
        } else {
            self.region.grow(problem, op, random, &mut self.set);
        }
        let target = draw_target(problem, &self.devices, op, random);
        self.moved.clear();
        let mut first = usize::MAX;
        let mut fits = true;
        let set = std::mem::take(&mut self.set);
        for &unit in &set {
            let members = problem.members(unit);
            let from = self.devices[members[0].index()];
            if from == target || problem.allowed(unit).binary_search(&target).is_err() {
                continue;
            }
            fits &= self.memory.fits(problem, unit, target);
            self.memory.shift(problem, unit, from, target);
            self.moved.push((unit, from));
            for member in members {
                self.devices[member.index()] = target;
                first = first.min(self.position[member.index()] as usize);
            }
        }
        self.set = set;
        if !fits {
            self.undo();
            return None;
        }
        (first < usize::MAX).then_some(first)
    }

    /// Takes the change back.
    fn undo(&mut self) {
        for (unit, from) in std::mem::take(&mut self.moved).into_iter().rev() {
            let members = self.problem.members(unit);
            self.memory.shift(self.problem, unit, self.devices[members[0].index()], from);
            members.iter().for_each(|member| self.devices[member.index()] = from);
        }
    }

    /// An op that others wait for, sometimes any.
    fn draw(&mut self, random: &mut Random) -> u32 {
        if random.below(8) == 0 {
            return random.below(self.problem.ops) as u32;
        }
        if self.critical.is_empty() {
            let mut op = self.last;
            // Chains of blame lead back in the order.
            while op != NONE {
                self.critical.push(op);
                op = self.blame[op as usize];
            }
        }
        match self.critical.len() {
            // Nothing takes time.
            0 => random.below(self.problem.ops) as u32,
            count => self.critical[random.below(count)],
        }
    }
}
