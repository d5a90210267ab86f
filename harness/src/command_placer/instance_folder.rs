//! The folder that a placer's program reads: the instance as plain tables, with all that follows from it.
//!
//! ```text
//! instance.json    seed, time limit, how many of everything, what a send op costs, the memory rule
//! ops.csv          id,name,type,layer,unit,kinds,ops,memory_bytes,cpu_time,gpu_time,tpu_time, and of further classes
//! units.csv        id,ops,kinds,demand_bytes
//! tensors.csv      id,producer,port,bytes
//! edges.csv        source,target,tensor,bytes
//! devices.csv      id,name,kind,memory_bytes,speed,peak_limit_bytes,op_overhead,class
//! links.csv        from,to,rate,latency,send_overhead,send_overhead_per_byte,receive_overhead,receive_overhead_per_byte
//! ```
//!
//! Or the same tables as `.parquet`.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use placebench_datasets::{Categories, DataflowGraph, Instance, Kind, KindSet, TransferOverheads};
use polars::prelude::*;
use serde::{Deserialize, Serialize};

/// The version of the folder's tables.
const VERSION: u32 = 1;

/// How the tables of an instance's folder are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstanceFormat {
    /// Comma-separated values with a header.
    #[default]
    Csv,
    /// Apache Parquet.
    Parquet,
}

impl InstanceFormat {
    fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Parquet => "parquet",
        }
    }
}

impl std::str::FromStr for InstanceFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "csv" => Ok(Self::Csv),
            "parquet" => Ok(Self::Parquet),
            _ => Err("use csv or parquet".to_owned()),
        }
    }
}

/// What a program is asked for, beside the instance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlacerRequest {
    /// Seed of all randomness.
    pub seed: u64,
    /// Seconds that it has.
    pub time_limit_seconds: Option<f64>,
    /// How the tables are written.
    pub format: InstanceFormat,
}

/// Why an instance's folder cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct WriteError {
    /// The file or folder.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

/// Writes an instance into a folder, which is made if it does not exist, and is refused if something is in it.
///
/// # Errors
/// If the folder is not empty or cannot be written.
///
/// # Complexity
/// O(ops + edges + devices²).
pub fn write_instance(folder: &Path, instance: &Instance, request: &PlacerRequest) -> Result<(), WriteError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| WriteError { path, source }
    };
    fs::create_dir_all(folder).map_err(at(folder))?;
    if fs::read_dir(folder).map_err(at(folder))?.next().is_some() {
        let source = io::Error::new(io::ErrorKind::AlreadyExists, "the folder is not empty: choose another");
        return Err(at(folder)(source));
    }
    type Table = fn(&Instance) -> PolarsResult<DataFrame>;
    let tables: [(&str, Table); 6] = [
        ("ops", ops),
        ("units", units),
        ("tensors", tensors),
        ("edges", edges),
        ("devices", devices),
        ("links", links),
    ];
    for (name, table) in tables {
        let path = folder.join(name).with_extension(request.format.extension());
        write_table(&path, table(instance), request.format).map_err(at(&path))?;
    }
    let path = folder.join("instance.json");
    fs::write(&path, facts(instance, request)).map_err(at(&path))
}

fn write_table(path: &Path, table: PolarsResult<DataFrame>, format: InstanceFormat) -> io::Result<()> {
    let mut table = table.map_err(io::Error::other)?;
    let mut out = BufWriter::new(File::create(path)?);
    match format {
        InstanceFormat::Csv => CsvWriter::new(&mut out).finish(&mut table).map_err(io::Error::other)?,
        InstanceFormat::Parquet => {
            ParquetWriter::new(&mut out).finish(&mut table).map_err(io::Error::other)?;
        }
    }
    out.flush()
}

fn facts(instance: &Instance, request: &PlacerRequest) -> String {
    let (graph, cluster) = (instance.graph(), instance.cluster());
    let facts = serde_json::json!({
        "format": "placebench-instance",
        "version": VERSION,
        "seed": request.seed,
        "time_limit_seconds": request.time_limit_seconds,
        "ops": graph.op_count(),
        "units": instance.units().count(),
        "tensors": graph.tensor_count(),
        "edges": graph.edge_count(),
        "devices": cluster.device_count(),
        "send_ops": cluster.send_ops(),
        "memory": instance.memory_rule(),
    });
    format!("{facts:#}\n")
}

