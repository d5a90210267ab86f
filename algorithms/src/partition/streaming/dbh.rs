//! Degree-based hashing.

use placebench_datasets::format::FormatError;
use placebench_datasets::splitmix64;
use placebench_datasets::stream::EdgeStream;

use super::degrees::{DegreeSource, Degrees};
use super::{AssignedEdge, EdgePartitioner, StreamError, VertexCut, edge_pass};
use crate::partition::PartitionRequest;
use crate::{Algorithm, Params, SpecError};

/// Puts an edge in the block that its end of lower degree hashes to, so that the hubs are replicated.
///
/// # Reference
/// C. Xie, L. Yan, W.-J. Li, Z. Zhang: Distributed power-law graph computing: theoretical and empirical analysis. NIPS 2014.
///
/// # Complexity
/// O(edges). 8 · ⌈blocks / 64⌉ + 4 bytes a vertex and 60 a block.
///
/// # Ties
/// Of ends of equal degree, the lower id. The hash depends on the request's seed.
///
/// # Deviations
/// Degrees may also be those so far: then the stream is read once. If the block is full, with [`PartitionRequest::capacity`] of the
/// edges, the edge goes to that of the other end, and if that is full too, to the least loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dbh {
    /// Whether degrees are known beforehand, as in the paper, or those so far.
    pub degrees: DegreeSource,
}

impl Algorithm for Dbh {
    const NAME: &str = "dbh";
    const SUMMARY: &str = "vertex cut: each edge where its end of lower degree hashes to";
    const SOURCE: &str = "Xie et al. 2014";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { degrees: DegreeSource::param(params, DegreeSource::Known)? })
    }
}

impl EdgePartitioner for Dbh {
    fn partition_edges(
        &self,
        stream: &mut dyn EdgeStream,
        request: &PartitionRequest,
        sink: &mut dyn FnMut(AssignedEdge) -> Result<(), FormatError>,
    ) -> Result<VertexCut, StreamError> {
        let degrees = Degrees::new(stream, self.degrees, &request.stop)?;
        let hash = BlockHash::new(request);
        edge_pass::partition(stream, request, degrees, sink, |state, a, b| {
            let (of_a, of_b) = state.degrees.of_ends(a, b);
            let (first, second) = if (of_a, a) <= (of_b, b) { (a, b) } else { (b, a) };
            let block = hash.block(first);
            Some(if state.loads.has_room(block, 1) { block } else { hash.block(second) })
        })
    }
}

/// Hashes vertices to blocks in proportion to the shares.
struct BlockHash {
    seed: u64,
    blocks: u32,
    /// Where each block's part of [0, 1) ends; empty if the parts are equal.
    ends: Vec<f64>,
}

impl BlockHash {
    fn new(request: &PartitionRequest) -> Self {
        let sum = |sum: &mut f64, share: &f64| {
            *sum += share;
            Some(*sum)
        };
        let ends = request.shares.iter().flat_map(|shares| shares.iter().scan(0.0, sum)).collect();
        Self { seed: splitmix64(request.seed), blocks: request.blocks, ends }
    }

    #[inline]
    fn block(&self, vertex: u32) -> usize {
        let hash = splitmix64(self.seed ^ u64::from(vertex));
        if self.ends.is_empty() {
            return ((u128::from(hash) * u128::from(self.blocks)) >> 64) as usize;
        }
        let point = (hash >> 11) as f64 / (1u64 << 53) as f64;
        self.ends.partition_point(|&end| end <= point).min(self.blocks as usize - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_fill_blocks_in_proportion() {
        let count = |request: &PartitionRequest| {
            let hash = BlockHash::new(request);
            let mut counts = vec![0; request.blocks as usize];
            (0..40_000).for_each(|vertex| counts[hash.block(vertex)] += 1);
            counts
        };
        // Standard deviations are below 100.
        assert!(count(&PartitionRequest::new(4, 0.0, 5)).iter().all(|&count: &i32| (count - 10_000).abs() < 500));
        let shares = PartitionRequest { shares: Some(vec![0.7, 0.0, 0.3]), ..PartitionRequest::new(3, 0.0, 5) };
        let counts = count(&shares);
        assert!((counts[0] - 28_000i32).abs() < 500 && counts[1] == 0);
    }
}
