//! The transport `memory`: all devices in this process, tensors copied from memory to memory.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use placebench_algorithms::StopToken;

use super::clock::{Nanos, be_precise, now, pin};
use super::device::{Arrivals, carry_all, execute, readable_at};
use super::kernel::Kernels;
use super::program::{Program, RunTimes};
use super::tensors::{Tensors, locked};
use super::transport::{Fault, Run, Session};

/// From when on threads wait for the start of a run, so that all are there.
pub(super) const HEAD_START: Nanos = 5_000_000;

/// How often a run looks at the stop token.
const POLL: Duration = Duration::from_millis(20);

/// Priorities of devices and couriers: copying delays no device that is due.
pub(super) const DEVICE_PRIORITY: u8 = 20;
pub(super) const COURIER_PRIORITY: u8 = 10;

/// Devices as threads. Each follows its order.
pub(super) struct InMemory<'a> {
    pub(super) program: &'a Program,
    pub(super) kernels: Kernels,
    /// Whether each device keeps to a core of its own.
    pub(super) pinned: bool,
    pub(super) tensors: Tensors<'a>,
}

impl Session for InMemory<'_> {
    fn run(&mut self, run: Run, stop: &StopToken) -> Result<RunTimes, Fault> {
        let Self { program, kernels, pinned, tensors } = &*self;
        let devices = program.devices.len();
        let arrivals = &Arrivals::new(program.moves.len(), devices);
        let sent: &Vec<Mutex<Nanos>> = &program.moves.iter().map(|_| Mutex::new(0)).collect();
        let (imprecise, damaged) = (&AtomicUsize::new(0), &Mutex::new(None));
        let base = now() + HEAD_START;
        let carry = |transfer: usize, at: Nanos| {
            let moved = &program.moves[transfer];
            tensors.copy(transfer);
            *locked(&sent[transfer]) = at;
            arrivals.deliver(transfer, moved.to, readable_at(moved, at));
            !arrivals.is_given_up()
        };
        let check = |transfer: usize| {
            if run.checks && !tensors.is_intact(transfer) {
                *locked(damaged) = Some(transfer);
            }
        };
        if run.checks {
            tensors.clear();
        }
        let (finished, results) = channel();
        let steps = thread::scope(|scope| {
            for (device, steps) in program.devices.iter().enumerate() {
                let (courier, parcels) = channel();
                scope.spawn(move || {
                    be_precise(COURIER_PRIORITY);
                    carry_all(&parcels, carry);
                });
                let finished = finished.clone();
                scope.spawn(move || {
                    let _guard = GiveUpOnPanic(arrivals);
                    if *pinned {
                        pin(device);
                    }
                    if !(kernels.sleep() && be_precise(DEVICE_PRIORITY)) {
                        imprecise.fetch_add(1, Ordering::Relaxed);
                    }
                    let times = execute(device, steps, base, arrivals, kernels, &courier, &check);
                    // The receiver outlives the scope.
                    let _ = finished.send((device, times));
                });
            }
            drop(finished);
            let mut steps: Vec<Option<Vec<(Nanos, Nanos)>>> = vec![None; devices];
            loop {
                match results.recv_timeout(POLL) {
                    Ok((device, times)) => steps[device] = times,
                    Err(RecvTimeoutError::Disconnected) => return steps.into_iter().collect::<Option<Vec<_>>>(),
                    Err(RecvTimeoutError::Timeout) if stop.is_stopped() => arrivals.give_up(),
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
        });
        if let Some(transfer) = *locked(damaged) {
            return Err(Fault::Damaged { transfer });
        }
        let steps = steps.ok_or(Fault::Stopped)?;
        let from_base = |(start, end): (Nanos, Nanos)| (start - base, end - base);
        let moves = (0..program.moves.len()).map(|transfer| (*locked(&sent[transfer]), arrivals.instant(transfer)));
        Ok(RunTimes {
            steps: steps.into_iter().map(|times| times.into_iter().map(from_base).collect()).collect(),
            moves: moves.map(from_base).collect(),
            is_precise: imprecise.load(Ordering::Relaxed) == 0,
        })
    }
}

/// A device that panics lets no other wait for it.
struct GiveUpOnPanic<'a>(&'a Arrivals);

impl Drop for GiveUpOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.give_up();
        }
    }
}
