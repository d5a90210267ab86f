//! Remembers nodes and recognises those that cannot become better than one seen before.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::problem::Problem;
use super::state::State;

/// Nodes by the set of their ops, each as numbers that are the better the smaller.
///
/// A node is dominated if another of the same ops, whose units in the making are on the same devices, has none of these
/// numbers larger: when each device can start something, when the inputs of each unscheduled op are on each device, bytes
/// used. Whatever continues the one continues the other at least as well. What is earlier than the device can start makes
/// no difference and is rounded up to that. Times are stored as their bits, which for numbers ≥ 0 are in the same order.
#[derive(Debug, Default)]
pub(super) struct Dominance {
    known: HashMap<u64, Vec<u64>, BuildHasherDefault<Mix>>,
    numbers: Vec<u64>,
    stored: usize,
}

/// Numbers stored at most: 64 MiB.
const MOST_STORED: usize = 1 << 23;

/// Nodes stored at most for a set of ops; the comparison is linear in them.
const MOST_NODES: usize = 1 << 10;

impl Dominance {
    /// Whether a node is dominated by one that was asked about before; if not, it is remembered.
    pub(super) fn is_dominated(&mut self, problem: &Problem, state: &State) -> bool {
        let fixed = self.describe(problem, state);
        let (width, new) = (self.numbers.len(), &self.numbers[..]);
        let known = self.known.entry(state.done).or_default();
        let mut at = 0;
        while at < known.len() {
            let old = &mut known[at..at + width];
            let (mut old_is_better, mut new_is_better) = (true, true);
            for (&old, &new) in old[fixed..].iter().zip(&new[fixed..]) {
                old_is_better &= old <= new;
                new_is_better &= new <= old;
            }
            if (old_is_better || new_is_better) && old[..fixed] == new[..fixed] {
                if old_is_better {
                    return true;
                }
                let last = known.len() - width;
                known.copy_within(last.., at);
                known.truncate(last);
                self.stored -= width;
                continue;
            }
            at += width;
        }
        if self.stored + width <= MOST_STORED && known.len() < MOST_NODES * width {
            known.extend_from_slice(new);
            self.stored += width;
        }
        false
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.known.clear();
        self.stored = 0;
    }

    /// Writes a node's numbers, and returns how many of the first have to be equal. Which numbers there are depends on the set of
    /// its ops only.
    fn describe(&mut self, problem: &Problem, state: &State) -> usize {
        let numbers = &mut self.numbers;
        numbers.clear();
        for (unit, &members) in problem.members.iter().enumerate() {
            if let Some(device) = state.device_of_unit[unit]
                && members & !state.done != 0
            {
                numbers.push(device as u64);
            }
        }
        let fixed = numbers.len();
        numbers.extend((0..problem.devices).map(|device| state.available(device).to_bits()));
        for op in (0..problem.ops).filter(|&op| !state.is_done(op)) {
            if problem.inputs[op].iter().all(|arc| !state.is_done(arc.op)) {
                continue;
            }
            let ready = |device: usize| state.ready[op * problem.devices + device].max(state.available(device));
            match state.device_of_unit[problem.unit[op]] {
                Some(device) => numbers.push(ready(device).to_bits()),
                None => numbers.extend(
                    (0..problem.devices)
                        .filter(|&device| problem.time(op, device) < f64::INFINITY)
                        .map(|device| ready(device).to_bits()),
                ),
            }
        }
        if problem.memory.is_some() {
            numbers.extend_from_slice(&state.used);
        }
        fixed
    }
}

/// A hash of one word: a multiplication, its high bits folded in.
#[derive(Debug, Default)]
struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let product = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
