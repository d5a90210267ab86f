//! Graphs for Graphviz and SimGrid: ops as boxes, colocation groups as frames, control edges dashed, a placement as colours.
//!
//! Beside the attributes that draw, nodes and edges have those of [`values`](super::values), where `size` is the cost of an
//! op and the bytes of an edge, as SimGrid reads them.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;
use std::path::Path;

use super::atomic::write_file;
use super::entry::{Format, Holds, Mark};
use super::text::Number;
use super::values::{self, Value};
use super::{FormatError, dot_read};
use crate::{Cluster, DataflowGraph, DeviceId, KindSet, OpId, Placement};

/// The line of the table of formats.
pub(super) static FORMAT: Format = Format {
    name: "dot",
    mark: Mark::Extensions(&["dot", "gv"]),
    title: "a picture for Graphviz, a workload for SimGrid",
    lacks: &[],
    options: &[],
    holds: Holds::Graph {
        read: Some(|path, _| dot_read::read(path)),
        write: Some(|path, header, graph| {
            let header = values::of_header(path, header)?;
            Dot { header: &header, ..Dot::new(graph) }.write(path)
        }),
    },
};

/// ColorBrewer's Set3: twelve colours on which black text reads well. More devices use them again.
const COLOURS: [&str; 12] = [
    "#8dd3c7", "#ffffb3", "#bebada", "#fb8072", "#80b1d3", "#fdb462", "#b3de69", "#fccde5", "#d9d9d9", "#bc80bd",
    "#ccebc5", "#ffed6f",
];

/// A graph as DOT text.
///
/// # Example
/// ```
/// use placebench_datasets::format::Dot;
/// use placebench_datasets::{GraphBuilder, OpSpec};
/// let mut builder = GraphBuilder::default();
/// let a = builder.add_op(OpSpec::cost(30.0), &[8]);
/// let b = builder.add_op(OpSpec::cost(50.0), &[]);
/// builder.add_edge(a, 0, b)?;
/// let graph = builder.build()?;
/// assert!(Dot::new(&graph).to_string().contains("0 -> 1 [label=\"8 B\", port=\"0\", size=\"8\"];"));
/// # Ok::<(), placebench_datasets::GraphError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dot<'a> {
    graph: &'a DataflowGraph,
    placed: Option<(&'a Placement, &'a Cluster)>,
    header: &'a [(Cow<'static, str>, Value)],
}

impl<'a> Dot<'a> {
    /// The graph alone.
    pub fn new(graph: &'a DataflowGraph) -> Self {
        Self { graph, placed: None, header: &[] }
    }

    /// The graph with its placement: a colour for each device, and a legend. The placement must be one of this graph on this
    /// cluster; an op or a device that is not there stays white.
    #[must_use]
    pub fn placed(self, placement: &'a Placement, cluster: &'a Cluster) -> Self {
        Self { placed: Some((placement, cluster)), ..self }
    }

    fn fmt_op(&self, f: &mut fmt::Formatter<'_>, op: OpId) -> fmt::Result {
        let graph = self.graph;
        write!(f, "  {op} [label=\"")?;
        match graph.name(op) {
            Some(name) => write!(f, "{}", Escaped(name))?,
            None => write!(f, "{op}")?,
        }
        if let Some(op_type) = graph.op_types().and_then(|types| types.get(op.index())) {
            write!(f, "\\n{}", Escaped(op_type))?;
        }
        write!(f, "\\n{} ops", Number(graph.ops(op)))?;
        if graph.memory_bytes(op) > 0 {
            write!(f, ", {}", Bytes(graph.memory_bytes(op)))?;
        }
        if graph.kinds(op) != KindSet::ALL {
            write!(f, "\\n{}", graph.kinds(op))?;
        }
        write!(f, "\"")?;
        fmt_values(f, values::of_op(graph, op))?;
        if let Some(device) = self.placed.and_then(|(placement, _)| placement.devices().get(op.index())) {
            write!(f, ", fillcolor=\"{}\"", colour(*device))?;
        }
        writeln!(f, "];")
    }

    fn fmt_legend(&self, f: &mut fmt::Formatter<'_>, cluster: &Cluster) -> fmt::Result {
        writeln!(f, "  subgraph cluster_devices {{\n    label=\"devices\";")?;
        for (device, of) in cluster.device_ids().zip(cluster.devices()) {
            let (name, colour) = (Escaped(&of.name), colour(device));
            writeln!(f, "    device{device} [label=\"{name}\\n{}\", fillcolor=\"{colour}\", shape=ellipse];", of.kind)?;
        }
        writeln!(f, "  }}")
    }
}

