//! What can be wrong with a GraphDef, read or written.

use std::path::Path;

use placebench_base::process::NotEnoughMemory;

use crate::GraphError;
use crate::format::FormatError;

/// A fault in the content of a GraphDef. Nodes are named; the text format adds the line.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("the file is empty: expected a GraphDef")]
    Empty,
    #[error("this is a SavedModel, not a GraphDef: export the graph of one of its signatures")]
    SavedModel,
    #[error("this is no binary GraphDef, or it was cut short ({0}): export it again, or name it *.pbtxt if it is text")]
    Wire(String),
    #[error("node {number} of the file cannot be decoded ({cause})")]
    NodeWire { number: usize, cause: String },
    #[error("the text is not UTF-8: a binary GraphDef is named *.pb")]
    NotUtf8,
    #[error("{0}")]
    Syntax(String),
    #[error("messages are nested more than {0} deep: no GraphDef is")]
    TooDeep(usize),
    #[error("the file has no node")]
    NoNode,
    #[error("node {number} is named '{name}': a name has at least one character, no ':' and no leading '^'")]
    BadName { number: usize, name: String },
    #[error("nodes {first} and {second} of the file are both named '{name}': names must be unique")]
    DuplicateName { name: String, first: usize, second: usize },
    #[error("node '{node}': input '{input}' {reason}")]
    BadInput { node: String, input: String, reason: &'static str },
    #[error("node '{node}': input '{input}' names node '{source_node}', which does not exist: keep it when you prune")]
    UnknownInput { node: String, input: String, source_node: String },
    #[error("node '{node}' is colocated with '{target}', which does not exist: keep it, or remove the 'loc:@{target}'")]
    UnknownColocation { node: String, target: String },
    #[error("node '{node}': {fault}")]
    Device { node: String, fault: String },
    #[error("node '{node}': attribute '{attribute}' holds '{value}': expected {expected}")]
    BadAttribute { node: String, attribute: String, value: String, expected: &'static str },
    #[error(
        "{0}, or convert the file with --cycles drop; if it is a loop of TensorFlow, with --cycles next_iteration or 'unroll(N)'"
    )]
    Loop(GraphError),
    #[error("{0}")]
    Graph(GraphError),
    #[error(transparent)]
    Memory(#[from] NotEnoughMemory),
}

/// Why a graph cannot be written as a GraphDef.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteError {
    #[error("the op named '{name}' cannot be written: in a GraphDef a name has no ':' and no leading '^'")]
    Name { name: String },
    #[error("{label} has an output of {bytes} bytes: a GraphDef counts no further than 2^63 - 1")]
    Size { label: String, bytes: u64 },
}

impl Fault {
    /// The fault at a line of the file.
    pub(super) fn at(self, line: Option<u64>) -> Located {
        Located { line, fault: self }
    }
}

impl From<GraphError> for Fault {
    fn from(error: GraphError) -> Self {
        match error {
            GraphError::Cycle { .. } => Self::Loop(error),
            other => Self::Graph(other),
        }
    }
}

/// A fault, and the line if the file is text.
#[derive(Debug)]
pub(super) struct Located {
    pub(super) line: Option<u64>,
    pub(super) fault: Fault,
}

impl From<Fault> for Located {
    fn from(fault: Fault) -> Self {
        fault.at(None)
    }
}

impl Located {
    /// The same for the user: with the file.
    pub(super) fn in_file(self, path: &Path) -> FormatError {
        match self.line {
            Some(line) => FormatError::at_line(path, line, self.fault),
            None => FormatError::file(path, self.fault),
        }
    }
}
