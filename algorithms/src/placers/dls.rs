//! DLS: dynamic level scheduling.

use placebench_datasets::Instance;

use super::{ListScheduling, Pick, Priority, Selection};
use crate::fairness::Assumption;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Schedules, of all pairs of a ready op and a device, the one of the largest dynamic level: static level of the op, less its
/// start there, plus what it takes on a median device more than there.
///
/// # Reference
/// G. C. Sih, E. A. Lee, *A Compile-Time Scheduling Heuristic for Interconnection-Constrained Heterogeneous Processor
/// Architectures*, IEEE Transactions on Parallel and Distributed Systems 4(2), 1993, 175–187, doi:10.1109/71.207593,
/// §III, without their later refinements (descendant consideration, resource scarcity).
///
/// # Complexity
/// As [`Etf`](super::Etf): an op's level on a device falls only with the device's time, by the same amount for all ops that
/// wait for the device, so that their order stays.
///
/// Measured: 0.95 s for 36 k ops with 16 k edges on 100 devices, 0.61 s for 100 k ops with 448 k edges on 50, 2.9 s for a chain
/// of 1 M ops on 100 (CPU time of one thread of a shared x86-64 server; HEFT: 0.06, 0.11 and 0.26 s).
///
/// # Ties
/// Equal dynamic levels: the larger static level, then topological order, then the lowest device id.
///
/// # Deviations
/// - Sih and Lee schedule transfers on links; here they are free of contention.
/// - The median is over the devices of the kinds allowed to the op, where theirs takes infinite times in.
/// - Device kinds, memory and colocation as in [`Heft`](super::Heft).
#[derive(Clone, Copy, Debug)]
pub struct Dls;

impl Algorithm for Dls {
    const NAME: &str = "dls";
    const SUMMARY: &str = "the pair of a ready op and a device of the largest dynamic level";
    const SOURCE: &str = "Sih, Lee 1993";
    const ASSUMES: &[Assumption] = &[Assumption::NoMemory];

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl Placer for Dls {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let list = ListScheduling {
            priority: Priority::MedianLevel,
            pick: Pick::Pair,
            selection: Selection::DynamicLevel,
            insertion: false,
            ..ListScheduling::with_defaults()
        };
        list.place(instance, context)
    }

    fn makes_plan(&self) -> bool {
        true
    }
}
