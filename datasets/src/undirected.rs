//! An undirected graph with weights on vertices and edges: what partitioners see.

/// An undirected graph in compressed sparse rows: each edge is in the rows of both its ends. There are no self-loops and
/// no parallel edges.
///
/// # Memory
/// 8 bytes a vertex, 8 an edge; with weights that are not all 1, 8 more a vertex and 16 more an edge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndirectedGraph {
    /// Where each vertex's row begins, and the end of the last.
    offsets: Vec<u64>,
    neighbours: Vec<u32>,
    /// Parallel to `neighbours`; `None` if all are 1.
    edge_weights: Option<Vec<u64>>,
    /// `None` if all are 1.
    vertex_weights: Option<Vec<u64>>,
}

/// Why rows are no undirected graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UndirectedError {
    /// Offsets must start at 0, not descend, and end at the number of entries.
    #[error("the row of vertex {vertex} ends before it begins, or the last row does not end with the entries")]
    BadOffsets {
        /// The vertex.
        vertex: usize,
    },
    /// A list of weights has the wrong length.
    #[error("{found} {what} weights for {expected} of them")]
    WrongLength {
        /// `vertex` or `edge`.
        what: &'static str,
        /// How many are given.
        found: usize,
        /// How many are needed.
        expected: usize,
    },
    /// A neighbour does not exist.
    #[error("vertex {vertex} has the neighbour {neighbour}, but there are only {vertices} vertices (0 to {})", .vertices.saturating_sub(1))]
    UnknownVertex {
        /// Whose row.
        vertex: u32,
        /// The neighbour.
        neighbour: u32,
        /// Number of vertices.
        vertices: usize,
    },
    /// A vertex is its own neighbour.
    #[error("vertex {vertex} has an edge to itself")]
    SelfLoop {
        /// The vertex.
        vertex: u32,
    },
    /// A row names a neighbour twice, or its neighbours do not ascend.
    #[error("the neighbours of vertex {vertex} do not ascend strictly at {neighbour}")]
    NotAscending {
        /// Whose row.
        vertex: u32,
        /// The neighbour at fault.
        neighbour: u32,
    },
    /// An edge is in the row of one end only, or has another weight there.
    #[error("the edge from {vertex} to {neighbour} is not in the row of {neighbour} with the same weight")]
    Asymmetric {
        /// The end that has it.
        vertex: u32,
        /// The end that lacks it.
        neighbour: u32,
    },
    /// More vertices than 32-bit ids can name.
    #[error("{vertices} vertices are more than 32-bit ids can name")]
    TooManyVertices {
        /// How many.
        vertices: usize,
    },
    /// The weights add up to more than 64 bits hold.
    #[error("the {what} weights add up to more than 64 bits hold")]
    TotalOverflow {
        /// `vertex` or `edge`.
        what: &'static str,
    },
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
        let graph = Self { offsets, neighbours, edge_weights, vertex_weights };
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
    /// O(vertices + edges · log degree) time; 24 bytes an edge of scratch space.
    pub fn from_edges(
        vertices: usize,
        edges: impl Iterator<Item = (u32, u32, u64)> + Clone,
        vertex_weights: Option<Vec<u64>>,
    ) -> Result<Self, UndirectedError> {
        if vertices > u32::MAX as usize {
            return Err(UndirectedError::TooManyVertices { vertices });
        }
        let mut starts = vec![0u64; vertices + 1];
        for (a, b, _) in edges.clone() {
            for (vertex, neighbour) in [(a, b), (b, a)] {
                if neighbour as usize >= vertices {
                    return Err(UndirectedError::UnknownVertex { vertex, neighbour, vertices });
                }
            }
            if a != b {
                starts[a as usize + 1] += 1;
                starts[b as usize + 1] += 1;
            }
        }
        for vertex in 0..vertices {
            starts[vertex + 1] += starts[vertex];
        }
        let mut entries = vec![(0u32, 0u64); starts[vertices] as usize];
        let mut cursor = starts.clone();
        for (a, b, weight) in edges.filter(|(a, b, _)| a != b) {
            for (vertex, neighbour) in [(a, b), (b, a)] {
                let slot = &mut cursor[vertex as usize];
                entries[*slot as usize] = (neighbour, weight);
                *slot += 1;
            }
        }
        let mut offsets = Vec::with_capacity(vertices + 1);
        offsets.push(0);
        let (mut neighbours, mut weights) = (Vec::with_capacity(entries.len()), Vec::with_capacity(entries.len()));
        for range in starts.windows(2) {
            let row = &mut entries[range[0] as usize..range[1] as usize];
            row.sort_unstable();
            let first = neighbours.len();
            for &mut (neighbour, weight) in row {
                if neighbours.len() > first && neighbours.last() == Some(&neighbour) {
                    let last = weights.len() - 1;
                    weights[last] = u64::checked_add(weights[last], weight)
                        .ok_or(UndirectedError::TotalOverflow { what: "edge" })?;
                } else {
                    neighbours.push(neighbour);
                    weights.push(weight);
                }
            }
            offsets.push(neighbours.len() as u64);
        }
        let graph = Self { offsets, neighbours, edge_weights: Some(weights), vertex_weights };
        graph.check_shape()?;
        Ok(graph.without_unit_weights())
    }

    /// A graph from rows whose symmetry a reader has checked.
    pub(crate) fn from_symmetric_rows(
        offsets: Vec<u64>,
        neighbours: Vec<u32>,
        edge_weights: Option<Vec<u64>>,
        vertex_weights: Option<Vec<u64>>,
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
        if let Some(vertex) = self.offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(UndirectedError::BadOffsets { vertex });
        }
        if self.offsets.first() != Some(&0) || self.offsets.last() != Some(&(self.neighbours.len() as u64)) {
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
            let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
            if total / times > u128::from(u64::MAX) {
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
        let mut cursor: Vec<u64> = self.offsets[..vertices].to_vec();
        for vertex in self.vertices() {
            for (neighbour, weight) in self.edges_of(vertex) {
                let at = cursor[neighbour as usize];
                let partner = (at < self.offsets[neighbour as usize + 1]).then(|| self.entry(at as usize));
                if partner != Some((vertex, weight)) {
                    return Err(UndirectedError::Asymmetric { vertex, neighbour });
                }
                cursor[neighbour as usize] += 1;
            }
        }
        Ok(())
    }

    fn without_unit_weights(mut self) -> Self {
        for weights in [&mut self.edge_weights, &mut self.vertex_weights] {
            if weights.as_ref().is_some_and(|weights| weights.iter().all(|&weight| weight == 1)) {
                *weights = None;
            }
        }
        self
    }

    fn entry(&self, at: usize) -> (u32, u64) {
        (self.neighbours[at], self.edge_weights.as_ref().map_or(1, |weights| weights[at]))
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
        (self.offsets[vertex as usize + 1] - self.offsets[vertex as usize]) as usize
    }

    /// The neighbours of a vertex, ascending.
    #[inline]
    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        &self.neighbours[self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize]
    }

    /// The neighbours of a vertex with the weights of the edges to them, ascending.
    #[inline]
    pub fn edges_of(&self, vertex: u32) -> impl ExactSizeIterator<Item = (u32, u64)> + '_ {
        (self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize).map(|at| self.entry(at))
    }

    /// All edges with their weights, each once, the lower end first, ascending.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32, u64)> + Clone + '_ {
        self.vertices().flat_map(move |vertex| {
            let row = self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize;
            let entries = row.map(move |at| self.entry(at)).filter(move |&(neighbour, _)| neighbour > vertex);
            entries.map(move |(neighbour, weight)| (vertex, neighbour, weight))
        })
    }

    /// Weight of a vertex.
    #[inline]
    pub fn vertex_weight(&self, vertex: u32) -> u64 {
        self.vertex_weights.as_ref().map_or(1, |weights| weights[vertex as usize])
    }

    /// Sum of the weights of all vertices.
    pub fn total_vertex_weight(&self) -> u64 {
        self.vertex_weights.as_ref().map_or(self.vertex_count() as u64, |weights| weights.iter().sum())
    }

    /// Sum of the weights of all edges, each counted once.
    pub fn total_edge_weight(&self) -> u64 {
        match &self.edge_weights {
            None => self.edge_count() as u64,
            Some(weights) => (weights.iter().map(|&weight| u128::from(weight)).sum::<u128>() / 2) as u64,
        }
    }

    /// Where each vertex's row begins in [`UndirectedGraph::all_neighbours`], and the end of the last.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// All rows, one after the other.
    pub fn all_neighbours(&self) -> &[u32] {
        &self.neighbours
    }

    /// Weights of the edges, parallel to [`UndirectedGraph::all_neighbours`]; `None` if all are 1.
    pub fn edge_weights(&self) -> Option<&[u64]> {
        self.edge_weights.as_deref()
    }

    /// Weights of the vertices; `None` if all are 1.
    pub fn vertex_weights(&self) -> Option<&[u64]> {
        self.vertex_weights.as_deref()
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
            graph.edge_weights().map(<[u64]>::to_vec),
            graph.vertex_weights().map(<[u64]>::to_vec),
        );
        assert_eq!(again, Ok(graph));
    }

    #[test]
    fn weights_of_one_are_not_kept() {
        let graph = UndirectedGraph::from_edges(2, [(0, 1, 1)].into_iter(), Some(vec![1, 1])).unwrap();
        assert_eq!((graph.offsets(), graph.all_neighbours()), ([0, 1, 2].as_slice(), [1, 0].as_slice()));
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
