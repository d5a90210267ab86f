//! From a partition of the edges to one of the vertices: each goes to its master.

use placebench_datasets::UndirectedGraph;
use placebench_datasets::stream::{EdgeList, EdgeStream, GraphEdges};

use super::loads::BlockLoads;
use super::{AssignedEdge, EdgePartitioner, StreamError, StreamOrder, order};
use crate::partition::{Partition, PartitionError, PartitionRequest, Partitioner};
use crate::{Algorithm, Params, SpecError};

/// The replicas of each vertex, its master first: that with the most of its edges, then of the lowest id. A vertex without
/// edges has none. A self-loop counts once.
///
/// # Complexity
/// O(vertices + edges + replicas · log blocks) time; 8 bytes an edge and 12 a vertex of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masters {
    /// Where each vertex's replicas begin, and the end of the last.
    offsets: Vec<u64>,
    replicas: Vec<u32>,
}

impl Masters {
    /// Of edges in any order.
    pub fn new(vertices: usize, blocks: u32, edges: &[AssignedEdge]) -> Self {
        let mut starts = vec![0u64; vertices + 1];
        for_each_end(edges, |vertex, _| starts[vertex as usize + 1] += 1);
        for vertex in 0..vertices {
            starts[vertex + 1] += starts[vertex];
        }
        let mut cursor = starts.clone();
        let mut replicas = vec![0u32; starts[vertices] as usize];
        for_each_end(edges, |vertex, block| {
            let at = &mut cursor[vertex as usize];
            replicas[*at as usize] = block;
            *at += 1;
        });
        // Each row shrinks to its distinct blocks, in place.
        let mut counts = vec![0u32; blocks as usize];
        let (mut row, mut kept) = (Vec::new(), 0);
        for vertex in 0..vertices {
            let range = starts[vertex] as usize..starts[vertex + 1] as usize;
            row.clear();
            for &block in &replicas[range] {
                if counts[block as usize] == 0 {
                    row.push(block);
                }
                counts[block as usize] += 1;
            }
            row.sort_unstable_by_key(|&block| (std::cmp::Reverse(counts[block as usize]), block));
            starts[vertex] = kept as u64;
            for &block in &row {
                counts[block as usize] = 0;
                replicas[kept] = block;
                kept += 1;
            }
        }
        starts[vertices] = kept as u64;
        replicas.truncate(kept);
        Self { offsets: starts, replicas }
    }

    /// The blocks of a vertex's replicas, its master first.
    pub fn of(&self, vertex: u32) -> &[u32] {
        &self.replicas[self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize]
    }

    /// Replicas of a vertex, averaged over the vertices that have edges; 1 without edges.
    pub fn replication_factor(&self) -> f64 {
        match self.offsets.windows(2).filter(|range| range[0] < range[1]).count() {
            0 => 1.0,
            vertices => self.replicas.len() as f64 / vertices as f64,
        }
    }

    /// A block for each vertex: the best of its replicas that has room within [`PartitionRequest::capacity`], and if none has, or
    /// there is none, the least loaded block with room. The heaviest vertices choose first, among equals those with edges,
    /// then the lowest id.
    ///
    /// # Complexity
    /// O(vertices · log vertices + replicas + vertices · log blocks).
    pub fn partition(&self, graph: &UndirectedGraph, request: &PartitionRequest) -> Partition {
        let mut order: Vec<u32> = graph.vertices().collect();
        order.sort_by_key(|&vertex| (std::cmp::Reverse(graph.vertex_weight(vertex)), self.of(vertex).is_empty()));
        let mut loads = BlockLoads::new(request, graph.total_vertex_weight());
        let mut block_of = vec![0; graph.vertex_count()];
        for vertex in order {
            let weight = graph.vertex_weight(vertex);
            let with_room = self.of(vertex).iter().find(|&&block| loads.has_room(block as usize, weight));
            let block = with_room.map_or_else(|| loads.least_with_room(weight), |&block| block as usize);
            loads.add(block, weight);
            block_of[vertex as usize] = block as u32;
        }
        Partition { blocks: request.blocks, block_of }
    }
}

fn for_each_end(edges: &[AssignedEdge], mut visit: impl FnMut(u32, u32)) {
    for &AssignedEdge { ends: (a, b), block, .. } in edges {
        visit(a, block);
        if a != b {
            visit(b, block);
        }
    }
}

/// A partitioner of edges as one of vertices: masters decide (see [`Masters`]).
///
/// # Complexity
/// The partitioner's, and O(vertices · log vertices + edges); 32 bytes an edge and 24 a vertex of memory.
///
/// # Deviations
/// Partitioners of edges balance edges, not vertices: the masters alone may weigh anything, so that
/// [`Masters::partition`] sends to other blocks what is too much. Weights of edges do not count.
#[derive(Clone, Copy, Debug)]
pub struct ByMasters<P> {
    /// Divides the edges.
    pub edges: P,
    /// Order in which they come: of the vertices, each edge at the first of its ends; `Random` shuffles the edges.
    pub order: StreamOrder,
}

