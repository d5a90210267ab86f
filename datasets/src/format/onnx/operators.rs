//! The operators of ONNX that are modelled: what each makes, and what it costs. FORMATS has the same table for people.

use super::call::{Call, Outputs};
use super::costs::{self, Cost};
use super::infer::{elementwise, generate, linear, rearrange, reduce, select, spatial, stretch};

/// Some operators of one kind.
#[derive(Debug)]
pub(super) struct Operators {
    /// Their names, as nodes have them, separated by spaces.
    pub(super) names: &'static str,
    /// What they make.
    pub(super) infer: fn(&Call<'_>) -> Outputs,
    /// What they cost.
    pub(super) cost: Cost,
}

/// The operators of a name in ONNX's own domain.
pub(super) fn find(name: &str) -> Option<&'static Operators> {
    OPERATORS.iter().find(|row| row.names.split(' ').any(|known| known == name))
}

const fn row(names: &'static str, infer: fn(&Call<'_>) -> Outputs, cost: Cost) -> Operators {
    Operators { names, infer, cost }
}

const ONE: Cost = Cost::Written(1.0);

static OPERATORS: &[Operators] = &[
    row(
        "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Clip Cos Cosh CumSum Elu Erf Exp Floor Gelu HardSigmoid \
         HardSwish Hardmax LeakyRelu Log Mish Neg Not PRelu Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus \
         Softsign Sqrt Swish Tan Tanh ThresholdedRelu Trilu ReverseSequence",
        elementwise::unary,
        ONE,
    ),
    row("IsInf IsNaN", elementwise::test, ONE),
    row("Cast CastLike", elementwise::cast, ONE),
    row("QuantizeLinear", elementwise::quantize, ONE),
    row("DequantizeLinear", elementwise::dequantize, ONE),
    row(
        "Add BitShift BitwiseAnd BitwiseOr BitwiseXor Div Max Mean Min Mod Mul Pow Sub Sum",
        elementwise::arithmetic,
        Cost::Formula(costs::per_input),
    ),
    row("And Equal Greater GreaterOrEqual Less LessOrEqual Or Xor", elementwise::compare, ONE),
    row("Where", elementwise::choose, ONE),
    row("BatchNormalization", elementwise::batch_normalization, Cost::Written(2.0)),
    row("LogSoftmax Softmax", elementwise::normalize, Cost::Written(5.0)),
    row("RMSNormalization LpNormalization", elementwise::normalize, Cost::Written(4.0)),
    row(
        "GroupNormalization InstanceNormalization LayerNormalization LRN MeanVarianceNormalization",
        elementwise::normalize,
        Cost::Written(7.0),
    ),
    row("MatMul MatMulInteger QLinearMatMul", linear::matmul, Cost::Formula(costs::matmul)),
    row("Gemm", linear::gemm, Cost::Formula(costs::gemm)),
    row("Einsum", linear::einsum, Cost::Formula(costs::einsum)),
    row("GRU LSTM RNN", linear::recurrent, Cost::Formula(costs::recurrent)),
    row("Conv ConvInteger QLinearConv", spatial::convolution, Cost::Formula(costs::convolution)),
    row("ConvTranspose", spatial::transposed, Cost::Formula(costs::transposed)),
    row("AveragePool LpPool MaxPool", spatial::pool, Cost::Formula(costs::pool)),
    row("GlobalAveragePool GlobalLpPool GlobalMaxPool", spatial::pool_all, Cost::Read(1.0)),
    row(
        "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare",
        reduce::reduce,
        Cost::Read(1.0),
    ),
    row("ArgMax ArgMin", reduce::arg, Cost::Read(1.0)),
    row("TopK", select::top, Cost::Read(1.0)),
    row("Identity", elementwise::unary, Cost::Nothing),
    row("Dropout", elementwise::dropout, Cost::Nothing),
    row("Reshape", rearrange::reshape, Cost::Nothing),
    row("Flatten", rearrange::flatten, Cost::Nothing),
    row("Squeeze", rearrange::squeeze, Cost::Nothing),
    row("Unsqueeze", rearrange::unsqueeze, Cost::Nothing),
    row("Shape", generate::shape, Cost::Nothing),
    row("Size", generate::count, Cost::Nothing),
    row("Constant", generate::constant, Cost::Nothing),
    row("ConstantOfShape", generate::constant_of_shape, ONE),
    row("Range", generate::range, ONE),
    row("RandomNormal RandomUniform", generate::random, ONE),
    row("Bernoulli EyeLike RandomNormalLike RandomUniformLike", generate::like, ONE),
    row("Transpose", rearrange::transpose, ONE),
    row("Concat", rearrange::concat, ONE),
    row("Split", rearrange::split, Cost::Read(1.0)),
    row("DepthToSpace SpaceToDepth", rearrange::blocks, ONE),
    row("Slice", select::slice, ONE),
    row("Gather", select::gather, ONE),
    row("GatherElements", select::gather_elements, ONE),
    row("GatherND", select::gather_nd, ONE),
    row("Scatter ScatterElements ScatterND", select::scatter, ONE),
    row("OneHot", select::one_hot, ONE),
    row("Compress NonMaxSuppression NonZero Unique", select::by_data, ONE),
    row("Expand", stretch::expand, ONE),
    row("Tile", stretch::tile, ONE),
    row("Pad", stretch::pad, ONE),
    row("Resize Upsample", stretch::resize, Cost::Formula(costs::resize)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_has_one_row() {
        let mut names: Vec<&str> = OPERATORS.iter().flat_map(|row| row.names.split(' ')).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(names.iter().all(|name| find(name).is_some() && !name.is_empty()));
    }
}
