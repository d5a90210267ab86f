//! One device: it executes its tasks one after the other, and a courier beside it moves what they send.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::clock::{Nanos, now, wait_until};
use super::kernel::Kernels;
use super::program::{Move, Step};

/// How often a waiting device looks whether the run was given up.
const POLL: Duration = Duration::from_millis(50);

/// When transfers to some devices arrive, and a bell for each device that waits for one.
pub(super) struct Arrivals {
    /// By transfer, the instant from which on its tensor may be read; 0 while it is not there.
    instants: Vec<AtomicI64>,
    bells: Vec<(Mutex<()>, Condvar)>,
    given_up: AtomicBool,
}

impl Arrivals {
    /// Nothing has arrived yet.
    pub(super) fn new(transfers: usize, devices: usize) -> Self {
        Self {
            instants: (0..transfers).map(|_| AtomicI64::new(0)).collect(),
            bells: (0..devices).map(|_| Default::default()).collect(),
            given_up: AtomicBool::new(false),
        }
    }

    /// The tensor of a transfer is there, and may be read from `instant` on. What was written before is visible to whoever
    /// saw it arrive.
    pub(super) fn deliver(&self, transfer: usize, device: usize, instant: Nanos) {
        self.instants[transfer].store(instant, Ordering::Release);
        let (lock, bell) = &self.bells[device];
        // Whoever looked before the store is waiting once the lock is free.
        drop(lock.lock().unwrap_or_else(PoisonError::into_inner));
        bell.notify_all();
    }

    /// The instant from which on a tensor may be read, as soon as it is known; `None` if the run was given up.
    fn wait(&self, transfer: usize, device: usize) -> Option<Nanos> {
        let (lock, bell) = &self.bells[device];
        let arrived = || Some(self.instants[transfer].load(Ordering::Acquire)).filter(|&instant| instant != 0);
        if let Some(instant) = arrived() {
            return Some(instant);
        }
        let mut guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(instant) = arrived() {
                return Some(instant);
            }
            if self.is_given_up() {
                return None;
            }
            guard = bell.wait_timeout(guard, POLL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The instant at which a transfer arrived; 0 if it did not.
    pub(super) fn instant(&self, transfer: usize) -> Nanos {
        self.instants[transfer].load(Ordering::Acquire)
    }

    /// Ends all waiting.
    pub(super) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Whether the run was given up.
    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// The flag behind it.
    pub(super) fn given_up(&self) -> &AtomicBool {
        &self.given_up
    }
}

/// A tensor to move: which transfer, and when what it waits for ended.
pub(super) type Parcel = (usize, Nanos);

/// Executes the steps of a device from the instant `base` on. Answers with start and end of each, `None` if the run was
/// given up.
pub(super) fn execute(
    device: usize,
    steps: &[Step],
    base: Nanos,
    arrivals: &Arrivals,
    kernels: &Kernels,
    courier: &Sender<Parcel>,
    check: &dyn Fn(usize),
) -> Option<Vec<(Nanos, Nanos)>> {
    let (mut times, mut workspace) = (Vec::with_capacity(steps.len()), kernels.workspace());
    if !wait_until(base, kernels.ahead, arrivals.given_up()) {
        return None;
    }
    // When the step before is over by its length, however late the system was in waking this device.
    let mut free = base;
    for step in steps {
        let mut inputs = base;
        for &transfer in &step.waits_for {
            inputs = inputs.max(arrivals.wait(transfer, device)?);
        }
        if !wait_until(inputs, kernels.ahead, arrivals.given_up()) {
            return None;
        }
        step.waits_for.iter().for_each(|&transfer| check(transfer));
        let start = now();
        let from = free.max(inputs);
        if !kernels.run(step, from, &mut workspace, arrivals.given_up()) {
            return None;
        }
        let end = now();
        free = end.min(from + step.length);
        times.push((start, end));
        for &transfer in &step.starts {
            // A courier that is gone has given up.
            courier.send((transfer, end)).ok()?;
        }
    }
    Some(times)
}

/// Moves parcels, each as it comes, until no more can come. `carry` moves the bytes of one; it may be read when they are
/// there, and not before the transfer's time has passed.
pub(super) fn carry_all(parcels: &Receiver<Parcel>, mut carry: impl FnMut(usize, Nanos) -> bool) {
    while let Ok((transfer, sent)) = parcels.recv() {
        if !carry(transfer, sent) {
            return;
        }
    }
}

/// From when on a tensor that is there now may be read.
pub(super) fn readable_at(moved: &Move, sent: Nanos) -> Nanos {
    now().max(sent + moved.length)
}
