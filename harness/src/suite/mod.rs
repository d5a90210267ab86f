//! Suites: which graphs, clusters, placers, schedulers and network models to run, as TOML.

mod builtin;
mod ccr;
mod cells;
mod definition;
mod sources;

pub use placebench_algorithms::ONLINE;

pub use builtin::{BUILT_IN, BuiltIn};
pub use ccr::scale_to_ccr;
pub use cells::{Cell, Group, Plan};
pub use definition::{ClusterEntry, GraphEntry, Suite, SuiteError, Weights};
pub use sources::{SourceError, cluster_preset, graph_preset, load_cluster, load_graph, time_unit};
