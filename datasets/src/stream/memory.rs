//! Streams of what is in memory already.

use super::bytes::BATCH;
use super::{EdgeStream, VertexRow, VertexStream};
use crate::format::FormatError;
use crate::{UndirectedError, UndirectedGraph};

/// The rows of a graph in memory, in a given order.
#[derive(Clone, Debug)]
pub struct GraphRows<'a> {
    graph: &'a UndirectedGraph,
    order: Option<&'a [u32]>,
    next: usize,
}

impl<'a> GraphRows<'a> {
    /// The rows in the order of their ids.
    pub fn natural(graph: &'a UndirectedGraph) -> Self {
        Self { graph, order: None, next: 0 }
    }

    /// The rows in another order, which must name each vertex once: `None` if it does not.
    pub fn ordered(graph: &'a UndirectedGraph, order: &'a [u32]) -> Option<Self> {
        is_permutation(order, graph.vertex_count()).then_some(Self { graph, order: Some(order), next: 0 })
    }
}

pub(super) fn is_permutation(order: &[u32], length: usize) -> bool {
    let mut seen = vec![false; length];
    let fresh = |&id: &u32| seen.get_mut(id as usize).is_some_and(|seen| !std::mem::replace(seen, true));
    order.len() == length && order.iter().all(fresh)
}

impl VertexStream for GraphRows<'_> {
    fn vertex_count(&self) -> usize {
        self.graph.vertex_count()
    }

    fn total_vertex_weight(&self) -> u64 {
        self.graph.total_vertex_weight()
    }

    fn total_edge_weight(&self) -> u64 {
        self.graph.total_edge_weight()
    }

    #[inline]
    fn next_row(&mut self) -> Result<Option<VertexRow<'_>>, FormatError> {
        if self.next >= self.graph.vertex_count() {
            return Ok(None);
        }
        let vertex = self.order.map_or(self.next as u32, |order| order[self.next]);
        self.next += 1;
        let offsets = self.graph.offsets();
        let range = offsets.at(vertex as usize) as usize..offsets.at(vertex as usize + 1) as usize;
        Ok(Some(VertexRow {
            vertex,
            weight: self.graph.vertex_weight(vertex),
            neighbours: self.graph.neighbours(vertex),
            edge_weights: self.graph.edge_weights().map(|weights| weights.slice(range)),
        }))
    }

    fn rewind(&mut self) -> Result<(), FormatError> {
        self.next = 0;
        Ok(())
    }

    fn memory_bytes(&self) -> u64 {
        0
    }
}

/// A list of edges in memory.
#[derive(Clone, Debug)]
pub struct EdgeList<'a> {
    vertices: usize,
    edges: &'a [(u32, u32)],
    next: usize,
}

impl<'a> EdgeList<'a> {
    /// The edges in the order of the list.
    ///
    /// # Errors
    /// If an end is not below `vertices`.
    pub fn new(vertices: u32, edges: &'a [(u32, u32)]) -> Result<Self, UndirectedError> {
        let vertices = vertices as usize;
        match edges.iter().find(|(a, b)| a.max(b).to_owned() as usize >= vertices) {
            Some(&(a, b)) => Err(UndirectedError::UnknownVertex { vertex: a.min(b), neighbour: a.max(b), vertices }),
            None => Ok(Self { vertices, edges, next: 0 }),
        }
    }
}

impl EdgeStream for EdgeList<'_> {
    fn vertex_count(&self) -> usize {
        self.vertices
    }

    fn edge_count(&self) -> u64 {
        self.edges.len() as u64
    }

    fn next_edges(&mut self) -> Result<Option<&[(u32, u32)]>, FormatError> {
        let rest = &self.edges[self.next..];
        let batch = &rest[..rest.len().min(BATCH)];
        self.next += batch.len();
        Ok((!batch.is_empty()).then_some(batch))
    }

    fn rewind(&mut self) -> Result<(), FormatError> {
        self.next = 0;
        Ok(())
    }

    fn memory_bytes(&self) -> u64 {
        0
    }
}

/// The edges of a graph in memory, each once: in a given order of the vertices, each edge at the first of its ends, with
/// the first end first.
///
/// # Memory
/// 512 KiB and what the largest row adds; 4 bytes a vertex more if the order is not that of the ids.
#[derive(Clone, Debug)]
pub struct GraphEdges<'a> {
    graph: &'a UndirectedGraph,
    order: Option<&'a [u32]>,
    /// When each vertex comes, if not in the order of ids.
    position: Vec<u32>,
    next: usize,
    batch: Vec<(u32, u32)>,
}

