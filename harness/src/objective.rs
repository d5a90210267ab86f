//! What search-based placers minimise: the simulated makespan.

use placebench_algorithms::schedulers::Pct;
use placebench_algorithms::{Judgement, Objective, PlaceError, StopToken};
use placebench_datasets::{DeviceId, Instance, MemoryRule, PlacedGraph, Placement};

use crate::execute::simulate::{NetworkModel, Simulator};
use crate::execute::{ExecutionError, Executor, Order};
use crate::memory::MemoryUse;
use crate::timeline::Timeline;

/// Simulates each placement with the scheduler `pct` under one network model. Under the memory rule `peak` the peaks of that
/// run count: one that needs more than a device has is worse than any that fits. A cell with another scheduler may still be
/// refused.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedObjective {
    /// The network model of the cells that the placement is for.
    pub network: &'static dyn NetworkModel,
}

impl Objective for SimulatedObjective {
    fn judge(&self, instance: &Instance, placement: &Placement, stop: &StopToken) -> Result<Judgement, PlaceError> {
        // Before work that does not ask: a search judges many placements at once.
        stop.check()?;
        let placed = PlacedGraph::new(instance, placement);
        match Simulator::new(self.network).execute(&placed, Order { scheduler: &Pct, plan: None }, stop) {
            Ok(timeline) => {
                let excess_bytes = excess_bytes(&placed, &timeline);
                Ok(Judgement { excess_bytes, makespan: timeline.makespan() })
            }
            Err(ExecutionError::Stopped { .. }) => Err(PlaceError::Stopped),
            Err(error) => Err(PlaceError::Unsupported(error.to_string())),
        }
    }
}

/// By how much the devices' peaks exceed what they may hold, added up.
fn excess_bytes(placed: &PlacedGraph<'_>, timeline: &Timeline) -> u64 {
    let (instance, cluster) = (placed.instance(), placed.instance().cluster());
    if instance.memory_rule() != MemoryRule::Peak {
        return 0;
    }
    // A peak is at most the sum of the demands, which is known without sorting a timeline.
    let mut demands = vec![0u64; cluster.device_count()];
    for op in instance.graph().op_ids() {
        let demand = &mut demands[placed.device_of(op).index()];
        *demand = demand.saturating_add(instance.graph().demand_bytes(op));
    }
    let beyond =
        |device: DeviceId, bytes: u64| instance.peak_limit(device).map_or(0, |most| bytes.saturating_sub(most));
    if cluster.device_ids().zip(&demands).all(|(device, &bytes)| beyond(device, bytes) == 0) {
        return 0;
    }
    let memory = MemoryUse::new(placed, timeline);
    let excess = cluster.device_ids().map(|device| beyond(device, memory.peak_bytes(device)));
    excess.fold(0, u64::saturating_add)
}
