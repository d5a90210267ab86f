//! Makes graphs and clusters.
//!
//! - [`generate_leveled`] makes L's leveled random graphs (L §6.2), `laich1` to `laich6` among them; [`LeveledPlan`] makes single
//!   levels of them.
//! - [`FAMILIES`] is the table of families: name, parameters, source; [`described`] reads `cholesky(tiles=8)`.
//! - [`generate_training`] makes data-parallel training steps with the exchanges of T.
//! - [`generate_cluster`] makes L's random clusters, [`gtx1080`] B's machine, [`t_fast`] and [`t_slow`] clusters
//!   like T's; [`cluster_preset`] knows all by name.
//! - [`grid`], [`random_geometric`], [`gnm`] and [`rmat`] make undirected graphs for partitioners.
//! - [`EdgeChunks`] are graphs of any size, made chunk by chunk: leveled, G(n, m), R-MAT.
//! - [`redraw_costs`] puts random weights on any graph's structure.
//! - [`Manifest`] records what a graph was made from, and checks that it comes out the same.
//!
//! Same parameters and seed, same bytes out, on any number of threads, since every level and column has its own random
//! stream, keyed by (seed, purpose, level). Across platforms too, except that rare samples of the lognormal and exponential
//! [`Distribution`] may differ in the last bit with the platform's mathematical library.

mod costs;
mod counts;
mod digest;
mod distribution;
mod error;
mod exchange;
mod families;
mod family;
mod manifest;
mod named;
mod op_costs;
mod pairs;
mod parameter_file;
mod pass;
mod passes;
mod placed_pass;
mod random;
mod relation;
mod rewrite;
mod sketch;
mod split;
mod undirected;
mod unrelated;

mod cluster;
pub mod leveled;
pub mod stream;
pub mod training_steps;

pub use cluster::{
    CLUSTER_FILES, ClusterFile, ClusterParams, DeviceKinds, cluster_preset, generate_cluster, gtx1080, gtx1080_one_cpu,
    t_fast, t_slow,
};
pub use costs::{Costs, KindProbabilities, redraw_costs};
pub use digest::graph_sha256;
pub use distribution::{Distribution, DistributionError};
pub use error::GeneratorError;
pub use families::{Preset, presets};
pub use family::{Described, FamilyEntry, FamilyParams, GraphFamily, GraphParams, UndirectedFamily, UndirectedParams};
pub use leveled::{
    Amount, ColocationParams, Decay, GraphStats, LevelEdges, LeveledChunks, LeveledGraph, LeveledParams, LeveledPlan,
    OpBatch, generate_leveled, level_edges,
};
pub use manifest::{Family, Manifest, ManifestError};
pub use named::{FAMILIES, described, family, names};
pub use op_costs::{COST_PARAMS, Source};
pub use pass::{Chained, ChangedPlacement, Kept, Origin, Pass, PassEntry, PassError, Passed, Passes};
pub use passes::PASSES;
pub use placed_pass::{Changed, PlacedPass};
pub use sketch::{Op, Output, Sketch};
pub use stream::{
    ChunkScratch, EdgeChunks, GnmChunks, GnmParams, RmatChunks, RmatParams, Sheet, StreamError, StreamParams, Streamed,
    Tally, gnm, rmat,
};
pub use training_steps::{TrainingGraph, TrainingParams, generate_training};
pub use undirected::{grid, random_geometric};
pub use unrelated::MachineTimes;
