//! Reads and writes undirected graphs and hypergraphs in whichever format the caller has chosen.

use std::fmt;
use std::path::Path;

use crate::format::FormatError;
use crate::format::entry::{Format, Holds};
use crate::{DataflowGraph, Hypergraph, UndirectedGraph, View, ViewError, ViewOptions};

/// What a file of these formats holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undirected {
    /// A graph.
    Graph(UndirectedGraph),
    /// A hypergraph.
    Hypergraph(Hypergraph),
}

impl Undirected {
    /// What a format can hold of a dataflow graph: its undirected view without the weights for which the format has no
    /// room, or the hypergraph of its tensors.
    ///
    /// # Errors
    /// As [`View::of_graph`] and [`View::hypergraph`].
    pub fn of_dataflow(graph: &DataflowGraph, format: &Format) -> Result<Self, ViewError> {
        let view = View::of_graph(graph, ViewOptions::default())?;
        Ok(match format.holds {
            Holds::Hypergraph { .. } => Self::Hypergraph(view.hypergraph(graph)?),
            Holds::Undirected { fit, .. } => Self::Graph(fit(view.graph().clone())),
            _ => Self::Graph(view.graph().clone()),
        })
    }
}

impl fmt::Display for Undirected {
    /// Its size: `6 vertices, 7 edges`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Graph(graph) => write!(f, "{} vertices, {} edges", graph.vertex_count(), graph.edge_count()),
            Self::Hypergraph(nets) => write!(f, "{} vertices, {} nets", nets.vertex_count(), nets.net_count()),
        }
    }
}

/// Reads a file in a format. If `ignore_edge_weights`, edges and nets weigh 1 each.
///
/// # Errors
/// If the format holds neither; as the format's own reader.
pub fn read_undirected(
    path: impl AsRef<Path>,
    format: &Format,
    ignore_edge_weights: bool,
) -> Result<Undirected, FormatError> {
    let path = path.as_ref();
    match format.holds {
        Holds::Undirected { read, .. } => read(path, ignore_edge_weights).map(Undirected::Graph),
        Holds::Hypergraph { read, .. } => read(path, ignore_edge_weights).map(Undirected::Hypergraph),
        _ => Err(FormatError::file(path, format!("the format '{}' holds {}s", format.name, format.holds))
            .remedy("choose a format of undirected graphs or hypergraphs")),
    }
}

/// Writes a graph or a hypergraph in a format.
///
/// # Errors
/// If the format holds the other of the two, or has no room for weights that the graph has; if the file cannot be written.
pub fn write_undirected(path: impl AsRef<Path>, format: &Format, what: &Undirected) -> Result<(), FormatError> {
    let path = path.as_ref();
    match (&format.holds, what) {
        (Holds::Undirected { write, .. }, Undirected::Graph(graph)) => write(path, graph),
        (Holds::Hypergraph { write, .. }, Undirected::Hypergraph(nets)) => write(path, nets),
        (holds, what) => {
            let (this, extension) = match what {
                Undirected::Graph(_) => ("an undirected graph", ".graph"),
                Undirected::Hypergraph(_) => ("a hypergraph", ".hgr"),
            };
            let message = format!("the format '{}' holds {holds}s, and this is {this}", format.name);
            Err(FormatError::file(path, message).remedy(format!("use {extension}")))
        }
    }
}
