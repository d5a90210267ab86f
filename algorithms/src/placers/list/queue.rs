//! The ready ops of one device, the best pair first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::rc::Rc;

use placebench_datasets::Time;

use crate::total::Total;

/// An op and its value on the device: the start there plus an addend that does not change. Less is better; ties go to
/// the lower position in the order of priorities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) value: Time,
    pub(super) position: u32,
    pub(super) start: Time,
}

/// An op whose inputs were not there yet when the device was looked at. The greatest is the best, as the heap wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pending {
    /// The value if the op starts as soon as its inputs are there.
    value: Reverse<Total>,
    position: Reverse<u32>,
    ready: Total,
}

/// An op that can start when the device is idle. The greatest is the best, as the heap wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Available {
    addend: Reverse<Total>,
    position: Reverse<u32>,
}

impl Available {
    fn new(addend: Time, position: u32) -> Self {
        Self { addend: Reverse(Total(addend)), position: Reverse(position) }
    }
}

/// What may start on one device, in two heaps: the ops whose inputs arrive later than the device is idle, by their value
/// then, and the others, by their addend: they start when the device is idle. As time passes on the device each op moves
/// once from the first to the second. Ops that are there from the beginning come as a sorted list, which devices share:
/// graphs with tens of thousands of sources are common, and a heap with all of them for each device would be slow.
///
/// Ops that became invalid stay until they come up.
#[derive(Debug, Default)]
pub(super) struct DeviceQueue {
    pending: BinaryHeap<Pending>,
    available: BinaryHeap<Available>,
    /// Positions by addend, then by position.
    first: Rc<[u32]>,
    /// How many of `first` came up already.
    passed: usize,
}

impl DeviceQueue {
    /// A queue of ops that can start at once: positions by addend, then by position.
    pub(super) fn new(first: Rc<[u32]>) -> Self {
        Self { first, ..Self::default() }
    }

    /// Adds an op whose inputs are there at `ready`, and returns it as a candidate.
    ///
    /// # Complexity
    /// O(log ops).
    pub(super) fn push(&mut self, ready: Time, addend: Time, position: u32, idle_from: Time) -> Candidate {
        if ready <= idle_from {
            self.available.push(Available::new(addend, position));
            return Candidate { value: idle_from + addend, position, start: idle_from };
        }
        let value = ready + addend;
        self.pending.push(Pending { value: Reverse(Total(value)), position: Reverse(position), ready: Total(ready) });
        Candidate { value, position, start: ready }
    }

    /// The best op if the device is idle from `idle_from` on, which never falls. It stays in the queue until it is
    /// invalid.
    ///
    /// # Complexity
    /// O(log ops) amortised over pushes.
    pub(super) fn best(
        &mut self,
        idle_from: Time,
        addend: impl Fn(u32) -> Time,
        valid: impl Fn(u32) -> bool,
    ) -> Option<Candidate> {
        loop {
            while self.available.peek().is_some_and(|top| !valid(top.position.0)) {
                self.available.pop();
            }
            while self.first.get(self.passed).is_some_and(|&position| !valid(position)) {
                self.passed += 1;
            }
            let first = self.first.get(self.passed).map(|&position| Available::new(addend(position), position));
            let now = self.available.peek().copied().max(first).map(|best| Candidate {
                value: idle_from + best.addend.0.0,
                position: best.position.0,
                start: idle_from,
            });
            let Some(&Pending { value: Reverse(Total(value)), position: Reverse(position), ready: Total(ready) }) =
                self.pending.peek()
            else {
                return now;
            };
            if !valid(position) {
                self.pending.pop();
            } else if ready > idle_from {
                let later = Candidate { value, position, start: ready };
                return Some(now.filter(|now| now.precedes(&later)).unwrap_or(later));
            } else if now.is_none_or(|now| value <= now.value) {
                self.pending.pop();
                self.available.push(Available::new(addend(position), position));
            } else {
                return now;
            }
        }
    }
}

impl Candidate {
    /// Whether this is better than another on the same device.
    pub(super) fn precedes(&self, other: &Self) -> bool {
        self.value.total_cmp(&other.value).then(self.position.cmp(&other.position)) == Ordering::Less
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_best_is_that_of_a_linear_search(
            ops in vec((0..20u8, 0..9u8), 1..60),
            first in 0..20usize,
            takes in vec((any::<bool>(), 0..4u8), 60),
        ) {
            let mut ops: Vec<(Time, Time)> = ops.iter().map(|op| (f64::from(op.0), f64::from(op.1) - 4.0)).collect();
            let mut next = first.min(ops.len());
            ops[..next].iter_mut().for_each(|op| op.0 = 0.0);
            let mut sorted: Vec<u32> = (0..next as u32).collect();
            sorted.sort_by(|&a, &b| ops[a as usize].1.total_cmp(&ops[b as usize].1));
            let (mut queue, mut idle) = (DeviceQueue::new(sorted.into()), 0.0);
            let mut gone: Vec<bool> = (0..ops.len()).map(|at| at >= next).collect();
            for (push, wait) in takes {
                if push && next < ops.len() {
                    queue.push(ops[next].0, ops[next].1, next as u32, idle);
                    gone[next] = false;
                    next += 1;
                }
                let found = queue.best(idle, |at| ops[at as usize].1, |at| !gone[at as usize]);
                let all = (0..next).filter(|&at| !gone[at]).map(|at| {
                    let start = ops[at].0.max(idle);
                    Candidate { value: start + ops[at].1, position: at as u32, start }
                });
                let expected = all.reduce(|best, other| if other.precedes(&best) { other } else { best });
                prop_assert_eq!(found, expected);
                if let Some(taken) = found.filter(|_| !push) {
                    gone[taken.position as usize] = true;
                    idle = taken.start + f64::from(wait);
                }
            }
        }
    }
}
