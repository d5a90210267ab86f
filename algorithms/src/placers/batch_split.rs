//! Batch split: equal ranges of the ops by importance, the most important range to the fastest device.

use std::cmp::Reverse;

use placebench_datasets::{DeviceId, Instance, OpId};

use crate::fairness::{Exception, Law, usable_devices};
use crate::ranks::OperationsRanks;
use crate::total::steady;
use crate::{Algorithm, Assignment, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Sorts the ops by operations rank and cuts the list into one equal range a device: the highest ranks go to the fastest
/// device; where a device is not feasible, the next slower one is tried, and after the slowest the fastest.
///
/// # Reference
/// L. Laich, *Graph Partitioning and Scheduling for Distributed Dataflow Computation*, University of Stuttgart 2017,
/// §4.4, Eq. 4.3 and 4.4.
///
/// # Complexity
/// O(ops · log ops + edges), and up to O(units · devices) more where devices are not feasible.
///
/// # Ties
/// Ops of equal rank by id, where ranks that differ by less than a part in 10¹² of the highest are equal; devices of equal
/// speed by id.
///
/// # Deviations
/// None where L is explicit. L does not say how ranges are cut if the ops do not divide evenly: op `i` of `n` in the
/// sorted list belongs to range `⌊i · devices / n⌋`, so that sizes differ by at most one. An op that was placed with its
/// group before its turn still counts in its range. A device that no op may run on gets no range.
#[derive(Clone, Copy, Debug, Default)]
pub struct BatchSplit;

impl Algorithm for BatchSplit {
    const NAME: &str = "batch_split";
    const SUMMARY: &str = "equal ranges by operations rank, the highest to the fastest device";
    const SOURCE: &str = "L §4.4";
    const EXCEPTIONS: &[Exception] = &[
        Exception::new(Law::RelabelledOps, "ops of equal rank go by number (L §4.4 leaves that open)"),
        Exception::new(Law::IsolatedOp, "every op counts in the ranges, whatever it costs (L §4.4)"),
    ];

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl Placer for BatchSplit {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
        let ranks = OperationsRanks::new(graph);
        let mut ops: Vec<OpId> = graph.op_ids().collect();
        // Along a path all ranks are equal but for rounding, which must not decide.
        ops.sort_by_key(|&op| Reverse(steady(ranks.of(op))));
        let mut devices: Vec<DeviceId> = usable_devices(instance);
        devices.sort_by(|&a, &b| cluster.device(b).speed.total_cmp(&cluster.device(a).speed));
        let mut assignment = Assignment::new(instance);
        for (position, &op) in ops.iter().enumerate() {
            context.stop.check_at(position)?;
            let unit = units.unit_of(op);
            if assignment.device_of_unit(unit).is_none() {
                let range = position * devices.len() / ops.len();
                let (before, from) = devices.split_at(range);
                assignment.assign_first(unit, from.iter().chain(before).copied())?;
            }
        }
        Ok(Decision::placement(assignment.finish()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;

    #[test]
    fn ranges_of_falling_rank_go_to_devices_of_falling_speed() {
        // op0(1) ─▶ op1(2) ─▶ op4(3)   op2(4) ─▶ op3(1)   op5(2)
        // ranks: 6 for 0, 1, 4; 5 for 2, 3; 2 for 5. Sorted: 0 1 4 2 3 5; ranges of two: {0 1} {4 2} {3 5}.
        // Speeds 1, 4, 2: the ranges go to d1, d2, d0.
        let graph = example::graph(&[1.0, 2.0, 4.0, 1.0, 3.0, 2.0], &[(0, 1, 1), (1, 4, 1), (2, 3, 1)], &[]);
        let instance = Instance::new(graph, example::cluster(&[1.0, 4.0, 2.0], 1.0)).unwrap();
        let decision = BatchSplit.place(&instance, &PlaceContext::default()).unwrap();
        assert_eq!(example::devices(&decision), [1, 1, 2, 0, 2, 0]);
    }
}
