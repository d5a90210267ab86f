//! Undirected graphs and hypergraphs in the formats of partitioners, and partitions.
//!
//! | | read | write | vertex weights | edge weights |
//! |---|---|---|---|---|
//! | METIS graph | [`read_metis`] | [`write_metis`] | yes | yes |
//! | hMETIS hypergraph | [`read_hmetis`] | [`write_hmetis`] | yes | of nets |
//! | Matrix Market | [`read_matrix_market`] | [`write_matrix_market`] | no | yes |
//! | edges as text | [`read_edge_list`] | [`write_edge_list`] | no | yes |
//! | edges as bytes | [`read_binary_edges`] | [`write_binary_edges`] | no | no |
//! | partition | [`read_partition`] | [`write_partition`] | | |

mod edges;
mod hmetis;
mod lines;
mod matrix_market;
mod metis;
mod partition;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

pub use edges::{read_binary_edges, read_edge_list, write_binary_edges, write_edge_list};
pub use hmetis::{read_hmetis, write_hmetis};
pub use matrix_market::{read_matrix_market, write_matrix_market};
pub use metis::{read_metis, write_metis};
pub use partition::{read_partition, write_partition};

use super::FormatError;
use super::text::nearest;
use crate::{Hypergraph, UndirectedGraph};

/// A format of undirected graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndirectedFormat {
    /// [`read_metis`].
    Metis,
    /// [`read_hmetis`].
    Hmetis,
    /// [`read_matrix_market`].
    MatrixMarket,
    /// [`read_edge_list`].
    Edges,
    /// [`read_binary_edges`].
    BinaryEdges,
}

impl UndirectedFormat {
    /// All formats: name, and the extensions that tell it.
    const KNOWN: [(Self, &'static str, &'static [&'static str]); 5] = [
        (Self::Metis, "metis", &["graph", "metis"]),
        (Self::Hmetis, "hmetis", &["hgr", "hmetis"]),
        (Self::MatrixMarket, "mtx", &["mtx"]),
        (Self::Edges, "edges", &["edges", "edgelist", "el", "txt", "tsv"]),
        (Self::BinaryEdges, "binary", &["pbedges", "bin"]),
    ];

    /// The format that the extension of a path tells, if it is one of these.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        let found = Self::KNOWN.iter().find(|(_, _, extensions)| extensions.contains(&extension.as_str()));
        found.map(|&(format, _, _)| format)
    }

    /// The names of all formats.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        Self::KNOWN.into_iter().map(|(_, name, _)| name)
    }
}

impl fmt::Display for UndirectedFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::KNOWN.iter().find(|(format, _, _)| format == self).map_or("", |(_, name, _)| name);
        f.pad(name)
    }
}

impl FromStr for UndirectedFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::KNOWN.iter().find(|(_, name, _)| *name == text).map(|&(format, _, _)| format);
        found.ok_or_else(|| format!("unknown graph format '{text}': {}", nearest(text, Self::names())))
    }
}

/// What a file of these formats holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undirected {
    /// A graph.
    Graph(UndirectedGraph),
    /// A hypergraph.
    Hypergraph(Hypergraph),
}

/// Reads a file in a format. If `ignore_edge_weights`, edges and nets weigh 1 each.
///
/// # Errors
/// As the format's own reader.
pub fn read_undirected(
    path: impl AsRef<Path>,
    format: UndirectedFormat,
    ignore_edge_weights: bool,
) -> Result<Undirected, FormatError> {
    let unit = |graph: UndirectedGraph| if ignore_edge_weights { graph.without_edge_weights() } else { graph };
    Ok(match format {
        UndirectedFormat::Metis => Undirected::Graph(unit(read_metis(path)?)),
        UndirectedFormat::Hmetis => {
            let read = read_hmetis(path)?;
            Undirected::Hypergraph(if ignore_edge_weights { read.without_net_weights() } else { read })
        }
        UndirectedFormat::MatrixMarket => Undirected::Graph(read_matrix_market(path, ignore_edge_weights)?),
        UndirectedFormat::Edges => Undirected::Graph(read_edge_list(path, ignore_edge_weights)?),
        UndirectedFormat::BinaryEdges => Undirected::Graph(read_binary_edges(path)?),
    })
}

/// Writes a graph in a format.
///
/// # Errors
/// If the format has no room for what the graph has; for hMETIS, which has hypergraphs; if the file cannot be written.
pub fn write_undirected(
    path: impl AsRef<Path>,
    format: UndirectedFormat,
    graph: &UndirectedGraph,
) -> Result<(), FormatError> {
    match format {
        UndirectedFormat::Metis => write_metis(path, graph),
        UndirectedFormat::MatrixMarket => write_matrix_market(path, graph),
        UndirectedFormat::Edges => write_edge_list(path, graph),
        UndirectedFormat::BinaryEdges => write_binary_edges(path, graph),
        UndirectedFormat::Hmetis => Err(FormatError::file(path, "is for a hypergraph, and this is a graph")),
    }
}

fn refuse_vertex_weights(path: &Path, graph: &UndirectedGraph, format: &str) -> Result<(), FormatError> {
    match graph.vertex_weights() {
        None => Ok(()),
        Some(_) => {
            let fault = FormatError::file(path, format!("vertices have weights, which {format} do not"));
            Err(fault.remedy("write a METIS graph, or ask for vertices that weigh 1"))
        }
    }
}
