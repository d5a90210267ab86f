//! Sweeps: each op in turn goes where the longest path through it is shortest, all others staying.
//!
//! Ops are visited in the order of their finish times. Behind, finish times are exact, since they depend on earlier ops only;
//! ahead, tails are exact, since they depend on later ops only. So the longest path through the op at hand is known exactly
//! for every device at the cost of its own edges, and moving it never makes the makespan longer.

use placebench_datasets::Time;

use super::memory::Memory;
use super::random::Random;
use super::schedule::{Schedule, sorted_by};
use super::way::Way;

/// With more devices than this an op tries only some.
const ALL_DEVICES: usize = 12;

/// How many devices it then draws beside those of its neighbours.
const DRAWN: usize = 6;

/// A unit of several ops is moved if a path through its first op is at least this share of the makespan.
const CRITICAL: f64 = 0.995;

/// Units of several ops that are moved in one sweep at most.
const MOST_UNITS: usize = 40;

/// How many ops, in multiples of all, a sweep looks at to estimate what moving units does to the ops between theirs.
const STEPS: usize = 4;

/// Exponential noise that is added to path lengths.
pub(super) struct Noise {
    /// Its mean, in time.
    pub(super) temperature: Time,
    pub(super) random: Random,
}

impl Noise {
    #[inline]
    fn draw(&mut self) -> Time {
        if self.temperature > 0.0 { self.temperature * self.random.exponential() } else { 0.0 }
    }
}

/// The arrays of a sweep, kept between sweeps.
pub(super) struct Sweeper {
    finish: Vec<Time>,
    tails: Vec<Time>,
    /// For each op, the next op on its device in the order of the visit.
    next: Vec<Option<u32>>,
    /// For each device, the first op there that is not visited.
    first: Vec<Option<u32>>,
    /// For each device, when it is free.
    free: Vec<Time>,
    /// Whether an op of the unit was visited.
    is_begun: Vec<bool>,
    position: Vec<u32>,
    candidates: Vec<u32>,
    is_candidate: Vec<bool>,
    behind: Vec<Time>,
    ahead: Vec<Time>,
    /// How many more units of several ops this sweep may move, and how many more ops it may look at for that.
    units_left: usize,
    steps_left: usize,
}

impl Sweeper {
    pub(super) fn new(ops: usize, devices: usize) -> Self {
        Self {
            finish: vec![0.0; ops],
            tails: vec![0.0; ops],
            next: vec![None; ops],
            first: vec![None; devices],
            free: vec![0.0; devices],
            is_begun: Vec::new(),
            position: vec![0; ops],
            candidates: Vec::new(),
            is_candidate: vec![false; devices],
            behind: vec![0.0; devices],
            ahead: vec![0.0; devices],
            units_left: 0,
            steps_left: 0,
        }
    }

    /// Visits all ops once in this direction, with noise on path lengths. Without noise the makespan does not rise unless units of several ops move.
    ///
    /// # Complexity
    /// O(ops · log ops + (ops + edges) · devices), with more than [`ALL_DEVICES`] devices per op only its neighbours' and
    /// [`DRAWN`] more; and O(ops + edges) for each unit of several ops that moves.
    pub(super) fn sweep(&mut self, way: Way<'_>, schedule: &mut Schedule, memory: &mut Memory, noise: &mut Noise) {
        let problem = way.problem;
        let makespan = way.finish_times(&schedule.devices, schedule.order.iter().copied(), &mut self.finish);
        way.reversed().finish_times(&schedule.devices, schedule.order.iter().rev().copied(), &mut self.tails);
        let finish = &self.finish;
        schedule.order = sorted_by(schedule.order.iter().copied(), |op| finish[op as usize]);
        for (position, &op) in schedule.order.iter().enumerate() {
            self.position[op as usize] = position as u32;
        }
        self.chain(schedule, 0);
        self.free.fill(0.0);
        self.is_begun.clear();
        self.is_begun.resize(problem.instance.units().count(), false);
        self.units_left = MOST_UNITS;
        self.steps_left = STEPS * problem.ops;
        for at in 0..schedule.order.len() {
            let op = schedule.order[at] as usize;
            let unit = problem.units[op];
            let members = problem.members(unit);
            let mut device = schedule.devices[op];
            if members.len() == 1 {
                self.first[device as usize] = self.next[op];
                device = self.best_device(way, schedule, memory, op, noise);
                if device != schedule.devices[op] {
                    memory.shift(problem, unit, schedule.devices[op], device);
                    schedule.devices[op] = device;
                }
            } else {
                if self.units_left > 0
                    && self.steps_left > 0
                    && !self.is_begun[unit as usize]
                    && self.path_through(way, schedule, op) >= CRITICAL * makespan
                {
                    self.units_left -= 1;
                    let best = self.best_for_unit(way, schedule, memory, unit, noise);
                    if best != device {
                        memory.shift(problem, unit, device, best);
                        members.iter().for_each(|member| schedule.devices[member.index()] = best);
                        device = best;
                        let rest = schedule.order[at..].iter().rev().copied();
                        way.reversed().finish_times(&schedule.devices, rest, &mut self.tails);
                        self.chain(schedule, at);
                    }
                }
                self.first[device as usize] = self.next[op];
            }
            let mut start = self.free[device as usize];
            for &(before, bytes) in way.before.of(op) {
                let from = schedule.devices[before as usize];
                start = start.max(self.finish[before as usize] + way.from.time(from, device, bytes));
            }
            self.finish[op] = start + problem.exec(op, device);
            self.free[device as usize] = self.finish[op];
            self.is_begun[unit as usize] = true;
        }
        schedule.makespan = self.free.iter().copied().fold(0.0, Time::max);
    }

