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
//! | `_placebench_attributes`, else a digest of the attributes whose names do not begin with `_` | attributes; none of a node without any |
//! | an edge from `NextIteration` into `Merge` | what [`LoopPolicy`](super::LoopPolicy) says |
//!
//! A GraphDef has no costs. They come from the files that the extractor writes beside it: see [`read_extraction`].
//! The reader does not look into functions (the file's library): a call is an op.

mod attributes;
mod binary;
mod devices;
mod export;
pub(super) mod extraction;
mod fault;
mod import;
mod loops;
mod private;
mod proto;
mod references;
mod report;
mod sizes;
mod structure;
mod text;
mod unroll;

use std::io::Write;
use std::path::Path;

use crate::DataflowGraph;
use crate::format::atomic::write_file;
use crate::format::entry::{Format, GraphFile, Holds, Mark};
use crate::format::options::{ReadOption, ReadOptions};
use crate::format::{Detail, FormatError, compressed};

pub use extraction::{Extraction, read_extraction};
pub use report::{ImportReport, Unrolling};

use fault::Located;
use structure::Structure;

/// How a GraphDef is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Protobuf's binary format, `.pb`.
    Binary,
    /// Protobuf's text format, `.pbtxt`.
    Text,
}

/// The line of the table of formats for binary files.
pub(super) static BINARY: Format = Format {
    name: "graphdef",
    mark: Mark::Extensions(&["pb"]),
    title: "TensorFlow's GraphDef, binary",
    lacks: &[Detail::Title, Detail::Licence, Detail::Units, Detail::Provenance, Detail::KindRule],
    options: &[ReadOption::Cycles, ReadOption::NoReferences],
    holds: Holds::Graph {
        read: Some(|path, options| read_file(path, Encoding::Binary, options)),
        write: Some(|path, _, graph| write_graph_def(path, Encoding::Binary, graph)),
    },
};

/// The line of the table of formats for text.
pub(super) static TEXT: Format = Format {
    name: "graphdef_text",
    mark: Mark::Extensions(&["pbtxt", "prototxt"]),
    title: "TensorFlow's GraphDef, text",
    lacks: &[Detail::Title, Detail::Licence, Detail::Units, Detail::Provenance, Detail::KindRule],
    options: &[ReadOption::Cycles, ReadOption::NoReferences],
    holds: Holds::Graph {
        read: Some(|path, options| read_file(path, Encoding::Text, options)),
        write: Some(|path, _, graph| write_graph_def(path, Encoding::Text, graph)),
    },
};

fn read_file(path: &Path, encoding: Encoding, options: &ReadOptions) -> Result<GraphFile, FormatError> {
    let (graph, report) = read_graph_def(path, encoding, options)?;
    Ok(GraphFile { report: Some(report.to_string()), ..GraphFile::from(graph) })
}

/// Reads a GraphDef.
///
/// # Errors
/// If the file cannot be read, is no GraphDef, or holds a graph that this suite cannot represent; the message names
/// file, line (in text) and node.
///
/// # Complexity
/// O(bytes of the file).
pub fn read_graph_def(
    path: &Path,
    encoding: Encoding,
    options: &ReadOptions,
) -> Result<(DataflowGraph, ImportReport), FormatError> {
    let content = compressed::read(path)?;
    parse_graph_def(path, content, encoding, options)
}

/// Reads a GraphDef that is in memory already. `path` names the file in errors.
///
/// # Errors
/// As [`read_graph_def`].
pub fn parse_graph_def(
    path: &Path,
    content: Vec<u8>,
    encoding: Encoding,
    options: &ReadOptions,
) -> Result<(DataflowGraph, ImportReport), FormatError> {
    let parsed = match encoding {
        Encoding::Text => text::parse(content),
        Encoding::Binary => binary::decode(content).map_err(Located::from),
    };
    let built = parsed.and_then(Structure::resolve).and_then(|structure| import::build(&structure, options));
    built.map_err(|fault| fault.in_file(path))
}

/// Writes a graph as a GraphDef.
///
/// Everything that a graph holds comes back when the file is read with `no_references`. Costs, layers, attributes and sets of kinds
/// are in attributes of this suite (`_placebench_…`), and sizes are shapes of `uint8`. So the file is for tools that
/// read graphs, not for running: our graphs keep no more than a digest of the ops' own attributes.
///
/// # Errors
/// If the file cannot be written, a name is none in TensorFlow, or a tensor has 2^63 bytes or more.
pub fn write_graph_def(path: &Path, encoding: Encoding, graph: &DataflowGraph) -> Result<(), FormatError> {
    let nodes = export::nodes(graph).map_err(|error| FormatError::file(path, error))?;
    let content = match encoding {
        Encoding::Text => text::format(&nodes).into_bytes(),
        Encoding::Binary => binary::encode(&nodes),
    };
    write_file(path, |out| out.write_all(&content).map_err(|error| FormatError::io(path, error)))
}
