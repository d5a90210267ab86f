//! High-degree (are) replicated first.

use placebench_datasets::format::FormatError;
use placebench_datasets::stream::EdgeStream;

use super::degrees::{DegreeSource, Degrees};
use super::edge_pass::{self, State};
use super::{AssignedEdge, EdgePartitioner, StreamError, VertexCut};
use crate::partition::PartitionRequest;
use crate::{Algorithm, Params, SpecError};

/// Puts an edge where its ends have replicas already, preferably that of lower degree, weighed against balance.
///
/// The score of block p for edge (u, v) is g(u, p) + g(v, p) + λ · (max − |p|) / (1 + max − min), where g(u, p) is
/// 2 − θ(u) if u has a replica on p and otherwise 0, and θ(u) = deg(u) / (deg(u) + deg(v)) in floating point.
///
/// # Reference
/// F. Petroni, L. Querzoni, K. Daudjee, S. Kamali, G. Iacoboni: HDRF: Stream-based partitioning for power-law graphs. CIKM
/// 2015, doi:10.1145/2806416.2806424.
///
/// # Complexity
/// O(edges · (replicas of an end + blocks / 64 + log blocks)). 8 · ⌈blocks / 64⌉ + 4 bytes a vertex and 60 a block.
///
/// # Ties
/// The least loaded block, then the lowest id.
///
/// # Deviations
/// The paper's ε in the balance term is 1, as in its authors' code. λ is no more than a preference, so that a full block, with
/// [`PartitionRequest::capacity`] of the edges, is passed over. Sizes are relative to the blocks' shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hdrf {
    /// Weight of balance, at least 0. Above 1 it can outweigh replicas.
    pub lambda: f64,
    /// Whether degrees are those so far, as in the paper, or known beforehand.
    pub degrees: DegreeSource,
}

impl Algorithm for Hdrf {
    const NAME: &str = "hdrf";
    const SUMMARY: &str = "vertex cut: each edge where its ends are, preferably that of lower degree";
    const SOURCE: &str = "Petroni et al. 2015";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let lambda = params.number("lambda", 1.0, 0.0.., "weight of balance")?;
        Ok(Self { lambda, degrees: DegreeSource::param(params, DegreeSource::Partial)? })
    }
}

impl EdgePartitioner for Hdrf {
    fn partition_edges(
        &self,
        stream: &mut dyn EdgeStream,
        request: &PartitionRequest,
        sink: &mut dyn FnMut(AssignedEdge) -> Result<(), FormatError>,
    ) -> Result<VertexCut, StreamError> {
        let degrees = Degrees::new(stream, self.degrees, &request.stop)?;
        edge_pass::partition(stream, request, degrees, sink, |state, a, b| Some(self.choose(state, a, b)))
    }
}

impl Hdrf {
    /// Blocks on which the same ends have replicas differ only in their load, so that the least loaded of each such class
    /// are all that need be scored.
    #[inline]
    fn choose(&self, state: &mut State, a: u32, b: u32) -> usize {
        let (of_a, of_b) = state.degrees.of_ends(a, b);
        let sum = f64::from(of_a) + f64::from(of_b);
        let (gain_a, gain_b) = (2.0 - f64::from(of_a) / sum, 2.0 - f64::from(of_b) / sum);
        let loads = &state.loads;
        let most = loads.most();
        let per_edge = self.lambda / (1.0 + most - loads.relative(loads.least()));
        let score = |block: usize, gain: f64| gain + per_edge * (most - loads.relative(block));
        let most_balance = score(loads.least(), 0.0);
        let mut best = loads.least_with_room(1);
        let mut best_score = score(best, 0.0);
        // A class: which of the ends have no replica there.
        let mut consider = |gain: f64, not_a: u64, not_b: u64| {
            // No block of the class can do better than the least loaded of all would.
            if gain + most_balance < best_score {
                return;
            }
            let Some(block) = state.least_of(a, b, |a, b| (a ^ not_a) & (b ^ not_b)) else { return };
            let found = score(block, gain);
            let key = |block: usize| (loads.relative(block), block);
            if found > best_score || (found == best_score && key(block) < key(best)) {
                (best, best_score) = (block, found);
            }
        };
        consider(gain_a + gain_b, 0, 0);
        consider(gain_a, 0, !0);
        consider(gain_b, !0, 0);
        best
    }
}
