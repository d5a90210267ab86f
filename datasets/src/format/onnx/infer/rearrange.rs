//! Operators that keep all elements and order them otherwise.

use super::super::call::{Call, Fault, Outputs, misfit, size};
use super::super::content::build;
use super::super::tensor::{Tensor, elements};

/// The same elements in another shape.
fn view(input: &Tensor, shape: Vec<u64>) -> Outputs {
    match elements(&shape) == input.elements() {
        true => Ok(vec![Tensor { shape, ..input.clone() }]),
        false => {
            Err(Fault::Wrong(format!("makes {shape:?} of {:?}, which has another number of elements", input.shape)))
        }
    }
}

/// `Reshape`: 0 keeps a dimension, -1 is what is left.
pub(in super::super) fn reshape(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let wanted = call.required("shape", 1)?;
    let zero_is_size = call.flag("allowzero", false);
    let mut shape = Vec::with_capacity(wanted.len());
    for (axis, &dim) in wanted.iter().enumerate() {
        shape.push(match dim {
            -1 => 1,
            0 if !zero_is_size => *input
                .shape
                .get(axis)
                .ok_or_else(|| Fault::Wrong(format!("keeps dimension {axis}, but the rank is {}", input.rank())))?,
            other => size(other)?,
        });
    }
    let (known, all) = (elements(&shape), input.elements());
    let mut open = wanted.iter().enumerate().filter(|(_, dim)| **dim == -1);
    if let (Some((axis, _)), None) = (open.next(), open.next()) {
        let (Some(known), Some(all)) = (known.filter(|&known| known > 0), all) else {
            return Err(Fault::Wrong(format!("leaves dimension {axis} open, which the others do not decide")));
        };
        shape[axis] = all / known;
    }
    view(input, shape)
}

/// `Flatten`: a matrix.
pub(in super::super) fn flatten(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let axis = call.int("axis").unwrap_or(1);
    let axis = if axis == input.rank() as i64 { input.rank() } else { call.axis(axis, input.rank())? };
    let product = |shape: &[u64]| elements(shape).ok_or_else(|| misfit(&[&input.shape]));
    view(input, vec![product(&input.shape[..axis])?, product(&input.shape[axis..])?])
}

/// `Squeeze`: drops dimensions of size 1.
pub(in super::super) fn squeeze(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let axes = match call.list("axes", 1)? {
        Some(axes) => call.axes(&axes, input.rank())?,
        None => (0..input.rank()).filter(|&axis| input.shape[axis] == 1).collect(),
    };
    let kept = input.shape.iter().enumerate().filter(|(axis, _)| !axes.contains(axis)).map(|(_, &size)| size);
    view(input, kept.collect())
}

/// `Unsqueeze`: adds dimensions of size 1.
pub(in super::super) fn unsqueeze(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let axes = call.required("axes", 1)?;
    let rank = input.rank() + axes.len();
    let axes = call.axes(&axes, rank)?;
    let mut left = input.shape.iter().copied();
    let shape = (0..rank).map(|axis| if axes.contains(&axis) { Some(1) } else { left.next() });
    view(input, shape.collect::<Option<_>>().ok_or_else(|| misfit(&[&input.shape]))?)
}

/// `Transpose`.
pub(in super::super) fn transpose(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let order: Vec<usize> = match call.ints("perm") {
        None => (0..input.rank()).rev().collect(),
        Some(order) => {
            call.axes(order, input.rank())?;
            order.iter().map(|&axis| call.axis(axis, input.rank())).collect::<Result<_, _>>()?
        }
    };
    if order.len() != input.rank() {
        return Err(Fault::Wrong(format!("has 'perm' {order:?}, but the rank is {}", input.rank())));
    }
    let shape: Vec<u64> = order.iter().map(|&axis| input.shape[axis]).collect();
    let content = input.content.as_ref().and_then(|content| {
        build(&shape, |position| {
            let mut from = vec![0; order.len()];
            order.iter().zip(position).for_each(|(&axis, &at)| from[axis] = at);
            content.get(index(&input.shape, &from)).copied()
        })
    });
    Ok(vec![Tensor { content, ..Tensor::new(input.element, shape) }])
}

