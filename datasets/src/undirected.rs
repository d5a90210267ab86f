//! An undirected graph with weights on vertices and edges: what partitioners see.

use std::ops::Range;

use crate::UndirectedError;
use crate::numbers::{NumberVec, Numbers};
use crate::undirected_rows::{Parallel, Rows};

/// An undirected graph in compressed sparse rows: each edge is in the rows of both its ends. There are no self-loops
/// and no parallel edges.
///
/// # Memory
/// 4 bytes a vertex and 8 an edge. Weights that are not all 1 add 4 bytes a vertex and 8 an edge, or twice as much if
/// one of them needs more than 32 bits. From 2^31 edges on, each vertex takes 4 bytes more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndirectedGraph {
    /// Where each vertex's row begins, and the end of the last.
    offsets: NumberVec,
    neighbours: Vec<u32>,
    /// Parallel to `neighbours`; `None` if all are 1.
    edge_weights: Option<NumberVec>,
    /// `None` if all are 1.
    vertex_weights: Option<NumberVec>,
}

impl UndirectedGraph {
    /// A graph from edges given once each, in any order and direction. Parallel edges become one with the sum of their
    /// weights; self-loops, which no partition can cut, are dropped.
    ///
    /// # Errors
    /// If an end does not exist or weights overflow.
    ///
    /// # Complexity
    /// O(vertices + edges · log degree) time, in the memory of the graph and of its longest row.
    pub fn from_edges(
        vertices: usize,
        edges: impl Iterator<Item = (u32, u32, u64)> + Clone,
        vertex_weights: Option<Vec<u64>>,
    ) -> Result<Self, UndirectedError> {
        let rows = Rows::scatter(vertices, edges)?.merged(Parallel::AddUp)?;
        Self::of_merged(rows, vertex_weights)
    }

    /// As [`UndirectedGraph::from_edges`], but every edge weighs 1, however often it is given.
    pub(crate) fn from_distinct_edges(
        vertices: usize,
        edges: impl Iterator<Item = (u32, u32)> + Clone,
    ) -> Result<Self, UndirectedError> {
        let rows = Rows::scatter(vertices, edges.map(|(a, b)| (a, b, 1)))?.merged(Parallel::CountOnce)?;
        Self::of_merged(rows, None)
    }

    fn of_merged(rows: Rows, vertex_weights: Option<Vec<u64>>) -> Result<Self, UndirectedError> {
        let Rows { offsets, neighbours, weights } = rows;
        let vertex_weights = vertex_weights.map(NumberVec::from);
        Self::from_symmetric_rows(offsets, neighbours, weights, vertex_weights)
    }

    /// A graph from rows whose symmetry is known.
    pub(crate) fn from_symmetric_rows(
        offsets: NumberVec,
        neighbours: Vec<u32>,
        edge_weights: Option<NumberVec>,
        vertex_weights: Option<NumberVec>,
    ) -> Result<Self, UndirectedError> {
        let graph = Self { offsets, neighbours, edge_weights, vertex_weights };
        graph.check_weights()?;
        Ok(graph.without_unit_weights())
    }

    /// The same graph with edges that weigh 1 each.
    #[must_use]
    pub fn without_edge_weights(self) -> Self {
        Self { edge_weights: None, ..self }
    }

    /// The same graph with vertices that weigh 1 each.
    #[must_use]
    pub fn without_vertex_weights(self) -> Self {
        Self { vertex_weights: None, ..self }
    }

    fn check_weights(&self) -> Result<(), UndirectedError> {
        let lists = [
            ("vertex", &self.vertex_weights, self.vertex_count(), 1),
            // The rows hold each edge twice.
            ("edge", &self.edge_weights, self.neighbours.len(), 2),
        ];
        for (what, weights, expected, times) in lists {
            let Some(weights) = weights else { continue };
            if weights.len() != expected {
                return Err(UndirectedError::WrongLength { what, found: weights.len(), expected });
            }
            if weights.view().sum() / times > u128::from(u64::MAX) {
                return Err(UndirectedError::TotalOverflow { what });
            }
        }
        Ok(())
    }

    fn without_unit_weights(mut self) -> Self {
        for weights in [&mut self.edge_weights, &mut self.vertex_weights] {
            if weights.as_ref().is_some_and(|weights| weights.view().iter().all(|weight| weight == 1)) {
                *weights = None;
            }
        }
        self
    }

    #[inline]
    fn row(&self, vertex: u32) -> Range<usize> {
        self.offsets.at(vertex as usize) as usize..self.offsets.at(vertex as usize + 1) as usize
    }

    #[inline]
    fn entry(&self, at: usize) -> (u32, u64) {
        (self.neighbours[at], self.edge_weights.as_ref().map_or(1, |weights| weights.at(at)))
    }

