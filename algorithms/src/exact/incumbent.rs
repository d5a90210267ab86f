//! The best schedule known.

use placebench_datasets::Time;

use super::problem::Problem;
use super::state::Step;

/// The best schedule known, which both searches improve.
#[derive(Clone, Debug, Default)]
pub(super) struct Incumbent {
    pub(super) best: Option<(Time, Vec<Step>)>,
}

/// A schedule must be shorter than the best by more than this share to be worth finding: far above the rounding
/// of the bounds, far below what matters.
const TOLERANCE: f64 = 1e-11;

impl Incumbent {
    /// Keeps a complete schedule if it is shorter.
    pub(super) fn offer(&mut self, problem: &Problem, steps: &[Step]) {
        let makespan = problem.makespan(steps);
        if self.best.as_ref().is_none_or(|(best, _)| makespan < *best) {
            self.best = Some((makespan, steps.to_vec()));
        }
    }

    /// What a schedule's makespan has to be below.
    pub(super) fn cutoff(&self) -> Time {
        self.best.as_ref().map_or(f64::INFINITY, |(best, _)| best * (1.0 - TOLERANCE))
    }
}
