//! The arrays that a graph consists of, for code that hands them on without a copy.

use crate::{DataflowGraph, OpId};

impl DataflowGraph {
    /// The cost of each op, in operations.
    pub fn all_ops(&self) -> &[f64] {
        &self.ops
    }

    /// The resident memory of each op, in bytes.
    pub fn all_memory_bytes(&self) -> &[u64] {
        &self.memory_bytes
    }

    /// The size of each tensor, in bytes.
    pub fn all_tensor_bytes(&self) -> &[u64] {
        &self.tensor_bytes
    }

    /// The op that produces each tensor.
    pub fn all_producers(&self) -> &[OpId] {
        &self.tensor_producer
    }

    /// Where the out-edges of each op begin among all, in the order of edges' ids; the last entry is their number.
    pub fn out_offsets(&self) -> &[u32] {
        &self.out_offsets
    }

    /// The consumer of each edge, in the order of edges' ids.
    pub fn out_targets(&self) -> &[OpId] {
        &self.out_targets
    }
}
