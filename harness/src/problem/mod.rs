//! Turns any name or file into an instance: what suites say of graphs and clusters, and what people type.

mod ccr;
mod cluster;
mod error;
mod graph;

use std::collections::BTreeSet;
use std::sync::Arc;

use placebench_datasets::{
    Cluster, DataflowGraph, DeviceId, Instance, KindSet, MeasuredTimes, MemoryRule, OpId, Roofline, format::GraphHeader,
};
use placebench_generator::Passes;

pub use ccr::scale_to_ccr;
pub use cluster::{AddedOverheads, ClusterEntry};
pub use error::ProblemError;
pub use graph::{DrawnCosts, GraphEntry, passed_header};
pub use placebench_datasets::Kinds;

/// An instance, made of names and rules.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The graph on the cluster.
    pub instance: Instance,
    /// Which kinds of devices ops may run on.
    pub kinds: Kinds,
    /// The passes that changed the graph, as its header says.
    pub passes: Passes,
    /// One line of what each of them did, if that was now.
    pub notes: Vec<String>,
}

impl Problem {
    /// The graph of one entry on the cluster of another, both made with this seed, with memory as the cluster's entry says,
    /// and with kinds as it says, or else as the graph does.
    ///
    /// # Errors
    /// If one of them does not exist, cannot be read, or makes no sense; if they do not fit together.
    ///
    /// # Complexity
    /// That of reading or generating the graph.
    pub fn new(graph: &GraphEntry, entry: &ClusterEntry, seed: u64) -> Result<Self, ProblemError> {
        let cluster = entry.load(seed)?;
        let (header, passed) = graph.for_devices(cluster.device_count())?.passed_before_placement(seed)?;
        let kinds = entry.kinds.unwrap_or(header.kinds);
        // Before the ratio, which counts an op's time on the devices that it may run on.
        let loaded = kinds.narrow(passed.graph, &cluster)?;
        let loaded = match graph.ccr {
            None => loaded,
            Some(ccr) => scale_to_ccr(&loaded, &cluster, ccr, &graph.label())?,
        };
        let joined = Self::joined(&header, Arc::new(loaded), cluster, kinds, entry.memory)?;
        Ok(Self { notes: passed.lines, ..joined })
    }

    /// A graph on a cluster that are there already, with memory as said, and with kinds as said, or else as the header does.
    ///
    /// # Errors
    /// If they do not fit together.
    ///
    /// # Complexity
    /// O(ops + edges + devices²). The graph is not copied unless kinds are narrowed.
    pub fn of(
        header: &GraphHeader,
        graph: Arc<DataflowGraph>,
        cluster: Cluster,
        kinds: Option<Kinds>,
        memory: MemoryRule,
    ) -> Result<Self, ProblemError> {
        let kinds = kinds.unwrap_or(header.kinds);
        let graph = match kinds {
            Kinds::AsGiven => graph,
            Kinds::AcceleratorsOnly => Arc::new(kinds.narrow(Arc::unwrap_or_clone(graph), &cluster)?),
        };
        Self::joined(header, graph, cluster, kinds, memory)
    }

    fn joined(
        header: &GraphHeader,
        graph: Arc<DataflowGraph>,
        cluster: Cluster,
        kinds: Kinds,
        memory: MemoryRule,
    ) -> Result<Self, ProblemError> {
        if let Some(error) = foreign_unit(header, &graph, &cluster) {
            return Err(error);
        }
        let time_unit = time_unit(header, &graph, &cluster).to_owned();
        let instance = Instance::with_memory_rule(graph, cluster, memory)?.with_time_unit(&time_unit);
        Ok(Self { instance, kinds, passes: graph::passes_of(header), notes: Vec::new() })
    }

    /// What a person should know who relies on the times of ops: devices of a class that the graph has no measured times for,
    /// although it has some.
    pub fn note(&self) -> Option<String> {
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        let known: Vec<&str> = graph.measured_times().iter().map(MeasuredTimes::class).collect();
        let used = graph.op_ids().map(|op| graph.kinds(op)).reduce(KindSet::union)?;
        let is_missing =
            |&device: &DeviceId| used.contains(cluster.device(device).kind) && !known.contains(&cluster.class(device));
        let missing: BTreeSet<&str> =
            cluster.device_ids().filter(is_missing).map(|device| cluster.class(device)).collect();
        let text = |names: &[&str]| match names.len() {
            0..=MOST_NAMES => names.join(", "),
            count => format!("{} and {} more", names[..MOST_NAMES].join(", "), count - MOST_NAMES),
        };
        let missing: Vec<&str> = missing.into_iter().collect();
        (!known.is_empty() && !missing.is_empty()).then(|| {
            let (known, missing) = (text(&known), text(&missing));
            format!(
                "the graph has measured times for devices of class {known}, and none for class {missing}: there an op takes \
                 what its operations and bytes take"
            )
        })
    }
}

/// More names than this are counted.
const MOST_NAMES: usize = 4;

/// Why operations of this graph have no time on a device of the cluster: they count nanoseconds, and the device counts arithmetic
/// operations, as all do that have a roofline.
fn foreign_unit(header: &GraphHeader, graph: &DataflowGraph, cluster: &Cluster) -> Option<ProblemError> {
    if !header.units.ops.starts_with("nanoseconds") {
        return None;
    }
    let counts_operations = |&device: &DeviceId| {
        let (kind, class) = (cluster.device(device).kind, cluster.class(device));
        let asks = |op: OpId| {
            graph.kinds(op).contains(kind) && graph.measured_on(class).is_none_or(|times| times.of(op).is_none())
        };
        cluster.roofline(device) != Roofline::NONE && graph.op_ids().any(asks)
    };
    let device = cluster.device_ids().find(counts_operations)?;
    let known: Vec<&str> = graph.measured_times().iter().map(MeasuredTimes::class).collect();
    Some(ProblemError::ForeignUnit {
        graph: header.name.clone(),
        unit: header.units.ops.clone(),
        device: cluster.device(device).name.clone(),
        class: cluster.class(device).to_owned(),
        known: if known.is_empty() { "none".to_owned() } else { known.join(", ") },
    })
}

/// The unit of an instance's times: the graph's own where its times were measured, else the second where the cluster counts in
/// seconds, else L's execution unit (EU), which is operations divided by operations per unit.
fn time_unit<'a>(header: &'a GraphHeader, graph: &DataflowGraph, cluster: &Cluster) -> &'a str {
    if !graph.measured_times().is_empty() {
        &header.units.time
    } else if cluster.is_in_seconds() {
        "seconds"
    } else {
        "EU"
    }
}
