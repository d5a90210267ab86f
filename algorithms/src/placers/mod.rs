//! The placers, one file each.

mod hashing;
mod heft;
mod list;

pub use hashing::Hashing;
pub use heft::Heft;
