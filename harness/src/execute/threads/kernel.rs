//! What a device does while a task takes time: it waits, or it computes.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use super::clock::{Nanos, SECOND, now, pin, wait_until};
use super::program::Step;
use crate::execute::Kernel;

/// Side of the matrices that are multiplied.
const SIDE: usize = 32;

/// Floating-point numbers that a unit of memory traffic reads and writes.
const STRETCH: usize = 8 << 10;

/// Floating-point numbers to walk through: more than a core's own caches hold.
const EXPANSE: usize = 4 << 20;

/// How long each unit is timed, and how often, when kernels are calibrated: the shortest time counts.
const TIMED_UNITS: u32 = 200;
const ROUNDS: u32 = 7;

/// The kernels of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Kernels {
    kind: Kernel,
    /// How long before an instant that it waits for a device looks at the clock.
    pub(super) ahead: Nanos,
    /// What a product of matrices takes on an idle core; 0 for a kernel that waits.
    product: f64,
    /// What a stretch of memory takes on an idle core; 0 for a kernel that waits.
    stretch: f64,
}

/// What a device computes with.
pub(super) struct Workspace {
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
    expanse: Vec<f32>,
    at: usize,
}

impl Kernels {
    /// Kernels, calibrated on the present core.
    pub(super) fn new(kind: Kernel, ahead: Nanos) -> Self {
        let mut kernels = Self { kind, ahead, product: 0.0, stretch: 0.0 };
        if kind == Kernel::Compute {
            let mut workspace = kernels.workspace();
            kernels.product = time_of(|| workspace.multiply());
            kernels.stretch = time_of(|| workspace.walk());
        }
        kernels
    }

    /// Whether devices sleep most of the time. Those that compute get no priority: they would take the cores from all else.
    pub(super) fn sleep(&self) -> bool {
        self.kind == Kernel::Wait
    }

    /// Memory for one device.
    pub(super) fn workspace(&self) -> Workspace {
        let (side, expanse) = match self.kind {
            Kernel::Wait => (0, 0),
            Kernel::Compute => (SIDE * SIDE, EXPANSE),
        };
        Workspace { a: vec![0.5; side], b: vec![0.25; side], c: vec![0.0; side], expanse: vec![1.0; expanse], at: 0 }
    }

    /// Bytes that a workspace takes.
    pub(super) fn workspace_bytes(kind: Kernel) -> u64 {
        match kind {
            Kernel::Wait => 0,
            Kernel::Compute => 4 * (3 * SIDE * SIDE + EXPANSE) as u64,
        }
    }

    /// Executes a step; false if the run was given up meanwhile. A step that waits ends its length after `from`, the instant
    /// at which it could start: what a device wakes up too late is not added up from step to step.
    pub(super) fn run(&self, step: &Step, from: Nanos, workspace: &mut Workspace, given_up: &AtomicBool) -> bool {
        let unit = match self.kind {
            Kernel::Wait => return wait_until(from + step.length, self.ahead, given_up),
            Kernel::Compute if step.computes => self.product,
            Kernel::Compute => self.stretch,
        };
        let units = (step.length as f64 / unit).round() as u64;
        for _ in 0..units {
            if given_up.load(Ordering::Relaxed) {
                return false;
            }
            if step.computes { workspace.multiply() } else { workspace.walk() }
        }
        true
    }
}

impl Workspace {
    /// A product of two matrices.
    fn multiply(&mut self) {
        for (row, out) in self.c.chunks_exact_mut(SIDE).enumerate() {
            out.fill(0.0);
            for (k, line) in self.b.chunks_exact(SIDE).enumerate() {
                let factor = self.a[row * SIDE + k];
                out.iter_mut().zip(line).for_each(|(sum, value)| *sum += factor * value);
            }
        }
        black_box(&self.c);
    }

    /// Reads and writes the next stretch of memory.
    fn walk(&mut self) {
        if self.at + STRETCH > self.expanse.len() {
            self.at = 0;
        }
        let stretch = &mut self.expanse[self.at..self.at + STRETCH];
        stretch.iter_mut().for_each(|value| *value = *value * 0.5 + 1.0);
        black_box(stretch);
        self.at += STRETCH;
    }
}

/// How many units the kernels are timed with.
const TIMED_SIZES: [u32; 4] = [1, 8, 64, 512];

/// A kernel of some size, timed.
pub(crate) struct KernelTime {
    /// `gemm` (products of matrices) or `memory` (a loop that reads and writes it).
    pub(crate) kind: &'static str,
    /// Additions and multiplications.
    pub(crate) operations: f64,
    /// The least time of several.
    pub(crate) seconds: f64,
}

/// What the kernels take on a core: each in several sizes, always the same ones in the same order.
pub(crate) fn kernel_times(core: usize) -> Vec<KernelTime> {
    let timed = move || {
        pin(core);
        let kernels = Kernels { kind: Kernel::Compute, ahead: 0, product: 0.0, stretch: 0.0 };
        let mut workspace = kernels.workspace();
        let mut times = Vec::new();
        for units in TIMED_SIZES {
            let least = |unit: &mut dyn FnMut()| {
                let mut round = || {
                    let start = now();
                    (0..units).for_each(|_| unit());
                    now() - start
                };
                (0..ROUNDS).map(|_| round()).min().unwrap_or(0).max(1) as f64 / SECOND
            };
            let units = f64::from(units);
            let seconds = least(&mut || workspace.multiply());
            times.push(KernelTime { kind: "gemm", operations: units * (2 * SIDE.pow(3)) as f64, seconds });
            let seconds = least(&mut || workspace.walk());
            times.push(KernelTime { kind: "memory", operations: units * (2 * STRETCH) as f64, seconds });
        }
        times
    };
    // The core is that of a thread of its own.
    std::thread::scope(|scope| scope.spawn(timed).join().unwrap_or_default())
}

/// The least time of a unit in nanoseconds, at least one.
fn time_of(mut unit: impl FnMut()) -> f64 {
    let mut round = || {
        let start = now();
        (0..TIMED_UNITS).for_each(|_| unit());
        (now() - start) as f64 / f64::from(TIMED_UNITS)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(length: Nanos, computes: bool) -> Step {
        Step { length, computes, waits_for: Vec::new(), starts: Vec::new() }
    }

    #[test]
    fn a_kernel_takes_about_as_long_as_it_should_and_never_less_than_it_waits_for() {
        let go = AtomicBool::new(false);
        for kind in [Kernel::Wait, Kernel::Compute] {
            let kernels = Kernels::new(kind, 0);
            let mut workspace = kernels.workspace();
            for computes in [true, false] {
                // The least of several, and wide limits: other tests use the cores, too, also while the kernels are calibrated.
                let took = (0..9).map(|_| {
                    let start = now();
                    assert!(kernels.run(&step(5_000_000, computes), start, &mut workspace, &go));
                    now() - start
                });
                let least = took.min().unwrap();
                assert!((1_250_000..50_000_000).contains(&least), "{kind}, computes: {computes}: {least} ns");
                assert!(kind == Kernel::Compute || least >= 5_000_000, "{least} ns");
            }
        }
    }

    #[test]
    fn a_run_that_is_given_up_ends_soon() {
        let given_up = AtomicBool::new(true);
        for kind in [Kernel::Wait, Kernel::Compute] {
            let kernels = Kernels::new(kind, 0);
            let start = now();
            assert!(!kernels.run(&step(3_600_000_000_000, true), start, &mut kernels.workspace(), &given_up));
            assert!(now() - start < 1_000_000_000);
        }
    }
}
