//! Turns any name or file into an instance: what suites say of graphs and clusters, and what people type.

mod ccr;
mod cluster;
mod error;
mod graph;

use placebench_datasets::{DataflowGraph, Instance, Kind, format::GraphHeader};

pub use ccr::scale_to_ccr;
pub use cluster::ClusterEntry;
pub use error::ProblemError;
pub use graph::{GraphEntry, Weights};

/// An instance, and the unit of its times.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The graph on the cluster.
    pub instance: Instance,
    /// The unit of the instance's times, for people.
    pub time_unit: String,
}

impl Problem {
    /// The graph of one entry on the cluster of another, both made with this seed.
    ///
    /// # Errors
    /// If one of them does not exist, cannot be read, or makes no sense; if they do not fit together.
    ///
    /// # Complexity
    /// That of reading or generating the graph.
    pub fn new(graph: &GraphEntry, cluster: &ClusterEntry, seed: u64) -> Result<Self, ProblemError> {
        let cluster = cluster.load(seed)?;
        let (header, loaded) = graph.for_devices(cluster.device_count())?.load(seed)?;
        let loaded = match graph.ccr {
            None => loaded,
            Some(ccr) => scale_to_ccr(&loaded, &cluster, ccr, &graph.label())?,
        };
        let time_unit = time_unit(&header, &loaded).to_owned();
        Ok(Self { instance: Instance::new(loaded, cluster)?, time_unit })
    }
}

/// The unit of an instance's times: the graph's own where its times were measured, else L's execution unit (EU), which is
/// operations divided by operations per unit.
fn time_unit<'a>(header: &'a GraphHeader, graph: &DataflowGraph) -> &'a str {
    let measured = Kind::ALL.into_iter().any(|kind| graph.has_measured_times(kind));
    if measured { &header.units.time } else { "EU" }
}