    /// Chains the ops of each device from a position on.
    fn chain(&mut self, schedule: &Schedule, from: usize) {
        self.first.fill(None);
        for &op in schedule.order[from..].iter().rev() {
            let device = schedule.devices[op as usize] as usize;
            self.next[op as usize] = self.first[device].replace(op);
        }
    }

    /// The longest path from the next op that is not visited on a device.
    #[inline]
    fn next_tail(&self, device: u32) -> Time {
        self.first[device as usize].map_or(0.0, |next| self.tails[next as usize])
    }

    /// The longest path through the op at hand where it is.
    fn path_through(&self, way: Way<'_>, schedule: &Schedule, op: usize) -> Time {
        let device = schedule.devices[op];
        let mut start = self.free[device as usize];
        for &(before, bytes) in way.before.of(op) {
            let from = schedule.devices[before as usize];
            start = start.max(self.finish[before as usize] + way.from.time(from, device, bytes));
        }
        start + self.tails[op]
    }

    /// Fills `candidates` with the devices that an op tries, its own first.
    fn choose_candidates(&mut self, way: Way<'_>, schedule: &Schedule, op: usize, random: &mut Random) {
        let allowed = way.problem.allowed(way.problem.units[op]);
        self.candidates.clear();
        if allowed.len() <= ALL_DEVICES {
            self.candidates.extend_from_slice(allowed);
            return;
        }
        let kinds = |device: u32| allowed.binary_search(&device).is_ok();
        let neighbours =
            way.before.of(op).iter().chain(way.after.of(op)).map(|&(other, _)| schedule.devices[other as usize]);
        let drawn: [u32; DRAWN] = std::array::from_fn(|_| allowed[random.below(allowed.len())]);
        for device in std::iter::once(schedule.devices[op]).chain(neighbours).chain(drawn) {
            if !self.is_candidate[device as usize] && kinds(device) {
                self.is_candidate[device as usize] = true;
                self.candidates.push(device);
            }
        }
        self.candidates.iter().for_each(|&device| self.is_candidate[device as usize] = false);
    }

