//! The placers, one file each.

mod hashing;

pub use hashing::Hashing;
