//! m-TOPO: topological order under memory limits.

use placebench_datasets::Instance;

use super::{ListScheduling, Priority, Selection};
use crate::fairness::{Assumption, Exception, Law};
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Fills one device after the other with ops in topological order, each up to an equal share of the memory that all ops
/// demand: the mean of a device plus the largest demand of a unit.
///
/// # Reference
/// B. Jeon, L. Cai, P. Srivastava, J. Jiang, X. Ke, Y. Meng, C. Xie, I. Gupta, *Baechi: Fast Device Placement of Machine
/// Learning Graphs*, 11th ACM Symposium on Cloud Computing (SoCC), 2020, 416–430, doi:10.1145/3419111.3421302.
///
/// # Complexity
/// O(edges · devices + ops · log ops).
///
/// Measured: 0.004 s for 36 k ops with 16 k edges on 100 devices, 0.02 s for 100 k ops with 448 k edges on 50, 0.15 s for a chain
/// of 1 M ops on 100 (CPU time of one thread of a shared x86-64 server; HEFT: 0.06, 0.11 and 0.26 s).
///
/// # Ties
/// Ops come in the graph's topological order. Devices are filled from the fastest on: in the order of how many times as long
/// as the fastest devices they need for what they may run, then by id; those that need more than ten times as long, or may
/// run less than a tenth of the ops, come last. The published devices are equal, so that their order is left open.
///
/// # Deviations
/// - An op that may not run on the current device, or does not fit into its memory, goes to the next one that may take it;
///   the current device stays the same. Where no feasible device has its share left, the one with the least on it takes it.
/// - A device that no op may run on does not count in the mean.
/// - Shares count what L §4.1 says that a unit demands; so does memory under the memory rule static. Ops that demand none
///   all fit the first device.
/// - The plan runs each device's ops in topological order.
/// - The authors measure an op's permanent and temporary memory, and free what no op needs any more. Under the memory rule
///   peak, permanent is the resident memory of a unit and those of its output tensors that would be in memory at the
///   instant when memory is shortest, if one device ran all ops in topological order: in training mostly what the backward
///   pass needs. Temporary are the inputs of an op. A device takes units as long as all permanent memory there and the largest
///   temporary one fit. A run may still need more.
/// - Device kinds and colocation as in [`Heft`](super::Heft).
#[derive(Clone, Copy, Debug)]
pub struct MTopo;

impl Algorithm for MTopo {
    const NAME: &str = "m_topo";
    const SUMMARY: &str = "device after device filled in topological order to equal shares of memory";
    const SOURCE: &str = "Jeon et al. 2020";
    const ASSUMES: &[Assumption] = &[Assumption::EqualProcessors, Assumption::EqualLinks, Assumption::NoKinds];
    const EXCEPTIONS: &[Exception] =
        &[Exception::new(Law::RelabelledOps, "it fills devices in a topological order, and numbers choose which one")];

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl Placer for MTopo {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let list = ListScheduling {
            priority: Priority::Topological,
            selection: Selection::Fill,
            insertion: false,
            keeps_peaks: true,
            ..ListScheduling::with_defaults()
        };
        list.place(instance, context)
    }

    fn makes_plan(&self) -> bool {
        true
    }
}
