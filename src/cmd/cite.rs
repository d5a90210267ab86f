//! `placebench cite`: what to cite for a run or a graph.

use crate::output::Exit;
use std::path::Path;

use anyhow::anyhow;
use placebench::harness::problem::GraphEntry;
use placebench::harness::runner::{open_run, read_suite};
use placebench::reports::{UsedThing, bibtex};
use serde::Serialize;

use crate::output::Form;

const EXAMPLES: &str = "\
Examples:
  placebench cite runs/default > sources.bib
  placebench cite 'gpt2+microbatch(8)'
  placebench cite";

/// Arguments of `cite`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder of a run, finished or not; or a graph: of the catalogue, a preset or family, or a file [default: placebench
    /// alone].
    what: Option<String>,
}

/// What the verb answers.
#[derive(Serialize)]
struct Answer<'a> {
    used: Vec<Item<'a>>,
    bibtex: String,
}

/// Something that was used.
#[derive(Serialize)]
struct Item<'a> {
    what: &'a str,
    name: &'a str,
    keys: Vec<&'a str>,
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    let used = match args.what.as_deref() {
        None => vec![UsedThing::itself()],
        // A folder of a run has its suite; a folder of a graph has none.
        Some(run) if Path::new(run).join("suite.toml").is_file() => {
            UsedThing::by_run(&open_run(Path::new(run))?, &read_suite(Path::new(run))?.1?)?
        }
        Some(graph) => {
            if let Some(undirected) =
                Some(graph).filter(|file| !Path::new(file).exists()).and_then(UsedThing::undirected)
            {
                vec![UsedThing::itself(), undirected.map_err(|error| anyhow!(error))?]
            } else {
                directed(graph)?
            }
        }
    };
    let items = used.iter().map(Item::of).collect();
    let text = bibtex(&used);
    form.print(&Answer { used: items, bibtex: text.clone() }, || text)?;
    Ok(Exit::SUCCESS)
}

/// What a dataflow graph uses.
fn directed(graph: &str) -> anyhow::Result<Vec<UsedThing>> {
    let graph = GraphEntry::named(graph)?;
    // A file or a folder has to be a graph, and only reading it tells.
    if graph.file.is_some() {
        graph.load(0)?;
    }
    let mut used = vec![UsedThing::itself()];
    used.extend(UsedThing::graph(&graph)?);
    Ok(used)
}

impl<'a> Item<'a> {
    fn of(thing: &'a UsedThing) -> Self {
        let UsedThing { what, name, works } = thing;
        Self { what, name, keys: works.iter().map(|work| work.key).collect() }
    }
}
