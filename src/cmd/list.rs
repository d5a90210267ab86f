//! `placebench list`: what there is to name.

use crate::output::Exit;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{anyhow, bail};
use clap::ValueEnum;
use placebench::algorithms::fairness::{Assumption, Law, size};
use placebench::algorithms::partition::registry::PARTITIONERS;
use placebench::algorithms::registry::{SCHEDULERS, placers};
use placebench::algorithms::{ParamSpec, Placer, RegistryEntry};
use placebench::base::significant::bytes_text;
use placebench::base::{Listed, nearest};
use placebench::datasets::catalogue::{self, CatalogueEntry};
use placebench::datasets::format::{FormatError, listing};
use placebench::generator::{
    COST_PARAMS, ClusterParams, FAMILIES, FamilyEntry, PASSES, PassEntry, cluster_preset, presets,
};
use placebench::harness::collection::COLLECTIONS;
use placebench::harness::execute::EXECUTORS;
use placebench::harness::execute::simulate::{NETWORK_MODELS, Noise};
use placebench::harness::results::{ColumnInfo, Metric};
use placebench::harness::shards::LAUNCHERS;
use placebench::harness::suite::BUILT_IN;
use serde::Serialize;

use crate::output::{Form, print};

mod clusters;
mod known;

/// Arguments of `list`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to list.
    #[arg(value_enum)]
    what: Option<What>,

    /// Only this one, with all that is known of it: as in 'list placers heft'.
    #[arg(requires = "what", conflicts_with = "markdown")]
    name: Option<String>,

    /// Print placers or schedulers as the Markdown table of docs/METHODOLOGY.md, generators as that of docs/GENERATORS.md,
    /// passes as that of docs/PASSES.md, best-known as those of docs/BEST-KNOWN.md, columns as that of docs/FORMATS.md, or
    /// partitioners as one like them.
    #[arg(long, requires = "what", conflicts_with = "json")]
    markdown: bool,

    /// Lists parameters and all else that is known, too. JSON always has it.
    #[arg(long, short, conflicts_with = "markdown")]
    verbose: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Graphs of the catalogue.
    Graphs,
    /// Families of generated graphs with their parameters.
    Generators,
    /// Presets of families of graphs.
    Presets,
    /// Passes that change graphs, with their parameters.
    Passes,
    /// Presets of the cluster generator.
    Clusters,
    /// Placers with their parameters.
    Placers,
    /// Partitioners with their parameters.
    Partitioners,
    /// Schedulers with their parameters.
    Schedulers,
    /// Built-in suites.
    Suites,
    /// Network models.
    Networks,
    /// Executors.
    Executors,
    /// What can vary in a simulation under noise.
    Noise,
    /// What runs shards.
    Launchers,
    /// Collections that `dataset` makes.
    Collections,
    /// Known solutions of the instances of collections, the best first.
    BestKnown,
    /// What authors of placers assume.
    Assumptions,
    /// File formats.
    Formats,
    /// Columns of result tables, and the metrics that follow from them.
    Columns,
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    if let (true, Some(what)) = (args.markdown, args.what) {
        print(&markdown(what)?)?;
        return Ok(Exit::SUCCESS);
    }
    let wanted = What::value_variants().iter().filter(|&&what| args.what.is_none_or(|wanted| wanted == what));
    let mut listed = Vec::new();
    for &what in wanted {
        let name = what.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        listed.push((name, items(what)?));
    }
    if let (Some(name), [(_, items)]) = (&args.name, listed.as_mut_slice()) {
        *items = vec![named(name, std::mem::take(items), &args.what)?];
    }
    let answer: BTreeMap<&String, &Vec<Item>> = listed.iter().map(|(name, items)| (name, items)).collect();
    // What machines are made of is what one asks for.
    let is_whole = args.verbose || args.name.is_some() || args.what == Some(What::Clusters);
    form.print(&answer, || text(&listed, args.what, is_whole))?;
    Ok(Exit::SUCCESS)
}

