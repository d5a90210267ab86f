//! What it costs to add tensors, and to put them one behind the other.

use std::borrow::Cow;

use placebench_datasets::{DataflowGraph, OpId};

use super::training_step::op_type;
use crate::rewrite::Draft;

/// Op types that add tensors element by element, in TensorFlow, JAX and PyTorch.
const ADDITIONS: [&str; 6] = ["Add", "AddN", "AddV2", "AssignAdd", "add", "add_any"];

/// Op types that put tensors one behind the other.
const JOINS: [&str; 4] = ["Concat", "ConcatV2", "concatenate", "cat"];

/// Op types that make of several parts of sums, each beside or after the other, parts of sums.
const LINEAR: [&str; 7] = ["Pack", "Sum", "Identity", "reduce_sum", "stack", "reshape", "sum"];

/// Whether what an op makes of parts of sums is a part of the sum that it makes of the sums.
pub(super) fn is_linear(graph: &DataflowGraph, op: OpId) -> bool {
    let is_one = |name: &str| ADDITIONS.contains(&name) || JOINS.contains(&name) || LINEAR.contains(&name);
    op_type(graph, op).is_some_and(is_one)
}

/// The costs of additions in a graph, for each byte that they read and write: what its own additions cost on the mean, weighed by
/// their bytes; where it has none, what its ops cost. So are those of joins, but that a graph without any takes its additions.
pub(super) struct Additions<'g> {
    op_type: &'static str,
    ops: f64,
    times: Vec<(&'g str, f64)>,
}

/// Bytes of an element where the graph has nothing to learn from.
const ELEMENT_BYTES: f64 = 4.0;

impl<'g> Additions<'g> {
    pub(super) fn of(graph: &'g DataflowGraph) -> Self {
        let known = typed(graph, &ADDITIONS);
        if !known.is_empty() {
            return Self::learned(graph, "AddN", &known);
        }
        let all: Vec<OpId> = graph.op_ids().filter(|&op| bytes(graph, op) > 0.0).collect();
        // Two inputs and one output of as many elements take one operation an element.
        Self { ops: 1.0 / (3.0 * ELEMENT_BYTES), ..Self::learned(graph, "AddN", &all) }
    }

    /// What it costs to put tensors one behind the other. The type is TensorFlow's, or JAX's in a graph whose weights are.
    pub(super) fn joins_of(graph: &'g DataflowGraph) -> Self {
        let op_type = if typed(graph, &["parameter"]).is_empty() { "ConcatV2" } else { "concatenate" };
        match typed(graph, &JOINS).as_slice() {
            [] => Self { op_type, ..Self::of(graph) },
            known => Self::learned(graph, op_type, known),
        }
    }

    /// What ops that are there cost on the mean.
    fn learned(graph: &'g DataflowGraph, op_type: &'static str, known: &[OpId]) -> Self {
        let total: f64 = known.iter().map(|&op| bytes(graph, op)).sum();
        let rate = |cost: &dyn Fn(OpId) -> f64| {
            if total > 0.0 { known.iter().map(|&op| cost(op)).sum::<f64>() / total } else { 0.0 }
        };
        let times = graph.measured_times().iter();
        let times = times.map(|times| (times.class(), rate(&|op| times.of(op).unwrap_or(0.0)))).collect();
        Self { op_type, ops: rate(&|op| graph.ops(op)), times }
    }

    /// The op that adds a number of tensors of this size, near the op that makes them. What is joined is read once: one tensor.
    pub(super) fn draft(&self, graph: &'g DataflowGraph, near: OpId, size: u64, inputs: usize) -> Draft<'g> {
        let moved = (inputs as f64 + 1.0) * size as f64;
        let near = Draft::of(graph, near);
        Draft {
            ops: self.ops * moved,
            memory_bytes: 0,
            bytes_moved: near.bytes_moved.map(|_| moved),
            times: self.times.iter().map(|&(class, rate)| (class, rate * moved)).collect(),
            op_type: near.op_type.is_some().then_some(Cow::Borrowed(self.op_type)),
            attributes: None,
            outputs: vec![size],
            from: Vec::new(),
            ..near
        }
    }
}

/// Ops of some types that read or write anything.
fn typed(graph: &DataflowGraph, types: &[&str]) -> Vec<OpId> {
    let is_one = |op: &OpId| op_type(graph, *op).is_some_and(|op_type| types.contains(&op_type));
    graph.op_ids().filter(|op| is_one(op) && bytes(graph, *op) > 0.0).collect()
}

/// Bytes of an op's inputs and outputs.
fn bytes(graph: &DataflowGraph, op: OpId) -> f64 {
    let inputs: u64 = graph.predecessors(op).map(|edge| graph.edge_bytes(edge)).sum();
    let outputs: u64 = graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor)).sum();
    inputs as f64 + outputs as f64
}
