//! `placebench inspect`: the property sheet of a graph.

mod edges;

use crate::output::Exit;
use std::path::Path;

use anyhow::bail;
use placebench::datasets::format::{GraphFile, read_graph_with};
use placebench::datasets::{Kinds, Properties};
use placebench::harness::problem::{ClusterEntry, GraphEntry};
use serde::Serialize;

use super::read::ReadArgs;
use crate::output::Form;

/// Arguments of `inspect`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A graph of the catalogue, a preset, or a file in any format that `convert` reads. Or edges of any number, as 'generate
    /// --stream' makes them: a folder of parts, or a file .parquet, .pbedges or .edges.
    graph: String,

    /// Also relates communication to computation (CCR) on this cluster: a preset or a file.
    #[arg(long, short)]
    cluster: Option<String>,

    #[command(flatten)]
    read: ReadArgs,

    /// Seed of presets and passes [default: 0].
    #[arg(long, value_parser = super::number::seed)]
    seed: Option<u64>,
}

/// What the verb answers of a dataflow graph.
#[derive(Serialize)]
struct Answer<'a> {
    name: &'a str,
    title: &'a str,
    #[serde(flatten)]
    properties: &'a Properties,
    /// Which of the kinds that ops have kernels for they may run on.
    kind_rule: Kinds,
    provenance: &'a toml::Table,
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    let path = Path::new(&args.graph);
    if edges::are_at(path) {
        if args.cluster.is_some() {
            bail!("--cluster is for dataflow graphs, and {} has edges alone: leave it out", args.graph);
        }
        args.read.refuse(&args.graph)?;
        refuse_seed(args)?;
        let sheet = edges::Sheet::of(path)?;
        form.print(&sheet, || sheet.text())?;
        return Ok(Exit::SUCCESS);
    }
    let (header, graph) = match args.read.is_empty() {
        true => {
            let entry = GraphEntry::named(&args.graph)?;
            if entry.params()?.is_none() && entry.passes.is_empty() {
                refuse_seed(args)?;
            }
            entry.load(args.seed.unwrap_or_default())?
        }
        false => {
            refuse_seed(args)?;
            if !path.exists() {
                args.read.refuse(&format!("'{}'", args.graph))?;
            }
            let GraphFile { header, graph, .. } = read_graph_with(path, &args.read.options())?;
            (header, graph)
        }
    };
    let cluster = args
        .cluster
        .as_deref()
        .map(|cluster| ClusterEntry::named(cluster)?.load(args.seed.unwrap_or_default()))
        .transpose()?;
    let properties = Properties::of(&graph, cluster.as_ref());
    let provenance = header.provenance.to_string();
    let (name, title) = (&header.name, &header.title);
    let answer =
        Answer { name, title, properties: &properties, kind_rule: header.kinds, provenance: &header.provenance };
    form.print(&answer, || {
        let mut text = format!("{name}\n");
        if !title.is_empty() {
            text.push_str(&format!("{title}\n"));
        }
        text.push_str(&format!("rule of kinds: {}\n\n{properties}", header.kinds));
        if !header.provenance.is_empty() {
            text.push_str(&format!("\nprovenance\n{}", indented(&provenance)));
        }
        text
    })?;
    Ok(Exit::SUCCESS)
}

/// Refuses a seed that nothing would be drawn with.
fn refuse_seed(args: &Args) -> anyhow::Result<()> {
    match args.seed {
        Some(_) if args.cluster.is_none() => {
            bail!("--seed is for what is drawn, and '{}' is not: leave it out", args.graph)
        }
        _ => Ok(()),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