/// A line for each item and, of the whole, for each of its details.
fn text(listed: &[(String, Vec<Item>)], what: Option<What>, is_whole: bool) -> String {
    let mut text = String::new();
    for (index, (name, items)) in listed.iter().enumerate() {
        if what.is_none() {
            text.push_str(&format!("{}{name}\n", if index == 0 { "" } else { "\n" }));
        }
        for Item { name, description, details, size } in items {
            let size = size.as_ref().map(GraphSize::text).unwrap_or_default();
            text.push_str(&format!("  {name:<24} {size}{description}\n"));
            for Detail { name, description } in details.iter().filter(|_| is_whole) {
                text.push_str(&format!("  {:<24} {description}\n", format!("  {name}")));
            }
        }
    }
    if what.is_none_or(|what| what == What::Graphs) {
        text.push_str("\nThe bytes of a graph are those of all its tensors. Unless --kinds says otherwise, its ops run on no CPU where an\n\
             accelerator can run them: accelerators_only\n");
    }
    if what.is_none_or(|what| matches!(what, What::Placers | What::Schedulers | What::Generators | What::Presets)) {
        text.push_str(SOURCES);
    }
    if let Some((what, item)) = listed
        .iter()
        .find_map(|(what, items)| Some((what, items.iter().find(|item| !item.details.is_empty() && !is_whole)?)))
    {
        text.push_str(&format!("Parameters and more: 'placebench list {what} {}', or of all --verbose\n", item.name));
    }
    text
}

/// What the letters in the descriptions stand for.
const SOURCES: &str = "\nSources: L Laich 2017, B Bahnmüller 2018, T Tolstobrov, W the TensorFlow whitepaper\n";

/// Something to name: its name and what it is, then its parameters and the like.
#[derive(Serialize)]
struct Item {
    name: String,
    description: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<Detail>,
    #[serde(flatten)]
    size: Option<GraphSize>,
}

/// A parameter, or something else that there is to say of an item.
#[derive(Serialize)]
struct Detail {
    name: String,
    description: String,
}

impl Item {
    fn new(name: &str, description: impl Into<String>) -> Self {
        Self { name: name.to_owned(), description: description.into(), details: Vec::new(), size: None }
    }
}

/// How large a graph of the catalogue is.
#[derive(Serialize)]
struct GraphSize {
    nodes: usize,
    edges: usize,
    total_tensor_bytes: u64,
}

impl GraphSize {
    fn text(&self) -> String {
        format!("{:>5} ops {:>6} edges {:>8}  ", self.nodes, self.edges, bytes_text(self.total_tensor_bytes as f64))
    }
}

/// The item of a name.
fn named(name: &str, items: Vec<Item>, what: &Option<What>) -> anyhow::Result<Item> {
    let near = nearest(name, items.iter().map(|item| item.name.as_str()));
    let what = what.and_then(|what| what.to_possible_value()).map(|value| value.get_name().to_owned());
    let what = what.unwrap_or_default();
    items.into_iter().find(|item| item.name == name).ok_or_else(|| match near {
        Some(near) => anyhow!("no '{name}' among {what}: did you mean '{near}'?"),
        None => anyhow!("no '{name}' among {what}: see 'placebench list {what}'"),
    })
}

/// All names that can be listed, each once, for shells: a name of several words is left out.
pub(super) fn names() -> anyhow::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for &what in What::value_variants() {
        names.extend(items(what)?.into_iter().map(|item| item.name).filter(|name| !name.contains(' ')));
    }
    Ok(names)
}

