//! Graphs as streams, for algorithms that never hold a whole graph: from memory, or from files of any size.
//!
//! | stream | from memory | from a file |
//! |---|---|---|
//! | vertices with their rows ([`VertexStream`]) | [`GraphRows`] | [`RowFile`] |
//! | edges ([`EdgeStream`]) | [`EdgeList`], [`GraphEdges`] | [`EdgeFile`], [`TextEdges`], [`TableEdges`], [`EdgeParts`] |
//!
//! Partitioners of vertices read a [`RowFile`], which lists the neighbours of each vertex. Partitioners of edges read
//! an [`EdgeFile`]. [`write_rows_from_edges`] turns a stream of edges into a file of rows in bounded memory. The
//! formats are in `docs/FORMATS.md`.

mod bytes;
mod edge_file;
mod edge_parts;
mod from_edges;
mod memory;
mod part;
pub(crate) mod row_file;
mod table_edges;
mod text_edges;

pub use edge_file::{EdgeFile, write_edges};
pub use edge_parts::{EdgeParts, open_edges};
pub use from_edges::write_rows_from_edges;
pub use memory::{EdgeList, GraphEdges, GraphRows};
pub use part::{EdgeFormat, EdgeSink, OpRow, OpSink, Target, write_edge_part, write_op_part};
pub use row_file::{RowFile, write_rows};
pub use table_edges::TableEdges;
pub use text_edges::{TextEdges, write_text_edges};

use crate::Numbers;
use crate::format::FormatError;

/// A vertex with its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VertexRow<'a> {
    /// The vertex.
    pub vertex: u32,
    /// Its weight.
    pub weight: u64,
    /// Its neighbours, in no particular order; one that is named twice stands for two parallel edges.
    pub neighbours: &'a [u32],
    /// Weights of the edges, parallel to `neighbours`; `None` if all are 1.
    pub edge_weights: Option<Numbers<'a>>,
}

/// An undirected graph, one vertex with its neighbours after the other.
///
/// A stream yields each vertex below [`VertexStream::vertex_count`] once, and each edge in the rows of both its ends.
pub trait VertexStream {
    /// Number of vertices.
    fn vertex_count(&self) -> usize;

    /// Sum of the weights of all vertices.
    fn total_vertex_weight(&self) -> u64;

    /// Sum of the weights of all edges, each counted once.
    fn total_edge_weight(&self) -> u64;

    /// The next vertex; `None` when all have come.
    ///
    /// # Errors
    /// If the file behind the stream cannot be read, or is malformed.
    fn next_row(&mut self) -> Result<Option<VertexRow<'_>>, FormatError>;

    /// Starts again from the first vertex.
    ///
    /// # Errors
    /// If the file behind the stream cannot be read again.
    fn rewind(&mut self) -> Result<(), FormatError>;

    /// What the stream itself keeps in memory now, in bytes.
    fn memory_bytes(&self) -> u64;
}

/// The edges of a graph, one after the other. Self-loops and parallel edges are edges like others.
pub trait EdgeStream {
    /// Number of vertices; all ends are below.
    fn vertex_count(&self) -> usize;

    /// Number of edges.
    fn edge_count(&self) -> u64;

    /// The next edges, at least one; `None` when all have come.
    ///
    /// # Errors
    /// If the file behind the stream cannot be read, or is malformed.
    fn next_edges(&mut self) -> Result<Option<&[(u32, u32)]>, FormatError>;

    /// Starts again from the first edge.
    ///
    /// # Errors
    /// If the file behind the stream cannot be read again.
    fn rewind(&mut self) -> Result<(), FormatError>;

    /// What the stream itself keeps in memory now, in bytes.
    fn memory_bytes(&self) -> u64;
}
