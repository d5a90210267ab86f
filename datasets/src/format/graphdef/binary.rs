//! The binary encoding: `graph.pb`.

use prost::Message;
use prost::bytes::Bytes;

use super::fault::Fault;
use super::proto::NodeDef;
use super::structure::Parsed;

/// A GraphDef whose nodes are not decoded yet, so that a fault in a node can name its number.
#[derive(Clone, PartialEq, Message)]
struct RawGraphDef {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    node: Vec<Bytes>,
}

/// The fields of a SavedModel that distinguish it from a GraphDef: the first is a number.
#[derive(Clone, PartialEq, Message)]
struct SavedModel {
    #[prost(int64, tag = "1")]
    schema_version: i64,
    #[prost(bytes = "bytes", repeated, tag = "2")]
    meta_graphs: Vec<Bytes>,
}

/// Decodes the nodes of a binary GraphDef.
///
/// Nested messages deeper than 100 are refused by the decoder, so no input exhausts the stack.
pub(super) fn decode(content: Vec<u8>) -> Result<Parsed, Fault> {
    if content.is_empty() {
        return Err(Fault::Empty);
    }
    let content = Bytes::from(content);
    let raw = RawGraphDef::decode(content.clone()).map_err(|error| {
        match SavedModel::decode(content).is_ok_and(|model| model.schema_version == 1 && !model.meta_graphs.is_empty())
        {
            true => Fault::SavedModel,
            false => Fault::Wire(cause(&error)),
        }
    })?;
    let nodes = raw.node.into_iter().enumerate().map(|(index, node)| {
        NodeDef::decode(node).map_err(|error| Fault::NodeWire { number: index + 1, cause: cause(&error) })
    });
    Ok(Parsed { nodes: nodes.collect::<Result<_, _>>()?, lines: Vec::new() })
}

/// Encodes nodes as a binary GraphDef.
pub(super) fn encode(nodes: &[NodeDef]) -> Vec<u8> {
    RawGraphDef { node: nodes.iter().map(|node| node.encode_to_vec().into()).collect() }.encode_to_vec()
}

/// The decoder's message without its fixed beginning, with the public name of our private type, and without the path to
/// the field if that is long.
fn cause(error: &prost::DecodeError) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("failed to decode Protobuf message: ").unwrap_or(&text);
    match text.rsplit_once(": ") {
        Some((path, cause)) if path.matches(": ").count() > 3 => cause.to_owned(),
        _ => text.replace("RawGraphDef", "GraphDef"),
    }
}
