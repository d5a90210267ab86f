//! Why rows or edges are no undirected graph.

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
