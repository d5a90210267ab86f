//! The placers, one file each.

mod batch_split;
mod cpop;
mod critical_path;
mod dfs;
mod dls;
mod etf;
#[cfg(test)]
mod example;
mod hashing;
mod heft;
mod heuristic;
mod iterated_critical_path;
mod list;
mod load;
mod lookahead;
mod m_etf;
mod m_sct;
mod m_topo;
mod mcp;
mod mite;
mod path_extraction;
mod peft;
mod random;
mod single_device;

pub use batch_split::BatchSplit;
pub use cpop::Cpop;
pub use critical_path::CriticalPath;
pub use dfs::Dfs;
pub use dls::Dls;
pub use etf::Etf;
pub use hashing::Hashing;
pub use heft::Heft;
pub use iterated_critical_path::IteratedCriticalPath;
pub use list::{FavouriteChildren, ListScheduling, Pick, Priority, Selection};
pub use lookahead::Lookahead;
pub use m_etf::MEtf;
pub use m_sct::MSct;
pub use m_topo::MTopo;
pub use mcp::Mcp;
pub use mite::Mite;
pub use peft::Peft;
pub use random::Random;
pub use single_device::{Choice, SingleDevice};
