//! The native folder: `graph.toml` and three Parquet tables, exact, compact, and streamed both ways.
//!
//! ```text
//! rnn/graph.toml       name, title, licence, units, counts, digests, provenance
//! rnn/ops.parquet      ops, memory_bytes, kinds, group, cpu_seconds, gpu_seconds, tpu_seconds, name, op_type, layer,
//!                      attributes
//! rnn/tensors.parquet  producer, port, bytes
//! rnn/edges.parquet    source, port (null: a control edge), target
//! ```
//!
//! Ids are row numbers, from 0. Tensors ascend by (producer, port). Edges ascend by target; those of one target stand in
//! the order of its inputs, control edges last. So a graph has one file, and what is read equals what was written.
//! A table is read and written in row groups of bounded size, and other tools' files are welcome: integers may have 32 or
//! 64 bits, and `[sha256]` may be missing.

mod read;
pub(crate) mod schema;
pub(crate) mod table_read;
pub(crate) mod table_write;
mod write;

pub(crate) use read::read_native_header;
pub use read::{NativeBytes, read_native};
pub use write::{NativeColumns, NativeWriter, write_native};

pub(crate) use schema::HEADER_FILE;

use super::entry::{Format, GraphFile, Holds, Mark};

/// The line of the table of formats.
pub(super) static FORMAT: Format = Format {
    name: "folder",
    mark: Mark::Folder(HEADER_FILE),
    title: "Parquet tables and a TOML header",
    lacks: &[],
    options: &[],
    holds: Holds::Graph {
        read: Some(|path, _| {
            let (header, graph) = read_native(path)?;
            Ok(GraphFile { header, graph, report: None })
        }),
        // Replaces a graph folder as a whole, and refuses to replace any other folder.
        write: Some(|path, header, graph| write_native(path, header, graph)),
    },
};
