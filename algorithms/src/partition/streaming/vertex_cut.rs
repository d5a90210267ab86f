//! What partitioners of edges are, and what they answer.

use placebench_datasets::format::FormatError;
use placebench_datasets::stream::{EdgeStream, VertexStream};

use super::{Fennel, Ldg, Replicas, StreamError};
use crate::partition::{Partition, PartitionRequest};

/// Divides the edges of a graph into blocks; a vertex with edges in several blocks is replicated there.
///
/// Each edge has weight 1. The same stream, request and parameters give the same answer.
pub trait EdgePartitioner: Send + Sync {
    /// Hands each edge to `sink` once its block is decided, which is not always in the order of the stream, and answers with
    /// the replicas. No block gets more than [`PartitionRequest::capacity`] of the number of edges.
    ///
    /// # Errors
    /// If the stream or the sink fails, or the request's token stops it.
    fn partition_edges(
        &self,
        stream: &mut dyn EdgeStream,
        request: &PartitionRequest,
        sink: &mut dyn FnMut(AssignedEdge) -> Result<(), FormatError>,
    ) -> Result<VertexCut, StreamError>;
}

/// Divides the vertices of a stream into blocks.
pub trait VertexStreamPartitioner: Send + Sync {
    /// A block for each vertex.
    ///
    /// # Errors
    /// If the stream fails, or the request's token stops it.
    fn partition_stream(
        &self,
        stream: &mut dyn VertexStream,
        request: &PartitionRequest,
    ) -> Result<Partition, StreamError>;
}

impl VertexStreamPartitioner for Ldg {
    fn partition_stream(
        &self,
        stream: &mut dyn VertexStream,
        request: &PartitionRequest,
    ) -> Result<Partition, StreamError> {
        Self::partition_stream(self, stream, request)
    }
}

impl VertexStreamPartitioner for Fennel {
    fn partition_stream(
        &self,
        stream: &mut dyn VertexStream,
        request: &PartitionRequest,
    ) -> Result<Partition, StreamError> {
        Self::partition_stream(self, stream, request)
    }
}

/// An edge with its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssignedEdge {
    /// Its place in the stream, from 0.
    pub edge: u64,
    /// Its ends.
    pub ends: (u32, u32),
    /// A number below the number of blocks.
    pub block: u32,
}

/// Edges divided into blocks, without the edges themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct VertexCut {
    /// Which vertices are in which blocks.
    pub replicas: Replicas,
    /// Number of edges in each block.
    pub edges_of_block: Vec<u64>,
    /// How often an edge was scored, where that is counted: [`Adwise`](super::Adwise) spends a budget of it.
    pub evaluations: Option<u64>,
    /// The most memory that the algorithm and the stream held, in bytes.
    pub memory_bytes: u64,
}

impl VertexCut {
    /// No edges yet, to be judged by [`VertexCut::add`].
    pub fn empty(vertices: usize, blocks: u32) -> Self {
        let replicas = Replicas::new(vertices, blocks);
        let memory_bytes = replicas.memory_bytes();
        Self { replicas, edges_of_block: vec![0; blocks as usize], evaluations: None, memory_bytes }
    }

    /// Adds an edge to a block. Its ends and the block must exist.
    pub fn add(&mut self, ends: (u32, u32), block: u32) {
        self.replicas.insert(ends.0, block as usize);
        self.replicas.insert(ends.1, block as usize);
        self.edges_of_block[block as usize] += 1;
    }

    /// Replicas of a vertex, averaged over the vertices that have edges; 1 without edges.
    ///
    /// # Complexity
    /// O(vertices · blocks / 64).
    pub fn replication_factor(&self) -> f64 {
        match self.replicas.replicated_vertices() {
            0 => 1.0,
            vertices => self.replicas.total() as f64 / vertices as f64,
        }
    }

    /// Largest number of edges in a block / (edges / blocks) − 1; 0 without edges.
    ///
    /// # Complexity
    /// O(blocks).
    pub fn edge_imbalance(&self) -> f64 {
        let total: u64 = self.edges_of_block.iter().sum();
        let largest = self.edges_of_block.iter().max().copied().unwrap_or(0);
        if total == 0 { 0.0 } else { largest as f64 * self.edges_of_block.len() as f64 / total as f64 - 1.0 }
    }
}
