//! Linear deterministic greedy.

use placebench_datasets::UndirectedGraph;
use placebench_datasets::stream::VertexStream;

use super::loads::BlockLoads;
use super::vertex_pass::{self, Rule, passes};
use super::{StreamError, StreamOrder};
use crate::partition::{Partition, PartitionError, PartitionRequest, Partitioner};
use crate::{Algorithm, Params, SpecError};

/// Puts each vertex where most of its neighbours are, weighed by how empty the block is.
///
/// The score of a block is w(v, P) · (1 − |P| / C): the weight of the edges to it, times the share of its capacity that is
/// left.
///
/// # Reference
/// I. Stanton, G. Kliot: Streaming graph partitioning for large distributed graphs. KDD 2012,
/// doi:10.1145/2339530.2339722. Restreaming: J. Nishimura, J. Ugander: Restreaming graph partitioning. KDD 2013,
/// doi:10.1145/2487575.2487696. B §6.3.1.
///
/// # Complexity
/// O(vertices · log blocks + edges) a pass. From a stream, 4 bytes a vertex and 40 a block of memory.
///
/// # Ties
/// The least loaded block, then the lowest id.
///
/// # Deviations
/// C is [`PartitionRequest::capacity`], ⌈(1 + ε) · W / k⌉, and no block exceeds it, the vertex's own weight included, as long as any
/// block has room; a vertex for which none has goes to the least loaded. That cannot happen if no vertex weighs more
/// than ε · W / k, nor with unit weights. Vertices and edges have weights. The load is relative to a block's share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ldg {
    /// Order in which a graph in memory is streamed; a file has its own.
    pub order: StreamOrder,
    /// Number of times that the stream is read, at least 1; the last decides. In later passes, neighbours still to come
    /// count where the pass before put them.
    pub passes: u32,
}

impl Algorithm for Ldg {
    const NAME: &str = "ldg";
    const SUMMARY: &str = "each vertex of a stream where most neighbours are, weighed by the room left";
    const SOURCE: &str = "Stanton, Kliot 2012";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { order: StreamOrder::param(params)?, passes: passes(params)? })
    }
}

impl Ldg {
    /// A block for each vertex of a stream.
    ///
    /// # Errors
    /// If the stream fails, or the request's token stops it.
    pub fn partition_stream(
        &self,
        stream: &mut (impl VertexStream + ?Sized),
        request: &PartitionRequest,
    ) -> Result<Partition, StreamError> {
        vertex_pass::partition(stream, request, self.passes, &RoomLeft)
    }
}

impl Partitioner for Ldg {
    fn partition(&self, graph: &UndirectedGraph, request: &PartitionRequest) -> Result<Partition, PartitionError> {
        request.check()?;
        let order = self.order.vertices(graph, request.seed);
        let mut stream = vertex_pass::rows(graph, order.as_deref());
        Ok(self.partition_stream(&mut stream, request)?)
    }
}

struct RoomLeft;

impl Rule for RoomLeft {
    #[inline]
    fn term(&self, loads: &BlockLoads, block: usize) -> f64 {
        match loads.capacity(block) {
            0 => 0.0,
            capacity => 1.0 - loads.loads()[block] as f64 / capacity as f64,
        }
    }

    #[inline]
    fn score(&self, affinity: f64, _weight: f64, term: f64) -> f64 {
        affinity * term
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_run_example() {
        // C = 3. Vertex 0 opens block 0 (tie of loads, lowest id), 1 has no placed neighbour and opens block 1, 2 follows
        // 0 and 3 follows 1; 4 has both blocks' favour equally, 1 · (1 − 2/3) each, and goes to the lower id; 5 has
        // two neighbours in the full block 0, and goes to 1.
        let edges = [(0, 2, 1), (1, 3, 1), (4, 0, 1), (4, 1, 1), (5, 0, 1), (5, 2, 1)];
        let graph = UndirectedGraph::from_edges(6, edges.into_iter(), None).unwrap();
        let partition = Ldg::with_defaults().partition(&graph, &PartitionRequest::new(2, 0.0, 0)).unwrap();
        assert_eq!(partition.block_of, [0, 1, 0, 1, 0, 1]);
    }
}
