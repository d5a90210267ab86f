//! Reads the attributes of nodes.

use super::proto::{AttrValue, DataType, NodeDef, Value};

/// The value of an attribute, if the node has it.
pub(super) fn value<'a>(node: &'a NodeDef, name: &str) -> Option<&'a Value> {
    node.attr.get(name).and_then(|AttrValue { value }| value.as_ref())
}

/// The type that an attribute names.
pub(super) fn type_of(node: &NodeDef, name: &str) -> Option<i32> {
    match value(node, name) {
        Some(&Value::Type(number)) => Some(number),
        _ => None,
    }
}

/// Whether a node holds a resource handle: most ops say so in one of two attributes.
pub(super) fn is_resource(node: &NodeDef) -> bool {
    ["dtype", "T"].into_iter().find_map(|name| type_of(node, name)) == Some(DataType::DtResource as i32)
}
