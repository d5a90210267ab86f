//! What search-based placers minimise: the simulated makespan.

use placebench_algorithms::schedulers::Pct;
use placebench_algorithms::{Objective, PlaceError, StopToken};
use placebench_datasets::{Instance, PlacedGraph, Placement, Time};

use crate::simulator::{NetworkModel, Options, SimulationError, simulate_with};

/// Simulates each placement with the scheduler `pct` under one network model.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedObjective {
    /// The network model of the cells that the placement is for.
    pub network: NetworkModel,
}

impl Objective for SimulatedObjective {
    fn makespan(&self, instance: &Instance, placement: &Placement, stop: &StopToken) -> Result<Time, PlaceError> {
        let placed = PlacedGraph::new(instance, placement);
        let options = Options { network: self.network, stop: stop.clone(), ..Options::default() };
        match simulate_with(&placed, &Pct, &options) {
            Ok(timeline) => Ok(timeline.makespan()),
            Err(SimulationError::Stopped { .. }) => Err(PlaceError::Stopped),
            Err(error) => Err(PlaceError::Unsupported(error.to_string())),
        }
    }
}