fn frame(height: usize, columns: Vec<Column>) -> PolarsResult<DataFrame> {
    DataFrame::new(height, columns)
}

fn column<T, Phantom: ?Sized>(name: &str, values: T) -> Column
where
    Series: NamedFrom<T, Phantom>,
{
    Series::new(name.into(), values).into()
}

/// The kinds of a set by name; never `ALL`, so that a program need not know which there are.
fn kinds_text(kinds: KindSet) -> String {
    kinds.iter().map(Kind::name).collect::<Vec<_>>().join("|")
}

fn ops(instance: &Instance) -> PolarsResult<DataFrame> {
    let (graph, units) = (instance.graph(), instance.units());
    let label = |labels: Option<&Categories>| -> Vec<Option<String>> {
        let text = |op: placebench_datasets::OpId| labels?.get(op.index()).map(str::to_owned);
        graph.op_ids().map(text).collect()
    };
    let mut columns = vec![
        column("id", graph.op_ids().map(|op| op.0).collect::<Vec<_>>()),
        column("name", graph.op_ids().map(|op| graph.name(op).map(str::to_owned)).collect::<Vec<_>>()),
        column("type", label(graph.op_types())),
        column("layer", label(graph.layers())),
        column("unit", graph.op_ids().map(|op| units.unit_of(op).0).collect::<Vec<_>>()),
        column("kinds", graph.op_ids().map(|op| kinds_text(graph.kinds(op))).collect::<Vec<_>>()),
        column("ops", graph.op_ids().map(|op| graph.ops(op)).collect::<Vec<_>>()),
        column("memory_bytes", graph.op_ids().map(|op| graph.memory_bytes(op)).collect::<Vec<_>>()),
    ];
    let labels = class_labels(instance);
    let given = |class: usize| -> Vec<Option<f64>> {
        graph.op_ids().map(|op| instance.classes().all()[class].given_time(op)).collect()
    };
    // Those of the kinds are always there, so that a program need not ask which there are.
    for kind in Kind::ALL {
        let class = labels.iter().position(|label| label == kind.class());
        let times = class.map_or_else(|| vec![None; graph.op_count()], given);
        columns.push(column(&format!("{}_time", kind.class()), times));
    }
    let is_kind = |label: &str| Kind::ALL.iter().any(|kind| kind.class() == label);
    for (class, label) in labels.iter().enumerate().filter(|(_, label)| !is_kind(label)) {
        if instance.classes().all()[class].has_given_times() {
            columns.push(column(&format!("{label}_time"), given(class)));
        }
    }
    frame(graph.op_count(), columns)
}

/// What the folder calls each class of devices: as the cluster does if it has given times, else as its kind; each by a name
/// of its own.
fn class_labels(instance: &Instance) -> Vec<String> {
    let classes = instance.classes().all();
    let mut labels = vec![String::new(); classes.len()];
    for given in [true, false] {
        for (class, of) in classes.iter().enumerate().filter(|(_, of)| of.has_given_times() == given) {
            let name = if given { instance.cluster().class(of.devices[0]) } else { of.kind.class() };
            let numbered = (2..).map(|number| format!("{name}_{number}"));
            let free = std::iter::once(name.to_owned()).chain(numbered).find(|label| !labels.contains(label));
            labels[class] = free.unwrap_or_default();
        }
    }
    labels
}

fn units(instance: &Instance) -> PolarsResult<DataFrame> {
    let units = instance.units();
    let columns = vec![
        column("id", units.ids().map(|unit| unit.0).collect::<Vec<_>>()),
        column("ops", units.ids().map(|unit| units.members(unit).len() as u32).collect::<Vec<_>>()),
        column("kinds", units.ids().map(|unit| kinds_text(units.kinds(unit))).collect::<Vec<_>>()),
        column("demand_bytes", units.ids().map(|unit| units.demand_bytes(unit)).collect::<Vec<_>>()),
    ];
    frame(units.count(), columns)
}

