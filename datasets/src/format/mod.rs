//! Files: reading and writing graphs and clusters.
//!
//! | | graph | cluster |
//! |---|---|---|
//! | native folder | [`read_native`], [`write_native`], [`NativeWriter`], [`NativeBytes`] | |
//! | CSV | [`csv_graph`] | [`csv_cluster`] |
//! | TOML | | [`cluster_toml`] |
//! | GraphDef | [`graphdef`] | |
//! | DOT | [`write_dot`], [`Dot`] | |
//! | partitioners' formats | [`undirected`] | |
//!
//! [`read_graph`] and [`read_cluster`] choose by the path. All writers put a file in its place when it is complete, and all
//! errors are one line: see [`FormatError`].

pub(crate) mod atomic;
pub mod cluster_toml;
pub mod csv_cluster;
pub mod csv_graph;
mod csv_rows;
mod detect;
mod dot;
mod error;
pub mod graphdef;
mod header;
mod native;
mod quantity;
mod text;
mod toml_text;
pub mod undirected;

pub use atomic::write_whole;
pub use cluster_toml::{parse_cluster_toml, read_cluster_toml, write_cluster_toml};
pub use csv_cluster::{parse_cluster_csv, read_cluster_csv, write_cluster_csv};
pub use csv_graph::{parse_csv, read_csv, write_csv};
pub use detect::{read_cluster, read_graph};
pub use dot::{Dot, write_dot};
pub use error::{FormatError, Place};
pub use header::{GraphHeader, NATIVE_VERSION, Units};
pub use native::{NativeBytes, NativeColumns, NativeWriter, is_decoding, read_native, write_native};
