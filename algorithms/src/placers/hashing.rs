//! Hashing: units go to devices in turn.

use placebench_datasets::Instance;

use crate::fairness::{Exception, Law, usable_devices};
use crate::{Algorithm, Assignment, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Deals the assignment units out to the devices in turn, groups first; where a device is not feasible, the next one is.
///
/// # Reference
/// L. Laich, *Graph Partitioning and Scheduling for Distributed Dataflow Computation*, University of Stuttgart 2017, §4.2.
///
/// # Complexity
/// O(units · devices) in the worst case, O(units) if all devices are feasible.
///
/// # Ties
/// None: the hash of a unit is the number of groups (for a group) or single ops (for an op) assigned before, modulo the
/// number of devices that some op may run on; the search for the next feasible device wraps around.
///
/// # Deviations
/// L counts from 0 again for the single ops or goes on counting (the text allows both); here it goes on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hashing;

impl Algorithm for Hashing {
    const NAME: &str = "hashing";
    const SUMMARY: &str = "deals units out to devices in turn";
    const SOURCE: &str = "L §4.2";
    const EXCEPTIONS: &[Exception] = &[
        Exception::new(Law::RelabelledDevices, "it deals units out by the numbers of devices (L §4.2)"),
        Exception::new(Law::RelabelledOps, "it deals units out in the order of their numbers (L §4.2)"),
    ];

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl Placer for Hashing {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let devices = usable_devices(instance);
        let mut assignment = Assignment::new(instance);
        for (assigned, unit) in instance.units().ids().enumerate() {
            context.stop.check_at(assigned)?;
            let (before, from_here) = devices.split_at(assigned % devices.len());
            assignment.assign_first(unit, from_here.iter().chain(before).copied())?;
        }
        Ok(Decision::placement(assignment.finish()?))
    }
}
