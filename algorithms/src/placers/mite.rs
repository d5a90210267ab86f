//! MITE: memory, importance, traffic and execution time in one product.

use placebench_datasets::{Instance, UnitId};

use super::heuristic::HeuristicPlacement;
use crate::fairness::{Exception, Law};
use crate::ranks::OperationsRanks;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Puts unit after unit, groups first, on the feasible device that minimises
/// `traffic · execution time · memory · importance speed boost`.
///
/// An op of the critical path has importance 1, so that its boost on the fastest feasible device is exactly 0: so is the
/// product, and traffic, load and memory are ignored. That follows from L's equations, and is kept.
///
/// # Reference
/// L. Laich, *Graph Partitioning and Scheduling for Distributed Dataflow Computation*, University of Stuttgart 2017,
/// §4.7, Eq. 4.6 to 4.16.
///
/// # Complexity
/// O((units + edges) · devices) time; an edge costs O(devices) once, when the second of its ends is placed. O(edges +
/// devices²) memory.
///
/// # Ties
/// Of equal products, the least execution time (Eq. 4.12); of equal execution times, the lowest id.
///
/// # Deviations
/// - Eq. 4.9 read literally makes both of two consumers on one device free, since either is "another" to the other. As the
///   text beside it explains it (no additional pair is needed), the first costs and the others are free.
/// - Eq. 4.8 and 4.9 speak of an op's one output; here they apply to each tensor, and parallel edges carry it once. Control
///   edges carry nothing and cost nothing. Latency is not in Eq. 4.7 and is ignored.
/// - The sum of Eq. 4.10 takes each member alone: a tensor that two members of a group consume counts twice, and edges
///   inside the group count nothing.
/// - ê of Eq. 4.13 is taken over the feasible devices, like t̂ and f̂; it does not change which device is best.
/// - The memory portion of a device with unlimited memory is 0. Rounding cannot lift importance above 1, and it is 0 if no op
///   costs anything.
/// - With measured times, `#ops / speed` is the sum of the times that a device's units take there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mite;

impl Algorithm for Mite {
    const NAME: &str = "mite";
    const SUMMARY: &str = "minimises memory, importance, traffic and execution time in one product";
    const SOURCE: &str = "L §4.7";
    const EXCEPTIONS: &[Exception] =
        &[Exception::new(Law::RelabelledOps, "units are placed in the order of their numbers (L §4.7)")];

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl Placer for Mite {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let ranks = OperationsRanks::new(instance.graph());
        let top_rank = instance.graph().op_ids().map(|op| ranks.of(op)).fold(0.0, f64::max);
        let mut placement = HeuristicPlacement::new(instance);
        for (position, unit) in instance.units().ids().enumerate() {
            context.stop.check_at(position)?;
            let importance = importance(instance, &ranks, top_rank, unit);
            placement.place(unit, |factors| {
                let boost = 1.0 - importance * factors.relative_speed;
                factors.traffic * factors.execution_time * factors.memory * boost
            })?;
        }
        Ok(Decision::placement(placement.finish()?))
    }
}

/// Eq. 4.16.
fn importance(instance: &Instance, ranks: &OperationsRanks, top_rank: f64, unit: UnitId) -> f64 {
    let members = instance.units().members(unit);
    let sum: f64 = members.iter().map(|&op| ranks.of(op)).sum();
    if top_rank > 0.0 { (sum / (top_rank * members.len() as f64)).min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;

    #[test]
    fn critical_ops_ignore_everything_but_speed_and_the_others_weigh_traffic_against_load() {
        // op0(4) ─8▶ op1(4)   op0 ─8▶ op2(2)   op3(1)     speeds: d0 1, d1 2; rate 4; memory unlimited, so m = 0.1
        // everywhere. Ranks: 8, 8, 6, 1; ô = 8, importance 1, 1, 3/4, 1/8.
        // op0: boost on d1 is 1 − 1·1 = 0: product 0, so d1, now 4/2 = 2 busy.
        // op1: likewise d1, though d0 is idle: 8/2 = 4 busy.
        // op2: traffic to d1 from d0? Its producer is on d1, which holds a consumer. d0: 8/4 = 2 of t̂ = 2, so 1; d1: 0, so
        //   0.000001. Time d0: 2, d1: 10/2 = 5 = ê: 0.4 and 1. Boost d0: 1 − 3/4·1/2 = 5/8, d1: 1/4.
        //   d0: 1 · 0.4 · 0.1 · 0.625 = 0.025; d1: 0.000001 · 1 · 0.1 · 0.25: d1, 10/2 = 5 busy.
        // op3: no traffic: 1 on both. d0: 1/5.5 · 0.1 · (1 − 1/16) = 0.017; d1: 1 · 0.1 · (1 − 1/8) = 0.0875: d0.
        let graph = example::graph(&[4.0, 4.0, 2.0, 1.0], &[(0, 1, 8), (0, 2, 8)], &[]);
        let instance = Instance::new(graph, example::cluster(&[1.0, 2.0], 4.0)).unwrap();
        let decision = Mite.place(&instance, &PlaceContext::default()).unwrap();
        assert_eq!(example::devices(&decision), [1, 1, 1, 0]);
    }
}
