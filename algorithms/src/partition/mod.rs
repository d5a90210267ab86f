//! Partitioning: undirected weighted graphs into k blocks of bounded weight.
//!
//! A [`Partitioner`] sees an [`UndirectedGraph`](placebench_datasets::UndirectedGraph) and a [`PartitionRequest`], and answers
//! with a [`Partition`]; [`quality`] judges it without sharing code with any partitioner.

mod chunk;
mod fiduccia_mattheyses;
mod hashing;
mod level_slabs;
mod metis;
mod multilevel;
mod partitioner;
pub mod quality;
pub mod registry;
pub mod streaming;
mod unstoppable;

pub use chunk::{Chunk, ChunkOrder};
pub use fiduccia_mattheyses::{FiducciaMattheyses, FmScheme};
pub use hashing::Hashing;
pub use level_slabs::LevelSlabs;
pub use metis::{Metis, MetisScheme};
pub use multilevel::{Coarsening, Multilevel, Objective, Preset};
pub use partitioner::{NetWeight, Partition, PartitionError, PartitionRequest, Partitioner};
