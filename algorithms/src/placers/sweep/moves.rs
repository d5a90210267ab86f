//! What annealing moves: a connected set of units, and the device that it goes to.

use std::collections::BinaryHeap;

use super::problem::Problem;
use super::random::Random;

/// The most units that move together,
const MOST_TOGETHER: usize = 190;

/// and which share of all units.
const SHARE_TOGETHER: usize = 4;

/// A set is complete when more edges than this lead out of it.
const MOST_WAITING: usize = 4096;

/// The device of an op that an op exchanges tensors with, in half of the cases, or any that it may run on.
pub(super) fn draw_target(problem: &Problem<'_>, devices: &[u32], op: u32, random: &mut Random) -> u32 {
    let way = problem.forward();
    let (before, after) = (way.before.of(op as usize), way.after.of(op as usize));
    let ends = before.len() + after.len();
    if ends > 0 && random.below(2) > 0 {
        let drawn = random.below(ends);
        let end = if drawn < before.len() { before[drawn] } else { after[drawn - before.len()] };
        return devices[end.0 as usize];
    }
    let allowed = problem.allowed(problem.units[op as usize]);
    allowed[random.below(allowed.len())]
}

/// Grows connected sets of units.
pub(super) struct Region {
    /// For each unit, the number of the set that it was last part of.
    member_of: Vec<u32>,
    number: u32,
    /// Units next to the set, by how long an edge to them takes.
    queue: BinaryHeap<(u64, u32)>,
}

impl Region {
    pub(super) fn new(problem: &Problem<'_>) -> Self {
        Self { member_of: vec![0; problem.instance.units().ids().len()], number: 0, queue: BinaryHeap::new() }
    }

    /// Fills `set` with a connected set of units around an op. Returns twice the number of edges that it
    /// looked at.
    ///
    /// Sets are grown along the edges that take longest. They are mostly small: sizes of equal chances by their logarithm.
    pub(super) fn grow(&mut self, problem: &Problem<'_>, op: u32, random: &mut Random, set: &mut Vec<u32>) -> u64 {
        let most = (self.member_of.len() / SHARE_TOGETHER).clamp(4, MOST_TOGETHER);
        let size = libm::exp(random.unit() * libm::log(most as f64 / 2.0)) * 2.0;
        let size = (size as usize).clamp(2, most);
        let mut work = 0;
        self.number += 1;
        set.clear();
        self.queue.clear();
        self.queue.push((u64::MAX, problem.units[op as usize]));
        let way = problem.forward();
        while let Some((_, unit)) = self.queue.pop() {
            if std::mem::replace(&mut self.member_of[unit as usize], self.number) == self.number {
                continue;
            }
            set.push(unit);
            if set.len() >= size || self.queue.len() > MOST_WAITING {
                break;
            }
            for member in problem.members(unit) {
                let ends = way.before.of(member.index()).iter().chain(way.after.of(member.index()));
                for &(other, bytes) in ends {
                    let other_unit = problem.units[other as usize];
                    work += 2;
                    if self.member_of[other_unit as usize] == self.number {
                        continue;
                    }
                    // Disturbed by up to a factor of four, so that sets differ. Bits of positive numbers order as they do.
                    let time = problem.average.latency + bytes * problem.average.inverse_rate;
                    self.queue.push(((time * (1.0 + 3.0 * random.unit())).to_bits(), other_unit));
                }
            }
        }
        work
    }
}
