//! The placers, one file each.

mod batch_split;
mod critical_path;
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
mod optimal;
mod path_extraction;
mod random;
mod single_device;

pub use batch_split::BatchSplit;
pub use critical_path::CriticalPath;
pub use dfs::Dfs;
pub use hashing::Hashing;
pub use heft::Heft;
pub use iterated_critical_path::IteratedCriticalPath;
pub use mite::Mite;
pub use optimal::Optimal;
pub use random::Random;
pub use single_device::{Choice, SingleDevice};