    /// The device on which the longest path through an op, which is no longer chained, is shortest.
    fn best_device(&mut self, way: Way<'_>, schedule: &Schedule, memory: &Memory, op: usize, noise: &mut Noise) -> u32 {
        let problem = way.problem;
        let (unit, own) = (problem.units[op], schedule.devices[op]);
        self.choose_candidates(way, schedule, op, &mut noise.random);
        let count = self.candidates.len();
        if count == 1 {
            return self.candidates[0];
        }
        let (before, after) = (way.before.of(op), way.after.of(op));
        let (behind, ahead) = (&mut self.behind[..count], &mut self.ahead[..count]);
        behind.fill(0.0);
        ahead.fill(0.0);
        for &(other, bytes) in before {
            let (from, finish) = (schedule.devices[other as usize], self.finish[other as usize]);
            for (behind, &device) in behind.iter_mut().zip(&self.candidates) {
                let arrival = finish + way.from.time(from, device, bytes);
                *behind = if arrival > *behind { arrival } else { *behind };
            }
        }
        for &(other, bytes) in after {
            let (to, tail) = (schedule.devices[other as usize], self.tails[other as usize]);
            for (ahead, &device) in ahead.iter_mut().zip(&self.candidates) {
                let path = tail + way.to.time(to, device, bytes);
                *ahead = if path > *ahead { path } else { *ahead };
            }
        }
        let mut best = (f64::INFINITY, own);
        for (at, &device) in self.candidates.iter().enumerate() {
            let start = self.behind[at].max(self.free[device as usize]);
            let rest = self.ahead[at].max(self.next_tail(device));
            let drawn = noise.draw();
            let path = start + problem.exec(op, device) + rest + drawn;
            // Without noise an op stays unless another device is better.
            let is_better = path < best.0 || (path == best.0 && device == own);
            if is_better && (device == own || memory.fits(problem, unit, device)) {
                best = (path, device);
            }
        }
        best.1
    }

    /// The device on which the longest path through any op of a unit, or through an op that it delays there, is shortest.
    fn best_for_unit(
        &mut self,
        way: Way<'_>,
        schedule: &Schedule,
        memory: &Memory,
        unit: u32,
        noise: &mut Noise,
    ) -> u32 {
        let problem = way.problem;
        let members = problem.members(unit);
        let own = schedule.devices[members[0].index()];
        let mut order: Vec<u32> = members.iter().map(|member| member.0).collect();
        order.sort_unstable_by_key(|&member| self.position[member as usize]);
        let old: Vec<Time> = order.iter().map(|&member| self.finish[member as usize]).collect();
        let mut best = (f64::INFINITY, own);
        for &device in problem.allowed(unit) {
            if device != own && !memory.fits(problem, unit, device) {
                continue;
            }
            let longest = self.unit_path(way, schedule, &order, unit, device);
            let drawn = noise.draw();
            let path = longest + drawn;
            if path < best.0 || (path == best.0 && device == own) {
                best = (path, device);
            }
            for (&member, &finish) in order.iter().zip(&old) {
                self.finish[member as usize] = finish;
            }
        }
        best.1
    }

    /// The longest path through a unit on a device: its ops and those of the device between them run in the order of the
    /// visit, all other ops finish when they did. Overwrites the finish times of the unit's ops.
    fn unit_path(&mut self, way: Way<'_>, schedule: &Schedule, order: &[u32], unit: u32, device: u32) -> Time {
        let problem = way.problem;
        let mut free = self.free[device as usize];
        let mut chained = self.first[device as usize];
        let mut longest: Time = 0.0;
        for &member in order {
            let member = member as usize;
            while let Some(other) = chained.filter(|&other| self.position[other as usize] < self.position[member]) {
                chained = self.next[other as usize];
                if problem.units[other as usize] == unit {
                    continue;
                }
                let exec = problem.exec(other as usize, device);
                let start = (self.finish[other as usize] - exec).max(free);
                longest = longest.max(start + self.tails[other as usize]);
                free = start + exec;
                self.steps_left = self.steps_left.saturating_sub(1);
            }
            let mut start = free;
            for &(before, bytes) in way.before.of(member) {
                let is_mate = problem.units[before as usize] == unit;
                let from = if is_mate { device } else { schedule.devices[before as usize] };
                start = start.max(self.finish[before as usize] + way.from.time(from, device, bytes));
            }
            let exec = problem.exec(member, device);
            let finish = start + exec;
            let mut rest: Time = 0.0;
            for &(after, bytes) in way.after.of(member) {
                if problem.units[after as usize] != unit {
                    let to = schedule.devices[after as usize];
                    rest = rest.max(self.tails[after as usize] + way.to.time(to, device, bytes));
                }
            }
            longest = longest.max(finish + rest);
            self.finish[member] = finish;
            free = finish;
            self.steps_left = self.steps_left.saturating_sub(1);
        }
        while let Some(other) = chained {
            if problem.units[other as usize] != unit {
                longest = longest.max(free + self.tails[other as usize]);
                break;
            }
            chained = self.next[other as usize];
        }
        longest
    }
}
