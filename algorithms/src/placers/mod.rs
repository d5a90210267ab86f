//! The placers, one file each.

mod batch_split;
mod cluster_cap;
mod cluster_comm;
mod cluster_load;
mod clustering;
mod coarse;
mod cola;
mod critical_path;
mod dfs;
#[cfg(test)]
mod example;
mod expert;
mod hashing;
mod heft;
mod heuristic;
mod iterated_critical_path;
mod list;
mod load;
mod mite;
mod path_extraction;
mod random;
mod scoring;
mod single_device;
mod task_parallel;
mod tensorflow_default;
mod whitepaper_greedy;

pub use batch_split::BatchSplit;
pub use cluster_cap::ClusterCap;
pub use cluster_comm::ClusterComm;
pub use cluster_load::ClusterLoad;
pub use coarse::cells::Cells;
pub use cola::Cola;
pub use critical_path::CriticalPath;
pub use dfs::Dfs;
pub use expert::Expert;
pub use hashing::Hashing;
pub use heft::Heft;
pub use iterated_critical_path::IteratedCriticalPath;
pub use mite::Mite;
pub use random::Random;
pub use scoring::Scoring;
pub use single_device::{Choice, SingleDevice};
pub use task_parallel::TaskParallel;
pub use tensorflow_default::TensorflowDefault;
pub use whitepaper_greedy::WhitepaperGreedy;
