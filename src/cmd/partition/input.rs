//! The graph that is partitioned: what it is read from, and what a partitioner sees of it.

use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use placebench::algorithms::partition::{NetWeight, Partitioner};
use placebench::datasets::format::undirected::{Undirected, read_partition, read_undirected};
use placebench::datasets::format::{Format, Holds, undirected_format, undirected_format_named};
use placebench::datasets::{
    DataflowGraph, EdgeWeight, Hypergraph, Instance, UndirectedGraph, VertexWeight, Vertices, View, ViewOptions,
};
use placebench::harness::problem::{ClusterEntry, GraphEntry};

use super::Args;

/// Where the graph that a partitioner sees comes from.
pub(super) enum Seen {
    Undirected(UndirectedGraph),
    Dataflow(Arc<DataflowGraph>, View),
}

/// A graph to be partitioned.
pub(super) struct Input {
    /// Name for files.
    pub(super) name: String,
    /// What it is, in words.
    pub(super) what: String,
    pub(super) seen: Seen,
    /// What communication is counted on, if there is more than the graph.
    pub(super) nets: Option<Arc<Hypergraph>>,
    /// Whether edges weigh bytes.
    pub(super) bytes: bool,
}

impl Input {
    /// Reads what the options name.
    pub(super) fn read(args: &Args) -> anyhow::Result<Self> {
        let named = |name| undirected_format_named(name).map_err(|error| anyhow!("--format: {error}"));
        let format = args.format.as_deref().map(named);
        match format.transpose()?.or_else(|| undirected_format(&args.graph)) {
            Some(format) => Self::of_file(args, format),
            None => Self::of_dataflow(args),
        }
    }

    fn of_file(args: &Args, format: &Format) -> anyhow::Result<Self> {
        for (option, given) in [("--cluster", args.cluster.is_some()), ("--vertices units", args.vertices != "ops")] {
            if given {
                bail!("{option} is for dataflow graphs, and {} is read as {}: leave it out", args.graph, format.name);
            }
        }
        let is_count = |option: &str, text: &Option<String>| match text.as_deref() {
            None | Some("given") => Ok(false),
            Some("count") => Ok(true),
            Some(other) => {
                bail!("{option} is '{other}', and {} is read as {}: use given or count", args.graph, format.name)
            }
        };
        let (plain_vertices, plain_edges) =
            (is_count("--vertex-weight", &args.vertex_weight)?, is_count("--edge-weight", &args.edge_weight)?);
        let path = Path::new(&args.graph);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let input = |graph, nets| Self {
            name,
            what: format.name.to_owned(),
            seen: Seen::Undirected(graph),
            nets,
            bytes: false,
        };
        Ok(match read_undirected(path, format, plain_edges)? {
            Undirected::Graph(graph) => {
                input(if plain_vertices { graph.without_vertex_weights() } else { graph }, None)
            }
            Undirected::Hypergraph(nets) => {
                let nets = if plain_vertices { nets.without_vertex_weights() } else { nets };
                let graph = nets.to_graph().map_err(|error| {
                    anyhow!("{}: as a graph, {error}: divide all net weights by one number", path.display())
                })?;
                input(graph, Some(Arc::new(nets)))
            }
        })
    }

    fn of_dataflow(args: &Args) -> anyhow::Result<Self> {
        fn option<T: FromStr<Err = String> + Default>(name: &str, text: Option<&str>) -> anyhow::Result<T> {
            text.map_or_else(
                || Ok(T::default()),
                |text| text.parse().map_err(|error| anyhow!("{name} is '{text}': {error}")),
            )
        }
        let options = ViewOptions {
            vertices: option::<Vertices>("--vertices", Some(&args.vertices))?,
            vertex_weight: option::<VertexWeight>("--vertex-weight", args.vertex_weight.as_deref())?,
            edge_weight: option::<EdgeWeight>("--edge-weight", args.edge_weight.as_deref())?,
        };
        let (_, graph) = GraphEntry::named(&args.graph)?.load(args.seed)?;
        let graph = Arc::new(graph);
        let cluster =
            args.cluster.as_deref().map(|cluster| ClusterEntry::named(cluster)?.load(args.seed)).transpose()?;
        let view = match cluster {
            None => View::of_graph(&graph, options),
            Some(cluster) => View::of_instance(&Instance::new(Arc::clone(&graph), cluster)?, options),
        };
        let view = view.with_context(|| args.graph.clone())?;
        let nets = view.hypergraph(&graph).with_context(|| args.graph.clone())?;
        let path = Path::new(&args.graph);
        let of_path = path.file_name().filter(|_| path.exists()).map(|name| name.to_string_lossy().into_owned());
        let ViewOptions { vertices, vertex_weight, edge_weight } = options;
        Ok(Self {
            name: of_path.unwrap_or_else(|| args.graph.clone()),
            what: format!("dataflow graph; vertices are {vertices} and weigh {vertex_weight}, edges {edge_weight}"),
            seen: Seen::Dataflow(graph, view),
            nets: Some(Arc::new(nets)),
            bytes: edge_weight == EdgeWeight::Bytes,
        })
    }

    /// Whether the file is a hypergraph, by its format.
    pub(super) fn is_hypergraph(args: &Args) -> bool {
        let named = args.format.as_deref().and_then(|name| undirected_format_named(name).ok());
        named
            .or_else(|| undirected_format(&args.graph))
            .is_some_and(|format| matches!(format.holds, Holds::Hypergraph { .. }))
    }

    /// The nets that a partitioner is to look at, weighed as it wants them.
    pub(super) fn nets_for(&self, partitioner: &dyn Partitioner) -> anyhow::Result<Option<Arc<Hypergraph>>> {
        match (&self.seen, partitioner.counts_nets()) {
            (Seen::Dataflow(graph, view), Some(NetWeight::Edge)) => {
                Ok(Some(Arc::new(view.nets(graph).with_context(|| self.name.clone())?)))
            }
            _ => Ok(self.nets.clone()),
        }
    }

    /// Whether the vertices are in the order of all edges. Numbers alone order the vertices of an undirected graph.
    pub(super) fn keeps_order(&self) -> bool {
        match &self.seen {
            Seen::Undirected(_) => true,
            Seen::Dataflow(_, view) => view.keeps_order(),
        }
    }

    /// What the partitioner sees.
    pub(super) fn graph(&self) -> &UndirectedGraph {
        match &self.seen {
            Seen::Undirected(graph) => graph,
            Seen::Dataflow(_, view) => view.graph(),
        }
    }

    /// Reads a partition: a line for each vertex, or for each op of a dataflow graph.
    pub(super) fn read_partition(&self, path: &Path, blocks: Option<u32>) -> anyhow::Result<Vec<u32>> {
        let (graph, view) = match &self.seen {
            Seen::Undirected(graph) => return Ok(read_partition(path, graph.vertex_count(), blocks)?),
            Seen::Dataflow(graph, view) => (graph, view),
        };
        let block_of_op = read_partition(path, graph.op_count(), blocks)?;
        view.blocks_of_vertices(&block_of_op).map_err(|(first, second)| {
            anyhow!(
                "{}:{}: {} is colocated with {}, on line {}, but in another block: give both one block, or use --vertices ops",
                path.display(),
                second.index() + 1,
                graph.label(second),
                graph.label(first),
                first.index() + 1
            )
        })
    }
}