impl fmt::Display for Dot<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "digraph ")?;
        for (name, value) in self.header {
            if *name == "name" {
                write!(f, "\"{}\" ", Exactly(&value.text()))?;
            }
        }
        writeln!(f, "{{\n  node [shape=box, style=filled, fillcolor=white];")?;
        for (name, value) in self.header.iter().filter(|(name, _)| *name != "name") {
            writeln!(f, "  {name}=\"{}\";", Exactly(&value.text()))?;
        }
        if let Some((_, cluster)) = self.placed {
            self.fmt_legend(f, cluster)?;
        }
        for op in self.graph.op_ids() {
            self.fmt_op(f, op)?;
        }
        for (group, members) in self.graph.colocation().groups() {
            write!(f, "  subgraph cluster_group{group} {{ style=dashed; label=\"group {group}\";")?;
            for op in members {
                write!(f, " {op};")?;
            }
            writeln!(f, " }}")?;
        }
        for (edge, target) in values::edges_by_consumer(self.graph) {
            match edge.tensor {
                Some(tensor) => {
                    let bytes = Bytes(self.graph.tensor_bytes(tensor));
                    write!(f, "  {} -> {target} [label=\"{bytes}\"", edge.op)?;
                    fmt_values(f, values::of_edge(self.graph, edge))?;
                    writeln!(f, "];")?;
                }
                None => writeln!(f, "  {} -> {target} [style=dashed];", edge.op)?,
            }
        }
        writeln!(f, "}}")
    }
}

/// Writes a graph as DOT text. For one with a placement, write a [`Dot`].
///
/// # Errors
/// If the file cannot be written.
pub fn write_dot(path: impl AsRef<Path>, graph: &DataflowGraph) -> Result<(), FormatError> {
    Dot::new(graph).write(path)
}

impl Dot<'_> {
    /// Writes the text to a file, whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FormatError> {
        let path = path.as_ref();
        write_file(path, |out| write!(out, "{self}").map_err(|error| FormatError::io(path, error)))
    }
}

fn colour(device: DeviceId) -> &'static str {
    COLOURS[device.index() % COLOURS.len()]
}

/// `, name="value"` for each, with SimGrid's name for costs and bytes.
fn fmt_values(f: &mut fmt::Formatter<'_>, values: Vec<(Cow<'static, str>, Value)>) -> fmt::Result {
    for (name, value) in values {
        let name = match &*name {
            "ops" | "bytes" => "size",
            "name" => dot_read::OP_NAME,
            other => other,
        };
        write!(f, ", {name}=\"{}\"", Exactly(&value.text()))?;
    }
    Ok(())
}

/// A text inside double quotes, to be read back as it is.
struct Exactly<'a>(&'a str);

impl fmt::Display for Exactly<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

/// A text inside double quotes, as a label shows it.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                c if c.is_control() => f.write_str(" ")?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

/// A size with three digits or so.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["KiB", "MiB", "GiB", "TiB"];
        let mut size = self.0 as f64;
        let mut unit = "B";
        for next in units {
            if size < 1024.0 {
                break;
            }
            (size, unit) = (size / 1024.0, next);
        }
        match unit {
            "B" => write!(f, "{} B", self.0),
            _ => write!(f, "{size:.1} {unit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GraphBuilder, Kind, Link, OpSpec};

    #[test]
    fn the_text_shows_ops_groups_edges_and_devices() {
        let mut builder = GraphBuilder::default();
        let spec = |name| OpSpec { name: Some(name), ..OpSpec::cost(30.0) };
        let a = builder.add_op(OpSpec { kinds: KindSet::only(Kind::Gpu), ..spec("a \"b\"\\") }, &[2048]);
        let b = builder.add_op(OpSpec { op_type: Some("Add"), memory_bytes: 5, ..spec("c") }, &[]);
        builder.add_edge(a, 0, b).unwrap();
        builder.add_control_edge(a, b).unwrap();
        builder.colocate(a, b).unwrap();
        let graph = builder.build().unwrap();
        let cluster = Cluster::uniform(1, Kind::Gpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
        let placement = Placement::new(vec![DeviceId(0), DeviceId(0)]);
        let expected = r##"digraph {
  node [shape=box, style=filled, fillcolor=white];
  subgraph cluster_devices {
    label="devices";
    device0 [label="d0\nGPU", fillcolor="#8dd3c7", shape=ellipse];
  }
  0 [label="a \"b\"\\\n30 ops\nGPU", size="30", outputs="2048", kinds="GPU", op_name="a \"b\"\\", colocation="0", fillcolor="#8dd3c7"];
  1 [label="c\nAdd\n30 ops, 5 B", size="30", memory_bytes="5", op_name="c", type="Add", colocation="0", fillcolor="#8dd3c7"];
  subgraph cluster_group0 { style=dashed; label="group 0"; 0; 1; }
  0 -> 1 [label="2.0 KiB", port="0", size="2048"];
  0 -> 1 [style=dashed];
}
"##;
        assert_eq!(Dot::new(&graph).placed(&placement, &cluster).to_string(), expected);
    }
}
