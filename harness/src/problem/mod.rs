//! Turns any name or file into an instance: what suites say of graphs and clusters, and what people type.

mod ccr;
mod cluster;
mod error;
mod graph;

use std::sync::Arc;

use placebench_datasets::{Cluster, DataflowGraph, Instance, MemoryRule, format::GraphHeader};

pub use ccr::scale_to_ccr;
pub use cluster::{AddedOverheads, ClusterEntry};
pub use error::ProblemError;
pub use graph::{DrawnCosts, GraphEntry};
pub use placebench_datasets::Kinds;

/// An instance, made of names and rules.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The graph on the cluster.
    pub instance: Instance,
    /// Which kinds of devices ops may run on.
    pub kinds: Kinds,
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
        let (header, loaded) = graph.for_devices(cluster.device_count())?.load(seed)?;
        let kinds = entry.kinds.unwrap_or(header.kinds);
        // Before the ratio, which counts an op's time on the devices that it may run on.
        let loaded = kinds.narrow(loaded, &cluster)?;
        let loaded = match graph.ccr {
            None => loaded,
            Some(ccr) => scale_to_ccr(&loaded, &cluster, ccr, &graph.label())?,
        };
        Self::joined(&header, Arc::new(loaded), cluster, kinds, entry.memory)
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
        let time_unit = time_unit(header, &graph, &cluster).to_owned();
        let instance = Instance::with_memory_rule(graph, cluster, memory)?.with_time_unit(&time_unit);
        Ok(Self { instance, kinds })
    }
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
