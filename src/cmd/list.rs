//! `placebench list`: what there is to name.

use std::process::ExitCode;

use anyhow::{anyhow, bail};
use clap::ValueEnum;
use placebench::algorithms::fairness::Assumption;
use placebench::algorithms::partition::registry::PARTITIONERS;
use placebench::algorithms::registry::{SCHEDULERS, placers};
use placebench::algorithms::{Entry, Placer};
use placebench::datasets::format::listing;
use placebench::datasets::{Cluster, Kind, catalogue, nearest};
use placebench::generator::{COST_PARAMS, ClusterParams, FAMILIES, FamilyEntry, cluster_preset, presets};
use placebench::harness::execute::EXECUTORS;
use placebench::harness::execute::simulate::NETWORK_MODELS;
use placebench::harness::suite::BUILT_IN;

use crate::output::print;

/// Arguments of `list`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to list.
    #[arg(value_enum)]
    what: Option<What>,

    /// Only this one, with all that is known of it: as in 'list placers heft'.
    #[arg(requires = "what", conflicts_with = "markdown")]
    name: Option<String>,

    /// Prints JSON: for each thing to list an array of objects with name, description and, where there are any, details.
    #[arg(long, conflicts_with = "markdown")]
    json: bool,

    /// Print placers, partitioners or schedulers as the Markdown table of docs/METHODOLOGY.md, or generators as that of
    /// docs/GENERATORS.md
    #[arg(long, requires = "what")]
    markdown: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Graphs of the catalogue.
    Graphs,
    /// Families of generated graphs with their parameters.
    Generators,
    /// Presets of families of graphs.
    Presets,
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
    /// What authors of placers assume.
    Assumptions,
    /// File formats.
    Formats,
}

