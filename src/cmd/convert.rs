//! `placebench convert`: from any graph format to any other, and clusters likewise.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::partition::undirected_format;
use crate::output::print;
use anyhow::{Context, bail};
use placebench::datasets::format::graphdef::{self, LoopPolicy, ReadOptions};
use placebench::datasets::format::undirected::{
    Undirected, UndirectedFormat, read_undirected, write_hmetis, write_undirected,
};
use placebench::datasets::format::{self, GraphHeader};
use placebench::datasets::{Cluster, DataflowGraph, View, ViewOptions};
use placebench::harness::problem::{ClusterEntry, GraphEntry};

/// Arguments of `convert`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to read: a graph folder, .csv, .pb, .pbtxt, a folder of the TensorFlow extractor, a catalogue name or a preset;
    /// with --cluster a .toml or .csv file, or a cluster preset.
    input: String,

    /// What to write: .csv, .pb, .pbtxt, .dot, or without extension a graph folder; .graph, .mtx, .edges or .pbedges for
    /// the undirected view, .hgr for the hypergraph of tensors; with --cluster .toml or .csv.
    output: PathBuf,

    /// Converts a cluster instead of a graph.
    #[arg(long)]
    cluster: bool,

    /// What to do with cycles in a GraphDef: reject, next_iteration (open TensorFlow's loops), drop (the last edge of each cycle).
    #[arg(long, default_value = "reject")]
    cycles: LoopPolicy,

    /// Does not colocate the consumers of a reference with their variable.
    #[arg(long)]
    no_references: bool,

    /// Seed of presets.
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// Replaces an existing output.
    #[arg(long, short)]
    force: bool,
}

pub(crate) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let output = &args.output;
    if output.exists() && !args.force {
        bail!("{}: exists: --force replaces it", output.display());
    }
    if args.cluster {
        let cluster = ClusterEntry::named(&args.input)?.load(args.seed)?;
        write_cluster(output, &cluster)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(format) = UndirectedFormat::of_path(output) {
        return convert_undirected(args, format);
    }
    let input = Path::new(&args.input);
    let (header, graph) = match extension(input) {
        "pb" | "pbtxt" => {
            let options = ReadOptions { cycles: args.cycles, colocate_references: !args.no_references };
            let (graph, report) = graphdef::read_graph_def(input, &options)?;
            print(&format!("{report}\n"))?;
            (GraphHeader::named(input.file_stem().unwrap_or_default().to_string_lossy()), graph)
        }
        _ => GraphEntry::named(&args.input)?.load(args.seed)?,
    };
    write_graph(output, &header, &graph)?;
    print(&format!("{}: {} ops, {} edges\n", output.display(), graph.op_count(), graph.edge_count()))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the undirected view of a dataflow graph, or its hypergraph, or converts between such formats.
fn convert_undirected(args: &Args, format: UndirectedFormat) -> anyhow::Result<ExitCode> {
    let read = match undirected_format(&args.input) {
        Some(format) => read_undirected(Path::new(&args.input), format, false)?,
        None => {
            let (_, graph) = GraphEntry::named(&args.input)?.load(args.seed)?;
            seen_as(&graph, format).with_context(|| args.input.clone())?
        }
    };
    let output = args.output.display();
    let text = match read {
        Undirected::Graph(graph) => {
            write_undirected(&args.output, format, &graph)?;
            format!("{output}: {} vertices, {} edges\n", graph.vertex_count(), graph.edge_count())
        }
        Undirected::Hypergraph(nets) if format == UndirectedFormat::Hmetis => {
            write_hmetis(&args.output, &nets)?;
            format!("{output}: {} vertices, {} nets\n", nets.vertex_count(), nets.net_count())
        }
        Undirected::Hypergraph(_) => bail!("{}: is a hypergraph, and {output} would be a graph: use .hgr", args.input),
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What a format of partitioners can hold of a dataflow graph.
fn seen_as(graph: &DataflowGraph, format: UndirectedFormat) -> anyhow::Result<Undirected> {
    let view = View::of_graph(graph, ViewOptions::default())?;
    Ok(match format {
        UndirectedFormat::Hmetis => Undirected::Hypergraph(view.hypergraph(graph)?),
        UndirectedFormat::Metis => Undirected::Graph(view.graph().clone()),
        // The others have no weights of vertices, and the last none at all.
        UndirectedFormat::BinaryEdges => {
            Undirected::Graph(view.graph().clone().without_vertex_weights().without_edge_weights())
        }
        _ => Undirected::Graph(view.graph().clone().without_vertex_weights()),
    })
}

/// Writes a dataflow graph's undirected view or hypergraph.
pub(super) fn write_view(path: &Path, format: UndirectedFormat, graph: &DataflowGraph) -> anyhow::Result<()> {
    match seen_as(graph, format).with_context(|| path.display().to_string())? {
        Undirected::Graph(graph) => write_undirected(path, format, &graph)?,
        Undirected::Hypergraph(nets) => write_hmetis(path, &nets)?,
    }
    Ok(())
}

/// Writes a graph in the format of the path's extension.
pub(super) fn write_graph(path: &Path, header: &GraphHeader, graph: &DataflowGraph) -> anyhow::Result<()> {
    match extension(path) {
        // An existing graph folder is replaced as a whole; any other folder is refused.
        "" => format::write_native(path, header, graph)?,
        "csv" => format::write_csv(path, graph)?,
        "pb" | "pbtxt" => graphdef::write_graph_def(path, graph)?,
        "dot" => format::write_dot(path, graph)?,
        other => bail!(
            "{}: unknown graph format '.{other}': use .csv, .pb, .pbtxt, .dot, or no extension for a folder",
            path.display()
        ),
    }
    Ok(())
}

/// Writes a cluster in the format of the path's extension.
pub(super) fn write_cluster(path: &Path, cluster: &Cluster) -> anyhow::Result<()> {
    match extension(path) {
        "toml" => format::write_cluster_toml(path, cluster)?,
        "csv" => format::write_cluster_csv(path, cluster)?,
        other => bail!("{}: unknown cluster format '.{other}': use .toml or .csv", path.display()),
    }
    Ok(())
}

pub(super) fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}
