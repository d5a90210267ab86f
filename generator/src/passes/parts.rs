//! What is done once in a step with parts of tensors that members divide among them.

use placebench_datasets::{DataflowGraph, OpId, TensorId};

use super::additions::is_linear;
use super::training_step::{SMALL, TrainingStep};

/// Finds, by op, what makes a part of a sum out of parts: numbers such as the squares of a gradient, which have to be summed over all
/// members before anything else takes them. What makes a large tensor of parts works on parts, too: it is marked in `is_divided`.
///
/// `is_part` says whether an op's tensor is one of which each member has a part, as far as it is known before.
pub(super) fn partial_sums(
    graph: &DataflowGraph,
    step: &TrainingStep,
    is_divided: &mut [bool],
    is_part: impl Fn(OpId, TensorId) -> bool,
) -> Vec<bool> {
    let mut is_partial = vec![false; graph.op_count()];
    let is_once = |op: &OpId| step.takes_inputs(*op) && !step.is_repeated(*op) && !step.is_update(*op);
    for op in graph.topological_order().filter(is_once) {
        let data = || graph.predecessors(op).filter_map(|edge| Some((edge.op, edge.tensor?)));
        let has_part = |(source, tensor): (OpId, TensorId)| {
            let made_of_parts = is_divided[source.index()] && !step.is_repeated(source);
            graph.tensor_bytes(tensor) > SMALL && (made_of_parts || is_part(source, tensor))
        };
        let mut before = data().filter(|(source, _)| step.takes_inputs(*source)).peekable();
        // Sums of partial sums are partial sums.
        let adds_up =
            is_linear(graph, op) && before.peek().is_some() && before.all(|(source, _)| is_partial[source.index()]);
        let is_small = graph.outputs(op).all(|tensor| graph.tensor_bytes(tensor) <= SMALL);
        if adds_up || (data().any(has_part) && is_small && !is_divided[op.index()]) {
            is_partial[op.index()] = true;
        } else if data().any(has_part) {
            is_divided[op.index()] = true;
        }
    }
    is_partial
}
