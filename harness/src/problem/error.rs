//! Why there is no such problem.

use placebench_base::spec::SpecError;
use placebench_datasets::format::FormatError;
use placebench_datasets::{ClusterError, GraphError, InstanceError, catalogue};
use placebench_generator::{GeneratorError, PassError};

/// Why a graph, a cluster or an instance of both cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ProblemError {
    /// A file cannot be read.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The catalogue has no such graph.
    #[error(transparent)]
    Catalogue(#[from] catalogue::CatalogueError),
    /// The generator refuses.
    #[error(transparent)]
    Generator(#[from] GeneratorError),
    /// The graph makes no sense.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// The cluster makes no sense.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// Graph and cluster do not fit together.
    #[error(transparent)]
    Instance(#[from] InstanceError),
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
    /// There is no such pass.
    #[error(transparent)]
    Passes(SpecError),
    /// A pass refuses the graph.
    #[error("graph '{graph}': {error}")]
    Pass {
        /// The graph.
        graph: String,
        /// Why.
        error: PassError,
    },
    /// The entry names no source; a suite that was parsed always does.
    #[error("graph '{graph}' has none of catalogue, file, preset, leveled, training_steps")]
    NoSource {
        /// The graph.
        graph: String,
    },
    /// Neither a name that placebench knows nor a file.
    #[error("no file and no {what} is named '{name}': {}", remedy(.nearest, list))]
    Unknown {
        /// `graph` or `cluster`.
        what: &'static str,
        /// The name given.
        name: String,
        /// The nearest there is.
        nearest: Option<String>,
        /// What `placebench list` lists such names under.
        list: &'static str,
    },
    /// The graph's ops cost nanoseconds of a processor, and a device counts arithmetic operations.
    #[error(
        "graph '{graph}': its ops cost {unit}, and device '{device}' of class {class} counts arithmetic operations, so that nothing \
         says what they take there (it has measured times for these classes: {known}): choose a cluster of such devices, such as \
         gtx1080x4, or a graph that counts operations, such as llama3_8b"
    )]
    ForeignUnit {
        /// The graph.
        graph: String,
        /// What its ops cost.
        unit: String,
        /// The first such device.
        device: String,
        /// Its class.
        class: String,
        /// The classes that the graph has measured times for.
        known: String,
    },
    /// Added overheads are no times.
    #[error("overheads: {name} is {value}: give a finite number of time units, 0 or more")]
    BadOverhead {
        /// Which.
        name: &'static str,
        /// Its value.
        value: f64,
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
    #[error(
        "cluster '{cluster}' has {devices} devices, not {wanted}: ask for 1 to {devices}, or choose a larger cluster"
    )]
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

fn remedy(nearest: &Option<String>, list: &str) -> String {
    match nearest {
        Some(nearest) => format!("did you mean '{nearest}'?"),
        None => format!("see 'placebench list {list}'"),
    }
}
