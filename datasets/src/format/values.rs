//! Graphs as nodes and edges with named values: what node-link JSON, GraphML, GEXF and DOT share.
//!
//! | value of a node | meaning |
//! |---|---|
//! | `ops`, else `size`, `work_weight`, `weight`, `Weight` | cost in operations; 1 if no node has one |
//! | `outputs` | size of each output port in bytes, separated by `;` |
//! | `memory_bytes` | resident memory, default 0 |
//! | `kinds` | device kinds, as in `CPU\|GPU`; default all |
//! | `name`, `type`, `layer` | text; without `name`, the node's id is its name unless ids count 0, 1, 2, … |
//! | `attributes` | text: ops of one type with the same text compute the same function of their inputs |
//! | `colocation` | ops with the same text share a device |
//! | `cpu_seconds`, `gpu_seconds`, `tpu_seconds` | measured times |
//!
//! | value of an edge | meaning |
//! |---|---|
//! | `port` | the output port of the source that it carries, where the source has `outputs` |
//! | `bytes`, else `size`, `comm_weight`, `weight`, `Weight` | bytes that it carries. Where the source has no `outputs`, the edge is a tensor of its own. |
//!
//! An edge with neither is a control edge.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;

use super::entry::GraphFile;
use super::text::Number;
use super::{FormatError, GraphHeader, Units};
use crate::measured_times::class_of_column;
use crate::{DataflowGraph, Edge, GraphBuilder, KindSet, Kinds, OpId, OpSpec};

const COSTS: [&str; 5] = ["ops", "size", "work_weight", "weight", "Weight"];
const BYTES: [&str; 5] = ["bytes", "size", "comm_weight", "weight", "Weight"];
const HEADER: [&str; 8] = ["name", "title", "licence", "kinds", "units_ops", "units_time", "units_bytes", "provenance"];

/// A value to be written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Real(f64),
    Whole(u64),
    Text(String),
}

impl Value {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Real(value) => Number(*value).to_string(),
            Self::Whole(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// The values that nodes may have beside measured times, each with an example of its type.
fn plain_node_types() -> Vec<(&'static str, Value)> {
    let text = || Value::Text(String::new());
    let mut types = vec![("ops", Value::Real(0.0)), ("memory_bytes", Value::Whole(0)), ("outputs", text())];
    types.extend(["kinds", "name", "type", "layer", "attributes"].map(|name| (name, text())));
    types.push(("colocation", Value::Whole(0)));
    types.push(("bytes_moved", Value::Real(0.0)));
    types
}

/// Which values the nodes of a graph may have, each with an example of its type, for formats that declare them.
pub(super) fn node_types(graph: &DataflowGraph) -> Vec<(Cow<'static, str>, Value)> {
    let seconds = graph.measured_times().iter().map(|times| (Cow::Owned(times.column()), Value::Real(0.0)));
    plain_node_types().into_iter().map(|(name, value)| (Cow::Borrowed(name), value)).chain(seconds).collect()
}

/// Which values edges may have.
pub(super) fn edge_types() -> Vec<(Cow<'static, str>, Value)> {
    vec![("port".into(), Value::Whole(0)), ("bytes".into(), Value::Whole(0))]
}

/// Which values a graph may have.
pub(super) fn header_types() -> Vec<(Cow<'static, str>, Value)> {
    HEADER.map(|name| (name.into(), Value::Text(String::new()))).to_vec()
}

/// The values of an op, without defaults.
pub(super) fn of_op(graph: &DataflowGraph, op: OpId) -> Vec<(Cow<'static, str>, Value)> {
    let mut values = vec![("ops".into(), Value::Real(graph.ops(op)))];
    if graph.memory_bytes(op) > 0 {
        values.push(("memory_bytes".into(), Value::Whole(graph.memory_bytes(op))));
    }
    let outputs: Vec<_> = graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor).to_string()).collect();
    if !outputs.is_empty() {
        values.push(("outputs".into(), Value::Text(outputs.join(";"))));
    }
    if graph.kinds(op) != KindSet::ALL {
        values.push(("kinds".into(), Value::Text(graph.kinds(op).to_string())));
    }
    let label =
        |labels: Option<&crate::Categories>| labels.and_then(|labels| labels.get(op.index())).map(str::to_owned);
    for (name, text) in [
        ("name", graph.name(op).map(str::to_owned)),
        ("type", label(graph.op_types())),
        ("layer", label(graph.layers())),
        ("attributes", label(graph.attributes())),
    ] {
        values.extend(text.map(|text| (name.into(), Value::Text(text))));
    }
    if let Some(group) = graph.colocation().group_of(op) {
        values.push(("colocation".into(), Value::Whole(u64::from(group.0))));
    }
    values.extend(graph.bytes_moved(op).map(|bytes| ("bytes_moved".into(), Value::Real(bytes))));
    for times in graph.measured_times() {
        values.extend(times.of(op).map(|time| (times.column().into(), Value::Real(time))));
    }
    values
}