impl<'a> GraphEdges<'a> {
    /// The edges by their lower end, then by the other.
    pub fn natural(graph: &'a UndirectedGraph) -> Self {
        Self { graph, order: None, position: Vec::new(), next: 0, batch: Vec::new() }
    }

    /// The edges in another order of the vertices, which must name each once: `None` if it does not.
    pub fn ordered(graph: &'a UndirectedGraph, order: &'a [u32]) -> Option<Self> {
        if !is_permutation(order, graph.vertex_count()) {
            return None;
        }
        let mut position = vec![0; order.len()];
        for (at, &vertex) in order.iter().enumerate() {
            position[vertex as usize] = at as u32;
        }
        Some(Self { graph, order: Some(order), position, next: 0, batch: Vec::new() })
    }
}

impl EdgeStream for GraphEdges<'_> {
    fn vertex_count(&self) -> usize {
        self.graph.vertex_count()
    }

    fn edge_count(&self) -> u64 {
        self.graph.edge_count() as u64
    }

    fn next_edges(&mut self) -> Result<Option<&[(u32, u32)]>, FormatError> {
        self.batch.clear();
        while self.batch.len() < BATCH && self.next < self.graph.vertex_count() {
            let vertex = self.order.map_or(self.next as u32, |order| order[self.next]);
            let at = self.next as u32;
            let neighbours = self.graph.neighbours(vertex).iter();
            match self.order {
                None => self.batch.extend(neighbours.filter(|&&n| n > vertex).map(|&n| (vertex, n))),
                Some(_) => {
                    let later = neighbours.filter(|&&n| self.position[n as usize] > at);
                    self.batch.extend(later.map(|&n| (vertex, n)));
                }
            }
            self.next += 1;
        }
        Ok((!self.batch.is_empty()).then_some(&self.batch))
    }

    fn rewind(&mut self) -> Result<(), FormatError> {
        self.next = 0;
        Ok(())
    }

    fn memory_bytes(&self) -> u64 {
        (self.position.capacity() * 4 + self.batch.capacity() * 8) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square() -> UndirectedGraph {
        UndirectedGraph::from_edges(5, [(0, 1, 1), (1, 2, 2), (2, 3, 3), (3, 0, 4)].into_iter(), None).unwrap()
    }

    #[test]
    fn rows_come_in_the_order_asked_for_and_again_after_a_rewind() {
        let graph = square();
        let order = [2, 0, 4, 3, 1];
        let mut rows = GraphRows::ordered(&graph, &order).unwrap();
        for _ in 0..2 {
            let mut seen = Vec::new();
            while let Some(row) = rows.next_row().unwrap() {
                let weights: u64 = row.edge_weights.unwrap().iter().sum();
                seen.push((row.vertex, row.neighbours.to_vec(), weights));
            }
            let expected =
                [(2, vec![1, 3], 5), (0, vec![1, 3], 5), (4, vec![], 0), (3, vec![0, 2], 7), (1, vec![0, 2], 3)];
            assert_eq!(seen, expected);
            rows.rewind().unwrap();
        }
        for wrong in [[0, 1, 2, 3, 3].as_slice(), &[0, 1, 2, 3, 5], &[0, 1, 2, 3]] {
            assert!(GraphRows::ordered(&graph, wrong).is_none() && GraphEdges::ordered(&graph, wrong).is_none());
        }
    }

    #[test]
    fn each_edge_of_a_graph_comes_once_at_the_first_of_its_ends() {
        let graph = square();
        let mut edges = GraphEdges::natural(&graph);
        assert_eq!(edges.next_edges().unwrap(), Some([(0, 1), (0, 3), (1, 2), (2, 3)].as_slice()));
        assert_eq!(edges.next_edges().unwrap(), None);
        let mut edges = GraphEdges::ordered(&graph, &[2, 0, 4, 3, 1]).unwrap();
        assert_eq!(edges.next_edges().unwrap(), Some([(2, 1), (2, 3), (0, 1), (0, 3)].as_slice()));
        edges.rewind().unwrap();
        assert_eq!(edges.next_edges().unwrap().map(<[_]>::len), Some(4));
    }

    #[test]
    fn a_list_with_an_end_that_does_not_exist_is_refused() {
        let refused = EdgeList::new(3, &[(0, 1), (5, 2)]).unwrap_err();
        assert_eq!(refused, UndirectedError::UnknownVertex { vertex: 2, neighbour: 5, vertices: 3 });
        assert_eq!(EdgeList::new(0, &[]).unwrap().next_edges().unwrap(), None);
    }
}
