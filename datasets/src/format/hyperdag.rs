//! HyperDAG 1, of HyperDAG_DB and OneStopParallel: a hyperedge joins the producer of a tensor with its consumers.
//!
//! ```text
//! % comments
//! 1 3 3        hyperedges, nodes, pins
//! 0 8          hyperedge, weight: bytes
//! 0 30         node, weight: operations
//! 1 50
//! 2 10
//! 0 0          hyperedge, node: the first pin of a hyperedge is its source
//! 0 1
//! 0 2
//! ```
//!
//! Numbers that follow on a line are ignored, as the format demands, and so is what follows a `%`. A hyperedge without
//! weight weighs 1, a node 1.

use std::io::Write;
use std::path::Path;

use placebench_base::process::check_memory;

use super::atomic::write_file;
use super::entry::{Format, GraphFile, Holds, Mark};
use super::text::{Number, counted};
use super::undirected::lines::{Line, Lines, check_vertex_count};
use super::{Detail, FormatError};
use crate::{DataflowGraph, GraphBuilder, OpId, OpSpec};

/// The line of the table of formats.
pub(super) static FORMAT: Format = Format {
    name: "hyperdag",
    mark: Mark::Extensions(&["hdag", "hyperdag"]),
    title: "HyperDAG, of HyperDAG_DB and OneStopParallel",
    lacks: &[
        Detail::Title,
        Detail::Licence,
        Detail::Units,
        Detail::Provenance,
        Detail::KindRule,
        Detail::Names,
        Detail::Types,
        Detail::Layers,
        Detail::Attributes,
        Detail::Memory,
        Detail::Kinds,
        Detail::Times,
        Detail::BytesMoved,
        Detail::Colocation,
        Detail::ControlEdges,
        Detail::RepeatedInputs,
        Detail::InputOrder,
    ],
    options: &[],
    holds: Holds::Graph {
        read: Some(|path, _| Ok(GraphFile::from(read(path)?))),
        write: Some(|path, _, graph| write(path, graph)),
    },
};

fn read(path: &Path) -> Result<DataflowGraph, FormatError> {
    let mut lines = Lines::open(path)?;
    let [edges, nodes, pins] = {
        let Some(line) = lines.next_content(b"%")? else {
            let fault = FormatError::file(path, "has no line of sizes");
            return Err(fault.remedy("write the numbers of hyperedges, nodes and pins"));
        };
        let mut words = line.words();
        let mut sizes = [0; 3];
        for (size, what) in sizes.iter_mut().zip(["hyperedges", "nodes", "pins"]) {
            *size = line.whole(words.next().unwrap_or(b""), &format!("the number of {what}"))?;
        }
        check_vertex_count(sizes[1], sizes[2], "pin").map_err(|error| line.fault(error).remedy("correct the sizes"))?;
        check_vertex_count(sizes[0], sizes[2], "pin").map_err(|error| line.fault(error).remedy("correct the sizes"))?;
        let [edges, nodes, pins] = sizes;
        // What is known of each while the file is read. Pins are counted as they come.
        check_memory(&[(edges, 16 + 8 + 8), (nodes, 16 + 24)], || {
            format!("a graph of {} and {}", counted(edges, "hyperedge"), counted(nodes, "node"))
        })
        .map_err(|error| line.fault(error))?;
        [edges, nodes, pins]
    };
    let mut bytes = vec![None; edges as usize];
    for _ in 0..edges {
        let line = content(path, &mut lines, "hyperedges", edges)?;
        let (id, weight) = item(&line, edges, "hyperedge")?;
        let whole = weight.map_or(Ok(1), |word| line.whole(word, "the weight of the hyperedge"))?;
        if bytes[id].replace(whole).is_some() {
            return Err(line.fault(format!("hyperedge {id} comes twice")).remedy("number them from 0"));
        }
    }
    let mut costs = vec![None; nodes as usize];
    for _ in 0..nodes {
        let line = content(path, &mut lines, "nodes", nodes)?;
        let (id, weight) = item(&line, nodes, "node")?;
        let text = String::from_utf8_lossy(weight.unwrap_or(b"1"));
        let cost = text.parse::<f64>().ok().filter(|cost| cost.is_finite() && *cost >= 0.0);
        let fault = || line.fault(format!("the weight of the node is '{text}'")).remedy("write a finite number ≥ 0");
        if costs[id].replace(cost.ok_or_else(fault)?).is_some() {
            return Err(line.fault(format!("node {id} comes twice")).remedy("number them from 0"));
        }
    }
    let mut sources: Vec<Option<OpId>> = vec![None; edges as usize];
    let mut members = Vec::new();
    for _ in 0..pins {
        let line = content(path, &mut lines, "pins", pins)?;
        let (edge, node) = item(&line, edges, "hyperedge")?;
        let node = line.whole(node.unwrap_or(b""), "the node of the pin")?;
        if node >= nodes {
            let fault = line.fault(format!("there is no node {node}"));
            return Err(fault.remedy(format!("nodes are numbered from 0 to {}", nodes.saturating_sub(1))));
        }
        let op = OpId::new(node as usize);
        match sources[edge] {
            None => sources[edge] = Some(op),
            Some(_) => members.push((edge, op, line.number)),
        }
    }
    if let Some(line) = lines.next_content(b"%")? {
        return Err(line.fault("follows the last pin").remedy("correct the number of pins"));
    }
    // The tensors of a node are its hyperedges, in their order.
    let mut outputs = vec![Vec::new(); nodes as usize];
    let mut ports = vec![0; edges as usize];
    for (edge, source) in sources.iter().enumerate() {
        let Some(source) = source else {
            let fault = FormatError::item(path, format!("hyperedge {edge}"), "has no pin");
            return Err(fault.remedy("add its source, or remove it"));
        };
        ports[edge] = outputs[source.index()].len();
        outputs[source.index()].push(bytes[edge].unwrap_or(1));
    }
    let mut builder = GraphBuilder::default();
    for (cost, outputs) in costs.iter().zip(&outputs) {
        builder.add_op(OpSpec::cost(cost.unwrap_or(1.0)), outputs);
    }
    // Inputs in the order of their tensors, however the pins come.
    members.sort_by_key(|&(edge, ..)| (sources[edge], ports[edge]));
    for (edge, op, line) in members {
        let source = sources[edge].unwrap_or(op);
        builder.add_edge(source, ports[edge], op).map_err(|error| FormatError::at_line(path, line, error))?;
    }
    builder.build().map_err(|error| FormatError::file(path, error))
}

