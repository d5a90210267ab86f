//! Optimal: what every other placer is measured against, where it can be had.

use placebench_datasets::Instance;

use crate::exact::solve;
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Finds the placement and schedule of least makespan and proves that none is shorter, for graphs of some twelve ops on a few
/// devices; see [`crate::exact`].
///
/// # Reference
/// A. H. Land, A. G. Doig, *An Automatic Method of Solving Discrete Programming Problems*, Econometrica 28(3), 1960,
/// 497–520, doi:10.2307/1910129, for the method; the bounds and the dominance rules are described in [`crate::exact`].
///
/// # Complexity
/// Exponential in the ops; see [`crate::exact::solve`].
///
/// # Ties
/// Of several optimal schedules the first one found: the search tries children by least lower bound, then by earliest
/// start, then by topological position and device id.
///
/// # Deviations
/// Optimal under the network model `contention_free`. Under other models the placement is a placement like any other. Where sends
/// and receives take time, the plan has them, too, in their best order; schedulers that decide about sends themselves may take
/// longer.
#[derive(Clone, Copy, Debug)]
pub struct Optimal {
    /// Nodes of the search tree after which the search is given up.
    pub most_nodes: u64,
}

impl Algorithm for Optimal {
    const NAME: &str = "optimal";
    const SUMMARY: &str = "the proven optimum of small graphs, by branch and bound, with its schedule";
    const SOURCE: &str = "control";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let doc = "nodes of the search tree after which it is given up";
        Ok(Self { most_nodes: params.number("nodes", 20_000_000, 1.., doc)? })
    }
}

impl Placer for Optimal {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        Ok(solve(instance, self.most_nodes, &context.stop)?.decision)
    }

    fn makes_plan(&self) -> bool {
        true
    }
}
