//! A queue from threads of several priorities to one.
//!
//! Threads that use a channel of the standard library wait for each other by trying again, and a thread with real-time priority
//! that tries again leaves its core to none of a lower one. So a courier that is interrupted while it sends would keep all
//! devices waiting for good. A thread that waits for a lock sleeps, so the courier gets the core.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use super::tensors::locked;

/// What was sent and not received yet.
pub(super) struct Mailbox<T> {
    queue: Mutex<VecDeque<T>>,
    bell: Condvar,
}

impl<T> Mailbox<T> {
    pub(super) fn new() -> Self {
        Self { queue: Mutex::new(VecDeque::new()), bell: Condvar::new() }
    }

    pub(super) fn send(&self, message: T) {
        locked(&self.queue).push_back(message);
        self.bell.notify_one();
    }

    /// The next message, if one comes within this time.
    pub(super) fn receive(&self, patience: Duration) -> Option<T> {
        let waited = self.bell.wait_timeout_while(locked(&self.queue), patience, |queue| queue.is_empty());
        waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::execute::threads::clock::{be_precise, pin};
    use crate::execute::threads::memory::{COURIER_PRIORITY, DEVICE_PRIORITY};

    #[test]
    fn a_sender_that_one_of_higher_priority_interrupts_holds_up_nobody() {
        const MESSAGES: usize = 20_000;
        let mailbox = Mailbox::new();
        thread::scope(|scope| {
            // On one core, so that a thread that tries again and again lets nobody else work.
            scope.spawn(|| {
                pin(0);
                be_precise(COURIER_PRIORITY);
                (0..MESSAGES * 10).for_each(|_| mailbox.send(0));
            });
            scope.spawn(|| {
                pin(0);
                be_precise(DEVICE_PRIORITY);
                for _ in 0..MESSAGES {
                    thread::sleep(Duration::from_micros(20));
                    mailbox.send(1);
                }
            });
            let mut received = [0, 0];
            while received != [MESSAGES * 10, MESSAGES] {
                if let Some(sender) = mailbox.receive(Duration::from_millis(20)) {
                    received[sender] += 1;
                }
            }
        });
        assert!(mailbox.receive(Duration::ZERO).is_none());
    }
}
