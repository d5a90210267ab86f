//! GraphML, as NetworkX, igraph, yEd and Gephi read it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use super::atomic::write_file;
use super::entry::{Format, GraphFile, Holds, Mark};
use super::values::{self, Described, Link, Value, Values};
use super::{FormatError, GraphHeader, compressed, xml};
use crate::DataflowGraph;

/// The line of the table of formats.
pub(super) static FORMAT: Format = Format {
    name: "graphml",
    mark: Mark::Extensions(&["graphml"]),
    title: "GraphML",
    lacks: &[],
    options: &[],
    holds: Holds::Graph { read: Some(|path, _| read(path)), write: Some(write) },
};

type Element<'a, 'b> = roxmltree::Node<'a, 'b>;

fn read(path: &Path) -> Result<GraphFile, FormatError> {
    let text = compressed::read_text(path)?;
    let document = xml::parse(path, &text)?;
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        let fault = xml::fault(path, root, format!("the outermost element is <{}>", root.tag_name().name()));
        return Err(fault.remedy("a GraphML file has <graphml>"));
    }
    let mut keys = Keys::default();
    for key in children(root, "key") {
        let id = xml::required(path, key, "id")?;
        let name = key.attribute("attr.name").unwrap_or(id);
        let default = children(key, "default").next().and_then(|default| default.text());
        keys.names.insert(id, name);
        if let (Some(default), Some(of)) = (default, key.attribute("for")) {
            keys.defaults.push((of, name, default));
        }
    }
    let mut graphs = children(root, "graph");
    let Some(graph) = graphs.next() else {
        return Err(xml::fault(path, root, "has no <graph>").remedy("add one"));
    };
    if let Some(second) = graphs.next() {
        return Err(xml::fault(path, second, "is a second graph").remedy("write a file for each graph"));
    }
    let by_default = graph.attribute("edgedefault") == Some("directed");
    let mut described = Described { header: keys.values(path, graph, "graph")?, ..Described::default() };
    for element in graph.children().filter(Element::is_element) {
        match element.tag_name().name() {
            "node" => {
                if let Some(nested) = children(element, "graph").next() {
                    return Err(xml::fault(path, nested, "a node contains a graph").remedy("write a flat graph"));
                }
                let id = xml::required(path, element, "id")?.to_owned();
                described.nodes.push(values::Node { id, values: keys.values(path, element, "node")? });
            }
            "edge" => {
                if !element.attribute("directed").map_or(by_default, |directed| directed == "true") {
                    let fault = xml::fault(path, element, "the edge is undirected");
                    return Err(fault.remedy("write a directed graph, with edgedefault=\"directed\""));
                }
                let source = xml::required(path, element, "source")?.to_owned();
                let target = xml::required(path, element, "target")?.to_owned();
                described.links.push(Link { source, target, values: keys.values(path, element, "edge")? });
            }
            "hyperedge" => {
                return Err(xml::fault(path, element, "is a hyperedge").remedy("write edges with two ends"));
            }
            _ => {}
        }
    }
    described.into_file(path)
}

fn children<'a, 'b>(of: Element<'a, 'b>, name: &'static str) -> impl Iterator<Item = Element<'a, 'b>> {
    of.children().filter(move |child| child.tag_name().name() == name)
}

/// The declared values.
#[derive(Default)]
struct Keys<'a> {
    names: HashMap<&'a str, &'a str>,
    /// For what, name, value.
    defaults: Vec<(&'a str, &'a str, &'a str)>,
}

impl Keys<'_> {
    fn values(&self, path: &Path, of: Element<'_, '_>, what: &str) -> Result<Values, FormatError> {
        let default = self.defaults.iter().filter(|default| default.0 == what || default.0 == "all");
        let mut values: Vec<_> = default.map(|&(_, name, value)| (name.to_owned(), value.to_owned())).collect();
        for data in children(of, "data") {
            let key = xml::required(path, data, "key")?;
            let Some(name) = self.names.get(key) else {
                return Err(xml::fault(path, data, format!("there is no key '{key}'")).remedy("declare it with <key>"));
            };
            values.push(((*name).to_owned(), data.text().unwrap_or("").to_owned()));
        }
        Ok(Values(values))
    }
}

fn write(path: &Path, header: &GraphHeader, graph: &DataflowGraph) -> Result<(), FormatError> {
    let io = |error| FormatError::io(path, error);
    let data = |what: char, values: Vec<(Cow<'_, str>, Value)>| -> Result<String, FormatError> {
        let one = |(name, value): (Cow<'_, str>, Value)| {
            Ok(format!("<data key=\"{what}_{name}\">{}</data>", xml::escaped(path, &value.text())?))
        };
        values.into_iter().map(one).collect()
    };
    let header = data('g', values::of_header(path, header)?)?;
    write_file(path, |out| {
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>").map_err(io)?;
        writeln!(out, "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">").map_err(io)?;
        for (mark, of, types) in [
            ('g', "graph", values::header_types()),
            ('n', "node", values::node_types(graph)),
            ('e', "edge", values::edge_types()),
        ] {
            for (name, example) in types {
                let of_type = match example {
                    Value::Real(_) => "double",
                    Value::Whole(_) => "long",
                    Value::Text(_) => "string",
                };
                writeln!(out, "<key id=\"{mark}_{name}\" for=\"{of}\" attr.name=\"{name}\" attr.type=\"{of_type}\"/>")
                    .map_err(io)?;
            }
        }
        writeln!(out, "<graph edgedefault=\"directed\">{header}").map_err(io)?;
        for op in graph.op_ids() {
            let values = data('n', values::of_op(graph, op))?;
            writeln!(out, "<node id=\"{op}\">{values}</node>").map_err(io)?;
        }
        for (edge, target) in values::edges_by_consumer(graph) {
            let values = data('e', values::of_edge(graph, edge))?;
            writeln!(out, "<edge source=\"{}\" target=\"{target}\">{values}</edge>", edge.op).map_err(io)?;
        }
        writeln!(out, "</graph>\n</graphml>").map_err(io)
    })
}
