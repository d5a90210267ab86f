//! Graphs as Arrow IPC files (Feather V2), one row an op, for data frames and other programs that use Arrow.
//!
//! | column | type | content |
//! |---|---|---|
//! | `ops` | f64 | cost in operations |
//! | `memory_bytes` | u64 | resident memory; 0 without the column |
//! | `kinds` | u8 | sum of CPU = 1, GPU = 2, TPU = 4; 7 without the column |
//! | `group` | u32 or null | ops of equal number are colocated |
//! | `cpu_seconds`, `h100_seconds`, … | f64 or null | measured times on devices of a class |
//! | `bytes_moved` | f64 | bytes that the op reads from and writes to its device's memory |
//! | `name` | text | unique; for all ops or for none |
//! | `op_type`, `layer`, `attributes` | text or null | |
//! | `tensor_bytes` | list of u64 | size of each output port |
//! | `inputs` | list of struct: `source` u32, `port` u32 or null | what the op reads, in order; `port` is null for a control edge |
//!
//! Names and meanings are those of a graph folder; `inputs` has its edges, so that the offsets and sources of the list
//! are the rows of a sparse matrix. The header is in the schema's metadata, named as in node-link JSON.

mod cells;
mod container;
mod read;
mod write;

use super::entry::{Format, Holds, Mark};

/// The line of the table of formats.
pub(super) static FORMAT: Format = Format {
    name: "arrow",
    mark: Mark::Extensions(&["arrow", "feather", "ipc"]),
    title: "an Arrow IPC file (Feather V2), a row for each op",
    lacks: &[],
    options: &[],
    holds: Holds::Graph { read: Some(|path, _| read::read(path)), write: Some(write::write) },
};

/// The columns that a file must have.
const REQUIRED: [&str; 3] = ["ops", "tensor_bytes", "inputs"];

/// The columns that may be left out.
const OPTIONAL: [&str; 8] = ["memory_bytes", "kinds", "group", "bytes_moved", "name", "op_type", "layer", "attributes"];
