//! Files: reading and writing graphs and clusters.

mod atomic;
pub mod cluster_toml;
pub mod csv_cluster;
pub mod csv_graph;
mod csv_rows;
mod error;
pub mod graphdef;
mod header;
mod native;
mod quantity;
mod text;
mod toml_text;

pub use cluster_toml::{parse_cluster_toml, read_cluster_toml, write_cluster_toml};
pub use csv_cluster::{parse_cluster_csv, read_cluster_csv, write_cluster_csv};
pub use csv_graph::{parse_graph_csv, read_graph_csv, write_graph_csv};
pub use error::{FormatError, Place};
pub use header::{GraphHeader, NATIVE_VERSION, Units};
pub use native::{NativeBytes, NativeColumns, NativeWriter, is_decoding, read_native, write_native};
