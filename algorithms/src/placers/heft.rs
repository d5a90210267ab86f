//! HEFT: heterogeneous earliest finish time.

use placebench_datasets::Instance;

use super::{ListScheduling, Priority, Selection};
use crate::fairness::Assumption;
use crate::ranks::Average;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Schedules the ops in the order of their upward ranks, each on the device where it finishes first, in the earliest gap
/// there that is long enough.
///
/// # Reference
/// H. Topcuoglu, S. Hariri, M.-Y. Wu, *Performance-Effective and Low-Complexity Task Scheduling for Heterogeneous
/// Computing*, IEEE Transactions on Parallel and Distributed Systems 13(3), 2002, 260–274, doi:10.1109/71.993206; with
/// device kinds, memory and colocation as in L. Laich, *Graph Partitioning and Scheduling for Distributed Dataflow
/// Computation*, University of Stuttgart 2017, §4.3.
///
/// # Complexity
/// O(edges · devices + ops · (log ops + devices · log ops)) time: a slot is found in time logarithmic in the ops that the
/// device already has, and only on devices that would win if they were free. Memory: 24 bytes an op, up to 48 for a gap, and
/// keys to sort by; 60 bytes an op in all for a million ops on 100 devices.
///
/// # Ties
/// Equal ranks: topological order. Equal finish times: the lowest device id.
///
/// # Deviations
/// - Topcuoglu et al. average `ops / speed` over the devices, L divides ops by the mean speed (Eq. 4.2), about 41 % less for
///   speeds U\[10, 100\]: the parameter `average`, by default theirs. Only devices of a kind allowed to the op count.
/// - A colocation group goes where its first member in rank order finishes first among the devices that can hold the whole
///   group; the others get a slot there when their rank comes (L §4.3).
/// - Sends that cost something are not planned for: L adds them to the costs of the send node, which HEFT does not have.
/// - The published algorithm does not say what happens to ops that take no time: here they lie between other ops,
///   never inside one.
#[derive(Clone, Copy, Debug)]
pub struct Heft {
    /// How costs are averaged for the upward rank.
    pub average: Average,
}

impl Algorithm for Heft {
    const NAME: &str = "heft";
    const SUMMARY: &str = "by upward rank, on the device of the earliest finish, with insertion";
    const SOURCE: &str = "Topcuoglu et al. 2002, L §4.3";
    const ASSUMES: &[Assumption] = &[Assumption::NoMemory];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { average: Average::param(params, Average::Time)? })
    }
}

impl Placer for Heft {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let list = ListScheduling {
            priority: Priority::UpwardRank,
            selection: Selection::EarliestFinish,
            average: self.average,
            ..ListScheduling::with_defaults()
        };
        list.place(instance, context)
    }

    fn makes_plan(&self) -> bool {
        true
    }
}
