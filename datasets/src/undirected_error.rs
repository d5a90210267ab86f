//! Why edges are no undirected graph.

/// Why edges are no undirected graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UndirectedError {
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
