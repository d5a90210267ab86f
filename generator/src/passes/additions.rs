//! What it costs to add tensors.

use std::borrow::Cow;

use placebench_datasets::{DataflowGraph, OpId};

use crate::rewrite::Draft;

/// Op types that add tensors element by element, in TensorFlow and JAX.
const ADDITIONS: [&str; 6] = ["Add", "AddN", "AddV2", "AssignAdd", "add", "add_any"];

/// The costs of additions in a graph, for each byte that they read and write: what its own additions cost on the mean, weighed by
/// their bytes; where it has none, what its ops cost.
pub(super) struct Additions<'g> {
    ops: f64,
    times: Vec<(&'g str, f64)>,
}

/// Bytes of an element where the graph has nothing to learn from.
const ELEMENT_BYTES: f64 = 4.0;

impl<'g> Additions<'g> {
    pub(super) fn of(graph: &'g DataflowGraph) -> Self {
        let adds = |op: &OpId| {
            let op_type = graph.op_types().and_then(|types| types.get(op.index()));
            op_type.is_some_and(|op_type| ADDITIONS.contains(&op_type)) && bytes(graph, *op) > 0.0
        };
        let mut known: Vec<OpId> = graph.op_ids().filter(adds).collect();
        let has_additions = !known.is_empty();
        if !has_additions {
            known = graph.op_ids().filter(|&op| bytes(graph, op) > 0.0).collect();
        }
        let total: f64 = known.iter().map(|&op| bytes(graph, op)).sum();
        let rate = |cost: &dyn Fn(OpId) -> f64| {
            if total > 0.0 { known.iter().map(|&op| cost(op)).sum::<f64>() / total } else { 0.0 }
        };
        // Two inputs and one output of as many elements take one operation an element.
        let ops = if has_additions { rate(&|op| graph.ops(op)) } else { 1.0 / (3.0 * ELEMENT_BYTES) };
        let times = graph.measured_times().iter();
        Self { ops, times: times.map(|times| (times.class(), rate(&|op| times.of(op).unwrap_or(0.0)))).collect() }
    }

    /// The op that adds a number of tensors of this size, near the op that makes them.
    pub(super) fn draft(&self, graph: &'g DataflowGraph, near: OpId, size: u64, inputs: usize) -> Draft<'g> {
        let moved = (inputs as f64 + 1.0) * size as f64;
        let near = Draft::of(graph, near);
        Draft {
            ops: self.ops * moved,
            memory_bytes: 0,
            bytes_moved: near.bytes_moved.map(|_| moved),
            times: self.times.iter().map(|&(class, rate)| (class, rate * moved)).collect(),
            op_type: near.op_type.is_some().then_some(Cow::Borrowed("AddN")),
            attributes: None,
            outputs: vec![size],
            from: Vec::new(),
            ..near
        }
    }
}

/// Bytes of an op's inputs and outputs.
fn bytes(graph: &DataflowGraph, op: OpId) -> f64 {
    let inputs: u64 = graph.predecessors(op).map(|edge| graph.edge_bytes(edge)).sum();
    let outputs: u64 = graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor)).sum();
    inputs as f64 + outputs as f64
}
