//! From a graph to nodes.

use std::collections::BTreeMap;

use super::devices;
use super::fault::WriteError;
use super::private::{self, GENERIC_OP};
use super::proto::{AttrValue, DataType, Dim, ListValue, NodeDef, TensorShapeProto, Value};
use super::sizes::{ALL_OUTPUTS_TYPE, OUTPUT_SHAPES};
use crate::{DataflowGraph, KindSet, OpId, TensorId};

/// The nodes of a graph, one an op, in the order of the ids.
///
/// A tensor of n bytes becomes one of shape `[n]` and type `uint8`; groups become `loc:@` classes that name their smallest member.
pub(super) fn nodes(graph: &DataflowGraph) -> Result<Vec<NodeDef>, WriteError> {
    let names: Vec<String> = graph.op_ids().map(|op| name(graph, op)).collect::<Result<_, _>>()?;
    graph.op_ids().map(|op| node(graph, &names, op)).collect()
}

fn name(graph: &DataflowGraph, op: OpId) -> Result<String, WriteError> {
    match graph.name(op) {
        Some(name) if name.starts_with('^') || name.contains(':') => Err(WriteError::Name { name: name.to_owned() }),
        Some(name) => Ok(name.to_owned()),
        None => Ok(format!("op_{op}")),
    }
}

fn node(graph: &DataflowGraph, names: &[String], op: OpId) -> Result<NodeDef, WriteError> {
    let inputs = graph.predecessors(op).map(|edge| {
        let source = &names[edge.op.index()];
        match edge.tensor.map(|tensor| graph.port(tensor)) {
            None => format!("^{source}"),
            Some(0) => source.clone(),
            Some(port) => format!("{source}:{port}"),
        }
    });
    let op_type = graph.op_types().and_then(|types| types.get(op.index())).unwrap_or(GENERIC_OP);
    let device = devices::device_string(graph.kinds(op));
    let mut node = NodeDef {
        name: names[op.index()].clone(),
        op: op_type.to_owned(),
        input: inputs.collect(),
        device: device.clone().unwrap_or_default(),
        attr: BTreeMap::new(),
        ..NodeDef::default()
    };
    if let Some(group) = graph.colocation().group_of(op) {
        let first = graph.colocation().members(group)[0];
        if first != op {
            let class = format!("loc:@{}", names[first.index()]).into_bytes();
            set(&mut node, "_class", Value::List(ListValue { s: vec![class], ..ListValue::default() }));
        }
    }
    let shapes = graph.outputs(op).map(|tensor| shape(graph, tensor)).collect::<Result<_, _>>()?;
    set(&mut node, OUTPUT_SHAPES, Value::List(ListValue { shape: shapes, ..ListValue::default() }));
    set(&mut node, ALL_OUTPUTS_TYPE, Value::Type(DataType::DtUint8 as i32));
    let said = device.is_some() && !(graph.kinds(op) == KindSet::ALL && devices::cpu_only(op_type));
    private::annotate(&mut node, graph, op, said);
    Ok(node)
}

fn set(node: &mut NodeDef, name: &str, value: Value) {
    node.attr.insert(name.to_owned(), AttrValue { value: Some(value) });
}

fn shape(graph: &DataflowGraph, tensor: TensorId) -> Result<TensorShapeProto, WriteError> {
    let bytes = graph.tensor_bytes(tensor);
    let size =
        i64::try_from(bytes).map_err(|_| WriteError::Size { label: graph.label(graph.producer(tensor)), bytes })?;
    Ok(TensorShapeProto { dim: vec![Dim { size, ..Dim::default() }], unknown_rank: false })
}
