//! The JSON of SAGA (PyPI `anrg.saga`) and of the DAGBench collection: a task graph, and a network to run it on.
//!
//! The same file is read as a graph and as a cluster: a task's time is `cost` / `speed`, a dependency's is `size` / `speed`.
//! Sizes here are whole bytes. A file with a broken size counts in millions of bytes, in graph and network alike: times stay
//! what they are, up to the rounding of a millionth.
//!
//! With unrelated nodes a task's `cost` is an object instead, with its time on each node of the network by name. SAGA itself
//! has no such costs.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::Path;

use serde::Deserialize;
use serde_json::Number;

use super::atomic::write_file;
use super::entry::{Format, GraphFile, Holds, Mark};
use super::etc::mean;
use super::json::{amount, number, quoted};
use super::{Detail, FormatError, GraphHeader, compressed, json};
use crate::{Cluster, DataflowGraph, Device, DeviceId, GraphBuilder, Kind, Link, OpId, OpSpec, processor_class};

/// The line of the table of formats for graphs.
pub(super) static GRAPH: Format = Format {
    name: "saga",
    mark: Mark::Json(&["saga.json"], &["task_graph"]),
    title: "JSON of SAGA and DAGBench",
    lacks: &[
        Detail::Title,
        Detail::Licence,
        Detail::Units,
        Detail::Provenance,
        Detail::KindRule,
        Detail::Types,
        Detail::Layers,
        Detail::Attributes,
        Detail::Memory,
        Detail::Kinds,
        Detail::Times,
        Detail::BytesMoved,
        Detail::Colocation,
        Detail::ControlEdges,
        Detail::ParallelEdges,
        Detail::SharedTensors,
        Detail::UnusedTensors,
        Detail::OutputOrder,
    ],
    options: &[],
    holds: Holds::Graph { read: Some(|path, _| read(path)), write: Some(write) },
};

/// The line of the table of formats for clusters.
pub(super) static CLUSTER: Format = Format {
    name: "saga_network",
    mark: Mark::Json(&["saga.json"], &["task_graph", "network"]),
    title: "the network of a JSON of SAGA and DAGBench",
    lacks: &[],
    options: &[],
    holds: Holds::Cluster { read: read_cluster, write: None },
};

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    name: String,
    task_graph: TaskGraph,
    network: Option<Network>,
}

#[derive(Deserialize)]
struct TaskGraph {
    tasks: Vec<Task>,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Task {
    name: String,
    cost: Cost,
}

/// What a task takes.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a cost that is a number, or an object with a time for each node")]
enum Cost {
    /// Operations.
    Everywhere(Number),
    /// Times, by name of the node.
    ByNode(BTreeMap<String, Number>),
}

#[derive(Deserialize)]
struct Dependency {
    source: String,
    target: String,
    size: Number,
}

#[derive(Deserialize)]
struct Network {
    nodes: Vec<NetworkNode>,
    edges: Vec<NetworkEdge>,
}

#[derive(Deserialize)]
struct NetworkNode {
    name: String,
    speed: f64,
}

#[derive(Deserialize)]
struct NetworkEdge {
    source: String,
    target: String,
    speed: f64,
}

/// Bytes of one unit of size in a file with broken sizes.
const MILLION: f64 = 1e6;

/// Whether a size is a whole number, and which.
fn whole(size: &Number) -> Option<u64> {
    size.as_u64().or_else(|| {
        size.as_f64().filter(|size| size.fract() == 0.0 && (0.0..9e15).contains(size)).map(|size| size as u64)
    })
}

impl File {
    /// The nodes of the network with their positions.
    fn nodes(&self) -> impl Iterator<Item = (usize, &NetworkNode)> {
        self.network.iter().flat_map(|network| &network.nodes).enumerate()
    }

