//! What a driver gets: one JSON object that says what to run where, and how often.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use placebench_algorithms::Task;
use placebench_datasets::{PlacedGraph, catalogue};
use serde::Serialize;

use crate::execute::{ExecuteSettings, OrderMode, Transport};
use crate::problem::GraphEntry;

/// Version of the protocol.
const VERSION: u32 = 1;

/// Steps that are traced for the timeline, beside those that count.
const TRACED: u32 = 3;

/// The problem of a driver.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct DriverProblem {
    version: u32,
    graph: String,
    graph_ops: Vec<String>,
    parameters: BTreeMap<String, String>,
    devices: Vec<Device>,
    placement: Vec<usize>,
    order: Vec<Vec<usize>>,
    mode: OrderMode,
    transfers: Vec<Transfer>,
    warm_up: u32,
    repetitions: u32,
    traced: u32,
    transport: Transport,
    hosts: Vec<String>,
    token: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Device {
    name: String,
    kind: String,
    host: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Transfer {
    source: usize,
    output: Option<usize>,
    from: usize,
    to: usize,
    bytes: u64,
}

/// The graph whose real ops a driver runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    /// An embedded name, or the path of what the extractor wrote.
    pub(super) graph: String,
    /// The parameters of its model.
    pub(super) parameters: BTreeMap<String, String>,
}

impl Source {
    /// Where the real ops of a graph are.
    ///
    /// # Errors
    /// If it has none, or its costs are not its own.
    pub(super) fn of(entry: &GraphEntry) -> Result<Self, String> {
        let label = entry.label();
        if entry.costs.is_some() || entry.ccr.is_some() {
            return Err(format!("graph '{label}' has other costs than its real ops: leave out costs and ccr"));
        }
        match (&entry.catalogue, &entry.file) {
            (Some(name), _) => {
                let entry = catalogue::find(name).map_err(|error| error.to_string())?;
                let header = entry.header().map_err(|error| error.to_string())?;
                Ok(Self { graph: name.clone(), parameters: texts(&header.provenance) })
            }
            (None, Some(path)) => {
                let path = path.canonicalize().map_err(|error| format!("{}: {error}", path.display()))?;
                Ok(Self { graph: path.display().to_string(), parameters: parameters_beside(&path)? })
            }
            (None, None) => Err(format!(
                "graph '{label}' is generated, and has no real ops: use an embedded graph or a folder of the extractor"
            )),
        }
    }
}

/// What the files in a graph's folder say of the parameters of its model; nothing if there are none.
fn parameters_beside(path: &Path) -> Result<BTreeMap<String, String>, String> {
    let read = |file: PathBuf| match fs::read_to_string(&file) {
        Ok(text) => {
            let parsed = text.parse::<toml::Table>();
            parsed.map(Some).map_err(|error| format!("{}: {}", file.display(), error.message().replace('\n', " ")))
        }
        Err(_) => Ok(None),
    };
    if let Some(provenance) = read(path.join("provenance.toml"))? {
        return Ok(texts(&provenance));
    }
    let header = read(path.join("graph.toml"))?;
    let provenance = header.as_ref().and_then(|header| header.get("provenance")?.as_table());
    Ok(provenance.map(texts).unwrap_or_default())
}

/// The table `parameters`, its values as texts.
fn texts(provenance: &toml::Table) -> BTreeMap<String, String> {
    let table = provenance.get("parameters").and_then(toml::Value::as_table);
    let text = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    table.into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect()
}

impl DriverProblem {
    /// The problem of a placed graph, with the order of each device.
    ///
    /// # Errors
    /// If an op has no name, or the hosts do not fit the devices.
    pub(super) fn new(
        placed: &PlacedGraph<'_>,
        order: &[Vec<Task>],
        source: &Source,
        settings: &ExecuteSettings,
        token: String,
    ) -> Result<Self, String> {
        let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
        let hosts = &settings.hosts;
        if !hosts.is_empty() && hosts.len() != cluster.device_count() {
            let (given, devices) = (hosts.len(), cluster.device_count());
            return Err(format!("{given} hosts are given for {devices} devices: give one ADDRESS:PORT a device"));
        }
        let name = |op| graph.name(op).map(str::to_owned).ok_or_else(|| format!("{} has no name", graph.label(op)));
        let device = |(index, device): (usize, &placebench_datasets::Device)| Device {
            name: device.name.clone(),
            kind: device.kind.name().to_lowercase(),
            host: hosts.get(index).cloned().unwrap_or_else(|| "127.0.0.1".to_owned()),
        };
        let ops_of = |tasks: &Vec<Task>| {
            let op = |task: &Task| match task {
                Task::Op(op) => Some(op.index()),
                Task::Send(_) | Task::Receive(_) => None,
            };
            tasks.iter().filter_map(op).collect()
        };
        let transfer = |transfer: &placebench_datasets::Transfer| Transfer {
            source: transfer.source.index(),
            output: transfer.tensor.map(|tensor| graph.port(tensor)),
            from: transfer.from.index(),
            to: transfer.to.index(),
            bytes: transfer.bytes,
        };
        Ok(Self {
            version: VERSION,
            graph: source.graph.clone(),
            graph_ops: graph.op_ids().map(name).collect::<Result<_, _>>()?,
            parameters: source.parameters.clone(),
            devices: cluster.devices().iter().enumerate().map(device).collect(),
            placement: placed.placement().devices().iter().map(|device| device.index()).collect(),
            order: order.iter().map(ops_of).collect(),
            mode: settings.order,
            transfers: placed.transfers().iter().map(transfer).collect(),
            warm_up: settings.warm_up,
            repetitions: settings.repetitions,
            traced: TRACED,
            transport: settings.transport,
            hosts: hosts.clone(),
            token,
        })
    }
}
