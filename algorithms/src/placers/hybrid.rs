//! HYBRID: bottom levels and bottom costs together.

use placebench_datasets::Instance;

use super::cats::bottom_levels;
use super::cpath::bottom_costs;
use super::criticality::{Criticality, Stealing};
use crate::fairness::{Assumption, Exception, Law};
use crate::online::{OnlinePlacer, OnlinePolicy};
use crate::{Algorithm, Params, SpecError};

/// During the run: ops on the path with most ops to the end go to fast devices; idle devices take what takes longest to the
/// end first.
///
/// Bottom levels say which ops are critical, as in [`Cats`](super::Cats); bottom costs, as in [`Cpath`](super::Cpath), order
/// the ready ops.
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
/// Those of [`Cpath`](super::Cpath). L says only that HYBRID considers the bottom level as well as the bottom cost; which of
/// them serves for what is our reading.
#[derive(Clone, Copy, Debug)]
pub struct Hybrid {
    /// Who may steal.
    pub steal: Stealing,
}

impl Algorithm for Hybrid {
    const NAME: &str = "hybrid";
    const SUMMARY: &str = "online: critical by the number of ops behind, first by the time behind";
    const SOURCE: &str = "Chronaki et al. 2017, L §8";
    const ASSUMES: &[Assumption] = &[Assumption::NoKinds, Assumption::NoMemory, Assumption::FreeTransfers];
    const EXCEPTIONS: &[Exception] =
        &[Exception::new(Law::RelabelledOps, "ops with equally many ops behind them go by number")];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { steal: Stealing::param(params)? })
    }
}

impl OnlinePlacer for Hybrid {
    fn start<'a>(&self, instance: &'a Instance) -> Box<dyn OnlinePolicy + 'a> {
        let (levels, costs) = (bottom_levels(instance.graph()), bottom_costs(instance));
        Box::new(Criticality::new(instance, self.steal, levels, costs))
    }
}
