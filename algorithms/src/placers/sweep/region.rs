//! Connected sets of units that move together.

use std::collections::BinaryHeap;

use super::problem::Problem;
use super::random::Random;

/// The most units that move together.
const MOST_TOGETHER: usize = 190;

/// How many units move together: mostly few, sizes of equal chances by their logarithm.
pub(super) fn region_size(random: &mut Random) -> usize {
    let size = libm::exp(random.unit() * libm::log(MOST_TOGETHER as f64 / 2.0)) * 2.0;
    (size as usize).clamp(2, MOST_TOGETHER)
}

/// A connected set of units around an op, grown along the edges that take longest. Returns how many edges it looked at.
pub(super) fn grow(problem: &Problem<'_>, op: u32, size: usize, random: &mut Random, set: &mut Vec<u32>) -> u64 {
    let mut work = 0;
    set.clear();
    let mut queue = BinaryHeap::new();
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
