//! Makes graphs and clusters.
//!
//! [`generate_leveled`] makes L's leveled random graphs. Same parameters and seed, same bytes out, on any number of
//! threads and on every platform.

mod costs;
mod counts;
mod digest;
mod distribution;
mod error;
mod manifest;
mod random;
mod toml_text;

mod cluster;
pub mod leveled;

pub use cluster::{ClusterParams, DeviceKinds, cluster_preset, generate_cluster, gtx1080, gtx1080_one_cpu};
pub use costs::{Costs, KindProbabilities, redraw_costs};
pub use digest::graph_sha256;
pub use distribution::{Distribution, DistributionError};
pub use error::GeneratorError;
pub use leveled::{
    Amount, ColocationParams, Decay, GraphStats, LevelEdges, LeveledGraph, LeveledParams, LeveledPlan,
    generate_leveled, level_edges,
};
pub use manifest::{Family, Manifest, ManifestError};
