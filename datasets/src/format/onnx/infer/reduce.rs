//! Operators that fold axes.

use super::super::call::{Call, Outputs};
use super::super::tensor::{Element, Tensor};

/// `ReduceSum` and its like.
pub(in super::super) fn reduce(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let axes = call.list("axes", 1)?.unwrap_or_default();
    let axes = match axes.is_empty() {
        true if call.flag("noop_with_empty_axes", false) => {
            return Ok(vec![Tensor::new(input.element, input.shape.clone())]);
        }
        true => (0..input.rank()).collect(),
        false => call.axes(&axes, input.rank())?,
    };
    let f: Option<fn(f64, f64) -> f64> = match call.node.op_type.as_str() {
        "ReduceSum" => Some(|a, b| a + b),
        "ReduceProd" => Some(|a, b| a * b),
        "ReduceMax" => Some(f64::max),
        "ReduceMin" => Some(f64::min),
        _ => None,
    };
    let shape = folded(&input.shape, &axes, call.flag("keepdims", true));
    // Only whole lists, such as the dimensions of a shape.
    let all = axes.len() == input.rank();
    let content = input.content.as_ref().zip(f).filter(|_| all);
    let content = content.and_then(|(content, f)| content.iter().copied().reduce(f)).map(|value| vec![value]);
    Ok(vec![Tensor { content, ..Tensor::new(input.element, shape) }])
}

/// `ArgMax` and `ArgMin`.
pub(in super::super) fn arg(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let axis = call.axis_of("axis", 0, input.rank())?;
    Ok(vec![Tensor::new(Element::INT64, folded(&input.shape, &[axis], call.flag("keepdims", true)))])
}

fn folded(shape: &[u64], axes: &[usize], keep: bool) -> Vec<u64> {
    let sizes = shape.iter().enumerate();
    sizes
        .filter_map(|(axis, &size)| match axes.contains(&axis) {
            true => keep.then_some(1),
            false => Some(size),
        })
        .collect()
}