impl<P: EdgePartitioner + Algorithm> Algorithm for ByMasters<P> {
    const NAME: &str = P::NAME;
    const SUMMARY: &str = P::SUMMARY;
    const SOURCE: &str = P::SOURCE;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { edges: P::new(params)?, order: StreamOrder::param(params)? })
    }
}

impl<P: EdgePartitioner> ByMasters<P> {
    fn assigned(&self, graph: &UndirectedGraph, request: &PartitionRequest) -> Result<Vec<AssignedEdge>, StreamError> {
        let mut assigned = Vec::with_capacity(graph.edge_count());
        let mut partition = |stream: &mut dyn EdgeStream| {
            self.edges.partition_edges(stream, request, &mut |edge| {
                assigned.push(edge);
                Ok(())
            })
        };
        if self.order == StreamOrder::Random {
            let mut edges: Vec<(u32, u32)> = Vec::with_capacity(graph.edge_count());
            let later =
                |vertex| graph.neighbours(vertex).iter().filter(move |&&n| n > vertex).map(move |&n| (vertex, n));
            edges.extend(graph.vertices().flat_map(later));
            order::shuffle(&mut edges, request.seed);
            let list = EdgeList::new(graph.vertex_count() as u32, &edges);
            let mut list = list.map_err(|error| StreamError::Unsupported(error.to_string()))?;
            partition(&mut list)?;
        } else {
            let order = self.order.vertices(graph, request.seed);
            let ordered = order.as_deref().and_then(|order| GraphEdges::ordered(graph, order));
            partition(&mut ordered.unwrap_or_else(|| GraphEdges::natural(graph)))?;
        }
        Ok(assigned)
    }
}

impl<P: EdgePartitioner> Partitioner for ByMasters<P> {
    fn partition(&self, graph: &UndirectedGraph, request: &PartitionRequest) -> Result<Partition, PartitionError> {
        self.partition_with_replicas(graph, request).map(|(partition, _)| partition)
    }

    fn partition_with_replicas(
        &self,
        graph: &UndirectedGraph,
        request: &PartitionRequest,
    ) -> Result<(Partition, Option<f64>), PartitionError> {
        request.check()?;
        let assigned = self.assigned(graph, request)?;
        let masters = Masters::new(graph.vertex_count(), request.blocks, &assigned);
        drop(assigned);
        Ok((masters.partition(graph, request), Some(masters.replication_factor())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(list: &[(u32, u32, u32)]) -> Vec<AssignedEdge> {
        list.iter().map(|&(a, b, block)| AssignedEdge { edge: 0, ends: (a, b), block }).collect()
    }

    #[test]
    fn the_master_has_the_most_edges_then_the_lowest_id() {
        let masters = Masters::new(5, 4, &edges(&[(0, 1, 3), (0, 2, 1), (0, 1, 3), (1, 2, 0), (3, 3, 2), (3, 0, 2)]));
        assert_eq!(masters.of(0), [3, 1, 2]);
        assert_eq!(masters.of(1), [3, 0]);
        assert_eq!(masters.of(2), [0, 1]);
        assert_eq!(masters.of(3), [2]);
        assert_eq!(masters.of(4), [] as [u32; 0]);
    }

    #[test]
    fn what_is_too_much_for_a_master_goes_to_another_replica_or_the_least_loaded_block() {
        let list = [(0, 1, 1), (0, 2, 1), (1, 2, 1), (2, 3, 2), (1, 3, 1)];
        let masters = Masters::new(5, 3, &edges(&list));
        assert_eq!(masters.of(3), [1, 2]);
        let graph = UndirectedGraph::from_edges(5, list.iter().map(|&(a, b, _)| (a, b, 1)), None).unwrap();
        // Room for two: 0 and 1 on their master 1, 2 and 3 on their other replica 2, 4 without edges on the empty 0.
        assert_eq!(masters.partition(&graph, &PartitionRequest::new(3, 0.0, 0)).block_of, [1, 1, 2, 2, 0]);
        // The heavy vertex 3 fills its master 1 first. 0 and 1, which are nowhere else, go where least is: to 0, then to 2.
        let heavy =
            UndirectedGraph::from_edges(5, list.iter().map(|&(a, b, _)| (a, b, 1)), Some(vec![1, 1, 1, 3, 0])).unwrap();
        assert_eq!(masters.partition(&heavy, &PartitionRequest::new(3, 0.5, 0)).block_of, [0, 2, 2, 1, 0]);
    }
}