/// The values of an edge: none for a control edge.
pub(super) fn of_edge(graph: &DataflowGraph, edge: Edge) -> Vec<(Cow<'static, str>, Value)> {
    let Some(tensor) = edge.tensor else { return Vec::new() };
    let port = graph.port(tensor) as u64;
    vec![("port".into(), Value::Whole(port)), ("bytes".into(), Value::Whole(graph.tensor_bytes(tensor)))]
}

/// The values of a header, without defaults.
pub(super) fn of_header(path: &Path, header: &GraphHeader) -> Result<Vec<(Cow<'static, str>, Value)>, FormatError> {
    let provenance = match header.provenance.is_empty() {
        true => String::new(),
        false => toml::to_string(&header.provenance).map_err(|error| FormatError::item(path, "provenance", error))?,
    };
    let units = |unit: &String, default: String| if *unit == default { String::new() } else { unit.clone() };
    let default = Units::default();
    let texts = [
        header.name.clone(),
        header.title.clone(),
        header.licence.clone(),
        if header.kinds == Kinds::default() { String::new() } else { header.kinds.to_string() },
        units(&header.units.ops, default.ops),
        units(&header.units.time, default.time),
        units(&header.units.bytes, default.bytes),
        provenance,
    ];
    let values = HEADER.into_iter().zip(texts).filter(|(_, text)| !text.is_empty());
    Ok(values.map(|(name, text)| (name.into(), Value::Text(text))).collect())
}

/// The header that some values say.
///
/// # Errors
/// If `provenance` is no TOML, or `kinds` no rule.
pub(super) fn header_of(path: &Path, values: &Values) -> Result<GraphHeader, FormatError> {
    let text = |name: &str| values.get(name).unwrap_or("").to_owned();
    let or = |text: String, default: String| if text.is_empty() { default } else { text };
    let default = Units::default();
    let provenance = toml::from_str(&text("provenance")).map_err(|error: toml::de::Error| {
        FormatError::item(path, "provenance", error.message()).remedy("write TOML, or leave it out")
    })?;
    let kinds = values.get("kinds").map_or(Ok(Kinds::default()), str::parse);
    let kinds = kinds.map_err(|error| FormatError::item(path, "kinds", error))?;
    Ok(GraphHeader {
        name: text("name"),
        title: text("title"),
        licence: text("licence"),
        kinds,
        units: Units {
            ops: or(text("units_ops"), default.ops),
            time: or(text("units_time"), default.time),
            bytes: or(text("units_bytes"), default.bytes),
        },
        provenance,
    })
}

/// Edges in the order in which a reader has to add them: by consumer, in the order of its inputs.
pub(super) fn edges_by_consumer(graph: &DataflowGraph) -> impl Iterator<Item = (Edge, OpId)> + '_ {
    graph.op_ids().flat_map(|op| graph.predecessors(op).map(move |edge| (edge, op)))
}

/// Named values that were read.
#[derive(Clone, Debug, Default)]
pub(super) struct Values(pub(super) Vec<(String, String)>);

impl Values {
    /// The last value of a name counts.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn first_of(&self, names: &[&'static str]) -> Option<(&'static str, &str)> {
        names.iter().find_map(|&name| self.get(name).map(|value| (name, value)))
    }
}

/// A node that was read.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: String,
    pub(super) values: Values,
}

