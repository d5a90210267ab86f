//! What a partitioner is: it gets a graph and a number of blocks and answers with a block for each vertex.

use std::sync::Arc;

use placebench_datasets::{Hypergraph, UndirectedGraph};

use crate::StopToken;

/// Divides the vertices of a graph into blocks.
///
/// A partitioner is deterministic: the same graph, request and parameters give the same partition on any number of
/// threads.
pub trait Partitioner: Send + Sync {
    /// A block for every vertex. Each block stays within [`PartitionRequest::capacity`] unless the graph makes that impossible
    /// (a vertex heavier than a block); the caller judges with [`quality::imbalance`](super::quality::imbalance).
    ///
    /// # Errors
    /// [`PartitionError::Stopped`] if the request's token stops it, [`PartitionError::Unsupported`] if it cannot handle the graph.
    fn partition(&self, graph: &UndirectedGraph, request: &PartitionRequest) -> Result<Partition, PartitionError>;

    /// As [`Partitioner::partition`], with the replication factor of those that divide the edges first: replicas of a vertex
    /// that has edges, before each vertex goes to one of them.
    ///
    /// # Errors
    /// As [`Partitioner::partition`].
    fn partition_with_replicas(
        &self,
        graph: &UndirectedGraph,
        request: &PartitionRequest,
    ) -> Result<(Partition, Option<f64>), PartitionError> {
        Ok((self.partition(graph, request)?, None))
    }

    /// How it wants the tensors of a dataflow graph in [`PartitionRequest::nets`] to weigh; `None` if it does not look
    /// at nets. Who asks need not make them then.
    fn counts_nets(&self) -> Option<NetWeight> {
        None
    }

    /// Whether what it promises of a dataflow graph needs a view with all edges and vertices in topological order
    /// ([`View::keeps_order`](placebench_datasets::View::keeps_order)).
    fn needs_order(&self) -> bool {
        false
    }
}

/// What a tensor weighs as a net. Nets of a hypergraph have their own weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetWeight {
    /// What an edge along it weighs: see [`View::nets`](placebench_datasets::View::nets).
    Edge,
    /// Its bytes: see [`View::hypergraph`](placebench_datasets::View::hypergraph).
    Bytes,
}

/// What is asked of a partitioner.
#[derive(Clone, Debug)]
pub struct PartitionRequest {
    /// Number of blocks, at least 1. It may exceed the number of vertices: then some blocks stay empty.
    pub blocks: u32,
    /// Tolerated imbalance ε: a block may weigh (1 + ε) times its target.
    pub epsilon: f64,
    /// Each block's share of the total weight, adding up to 1; `None` if all are equal.
    pub shares: Option<Vec<f64>>,
    /// What communication is counted on, if there is more than the graph: the tensors of a dataflow graph, or the
    /// hypergraph that the graph was made from. Their vertices are those of the graph.
    pub nets: Option<Arc<Hypergraph>>,
    /// Seed of all randomness.
    pub seed: u64,
    /// Asks long-running partitioners to stop.
    pub stop: StopToken,
}

impl PartitionRequest {
    /// Equal blocks, no nets, and a token that never stops.
    pub fn new(blocks: u32, epsilon: f64, seed: u64) -> Self {
        Self { blocks, epsilon, shares: None, nets: None, seed, stop: StopToken::default() }
    }

    /// Whether a partition can be asked for like this.
    ///
    /// # Errors
    /// [`PartitionError::Unsupported`] if there are no blocks, the imbalance is negative or not finite, or the number of
    /// shares is not that of the blocks, or they are negative or do not add up to 1.
    pub fn check(&self) -> Result<(), PartitionError> {
        let fault = |what: String| Err(PartitionError::Unsupported(what));
        if self.blocks == 0 {
            return fault("0 blocks were asked for: at least 1 is needed".to_owned());
        }
        if !(self.epsilon.is_finite() && self.epsilon >= 0.0) {
            return fault(format!("the tolerated imbalance is {}: it must be at least 0", self.epsilon));
        }
        let Some(shares) = &self.shares else { return Ok(()) };
        if shares.len() != self.blocks as usize {
            return fault(format!("there are {} shares for {} blocks", shares.len(), self.blocks));
        }
        if !shares.iter().all(|share| (0.0..=1.0).contains(share)) || (shares.iter().sum::<f64>() - 1.0).abs() > 1e-6 {
            return fault("the shares of the blocks must lie between 0 and 1 and add up to 1".to_owned());
        }
        Ok(())
    }

