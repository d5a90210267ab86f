//! Turns the graph and cluster entries of a suite into graphs and clusters.

use placebench_datasets::format::{self, FormatError, GraphHeader};
use placebench_datasets::{Cluster, ClusterError, DataflowGraph, Kind, catalogue};
use placebench_generator::{ClusterParams, Costs, GeneratorError, GraphParams, KindProbabilities, redraw_costs};

use super::{ClusterEntry, GraphEntry, Weights};

/// Why a graph or a cluster of a suite is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file cannot be read.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The catalogue has no such graph.
    #[error(transparent)]
    Catalogue(#[from] catalogue::CatalogueError),
    /// The generator refuses.
    #[error(transparent)]
    Generator(#[from] GeneratorError),
    /// The cluster makes no sense.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The graph cannot have the ratio of communication to computation that is wanted.
    #[error("graph '{graph}' cannot have CCR {wanted} on this cluster: {reason}")]
    Ccr {
        /// The graph.
        graph: String,
        /// The ratio.
        wanted: f64,
        /// Why, and what to do.
        reason: String,
    },
    /// The entry names no source; a suite that was parsed always does.
    #[error("graph '{graph}' has none of catalogue, file, preset, leveled, training_steps")]
    NoSource {
        /// The graph.
        graph: String,
    },
    /// No preset has that name.
    #[error("unknown {what} preset '{name}'{}", suggestion(.nearest))]
    UnknownPreset {
        /// `graph` or `cluster`.
        what: &'static str,
        /// The name given.
        name: String,
        /// The nearest there is.
        nearest: Option<String>,
    },
    /// The parameters after a preset's name make no sense.
    #[error("{0}")]
    PresetParams(String),
    /// More devices asked for than there are.
    #[error("cluster '{cluster}' has {devices} devices, not {wanted}")]
    TooFewDevices {
        /// The cluster.
        cluster: String,
        /// How many it has.
        devices: usize,
        /// How many were asked for.
        wanted: usize,
    },
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |nearest| format!(": did you mean '{nearest}'?"))
}

/// L gives no probabilities of kind constraints; the presets of her synthetic graphs use the same.
const LAICH_KINDS: KindProbabilities = KindProbabilities { cpu: 0.1, gpu: 0.1, tpu: 0.0 };

/// The graph of an entry for a seed, with its header.
///
/// # Errors
/// If it does not exist, cannot be read, or its parameters make no sense.
pub fn load_graph(entry: &GraphEntry, seed: u64) -> Result<(GraphHeader, DataflowGraph), SourceError> {
    let (header, graph) = if let Some(name) = &entry.catalogue {
        catalogue::load(name)?
    } else if let Some(path) = &entry.file {
        format::read_graph(path)?
    } else {
        let params = entry.params()?.ok_or_else(|| SourceError::NoSource { graph: entry.label() })?;
        (GraphHeader::named(entry.label()), params.generate(seed)?)
    };
    Ok(match entry.weights {
        None => (header, graph),
        Some(Weights::Laich) => (header, redraw_costs(&graph, seed, &Costs::default(), Some(&LAICH_KINDS))?),
    })
}

/// The unit of an instance's times: that of the graph's measured times, else L's execution units, in which operations
/// are divided by operations per unit.
pub fn time_unit<'a>(header: &'a GraphHeader, graph: &DataflowGraph) -> &'a str {
    let measured = Kind::ALL.into_iter().any(|kind| graph.has_measured_times(kind));
    if measured { &header.units.time } else { "EU" }
}

/// The parameters of a graph preset.
///
/// # Errors
/// If there is none of that name, or its parameters make no sense.
pub fn graph_preset(name: &str) -> Result<GraphParams, SourceError> {
    match GraphParams::preset(name) {
        Some(params) => params.map_err(SourceError::PresetParams),
        None => Err(SourceError::UnknownPreset {
            what: "graph",
            name: name.to_owned(),
            nearest: placebench_datasets::nearest(name, GraphParams::presets()),
        }),
    }
}

/// The cluster of an entry for a seed.
///
/// # Errors
/// If it does not exist, cannot be read, or has too few devices.
pub fn load_cluster(entry: &ClusterEntry, seed: u64) -> Result<Cluster, SourceError> {
    let mut cluster = if let Some(path) = &entry.file {
        format::read_cluster(path)?
    } else {
        cluster_preset(entry.preset.as_deref().unwrap_or_default(), seed)?
    };
    if let Some(wanted) = entry.devices {
        let devices = cluster.device_count();
        if wanted == 0 || wanted > devices {
            return Err(SourceError::TooFewDevices { cluster: entry.label(), devices, wanted });
        }
        cluster = cluster.first_devices(wanted)?;
    }
    if entry.unlimited_memory {
        cluster = cluster.without_memory_limits();
    }
    match entry.send_ops {
        None => Ok(cluster),
        Some(send_ops) => Ok(cluster.with_send_ops(send_ops)?),
    }
}

/// The cluster of a preset for a seed.
///
/// # Errors
/// If there is none of that name.
pub fn cluster_preset(name: &str, seed: u64) -> Result<Cluster, SourceError> {
    match placebench_generator::cluster_preset(name, seed) {
        Some(cluster) => Ok(cluster?),
        None => Err(SourceError::UnknownPreset {
            what: "cluster",
            name: name.to_owned(),
            nearest: placebench_datasets::nearest(name, ClusterParams::PRESETS),
        }),
    }
}
