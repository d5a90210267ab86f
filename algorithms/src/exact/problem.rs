//! All that the searches know about an instance, and what a whole schedule of it comes to.

use std::ops::Deref;

use placebench_datasets::{Instance, Time};

use super::state::{State, Step};
use super::symmetry::Symmetry;
use super::tables::Tables;
use super::tails::tails;
use crate::PlaceError;

/// The tables of an instance with what follows from them.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    tables: Tables,
    /// Least time from the end of an op on a device to the end of the schedule.
    pub(super) tail: Vec<Time>,
    pub(super) symmetry: Symmetry,
}

impl Deref for Problem {
    type Target = Tables;

    fn deref(&self) -> &Tables {
        &self.tables
    }
}

impl Problem {
    /// Reads an instance.
    ///
    /// # Errors
    /// [`PlaceError::Unsupported`] for what the search cannot do.
    pub(super) fn new(instance: &Instance) -> Result<Self, PlaceError> {
        Ok(Self::of(Tables::new(instance)?))
    }

    /// Reads an instance whose sends and receives occupy devices, as if they did not. What looks alike need not be: it may send
    /// more tensors, or be busier with each.
    ///
    /// # Errors
    /// [`PlaceError::Unsupported`] for what the search cannot do.
    pub(super) fn relaxed(instance: &Instance) -> Result<Self, PlaceError> {
        let tables = Tables::new(instance)?;
        Ok(Self { tail: tails(&tables), symmetry: Symmetry::none(&tables), tables })
    }

    /// The problem of some tables.
    pub(super) fn of(tables: Tables) -> Self {
        Self { tail: tails(&tables), symmetry: Symmetry::of(&tables), tables }
    }

    /// The steps of a schedule with their starts, none earlier or later than it must be.
    pub(super) fn starts(&self, steps: &[Step]) -> Vec<(Step, Time)> {
        let mut state = State::new(self);
        steps.iter().map(|&step| (step, state.append(self, step))).collect()
    }

    /// The makespan of a schedule.
    pub(super) fn makespan(&self, steps: &[Step]) -> Time {
        let mut state = State::new(self);
        for &step in steps {
            state.append(self, step);
        }
        state.free.iter().copied().fold(0.0, Time::max)
    }
}
