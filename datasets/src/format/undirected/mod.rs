//! Undirected graphs and hypergraphs in the formats of partitioners, and partitions.

mod any;
pub(super) mod dimacs;
pub(super) mod edges;
pub(super) mod hmetis;
pub(crate) mod lines;
pub(super) mod matrix_market;
pub(super) mod metis;
mod narrow;
mod net_rows;
pub(super) mod partition;
pub(super) mod patoh;

pub use any::{Undirected, read_undirected, write_undirected};
pub use dimacs::{read_dimacs, write_dimacs};
pub(crate) use edges::VERTICES;
pub use edges::{read_binary_edges, read_edge_list, write_binary_edges, write_edge_list};
pub use hmetis::{read_hmetis, write_hmetis};
pub use matrix_market::{read_matrix_market, write_matrix_market};
pub use metis::{read_metis, write_metis};
pub use partition::{read_partition, write_partition};
pub use patoh::{read_patoh, write_patoh};
