//! Reads and writes TensorFlow's GraphDef, binary (`.pb`) and text (`.pbtxt`).
//!
//! | in the file | in the graph |
//! |---|---|
//! | a node | an op, in the file's order |
//! | an input `a:1`, `a` | an edge that carries port 1, port 0 of `a` |
//! | an input `^a` | a control edge |
//! | `_class` with `loc:@a` | colocation with `a` |
//! | an input by reference, a resource handle | an edge, and colocation of its ends |
//! | a device string | the kinds of its type; for ops that exist on the CPU alone, the CPU |
//! | `_output_shapes`, or type and shape of constants, variables and placeholders | the sizes of the tensors |
//! | the value of a variable | resident memory |
//! | an edge from `NextIteration` into `Merge` | what [`LoopPolicy`] says |
//!
//! A GraphDef says nothing of costs. They come from the files that the extractor writes beside it: see [`read_extraction`].
//! Functions (the file's library) are not looked into: a call is an op.

mod binary;
mod devices;
mod export;
mod extraction;
mod fault;
mod import;
mod options;
mod private;
mod proto;
mod references;
mod sizes;
mod structure;
mod text;

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::DataflowGraph;
use crate::format::FormatError;
use crate::format::atomic::write_file;

pub use extraction::{Extraction, read_extraction};
pub use options::{ImportReport, LoopPolicy, ReadOptions};

use fault::Located;
use structure::Structure;

/// The op type that stands for "none" in a file, where every node has one.
const GENERIC_OP: &str = "Op";

/// Why a graph cannot be written as a GraphDef.
#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error("the op named '{name}' cannot be written: in a GraphDef a name has no ':' and no leading '^'")]
    Name { name: String },
    #[error("{label} has an output of {bytes} bytes: a GraphDef counts no further than 2^63 - 1")]
    Size { label: String, bytes: u64 },
}

/// Reads a GraphDef: text if the file's name ends in `.pbtxt`, `.prototxt` or `.txt`, else binary.
///
/// # Errors
/// If the file cannot be read, is no GraphDef, or holds a graph that this suite cannot represent; the message names file, line
/// (in text) and node.
///
/// # Complexity
/// O(bytes of the file).
pub fn read_graph_def(path: &Path, options: &ReadOptions) -> Result<(DataflowGraph, ImportReport), FormatError> {
    let content = fs::read(path).map_err(|error| FormatError::io(path, error))?;
    parse_graph_def(path, content, options)
}

/// Reads a GraphDef that is in memory already. `path` tells text from binary and names the file in errors.
///
/// # Errors
/// As [`read_graph_def`].
pub fn parse_graph_def(
    path: &Path,
    content: Vec<u8>,
    options: &ReadOptions,
) -> Result<(DataflowGraph, ImportReport), FormatError> {
    let parsed = if is_text(path) { text::parse(content) } else { binary::decode(content).map_err(Located::from) };
    let built = parsed.and_then(Structure::resolve).and_then(|structure| import::build(&structure, options));
    built.map_err(|fault| fault.in_file(path))
}

/// Writes a graph as a GraphDef: text or binary by the file's name, as [`read_graph_def`] tells them apart.
///
/// Everything that a graph holds comes back when the file is read with `colocate_references` off. Costs, layers and sets of kinds
/// are in attributes of this suite (`_placebench_…`), and sizes are shapes of `uint8`, so the file is for tools that read graphs,
/// not for running: the ops' own attributes are not in our graphs.
///
/// # Errors
/// If the file cannot be written, a name is none in TensorFlow, or a tensor has 2^63 bytes or more.
pub fn write_graph_def(path: &Path, graph: &DataflowGraph) -> Result<(), FormatError> {
    let nodes = export::nodes(graph).map_err(|error| FormatError::file(path, error))?;
    let content = if is_text(path) { text::format(&nodes).into_bytes() } else { binary::encode(&nodes) };
    write_file(path, |out| out.write_all(&content).map_err(|error| FormatError::io(path, error)))
}

fn is_text(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| ["pbtxt", "prototxt", "txt"].iter().any(|&text| extension == text))
}
