//! Operators that repeat elements, or put others between them or around them.

use super::super::call::{Call, Fault, Outputs, misfit, size};
use super::super::content::{build, stretched};
use super::super::tensor::{Tensor, broadcast};

/// `Expand`: the first input, stretched to a shape.
pub(in super::super) fn expand(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let wanted = call.required("shape", 1)?.into_iter().map(size).collect::<Result<Vec<_>, _>>()?;
    let shape = broadcast([&input.shape[..], &wanted]).ok_or_else(|| misfit(&[&input.shape, &wanted]))?;
    let content = build(&shape, |position| stretched(input, position));
    Ok(vec![Tensor { content, ..Tensor::new(input.element, shape) }])
}

/// `Tile`: each axis as often as its number says.
pub(in super::super) fn tile(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let repeats = call.required("repeats", 1)?;
    if repeats.len() != input.rank() {
        return Err(Fault::Wrong(format!("has {} repeats for a rank of {}", repeats.len(), input.rank())));
    }
    let shape = input.shape.iter().zip(repeats).map(|(&length, count)| Ok(length.saturating_mul(size(count)?)));
    Ok(vec![Tensor::new(input.element, shape.collect::<Result<_, Fault>>()?)])
}

/// `Pad`: elements before and behind some axes.
pub(in super::super) fn pad(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    // `paddings` is the name in opset 1.
    let pads = call.list(if call.ints("paddings").is_some() { "paddings" } else { "pads" }, 1)?;
    let pads = pads.ok_or_else(|| Fault::Wrong("has no 'pads'".into()))?;
    let axes = match call.list("axes", 3)? {
        Some(axes) => axes.into_iter().map(|axis| call.axis(axis, input.rank())).collect::<Result<_, _>>()?,
        None => (0..input.rank()).collect::<Vec<_>>(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(Fault::Wrong(format!("has {} pads for {} axes", pads.len(), axes.len())));
    }
    let mut shape = input.shape.clone();
    for (position, &axis) in axes.iter().enumerate() {
        let more = pads[position].saturating_add(pads[position + axes.len()]);
        shape[axis] = size((shape[axis] as i64).saturating_add(more))?;
    }
    Ok(vec![Tensor::new(input.element, shape)])
}

/// `Resize` and `Upsample`: by factors, or to sizes.
pub(in super::super) fn resize(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    // The inputs are x, scales until opset 10, and x, region, scales, sizes since.
    let scales_at = if call.node.op_type == "Upsample" || call.node.input.len() == 2 { 1 } else { 2 };
    let axes = match call.ints("axes") {
        Some(axes) => axes.iter().map(|&axis| call.axis(axis, input.rank())).collect::<Result<_, _>>()?,
        None => (0..input.rank()).collect::<Vec<_>>(),
    };
    let mut shape = input.shape.clone();
    let fits = |count: usize| match count == axes.len() {
        true => Ok(()),
        false => Err(Fault::Wrong(format!("has {count} scales or sizes for {} axes", axes.len()))),
    };
    if let Some(sizes) = call.optional(3) {
        let sizes = sizes.whole().ok_or_else(|| call.not_constant("sizes", 3))?;
        fits(sizes.len())?;
        if call.text("keep_aspect_ratio_policy").is_some_and(|policy| policy != "stretch") {
            return Err(Fault::Unknown("it keeps the aspect ratio".into()));
        }
        for (&axis, &wanted) in axes.iter().zip(&sizes) {
            shape[axis] = size(wanted)?;
        }
        return Ok(vec![Tensor::new(input.element, shape)]);
    }
    let scales: Vec<f64> = match (call.attribute("scales"), call.optional(scales_at)) {
        (Some(attribute), _) => attribute.floats.iter().map(|&scale| f64::from(scale)).collect(),
        (None, Some(scales)) => scales.content.clone().ok_or_else(|| call.not_constant("scales", scales_at))?,
        (None, None) => return Err(Fault::Wrong("has neither scales nor sizes".into())),
    };
    fits(scales.len())?;
    for (&axis, &scale) in axes.iter().zip(&scales) {
        shape[axis] = size((shape[axis] as f64 * scale).floor() as i64)?;
    }
    Ok(vec![Tensor::new(input.element, shape)])
}
