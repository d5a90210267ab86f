//! The placers, one file each.

mod batch_split;
mod cats;
mod cpath;
mod critical_path;
mod criticality;
mod cross_entropy;
mod dfs;
mod dheft;
#[cfg(test)]
mod example;
mod hashing;
mod heft;
mod heuristic;
mod hybrid;
mod iterated_critical_path;
mod list;
mod load;
mod mite;
mod optimal;
mod path_extraction;
mod random;
mod reinforce;
mod search;
mod simulated_annealing;
mod single_device;

pub use batch_split::BatchSplit;
pub use cats::Cats;
pub use cpath::Cpath;
pub use critical_path::CriticalPath;
pub use criticality::Stealing;
pub use cross_entropy::CrossEntropy;
pub use dfs::Dfs;
pub use dheft::Dheft;
pub use hashing::Hashing;
pub use heft::Heft;
pub use hybrid::Hybrid;
pub use iterated_critical_path::IteratedCriticalPath;
pub use mite::Mite;
pub use optimal::Optimal;
pub use random::Random;
pub use reinforce::Reinforce;
pub use search::{Budget, Prior};
pub use simulated_annealing::SimulatedAnnealing;
pub use single_device::{Choice, SingleDevice};
