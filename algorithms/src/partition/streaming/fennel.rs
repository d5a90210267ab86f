//! Fennel.

use placebench_datasets::UndirectedGraph;
use placebench_datasets::stream::VertexStream;

use super::loads::BlockLoads;
use super::vertex_pass::{self, Rule, passes};
use super::{StreamError, StreamOrder};
use crate::partition::{Partition, PartitionError, PartitionRequest, Partitioner};
use crate::{Algorithm, Params, SpecError};

/// Puts each vertex where most of its neighbours are, less the marginal cost of the block's load.
///
/// The score of a block is w(v, P) − w(v) · α · γ · |P|^(γ − 1): the weight of the edges to it, less what the cost
/// α · |P|^γ grows by.
///
/// # Reference
/// C. Tsourakakis, C. Gkantsidis, B. Radunovic, M. Vojnovic: FENNEL: Streaming graph partitioning for massive scale graphs.
/// WSDM 2014, doi:10.1145/2556195.2556213. Restreaming: J. Nishimura, J. Ugander: Restreaming graph partitioning. KDD 2013,
/// doi:10.1145/2487575.2487696.
///
/// # Complexity
/// O(vertices · log blocks + edges) a pass. From a stream, 4 bytes a vertex and 40 a block of memory.
///
/// # Ties
/// The least loaded block, then the lowest id.
///
/// # Deviations
/// α = √k · m / n^1.5 for γ = 1.5 as in the paper, and m · k^(γ − 1) / n^γ in general. There is no standard for weights:
/// here m is the weight of all edges, n and |P| are weights of vertices, and a vertex pays the marginal cost times its own
/// weight, which is that of as many unit vertices, to first order. With shares, |P| is relative to the block's share.
/// The paper's ν is 1 + ε: no block exceeds [`PartitionRequest::capacity`], as in [`Ldg`](super::Ldg). α stays
/// the same in all passes, since the capacity is strict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fennel {
    /// Exponent of the cost of a load, at least 1.
    pub gamma: f64,
    /// Order in which a graph in memory is streamed; a file has its own.
    pub order: StreamOrder,
    /// Number of times that the stream is read, at least 1; the last decides. In later passes, neighbours still to come
    /// count where the pass before put them.
    pub passes: u32,
}

impl Algorithm for Fennel {
    const NAME: &str = "fennel";
    const SUMMARY: &str = "each vertex of a stream where most neighbours are, less the marginal cost of the load";
    const SOURCE: &str = "Tsourakakis et al. 2014";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let gamma = params.number("gamma", 1.5, 1.0.., "exponent of the cost of a load")?;
        Ok(Self { gamma, order: StreamOrder::param(params)?, passes: passes(params)? })
    }
}

impl Fennel {
    /// A block for each vertex of a stream.
    ///
    /// # Errors
    /// If the stream fails, or the request's token stops it.
    pub fn partition_stream(
        &self,
        stream: &mut (impl VertexStream + ?Sized),
        request: &PartitionRequest,
    ) -> Result<Partition, StreamError> {
        let (n, m) = (stream.total_vertex_weight() as f64, stream.total_edge_weight() as f64);
        let alpha =
            if n > 0.0 { m * f64::from(request.blocks).powf(self.gamma - 1.0) / n.powf(self.gamma) } else { 0.0 };
        let rule = MarginalCost { factor: alpha * self.gamma, exponent: self.gamma - 1.0 };
        vertex_pass::partition(stream, request, self.passes, &rule)
    }
}

impl Partitioner for Fennel {
    fn partition(&self, graph: &UndirectedGraph, request: &PartitionRequest) -> Result<Partition, PartitionError> {
        request.check()?;
        let order = self.order.vertices(graph, request.seed);
        let mut stream = vertex_pass::rows(graph, order.as_deref());
        Ok(self.partition_stream(&mut stream, request)?)
    }
}

struct MarginalCost {
    /// α · γ.
    factor: f64,
    /// γ − 1.
    exponent: f64,
}

impl Rule for MarginalCost {
    #[inline]
    fn term(&self, loads: &BlockLoads, block: usize) -> f64 {
        let load = loads.relative(block);
        // A square root is exact on every platform, and a power is not.
        let power = if self.exponent == 0.5 { load.sqrt() } else { load.powf(self.exponent) };
        if load.is_finite() { self.factor * power } else { 0.0 }
    }

    #[inline]
    fn score(&self, affinity: f64, weight: f64, term: f64) -> f64 {
        affinity - weight * term
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_run_example() {
        // n = 4, m = 4, k = 2: α = √2 · 4 / 8 = 0.7071, αγ = 1.0607. A square 0-1-2-3, ε large.
        // 0 → block 0. 1: 1 − 1.0607 · 1 = −0.06 there, 0 in block 1: block 1. 2 (neighbour 1): 1 − 1.0607 in block 1,
        // −1.0607 in block 0: block 1. 3 (neighbours 0, 2): 1 − 1.0607 in block 0, 1 − 1.0607 · √2 in block 1: block 0.
        let edges = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 0, 1)];
        let graph = UndirectedGraph::from_edges(4, edges.into_iter(), None).unwrap();
        let partition = Fennel::with_defaults().partition(&graph, &PartitionRequest::new(2, 1.0, 0)).unwrap();
        assert_eq!(partition.block_of, [0, 1, 1, 0]);
    }

    #[test]
    fn scaling_all_weights_changes_nothing() {
        let edges = |scale| (0..400u32).map(move |i| (i % 40, (i * i + 7 * i + 3) % 40, scale));
        let graph = |edge, vertex| UndirectedGraph::from_edges(40, edges(edge), Some(vec![vertex; 40])).unwrap();
        let blocks =
            |graph| Fennel::with_defaults().partition(&graph, &PartitionRequest::new(4, 0.1, 0)).unwrap().block_of;
        assert_eq!(blocks(graph(1, 1)), blocks(graph(16, 1)));
        assert_eq!(blocks(graph(1, 1)), blocks(graph(1, 16)));
    }
}
