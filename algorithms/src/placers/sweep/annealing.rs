//! Annealing on critical ops: changes that sweeps cannot make, each evaluated on its window of the order alone.
//!
//! A change touches the ops between the first and the last position that it involves. Before this window finish times stay,
//! behind it tails stay, so the longest path through the window is exact without looking at anything else.

use placebench_datasets::Time;

use super::problem::{Memory, Problem};
use super::random::Random;
use super::schedule::Schedule;

/// The most units that move together.
const MOST_TOGETHER: usize = 190;

/// The most devices that a set of units tries.
const MOST_TARGETS: usize = 8;

/// How many units are asked to make room for one that finds no memory.
const EXCHANGES: usize = 12;

/// A window of more ops than this is not evaluated.
const MOST_WINDOW: usize = 20_000;

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
            memory: problem.memory_of(&schedule.devices),
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

    /// Tries changes until so much work is done; the temperature falls geometrically from `hot` to `cold`, in time.
    pub(super) fn run(&mut self, work: u64, hot: Time, cold: Time, random: &mut Random, stop: &crate::StopToken) {
        let begun = self.work;
        while self.work - begun < work {
            self.tried += 1;
            if self.tried.is_multiple_of(256) && stop.is_stopped() {
                return;
            }
            self.work += 8;
            let spent = (self.work - begun) as f64 / work as f64;
            let temperature = hot * libm::pow(cold / hot, spent);
            let limit = self.makespan + temperature * random.exponential();
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
                    self.work += grow(self.problem, op, region_size(random), random, &mut set);
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
        self.order = super::schedule::sorted_by(self.order.iter().copied(), |op| -tails[op as usize]);
        self.rebuild();
        let finish = &self.finish;
        self.order = super::schedule::sorted_by(self.order.iter().copied(), |op| finish[op as usize]);
        self.rebuild();
    }

    /// The op and its ancestors in the window before the op that its device executes before it.
    fn swap(&mut self, op: u32) -> Option<(Change, Option<Vec<u32>>)> {
        let device = self.devices[op as usize] as usize;
        let row = &self.rows[device];
        let at = row.partition_point(|&other| self.position[other as usize] < self.position[op as usize]);
        let other = row[at.checked_sub(1)?];
        let (low, high) = (self.position[other as usize] as usize, self.position[op as usize] as usize);
        if high - low > MOST_WINDOW {
            return None;
        }
        // From behind: what the op waits for.
        self.seen_in[op as usize] = self.trial;
        let (mut first, mut rest) = (Vec::new(), Vec::new());
        for at in (low..=high).rev() {
            let here = self.order[at];
            if self.seen_in[here as usize] == self.trial {
                if here == other {
                    return None;
                }
                first.push(here);
                for &(before, _) in self.problem.forward().before.of(here as usize) {
                    self.seen_in[before as usize] = self.trial;
                    self.work += 1;
                }
            } else {
                rest.push(here);
            }
        }
        rest.append(&mut first);
        rest.reverse();
        Some((Change { moves: false, low, high }, Some(rest)))
    }

    /// All units of the set on one device.
    fn shift(&mut self, op: u32, random: &mut Random) -> Option<(Change, Option<Vec<u32>>)> {
        let way = self.problem.forward();
        let own = self.devices[op as usize];
        let allowed = self.problem.allowed(self.problem.units[op as usize]);
        let target = if self.set.len() == 1 && random.below(2) == 0 {
            self.best_by_estimate(op, allowed, random)?
        } else if random.below(2) == 0 {
            let ends = (way.before.of(op as usize).len(), way.after.of(op as usize).len());
            if ends.0 + ends.1 == 0 {
                return None;
            }
            let drawn = random.below(ends.0 + ends.1);
            let end = if drawn < ends.0 {
                way.before.of(op as usize)[drawn]
            } else {
                way.after.of(op as usize)[drawn - ends.0]
            };
            self.devices[end.0 as usize]
        } else {
            allowed[random.below(allowed.len())]
        };
        if self.set.len() == 1 && target == own {
            return None;
        }
        let (mut low, mut high) = (usize::MAX, 0);
        let mut moved = 0;
        let mut memory_ok = true;
        let set = std::mem::take(&mut self.set);
        for &unit in &set {
            let members = self.problem.members(unit);
            let from = self.devices[members[0].index()];
            if from == target || self.problem.allowed(unit).binary_search(&target).is_err() {
                continue;
            }
            moved += 1;
            memory_ok &= self.memory.fits(self.problem, unit, target);
            self.memory.claim(self.problem, unit, target);
            for member in members {
                (self.moved_in[member.index()], self.moved_to[member.index()]) = (self.trial, target);
                let position = self.position[member.index()] as usize;
                (low, high) = (low.min(position), high.max(position));
            }
        }
        // Claimed for the check of those after it; `apply` claims what moves.
        for &unit in set.iter().filter(|&&unit| self.moved_in[self.problem.members(unit)[0].index()] == self.trial) {
            self.memory.release(self.problem, unit, target);
        }
        self.set = set;
        if moved == 1 && self.set.len() == 1 && !memory_ok {
            let other = self.exchange(self.set[0], own, target, random)?;
            for member in self.problem.members(other) {
                (self.moved_in[member.index()], self.moved_to[member.index()]) = (self.trial, own);
                let position = self.position[member.index()] as usize;
                (low, high) = (low.min(position), high.max(position));
            }
            self.set.push(other);
            memory_ok = true;
        }
        if moved == 0 || !memory_ok || high - low > MOST_WINDOW {
            return None;
        }
        Some((Change { moves: true, low, high }, None))
    }

    /// A unit on the target that may change places with one that finds no memory there.
    fn exchange(&mut self, unit: u32, own: u32, target: u32, random: &mut Random) -> Option<u32> {
        let row = &self.rows[target as usize];
        for _ in 0..EXCHANGES.min(row.len()) {
            let other = self.problem.units[row[random.below(row.len())] as usize];
            self.work += 4;
            if self.problem.allowed(other).binary_search(&own).is_ok()
                && self.memory.can_swap(self.problem, (unit, own), (other, target))
            {
                return Some(other);
            }
        }
        None
    }

    /// The device of the shortest longest path through an op alone, its own left out.
    fn best_by_estimate(&mut self, op: u32, allowed: &[u32], random: &mut Random) -> Option<u32> {
        let way = self.problem.forward();
        let at = op as usize;
        let mut best: Option<(Time, u32)> = None;
        let all = allowed.len() <= MOST_TARGETS;
        for nth in 0..allowed.len().min(MOST_TARGETS) {
            let device = if all { allowed[nth] } else { allowed[random.below(allowed.len())] };
            if device == self.devices[at] {
                continue;
            }
            let mut start = self.free_before(device, self.position[at]);
            for &(before, bytes) in way.before.of(at) {
                let from = self.devices[before as usize];
                start = start.max(self.finish[before as usize] + way.from.time(from, device, bytes));
            }
            let mut rest = self.tail_after(device, self.position[at]);
            for &(after, bytes) in way.after.of(at) {
                let to = self.devices[after as usize];
                rest = rest.max(self.tails[after as usize] + way.to.time(to, device, bytes));
            }
            self.work += (way.before.of(at).len() + way.after.of(at).len() + 4) as u64;
            let path = start + self.problem.exec(at, device) + rest;
            if best.is_none_or(|(least, _)| path < least) {
                best = Some((path, device));
            }
        }
        best.map(|(_, device)| device)
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

    /// The longest path through the window after a change, or `None` if it is longer than the limit.
    fn evaluate(&mut self, change: &Change, order: Option<&[u32]>, limit: Time) -> Option<Time> {
        let way = self.problem.forward();
        let (low, high) = (change.low as u32, change.high as u32);
        let trial = self.trial;
        let in_window = |position: u32| (low..=high).contains(&position);
        let mut longest: Time = 0.0;
        for at in 0..=change.high - change.low {
            let op = order.map_or_else(|| self.order[change.low + at], |order| order[at]);
            let here = op as usize;
            let device_of = |other: u32| match change.moves && self.moved_in[other as usize] == trial {
                true => self.moved_to[other as usize],
                false => self.devices[other as usize],
            };
            let device = device_of(op);
            let (stamp, free) = self.last[device as usize];
            let mut start = if stamp == trial { free } else { self.free_before(device, low) };
            for &(before, bytes) in way.before.of(here) {
                let inside = in_window(self.position[before as usize]);
                let finish = if inside { self.trial_finish[before as usize] } else { self.finish[before as usize] };
                start = start.max(finish + way.from.time(device_of(before), device, bytes));
            }
            let finish = start + self.problem.exec(here, device);
            let mut rest: Time = 0.0;
            for &(after, bytes) in way.after.of(here) {
                if !in_window(self.position[after as usize]) {
                    rest = rest.max(self.tails[after as usize] + way.from.time(device, device_of(after), bytes));
                }
            }
            self.work += 2 + (way.before.of(here).len() + way.after.of(here).len()) as u64;
            longest = longest.max(finish + rest);
            if longest > limit {
                return None;
            }
            self.trial_finish[here] = finish;
            self.last[device as usize] = (trial, finish);
        }
        for device in 0..self.problem.devices as u32 {
            let (stamp, free) = self.last[device as usize];
            if stamp == trial {
                longest = longest.max(free + self.tail_after(device, high));
            }
        }
        (longest <= limit).then_some(longest)
    }

    /// Makes a change, and brings finish times and tails up to date.
    fn apply(&mut self, change: &Change, order: Option<Vec<u32>>) {
        let (low, high) = (change.low, change.high);
        for at in low..=high {
            self.touch_ends(self.order[at], low, high);
        }
        if change.moves {
            let set = std::mem::take(&mut self.set);
            for &unit in &set {
                let members = self.problem.members(unit);
                if self.moved_in[members[0].index()] != self.trial {
                    continue;
                }
                let (from, target) = (self.devices[members[0].index()], self.moved_to[members[0].index()]);
                self.memory.shift(self.problem, unit, from, target);
                for member in members {
                    let op = member.0;
                    let position = self.position[member.index()];
                    let at = self.row_at(from, position);
                    self.rows[from as usize].remove(at);
                    let at = self.row_at(target, position);
                    self.rows[target as usize].insert(at, op);
                    self.devices[member.index()] = target;
                    self.exec[member.index()] = self.problem.exec(member.index(), target);
                    self.touch_neighbours(op);
                }
            }
            self.set = set;
        }
        if let Some(order) = order {
            self.reorder(low, &order);
        }
        for at in low..=high {
            self.touch_ends(self.order[at], low, high);
        }
        self.dirty[low..=high].fill(true);
        self.update(low, high);
    }

    /// The place in a device's row of the first op that is not before a position.
    fn row_at(&self, device: u32, position: u32) -> usize {
        self.rows[device as usize].partition_point(|&other| self.position[other as usize] < position)
    }

    /// Marks the ops around a window that an op's device executes next to it.
    fn touch_ends(&mut self, op: u32, low: usize, high: usize) {
        let device = self.devices[op as usize];
        let (before, after) = (self.row_at(device, low as u32), self.row_at(device, high as u32 + 1));
        let row = &self.rows[device as usize];
        if let Some(&other) = before.checked_sub(1).and_then(|at| row.get(at)) {
            self.dirty[self.position[other as usize] as usize] = true;
        }
        if let Some(&other) = row.get(after) {
            self.dirty[self.position[other as usize] as usize] = true;
        }
    }

    /// Marks the ops at the other ends of an op's edges.
    fn touch_neighbours(&mut self, op: u32) {
        let way = self.problem.forward();
        for &(other, _) in way.before.of(op as usize).iter().chain(way.after.of(op as usize)) {
            self.dirty[self.position[other as usize] as usize] = true;
        }
    }

    /// Puts the ops of the window that begins at `low` in another order.
    fn reorder(&mut self, low: usize, order: &[u32]) {
        // Each device has the same ops in the window as before: its part of the row is written again.
        self.trial += 1;
        for (at, &op) in order.iter().enumerate() {
            let device = self.devices[op as usize];
            let (stamp, next) = self.last[device as usize];
            let next = if stamp == self.trial { next as usize } else { self.row_at(device, low as u32) };
            // Only rows that are not rewritten yet are searched, by positions that are still old.
            self.rows[device as usize][next] = op;
            self.last[device as usize] = (self.trial, (next + 1) as Time);
            self.order[low + at] = op;
        }
        for (at, &op) in order.iter().enumerate() {
            self.position[op as usize] = (low + at) as u32;
        }
    }

    /// Computes again what is marked, and what depends on it.
    fn update(&mut self, low: usize, high: usize) {
        let way = self.problem.forward();
        // Marks of ops before the window concern tails only, and behind it finish times only; each scan clears its own.
        let mut again = std::mem::take(&mut self.dirty);
        let mut backward: Vec<u32> = Vec::new();
        for at in low..self.order.len() {
            if at <= high {
                backward.push(at as u32);
            }
            if !std::mem::replace(&mut again[at], false) {
                continue;
            }
            let op = self.order[at] as usize;
            let device = self.devices[op];
            let mut start = self.free_before(device, at as u32);
            for &(before, bytes) in way.before.of(op) {
                let from = self.devices[before as usize];
                start = start.max(self.finish[before as usize] + way.from.time(from, device, bytes));
            }
            self.work += 2 + way.before.of(op).len() as u64;
            let finish = start + self.exec[op];
            if finish != self.finish[op] {
                self.finish[op] = finish;
                for &(after, _) in way.after.of(op) {
                    again[self.position[after as usize] as usize] = true;
                }
                let next = self.row_at(device, at as u32 + 1);
                if let Some(&next) = self.rows[device as usize].get(next) {
                    again[self.position[next as usize] as usize] = true;
                }
            }
        }
        backward.into_iter().for_each(|at| again[at as usize] = true);
        for at in (0..=high).rev() {
            if !std::mem::replace(&mut again[at], false) {
                continue;
            }
            let op = self.order[at] as usize;
            let device = self.devices[op];
            let mut rest = self.tail_after(device, at as u32);
            for &(after, bytes) in way.after.of(op) {
                let to = self.devices[after as usize];
                rest = rest.max(self.tails[after as usize] + way.from.time(device, to, bytes));
            }
            self.work += 2 + way.after.of(op).len() as u64;
            let tail = rest + self.exec[op];
            if tail != self.tails[op] {
                self.tails[op] = tail;
                for &(before, _) in way.before.of(op) {
                    again[self.position[before as usize] as usize] = true;
                }
                let before = self.row_at(device, at as u32);
                if let Some(&before) = before.checked_sub(1).and_then(|at| self.rows[device as usize].get(at)) {
                    again[self.position[before as usize] as usize] = true;
                }
            }
        }
        self.work += self.order.len() as u64 / 8;
        self.dirty = again;
        let last = |row: &Vec<u32>| row.last().map_or(0.0, |&op| self.finish[op as usize]);
        self.makespan = self.rows.iter().map(last).fold(0.0, Time::max);
        self.note();
    }
}

/// How many units move together: mostly few, sizes of equal chances by their logarithm.
pub(super) fn region_size(random: &mut Random) -> usize {
    let size = libm::exp(random.unit() * libm::log(MOST_TOGETHER as f64 / 2.0)) * 2.0;
    (size as usize).clamp(2, MOST_TOGETHER)
}

/// A connected set of units around an op, grown along the edges that take longest. Returns how many edges it looked at.
pub(super) fn grow(problem: &Problem<'_>, op: u32, size: usize, random: &mut Random, set: &mut Vec<u32>) -> u64 {
    let mut work = 0;
    set.clear();
    let mut queue = std::collections::BinaryHeap::new();
    queue.push((u64::MAX, problem.units[op as usize]));
    let way = problem.forward();
    while let Some((_, unit)) = queue.pop() {
        if set.contains(&unit) {
            continue;
        }
        set.push(unit);
        if set.len() >= size {
            break;
        }
        for member in problem.members(unit) {
            let ends = way.before.of(member.index()).iter().chain(way.after.of(member.index()));
            for &(other, bytes) in ends {
                let other_unit = problem.units[other as usize];
                // Disturbed by up to a factor of four, so that sets differ. Bits of positive numbers order as they do.
                let time = problem.average.latency + bytes * problem.average.inverse_rate;
                queue.push(((time * (1.0 + 3.0 * random.unit())).to_bits(), other_unit));
                work += 2;
            }
        }
        if queue.len() > 4096 {
            break;
        }
    }
    work
}