/// `Concat`: inputs one behind the other on an axis.
pub(in super::super) fn concat(call: &Call<'_>) -> Outputs {
    let first = call.input(0)?;
    let axis = call.axis_of("axis", 1, first.rank())?;
    let mut shape = first.shape.clone();
    shape[axis] = 0;
    for input in call.given() {
        let fits = input.rank() == first.rank()
            && (0..first.rank()).all(|other| other == axis || input.shape[other] == first.shape[other]);
        if !fits {
            return Err(misfit(&[&first.shape, &input.shape]));
        }
        shape[axis] = shape[axis].saturating_add(input.shape[axis]);
    }
    let content = build(&shape, |position| {
        let mut at = position.to_vec();
        for input in call.given() {
            if at[axis] < input.shape[axis] {
                return input.content.as_ref()?.get(index(&input.shape, &at)).copied();
            }
            at[axis] -= input.shape[axis];
        }
        None
    });
    Ok(vec![Tensor { content, ..Tensor::new(first.element, shape) }])
}

/// `Split`: parts of an axis, of given or about equal sizes.
pub(in super::super) fn split(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let axis = call.axis_of("axis", 0, input.rank())?;
    let parts = call.node.output.len() as u64;
    let whole = input.shape[axis];
    let sizes: Vec<u64> = match call.list("split", 1)? {
        Some(sizes) => sizes.into_iter().map(size).collect::<Result<_, _>>()?,
        // The last part is smaller if they do not come out even.
        None => {
            let part = whole.div_ceil(parts.max(1));
            (0..parts).map(|number| whole.saturating_sub(part.saturating_mul(number)).min(part)).collect()
        }
    };
    let sum = sizes.iter().try_fold(0u64, |sum, &size| sum.checked_add(size));
    if sum != Some(whole) || sizes.len() as u64 != parts {
        return Err(Fault::Wrong(format!("splits {whole} into {parts} outputs of sizes {sizes:?}")));
    }
    let mut start = 0;
    let part = |length: u64| {
        let mut shape = input.shape.clone();
        shape[axis] = length;
        let content = input.content.as_ref().and_then(|content| {
            build(&shape, |position| {
                let mut at = position.to_vec();
                at[axis] += start;
                content.get(index(&input.shape, &at)).copied()
            })
        });
        start += length;
        Tensor { content, ..Tensor::new(input.element, shape) }
    };
    Ok(sizes.into_iter().map(part).collect())
}

/// `DepthToSpace` and `SpaceToDepth`.
pub(in super::super) fn blocks(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let block = size(call.int("blocksize").unwrap_or(0))?;
    let (&[batch, channels, height, width], true) = (&input.shape[..], block > 0) else {
        return Err(Fault::Wrong(format!("has the shape {:?} and blocks of {block}", input.shape)));
    };
    let (area, to_space) = (block.saturating_mul(block), call.node.op_type == "DepthToSpace");
    let even = if to_space { channels % area == 0 } else { height % block == 0 && width % block == 0 };
    match (even, to_space) {
        (false, _) => {
            Err(Fault::Wrong(format!("has the shape {:?}, which blocks of {block} do not fill", input.shape)))
        }
        (true, true) => Ok(vec![Tensor::new(
            input.element,
            vec![batch, channels / area, height.saturating_mul(block), width.saturating_mul(block)],
        )]),
        (true, false) => Ok(vec![Tensor::new(
            input.element,
            vec![batch, channels.saturating_mul(area), height / block, width / block],
        )]),
    }
}

/// The place of an element in row-major order.
pub(super) fn index(shape: &[u64], position: &[u64]) -> usize {
    shape.iter().zip(position).fold(0, |index, (&size, &at)| index * size + at) as usize
}
