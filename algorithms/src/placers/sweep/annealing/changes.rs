//! Changes of a schedule: what moves where, and the window of the order that it concerns.

use placebench_datasets::Time;

use super::{Annealing, Change};
use crate::placers::sweep::moves::draw_target;
use crate::placers::sweep::random::Random;

/// The most devices that a set of units tries.
const MOST_TARGETS: usize = 8;

/// How many units are asked to make room for one that finds no memory.
const EXCHANGES: usize = 12;

/// A window of more ops than this is not evaluated.
const MOST_WINDOW: usize = 20_000;

impl Annealing<'_> {
    /// The op and its ancestors in the window before the op that its device executes before it.
    pub(super) fn swap(&mut self, op: u32) -> Option<(Change, Option<Vec<u32>>)> {
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
    pub(super) fn shift(&mut self, op: u32, random: &mut Random) -> Option<(Change, Option<Vec<u32>>)> {
        let own = self.devices[op as usize];
        let target = if self.set.len() == 1 && random.below(2) == 0 {
            self.best_by_estimate(op, self.problem.allowed(self.problem.units[op as usize]), random)?
        } else {
            draw_target(self.problem, &self.devices, op, random)
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
}
