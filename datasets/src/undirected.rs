//! An undirected graph with weights on vertices and edges: what partitioners see.

use std::ops::Range;

use crate::UndirectedError;
use crate::numbers::{NumberVec, Numbers};
use crate::undirected_rows::{Parallel, Rows};

/// An undirected graph in compressed sparse rows: each edge is in the rows of both its ends. There are no self-loops and
/// no parallel edges.
///
/// # Memory
/// 4 bytes a vertex, 8 an edge; with weights that are not all 1, 4 more a vertex and 8 more an edge. Weights of which one
/// needs more than 32 bits take twice as much, as do the 4 bytes a vertex with 2^31 edges and more.
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
    /// A graph from complete rows, each neighbour list ascending. Weights that are left out are 1.
    ///
    /// # Errors
    /// Whatever keeps the rows from being an undirected graph without self-loops and parallel edges.
    ///
    /// # Complexity
    /// O(vertices + edges).
    pub fn from_rows(
        offsets: Vec<u64>,
        neighbours: Vec<u32>,
        edge_weights: Option<Vec<u64>>,
        vertex_weights: Option<Vec<u64>>,
    ) -> Result<Self, UndirectedError> {
        let (edge_weights, vertex_weights) = (edge_weights.map(NumberVec::from), vertex_weights.map(NumberVec::from));
        let graph = Self { offsets: offsets.into(), neighbours, edge_weights, vertex_weights };
        graph.check_shape()?;
        graph.check_rows()?;
        Ok(graph.without_unit_weights())
    }

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

    /// As [`UndirectedGraph::from_edges`], but edges weigh 1, however often they come.
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
        graph.check_shape()?;
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

    fn check_shape(&self) -> Result<(), UndirectedError> {
        let vertices = self.offsets.len().saturating_sub(1);
        if vertices > u32::MAX as usize {
            return Err(UndirectedError::TooManyVertices { vertices });
        }
        let offsets = self.offsets.view();
        if let Some(vertex) = (0..vertices).find(|&vertex| offsets.at(vertex) > offsets.at(vertex + 1)) {
            return Err(UndirectedError::BadOffsets { vertex });
        }
        if offsets.is_empty() || offsets.at(0) != 0 || offsets.at(vertices) != self.neighbours.len() as u64 {
            return Err(UndirectedError::BadOffsets { vertex: vertices.saturating_sub(1) });
        }
        let lists = [
            ("vertex", &self.vertex_weights, vertices, 1),
            // Each edge is there twice.
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

    fn check_rows(&self) -> Result<(), UndirectedError> {
        let vertices = self.vertex_count();
        for vertex in self.vertices() {
            let mut previous = None;
            for (neighbour, _) in self.edges_of(vertex) {
                if neighbour as usize >= vertices {
                    return Err(UndirectedError::UnknownVertex { vertex, neighbour, vertices });
                }
                if neighbour == vertex {
                    return Err(UndirectedError::SelfLoop { vertex });
                }
                if previous.is_some_and(|previous| previous >= neighbour) {
                    return Err(UndirectedError::NotAscending { vertex, neighbour });
                }
                previous = Some(neighbour);
            }
        }
        // Vertices in ascending order meet each row's entries in ascending order: one cursor a row finds the partners.
        let mut cursor = self.offsets.clone();
        for vertex in self.vertices() {
            for (neighbour, weight) in self.edges_of(vertex) {
                let at = cursor.at(neighbour as usize) as usize;
                let partner = (at < self.row(neighbour).end).then(|| self.entry(at));
                if partner != Some((vertex, weight)) {
                    return Err(UndirectedError::Asymmetric { vertex, neighbour });
                }
                cursor.set(neighbour as usize, at as u64 + 1);
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
        let again = UndirectedGraph::from_rows(
            graph.offsets().to_vec(),
            graph.all_neighbours().to_vec(),
            graph.edge_weights().map(Numbers::to_vec),
            graph.vertex_weights().map(Numbers::to_vec),
        );
        assert_eq!(again, Ok(graph));
    }

    #[test]
    fn weights_of_one_are_not_kept() {
        let graph = UndirectedGraph::from_edges(2, [(0, 1, 1)].into_iter(), Some(vec![1, 1])).unwrap();
        assert_eq!((graph.offsets(), graph.all_neighbours()), (Numbers::Narrow(&[0, 1, 2]), [1, 0].as_slice()));
        assert_eq!((graph.edge_weights(), graph.vertex_weights()), (None, None));
        assert_eq!(UndirectedGraph::from_edges(0, [].into_iter(), None).unwrap().vertex_count(), 0);
    }

    #[test]
    fn rows_that_are_no_undirected_graph_are_refused() {
        let refuse = |offsets: &[u64], neighbours: &[u32], weights: Option<&[u64]>| {
            UndirectedGraph::from_rows(offsets.to_vec(), neighbours.to_vec(), weights.map(<[u64]>::to_vec), None)
                .unwrap_err()
        };
        use UndirectedError::*;
        assert_eq!(refuse(&[0, 1, 1], &[1], None), Asymmetric { vertex: 0, neighbour: 1 });
        assert_eq!(refuse(&[0, 1, 2], &[1, 0], Some(&[1, 2])), Asymmetric { vertex: 0, neighbour: 1 });
        assert_eq!(refuse(&[0, 1, 2], &[0, 0], None), SelfLoop { vertex: 0 });
        assert_eq!(refuse(&[0, 2, 4], &[1, 1, 0, 0], None), NotAscending { vertex: 0, neighbour: 1 });
        assert_eq!(refuse(&[0, 1], &[7], None), UnknownVertex { vertex: 0, neighbour: 7, vertices: 1 });
        assert_eq!(refuse(&[0, 3, 2], &[1, 0], None), BadOffsets { vertex: 1 });
        assert_eq!(refuse(&[0, 1, 3], &[1, 0], None), BadOffsets { vertex: 1 });
        let wrong = WrongLength { what: "edge", found: 1, expected: 2 };
        assert_eq!(refuse(&[0, 1, 2], &[1, 0], Some(&[1])), wrong);
        let max = Some([u64::MAX, u64::MAX]);
        assert!(UndirectedGraph::from_edges(2, [(0, 1, u64::MAX)].into_iter(), None).is_ok());
        let heavy = UndirectedGraph::from_edges(2, [(0, 1, 1)].into_iter(), max.map(|weights| weights.to_vec()));
        assert_eq!(heavy, Err(TotalOverflow { what: "vertex" }));
    }
}
