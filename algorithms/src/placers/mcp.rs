//! MCP: modified critical path.

use placebench_datasets::Instance;

use super::{ListScheduling, Priority, Selection};
use crate::fairness::Assumption;
use crate::ranks::Average;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Schedules the ops in the order of their latest possible starts, each on the device where it starts first, in the
/// earliest gap there that is long enough.
///
/// # Reference
/// M.-Y. Wu, D. D. Gajski, *Hypertool: A Programming Aid for Message-Passing Systems*, IEEE Transactions on Parallel and
/// Distributed Systems 1(3), 1990, 330–343, doi:10.1109/71.80160.
///
/// # Complexity
/// As [`Heft`](super::Heft).
///
/// Measured: 0.05 s for 36 k ops with 16 k edges on 100 devices, 0.12 s for 100 k ops with 448 k edges on 50, 0.21 s for a chain
/// of 1 M ops on 100 (CPU time of one thread of a shared x86-64 server; HEFT: 0.06, 0.11 and 0.26 s).
///
/// # Ties
/// Equal latest starts: the op with the earliest latest start among its successors, then topological order. Equal starts:
/// the device where the op finishes first, then the lowest id; the published processors are equal, so that its rule leaves
/// this open.
///
/// # Deviations
/// - Latest starts come from average costs: the published algorithm knows one kind of processor. It therefore does not see
///   that a device is slow, and takes it if it is idle.
/// - Ties of latest starts are published as a comparison of sorted lists over all descendants, which takes quadratic memory;
///   the list's first two entries decide here.
/// - Device kinds, memory and colocation as in [`Heft`](super::Heft).
#[derive(Clone, Copy, Debug)]
pub struct Mcp {
    /// How costs are averaged before ops are placed.
    pub average: Average,
}

impl Algorithm for Mcp {
    const NAME: &str = "mcp";
    const SUMMARY: &str = "by latest start, on the device of the earliest start";
    const SOURCE: &str = "Wu, Gajski 1990";
    const ASSUMES: &[Assumption] =
        &[Assumption::EqualProcessors, Assumption::EqualLinks, Assumption::NoKinds, Assumption::NoMemory];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { average: Average::param(params, Average::Time)? })
    }
}

impl Placer for Mcp {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let list = ListScheduling {
            priority: Priority::Alap,
            selection: Selection::EarliestStart,
            average: self.average,
            ..ListScheduling::with_defaults()
        };
        list.place(instance, context)
    }

    fn makes_plan(&self) -> bool {
        true
    }
}