    /// Whether a task has a time for each node.
    fn is_by_node(&self) -> bool {
        self.task_graph.tasks.iter().any(|task| matches!(task.cost, Cost::ByNode(_)))
    }
}

impl TaskGraph {
    fn bytes_per_unit(&self) -> f64 {
        if self.dependencies.iter().all(|dependency| whole(&dependency.size).is_some()) { 1.0 } else { MILLION }
    }
}

fn read(path: &Path) -> Result<GraphFile, FormatError> {
    let file: File = json::parse(path, &compressed::read_text(path)?)?;
    let TaskGraph { tasks, dependencies } = &file.task_graph;
    let scale = file.task_graph.bytes_per_unit();
    let mut ops: HashMap<&str, OpId> = HashMap::with_capacity(tasks.len());
    for (position, task) in tasks.iter().enumerate() {
        if ops.insert(&task.name, OpId::new(position)).is_some() {
            let fault = FormatError::item(path, format!("task '{}'", task.name), "comes twice");
            return Err(fault.remedy("give every task a name of its own"));
        }
    }
    let mut sizes = vec![Vec::new(); tasks.len()];
    let mut edges = Vec::with_capacity(dependencies.len());
    for dependency in dependencies {
        let item = || format!("dependency '{}' -> '{}'", dependency.source, dependency.target);
        let end = |name: &str| {
            let missing = || FormatError::item(path, item(), format!("there is no task '{name}'")).remedy("add it");
            ops.get(name).copied().ok_or_else(missing)
        };
        let (source, target) = (end(&dependency.source)?, end(&dependency.target)?);
        let size =
            amount(&dependency.size).map_err(|error| FormatError::item(path, item(), format!("its size {error}")))?;
        let bytes = match whole(&dependency.size) {
            Some(whole) if scale == 1.0 => whole,
            _ => (size * scale).round() as u64,
        };
        edges.push((source, sizes[source.index()].len(), target));
        sizes[source.index()].push(bytes);
    }
    let numbered = tasks.iter().enumerate().all(|(position, task)| task.name == position.to_string());
    let nodes: Vec<(&str, String)> = file.nodes().map(|(at, node)| (node.name.as_str(), processor_class(at))).collect();
    let mut builder = GraphBuilder::default();
    for (task, sizes) in tasks.iter().zip(&sizes) {
        let name = (!numbered).then_some(task.name.as_str());
        let fault = |message| FormatError::item(path, format!("task '{}'", task.name), message);
        let number = |cost| amount(cost).map_err(|error| fault(format!("its cost {error}")));
        match &task.cost {
            Cost::Everywhere(cost) => builder.add_op(OpSpec { name, ..OpSpec::cost(number(cost)?) }, sizes),
            Cost::ByNode(costs) => {
                if let Some(unknown) = costs.keys().find(|node| !nodes.iter().any(|(name, _)| name == node)) {
                    let message = format!("has a cost on '{unknown}', which is no node of the network");
                    return Err(fault(message).remedy("add it to 'network'"));
                }
                let mut times = Vec::with_capacity(nodes.len());
                for (node, class) in &nodes {
                    let missing = || fault(format!("has no cost on node '{node}'")).remedy("give one for each node");
                    times.push((class.as_str(), number(costs.get(*node).ok_or_else(missing)?)?));
                }
                if times.is_empty() {
                    return Err(
                        fault("has a cost on no node".to_owned()).remedy("write a number, or one for each node")
                    );
                }
                let all: Vec<f64> = times.iter().map(|&(_, time)| time).collect();
                builder.add_op(OpSpec { name, times: &times, ..OpSpec::cost(mean(&all)) }, sizes)
            }
        };
    }
    for (source, port, target) in edges {
        builder.add_edge(source, port, target).map_err(|error| FormatError::file(path, error))?;
    }
    let graph = builder.build().map_err(|error| FormatError::file(path, error))?;
    let report = (scale != 1.0).then(|| "sizes are broken numbers: 1 is read as 1,000,000 bytes".to_owned());
    Ok(GraphFile { header: GraphHeader::named(file.name.clone()), graph, report })
}

/// Reads the network of a file as a cluster of CPUs.
///
/// # Errors
/// If the file is malformed, has no network, or lacks a link.
fn read_cluster(path: &Path) -> Result<Cluster, FormatError> {
    let file: File = json::parse(path, &compressed::read_text(path)?)?;
    let (scale, is_by_node) = (file.task_graph.bytes_per_unit(), file.is_by_node());
    let Some(Network { nodes, edges }) = file.network else {
        return Err(FormatError::file(path, "has no network").remedy("add 'network', or use another cluster"));
    };
    let devices: Vec<Device> = nodes
        .iter()
        .map(|node| Device { name: node.name.clone(), kind: Kind::Cpu, memory_bytes: None, speed: node.speed })
        .collect();
    // As SAGA does, an edge stands for both directions.
    let speeds: HashMap<(&str, &str), f64> = edges
        .iter()
        .flat_map(|edge| {
            let (source, target) = (edge.source.as_str(), edge.target.as_str());
            [((source, target), edge.speed), ((target, source), edge.speed)]
        })
        .collect();
    let speed = |from: usize, to: usize| speeds.get(&(nodes[from].name.as_str(), nodes[to].name.as_str())).copied();
    for from in 0..nodes.len() {
        for to in 0..from {
            if speed(from, to).is_none() {
                let message = format!("there is no edge between '{}' and '{}'", nodes[to].name, nodes[from].name);
                return Err(FormatError::item(path, "network", message).remedy("join every pair of nodes"));
            }
        }
    }
    let classes: Vec<String> = (0..nodes.len()).map(processor_class).collect();
    let cluster = Cluster::new(devices, |from: DeviceId, to: DeviceId| Link {
        rate: speed(from.index(), to.index()).unwrap_or(1.0) * scale,
        latency: 0.0,
    });
    let classed = |cluster: Cluster| match is_by_node {
        true => cluster.with_classes(|device| &classes[device.index()]),
        false => Ok(cluster),
    };
    cluster.and_then(classed).map_err(|error| FormatError::file(path, error))
}

fn write(path: &Path, header: &GraphHeader, graph: &DataflowGraph) -> Result<(), FormatError> {
    let io = |error| FormatError::io(path, error);
    let name = |op: OpId| quoted(&graph.name(op).map_or_else(|| op.to_string(), str::to_owned));
    write_file(path, |out| {
        writeln!(out, "{{\"name\": {}, \"task_graph\": {{\"tasks\": [", quoted(&header.name)).map_err(io)?;
        for op in graph.op_ids() {
            let comma = if op.index() + 1 == graph.op_count() { "" } else { "," };
            writeln!(out, "{{\"name\": {}, \"cost\": {}}}{comma}", name(op), number(graph.ops(op))).map_err(io)?;
        }
        writeln!(out, "],\n\"dependencies\": [").map_err(io)?;
        let mut comma = "";
        for op in graph.op_ids() {
            // One dependency for each producer, where its first edge stands.
            let mut sums: Vec<(OpId, u64)> = Vec::new();
            for edge in graph.predecessors(op) {
                let bytes = graph.edge_bytes(edge);
                match sums.iter_mut().find(|sum| sum.0 == edge.op) {
                    Some(sum) => sum.1 = sum.1.saturating_add(bytes),
                    None => sums.push((edge.op, bytes)),
                }
            }
            for (source, bytes) in sums {
                write!(out, "{comma}{{\"source\": {}, \"target\": {}, \"size\": {bytes}}}", name(source), name(op))
                    .map_err(io)?;
                comma = ",\n";
            }
        }
        writeln!(out, "]}}}}").map_err(io)
    })
}
