//! The queue of future events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use placebench_datasets::Time;

/// Events by time, then by id. Times are never negative, so their bits are in the same order, and integers compare faster.
#[derive(Debug, Default)]
pub(super) struct Events(BinaryHeap<Reverse<(u64, u32)>>);

impl Events {
    pub(super) fn push(&mut self, time: Time, id: u32) {
        self.0.push(Reverse((time.to_bits(), id)));
    }

    /// The time of the next event, as bits; `u64::MAX`, which is beyond any time, if there is none.
    pub(super) fn next_bits(&self) -> u64 {
        self.0.peek().map_or(u64::MAX, |event| event.0.0)
    }

    /// Removes the next event if it happens at `time`.
    pub(super) fn pop_at(&mut self, time: Time) -> Option<u32> {
        self.0.peek().filter(|event| event.0.0 == time.to_bits())?;
        self.0.pop().map(|event| event.0.1)
    }
}
