//! What search-based placers minimise: the simulated makespan.

use placebench_algorithms::schedulers::Pct;
use placebench_algorithms::{Objective, PlaceError, StopToken};
use placebench_datasets::{Instance, PlacedGraph, Placement, Time};

use crate::execute::simulate::{NetworkModel, Simulator};
use crate::execute::{ExecutionError, Executor, Order};

/// Simulates each placement with the scheduler `pct` under one network model. Peaks of memory do not count: under the memory
/// rule `peak` a search sees unlimited memory, as all placers do.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedObjective {
    /// The network model of the cells that the placement is for.
    pub network: &'static dyn NetworkModel,
}

impl Objective for SimulatedObjective {
    fn makespan(&self, instance: &Instance, placement: &Placement, stop: &StopToken) -> Result<Time, PlaceError> {
        let placed = PlacedGraph::new(instance, placement);
        match Simulator::new(self.network).execute(&placed, Order { scheduler: &Pct, plan: None }, stop) {
            Ok(timeline) => Ok(timeline.makespan()),
            Err(ExecutionError::Stopped { .. }) => Err(PlaceError::Stopped),
            Err(error) => Err(PlaceError::Unsupported(error.to_string())),
        }
    }
}