fn items(what: What) -> anyhow::Result<Vec<Item>> {
    Ok(match what {
        What::Placers => placers().map(algorithm).collect(),
        What::Partitioners => PARTITIONERS.iter().map(algorithm).collect(),
        What::Schedulers => SCHEDULERS.iter().map(algorithm).collect(),
        What::Suites => {
            let suites = BUILT_IN.iter().map(|built_in| Ok(Item::new(built_in.name, built_in.suite()?.title)));
            suites.collect::<anyhow::Result<_>>()?
        }
        What::Graphs => catalogue::entries().iter().map(graph).collect::<Result<_, _>>()?,
        What::Generators => FAMILIES.iter().map(family).collect(),
        What::Passes => PASSES.iter().map(pass).collect(),
        What::Presets => presets().into_iter().map(|preset| Item::new(preset.name, preset.summary)).collect(),
        What::Clusters => {
            let presets = ClusterParams::PRESETS.iter().filter_map(|&name| Some((name, cluster_preset(name, 0)?)));
            presets.map(|(name, cluster)| Ok(clusters::item(name, &cluster?))).collect::<anyhow::Result<_>>()?
        }
        What::Networks => NETWORK_MODELS.iter().map(|&model| listed(model)).collect(),
        What::Executors => EXECUTORS.iter().map(listed).collect(),
        What::Noise => Noise::params().into_iter().map(|param| noise(&param)).collect(),
        What::Launchers => LAUNCHERS.iter().map(listed).collect(),
        What::Collections => COLLECTIONS.iter().map(listed).collect(),
        What::BestKnown => known::items()?,
        What::Assumptions => Assumption::ALL.iter().map(|own| Item::new(own.name(), own.doc())).collect(),
        What::Formats => listing().map(|(name, text)| Item::new(name, text)).collect(),
        What::Columns => {
            let derived = Metric::derived().into_iter().map(|metric| {
                let meaning = format!("(a metric that no column holds) {}", metric.meaning());
                Item::new(metric.column(), &meaning)
            });
            ColumnInfo::documented().map(|column| Item::new(&column.name, column.meaning())).chain(derived).collect()
        }
    })
}

/// An entry of a table that has nothing more to say.
fn listed<T: Listed + ?Sized>(entry: &T) -> Item {
    Item::new(entry.name(), entry.summary())
}

/// A parameter of noise.
fn noise(param: &ParamSpec) -> Item {
    Item::new(&format!("{}={}", param.name, param.default), &*param.doc)
}

/// A graph of the catalogue with its size.
fn graph(entry: &CatalogueEntry) -> Result<Item, FormatError> {
    let (header, graph) = entry.load()?;
    let tensors = graph.op_ids().flat_map(|op| graph.outputs(op));
    let total_tensor_bytes = tensors.map(|tensor| graph.tensor_bytes(tensor)).sum();
    let size = GraphSize { nodes: graph.op_count(), edges: graph.edge_count(), total_tensor_bytes };
    Ok(Item { size: Some(size), ..Item::new(entry.name, header.title) })
}

/// A family with its parameters.
fn family(entry: &FamilyEntry) -> Item {
    let undirected = if entry.is_undirected { "undirected: " } else { "" };
    let head = Item::new(entry.name, format!("{undirected}{} ({})", entry.summary, entry.source));
    Item { details: entry.params().into_iter().map(detail).collect(), ..head }
}

/// A pass with its parameters.
fn pass(entry: &PassEntry) -> Item {
    let head = Item::new(entry.name, format!("{} ({})", entry.summary, entry.source));
    Item { details: entry.params().into_iter().map(detail).collect(), ..head }
}

/// An algorithm with its parameters, and what is to be known of its fairness.
fn algorithm<T: ?Sized>(entry: &RegistryEntry<T>) -> Item {
    let params = entry.params().into_iter().map(detail);
    let assumes = assumptions(entry).map(|description| Detail { name: "assumes".to_owned(), description }).into_iter();
    let exceptions = entry.exceptions.iter().map(|exception| Detail {
        name: format!("breaks {}", exception.law.name()),
        description: exception.reason.to_owned(),
    });
    let sizes = Law::ALL.into_iter().filter_map(|law| {
        let percent = (size(&entry.name, law)? - 1.0) * 100.0;
        let description = format!("makespans on a real graph typically differ by {percent:.0} % under {}", law.name());
        Some(Detail { name: "size".to_owned(), description })
    });
    let details = params.chain(assumes).chain(exceptions).chain(sizes).collect();
    Item { details, ..Item::new(&entry.name, format!("{} ({})", entry.summary, entry.source)) }
}

