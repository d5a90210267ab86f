//! Convolutions and pooling: windows that slide over the axes behind batch and channel.

use super::super::call::{Call, Fault, Outputs, misfit, size};
use super::super::tensor::{Element, Tensor};

/// `Conv` and its quantized forms.
pub(in super::super) fn convolution(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let (weights, element) = match call.node.op_type.as_str() {
        "QLinearConv" => (call.input(3)?, call.input(7)?.element),
        "ConvInteger" => (call.input(1)?, Element::INT32),
        _ => (call.input(1)?, input.element),
    };
    let groups = size(call.int("group").unwrap_or(1))?;
    if input.rank() < 3
        || weights.rank() != input.rank()
        || Some(input.shape[1]) != weights.shape[1].checked_mul(groups)
    {
        return Err(misfit(&[&input.shape, &weights.shape]));
    }
    let mut shape = vec![input.shape[0], weights.shape[0]];
    for axis in 0..input.rank() - 2 {
        let kernel = call.spatial("kernel_shape", axis, weights.shape[axis + 2] as i64)?;
        shape.push(window(call, axis, input, kernel)?);
    }
    Ok(vec![Tensor::new(element, shape)])
}

/// `ConvTranspose`.
pub(in super::super) fn transposed(call: &Call<'_>) -> Outputs {
    let (input, weights) = (call.input(0)?, call.input(1)?);
    if input.rank() < 3 || weights.rank() != input.rank() || input.shape[1] != weights.shape[0] {
        return Err(misfit(&[&input.shape, &weights.shape]));
    }
    let channels = weights.shape[1].saturating_mul(size(call.int("group").unwrap_or(1))?);
    let (mut shape, axes) = (vec![input.shape[0], channels], input.rank() - 2);
    for axis in 0..axes {
        let (length, kernel) = (input.shape[axis + 2] as i64, weights.shape[axis + 2] as i64);
        let stride = call.spatial("strides", axis, 1)?;
        if let Some(given) = call.ints("output_shape").filter(|list| !list.is_empty()) {
            // Some exporters write batch and channels, too.
            let skipped = given.len().saturating_sub(axes);
            let given = given.get(skipped + axis).copied();
            shape.push(size(given.ok_or_else(|| Fault::Wrong("has an 'output_shape' that is too short".into()))?)?);
            continue;
        }
        let kernel = call.spatial("kernel_shape", axis, kernel)?;
        if length < 1 || kernel < 1 {
            return Err(misfit(&[&input.shape, &weights.shape]));
        }
        let reach = (kernel - 1).saturating_mul(call.spatial("dilations", axis, 1)?).saturating_add(1);
        let pads = match call.text("auto_pad").unwrap_or("NOTSET") {
            "SAME_UPPER" | "SAME_LOWER" => {
                shape.push(size(length.saturating_mul(stride))?);
                continue;
            }
            "VALID" => 0,
            _ => call.spatial("pads", axis, 0)?.saturating_add(call.spatial("pads", axis + axes, 0)?),
        };
        let more = call.spatial("output_padding", axis, 0)?.saturating_add(reach).saturating_sub(pads);
        shape.push(size(stride.saturating_mul(length - 1).saturating_add(more))?);
    }
    Ok(vec![Tensor::new(input.element, shape)])
}

/// `MaxPool`, `AveragePool` and `LpPool`; the second output of `MaxPool` is where each maximum was.
pub(in super::super) fn pool(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    if input.rank() < 3 {
        return Err(misfit(&[&input.shape]));
    }
    let mut shape = input.shape[..2].to_vec();
    for axis in 0..input.rank() - 2 {
        let kernel = call.spatial("kernel_shape", axis, 0)?;
        shape.push(window(call, axis, input, kernel)?);
    }
    Ok(vec![Tensor::new(input.element, shape.clone()), Tensor::new(Element::INT64, shape)])
}

/// `GlobalAveragePool` and its like: one element a channel.
pub(in super::super) fn pool_all(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    if input.rank() < 2 {
        return Err(misfit(&[&input.shape]));
    }
    let mut shape = input.shape.clone();
    shape[2..].fill(1);
    Ok(vec![Tensor::new(input.element, shape)])
}

/// How many places a window has on a spatial axis.
fn window(call: &Call<'_>, axis: usize, input: &Tensor, kernel: i64) -> Result<u64, Fault> {
    let (length, axes) = (input.shape[axis + 2] as i64, input.rank() - 2);
    let (stride, dilation) = (call.spatial("strides", axis, 1)?, call.spatial("dilations", axis, 1)?);
    if kernel < 1 || stride < 1 || dilation < 1 {
        return Err(Fault::Wrong("has a kernel, stride or dilation below 1".into()));
    }
    let reach = (kernel - 1).saturating_mul(dilation).saturating_add(1);
    let (before, after) = match call.text("auto_pad").unwrap_or("NOTSET") {
        "SAME_UPPER" | "SAME_LOWER" => return Ok((length as u64).div_ceil(stride as u64)),
        "VALID" => (0, 0),
        _ => (call.spatial("pads", axis, 0)?, call.spatial("pads", axis + axes, 0)?),
    };
    let free = length.saturating_add(before).saturating_add(after).saturating_sub(reach);
    if free < 0 {
        return Err(Fault::Wrong(format!("has a window of {reach} on an axis of {length}")));
    }
    let mut places = (free / stride).saturating_add(1);
    if call.flag("ceil_mode", false) && free % stride > 0 {
        // A window that would begin behind the input and what is added before it is left out.
        places += i64::from(places.saturating_mul(stride) < length.saturating_add(before));
    }
    size(places)
}
