//! ONNX as this suite writes it: a model of nodes in the domain `placebench`.
//!
//! - A node stands for an op; `op_type` is its type, or `Op`. Nodes are in a topological order, as ONNX demands.
//! - Attributes are strings with the names and meanings of node-link JSON (FORMATS): `ops`, `memory_bytes`, `outputs`,
//!   `kinds`, `name`, `type`, `layer`, `colocation`, `cpu_seconds`, …. `id` is the number of the op.
//! - A tensor of n bytes is a value of type `uint8` and shape `[n]`. One that nobody reads is an output of the graph.
//! - A control edge is a value of 0 bytes, the last output of its source. An op without a tensor has that output, too,
//!   since a node must have one.
//! - The header is the graph's name and description, and the model's metadata.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use prost::Message;

use super::proto::{
    AttributeProto, Dimension, GraphProto, ModelProto, NodeProto, OperatorSetId, Size, StringEntry, TensorShapeProto,
    TensorType, TypeProto, ValueInfoProto,
};
use super::tensor::Element;
use crate::format::atomic::write_file;
use crate::format::entry::GraphFile;
use crate::format::options::ReadOptions;
use crate::format::values::{self, Described, Link, Node, Value, Values};
use crate::format::{FormatError, GraphHeader};
use crate::{DataflowGraph, OpId};

/// The domain of the nodes, and the producer of the model.
const OWN: &str = "placebench";
/// Stands for no op type; a type of this name is in an attribute.
const GENERIC: &str = "Op";
const ID: &str = "id";
const TYPE: &str = "type";
/// Written by this version of the format: readers since 2021 know it.
const IR_VERSION: i64 = 8;

/// Whether this suite wrote the model.
pub(super) fn is_own(model: &ModelProto) -> bool {
    let nodes = model.graph.as_ref().map_or(&[][..], |graph| &graph.node);
    model.producer_name == OWN && nodes.iter().all(|node| node.domain == OWN)
}

/// Writes a graph.
pub(super) fn write(path: &Path, header: &GraphHeader, graph: &DataflowGraph) -> Result<(), FormatError> {
    let mut has_end = vec![false; graph.op_count()];
    let mut used = vec![false; graph.tensor_count()];
    for op in graph.op_ids() {
        for edge in graph.predecessors(op) {
            match edge.tensor {
                Some(tensor) => used[tensor.index()] = true,
                None => has_end[edge.op.index()] = true,
            }
        }
    }
    for op in graph.op_ids().filter(|&op| graph.outputs(op).len() == 0) {
        has_end[op.index()] = true;
    }
    let mut own = GraphProto {
        name: if header.name.is_empty() { OWN.to_owned() } else { header.name.clone() },
        doc_string: header.title.clone(),
        ..GraphProto::default()
    };
    for op in graph.topological_order() {
        own.node.push(node(graph, op, has_end[op.index()]));
    }
    for op in graph.op_ids() {
        for tensor in graph.outputs(op) {
            let bytes = graph.tensor_bytes(tensor);
            let bytes = i64::try_from(bytes).map_err(|_| {
                let message = format!("{} has an output of {bytes} bytes", graph.label(op));
                FormatError::file(path, message).remedy("ONNX counts no further than 2^63 - 1")
            })?;
            let info = value_info(format!("t{tensor}"), bytes);
            if used[tensor.index()] { own.value_info.push(info) } else { own.output.push(info) }
        }
        if has_end[op.index()] {
            own.value_info.push(value_info(end_of(op), 0));
        }
    }
    let metadata = values::of_header(path, header)?;
    let metadata = metadata.into_iter().map(|(key, value)| StringEntry { key: key.into_owned(), value: value.text() });
    let model = ModelProto {
        ir_version: IR_VERSION,
        producer_name: OWN.to_owned(),
        graph: Some(own),
        opset_import: vec![OperatorSetId { domain: OWN.to_owned(), version: 1 }],
        metadata_props: metadata.collect(),
        functions: Vec::new(),
    };
    let bytes = model.encode_to_vec();
    write_file(path, |out| out.write_all(&bytes).map_err(|error| FormatError::io(path, error)))
}

