//! PEFT: predict earliest finish time.

use placebench_datasets::Instance;

use super::{ListScheduling, Priority, Selection};
use crate::fairness::Assumption;
use crate::ranks::Average;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Schedules the ready op with the largest mean optimistic cost, on the device where its finish plus its optimistic cost is
/// least; with insertion. The optimistic cost of an op on a device is the longest of the shortest ways from there to the
/// end.
///
/// # Reference
/// H. Arabnejad, J. G. Barbosa, *List Scheduling Algorithm for Heterogeneous Systems by an Optimistic Cost Table*, IEEE
/// Transactions on Parallel and Distributed Systems 25(3), 2014, 682–694, doi:10.1109/TPDS.2013.57.
///
/// # Complexity
/// O(edges · devices) for the table, since all transfers between two devices cost the average there; devices of equal kind
/// and speed share a column. Then as [`Heft`](super::Heft). Memory: 8 bytes for each op and column.
///
/// Measured: 0.10 s for 36 k ops with 16 k edges on 100 devices, 0.22 s for 100 k ops with 448 k edges on 50, 1.3 s for a chain
/// of 1 M ops on 100 (CPU time of one thread of a shared x86-64 server; HEFT: 0.06, 0.11 and 0.26 s).
///
/// # Ties
/// Equal ranks: topological order. Equal sums: the lowest device id.
///
/// # Deviations
/// - A successor's device is of a kind allowed to it, and an op's rank is the mean over the devices of its kinds.
/// - The table does not know that colocated ops share a device.
/// - Device kinds, memory and colocation as in [`Heft`](super::Heft).
#[derive(Clone, Copy, Debug)]
pub struct Peft {
    /// How costs are averaged before ops are placed.
    pub average: Average,
}

impl Algorithm for Peft {
    const NAME: &str = "peft";
    const SUMMARY: &str = "by optimistic cost, on the device of the least finish plus optimistic cost";
    const SOURCE: &str = "Arabnejad, Barbosa 2014";
    const ASSUMES: &[Assumption] = &[Assumption::NoMemory];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { average: Average::param(params, Average::Time)? })
    }
}

impl Placer for Peft {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let list = ListScheduling {
            priority: Priority::OptimisticCost,
            selection: Selection::FinishPlusCost,
            average: self.average,
            ..ListScheduling::with_defaults()
        };
        list.place(instance, context)
    }

    fn makes_plan(&self) -> bool {
        true
    }
}
