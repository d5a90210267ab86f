//! How many bytes an output has, as far as a node's attributes tell.

use super::attributes::{type_of, value};
use super::proto::{DataType, NodeDef, TensorShapeProto, Value};
use super::references;

/// The attribute with the shapes of all outputs, in port order: TensorFlow adds it on request (`add_shapes=True`).
pub(super) const OUTPUT_SHAPES: &str = "_output_shapes";

/// This suite's attribute with the type of all outputs, in the files that it writes.
pub(super) const ALL_OUTPUTS_TYPE: &str = "_placebench_dtype";

/// Reference types are numbered as their base type plus this.
const REFERENCE: i32 = 100;

/// The sizes of a node's outputs, in port order, `None` where unknown; and whether these are all the outputs that it has. An op of
/// which nothing is known has the outputs that others read.
pub(super) fn outputs(node: &NodeDef) -> (Vec<Option<u64>>, bool) {
    if let Some(Value::List(list)) = value(node, OUTPUT_SHAPES) {
        let size = |(port, shape)| bytes(output_type(node, port)?, shape);
        return (list.shape.iter().enumerate().map(size).collect(), true);
    }
    match node.op.as_str() {
        "Const" => match value(node, "value") {
            Some(Value::Tensor(tensor)) => {
                let size = tensor.tensor_shape.as_ref().and_then(|shape| bytes(tensor.dtype, shape));
                (vec![size], true)
            }
            _ => (vec![None], true),
        },
        // The output is a handle, which moves nothing: the shape is that of the variable behind it.
        "VarHandleOp" => (vec![Some(0)], true),
        "Variable" | "VariableV2" | "TemporaryVariable" | "Placeholder" | "PlaceholderV2" => {
            (vec![declared(node)], true)
        }
        "NoOp" | "ControlTrigger" | "Assert" | "AssignVariableOp" | "Save" | "SaveV2" => (Vec::new(), true),
        _ => (Vec::new(), false),
    }
}

/// The memory that a node occupies from step to step: the value of a variable.
pub(super) fn resident_bytes(node: &NodeDef) -> u64 {
    match node.op.as_str() {
        "Variable" | "VariableV2" | "TemporaryVariable" | "VarHandleOp" => declared(node).unwrap_or(0),
        _ => 0,
    }
}

/// The size of what a node declares itself to hold.
fn declared(node: &NodeDef) -> Option<u64> {
    match value(node, "shape") {
        Some(Value::Shape(shape)) => bytes(type_of(node, "dtype")?, shape),
        _ => None,
    }
}

/// The type of an output. Which attribute names it is written in the op's definition, which a GraphDef does not hold: these are
/// the names that the definitions use, so a rare second output of another type (an index, say) gets the first one's.
fn output_type(node: &NodeDef, port: usize) -> Option<i32> {
    const SINGLE: [&str; 8] = ["DstT", "out_type", "output_type", "dtype", "T", "Tparams", "Tidx", "shape_type"];
    const LISTS: [&str; 4] = ["Tout", "output_types", "component_types", "T"];
    if let Some(written) = type_of(node, ALL_OUTPUTS_TYPE) {
        return Some(written);
    }
    if references::is_handle(node, port as u32) {
        return Some(DataType::DtResource as i32);
    }
    match node.op.as_str() {
        "Equal"
        | "NotEqual"
        | "Less"
        | "LessEqual"
        | "Greater"
        | "GreaterEqual"
        | "ApproximateEqual"
        | "LogicalAnd"
        | "LogicalOr"
        | "LogicalNot"
        | "All"
        | "Any"
        | "InTopK"
        | "InTopKV2"
        | "IsFinite"
        | "IsInf"
        | "IsNan"
        | "IsVariableInitialized"
        | "VarIsInitializedOp" => return Some(DataType::DtBool as i32),
        "ConcatOffset" | "Rank" => return Some(DataType::DtInt32 as i32),
        _ => {}
    }
    SINGLE.into_iter().find_map(|name| type_of(node, name)).or_else(|| {
        LISTS.into_iter().find_map(|name| match value(node, name) {
            Some(Value::List(list)) => list.r#type.get(port).copied(),
            _ => None,
        })
    })
}

/// Elements × size of one; `None` if the shape is not known whole, or the type has no fixed size.
fn bytes(data_type: i32, shape: &TensorShapeProto) -> Option<u64> {
    if shape.unknown_rank {
        return None;
    }
    let base = if data_type > REFERENCE { data_type - REFERENCE } else { data_type };
    let element = element_bytes(DataType::try_from(base).ok()?)?;
    shape.dim.iter().try_fold(element, |product, dim| product.checked_mul(u64::try_from(dim.size).ok()?))
}

fn element_bytes(data_type: DataType) -> Option<u64> {
    use DataType::*;
    match data_type {
        DtBool | DtInt8 | DtUint8 | DtQint8 | DtQuint8 | DtFloat8E5m2 | DtFloat8E4m3fn | DtInt4 | DtUint4 => Some(1),
        DtInt16 | DtUint16 | DtQint16 | DtQuint16 | DtHalf | DtBfloat16 => Some(2),
        DtFloat | DtInt32 | DtUint32 | DtQint32 => Some(4),
        DtDouble | DtInt64 | DtUint64 | DtComplex64 => Some(8),
        DtComplex128 => Some(16),
        DtResource => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::proto::{AttrValue, Dim, ListValue};
    use super::*;

    fn shape(dims: &[i64]) -> TensorShapeProto {
        let dim = dims.iter().map(|&size| Dim { size, ..Dim::default() }).collect();
        TensorShapeProto { dim, unknown_rank: false }
    }

    fn node(op: &str, attributes: &[(&str, Value)]) -> NodeDef {
        let attr =
            attributes.iter().map(|(name, value)| ((*name).to_owned(), AttrValue { value: Some(value.clone()) }));
        NodeDef { op: op.to_owned(), attr: attr.collect(), ..NodeDef::default() }
    }

    #[test]
    fn inferred_shapes_give_every_port_its_size() {
        let shapes = ListValue { shape: vec![shape(&[2, 3]), shape(&[-1]), shape(&[])], ..ListValue::default() };
        let float = Value::Type(DataType::DtFloat as i32);
        let split = node("Split", &[(OUTPUT_SHAPES, Value::List(shapes)), ("T", float)]);
        assert_eq!(outputs(&split), (vec![Some(24), None, Some(4)], true));
    }

    #[test]
    fn a_variable_occupies_its_value_and_a_handle_moves_nothing() {
        let attributes = [("dtype", Value::Type(DataType::DtDouble as i32)), ("shape", Value::Shape(shape(&[10, 10])))];
        for (op, output) in [("VariableV2", 800), ("VarHandleOp", 0)] {
            let variable = node(op, &attributes);
            assert_eq!((outputs(&variable).0, resident_bytes(&variable)), (vec![Some(output)], 800));
        }
    }

    #[test]
    fn sizes_that_overflow_or_have_no_fixed_element_are_unknown() {
        assert_eq!(bytes(DataType::DtFloat as i32, &shape(&[i64::MAX, 8])), None);
        assert_eq!(bytes(DataType::DtString as i32, &shape(&[2])), None);
        assert_eq!(bytes(DataType::DtFloatRef as i32, &shape(&[2])), Some(8));
        assert_eq!(bytes(-7, &shape(&[2])), None);
    }
}
