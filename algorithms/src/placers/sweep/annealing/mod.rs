//! Annealing on critical ops: changes that sweeps cannot make, each evaluated on its window of the order alone.
//!
//! A change touches the ops between the first and the last position that it involves. Before this window finish times stay,
//! behind it tails stay, so the longest path through the window is exact without looking at anything else. [`changes`] draws a
//! change, [`window`] evaluates it and makes it.

mod changes;
mod window;

use placebench_datasets::Time;

use super::cooling::Cooling;
use super::memory::Memory;
use super::moves::Region;
use super::problem::Problem;
use super::random::Random;
use super::schedule::{Schedule, sorted_by};
use crate::StopToken;

/// A schedule under annealing, with all that follows from it.
pub(super) struct Annealing<'p> {
    problem: &'p Problem<'p>,
    devices: Vec<u32>,
    order: Vec<u32>,
    position: Vec<u32>,
    finish: Vec<Time>,
    tails: Vec<Time>,
    /// The ops of each device in the order in which it executes them.
    rows: Vec<Vec<u32>>,
    memory: Memory,
    makespan: Time,
    best: Schedule,
    /// Ops on longest paths.
    critical: Vec<u32>,
    // Of the change at hand:
    /// For each op, the number of the trial that last moved or evaluated it, and where it moved.
    moved_in: Vec<u32>,
    moved_to: Vec<u32>,
    seen_in: Vec<u32>,
    trial_finish: Vec<Time>,
    trial: u32,
    /// For each device, the last op evaluated there in this trial.
    last: Vec<(u32, Time)>,
    /// For each position, whether its op is to be computed again.
    dirty: Vec<bool>,
    /// Time that each op takes where it is.
    exec: Vec<Time>,
    region: Region,
    set: Vec<u32>,
    /// Edges looked at.
    pub(super) work: u64,
    pub(super) tried: u64,
    pub(super) accepted: u64,
}

/// A change of the schedule.
struct Change {
    /// Whether ops move to another device.
    moves: bool,
    /// The window, as positions.
    low: usize,
    high: usize,
}

impl<'p> Annealing<'p> {
    pub(super) fn new(problem: &'p Problem<'p>, schedule: &Schedule) -> Self {
        let ops = problem.ops;
        let mut annealing = Self {
            problem,
            devices: schedule.devices.clone(),
            order: schedule.order.clone(),
            position: vec![0; ops],
            finish: vec![0.0; ops],
            tails: vec![0.0; ops],
            rows: vec![Vec::new(); problem.devices],
            memory: Memory::of(problem, &schedule.devices),
            makespan: 0.0,
            best: schedule.clone(),
            critical: Vec::new(),
            moved_in: vec![0; ops],
            moved_to: vec![0; ops],
            seen_in: vec![0; ops],
            trial_finish: vec![0.0; ops],
            trial: 0,
            last: vec![(0, 0.0); problem.devices],
            dirty: vec![false; ops],
            exec: vec![0.0; ops],
            region: Region::new(problem),
            set: Vec::new(),
            work: 0,
            tried: 0,
            accepted: 0,
        };
        annealing.rebuild();
        annealing
    }

    /// The schedule as it is now.
    #[cfg(test)]
    pub(super) fn present(&self) -> Schedule {
        Schedule { devices: self.devices.clone(), order: self.order.clone(), makespan: self.makespan }
    }

    /// Finish times and tails as they are now.
    #[cfg(test)]
    pub(super) fn times(&self) -> (&[Time], &[Time]) {
        (&self.finish, &self.tails)
    }

    /// The best schedule met.
    pub(super) fn finish(self) -> Schedule {
        self.best
    }

    /// Computes all that follows from devices and order.
    fn rebuild(&mut self) {
        let (forward, backward) = (self.problem.forward(), self.problem.backward());
        self.makespan = forward.finish_times(&self.devices, self.order.iter().copied(), &mut self.finish);
        backward.finish_times(&self.devices, self.order.iter().rev().copied(), &mut self.tails);
        self.rows.iter_mut().for_each(Vec::clear);
        for (position, &op) in self.order.iter().enumerate() {
            self.position[op as usize] = position as u32;
            self.rows[self.devices[op as usize] as usize].push(op);
            self.exec[op as usize] = self.problem.exec(op as usize, self.devices[op as usize]);
        }
        self.work += 4 * self.problem.ops as u64;
        self.critical.clear();
        self.note();
    }