    /// The weight that `block` may have: ⌈(1 + ε) · share · total⌉. A vertex counts with its own weight when it joins.
    ///
    /// The product may come out a hair above a whole number, which must not become the next one. It is never less than the
    /// share, whose rounding that hair could cost where weights are large.
    pub fn capacity(&self, block: u32, total_weight: u64) -> u64 {
        let (share, least) = match &self.shares {
            None => (1.0 / f64::from(self.blocks), total_weight.div_ceil(u64::from(self.blocks.max(1)))),
            Some(shares) => {
                let share = shares[block as usize];
                (share, (share * total_weight as f64).round() as u64)
            }
        };
        let exact = (1.0 + self.epsilon) * share * total_weight as f64;
        least.max((exact * (1.0 - 1e-12)).ceil() as u64)
    }
}

/// The block of each vertex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Number of blocks.
    pub blocks: u32,
    /// For each vertex a number below `blocks`.
    pub block_of: Vec<u32>,
}

/// Why there is no partition.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PartitionError {
    /// The deadline passed, or the caller asked to stop.
    #[error("stopped before the partition was complete")]
    Stopped,
    /// The partitioner cannot handle such a graph or request.
    #[error("{0}")]
    Unsupported(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_may_weigh_its_share_and_epsilon_rounded_up() {
        assert_eq!(PartitionRequest::new(4, 0.03, 0).capacity(0, 1000), 258);
        assert_eq!(PartitionRequest::new(10, 0.0, 0).capacity(3, 1000), 100);
        assert_eq!(PartitionRequest::new(3, 0.0, 0).capacity(0, 10), 4);
        let shares = PartitionRequest { shares: Some(vec![0.75, 0.25]), ..PartitionRequest::new(2, 0.1, 0) };
        assert_eq!((shares.capacity(0, 100), shares.capacity(1, 100)), (83, 28));
    }

    #[test]
    fn what_floating_point_adds_to_a_whole_number_does_not_count() {
        // 1.1 · 10 and 0.1 · 3 · 10 are a hair more than 11 and 3.
        assert_eq!(PartitionRequest::new(1, 0.1, 0).capacity(0, 10), 11);
        assert_eq!(PartitionRequest::new(10, 0.1, 0).capacity(0, 1_000_000_000), 110_000_000);
        let share = 0.1 + 0.2;
        let shares = PartitionRequest { shares: Some(vec![share, 1.0 - share]), ..PartitionRequest::new(2, 0.0, 0) };
        assert_eq!((shares.capacity(0, 10), shares.capacity(1, 10)), (3, 7));
    }

    #[test]
    fn large_weights_lose_nothing_of_their_share() {
        for share in [(1u64 << 50) + 1, (1 << 60) + 1, (1 << 63) - 1] {
            assert_eq!(PartitionRequest::new(2, 0.0, 0).capacity(0, 2 * share), share);
            assert_eq!(PartitionRequest::new(2, 0.0, 0).capacity(1, 2 * share - 1), share);
        }
        for share in [1u64 << 40, 1 << 50, (1 << 51) + 3] {
            let halves = PartitionRequest { shares: Some(vec![0.5; 2]), ..PartitionRequest::new(2, 0.0, 0) };
            assert_eq!(halves.capacity(0, 2 * share), share);
        }
        for (blocks, total) in [(3, u64::MAX), (7, u64::MAX - 5), (1000, 1 << 59), (3, 1 << 52)] {
            let even = PartitionRequest::new(blocks, 0.0, 0);
            assert_eq!(even.capacity(0, total), total.div_ceil(u64::from(blocks)), "{blocks} blocks");
            assert!(PartitionRequest::new(blocks, 0.03, 0).capacity(0, total) >= total.div_ceil(u64::from(blocks)));
        }
        assert_eq!(PartitionRequest::new(2, 1e300, 0).capacity(0, 10), u64::MAX);
    }
}
