//! m-SCT: small communication times under memory limits.

use placebench_datasets::Instance;

use super::{FavouriteChildren, ListScheduling, Pick, Priority, Selection};
use crate::fairness::{Assumption, Exception, Law};
use crate::ranks::Average;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// As [`MEtf`](super::MEtf), but a device waits for the favourite child of its last op: while that is ready, may run there
/// and could start nowhere earlier, the device takes only it or an urgent op, one whose inputs are on all devices when it
/// starts. Favourite children come from a linear program: see [`FavouriteChildren`].
///
/// # Reference
/// B. Jeon, L. Cai, P. Srivastava, J. Jiang, X. Ke, Y. Meng, C. Xie, I. Gupta, *Baechi: Fast Device Placement of Machine
/// Learning Graphs*, 11th ACM Symposium on Cloud Computing (SoCC), 2020, 416–430, doi:10.1145/3419111.3421302, after C. Hanen, A. Munier, *An Approximation
/// Algorithm for Scheduling Dependent Tasks on m Processors with Small Communication Delays*, INRIA/IEEE Symposium on Emerging
/// Technologies and Factory Automation, 1995, 167–189, doi:10.1109/ETFA.1995.496772. Details as in the authors' code
/// where the paper is silent: when a device waits, and what is urgent.
///
/// # Complexity
/// As [`Etf`](super::Etf) with two queues a device, and the linear programs, which take most of the time.
///
/// Measured: 0.53 s for 36 k ops with 16 k edges on 100 devices, 2.5 s for 100 k ops with 448 k edges on 50, 7.3 s for a chain
/// of 1 M ops on 100 (CPU time of one thread of a shared x86-64 server; HEFT: 0.06, 0.11 and 0.26 s).
///
/// # Ties
/// Equal starts: a favourite child for which its device waits, then topological order, then the device where the op
/// finishes first, then the lowest id; the published devices are equal, so that its rule leaves the last two open. Of two
/// edges that compete for a favourite child: the one with the smaller x.
///
/// # Deviations
/// - The linear program is split into windows of the topological order, since it does not scale: a graph with more edges than `window`
///   has no favourite children across windows, and what the program says of one window is not the optimum of the whole.
/// - Times in the program are averages over devices.
/// - The authors solve by interior points too, but with MOSEK; in either case x is some optimum of many.
/// - Under the memory rule static, memory is what L §4.1 says that a unit demands, and is never freed.
/// - The authors measure an op's permanent and temporary memory, and free what no op needs any more. Under the memory rule
///   peak, permanent is the resident memory of a unit and those of its output tensors that would be in memory at the
///   instant when memory is shortest, if one device ran all ops in topological order: in training mostly what the backward
///   pass needs. Temporary are the inputs of an op. A device takes units as long as all permanent memory there and the largest
///   temporary one fit. A run may still need more.
/// - Device kinds and colocation as in [`Heft`](super::Heft).
#[derive(Clone, Copy, Debug)]
pub struct MSct {
    /// How favourite children are found.
    pub favourites: FavouriteChildren,
    /// How costs are averaged before ops are placed.
    pub average: Average,
}

impl Algorithm for MSct {
    const NAME: &str = "m_sct";
    const SUMMARY: &str = "ETF under memory limits, but devices wait for favourite children";
    const SOURCE: &str = "Jeon et al. 2020";
    const ASSUMES: &[Assumption] = &[Assumption::EqualProcessors, Assumption::EqualLinks, Assumption::NoKinds];
    const EXCEPTIONS: &[Exception] =
        &[Exception::new(Law::RelabelledOps, "equal starts go by topological order, and numbers choose which one")];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { favourites: FavouriteChildren::params(params)?, average: Average::param(params, Average::Time)? })
    }
}

impl Placer for MSct {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let list = ListScheduling {
            priority: Priority::Topological,
            pick: Pick::Pair,
            selection: Selection::FavouriteChild,
            insertion: false,
            average: self.average,
            favourites: self.favourites,
            keeps_peaks: true,
        };
        list.place(instance, context)
    }

    fn makes_plan(&self) -> bool {
        true
    }
}
