//! ETF: earliest task first.

use placebench_datasets::Instance;

use super::{ListScheduling, Pick, Priority, Selection};
use crate::fairness::Assumption;
use crate::ranks::Average;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Schedules, of all pairs of a ready op and a device, the one that starts first.
///
/// # Reference
/// J.-J. Hwang, Y.-C. Chow, F. D. Anger, C.-Y. Lee, *Scheduling Precedence Graphs in Systems with Interprocessor
/// Communication Times*, SIAM Journal on Computing 18(2), 1989, 244–257, doi:10.1137/0218016.
///
/// # Complexity
/// O(edges · devices + ops · devices · log ops): each device has its ready ops in two heaps, those that wait for inputs
/// and those that wait for the device, and an op moves from the first to the second once. Memory: up to 40 bytes for each
/// device and op that is ready at a time.
///
/// Measured: 1.1 s for 36 k ops with 16 k edges on 100 devices, 0.38 s for 100 k ops with 448 k edges on 50, 2.7 s for a chain
/// of 1 M ops on 100 (CPU time of one thread of a shared x86-64 server; HEFT: 0.06, 0.11 and 0.26 s).
///
/// # Ties
/// Equal starts: the larger static level (longest path of average times, without transfers), then topological order. Of an
/// op's devices with equal starts: the one where it finishes first, then the lowest id. The published processors are equal,
/// so that its rule leaves this open; the lowest id alone would send the first ops to whatever device is listed first,
/// however slow.
///
/// # Deviations
/// - The published algorithm knows one kind of processor; here static levels come from average costs, and an idle device is
///   taken even where a fast one that is busy would finish sooner.
/// - Device kinds, memory and colocation as in [`Heft`](super::Heft).
#[derive(Clone, Copy, Debug)]
pub struct Etf {
    /// How costs are averaged before ops are placed.
    pub average: Average,
}

impl Algorithm for Etf {
    const NAME: &str = "etf";
    const SUMMARY: &str = "the pair of a ready op and a device that starts first";
    const SOURCE: &str = "Hwang et al. 1989";
    const ASSUMES: &[Assumption] = &[Assumption::EqualProcessors, Assumption::NoKinds, Assumption::NoMemory];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { average: Average::param(params, Average::Time)? })
    }
}

impl Placer for Etf {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let list = ListScheduling {
            priority: Priority::StaticLevel,
            pick: Pick::Pair,
            selection: Selection::EarliestStart,
            insertion: false,
            average: self.average,
            ..ListScheduling::with_defaults()
        };
        list.place(instance, context)
    }

    fn makes_plan(&self) -> bool {
        true
    }
}
