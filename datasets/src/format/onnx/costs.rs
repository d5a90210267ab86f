//! What an operator costs: floating-point operations, as a function of shapes.

use super::call::Call;
use super::infer::linear;
use super::tensor::{Tensor, elements};

/// The model of an operator's cost.
#[derive(Clone, Copy, Debug)]
pub(super) enum Cost {
    /// Nothing is computed or moved: another view of the same data, or a constant.
    Nothing,
    /// This number of operations for each element of its first output.
    Written(f64),
    /// This number of operations for each element of its first input.
    Read(f64),
    /// A formula.
    Formula(fn(&Call<'_>, &[Tensor]) -> f64),
}

impl Cost {
    /// Operations of a node.
    pub(super) fn of(self, call: &Call<'_>, outputs: &[Tensor]) -> f64 {
        match self {
            Self::Nothing => 0.0,
            Self::Written(each) => each * outputs.first().map_or(0.0, count),
            Self::Read(each) => each * call.optional(0).map_or(0.0, count),
            Self::Formula(formula) => formula(call, outputs),
        }
    }
}

fn count(tensor: &Tensor) -> f64 {
    product(&tensor.shape)
}

fn product(shape: &[u64]) -> f64 {
    elements(shape).map_or(f64::MAX, |count| count as f64)
}

/// One operation for each input beyond the first and element written: 1 for two inputs, as for one.
pub(super) fn per_input(call: &Call<'_>, outputs: &[Tensor]) -> f64 {
    let inputs = call.given().count().saturating_sub(1).max(1);
    inputs as f64 * outputs.first().map_or(0.0, count)
}

/// `MatMul`: 2 · elements written · inner dimension.
pub(super) fn matmul(call: &Call<'_>, outputs: &[Tensor]) -> f64 {
    let inner = call.optional(0).and_then(|a| a.shape.last()).map_or(0.0, |&inner| inner as f64);
    2.0 * inner * outputs.first().map_or(0.0, count)
}

/// `Gemm`: 2 · rows · columns · inner dimension, and an addition for each element if there is a third input.
pub(super) fn gemm(call: &Call<'_>, outputs: &[Tensor]) -> f64 {
    let row = usize::from(!call.flag("transA", false));
    let inner = call.optional(0).map_or(0.0, |a| a.shape.get(row).map_or(0.0, |&inner| inner as f64));
    let each = 2.0 * inner + f64::from(u8::from(call.optional(2).is_some()));
    each * outputs.first().map_or(0.0, count)
}

/// `Einsum`: 2 · product of the sizes of all letters; 1 · with one input.
pub(super) fn einsum(call: &Call<'_>, _: &[Tensor]) -> f64 {
    let factor = if call.given().count() > 1 { 2.0 } else { 1.0 };
    linear::letters(call).map_or(0.0, |(sizes, _)| sizes.values().fold(factor, |so_far, &size| so_far * size as f64))
}

/// `Conv`: 2 · elements written · weights of a channel, and an addition for each element if there is a bias.
pub(super) fn convolution(call: &Call<'_>, outputs: &[Tensor]) -> f64 {
    let (weights, bias) = match call.node.op_type.as_str() {
        "QLinearConv" => (3, Some(8)),
        "ConvInteger" => (1, None),
        _ => (1, Some(2)),
    };
    let of_channel = call.optional(weights).map_or(0.0, |weights| product(weights.shape.get(1..).unwrap_or_default()));
    let biased = bias.is_some_and(|index| call.optional(index).is_some());
    (2.0 * of_channel + f64::from(u8::from(biased))) * outputs.first().map_or(0.0, count)
}

/// `ConvTranspose`: 2 · elements read · weights of a channel, and an addition for each element written if there is a bias.
pub(super) fn transposed(call: &Call<'_>, outputs: &[Tensor]) -> f64 {
    let of_channel = call.optional(1).map_or(0.0, |weights| product(weights.shape.get(1..).unwrap_or_default()));
    let bias = if call.optional(2).is_some() { outputs.first().map_or(0.0, count) } else { 0.0 };
    2.0 * of_channel * call.optional(0).map_or(0.0, count) + bias
}

/// Pooling: elements written · elements of the window.
pub(super) fn pool(call: &Call<'_>, outputs: &[Tensor]) -> f64 {
    let window = call.ints("kernel_shape").unwrap_or_default().iter().fold(1.0, |so_far, &size| so_far * size as f64);
    window * outputs.first().map_or(0.0, count)
}

/// Recurrent cells: 2 · steps · batch · weights. What is done element by element is left out.
pub(super) fn recurrent(call: &Call<'_>, _: &[Tensor]) -> f64 {
    let weights: f64 = [1, 2].into_iter().filter_map(|index| call.optional(index)).map(count).sum();
    let steps = call.optional(0).map_or(0.0, |input| product(input.shape.get(..2).unwrap_or_default()));
    2.0 * steps * weights
}

/// `Resize`: 1 for each element written if it takes the nearest; 2 · 2^d with linear and 2 · 4^d with cubic weights on d
/// axes that change.
pub(super) fn resize(call: &Call<'_>, outputs: &[Tensor]) -> f64 {
    let (Some(input), Some(output)) = (call.optional(0), outputs.first()) else { return 0.0 };
    let axes = input.shape.iter().zip(&output.shape).filter(|(before, after)| before != after).count() as i32;
    let each = match call.text("mode").unwrap_or("nearest") {
        "linear" => 2.0 * 2f64.powi(axes),
        "cubic" => 2.0 * 4f64.powi(axes),
        _ => 1.0,
    };
    each * count(output)
}
