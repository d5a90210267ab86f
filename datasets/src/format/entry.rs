//! What the table of formats says about a format.

use std::fmt;
use std::path::Path;

use super::compressed::without_compression;
use super::{Detail, FormatError, GraphHeader};
use crate::format::options::{ReadOption, ReadOptions};
use crate::{Cluster, DataflowGraph, Hypergraph, UndirectedGraph};

/// A file format. Each is declared beside its reader and writer, and listed in [`FORMATS`](super::FORMATS).
#[derive(Debug)]
pub struct Format {
    /// The name, as `--format` takes it.
    pub name: &'static str,
    /// How a path shows that it has this format.
    pub mark: Mark,
    /// What the format is, in a few words.
    pub title: &'static str,
    /// What the format has no room for; empty if it keeps everything. An undirected view loses more: see [`Format::losses`].
    pub lacks: &'static [Detail],
    /// The options that its reader takes. All others are refused before the reader runs.
    pub options: &'static [ReadOption],
    /// What a file holds, and who reads and writes it.
    pub holds: Holds,
}

/// How a path shows its format.
#[derive(Debug)]
pub enum Mark {
    /// By one of these extensions, in upper or lower case. The command writes the first in its help.
    Extensions(&'static [&'static str]),
    /// By this longer extension, as in `g.wf.json`; or it is a file `.json` whose outermost object has all these keys. Of
    /// several such formats, the first in the table counts.
    Json(&'static [&'static str], &'static [&'static str]),
    /// It is a folder with this file in it. A path without extension is written as such a folder.
    Folder(&'static str),
    /// Not at all: the user says what the file is.
    Nothing,
}

/// A graph as a file holds it.
#[derive(Debug)]
pub struct GraphFile {
    /// Name and origin. The name is empty until [`read_graph_with`](super::read_graph_with) gives a graph without one that
    /// of its file.
    pub header: GraphHeader,
    /// The graph.
    pub graph: DataflowGraph,
    /// What the reader noticed, in one line, if it has something to report.
    pub report: Option<String>,
}

impl From<DataflowGraph> for GraphFile {
    /// A graph of a format without header.
    fn from(graph: DataflowGraph) -> Self {
        Self { header: GraphHeader::default(), graph, report: None }
    }
}

/// Reads a graph, having seen to every option that the format's line lists.
pub type ReadGraph = fn(&Path, &ReadOptions) -> Result<GraphFile, FormatError>;

/// Writes a graph with as much of its header as the format keeps.
pub type WriteGraph = fn(&Path, &GraphHeader, &DataflowGraph) -> Result<(), FormatError>;

/// Writes a cluster, or refuses what the format cannot hold.
pub type WriteCluster = fn(&Path, &Cluster) -> Result<(), FormatError>;

/// What a format holds, with its reader and writer. An op or vertex keeps its number in all of them.
#[derive(Debug)]
pub enum Holds {
    /// A dataflow graph.
    Graph {
        /// Reads a graph; `None` if the format is only written.
        read: Option<ReadGraph>,
        /// Writes a graph; `None` if the format is only read.
        write: Option<WriteGraph>,
    },
    /// A cluster.
    Cluster {
        /// Reads a cluster.
        read: fn(&Path) -> Result<Cluster, FormatError>,
        /// Writes a cluster; `None` if the format is only read.
        write: Option<WriteCluster>,
    },
    /// An undirected graph.
    Undirected {
        /// Reads a graph. The flag asks for edges that weigh 1 each.
        read: fn(&Path, bool) -> Result<UndirectedGraph, FormatError>,
        /// Writes a graph, or refuses weights for which the format has no room.
        write: fn(&Path, &UndirectedGraph) -> Result<(), FormatError>,
        /// Drops the weights for which the format has no room.
        fit: fn(UndirectedGraph) -> UndirectedGraph,
    },
    /// A hypergraph.
    Hypergraph {
        /// Reads a hypergraph. The flag asks for nets that weigh 1 each.
        read: fn(&Path, bool) -> Result<Hypergraph, FormatError>,
        /// Writes a hypergraph.
        write: fn(&Path, &Hypergraph) -> Result<(), FormatError>,
    },
    /// The block of each vertex. The reader, [`read_partition`](super::undirected::read_partition), has to know the graph.
    Partition,
    /// Vertices with their rows, for algorithms that stream a graph: [`RowFile`](crate::stream::RowFile).
    Rows,
}

impl Format {
    /// Whether it holds an undirected graph or a hypergraph, as partitioners read them.
    pub fn is_undirected(&self) -> bool {
        matches!(self.holds, Holds::Undirected { .. } | Holds::Hypergraph { .. })
    }

    /// Its extensions, without dots.
    pub fn extensions(&self) -> &'static [&'static str] {
        match self.mark {
            Mark::Extensions(extensions) | Mark::Json(extensions, _) => extensions,
            Mark::Folder(_) | Mark::Nothing => &[],
        }
    }

    /// Whether a path ends in one of the extensions, in upper or lower case.
    pub(super) fn has_extension_of(&self, path: &Path) -> bool {
        self.extensions().iter().any(|extension| strip_extension(path, extension).is_some())
    }
}

/// The file's name without `.gz`, `.zst` and the extension of a format, in upper or lower case. None if it has another.
pub(super) fn strip_extension(path: &Path, extension: &str) -> Option<String> {
    let plain = without_compression(path);
    let name = plain.file_name()?.to_str()?;
    let at = name.len().checked_sub(extension.len())?;
    let (start, end) = (name.get(..at)?, name.get(at..)?);
    end.eq_ignore_ascii_case(extension).then(|| start.strip_suffix('.').map(str::to_owned))?
}

impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Graph { .. } => "dataflow graph",
            Self::Cluster { .. } => "cluster",
            Self::Undirected { .. } => "undirected graph",
            Self::Hypergraph { .. } => "hypergraph",
            Self::Partition => "partition",
            Self::Rows => "vertex stream",
        })
    }
}

impl fmt::Display for Mark {
    /// As the documentation shows it: `.pbtxt, .prototxt`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Extensions(extensions) | Self::Json(extensions, _) => {
                let dotted: Vec<_> = extensions.iter().map(|extension| format!(".{extension}")).collect();
                f.write_str(&dotted.join(", "))?;
                if let Self::Json(_, keys) = self {
                    write!(f, ", .json with `{}`", keys.join("` and `"))
                } else {
                    Ok(())
                }
            }
            Self::Folder(sign) => write!(f, "folder with {sign}"),
            Self::Nothing => f.write_str("any"),
        }
    }
}
