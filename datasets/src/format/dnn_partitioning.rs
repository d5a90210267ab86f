//! The JSON of dnn-partitioning (Tarnawski et al. 2020): layers or operators with times on a CPU and on an accelerator.
//!
//! | in the file | in the graph |
//! |---|---|
//! | `name` of a node, or its `id` where names repeat | name |
//! | `cpuLatency`, `fpgaLatency` | measured times on a CPU and a GPU, in the file's unit of time |
//! | `supportedOnFpga` is false | the CPU only |
//! | `size` | resident memory |
//! | `colorClass` | ops of a colour are colocated |
//! | `isBackwardNode` | op type `backward` |
//! | `cost` of an edge: time to move the producer's output between an accelerator and the host | one tensor for each producer, of `cost` · 2³⁰ bytes |
//!
//! As a cluster, the file has `maxFPGAs` GPUs with `maxSizePerFPGA` bytes and `maxCPUs` CPUs, all of speed 1. A unit of time
//! moves 2³⁰ bytes between a GPU and a CPU, and half of them between two GPUs, whose data pass through the host. So
//! transfers take the times of the file. CPUs share the host's memory: among them a transfer takes next to no time.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Deserializer};

use super::entry::{Format, GraphFile, Holds, Mark};
use super::options::{ReadOption, ReadOptions};
use super::{FormatError, GraphHeader, Units, compressed, json};
use crate::cluster::check_pairs;
use crate::{Cluster, Device, GraphBuilder, Kind, KindSet, Link, OpId, OpSpec};

const KEYS: &[&str] = &["maxFPGAs", "nodes", "edges"];

/// The line of the table of formats for graphs.
pub(super) static GRAPH: Format = Format {
    name: "dnn_partitioning",
    mark: Mark::Json(&["dnn.json"], KEYS),
    title: "JSON of dnn-partitioning, with an expert's split if one is given",
    lacks: &[],
    options: &[ReadOption::Split],
    holds: Holds::Graph { read: Some(read), write: None },
};

/// The line of the table of formats for clusters.
pub(super) static CLUSTER: Format = Format {
    name: "dnn_partitioning_cluster",
    mark: Mark::Json(&["dnn.json"], KEYS),
    title: "the accelerators and CPUs of a JSON of dnn-partitioning",
    lacks: &[],
    options: &[],
    holds: Holds::Cluster { read: read_cluster, write: None },
};

/// Bytes that a unit of time moves between an accelerator and the host.
const RATE: f64 = (1u64 << 30) as f64;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(rename = "maxSizePerFPGA")]
    max_size: f64,
    #[serde(rename = "maxFPGAs")]
    max_fpgas: u32,
    #[serde(rename = "maxCPUs")]
    max_cpus: u32,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    id: i64,
    #[serde(default)]
    name: String,
    #[serde(deserialize_with = "flag")]
    supported_on_fpga: bool,
    cpu_latency: f64,
    fpga_latency: f64,
    #[serde(default, deserialize_with = "flag")]
    is_backward_node: bool,
    color_class: Option<i64>,
    size: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Edge {
    source_id: i64,
    dest_id: i64,
    cost: f64,
}

/// An expert's split: the nodes of each processor.
#[derive(Deserialize)]
struct Split {
    fpgas: Vec<Part>,
    cpus: Vec<Part>,
}

#[derive(Deserialize)]
struct Part {
    nodes: Vec<i64>,
}

fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Flag {
        Bool(bool),
        Number(u8),
    }
    Ok(match Flag::deserialize(deserializer)? {
        Flag::Bool(flag) => flag,
        Flag::Number(number) => number != 0,
    })
}

/// A size or a time; `None` if it is negative, too large or no number.
fn bytes(value: f64) -> Option<u64> {
    (0.0..u64::MAX as f64).contains(&value).then_some(value.round() as u64)
}

