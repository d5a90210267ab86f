//! NetworkX's node-link JSON: `networkx.node_link_data`, `networkx.node_link_graph`.
//!
//! ```json
//! {"directed": true, "multigraph": false, "graph": {"name": "small"},
//!  "nodes": [{"id": 0, "ops": 30, "outputs": "8"}, {"id": 1, "ops": 50}],
//!  "edges": [{"source": 0, "target": 1, "port": 0, "bytes": 8}]}
//! ```
//!
//! The reader takes `links` instead of `edges`, too, as NetworkX before 3.6 writes them.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::atomic::write_file;
use super::entry::{Format, GraphFile, Holds, Mark};
use super::values::{self, Described, Link, Node, Value, Values};
use super::{FormatError, GraphHeader, compressed, json};
use crate::DataflowGraph;

/// The line of the table of formats.
pub(super) static FORMAT: Format = Format {
    name: "node_link",
    mark: Mark::Json(&["nx.json"], &["nodes"]),
    title: "NetworkX's node-link JSON",
    lacks: &[],
    options: &[],
    holds: Holds::Graph { read: Some(|path, _| read(path)), write: Some(write) },
};

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    directed: bool,
    #[serde(default)]
    graph: Map<String, Json>,
    nodes: Vec<Map<String, Json>>,
    #[serde(alias = "links")]
    edges: Vec<Map<String, Json>>,
}

fn read(path: &Path) -> Result<GraphFile, FormatError> {
    let file: File = json::parse(path, &compressed::read_text(path)?)?;
    if !file.directed {
        let fault = FormatError::item(path, "directed", "the graph is undirected");
        return Err(fault.remedy("write a directed graph, with \"directed\": true"));
    }
    let required = |object: &mut Map<String, Json>, key: &str, item: String| {
        let is_plain = |value: &Json| !value.is_array() && !value.is_object();
        let id = object.remove(key).filter(is_plain).as_ref().and_then(text);
        id.ok_or_else(|| FormatError::item(path, item, format!("has no '{key}'")).remedy("add it, a text or a number"))
    };
    let mut described = Described { header: values(file.graph), ..Described::default() };
    for (position, mut node) in file.nodes.into_iter().enumerate() {
        let id = required(&mut node, "id", format!("node {position}"))?;
        described.nodes.push(Node { id, values: values(node) });
    }
    for (position, mut edge) in file.edges.into_iter().enumerate() {
        let source = required(&mut edge, "source", format!("edge {position}"))?;
        let target = required(&mut edge, "target", format!("edge {position}"))?;
        edge.remove("key");
        described.links.push(Link { source, target, values: values(edge) });
    }
    described.into_file(path)
}

/// The values of an object but for nulls. Lists and objects are their JSON, which nothing but a text can mean.
fn values(object: Map<String, Json>) -> Values {
    Values(object.into_iter().filter_map(|(name, value)| Some((name, text(&value)?))).collect())
}

fn text(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(flag) => Some(flag.to_string()),
        Json::Array(_) | Json::Object(_) => Some(value.to_string()),
        Json::Null => None,
    }
}

fn write(path: &Path, header: &GraphHeader, graph: &DataflowGraph) -> Result<(), FormatError> {
    let io = |error| FormatError::io(path, error);
    let header = values::of_header(path, header)?;
    let parallel = graph.op_ids().any(|op| {
        let mut sources = graph.predecessor_ops(op).to_vec();
        sources.sort_unstable();
        sources.windows(2).any(|pair| pair[0] == pair[1])
    });
    write_file(path, |out| {
        write!(out, "{{\"directed\": true, \"multigraph\": {parallel}, \"graph\": {{").map_err(io)?;
        write!(out, "{}}},\n\"nodes\": [", fields(header).trim_start_matches(", ")).map_err(io)?;
        for op in graph.op_ids() {
            let comma = if op.0 == 0 { "" } else { "," };
            write!(out, "{comma}\n{{\"id\": {op}{}}}", fields(values::of_op(graph, op))).map_err(io)?;
        }
        write!(out, "],\n\"edges\": [").map_err(io)?;
        for (position, (edge, target)) in values::edges_by_consumer(graph).enumerate() {
            let comma = if position == 0 { "" } else { "," };
            let values = fields(values::of_edge(graph, edge));
            write!(out, "{comma}\n{{\"source\": {}, \"target\": {target}{values}}}", edge.op).map_err(io)?;
        }
        writeln!(out, "]}}").map_err(io)
    })
}

/// `, "name": value` for each.
fn fields(values: Vec<(Cow<'static, str>, Value)>) -> String {
    let json = |value| match value {
        Value::Text(text) => json::quoted(&text),
        other => other.text(),
    };
    values.into_iter().map(|(name, value)| format!(", \"{name}\": {}", json(value))).collect()
}