fn content<'l>(path: &Path, lines: &'l mut Lines<'_>, what: &str, promised: u64) -> Result<Line<'l>, FormatError> {
    let number = lines.number();
    let ends = || {
        let message = format!("the file ends here, but its header promises {promised} {what}");
        FormatError::at_line(path, number, message).remedy("correct the header")
    };
    lines.next_content(b"%")?.ok_or_else(ends)
}

/// The number at the beginning of a line, and the word after it, if there is one before a comment.
fn item<'l>(line: &Line<'l>, limit: u64, what: &str) -> Result<(usize, Option<&'l [u8]>), FormatError> {
    let mut words = line.words();
    let id = line.whole(words.next().unwrap_or(b""), &format!("the {what}"))?;
    if id >= limit {
        let fault = line.fault(format!("there is no {what} {id}"));
        return Err(fault.remedy(format!("{what}s are numbered from 0 to {}", limit.saturating_sub(1))));
    }
    Ok((id as usize, words.next().filter(|word| !word.starts_with(b"%"))))
}

fn write(path: &Path, graph: &DataflowGraph) -> Result<(), FormatError> {
    let io = |error| FormatError::io(path, error);
    // A hyperedge for each tensor, then one of weight 0 for each control edge.
    let mut consumers: Vec<Vec<OpId>> = vec![Vec::new(); graph.tensor_count()];
    let mut control = Vec::new();
    for (source, edge) in graph.edges() {
        match edge.tensor {
            Some(tensor) if consumers[tensor.index()].last() == Some(&edge.op) => {}
            Some(tensor) => consumers[tensor.index()].push(edge.op),
            None => control.push((source, edge.op)),
        }
    }
    // Beside an edge that carries something, a control edge says nothing new.
    control.dedup();
    control.retain(|&(source, target)| {
        graph.outputs(source).all(|tensor| consumers[tensor.index()].binary_search(&target).is_err())
    });
    let pins = consumers.iter().map(|consumers| 1 + consumers.len()).sum::<usize>() + 2 * control.len();
    let (hyperedges, nodes) = (consumers.len() + control.len(), graph.op_count());
    write_file(path, |out| {
        writeln!(out, "% HyperDAG file format v1").map_err(io)?;
        writeln!(out, "% {}, bytes; operations", counted(hyperedges as u64, "tensor")).map_err(io)?;
        writeln!(out, "{hyperedges} {nodes} {pins}").map_err(io)?;
        for op in graph.op_ids() {
            for tensor in graph.outputs(op) {
                writeln!(out, "{} {}", tensor.index(), graph.tensor_bytes(tensor)).map_err(io)?;
            }
        }
        for position in 0..control.len() {
            writeln!(out, "{} 0", consumers.len() + position).map_err(io)?;
        }
        for op in graph.op_ids() {
            writeln!(out, "{op} {}", Number(graph.ops(op))).map_err(io)?;
        }
        for op in graph.op_ids() {
            for tensor in graph.outputs(op) {
                let edge = tensor.index();
                writeln!(out, "{edge} {op}").map_err(io)?;
                for consumer in &consumers[edge] {
                    writeln!(out, "{edge} {consumer}").map_err(io)?;
                }
            }
        }
        for (position, (source, target)) in control.iter().enumerate() {
            let edge = consumers.len() + position;
            writeln!(out, "{edge} {source}\n{edge} {target}").map_err(io)?;
        }
        Ok(())
    })
}
