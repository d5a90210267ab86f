//! Hashing: vertices to blocks at random, evenly. The baseline of every table of partitions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use placebench_datasets::UndirectedGraph;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::{Partition, PartitionError, PartitionRequest, Partitioner};
use crate::total::Total;
use crate::{Algorithm, Params, SpecError};

/// Deals the vertices out, heaviest first and in random order among equals, each to the block with the least weight for
/// its share. It looks at no edge.
///
/// # Reference
/// None: a control, which any partitioner has to beat. Real systems place by a hash of the vertex's name, to the same
/// effect.
///
/// # Complexity
/// O(vertices · log(vertices + blocks)).
///
/// # Ties
/// Blocks of equal load by number.
///
/// # Deviations
/// A hash would leave blocks uneven; dealing to the least loaded makes them as even as any rule that sees one vertex after
/// the other, so that differences in cut are differences in cut. Where vertices weigh different amounts the heavy ones
/// come first, without which the last ones could exceed a block's capacity.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hashing;

impl Algorithm for Hashing {
    const NAME: &str = "hashing";
    const SUMMARY: &str = "vertices in random order, each to the least loaded block";
    const SOURCE: &str = "control";

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

/// After how many vertices the stop token is asked.
const STOP_INTERVAL: usize = 1 << 14;

impl Partitioner for Hashing {
    fn partition(&self, graph: &UndirectedGraph, request: &PartitionRequest) -> Result<Partition, PartitionError> {
        request.check()?;
        let mut order: Vec<u32> = graph.vertices().collect();
        order.shuffle(&mut Pcg64::seed_from_u64(request.seed));
        if graph.vertex_weights().is_some() {
            order.sort_by_key(|&vertex| Reverse(graph.vertex_weight(vertex)));
        }
        let share = |block: u32| request.shares.as_ref().map_or(1.0, |shares| shares[block as usize]);
        // A block without a share gets nothing.
        let blocks = (0..request.blocks).filter(|&block| share(block) > 0.0);
        // The load of each block relative to its share, and its number.
        let mut loads: BinaryHeap<Reverse<(Total, u32)>> = blocks.map(|block| Reverse((Total(0.0), block))).collect();
        let mut weights = vec![0u64; request.blocks as usize];
        let mut block_of = vec![0; graph.vertex_count()];
        for (position, &vertex) in order.iter().enumerate() {
            if position % STOP_INTERVAL == 0 && request.stop.is_stopped() {
                return Err(PartitionError::Stopped);
            }
            let Some(mut least) = loads.peek_mut() else { break };
            let block = least.0.1;
            block_of[vertex as usize] = block;
            let weight = &mut weights[block as usize];
            *weight += graph.vertex_weight(vertex);
            // Recomputed rather than added to, so that rounding does not build up.
            least.0.0 = Total(*weight as f64 / share(block));
        }
        Ok(Partition { blocks: request.blocks, block_of })
    }
}

#[cfg(test)]
mod tests {
    use super::super::quality::{block_weights, imbalance};
    use super::*;

    #[test]
    fn blocks_are_even_and_the_seed_decides() {
        let graph = UndirectedGraph::from_edges(103, [].into_iter(), None).unwrap();
        let blocks = |seed| Hashing.partition(&graph, &PartitionRequest::new(4, 0.03, seed)).unwrap();
        let mut weights = block_weights(&graph, &blocks(1));
        weights.sort_unstable();
        assert_eq!(weights, [25, 26, 26, 26]);
        assert_eq!(blocks(1), blocks(1));
        assert_ne!(blocks(1), blocks(2));
    }

    #[test]
    fn weights_and_shares_are_kept() {
        let weights: Vec<u64> = (1..=200).collect();
        let graph = UndirectedGraph::from_edges(200, [].into_iter(), Some(weights)).unwrap();
        assert!(imbalance(&graph, &Hashing.partition(&graph, &PartitionRequest::new(8, 0.0, 3)).unwrap()) < 0.005);
        let request = PartitionRequest { shares: Some(vec![0.5, 0.0, 0.25, 0.25]), ..PartitionRequest::new(4, 0.0, 3) };
        let weights = block_weights(&graph, &Hashing.partition(&graph, &request).unwrap());
        for (weight, share) in weights.iter().zip([10050, 0, 5025, 5025]) {
            assert!(weight.abs_diff(share) <= 4, "{weights:?}");
        }
    }

    #[test]
    fn more_blocks_than_vertices_and_none_at_all() {
        let graph = UndirectedGraph::from_edges(2, [(0, 1, 1)].into_iter(), None).unwrap();
        let blocks = Hashing.partition(&graph, &PartitionRequest::new(5, 0.0, 0)).unwrap().block_of;
        assert!(blocks[0] != blocks[1] && blocks.iter().all(|&block| block < 5));
        assert!(matches!(
            Hashing.partition(&graph, &PartitionRequest::new(0, 0.0, 0)),
            Err(PartitionError::Unsupported(_))
        ));
    }
}
