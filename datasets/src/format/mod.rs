//! Files: reading and writing graphs, clusters and what partitioners read.
//!
//! Each format is a file here, with a line in the table, [`FORMATS`]. [`read_graph`], [`write_graph`], [`read_cluster`],
//! [`write_cluster`] and [`undirected_format`] find the format of a path there; the functions of each format can be called
//! directly, too. Every writer puts a file in its place only when it is complete. Every error is one line: see
//! [`FormatError`].

mod arrow;
pub(crate) mod atomic;
pub mod cluster_toml;
pub(crate) mod compressed;
pub(crate) mod contain;
pub mod csv_cluster;
pub mod csv_graph;
mod csv_rows;
mod dax;
mod detail;
mod detect;
mod dnn_partitioning;
mod dot;
mod dot_read;
pub(crate) mod entry;
mod error;
mod etc;
mod gexf;
pub mod graphdef;
mod graphml;
mod header;
pub(crate) mod held;
mod hyperdag;
mod json;
mod loss;
pub(crate) mod native;
mod node_link;
mod onnx;
mod options;
mod quantity;
mod saga;
pub(crate) mod sha256;
mod stg;
mod table;
mod text;
mod toml_text;
pub mod undirected;
mod values;
mod wfformat;
mod xml;

pub use atomic::write_whole;
pub use cluster_toml::{parse_cluster_toml, read_cluster_toml, write_cluster_toml};
pub use compressed::{open as open_unpacked, without_compression};
pub use contain::{Undecodable, contain, is_decoding};
pub use csv_cluster::{parse_cluster_csv, read_cluster_csv, write_cluster_csv};
pub use csv_graph::{parse_csv, read_csv, write_csv};
pub use detail::Detail;
pub use detect::{
    formats_taking, graph_format, read_cluster, read_graph, read_graph_with, read_kinds, undirected_format,
    undirected_format_named, write_cluster, write_graph,
};
pub use dot::{Dot, write_dot};
pub use entry::{Format, GraphFile, Holds, Mark, ReadGraph, WriteCluster, WriteGraph};
pub use error::{FormatError, Place};
pub use header::{GraphHeader, NATIVE_VERSION, Units};
pub use loss::Loss;
pub use native::{NativeBytes, NativeColumns, NativeWriter, read_native, write_native};
pub use options::{DimSize, LoopPolicy, ReadOption, ReadOptions};
pub use sha256::sha256;
pub use table::{FORMATS, format_marks, format_names, listing};
