//! CPATH: as CATS, with the time of ops instead of their number.

use placebench_datasets::{Instance, Time};

use super::criticality::{Criticality, Stealing};
use crate::fairness::Assumption;
use crate::online::{OnlinePlacer, OnlinePolicy};
use crate::ranks::{Average, AverageTransfer, average_exec_times, upward_ranks};
use crate::{Algorithm, Params, SpecError};

/// During the run: ops on the path that takes longest to the end go to fast devices, the others to slow ones.
///
/// [`Cats`](super::Cats) with the bottom cost in the place of the bottom level: the longest time that a path starting with the
/// op takes, each op at its average over the devices allowed to it, transfers not counted.
///
/// # Reference
/// K. Chronaki, A. Rico, M. Casas, M. Moretó, R. M. Badia, E. Ayguadé, J. Labarta, M. Valero, *Task Scheduling Techniques
/// for Asymmetric Multi-Core Systems*, IEEE Transactions on Parallel and Distributed Systems 28(7), 2017, 2074–2087,
/// doi:10.1109/TPDS.2016.2633347; as told by L. Laich, *Graph Partitioning and Scheduling for Distributed Dataflow
/// Computation*, University of Stuttgart 2017, ch. 8.
///
/// # Complexity
/// As [`Cats`](super::Cats).
///
/// # Ties
/// As [`Cats`](super::Cats), by bottom cost.
///
/// # Deviations
/// Those of [`Cats`](super::Cats). The original learns times while it runs; here they are known.
#[derive(Clone, Copy, Debug)]
pub struct Cpath {
    /// Who may steal.
    pub steal: Stealing,
}

impl Algorithm for Cpath {
    const NAME: &str = "cpath";
    const SUMMARY: &str = "online: ops on the path of most time to fast devices, others to slow ones";
    const SOURCE: &str = "Chronaki et al. 2017, L §8";
    const ASSUMES: &[Assumption] = &[Assumption::NoKinds, Assumption::NoMemory, Assumption::FreeTransfers];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { steal: Stealing::param(params)? })
    }
}

impl OnlinePlacer for Cpath {
    fn start<'a>(&self, instance: &'a Instance) -> Box<dyn OnlinePolicy + 'a> {
        let costs = bottom_costs(instance);
        Box::new(Criticality::new(instance, self.steal, costs.clone(), costs))
    }
}

/// The longest average time of a path that starts with each op, transfers not counted.
pub(super) fn bottom_costs(instance: &Instance) -> Vec<Time> {
    let free = AverageTransfer { latency: 0.0, inverse_rate: 0.0 };
    upward_ranks(instance.graph(), &average_exec_times(instance, Average::Time), free)
}