/// An edge that was read.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) source: String,
    pub(super) target: String,
    pub(super) values: Values,
}

/// Source, port unless it is a control edge, and target.
type Ends = (OpId, Option<usize>, OpId);

/// A directed graph that was read.
#[derive(Debug, Default)]
pub(super) struct Described {
    pub(super) header: Values,
    pub(super) nodes: Vec<Node>,
    pub(super) links: Vec<Link>,
}

/// A part of a file, for faults.
struct Part<'a> {
    path: &'a Path,
    name: String,
    values: &'a Values,
}

impl Part<'_> {
    fn fault(&self, message: impl Display) -> FormatError {
        FormatError::item(self.path, &self.name, message)
    }

    fn parse<T: FromStr>(&self, name: &str, text: &str, expected: &str) -> Result<T, FormatError> {
        text.trim().parse().map_err(|_| self.fault(format!("{name} is '{text}'")).remedy(format!("write {expected}")))
    }

    fn real(&self, name: &str) -> Result<Option<f64>, FormatError> {
        self.values.get(name).map(|text| self.parse(name, text, "a number")).transpose()
    }

    /// A whole number, which other tools may write as 8.0.
    fn whole(&self, name: &str, text: &str) -> Result<u64, FormatError> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let real = text.trim().parse::<f64>().ok().filter(|real| real.fract() == 0.0 && (0.0..EXACT).contains(real));
        match (text.trim().parse(), real) {
            (Ok(whole), _) => Ok(whole),
            (Err(_), Some(real)) => Ok(real as u64),
            (Err(_), None) => {
                let fault = self.fault(format!("{name} is '{text}'"));
                Err(fault.remedy("write a whole number of bytes; multiply all sizes by one factor if they are broken"))
            }
        }
    }
}

impl Described {
    /// Makes the graph.
    ///
    /// # Errors
    /// The first node or edge that is wrong; all that [`GraphBuilder::build`] refuses.
    pub(super) fn into_file(self, path: &Path) -> Result<GraphFile, FormatError> {
        let mut notes = Vec::new();
        let header = header_of(path, &self.header)?;
        let ops = self.op_ids(path)?;
        let (sizes, edges) = self.read_links(path, &ops)?;
        let counted = self.nodes.iter().enumerate().all(|(position, node)| node.id == position.to_string());
        let named = self.nodes.iter().any(|node| node.values.get("name").is_some());
        let costs = self.nodes.iter().any(|node| node.values.first_of(&COSTS).is_some());
        if !costs && !self.nodes.is_empty() {
            notes.push("no node has a cost, so that every op costs 1".to_owned());
        }
        let mut builder = GraphBuilder::default();
        let mut groups: HashMap<&str, OpId> = HashMap::new();
        for (node, sizes) in self.nodes.iter().zip(&sizes) {
            let part = Part { path, name: format!("node '{}'", node.id), values: &node.values };
            let ops = match (node.values.first_of(&COSTS), costs) {
                (Some((name, text)), _) => part.parse(name, text, "a number")?,
                (None, false) => 1.0,
                (None, true) => {
                    return Err(part.fault("has no cost, but others have").remedy("give every node 'ops', or none"));
                }
            };
            let mut times: Vec<(&str, f64)> = Vec::new();
            for (name, _) in &node.values.0 {
                if let Some(class) = class_of_column(name).filter(|class| times.iter().all(|(other, _)| other != class))
                {
                    times.extend(part.real(name)?.map(|time| (class, time)));
                }
            }
            let spec = OpSpec {
                ops,
                memory_bytes: node.values.get("memory_bytes").map_or(Ok(0), |text| part.whole("memory_bytes", text))?,
                kinds: match node.values.get("kinds") {
                    Some(text) => part.parse("kinds", text, "ALL, or some of CPU, GPU, TPU joined by '|'")?,
                    None => KindSet::ALL,
                },
                bytes_moved: part.real("bytes_moved")?,
                times: &times,
                name: if named { node.values.get("name") } else { (!counted).then_some(node.id.as_str()) },
                op_type: node.values.get("type").or_else(|| node.values.get("op_type")),
                layer: node.values.get("layer"),
                attributes: node.values.get("attributes").filter(|text| !text.is_empty()),
            };
            let op = builder.add_op(spec, sizes);
            if let Some(group) = node.values.get("colocation") {
                let first = *groups.entry(group).or_insert(op);
                builder.colocate(first, op).map_err(|error| part.fault(error))?;
            }
        }
        for ((source, port, target), link) in edges.into_iter().zip(&self.links) {
            let added = match port {
                Some(port) => builder.add_edge(source, port, target),
                None => builder.add_control_edge(source, target),
            };
            added.map_err(|error| FormatError::item(path, link.name(), error).remedy("correct 'port' or 'outputs'"))?;
        }
        let graph = builder.build().map_err(|error| FormatError::file(path, error))?;
        notes.extend(self.ignored());
        let report = (!notes.is_empty()).then(|| notes.join("; "));
        Ok(GraphFile { header, graph, report })
    }

