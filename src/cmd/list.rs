//! `placebench list`: what there is to name.

use std::process::ExitCode;

use clap::ValueEnum;
use placebench::algorithms::registry::{PLACERS, SCHEDULERS};
use placebench::algorithms::{Entry, ParamSpec};
use placebench::harness::suite::BUILT_IN;

use crate::output::print;

/// Arguments of `list`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to list.
    #[arg(value_enum)]
    what: Option<What>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Graphs of the catalogue.
    Graphs,
    /// Presets of the graph generator.
    Presets,
    /// Presets of the cluster generator.
    Clusters,
    /// Placers with their parameters.
    Placers,
    /// Schedulers with their parameters.
    Schedulers,
    /// Built-in suites.
    Suites,
    /// Network models.
    Networks,
    /// File formats.
    Formats,
}

pub(crate) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    for &what in What::value_variants() {
        if args.what.is_some_and(|wanted| wanted != what) {
            continue;
        }
        if args.what.is_none() {
            let name = what.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
            text.push_str(&format!("{}{name}\n", if text.is_empty() { "" } else { "\n" }));
        }
        for (name, description) in lines(what)? {
            text.push_str(&format!("  {name:<24} {description}\n"));
        }
    }
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn lines(what: What) -> anyhow::Result<Vec<(String, String)>> {
    Ok(match what {
        What::Placers => PLACERS.iter().flat_map(entry_lines).collect(),
        What::Schedulers => SCHEDULERS.iter().flat_map(entry_lines).collect(),
        What::Suites => {
            let suites = BUILT_IN.iter().map(|built_in| Ok((built_in.name.to_owned(), built_in.suite()?.title)));
            suites.collect::<anyhow::Result<_>>()?
        }
        _ => Vec::new(),
    })
}

fn entry_lines<T: ?Sized>(entry: &Entry<T>) -> Vec<(String, String)> {
    let head = (entry.name.to_owned(), format!("{} ({})", entry.summary, entry.source));
    let param = |param: &ParamSpec| (format!("  {}={}", param.name, param.default), param.doc.to_owned());
    std::iter::once(head).chain(entry.params.iter().map(param)).collect()
}
