//! CPOP: critical path on a processor.

use placebench_datasets::Instance;

use super::{ListScheduling, Priority, Selection};
use crate::fairness::Assumption;
use crate::ranks::Average;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Schedules the ready op with the longest path through it, the ops of the critical path on the one device that takes
/// least time for all of them, the others where they finish first; with insertion.
///
/// # Reference
/// H. Topcuoglu, S. Hariri, M.-Y. Wu, *Performance-Effective and Low-Complexity Task Scheduling for Heterogeneous
/// Computing*, IEEE Transactions on Parallel and Distributed Systems 13(3), 2002, 260–274, doi:10.1109/71.993206, §4.2.
///
/// # Complexity
/// As [`Heft`](super::Heft), and O(path · devices) for the critical path.
///
/// Measured: 0.11 s for 36 k ops with 16 k edges on 100 devices, 0.15 s for 100 k ops with 448 k edges on 50, 0.37 s for a chain
/// of 1 M ops on 100 (CPU time of one thread of a shared x86-64 server; HEFT: 0.06, 0.11 and 0.26 s).
///
/// # Ties
/// Equal priorities: topological order. Equal finish times, and devices that take equally long for the critical path: the
/// lowest id. Several critical paths: the one from the source of the lowest id, then along the first edge.
///
/// # Deviations
/// - The critical path is walked along the edges that attain the upward rank: sums of both ranks along one path are
///   equal only on paper.
/// - Where some op of the critical path may not run on a device, the device is judged by the length of the path with
///   that op on its fastest device and average transfers to and from it.
/// - An op of the critical path that does not fit on its device goes where it finishes first.
/// - Device kinds, memory and colocation as in [`Heft`](super::Heft).
#[derive(Clone, Copy, Debug)]
pub struct Cpop {
    /// How costs are averaged before ops are placed.
    pub average: Average,
}

impl Algorithm for Cpop {
    const NAME: &str = "cpop";
    const SUMMARY: &str = "the critical path on one device, the rest by earliest finish";
    const SOURCE: &str = "Topcuoglu et al. 2002";
    const ASSUMES: &[Assumption] = &[Assumption::NoMemory];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { average: Average::param(params, Average::Time)? })
    }
}

impl Placer for Cpop {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let list = ListScheduling {
            priority: Priority::UpwardDownward,
            selection: Selection::CriticalPath,
            average: self.average,
            ..ListScheduling::with_defaults()
        };
        list.place(instance, context)
    }

    fn makes_plan(&self) -> bool {
        true
    }
}