fn node(graph: &DataflowGraph, op: OpId, has_end: bool) -> NodeProto {
    let attribute = |name: &str, value: String| AttributeProto {
        name: name.to_owned(),
        s: value.into_bytes().into(),
        r#type: AttributeProto::STRING,
        ..AttributeProto::default()
    };
    let mut attributes = vec![attribute(ID, op.to_string())];
    let mut op_type = GENERIC.to_owned();
    for (name, value) in values::of_op(graph, op) {
        match value {
            Value::Text(text) if name == TYPE && !text.is_empty() && text != GENERIC => op_type = text,
            value => attributes.push(attribute(&name, value.text())),
        }
    }
    let input = |edge: crate::Edge| edge.tensor.map_or_else(|| end_of(edge.op), |tensor| format!("t{tensor}"));
    let outputs = graph.outputs(op).map(|tensor| format!("t{tensor}"));
    NodeProto {
        input: graph.predecessors(op).map(input).collect(),
        output: outputs.chain(has_end.then(|| end_of(op))).collect(),
        name: graph.name(op).map_or_else(String::new, str::to_owned),
        op_type,
        attribute: attributes,
        domain: OWN.to_owned(),
    }
}

/// The value that a control edge reads.
fn end_of(op: OpId) -> String {
    format!("end{op}")
}

fn value_info(name: String, bytes: i64) -> ValueInfoProto {
    let shape = TensorShapeProto { dim: vec![Dimension { size: Some(Size::Value(bytes)) }] };
    let tensor = TensorType { elem_type: Element::UINT8.0, shape: Some(shape) };
    ValueInfoProto { name, r#type: Some(TypeProto { tensor_type: Some(tensor) }) }
}

/// Reads what [`write`] wrote.
pub(super) fn read(path: &Path, model: &ModelProto, options: &ReadOptions) -> Result<GraphFile, FormatError> {
    if let Some(dim) = options.dims.first() {
        let fault = FormatError::file(path, format!("there is no dimension '{}'", dim.name));
        return Err(fault.remedy("all sizes are known: leave out --dim"));
    }
    let Some(graph) = &model.graph else {
        return Err(FormatError::file(path, "the model has no graph").remedy("write it again"));
    };
    let header = model.metadata_props.iter().map(|entry| (entry.key.clone(), entry.value.clone()));
    let mut described = Described { header: Values(header.collect()), ..Described::default() };
    // Who makes each value, and at which port: `None` is the end of the op.
    let mut makers: HashMap<&str, (String, Option<usize>)> = HashMap::new();
    // The nodes in the order of their ids, with their links.
    let mut rows: Vec<(u64, Node, Vec<Link>)> = Vec::with_capacity(graph.node.len());
    for (position, node) in graph.node.iter().enumerate() {
        let item = || format!("node {position} ({})", node.op_type);
        let fault = |message: String| FormatError::item(path, item(), message);
        let mut values = Vec::with_capacity(node.attribute.len());
        if node.op_type != GENERIC {
            values.push((TYPE.to_owned(), node.op_type.clone()));
        }
        for attribute in &node.attribute {
            let text = std::str::from_utf8(&attribute.s).ok().filter(|_| attribute.r#type == AttributeProto::STRING);
            let text = text.ok_or_else(|| {
                fault(format!("attribute '{}' is no text", attribute.name)).remedy("write its value as a string")
            })?;
            values.push((attribute.name.clone(), text.to_owned()));
        }
        let place = values.iter().position(|(name, _)| name == ID);
        let id = place.map(|place| values.remove(place).1).unwrap_or_default();
        let number: u64 = id
            .parse()
            .map_err(|_| fault(format!("its 'id' is '{id}'")).remedy("give every node a number from 0, as a string"))?;
        let values = Values(values);
        let ports = values.get("outputs").unwrap_or("").split(';').filter(|size| !size.trim().is_empty()).count();
        let mut links = Vec::with_capacity(node.input.len());
        for value in &node.input {
            let (source, port) = makers.get(value.as_str()).cloned().ok_or_else(|| {
                fault(format!("reads '{value}', which no node before it makes")).remedy("sort the nodes, or add it")
            })?;
            let port = port.map(|port| ("port".to_owned(), port.to_string()));
            links.push(Link { source, target: number.to_string(), values: Values(port.into_iter().collect()) });
        }
        for (port, value) in node.output.iter().enumerate() {
            let maker = (number.to_string(), (port < ports).then_some(port));
            if makers.insert(value, maker).is_some() {
                return Err(fault(format!("makes '{value}', which is there already")).remedy("rename one of the two"));
            }
        }
        rows.push((number, Node { id: number.to_string(), values }, links));
    }
    rows.sort_by_key(|row| row.0);
    for (_, node, links) in rows {
        described.nodes.push(node);
        described.links.extend(links);
    }
    described.into_file(path)
}
