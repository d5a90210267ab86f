//! The window of a change: the longest path through it, and what follows from making it.

use placebench_datasets::Time;

use super::{Annealing, Change};

impl Annealing<'_> {
    /// The longest path through the window after a change, or `None` if it is longer than the limit.
    pub(super) fn evaluate(&mut self, change: &Change, order: Option<&[u32]>, limit: Time) -> Option<Time> {
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
    pub(super) fn apply(&mut self, change: &Change, order: Option<Vec<u32>>) {
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
