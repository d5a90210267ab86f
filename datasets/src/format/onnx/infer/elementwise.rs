//! Operators that work element by element, and those that keep the shape of their first input.

use super::super::call::{Call, Fault, Outputs, misfit};
use super::super::content::{build, stretched};
use super::super::tensor::{Element, Tensor, broadcast};

/// One output, like the first input. Content is kept by `f`, if the operator has one.
pub(in super::super) fn unary(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let f: fn(f64) -> f64 = match call.node.op_type.as_str() {
        "Abs" => f64::abs,
        "Ceil" => f64::ceil,
        "Floor" => f64::floor,
        "Identity" => |x| x,
        "Neg" => |x| -x,
        "Not" => |x| f64::from(x == 0.0),
        "Sqrt" => f64::sqrt,
        _ => return Ok(vec![Tensor::new(input.element, input.shape.clone())]),
    };
    let content = input.content.as_ref().map(|content| content.iter().map(|&x| f(x)).collect());
    Ok(vec![Tensor { content, ..Tensor::new(input.element, input.shape.clone()) }])
}

/// Like the first input, of truth values.
pub(in super::super) fn test(call: &Call<'_>) -> Outputs {
    Ok(vec![Tensor::new(Element::BOOL, call.input(0)?.shape.clone())])
}

/// Like the first input, and which elements were kept.
pub(in super::super) fn dropout(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    Ok(vec![input.clone(), Tensor::new(Element::BOOL, input.shape.clone())])
}

/// Like the first input, of another type.
pub(in super::super) fn cast(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let element = match call.node.op_type.as_str() {
        "CastLike" => call.input(1)?.element,
        _ => {
            let to = call.int("to").ok_or_else(|| Fault::Wrong("has no 'to'".into()))?;
            Element(i32::try_from(to).unwrap_or(0))
        }
    };
    let convert = |x: &f64| match element {
        Element::BOOL => f64::from(*x != 0.0),
        _ if element.is_whole() => x.trunc(),
        _ => *x,
    };
    let content = input.content.as_ref().map(|content| content.iter().map(convert).collect());
    Ok(vec![Tensor { content, ..Tensor::new(element, input.shape.clone()) }])
}

/// A quantized tensor: the type is that of the zero point, else what `output_dtype` says, else `uint8`.
pub(in super::super) fn quantize(call: &Call<'_>) -> Outputs {
    let declared = call.int("output_dtype").filter(|&number| number != 0);
    let declared = declared.map(|number| Element(i32::try_from(number).unwrap_or(0)));
    let element = call.optional(2).map(|zero| zero.element).or(declared).unwrap_or(Element::UINT8);
    Ok(vec![Tensor::new(element, call.input(0)?.shape.clone())])
}

/// From a quantized tensor: the type is that of the scale.
pub(in super::super) fn dequantize(call: &Call<'_>) -> Outputs {
    Ok(vec![Tensor::new(call.input(1)?.element, call.input(0)?.shape.clone())])
}

/// Two or more inputs, stretched to one shape.
pub(in super::super) fn arithmetic(call: &Call<'_>) -> Outputs {
    let first = call.input(0)?;
    // Until opset 6, the second input was stretched to the first from an axis.
    if call.flag("broadcast", false) {
        return Ok(vec![Tensor::new(first.element, first.shape.clone())]);
    }
    let whole = first.element.is_whole();
    let f: fn(f64, f64, bool) -> f64 = match call.node.op_type.as_str() {
        "Add" | "Sum" => |a, b, _| a + b,
        "Sub" => |a, b, _| a - b,
        "Mul" => |a, b, _| a * b,
        "Div" => |a, b, whole| if whole { (a / b).trunc() } else { a / b },
        // Of whole numbers, the remainder has the sign of the divisor.
        "Mod" => |a, b, _| a - b * (a / b).floor(),
        "Max" => |a, b, _| a.max(b),
        "Min" => |a, b, _| a.min(b),
        "Pow" => |a, b, _| a.powf(b),
        _ => return Ok(vec![stretch_all(call, first.element, None)?]),
    };
    let known = call.node.op_type != "Mod" || !call.flag("fmod", false);
    Ok(vec![stretch_all(call, first.element, known.then_some(&|a, b| f(a, b, whole)))?])
}

/// Comparisons: truth values.
pub(in super::super) fn compare(call: &Call<'_>) -> Outputs {
    let f: fn(f64, f64) -> bool = match call.node.op_type.as_str() {
        "Equal" => |a, b| a == b,
        "Greater" => |a, b| a > b,
        "GreaterOrEqual" => |a, b| a >= b,
        "Less" => |a, b| a < b,
        "LessOrEqual" => |a, b| a <= b,
        "And" => |a, b| a != 0.0 && b != 0.0,
        "Or" => |a, b| a != 0.0 || b != 0.0,
        _ => |a, b| (a != 0.0) != (b != 0.0),
    };
    if call.flag("broadcast", false) {
        return test(call);
    }
    Ok(vec![stretch_all(call, Element::BOOL, Some(&|a, b| f64::from(f(a, b))))?])
}

/// A choice between two inputs, element by element.
pub(in super::super) fn choose(call: &Call<'_>) -> Outputs {
    let (condition, yes, no) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let shape = common_shape(call)?;
    let content = build(&shape, |position| {
        let chosen = if stretched(condition, position)? != 0.0 { yes } else { no };
        stretched(chosen, position)
    });
    Ok(vec![Tensor { content, ..Tensor::new(yes.element, shape) }])
}

fn stretch_all(call: &Call<'_>, element: Element, f: Option<&dyn Fn(f64, f64) -> f64>) -> Result<Tensor, Fault> {
    let shape = common_shape(call)?;
    let known = call.given().all(|input| input.content.is_some());
    let content = f.filter(|_| known).and_then(|f| {
        build(&shape, |position| {
            let mut values = call.given().map(|input| stretched(input, position));
            let first = values.next()??;
            values.try_fold(first, |so_far, value| Some(f(so_far, value?)))
        })
    });
    Ok(Tensor { content, ..Tensor::new(element, shape) })
}

fn common_shape(call: &Call<'_>) -> Result<Vec<u64>, Fault> {
    let shapes: Vec<&[u64]> = call.given().map(|input| input.shape.as_slice()).collect();
    broadcast(shapes.iter().copied()).ok_or_else(|| misfit(&shapes))
}

/// Normalizations over axes: like the first input; and of `LayerNormalization` mean and inverse deviation.
pub(in super::super) fn normalize(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let mut outputs = vec![Tensor::new(input.element, input.shape.clone())];
    if call.node.op_type == "LayerNormalization" {
        let axis = call.axis_of("axis", -1, input.rank())?;
        let mut shape = input.shape.clone();
        shape[axis..].fill(1);
        let element = call.int("stash_type").map_or(Element::FLOAT, |number| Element(number as i32));
        outputs.extend([Tensor::new(element, shape.clone()), Tensor::new(element, shape)]);
    }
    Ok(outputs)
}

/// `BatchNormalization`: like the first input; in training also mean and variance of each channel.
pub(in super::super) fn batch_normalization(call: &Call<'_>) -> Outputs {
    let input = call.input(0)?;
    let statistics =
        [3, 4].map(|index| call.input(index).map(|tensor| Tensor::new(tensor.element, tensor.shape.clone())));
    let [mean, variance] = statistics;
    Ok(vec![Tensor::new(input.element, input.shape.clone()), mean?, variance?])
}
