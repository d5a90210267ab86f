//! Critical path: the longest path to the fastest device, everything else where least is assigned.

use placebench_datasets::{Instance, OpId};

use super::load::LoadedAssignment;
use crate::fairness::{Exception, Law};
use crate::ranks::{Average, AverageTransfer, average_exec_times, upward_ranks};
use crate::total::compare;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Puts the ops of the critical path of upward ranks, with their groups, on the fastest feasible device, and every other
/// unit on the feasible device with the least exec_min so far.
///
/// # Reference
/// L. Laich, *Graph Partitioning and Scheduling for Distributed Dataflow Computation*, University of Stuttgart 2017,
/// §4.6, with Eq. 4.1, 4.2 and 4.5.
///
/// # Complexity
/// O(ops + edges + units · devices).
///
/// # Ties
/// Of sources, and of successors on the path, with equal ranks: the lowest id. Of equally fast devices: the lowest id. Of
/// devices with equal exec_min: the one that is done with the unit first, then the lowest id; L leaves this open.
///
/// # Deviations
/// The mean speed in the ranks is over the devices of the kinds that an op may use, and not over all devices as in Eq. 4.2:
/// see [`Average::Speed`]. Where kinds restrict ops, that changes some placements. Decided here: the path starts at the source with the largest upward rank and follows the
/// successor from which each rank is taken; if one device cannot hold the path, each unit goes, from the source on, to the
/// fastest device that is feasible for it; the others come in the order of units, groups first, as in L §4.2. With
/// measured times "fastest" is the device on which the unit takes least time, and exec_min the sum of what its units take.
#[derive(Clone, Copy, Debug)]
pub struct CriticalPath {
    /// How costs that differ between devices are averaged for the ranks; L: [`Average::Speed`].
    pub average: Average,
}

impl Algorithm for CriticalPath {
    const NAME: &str = "critical_path";
    const SUMMARY: &str = "the critical path to the fastest device, the rest where least is assigned";
    const SOURCE: &str = "L §4.6";
    const EXCEPTIONS: &[Exception] = &[Exception::new(
        Law::RelabelledOps,
        "ops that are not on the path come in the order of their numbers (L §4.6 gives none)",
    )];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { average: Average::param(params, Average::Speed)? })
    }
}

impl Placer for CriticalPath {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let units = instance.units();
        let mut placed = LoadedAssignment::new(instance);
        for (position, op) in critical_path(instance, self.average).into_iter().enumerate() {
            context.stop.check_at(position)?;
            let unit = units.unit_of(op);
            if placed.assignment().device_of_unit(unit).is_none() {
                let device = placed.fastest_feasible(unit).ok_or_else(|| placed.assignment().infeasible(unit))?;
                placed.assign(unit, device);
            }
        }
        placed.place_rest(context)?;
        Ok(Decision::placement(placed.finish()?))
    }
}

/// The path of largest upward rank, from its source to its sink.
fn critical_path(instance: &Instance, average: Average) -> Vec<OpId> {
    let graph = instance.graph();
    let transfer = AverageTransfer::new(instance, average);
    let ranks = upward_ranks(graph, &average_exec_times(instance, average), transfer);
    let sources = graph.op_ids().filter(|&op| graph.in_degree(op) == 0);
    let mut path = Vec::new();
    let mut next = largest(sources.map(|op| (ranks[op.index()], op)));
    while let Some(op) = next {
        path.push(op);
        next = largest(
            graph.successors(op).map(|edge| (transfer.time(graph.edge_bytes(edge)) + ranks[edge.op.index()], edge.op)),
        );
    }
    path
}

/// The op with the largest value; of those equal up to rounding, the one with the lowest id.
fn largest(candidates: impl Iterator<Item = (f64, OpId)>) -> Option<OpId> {
    candidates.max_by(|a, b| compare(a.0, b.0).then(b.1.cmp(&a.1))).map(|(_, op)| op)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;

    #[test]
    fn the_critical_path_goes_to_the_fastest_device_and_the_rest_where_least_is_assigned() {
        // op0(4) ─10▶ op1(2) ─1▶ op3(2)      op4(8)   op5(6)
        //     └──10─▶ op2(3) ─1▶ op3
        // Speeds 1 and 3, so 2 on average; rate 10. Ranks: op3 2/2 = 1; op1 1 + 0.1 + 1 = 2.1; op2 1.5 + 0.1 + 1 = 2.6;
        // op0 2 + 1 + 2.6 = 5.6; op4 4; op5 3. The path is 0, 2, 3: all on d1, 9 / 3 = 3 busy.
        // The rest in order: op1 to d0 (0 < 3): 2. op4 to d0 (2 < 3): 10. op5 to d1 (3 < 10).
        let graph =
            example::graph(&[4.0, 2.0, 3.0, 2.0, 8.0, 6.0], &[(0, 1, 10), (0, 2, 10), (1, 3, 1), (2, 3, 1)], &[]);
        let instance = Instance::new(graph, example::cluster(&[1.0, 3.0], 10.0)).unwrap();
        let decision = CriticalPath::with_defaults().place(&instance, &PlaceContext::default()).unwrap();
        assert_eq!(example::devices(&decision), [1, 0, 1, 1, 0, 1]);
    }

    #[test]
    fn the_two_averages_can_find_different_paths() {
        // op0(10) ─▶ op1(1), against op2(2) ─100▶ op3(2): speeds 1 and 9 (mean 5, mean of inverses 5/9), rate 20.
        // By speed: 11 / 5 = 2.2 against 4 / 5 + 5 = 5.8, or with rate 28 against 0.8 + 3.6 = 4.4.
        let graph = example::graph(&[10.0, 1.0, 2.0, 2.0], &[(0, 1, 0), (2, 3, 100)], &[]);
        let path = |rate, average| {
            let cluster = example::cluster(&[1.0, 9.0], rate);
            critical_path(&Instance::new(graph.clone(), cluster).unwrap(), average)
        };
        assert_eq!(path(20.0, Average::Speed), [OpId(2), OpId(3)]);
        // By time, rate 28: 11 · 5/9 = 6.1 against 4 · 5/9 + 3.6 = 5.8.
        assert_eq!(path(28.0, Average::Time), [OpId(0), OpId(1)]);
        assert_eq!(path(28.0, Average::Speed), [OpId(2), OpId(3)]);
    }
}