    /// Notes the schedule if it is the best.
    fn note(&mut self) {
        if self.makespan < self.best.makespan {
            self.best.devices.copy_from_slice(&self.devices);
            self.best.order.copy_from_slice(&self.order);
            self.best.makespan = self.makespan;
            self.work += self.problem.ops as u64 / 8;
        }
    }

    fn is_critical(&self, op: u32) -> bool {
        let op = op as usize;
        self.finish[op] + self.tails[op] - self.exec[op] >= self.makespan * (1.0 - 1e-7)
    }

    /// How many ops that take time are on longest paths.
    pub(super) fn steps(&self) -> usize {
        let counts = |&op: &u32| self.is_critical(op) && self.exec[op as usize] > 0.0;
        (0..self.problem.ops as u32).filter(counts).count().max(1)
    }

    /// An op on a longest path.
    fn draw_critical(&mut self, random: &mut Random) -> Option<u32> {
        if !self.critical.is_empty() {
            let op = self.critical[random.below(self.critical.len())];
            if self.is_critical(op) {
                return Some(op);
            }
        }
        let mut critical = std::mem::take(&mut self.critical);
        critical.clear();
        critical.extend((0..self.problem.ops as u32).filter(|&op| self.is_critical(op)));
        self.critical = critical;
        self.work += self.problem.ops as u64 / 4;
        (!self.critical.is_empty()).then(|| self.critical[random.below(self.critical.len())])
    }

    /// Tries changes until that amount of work is done; whose share of all says how cool it is.
    pub(super) fn run(&mut self, work: u64, cooling: Cooling, random: &mut Random, stop: &StopToken) {
        let begun = self.work;
        while self.work - begun < work {
            self.tried += 1;
            if self.tried.is_multiple_of(256) && stop.is_stopped() {
                return;
            }
            self.work += 8;
            let spent = (self.work - begun) as f64 / work as f64;
            let limit = cooling.limit(self.makespan, spent, random);
            let Some(op) = self.draw_critical(random) else { return };
            self.trial += 1;
            let change = match random.below(100) {
                0..25 => self.swap(op),
                25..55 => {
                    self.set.clear();
                    self.set.push(self.problem.units[op as usize]);
                    self.shift(op, random)
                }
                _ => {
                    let mut set = std::mem::take(&mut self.set);
                    self.work += self.region.grow(self.problem, op, random, &mut set);
                    self.set = set;
                    self.shift(op, random)
                }
            };
            let Some((change, order)) = change else { continue };
            if self.evaluate(&change, order.as_deref(), limit).is_none() {
                continue;
            }
            self.apply(&change, order);
            self.accepted += 1;
            if self.accepted.is_multiple_of(50) {
                self.sort_again();
            }
        }
    }

    /// Sorts the order by finish times and what then follows, first backward and then forward: what is free to start earlier
    /// does.
    fn sort_again(&mut self) {
        let tails = &self.tails;
        self.order = sorted_by(self.order.iter().copied(), |op| -tails[op as usize]);
        self.rebuild();
        let finish = &self.finish;
        self.order = sorted_by(self.order.iter().copied(), |op| finish[op as usize]);
        self.rebuild();
    }

    /// When a device is free after what it executes before a position.
    fn free_before(&self, device: u32, position: u32) -> Time {
        let row = &self.rows[device as usize];
        let at = row.partition_point(|&other| self.position[other as usize] < position);
        if at == 0 { 0.0 } else { self.finish[row[at - 1] as usize] }
    }

    /// The tail of what a device executes after a position.
    fn tail_after(&self, device: u32, position: u32) -> Time {
        let row = &self.rows[device as usize];
        let at = row.partition_point(|&other| self.position[other as usize] <= position);
        row.get(at).map_or(0.0, |&next| self.tails[next as usize])
    }

    /// The place in a device's row of the first op that is not before a position.
    fn row_at(&self, device: u32, position: u32) -> usize {
        self.rows[device as usize].partition_point(|&other| self.position[other as usize] < position)
    }
}
