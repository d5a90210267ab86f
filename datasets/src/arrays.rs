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

#[cfg(test)]
mod tests {
    use crate::{GraphBuilder, OpId, OpSpec};

    #[test]
    fn the_arrays_say_what_the_graph_says_op_by_op() {
        let mut builder = GraphBuilder::default();
        let a = builder.add_op(OpSpec { memory_bytes: 7, ..OpSpec::cost(3.0) }, &[8, 9]);
        let b = builder.add_op(OpSpec::cost(5.0), &[]);
        let c = builder.add_op(OpSpec::cost(4.0), &[1]);
        builder.add_edge(a, 1, b).unwrap();
        builder.add_edge(a, 0, c).unwrap();
        builder.add_control_edge(c, b).unwrap();
        let graph = builder.build().unwrap();
        assert_eq!((graph.all_ops(), graph.all_memory_bytes()), (&[3.0, 5.0, 4.0][..], &[7, 0, 0][..]));
        assert_eq!(
            (graph.all_tensor_bytes(), graph.all_producers()),
            (&[8, 9, 1][..], &[OpId(0), OpId(0), OpId(2)][..])
        );
        let rows = graph.out_offsets().windows(2).map(|row| &graph.out_targets()[row[0] as usize..row[1] as usize]);
        assert!(rows.eq(graph.op_ids().map(|op| graph.successor_ops(op))));
    }
}
