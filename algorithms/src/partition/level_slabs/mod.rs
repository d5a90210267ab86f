//! The optimal contiguous split of an order, by dynamic programming.

mod borders;
mod line;

use std::cmp::Reverse;

use placebench_datasets::UndirectedGraph;

pub(crate) use line::Line;

use super::{Partition, PartitionError, PartitionRequest, Partitioner};
use crate::{Algorithm, Params, SpecError};

/// Cuts the natural order into contiguous ranges within their capacities, so that the weights of the edges across the borders
/// add up to as little as possible.
///
/// In a [`View`](placebench_datasets::View) the blocks form no cycle.
///
/// # Reference
/// The chains-on-chains split, here by cut: B. W. Kernighan: Optimal sequential partitions of graphs. Journal of the ACM 18
/// (1971), 34–40, doi:10.1145/321623.321627.
///
/// # Complexity
/// O(vertices · k + edges) time at worst; 16 bytes a vertex. A border lies only where the blocks before and behind it can
/// hold their weights, so that of n·k places about ε·n·k are looked at, with 4 bytes each.
///
/// # Ties
/// The earliest border.
///
/// # Deviations
/// As in the source an edge counts once for each border that it crosses, which is the cut where none spans a whole block.
/// Blocks keep their order if their shares differ. If no contiguous split keeps within the capacities (heavy vertices), all
/// capacities are raised by the smallest common factor found, to a thousandth, that permits one. Of more blocks than vertices
/// those of the largest capacities are used.
#[derive(Clone, Copy, Debug, Default)]
pub struct LevelSlabs;

impl Algorithm for LevelSlabs {
    const NAME: &str = "level_slabs";
    const SUMMARY: &str = "the optimal contiguous split of the natural order";
    const SOURCE: &str = "Kernighan 1971";

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl Partitioner for LevelSlabs {
    fn partition(&self, graph: &UndirectedGraph, request: &PartitionRequest) -> Result<Partition, PartitionError> {
        Self::split(graph, request, usize::MAX)
    }
}

impl LevelSlabs {
    /// The best split, if it looks at no more than `most` places for borders. Else blocks that are filled one after the other
    /// as far as possible.
    pub(crate) fn split(
        graph: &UndirectedGraph,
        request: &PartitionRequest,
        most: usize,
    ) -> Result<Partition, PartitionError> {
        request.check()?;
        let blocks = used_blocks(graph, request);
        let capacities: Vec<u64> = blocks.iter().map(|&(capacity, _)| capacity).collect();
        let borders = Line::new(graph).best(&capacities, most, &request.stop).ok_or(PartitionError::Stopped)?;
        let mut block_of = vec![0; graph.vertex_count()];
        for (&(_, block), pair) in blocks.iter().zip(borders.windows(2)) {
            block_of[pair[0]..pair[1]].fill(block);
        }
        Ok(Partition { blocks: request.blocks, block_of })
    }
}

/// The capacities of the blocks, with their numbers: no more blocks than vertices, those of the largest capacities.
fn used_blocks(graph: &UndirectedGraph, request: &PartitionRequest) -> Vec<(u64, u32)> {
    let (most, total) = (graph.vertex_count().max(1), graph.total_vertex_weight());
    let mut blocks: Vec<(u64, u32)> =
        (0..request.blocks).map(|block| (request.capacity(block, total), block)).collect();
    if blocks.len() > most {
        blocks.sort_by_key(|&(capacity, _)| Reverse(capacity));
        blocks.truncate(most);
        blocks.sort_by_key(|&(_, block)| block);
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slabs(graph: &UndirectedGraph, blocks: u32, epsilon: f64) -> Vec<u32> {
        LevelSlabs.partition(graph, &PartitionRequest::new(blocks, epsilon, 0)).unwrap().block_of
    }

    #[test]
    fn blocks_beyond_the_number_of_vertices_stay_empty() {
        // The best slabs of nine blocks are those of the three blocks that may weigh most; of equal ones, the earliest border.
        let graph = UndirectedGraph::from_edges(3, [(0, 1, 5), (1, 2, 1)].into_iter(), None).unwrap();
        let shares = Some(vec![0.05, 0.3, 0.0, 0.05, 0.25, 0.05, 0.25, 0.0, 0.05]);
        let request = PartitionRequest { shares, ..PartitionRequest::new(9, 0.4, 0) };
        assert_eq!(LevelSlabs.partition(&graph, &request).unwrap().block_of, [4, 4, 6]);
        assert_eq!(slabs(&graph, 1_000_000, 0.03), [0, 1, 2]);
    }

    #[test]
    fn where_the_best_split_takes_too_long_blocks_are_filled_from_the_front() {
        let weights = [9, 9, 1, 9, 9, 2, 9];
        let edges = (0..7).map(|at| (at, at + 1, weights[at as usize]));
        let graph = UndirectedGraph::from_edges(8, edges, None).unwrap();
        let split = |most| LevelSlabs::split(&graph, &PartitionRequest::new(3, 0.2, 0), most).unwrap().block_of;
        assert_eq!(split(0), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(split(100), slabs(&graph, 3, 0.2));
    }

    #[test]
    fn borders_lie_where_least_crosses() {
        // A path of eight whose light edges are 2-3 and 5-6.
        let weights = [9, 9, 1, 9, 9, 2, 9];
        let edges = (0..7u32).map(|at| (at, at + 1, weights[at as usize]));
        let graph = UndirectedGraph::from_edges(8, edges, None).unwrap();
        assert_eq!(slabs(&graph, 3, 0.2), [0, 0, 0, 1, 1, 1, 2, 2]);
        assert_eq!(slabs(&graph, 1, 0.0), [0; 8]);
        // Without tolerance only the middle is left.
        assert_eq!(slabs(&graph, 2, 0.0), [0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn every_split_of_a_small_graph_is_no_better() {
        let edges = [(0, 3, 2), (1, 4, 7), (2, 3, 5), (3, 4, 1), (4, 6, 3), (5, 6, 4), (2, 7, 1)];
        let graph = UndirectedGraph::from_edges(8, edges.into_iter(), Some(vec![1, 2, 1, 3, 1, 1, 2, 1])).unwrap();
        let line = Line::new(&graph);
        let request = PartitionRequest::new(3, 0.3, 0);
        let capacity = request.capacity(0, graph.total_vertex_weight());
        let mut least = u64::MAX;
        for a in 0..=8 {
            for b in a..=8 {
                let within = [line.before[a], line.before[b] - line.before[a], line.total() - line.before[b]];
                if within.iter().all(|&weight| weight <= capacity) {
                    least = least.min(line.across[a] + if b > a { line.across[b] } else { 0 });
                }
            }
        }
        let found = slabs(&graph, 3, 0.3);
        let borders: Vec<usize> = (1..8).filter(|&at| found[at] != found[at - 1]).collect();
        assert_eq!(borders.iter().map(|&at| line.across[at]).sum::<u64>(), least);
    }

    #[test]
    fn vertices_too_heavy_for_a_block_get_one_to_themselves() {
        let edges = [(0, 1, 1), (1, 2, 1)];
        let graph = UndirectedGraph::from_edges(3, edges.into_iter(), Some(vec![1, 100, 1])).unwrap();
        let found = slabs(&graph, 3, 0.0);
        assert_eq!(found.iter().filter(|&&block| block == found[1]).count(), 1);
        assert!(slabs(&UndirectedGraph::from_edges(0, [].into_iter(), None).unwrap(), 4, 0.0).is_empty());
    }
}