/// A parameter with its default.
fn detail(param: ParamSpec) -> Detail {
    Detail { name: format!("{}={}", param.name, param.default), description: param.doc }
}

/// What the authors of an algorithm take for granted, if anything.
fn assumptions<T: ?Sized>(entry: &RegistryEntry<T>) -> Option<String> {
    let names: Vec<&str> = entry.assumes.iter().map(|assumption| assumption.name()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// A table with a row for each algorithm.
fn markdown(what: What) -> anyhow::Result<String> {
    let (title, rows): (&str, Vec<String>) = match what {
        What::Placers => return Ok(placers_markdown()),
        What::Partitioners => ("partitioner", PARTITIONERS.iter().map(markdown_row).collect()),
        What::Schedulers => ("scheduler", SCHEDULERS.iter().map(markdown_row).collect()),
        What::Generators => ("family", FAMILIES.iter().map(family_row).collect()),
        What::Passes => ("pass", PASSES.iter().map(pass_row).collect()),
        What::BestKnown => return known::markdown(),
        What::Columns => return Ok(format!("{}\n{}", ColumnInfo::markdown(), Metric::markdown())),
        _ => bail!("--markdown is for placers, partitioners, schedulers, generators, passes, best-known and columns"),
    };
    Ok(format!("| {title} | what it does | source | parameters |\n|---|---|---|---|\n{}", rows.concat()))
}

/// A row of a family, without the parameters that all families share.
fn family_row(entry: &FamilyEntry) -> String {
    let params = entry.params();
    let own = params.iter().filter(|param| !COST_PARAMS.contains(&param.name));
    let own: Vec<String> = own.map(|param| format!("`{}={}`", param.name, param.default)).collect();
    let name = if entry.is_undirected { format!("{} (undirected)", entry.name) } else { entry.name.to_owned() };
    format!("| {name} | {} | {} | {} |\n", entry.summary, entry.source, own.join(", "))
}

/// A row of a pass.
fn pass_row(entry: &PassEntry) -> String {
    let params: Vec<String> =
        entry.params().iter().map(|param| format!("`{}={}`", param.name, param.default)).collect();
    format!("| {} | {} | {} | {} |\n", entry.name, entry.summary, entry.source, params.join(", "))
}

/// The placers, with what is taken for granted and the laws of fairness that are not kept.
fn placers_markdown() -> String {
    let row = |entry: &RegistryEntry<dyn Placer>| {
        let law = |&law: &Law| {
            let is_declared = entry.exceptions.iter().any(|exception| exception.law == law);
            let size = size(&entry.name, law).map(|size| format!(" ({:.0} %)", (size - 1.0) * 100.0));
            (is_declared || size.is_some()).then(|| format!("{}{}", law.name(), size.unwrap_or_default()))
        };
        let laws: Vec<String> = Law::ALL.iter().filter_map(law).collect();
        let base = markdown_row(entry);
        format!("{} {} | {} |\n", base.trim_end(), assumptions(entry).unwrap_or_default(), laws.join(", "))
    };
    let rows: String = placers().map(row).collect();
    let head = "| placer | what it does | source | parameters | assumes | breaks |\n|---|---|---|---|---|---|\n";
    format!("{head}{rows}")
}

fn markdown_row<T: ?Sized>(entry: &RegistryEntry<T>) -> String {
    let params = entry.params().iter().map(|param| format!("`{}={}`", param.name, param.default)).collect::<Vec<_>>();
    format!("| {} | {} | {} | {} |\n", entry.name, entry.summary, entry.source, params.join(", "))
}