fn read(path: &Path, options: &ReadOptions) -> Result<GraphFile, FormatError> {
    let file: File = json::parse(path, &compressed::read_text(path)?)?;
    let fault = |id: i64, message: String| FormatError::item(path, format!("node {id}"), message);
    let mut ops: HashMap<i64, OpId> = HashMap::with_capacity(file.nodes.len());
    let mut names: HashMap<&str, ()> = HashMap::new();
    for (position, node) in file.nodes.iter().enumerate() {
        if ops.insert(node.id, OpId::new(position)).is_some() {
            return Err(fault(node.id, "comes twice".into()).remedy("give every node an id of its own"));
        }
        if !node.name.is_empty() {
            names.insert(&node.name, ());
        }
    }
    let named = names.len() == file.nodes.len();
    let mut sizes: Vec<Option<u64>> = vec![None; file.nodes.len()];
    let mut edges = Vec::with_capacity(file.edges.len());
    for edge in &file.edges {
        let item = || format!("edge {} -> {}", edge.source_id, edge.dest_id);
        let end = |id: i64| {
            let missing = || FormatError::item(path, item(), format!("there is no node {id}")).remedy("add it");
            ops.get(&id).copied().ok_or_else(missing)
        };
        let (source, target) = (end(edge.source_id)?, end(edge.dest_id)?);
        let moved = bytes(edge.cost * RATE).ok_or_else(|| {
            FormatError::item(path, item(), format!("its cost is {}", edge.cost)).remedy("write a finite number ≥ 0")
        })?;
        if *sizes[source.index()].get_or_insert(moved) != moved {
            let fault = FormatError::item(path, item(), "costs something else than other edges of its source");
            return Err(fault.remedy("give all edges of a source the same cost: they move the same output"));
        }
        edges.push((source, target));
    }
    let labels = match &options.split {
        Some(split) => read_split(split, &file.nodes, &ops)?,
        None => vec![None; file.nodes.len()],
    };
    let mut builder = GraphBuilder::default();
    let mut colours: HashMap<i64, OpId> = HashMap::new();
    for ((node, size), label) in file.nodes.iter().zip(&sizes).zip(&labels) {
        let id = node.id.to_string();
        let times = [("cpu", node.cpu_latency), ("gpu", node.fpga_latency)];
        let spec = OpSpec {
            ops: node.cpu_latency,
            memory_bytes: bytes(node.size).ok_or_else(|| {
                fault(node.id, format!("its size is {}", node.size)).remedy("write a finite number of bytes ≥ 0")
            })?,
            kinds: match node.supported_on_fpga {
                true => [Kind::Cpu, Kind::Gpu].into_iter().collect(),
                false => KindSet::only(Kind::Cpu),
            },
            bytes_moved: None,
            times: if node.supported_on_fpga { &times } else { &times[..1] },
            name: Some(if named { node.name.as_str() } else { id.as_str() }),
            op_type: node.is_backward_node.then_some("backward"),
            layer: label.as_deref(),
            attributes: None,
        };
        let op = builder.add_op(spec, size.as_slice());
        if let Some(colour) = node.color_class {
            let first = *colours.entry(colour).or_insert(op);
            builder.colocate(first, op).map_err(|error| fault(node.id, error.to_string()))?;
        }
    }
    for (source, target) in edges {
        builder.add_edge(source, 0, target).map_err(|error| FormatError::file(path, error))?;
    }
    let graph = builder.build().map_err(|error| FormatError::file(path, error))?;
    let units = Units { ops: "time units on a CPU".into(), time: "time units".into(), ..Units::default() };
    Ok(GraphFile { header: GraphHeader { units, ..GraphHeader::default() }, graph, report: None })
}

/// The processor of each node as a label: `fpga0`, `cpu1`. A node that the split leaves out, such as a backward node, is
/// where another one of its colour is.
fn read_split(path: &Path, nodes: &[Node], ops: &HashMap<i64, OpId>) -> Result<Vec<Option<String>>, FormatError> {
    let split: Split = json::parse(path, &compressed::read_text(path)?)?;
    let mut labels: Vec<Option<String>> = vec![None; nodes.len()];
    for (kind, parts) in [("fpga", &split.fpgas), ("cpu", &split.cpus)] {
        for (number, part) in parts.iter().enumerate() {
            for id in &part.nodes {
                let fault = |message: &str| FormatError::item(path, format!("node {id}"), message);
                let op =
                    ops.get(id).ok_or_else(|| fault("is not in the graph").remedy("use the split of this graph"))?;
                if labels[op.index()].replace(format!("{kind}{number}")).is_some() {
                    return Err(fault("comes twice").remedy("put it on one processor"));
                }
            }
        }
    }
    let mut of_colour: HashMap<i64, String> = HashMap::new();
    for (node, label) in nodes.iter().zip(&labels) {
        if let (Some(colour), Some(label)) = (node.color_class, label) {
            of_colour.entry(colour).or_insert_with(|| label.clone());
        }
    }
    for (node, label) in nodes.iter().zip(&mut labels) {
        if label.is_none() {
            *label = node.color_class.and_then(|colour| of_colour.get(&colour).cloned());
        }
        if label.is_none() {
            let fault = FormatError::item(path, format!("node {}", node.id), "is on no processor");
            return Err(fault.remedy("add it to 'fpgas' or 'cpus'"));
        }
    }
    Ok(labels)
}

fn read_cluster(path: &Path) -> Result<Cluster, FormatError> {
    let file: File = json::parse(path, &compressed::read_text(path)?)?;
    let memory = bytes(file.max_size).ok_or_else(|| {
        FormatError::item(path, "maxSizePerFPGA", format!("is {}", file.max_size)).remedy("write a number of bytes ≥ 0")
    })?;
    // The names of more devices than have pairs in memory may take all of it themselves.
    check_pairs(file.max_fpgas as usize + file.max_cpus as usize, size_of::<Link>())
        .map_err(|error| FormatError::item(path, "maxFPGAs and maxCPUs", error))?;
    let devices = |count: u32, name: &'static str, kind, memory_bytes| {
        (0..count).map(move |number| Device { name: format!("{name}{number}"), kind, memory_bytes, speed: 1.0 })
    };
    let devices: Vec<Device> = devices(file.max_fpgas, "fpga", Kind::Gpu, Some(memory))
        .chain(devices(file.max_cpus, "cpu", Kind::Cpu, None))
        .collect();
    let is_cpu: Vec<bool> = devices.iter().map(|device| device.kind == Kind::Cpu).collect();
    Cluster::new(devices, |from, to| Link {
        rate: match (is_cpu[from.index()], is_cpu[to.index()]) {
            (true, true) => RATE * RATE,
            (false, false) => RATE / 2.0,
            _ => RATE,
        },
        latency: 0.0,
    })
    .map_err(|error| FormatError::file(path, error))
}
