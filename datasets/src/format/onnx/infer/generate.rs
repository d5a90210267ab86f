//! Operators that make a value from a shape or from nothing.

use super::super::call::{Call, Fault, Outputs, size};
use super::super::content::{build, of_proto};
use super::super::tensor::{Element, Tensor};

/// `Constant`, in any of its forms.
pub(in super::super) fn constant(call: &Call<'_>) -> Outputs {
    let Some(attribute) = call.node.attribute.first() else {
        return Err(Fault::Wrong("has no value".into()));
    };
    let list = |element: Element, content: Vec<f64>| Tensor {
        element,
        shape: vec![content.len() as u64],
        content: Some(content),
    };
    let floats = |values: &[f32]| list(Element::FLOAT, values.iter().map(|&value| f64::from(value)).collect());
    let integers = |values: &[i64]| list(Element::INT64, values.iter().map(|&value| value as f64).collect());
    let scalar = |tensor: Tensor| Tensor { shape: Vec::new(), ..tensor };
    Ok(vec![match (attribute.name.as_str(), &attribute.t) {
        ("value", Some(value)) => of_proto(value).map_err(|fault| Fault::Wrong(format!("its value {fault}")))?,
        ("value_float", _) => scalar(floats(&[attribute.f])),
        ("value_floats", _) => floats(&attribute.floats),
        ("value_int", _) => scalar(integers(&[attribute.i])),
        ("value_ints", _) => integers(&attribute.ints),
        (other, _) => return Err(Fault::Unknown(format!("its '{other}' is text or sparse"))),
    }])
}

/// `ConstantOfShape`: one value everywhere, by default the number 0.
pub(in super::super) fn constant_of_shape(call: &Call<'_>) -> Outputs {
    let shape = call.required("shape", 0)?.into_iter().map(size).collect::<Result<Vec<_>, _>>()?;
    let value = call.attribute("value").and_then(|attribute| attribute.t.as_ref());
    let value = match value.map(of_proto) {
        None => Tensor { content: Some(vec![0.0]), ..Tensor::new(Element::FLOAT, vec![1]) },
        Some(value) => value.map_err(|fault| Fault::Wrong(format!("its value {fault}")))?,
    };
    let content = build(&shape, |_| value.content.as_ref()?.first().copied());
    Ok(vec![Tensor { content, ..Tensor::new(value.element, shape) }])
}

/// `Range`: from a start by steps to before a limit.
pub(in super::super) fn range(call: &Call<'_>) -> Outputs {
    let mut bounds = [0.0; 3];
    for (index, (bound, name)) in bounds.iter_mut().zip(["start", "limit", "delta"]).enumerate() {
        let value = call.input(index)?.content.as_ref().and_then(|content| content.first());
        *bound = *value.ok_or_else(|| call.not_constant(name, index))?;
    }
    let [start, limit, delta] = bounds;
    let count = ((limit - start) / delta).ceil().max(0.0);
    if !count.is_finite() {
        return Err(Fault::Wrong(format!("counts from {start} to {limit} by {delta}")));
    }
    let shape = vec![size(count as i64)?];
    let content = build(&shape, |position| Some(start + delta * position[0] as f64));
    Ok(vec![Tensor { content, ..Tensor::new(call.input(0)?.element, shape) }])
}

/// `Shape`: the dimensions of the input, or some of them.
pub(in super::super) fn shape(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let rank = input.rank() as i64;
    let bound = |name: &str, default: i64| {
        let at = call.int(name).unwrap_or(default);
        (if at < 0 { at + rank } else { at }).clamp(0, rank) as usize
    };
    let (start, end) = (bound("start", 0), bound("end", rank));
    Ok(vec![Tensor::integers(input.shape[start..end.max(start)].iter().copied())])
}

/// `Size`: the number of elements.
pub(in super::super) fn count(call: &Call<'_>) -> Outputs {
    let elements = call.input(0)?.elements().ok_or_else(|| Fault::Wrong("has too large an input".into()))?;
    Ok(vec![Tensor { shape: Vec::new(), ..Tensor::integers([elements]) }])
}

/// `RandomNormal`, `RandomUniform`: of the shape that an attribute says.
pub(in super::super) fn random(call: &Call<'_>) -> Outputs {
    let shape = call.ints("shape").ok_or_else(|| Fault::Wrong("has no 'shape'".into()))?;
    let shape = shape.iter().map(|&dim| size(dim)).collect::<Result<_, _>>()?;
    Ok(vec![Tensor::new(declared(call).unwrap_or(Element::FLOAT), shape)])
}

/// `RandomNormalLike`, `EyeLike` and their like: of the shape of the input.
pub(in super::super) fn like(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    Ok(vec![Tensor::new(declared(call).unwrap_or(input.element), input.shape.clone())])
}

fn declared(call: &Call<'_>) -> Option<Element> {
    call.int("dtype").map(|number| Element(i32::try_from(number).unwrap_or(0)))
}
