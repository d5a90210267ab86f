//! `placebench inspect`: the property sheet of a graph.

mod edges;

use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use placebench::datasets::Properties;
use placebench::harness::problem::{ClusterEntry, GraphEntry};

use crate::output::print;

/// Arguments of `inspect`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A graph of the catalogue, a preset, or a file in any format that `convert` reads. Or edges of any number, as 'generate
    /// --stream' makes them: a folder of parts, or a file .parquet, .pbedges or .edges.
    graph: String,

    /// Also relates communication to computation (CCR) on this cluster: a preset or a file.
    #[arg(long, short)]
    cluster: Option<String>,

    /// Seed of presets.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

pub(crate) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let path = Path::new(&args.graph);
    if edges::are_at(path) {
        if args.cluster.is_some() {
            bail!("--cluster is for dataflow graphs, and {} has edges alone: leave it out", args.graph);
        }
        print(&edges::sheet(path)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (header, graph) = GraphEntry::named(&args.graph)?.load(args.seed)?;
    let cluster = args.cluster.as_deref().map(|cluster| ClusterEntry::named(cluster)?.load(args.seed)).transpose()?;
    let properties = Properties::of(&graph, cluster.as_ref());
    let mut text = format!("{}\n", header.name);
    if !header.title.is_empty() {
        text.push_str(&format!("{}\n", header.title));
    }
    text.push_str(&format!("\n{properties}"));
    if !header.provenance.is_empty() {
        text.push_str(&format!("\nprovenance\n{}", indented(&header.provenance.to_string())));
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
