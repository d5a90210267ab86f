//! The placers, one file each.

mod batch_split;
mod critical_path;
mod cross_entropy;
mod dfs;
#[cfg(test)]
mod example;
mod hashing;
mod heft;
mod heuristic;
mod iterated_critical_path;
mod list;
mod load;
mod mite;
mod path_extraction;
mod random;
mod reinforce;
mod search;
mod simulated_annealing;
mod single_device;

pub use batch_split::BatchSplit;
pub use critical_path::CriticalPath;
pub use cross_entropy::CrossEntropy;
pub use dfs::Dfs;
pub use hashing::Hashing;
pub use heft::Heft;
pub use iterated_critical_path::IteratedCriticalPath;
pub use mite::Mite;
pub use random::Random;
pub use reinforce::Reinforce;
pub use search::Budget;
pub use simulated_annealing::SimulatedAnnealing;
pub use single_device::{Choice, SingleDevice};
