//! Streaming partitioners: they see a graph once, piece by piece, and never hold it whole.
//!
//! | file | algorithm | stream | divides |
//! |---|---|---|---|
//! | `ldg.rs` | linear deterministic greedy | vertices | vertices |
//! | `fennel.rs` | Fennel | vertices | vertices |
//! | `hdrf.rs` | high-degree replicated first | edges | edges |
//! | `dbh.rs` | degree-based hashing | edges | edges |
//! | `greedy.rs` | PowerGraph's greedy vertex cut | edges | edges |
//! | `adwise/` | adaptive windows | edges | edges |
//!
//! [`Ldg`] and [`Fennel`] answer with a block for each vertex, from an
//! [`UndirectedGraph`](placebench_datasets::UndirectedGraph) or any [`VertexStream`](placebench_datasets::stream::VertexStream),
//! for instance a file. An [`EdgePartitioner`] hands out each edge with its block as it decides, and answers with the
//! [`VertexCut`]: which vertices are in which blocks. All are [`Partitioner`](super::Partitioner)s of vertices too; those of
//! edges by [`Masters`].
//!
//! # Memory
//! With n vertices and k blocks, beside the stream's own: `ldg` and `fennel` 4·n + 40·k bytes; `hdrf`, `dbh` and `greedy`
//! 8·n·⌈k/64⌉ + 4·n + 60·k; `adwise` 8·n·⌈k/64⌉ + 12·n + 80·k, and 80 bytes an
//! edge of the window. Never anything for each edge. [`VertexCut::memory_bytes`] says how much it was.
//!
//! The measured figures are in `docs/STREAMING.md`.

mod adwise;
mod block_set;
mod dbh;
mod degrees;
mod edge_pass;
mod error;
mod fennel;
mod greedy;
mod hdrf;
mod ldg;
mod loads;
mod masters;
mod order;
mod replicas;
mod vertex_cut;
mod vertex_pass;

pub use adwise::{Adwise, Budget, Lambda, Window};
pub use dbh::Dbh;
pub use degrees::DegreeSource;
pub use error::StreamError;
pub use fennel::Fennel;
pub use greedy::Greedy;
pub use hdrf::Hdrf;
pub use ldg::Ldg;
pub use masters::{ByMasters, Masters};
pub use order::StreamOrder;
pub use replicas::Replicas;
pub use vertex_cut::{AssignedEdge, EdgePartitioner, VertexCut, VertexStreamPartitioner};