    fn op_ids(&self, path: &Path) -> Result<HashMap<&str, OpId>, FormatError> {
        let mut ops = HashMap::with_capacity(self.nodes.len());
        for (position, node) in self.nodes.iter().enumerate() {
            if ops.insert(node.id.as_str(), OpId::new(position)).is_some() {
                let fault = FormatError::item(path, format!("node '{}'", node.id), "comes twice");
                return Err(fault.remedy("give every node an id of its own"));
            }
        }
        Ok(ops)
    }

    /// The sizes of each op's outputs, and for each link its ends and port.
    fn read_links(&self, path: &Path, ops: &HashMap<&str, OpId>) -> Result<(Vec<Vec<u64>>, Vec<Ends>), FormatError> {
        let mut sizes = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let part = Part { path, name: format!("node '{}'", node.id), values: &node.values };
            let outputs = node.values.get("outputs").unwrap_or("").split(';').filter(|size| !size.trim().is_empty());
            sizes.push(outputs.map(|size| part.whole("outputs", size)).collect::<Result<Vec<_>, _>>()?);
        }
        let mut edges = Vec::with_capacity(self.links.len());
        for link in &self.links {
            let part = Part { path, name: link.name(), values: &link.values };
            let end = |id: &str| {
                ops.get(id).copied().ok_or_else(|| part.fault(format!("there is no node '{id}'")).remedy("add it"))
            };
            let (source, target) = (end(&link.source)?, end(&link.target)?);
            let port = match (link.values.get("port"), link.values.first_of(&BYTES)) {
                (None, None) => None,
                (Some(port), _) => Some(part.parse("port", port, "the number of an output, from 0")?),
                (None, Some((name, text))) => {
                    if self.nodes[source.index()].values.get("outputs").is_some() {
                        let fault = part.fault("names no port, but its source lists 'outputs'");
                        return Err(fault.remedy("add 'port'"));
                    }
                    let bytes = part.whole(name, text)?;
                    sizes[source.index()].push(bytes);
                    Some(sizes[source.index()].len() - 1)
                }
            };
            edges.push((source, port, target));
        }
        Ok((sizes, edges))
    }

    /// The names of values that mean nothing here.
    fn ignored(&self) -> Option<String> {
        let types = plain_node_types().into_iter().map(|(name, _)| Cow::Borrowed(name));
        let known: BTreeSet<Cow<'_, str>> = types.chain(edge_types().into_iter().map(|(name, _)| name)).collect();
        let is_known = |name: &str| {
            known.contains(name) || class_of_column(name).is_some() || COSTS.contains(&name) || BYTES.contains(&name)
        };
        let values = self.nodes.iter().map(|node| &node.values).chain(self.links.iter().map(|link| &link.values));
        let names = values.flat_map(|values| &values.0).map(|(name, _)| name.as_str());
        let ignored: BTreeSet<&str> = names.filter(|name| !is_known(name) && *name != "op_type").collect();
        let list: Vec<_> = ignored.into_iter().collect();
        (!list.is_empty()).then(|| format!("ignored values of nodes and edges: {}", list.join(", ")))
    }
}

impl Link {
    fn name(&self) -> String {
        format!("edge '{}' -> '{}'", self.source, self.target)
    }
}
