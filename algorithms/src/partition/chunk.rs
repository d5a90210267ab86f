//! Equal contiguous ranges of an order: the baseline that embarrasses the famous.

use placebench_datasets::UndirectedGraph;

use super::{Partition, PartitionError, PartitionRequest, Partitioner};
use crate::{Algorithm, Named, Params, SpecError};

/// The order that [`Chunk`] cuts into ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkOrder {
    /// The vertices' numbers: a topological order in a [`View`](placebench_datasets::View), so that the blocks
    /// form no cycle.
    Natural,
    /// Descending degree: the hubs end up together, and vertices without edges fill the last blocks.
    Degree,
}

impl Named for ChunkOrder {
    const NAMES: &'static [(&'static str, Self)] = &[("natural", Self::Natural), ("degree", Self::Degree)];
}

/// Cuts an order into ranges of equal weight.
///
/// # Reference
/// None: a control, which every partitioner has to beat.
///
/// # Complexity
/// O(vertices), by degree O(vertices · log vertices).
///
/// # Ties
/// Equal degrees: lower number first. The border between two blocks lies behind the last vertex whose middle (of its weight)
/// comes before the ideal border.
///
/// # Deviations
/// A block goes on to the next as soon as a vertex would exceed its capacity. Where vertices are so heavy that the last
/// blocks run full, the rest goes, vertex by vertex, to the block with most room.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    /// What is cut into ranges.
    pub order: ChunkOrder,
}

impl Algorithm for Chunk {
    const NAME: &str = "chunk";
    const SUMMARY: &str = "equal contiguous ranges of an order";
    const SOURCE: &str = "control";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { order: params.word("order", ChunkOrder::Natural, "natural, or degree: descending")? })
    }
}

impl Partitioner for Chunk {
    fn partition(&self, graph: &UndirectedGraph, request: &PartitionRequest) -> Result<Partition, PartitionError> {
        request.check()?;
        let mut order: Vec<u32> = graph.vertices().collect();
        if self.order == ChunkOrder::Degree {
            order.sort_by_key(|&vertex| std::cmp::Reverse(graph.degree(vertex)));
        }
        let total = graph.total_vertex_weight();
        let capacities: Vec<u64> = (0..request.blocks).map(|block| request.capacity(block, total)).collect();
        let share = |block: usize| {
            request.shares.as_ref().map_or(1.0 / f64::from(request.blocks), |shares| shares[block]) * total as f64
        };
        let mut loads = vec![0u64; capacities.len()];
        let mut block_of = vec![0; graph.vertex_count()];
        let (mut block, mut border, mut before) = (0, share(0), 0u64);
        for vertex in order {
            let weight = graph.vertex_weight(vertex);
            let middle = before as f64 + weight as f64 / 2.0;
            before += weight;
            let fits = |loads: &[u64], block: usize| loads[block].saturating_add(weight) <= capacities[block];
            while block + 1 < capacities.len() && (middle > border || !fits(&loads, block)) {
                block += 1;
                border += share(block);
            }
            let own = if fits(&loads, block) {
                block
            } else {
                let room = |&other: &usize| (capacities[other].saturating_sub(loads[other]), std::cmp::Reverse(other));
                (0..capacities.len()).max_by_key(room).unwrap_or(block)
            };
            loads[own] += weight;
            block_of[vertex as usize] = own as u32;
        }
        Ok(Partition { blocks: request.blocks, block_of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_equal_in_weight() {
        let edges = [(0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1), (4, 5, 1)];
        let graph = UndirectedGraph::from_edges(6, edges.into_iter(), Some(vec![3, 1, 1, 1, 1, 2])).unwrap();
        let chunk =
            |order, blocks| Chunk { order }.partition(&graph, &PartitionRequest::new(blocks, 0.1, 0)).unwrap().block_of;
        assert_eq!(chunk(ChunkOrder::Natural, 3), [0, 1, 1, 1, 2, 2]);
        assert_eq!(chunk(ChunkOrder::Natural, 1), [0; 6]);
    }

    #[test]
    fn by_degree_hubs_come_first_and_lonely_vertices_last() {
        let edges = [(1, 0, 1), (1, 2, 1), (1, 3, 1), (0, 2, 1)];
        let graph = UndirectedGraph::from_edges(6, edges.into_iter(), None).unwrap();
        let chunk = Chunk { order: ChunkOrder::Degree }.partition(&graph, &PartitionRequest::new(3, 0.0, 0)).unwrap();
        assert_eq!(chunk.block_of, [0, 0, 1, 1, 2, 2]);
    }
}
