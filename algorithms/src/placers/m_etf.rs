//! m-ETF: earliest task first under memory limits.

use placebench_datasets::Instance;

use super::{ListScheduling, Pick, Priority, Selection};
use crate::fairness::{Assumption, Exception, Law};
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Schedules, of all pairs of a ready op and a device with memory for it, the one that starts first.
///
/// # Reference
/// B. Jeon, L. Cai, P. Srivastava, J. Jiang, X. Ke, Y. Meng, C. Xie, I. Gupta, *Baechi: Fast Device Placement of Machine
/// Learning Graphs*, 11th ACM Symposium on Cloud Computing (SoCC), 2020, 416–430, doi:10.1145/3419111.3421302, after Hwang et al. 1989 (see [`Etf`](super::Etf)).
///
/// # Complexity
/// As [`Etf`](super::Etf).
///
/// Measured: 0.21 s for 36 k ops with 16 k edges on 100 devices, 0.45 s for 100 k ops with 448 k edges on 50, 2.7 s for a chain
/// of 1 M ops on 100 (CPU time of one thread of a shared x86-64 server; HEFT: 0.06, 0.11 and 0.26 s).
///
/// # Ties
/// Equal starts: topological order; only in this it differs from [`Etf`](super::Etf), which here respects memory too. Of an
/// op's devices with equal starts: the one where it finishes first, then the lowest id; the published devices are equal, so
/// that its rule leaves this open.
///
/// # Deviations
/// - Under the memory rule static, memory is what L §4.1 says that a unit demands, and is never freed.
/// - The authors measure an op's permanent and temporary memory, and free what no op needs any more. Under the memory rule
///   peak, permanent is the resident memory of a unit and those of its output tensors that would be in memory at the
///   instant when memory is shortest, if one device ran all ops in topological order: in training mostly what the backward
///   pass needs. Temporary are the inputs of an op. A device takes units as long as all permanent memory there and the largest
///   temporary one fit. A run may still need more.
/// - Device kinds and colocation as in [`Heft`](super::Heft).
#[derive(Clone, Copy, Debug)]
pub struct MEtf;

impl Algorithm for MEtf {
    const NAME: &str = "m_etf";
    const SUMMARY: &str = "ETF under memory limits";
    const SOURCE: &str = "Jeon et al. 2020";
    const ASSUMES: &[Assumption] = &[Assumption::EqualProcessors, Assumption::EqualLinks, Assumption::NoKinds];
    const EXCEPTIONS: &[Exception] =
        &[Exception::new(Law::RelabelledOps, "equal starts go by topological order, and numbers choose which one")];

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl Placer for MEtf {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let list = ListScheduling {
            priority: Priority::Topological,
            pick: Pick::Pair,
            selection: Selection::EarliestStart,
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
