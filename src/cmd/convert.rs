//! `placebench convert`: from any graph format to any other, and clusters likewise.

use crate::output::Exit;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use placebench::datasets::catalogue;
use placebench::datasets::format::undirected::{Undirected, read_undirected, write_undirected};
use placebench::datasets::format::{self, Format, GraphFile, Holds, Loss, format_marks, undirected_format};
use placebench::generator::GraphParams;
use placebench::harness::problem::{ClusterEntry, GraphEntry, passed_header};
use serde::Serialize;

use super::passes::PassArgs;
use super::read::ReadArgs;
use crate::output::{Form, check_outputs, shown};

/// Arguments of `convert`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(help = format!(
        "What to read: {}; a catalogue name or a preset; with --cluster {}, or a cluster preset. See 'placebench list formats'",
        format_marks(|holds| matches!(holds, Holds::Graph { read: Some(_), .. })),
        format_marks(|holds| matches!(holds, Holds::Cluster { .. }))
    ))]
    input: String,

    #[arg(help = format!(
        "What to write, by its extension (without one, a graph folder): {}; {} for the undirected view, {} for the hypergraph of tensors; with --cluster {}",
        format_marks(|holds| matches!(holds, Holds::Graph { write: Some(_), .. })),
        format_marks(|holds| matches!(holds, Holds::Undirected { .. })),
        format_marks(|holds| matches!(holds, Holds::Hypergraph { .. })),
        format_marks(|holds| matches!(holds, Holds::Cluster { write: Some(_), .. }))
    ))]
    output: PathBuf,

    /// Converts a cluster instead of a graph.
    #[arg(long)]
    cluster: bool,

    #[command(flatten)]
    read: ReadArgs,

    /// Refuses to write what the format cannot hold. Without it, what is lost is named on standard error.
    #[arg(long)]
    strict: bool,

    #[command(flatten)]
    passes: PassArgs,

    /// Seed of presets.
    #[arg(long, default_value_t = 0, value_parser = super::number::seed)]
    seed: u64,

    /// Replaces an existing output.
    #[arg(long, short)]
    force: bool,
}

/// What the verb answers.
#[derive(Default, Serialize)]
struct Answer {
    nodes: Option<usize>,
    edges: Option<usize>,
    nets: Option<usize>,
    devices: Option<usize>,
    /// What the reader did to the graph.
    report: Option<String>,
    /// What the graph loses in the format.
    losses: Vec<String>,
    files: Vec<String>,
    /// The size in words; nothing of a cluster.
    #[serde(skip)]
    size: Option<String>,
}

impl Answer {
    /// The lines on standard output.
    fn text(&self) -> String {
        let size = self.size.as_ref().map(|size| format!("{}: {size}", self.files.join(", ")));
        self.report.iter().chain(&size).map(|line| format!("{line}\n")).collect()
    }
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    let output = &args.output;
    if output.exists() && !args.force {
        bail!("{}: exists: --force replaces it", output.display());
    }
    check_outputs([output.as_path()], [Path::new(&args.input)])?;
    let mut answer = Answer { files: vec![shown(output)], ..Answer::default() };
    if args.cluster {
        args.read.refuse("a cluster")?;
        refuse_passes(args, "a cluster")?;
        let cluster = ClusterEntry::named(&args.input)?.load(args.seed)?;
        format::write_cluster(output, &cluster)?;
        answer.devices = Some(cluster.device_count());
    } else if let Some(format) = undirected_format(output) {
        let what = read_as_undirected(args, format, &mut answer)?;
        write_undirected(output, format, &what)?;
        answer.size = Some(what.to_string());
        match &what {
            Undirected::Graph(graph) => {
                (answer.nodes, answer.edges) = (Some(graph.vertex_count()), Some(graph.edge_count()));
            }
            Undirected::Hypergraph(nets) => {
                (answer.nodes, answer.nets) = (Some(nets.vertex_count()), Some(nets.net_count()));
            }
        }
    } else {
        let GraphFile { header, graph, .. } = read_dataflow(args, &mut answer)?;
        let format = format::graph_format(output)?;
        check_losses(args, format, &format.losses(&header, &graph), &mut answer)?;
        format::write_graph(output, &header, &graph)?;
        (answer.nodes, answer.edges) = (Some(graph.op_count()), Some(graph.edge_count()));
        answer.size = Some(format!("{} ops, {} edges", graph.op_count(), graph.edge_count()));
    }
    form.print(&answer, || answer.text())?;
    Ok(Exit::SUCCESS)
}

/// Reads a dataflow graph: a name of the catalogue, a preset, or a file.
fn read_dataflow(args: &Args, answer: &mut Answer) -> anyhow::Result<GraphFile> {
    let path = Path::new(&args.input);
    let is_name = catalogue::find(&args.input).is_ok() || GraphParams::preset(&args.input).is_some();
    if is_name || !path.exists() {
        let named = GraphEntry::named(&args.input)?;
        args.read.refuse(&format!("'{}'", args.input))?;
        let (header, passed) = named.with(&args.passes.passes()?)?.passed(args.seed)?;
        answer.report = report(None, &passed.lines);
        return Ok(GraphFile { header, graph: passed.graph, report: None });
    }
    let passes = args.passes.passes()?;
    let GraphFile { header, graph, report: read } = format::read_graph_with(path, &args.read.options())?;
    let passed = passes.apply(graph).with_context(|| args.input.clone())?;
    let header = passed_header(header, &passes);
    answer.report = report(read.as_ref().map(ToString::to_string), &passed.lines);
    Ok(GraphFile { header, graph: passed.graph, report: read })
}

/// What the reader and the passes did to the graph, a line each.
fn report(read: Option<String>, passes: &[String]) -> Option<String> {
    let lines: Vec<String> = read.into_iter().chain(passes.iter().cloned()).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Reads what a format of undirected graphs or hypergraphs can hold: a file of such a format as it is, or a dataflow
/// graph's view.
fn read_as_undirected(args: &Args, format: &Format, answer: &mut Answer) -> anyhow::Result<Undirected> {
    match undirected_format(&args.input) {
        Some(of_input) => {
            args.read.refuse(&format!("'{}'", args.input))?;
            refuse_passes(args, &format!("'{}'", args.input))?;
            let what = read_undirected(Path::new(&args.input), of_input, false)?;
            check_losses(args, format, &format.losses_of(&what), answer)?;
            Ok(what)
        }
        None => {
            let GraphFile { header, graph, .. } = read_dataflow(args, answer)?;
            check_losses(args, format, &format.losses(&header, &graph), answer)?;
            Undirected::of_dataflow(&graph, format).with_context(|| args.input.clone())
        }
    }
}

/// Names what the graph loses in a format, or refuses to lose it.
fn check_losses(args: &Args, format: &Format, losses: &[Loss], answer: &mut Answer) -> anyhow::Result<()> {
    answer.losses = losses.iter().map(ToString::to_string).collect();
    if answer.losses.is_empty() {
        return Ok(());
    }
    let losses = answer.losses.join(", ");
    let message = format!("{}: the format '{}' loses {losses}", args.output.display(), format.name);
    match args.strict {
        true => bail!("{message}: write another format, or leave out --strict"),
        false => {
            eprintln!("{message}");
            Ok(())
        }
    }
}

/// Refuses passes over what is no dataflow graph.
fn refuse_passes(args: &Args, input: &str) -> anyhow::Result<()> {
    match args.passes.passes()?.is_empty() {
        true => Ok(()),
        false => bail!("--pass is for dataflow graphs, not for {input}: leave it out"),
    }
}
