//! Operators that read or replace some elements.

use super::super::call::{Call, Fault, Outputs, misfit, size};
use super::super::content::build;
use super::super::tensor::{Element, Tensor};
use super::rearrange::index;

/// `Slice`: some steps of some axes.
pub(in super::super) fn slice(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let (starts, ends) = (call.required("starts", 1)?, call.required("ends", 2)?);
    let axes = call.list("axes", 3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = call.list("steps", 4)?.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        return Err(Fault::Wrong("has starts, ends, axes and steps of different lengths".into()));
    }
    let mut shape = input.shape.clone();
    // Where each axis starts, and its step.
    let mut walk: Vec<(i64, i64)> = vec![(0, 1); input.rank()];
    for (position, &axis) in axes.iter().enumerate() {
        let axis = call.axis(axis, input.rank())?;
        let length = i64::try_from(input.shape[axis]).map_err(|_| misfit(&[&input.shape]))?;
        let step = steps[position];
        if step == 0 {
            return Err(Fault::Wrong("has a step of 0".into()));
        }
        let from_start = |at: i64| if at < 0 { at.saturating_add(length) } else { at };
        let (start, end) = (from_start(starts[position]), from_start(ends[position]));
        let (start, end) = match step > 0 {
            true => (start.clamp(0, length), end.clamp(0, length)),
            false => (start.clamp(0, (length - 1).max(0)), end.clamp(-1, length - 1)),
        };
        let span = if step > 0 { end - start } else { start - end };
        shape[axis] = span.max(0).unsigned_abs().div_ceil(step.unsigned_abs());
        walk[axis] = (start, step);
    }
    let content = input.content.as_ref().and_then(|content| {
        build(&shape, |position| {
            let at =
                position.iter().zip(&walk).map(|(&at, (start, step))| (start + step.saturating_mul(at as i64)) as u64);
            content.get(index(&input.shape, &at.collect::<Vec<_>>())).copied()
        })
    });
    Ok(vec![Tensor { content, ..Tensor::new(input.element, shape) }])
}

/// `Gather`: for each index, a slice of the first input.
pub(in super::super) fn gather(call: &Call<'_>) -> Outputs {
    let (input, indices) = (call.input(0)?, call.input(1)?);
    let axis = call.axis_of("axis", 0, input.rank())?;
    let shape = [&input.shape[..axis], &indices.shape, &input.shape[axis + 1..]].concat();
    let content = input.content.as_ref().zip(indices.content.as_ref()).and_then(|(content, chosen)| {
        build(&shape, |position| {
            let (before, rest) = position.split_at(axis);
            let (which, after) = rest.split_at(indices.rank());
            let chosen = *chosen.get(index(&indices.shape, which))?;
            let chosen = if chosen < 0.0 { chosen + input.shape[axis] as f64 } else { chosen };
            if !(0.0..input.shape[axis] as f64).contains(&chosen) {
                return None;
            }
            let at = [before, &[chosen as u64], after].concat();
            content.get(index(&input.shape, &at)).copied()
        })
    });
    Ok(vec![Tensor { content, ..Tensor::new(input.element, shape) }])
}

/// `GatherElements`: as large as the indices.
pub(in super::super) fn gather_elements(call: &Call<'_>) -> Outputs {
    Ok(vec![Tensor::new(call.input(0)?.element, call.input(1)?.shape.clone())])
}

/// `GatherND`: the last axis of the indices names elements or slices.
pub(in super::super) fn gather_nd(call: &Call<'_>) -> Outputs {
    let (input, indices) = (call.input(0)?, call.input(1)?);
    let batch = usize::try_from(call.int("batch_dims").unwrap_or(0)).unwrap_or(usize::MAX);
    let fault = || misfit(&[&input.shape, &indices.shape]);
    let (&depth, rest) = indices.shape.split_last().ok_or_else(fault)?;
    let skipped = usize::try_from(depth).ok().and_then(|depth| batch.checked_add(depth)).ok_or_else(fault)?;
    let shape = [rest, input.shape.get(skipped..).ok_or_else(fault)?].concat();
    Ok(vec![Tensor::new(input.element, shape)])
}

/// `ScatterND` and its like: as the first input.
pub(in super::super) fn scatter(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    Ok(vec![Tensor::new(input.element, input.shape.clone())])
}

/// `TopK`: values and indices.
pub(in super::super) fn top(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let axis = call.axis_of("axis", -1, input.rank())?;
    let kept = match call.int("k") {
        Some(k) => k,
        None => {
            let k = call.input(1)?.whole().and_then(|k| k.first().copied());
            k.ok_or_else(|| call.not_constant("K", 1))?
        }
    };
    let mut shape = input.shape.clone();
    shape[axis] = size(kept)?;
    Ok(vec![Tensor::new(input.element, shape.clone()), Tensor::new(Element::INT64, shape)])
}

/// `OneHot`: an axis of the depth.
pub(in super::super) fn one_hot(call: &Call<'_>) -> Outputs {
    let (indices, values) = (call.input(0)?, call.input(2)?);
    let depth = call.input(1)?.whole().and_then(|depth| depth.first().copied());
    let depth = depth.ok_or_else(|| call.not_constant("depth", 1))?;
    let axis = call.axis_of("axis", -1, indices.rank() + 1)?;
    let mut shape = indices.shape.clone();
    shape.insert(axis, size(depth)?);
    Ok(vec![Tensor::new(values.element, shape)])
}

/// Operators whose output depends on data: the file has to declare the shape.
pub(in super::super) fn by_data(_: &Call<'_>) -> Outputs {
    Err(Fault::Unknown("its shape depends on data".into()))
}
