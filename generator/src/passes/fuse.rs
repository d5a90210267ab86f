//! Elementwise ops are computed where their input is made.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::{DataflowGraph, OpId};

use super::contraction::{Clusters, contract, may_join};
use crate::pass::{Kept, Pass, PassError, Passed};
use crate::rewrite::refused_by;

/// Op types that compute each element of their output from the elements at its place: of TensorFlow and ONNX, then of JAX and
/// PyTorch.
const ELEMENTWISE: &[&str] = &[
    "Abs",
    "Add",
    "AddN",
    "AddV2",
    "BiasAdd",
    "Cast",
    "Clip",
    "ClipByValue",
    "Div",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Expm1",
    "Floor",
    "Gelu",
    "Greater",
    "GreaterEqual",
    "Identity",
    "Inv",
    "LeakyRelu",
    "Less",
    "LessEqual",
    "Log",
    "Log1p",
    "LogicalAnd",
    "LogicalNot",
    "LogicalOr",
    "Maximum",
    "Minimum",
    "Mul",
    "Neg",
    "NotEqual",
    "Pow",
    "RealDiv",
    "Reciprocal",
    "Relu",
    "Relu6",
    "ReluGrad",
    "Rsqrt",
    "RsqrtGrad",
    "Select",
    "SelectV2",
    "Selu",
    "Sigmoid",
    "SigmoidGrad",
    "Sign",
    "Softplus",
    "Softsign",
    "Sqrt",
    "SqrtGrad",
    "Square",
    "SquaredDifference",
    "StopGradient",
    "Sub",
    "Tanh",
    "TanhGrad",
    "Where",
    "_to_copy",
    "abs",
    "add",
    "add_any",
    "addcdiv",
    "addcmul",
    "and",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "clamp",
    "clone",
    "convert_element_type",
    "copy",
    "cos",
    "div",
    "elu",
    "elu_backward",
    "eq",
    "erf",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "fill",
    "floor",
    "ge",
    "gelu",
    "gelu_backward",
    "gt",
    "hardswish",
    "integer_pow",
    "is_finite",
    "le",
    "leaky_relu",
    "leaky_relu_backward",
    "lerp",
    "log",
    "log1p",
    "logical_and",
    "logical_not",
    "logical_or",
    "logistic",
    "lt",
    "masked_fill",
    "max",
    "maximum",
    "min",
    "minimum",
    "mul",
    "ne",
    "neg",
    "not",
    "or",
    "pow",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "rsub",
    "select_n",
    "sigmoid",
    "sigmoid_backward",
    "sign",
    "silu",
    "silu_backward",
    "sin",
    "softplus",
    "sqrt",
    "square",
    "stop_gradient",
    "sub",
    "tanh",
    "tanh_backward",
    "threshold_backward",
    "where",
];

/// Makes one op of an elementwise op and what it takes its input from, if nothing else consumes that: the tensor between them is
/// neither written to memory nor read again. Of several producers the elementwise ones are taken, and of the others the one whose
/// tensor is largest.
///
/// An op that moved bytes moves `2 · bytes` less for each tensor that is gone. Measured times are summed, since none was
/// measured of the fused op: a graph gains the overheads of the ops that are gone, and no more. No cycle can arise, since a
/// fused op hands on nothing before its end.
///
/// # Complexity
/// O((ops + edges) · log ops).
///
/// # Reference
/// The XLA compiler's producer–consumer fusion, as in N. Snider, R. Liang: Operator fusion in XLA: analysis and evaluation.
/// arXiv:2301.13062, 2023, §III.
pub(super) struct Fuse {
    /// Tensors of fewer bytes stay.
    least: u64,
}

impl Pass for Fuse {
    const NAME: &'static str = "fuse";
    const SUMMARY: &'static str = "makes one op of an elementwise op and the producer of its input";
    const SOURCE: &'static str = "Snider, Liang 2023 (XLA)";
    const KEEPS: &'static [Kept] = &[Kept::Work, Kept::Bytes, Kept::Results];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self { least: params.number("least", 0, 0.., "bytes of the smallest tensor that is worth it")? })
    }

    fn apply(&self, graph: &DataflowGraph) -> Result<Passed, PassError> {
        if graph.op_types().is_none() {
            return Err(PassError::refused::<Self>(
                "the ops of the graph have no types, so that none is known to be elementwise",
            ));
        }
        let (mut clusters, mut saved) = (Clusters::new(graph.op_count()), vec![0.0; graph.op_count()]);
        let is_elementwise = |op: OpId| is_elementwise(graph, op);
        // Whether a cluster has an op that is not elementwise, by its first op.
        let mut is_heavy: Vec<bool> = graph.op_ids().map(|op| !is_elementwise(op)).collect();
        let mut total = 0.0;
        for op in graph.topological_order().filter(|&op| is_elementwise(op)) {
            let mut inputs: Vec<(u64, OpId)> = graph
                .predecessors(op)
                .filter_map(|edge| Some((graph.tensor_bytes(edge.tensor?), edge.op)))
                .filter(|&(bytes, source)| {
                    let is_only = graph.successor_ops(source).iter().all(|&other| other == op);
                    is_only && bytes >= self.least && may_join(graph, source, op)
                })
                .collect();
            inputs.sort_by_key(|&(bytes, source)| (std::cmp::Reverse(bytes), source));
            inputs.dedup_by_key(|&mut (_, source)| source);
            let mut has_heavy = false;
            for (bytes, source) in inputs {
                let heavy = is_heavy[clusters.of(source).index()];
                if heavy && has_heavy {
                    continue;
                }
                has_heavy |= heavy;
                clusters.join(source, op);
                saved[op.index()] += 2.0 * bytes as f64;
                total += 2.0 * bytes as f64;
            }
            is_heavy[clusters.of(op).index()] = has_heavy;
        }
        let passed = contract(graph, &clusters, |op| saved[op.index()]).map_err(refused_by::<Self>)?;
        let line = format!("{}, {total} bytes less are written and read", passed.line);
        Ok(Passed { line, ..passed })
    }
}

/// Whether an op computes each element of its output from the elements at its place, as its type says.
pub(super) fn is_elementwise(graph: &DataflowGraph, op: OpId) -> bool {
    let op_type = graph.op_types().and_then(|types| types.get(op.index()));
    op_type.is_some_and(|op_type| ELEMENTWISE.binary_search(&op_type).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_sorted_for_the_search() {
        assert!(ELEMENTWISE.is_sorted());
    }
}
