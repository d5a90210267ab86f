//! Partitioning: undirected weighted graphs into k blocks of bounded weight.
//!
//! A [`Partitioner`] sees an [`UndirectedGraph`](placebench_datasets::UndirectedGraph) and a [`Request`], and answers
//! with a [`Partition`]; [`quality`] judges it without sharing code with any partitioner.

mod hashing;
mod partitioner;
pub mod quality;
pub mod registry;
pub mod streaming;

pub use hashing::Hashing;
pub use partitioner::{Partition, PartitionError, Partitioner, Request};