fn tensors(instance: &Instance) -> PolarsResult<DataFrame> {
    let graph = instance.graph();
    let tensors = || graph.op_ids().flat_map(|op| graph.outputs(op));
    let columns = vec![
        column("id", tensors().map(|tensor| tensor.0).collect::<Vec<_>>()),
        column("producer", tensors().map(|tensor| graph.producer(tensor).0).collect::<Vec<_>>()),
        column("port", tensors().map(|tensor| graph.port(tensor) as u32).collect::<Vec<_>>()),
        column("bytes", tensors().map(|tensor| graph.tensor_bytes(tensor)).collect::<Vec<_>>()),
    ];
    frame(graph.tensor_count(), columns)
}

/// Edges by target, each target's in the order of its inputs.
fn edges(instance: &Instance) -> PolarsResult<DataFrame> {
    let graph: &DataflowGraph = instance.graph();
    let edges = || graph.op_ids().flat_map(|op| graph.predecessors(op).map(move |edge| (edge, op)));
    let columns = vec![
        column("source", edges().map(|(edge, _)| edge.op.0).collect::<Vec<_>>()),
        column("target", edges().map(|(_, target)| target.0).collect::<Vec<_>>()),
        column("tensor", edges().map(|(edge, _)| edge.tensor.map(|tensor| tensor.0)).collect::<Vec<_>>()),
        column("bytes", edges().map(|(edge, _)| graph.edge_bytes(edge)).collect::<Vec<_>>()),
    ];
    frame(graph.edge_count(), columns)
}

fn devices(instance: &Instance) -> PolarsResult<DataFrame> {
    let cluster = instance.cluster();
    let devices = cluster.devices();
    let labels = class_labels(instance);
    let class = |device| labels[instance.classes().number(device)].clone();
    let columns = vec![
        column("id", cluster.device_ids().map(|device| device.0).collect::<Vec<_>>()),
        column("name", devices.iter().map(|device| device.name.clone()).collect::<Vec<_>>()),
        column("kind", devices.iter().map(|device| device.kind.name().to_owned()).collect::<Vec<_>>()),
        column("memory_bytes", devices.iter().map(|device| device.memory_bytes).collect::<Vec<_>>()),
        column("speed", devices.iter().map(|device| device.speed).collect::<Vec<_>>()),
        // What placers see, above, is unlimited under the rule `peak`: this is what the run is held to.
        column("peak_limit_bytes", cluster.device_ids().map(|device| instance.peak_limit(device)).collect::<Vec<_>>()),
        column("op_overhead", cluster.op_overheads()),
        column("class", cluster.device_ids().map(class).collect::<Vec<_>>()),
    ];
    frame(devices.len(), columns)
}

/// Every ordered pair of different devices.
fn links(instance: &Instance) -> PolarsResult<DataFrame> {
    let cluster = instance.cluster();
    let pairs = || {
        let others = |from| cluster.device_ids().filter(move |&to| to != from);
        cluster.device_ids().flat_map(move |from| others(from).map(move |to| (from, to)))
    };
    let overhead = |at: usize| {
        let values = pairs().map(|(from, to)| cluster.transfer_overheads(from, to).values()[at]);
        column(TransferOverheads::NAMES[at], values.collect::<Vec<_>>())
    };
    let columns = vec![
        column("from", pairs().map(|(from, _)| from.0).collect::<Vec<_>>()),
        column("to", pairs().map(|(_, to)| to.0).collect::<Vec<_>>()),
        column("rate", pairs().map(|(from, to)| cluster.link(from, to).rate).collect::<Vec<_>>()),
        column("latency", pairs().map(|(from, to)| cluster.link(from, to).latency).collect::<Vec<_>>()),
        overhead(0),
        overhead(1),
        overhead(2),
        overhead(3),
    ];
    frame(cluster.device_count() * (cluster.device_count() - 1), columns)
}