pub(crate) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    if let (true, Some(what)) = (args.markdown, args.what) {
        print(&markdown(what)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = What::value_variants().iter().filter(|&&what| args.what.is_none_or(|wanted| wanted == what));
    let mut listed = Vec::new();
    for &what in wanted {
        let name = what.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        listed.push((name, items(lines(what)?)));
    }
    if let (Some(name), [(_, items)]) = (&args.name, listed.as_mut_slice()) {
        *items = vec![named(name, std::mem::take(items), &args.what)?];
    }
    if args.json {
        let listed: serde_json::Map<String, serde_json::Value> =
            listed.iter().map(|(name, items)| (name.clone(), items.iter().map(Item::json).collect())).collect();
        print(&format!("{:#}\n", serde_json::Value::Object(listed)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for (name, items) in &listed {
        if args.what.is_none() {
            text.push_str(&format!("{}{name}\n", if text.is_empty() { "" } else { "\n" }));
        }
        for (name, description) in items.iter().flat_map(|item| std::iter::once(&item.head).chain(&item.details)) {
            text.push_str(&format!("  {name:<24} {description}\n"));
        }
    }
    if args.what.is_none_or(|what| matches!(what, What::Placers | What::Schedulers | What::Generators | What::Presets))
    {
        text.push_str(SOURCES);
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What the letters in the descriptions stand for.
const SOURCES: &str = "\nSources: L Laich 2017, B Bahnmüller 2018, T Tolstobrov, W the TensorFlow whitepaper\n";

/// Something to name: its name and what it is, then its parameters and the like.
struct Item {
    head: (String, String),
    details: Vec<(String, String)>,
}

impl Item {
    fn json(&self) -> serde_json::Value {
        let object = |(name, description): &(String, String)| serde_json::json!({ "name": name.trim(), "description": description });
        let mut item = object(&self.head);
        if !self.details.is_empty() {
            item["details"] = self.details.iter().map(object).collect();
        }
        item
    }
}

/// Lines as items: those that belong to the line above are indented.
fn items(lines: Vec<(String, String)>) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    for line in lines {
        match items.last_mut() {
            Some(item) if line.0.starts_with(' ') => item.details.push(line),
            _ => items.push(Item { head: line, details: Vec::new() }),
        }
    }
    items
}

/// The item of a name.
fn named(name: &str, items: Vec<Item>, what: &Option<What>) -> anyhow::Result<Item> {
    let near = nearest(name, items.iter().map(|item| item.head.0.as_str()));
    let what = what.and_then(|what| what.to_possible_value()).map(|value| value.get_name().to_owned());
    let what = what.unwrap_or_default();
    items.into_iter().find(|item| item.head.0 == name).ok_or_else(|| match near {
        Some(near) => anyhow!("no '{name}' among {what}: did you mean '{near}'?"),
        None => anyhow!("no '{name}' among {what}: see 'placebench list {what}'"),
    })
}

fn lines(what: What) -> anyhow::Result<Vec<(String, String)>> {
    Ok(match what {
        What::Placers => placers().flat_map(entry_lines).collect(),
        What::Partitioners => PARTITIONERS.iter().flat_map(entry_lines).collect(),
        What::Schedulers => SCHEDULERS.iter().flat_map(entry_lines).collect(),
        What::Suites => {
            let suites = BUILT_IN.iter().map(|built_in| Ok((built_in.name.to_owned(), built_in.suite()?.title)));
            suites.collect::<anyhow::Result<_>>()?
        }
        What::Graphs => {
            let graphs = catalogue::entries().iter().map(|entry| Ok((entry.name.to_owned(), entry.header()?.title)));
            graphs.collect::<anyhow::Result<_>>()?
        }
        What::Generators => FAMILIES.iter().flat_map(family_lines).collect(),
        What::Presets => presets().into_iter().map(|preset| (preset.name.to_owned(), preset.summary)).collect(),
        What::Clusters => {
            let clusters = ClusterParams::PRESETS.iter().filter_map(|&name| Some((name, cluster_preset(name, 0)?)));
            clusters
                .map(|(name, cluster)| Ok((name.to_owned(), cluster_text(&cluster?))))
                .collect::<anyhow::Result<_>>()?
        }
        What::Networks => {
            NETWORK_MODELS.iter().map(|model| (model.name().to_owned(), model.doc().to_owned())).collect()
        }
        What::Executors => EXECUTORS.iter().map(|entry| (entry.name.to_owned(), entry.doc.to_owned())).collect(),
        What::Assumptions => Assumption::ALL.iter().map(|own| (own.name().to_owned(), own.doc().to_owned())).collect(),
        What::Formats => listing().map(|(name, text)| (name.to_owned(), text)).collect(),
    })
}

/// A family with its parameters.
fn family_lines(entry: &FamilyEntry) -> Vec<(String, String)> {
    let undirected = if entry.is_undirected { "undirected: " } else { "" };
    let head = (entry.name.to_owned(), format!("{undirected}{} ({})", entry.summary, entry.source));
    let params = entry.params().into_iter().map(|param| (format!("  {}={}", param.name, param.default), param.doc));
    std::iter::once(head).chain(params).collect()
}

fn cluster_text(cluster: &Cluster) -> String {
    let count = |kind: Kind| cluster.devices().iter().filter(|device| device.kind == kind).count();
    let kinds = Kind::ALL.into_iter().filter(|&kind| count(kind) > 0);
    kinds.map(|kind| format!("{} {kind}", count(kind))).collect::<Vec<_>>().join(", ")
}

fn entry_lines<T: ?Sized>(entry: &Entry<T>) -> Vec<(String, String)> {
    let head = (entry.name.clone(), format!("{} ({})", entry.summary, entry.source));
    let params = entry.params().into_iter().map(|param| (format!("  {}={}", param.name, param.default), param.doc));
    let assumes = assumptions(entry).map(|names| ("  assumes".to_owned(), names));
    let exceptions = entry
        .exceptions
        .iter()
        .map(|exception| (format!("  breaks {}", exception.law.name()), exception.reason.to_owned()));
    std::iter::once(head).chain(params).chain(assumes).chain(exceptions).collect()
}

/// What the authors of an algorithm take for granted, if anything.
fn assumptions<T: ?Sized>(entry: &Entry<T>) -> Option<String> {
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
        _ => bail!("--markdown is for placers, partitioners, schedulers and generators"),
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

/// The placers, with what is taken for granted and the laws of fairness that are not kept.
fn placers_markdown() -> String {
    let row = |entry: &Entry<dyn Placer>| {
        let laws: Vec<&str> = entry.exceptions.iter().map(|exception| exception.law.name()).collect();
        let base = markdown_row(entry);
        format!("{} {} | {} |\n", base.trim_end(), assumptions(entry).unwrap_or_default(), laws.join(", "))
    };
    let rows: String = placers().map(row).collect();
    let head = "| placer | what it does | source | parameters | assumes | breaks |\n|---|---|---|---|---|---|\n";
    format!("{head}{rows}")
}

fn markdown_row<T: ?Sized>(entry: &Entry<T>) -> String {
    let params = entry.params().iter().map(|param| format!("`{}={}`", param.name, param.default)).collect::<Vec<_>>();
    format!("| {} | {} | {} | {} |\n", entry.name, entry.summary, entry.source, params.join(", "))
}
