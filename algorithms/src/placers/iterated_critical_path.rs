//! Iterated critical path: path after path, each to the device on which least is assigned.

use placebench_datasets::{Instance, KindSet, UnitId};

use super::load::{LoadedAssignment, Work};
use super::path_extraction::PathExtraction;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Takes the longest path in operations out of the graph until no edge is left, and puts each path as a whole on the
/// feasible device with the least exec_min so far; ops that are placed already and contradicting device kinds split it.
///
/// # Reference
/// L. Laich, *Graph Partitioning and Scheduling for Distributed Dataflow Computation*, University of Stuttgart 2017,
/// §4.5, Eq. 4.3 and 4.5.
///
/// # Complexity
/// O(edges · log degree + ranks computed again · degree) for the paths, where a source rank is computed again if the path
/// that gave it was taken and the search for a next path needs it: at most once an op and path, in practice far less
/// (1 to 37 times an edge on leveled graphs of up to 0.5 M edges), but more than linear in the edges. O(units · (devices + log units)) for the
/// assignment.
///
/// # Ties
/// Of sinks with equal source rank, and of predecessors that give an op the same rank: the lowest id. Of devices with
/// equal exec_min: the one that is done with the path first, then the lowest id. L leaves this open; the lowest id alone would
/// put the longest path, which comes while all devices are empty, on whatever device is listed first.
///
/// # Deviations
/// None where L is explicit. Decided here: a path is split from its sink to its source, as L builds it; a member of a
/// group brings its whole unit into the sub-path, and a unit that an earlier sub-path took counts as placed; kinds
/// contradict if no device of the cluster is of a kind that all units of the sub-path allow; a sub-path that fits nowhere
/// is halved by number of units, the half nearer to the sink first, until the parts fit; parallel edges count as one;
/// units without an edge come last, in the order of units. With measured times exec_min is the sum of what a device's
/// units take there.
#[derive(Clone, Copy, Debug, Default)]
pub struct IteratedCriticalPath;

impl Algorithm for IteratedCriticalPath {
    const NAME: &str = "iterated_critical_path";
    const SUMMARY: &str = "longest path after longest path, each to the device with least assigned";
    const SOURCE: &str = "L §4.5";

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl Placer for IteratedCriticalPath {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let units = instance.units();
        let mut sub_paths = SubPaths::new(instance);
        let mut paths = PathExtraction::new(instance.graph());
        let mut steps = 0;
        while let Some(path) = paths.next_path() {
            for &op in path {
                context.stop.check_at(steps)?;
                steps += 1;
                sub_paths.add(units.unit_of(op))?;
            }
            sub_paths.finish()?;
        }
        let mut placed = sub_paths.placed;
        placed.place_rest(context)?;
        Ok(Decision::placement(placed.finish()?))
    }
}

/// Collects the units of a sub-path, and places them when it ends.
struct SubPaths<'a> {
    instance: &'a Instance,
    placed: LoadedAssignment<'a>,
    /// Kinds of the cluster's devices.
    present: KindSet,
    units: Vec<UnitId>,
    kinds: KindSet,
    is_in: Vec<bool>,
}

impl<'a> SubPaths<'a> {
    fn new(instance: &'a Instance) -> Self {
        let present = instance.cluster().devices().iter().map(|device| device.kind).collect();
        Self {
            instance,
            placed: LoadedAssignment::new(instance),
            present,
            units: Vec::new(),
            kinds: present,
            is_in: vec![false; instance.units().count()],
        }
    }

    /// Goes on with the unit of the path's next op.
    fn add(&mut self, unit: UnitId) -> Result<(), PlaceError> {
        if self.placed.assignment().device_of_unit(unit).is_some() {
            return self.finish();
        }
        if self.is_in[unit.index()] {
            return Ok(());
        }
        let kinds = self.instance.units().kinds(unit);
        if self.kinds.intersection(kinds).is_empty() {
            self.finish()?;
        }
        self.kinds = self.kinds.intersection(kinds);
        self.units.push(unit);
        self.is_in[unit.index()] = true;
        Ok(())
    }

    /// Ends the sub-path: places it, in parts if it must be.
    fn finish(&mut self) -> Result<(), PlaceError> {
        let sub_path = std::mem::take(&mut self.units);
        let mut parts: Vec<&[UnitId]> = vec![&sub_path];
        while let Some(part) = parts.pop() {
            let Some(&first) = part.first() else { continue };
            if let Some(device) = self.device_for(part) {
                for &unit in part {
                    self.placed.assign(unit, device);
                }
            } else if part.len() == 1 {
                return Err(self.placed.assignment().infeasible(first));
            } else {
                let (near, far) = part.split_at(part.len().div_ceil(2));
                parts.extend([far, near]);
            }
        }
        self.units = sub_path;
        self.units.clear();
        self.kinds = self.present;
        Ok(())
    }

    fn device_for(&self, part: &[UnitId]) -> Option<placebench_datasets::DeviceId> {
        let units = self.instance.units();
        let kinds = part.iter().fold(KindSet::ALL, |kinds, &unit| kinds.intersection(units.kinds(unit)));
        let demand = part.iter().fold(0u64, |sum, &unit| sum.saturating_add(units.demand_bytes(unit)));
        let mut work = Work::default();
        part.iter().for_each(|&unit| work.add(&Work::of_unit(self.instance, unit)));
        self.placed.least_loaded(kinds, demand, &work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;

    #[test]
    fn each_path_goes_as_a_whole_to_the_device_with_least_assigned() {
        // op0(1) ─▶ op1(2) ─▶ op3(1) ─▶ op5(1)      op6(4)
        //    └────▶ op2(5) ─▶ op3 ────▶ op4(9)
        // Path 4 3 2 0 (see path_extraction.rs): 16 ops to d0 (both 0, lowest id): 16 / 2 = 8 busy.
        // Path 5 3 1 0: op3 and op0 are placed, sub-paths {5} and {1}: op5 to d1: 1 / 1 = 1; op1 to d1: 3.
        // op6 is isolated: to d1.
        let graph = example::graph(
            &[1.0, 2.0, 5.0, 1.0, 9.0, 1.0, 4.0],
            &[(0, 1, 1), (0, 2, 1), (1, 3, 1), (2, 3, 1), (3, 4, 1), (3, 5, 1)],
            &[],
        );
        let instance = Instance::new(graph, example::cluster(&[2.0, 1.0], 1.0)).unwrap();
        let decision = IteratedCriticalPath.place(&instance, &PlaceContext::default()).unwrap();
        assert_eq!(example::devices(&decision), [0, 1, 0, 0, 0, 1, 1]);
    }
}