    /// Number of vertices.
    #[inline]
    pub fn vertex_count(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Number of edges, each counted once.
    #[inline]
    pub fn edge_count(&self) -> usize {
        self.neighbours.len() / 2
    }

    /// All vertices, ascending.
    pub fn vertices(&self) -> impl ExactSizeIterator<Item = u32> + DoubleEndedIterator + Clone + use<> {
        0..self.vertex_count() as u32
    }

    /// Number of neighbours of a vertex.
    #[inline]
    pub fn degree(&self, vertex: u32) -> usize {
        self.row(vertex).len()
    }

    /// The neighbours of a vertex, ascending.
    #[inline]
    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        &self.neighbours[self.row(vertex)]
    }

    /// The neighbours of a vertex with the weights of the edges to them, ascending.
    #[inline]
    pub fn edges_of(&self, vertex: u32) -> impl ExactSizeIterator<Item = (u32, u64)> + Clone + '_ {
        self.row(vertex).map(|at| self.entry(at))
    }

    /// All edges with their weights, each once, the lower end first, ascending.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32, u64)> + Clone + '_ {
        self.vertices().flat_map(move |vertex| {
            let entries =
                self.row(vertex).map(move |at| self.entry(at)).filter(move |&(neighbour, _)| neighbour > vertex);
            entries.map(move |(neighbour, weight)| (vertex, neighbour, weight))
        })
    }

    /// Weight of a vertex.
    #[inline]
    pub fn vertex_weight(&self, vertex: u32) -> u64 {
        self.vertex_weights.as_ref().map_or(1, |weights| weights.at(vertex as usize))
    }

    /// Sum of the weights of all vertices.
    pub fn total_vertex_weight(&self) -> u64 {
        self.vertex_weights.as_ref().map_or(self.vertex_count() as u64, |weights| weights.view().sum() as u64)
    }

    /// Sum of the weights of all edges, each counted once.
    pub fn total_edge_weight(&self) -> u64 {
        match &self.edge_weights {
            None => self.edge_count() as u64,
            Some(weights) => (weights.view().sum() / 2) as u64,
        }
    }

    /// Where each vertex's row begins in [`UndirectedGraph::all_neighbours`], and the end of the last.
    pub fn offsets(&self) -> Numbers<'_> {
        self.offsets.view()
    }

    /// All rows, one after the other.
    pub fn all_neighbours(&self) -> &[u32] {
        &self.neighbours
    }

    /// Weights of the edges, parallel to [`UndirectedGraph::all_neighbours`]; `None` if all are 1.
    pub fn edge_weights(&self) -> Option<Numbers<'_>> {
        self.edge_weights.as_ref().map(NumberVec::view)
    }

    /// Weights of the vertices; `None` if all are 1.
    pub fn vertex_weights(&self) -> Option<Numbers<'_>> {
        self.vertex_weights.as_ref().map(NumberVec::view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_in_any_order_become_rows_without_loops_and_parallels() {
        let edges = [(2, 0, 5), (0, 1, 1), (1, 1, 9), (0, 2, 2)];
        let graph = UndirectedGraph::from_edges(4, edges.into_iter(), Some(vec![1, 2, 3, 0])).unwrap();
        assert_eq!((graph.vertex_count(), graph.edge_count()), (4, 2));
        assert_eq!(graph.edges_of(0).collect::<Vec<_>>(), [(1, 1), (2, 7)]);
        assert_eq!(graph.edges_of(2).collect::<Vec<_>>(), [(0, 7)]);
        assert_eq!((graph.degree(3), graph.total_vertex_weight(), graph.total_edge_weight()), (0, 6, 8));
    }

    #[test]
    fn weights_of_one_are_not_kept() {
        let graph = UndirectedGraph::from_edges(2, [(0, 1, 1)].into_iter(), Some(vec![1, 1])).unwrap();
        assert_eq!((graph.offsets(), graph.all_neighbours()), (Numbers::Narrow(&[0, 1, 2]), [1, 0].as_slice()));
        assert_eq!((graph.edge_weights(), graph.vertex_weights()), (None, None));
        assert_eq!(UndirectedGraph::from_edges(0, [].into_iter(), None).unwrap().vertex_count(), 0);
    }

    #[test]
    fn edges_and_weights_that_do_not_fit_are_refused() {
        use UndirectedError::*;
        let make = |edges: &[(u32, u32, u64)], weights: Option<Vec<u64>>| {
            UndirectedGraph::from_edges(2, edges.iter().copied(), weights)
        };
        assert_eq!(make(&[(0, 7, 1)], None), Err(UnknownVertex { vertex: 0, neighbour: 7, vertices: 2 }));
        let wrong = WrongLength { what: "vertex", found: 1, expected: 2 };
        assert_eq!(make(&[(0, 1, 1)], Some(vec![1])), Err(wrong));
        assert!(make(&[(0, 1, u64::MAX)], None).is_ok());
        assert_eq!(make(&[(0, 1, 1)], Some(vec![u64::MAX; 2])), Err(TotalOverflow { what: "vertex" }));
    }
}
