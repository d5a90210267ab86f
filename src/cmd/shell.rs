//! `placebench completions` and `placebench man`: what shells and `man` know of the command.

use crate::output::Exit;
use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use clap_complete::Shell;

use placebench::algorithms::partition::registry::PARTITIONERS;
use placebench::algorithms::period::Goal;
use placebench::algorithms::registry;
use placebench::base::{did_you_mean, io_reason};
use placebench::datasets::{Kinds, MemoryRule, catalogue};
use placebench::generator::{ClusterParams, FAMILIES, GraphParams, PASSES};
use placebench::harness::collection::COLLECTIONS;
use placebench::harness::execute::simulate::NETWORK_MODELS;
use placebench::harness::suite::BUILT_IN;
use placebench::reports::export::TextFormat;
use placebench::reports::{Sort, Spread};

use super::list;
use crate::output::print;

/// Arguments of `completions`.
#[derive(clap::Args)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script that completes the command's words in a shell.
pub(crate) fn completions(args: &Completions, mut command: Command) -> anyhow::Result<Exit> {
    let verbs: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let lists = list::names()?;
    command = command.mut_subcommands(|verb| {
        let name = verb.get_name().to_owned();
        verb.mut_args(|arg| match (name.as_str(), arg.get_id().as_str()) {
            ("man", "verb") => takes(arg, verbs.clone()),
            ("list", "name") => takes(arg, lists.clone()),
            ("cite", "what") => takes(arg, graphs()),
            ("generate", "what") => takes(arg, generated()),
            ("table", "format") => takes(arg, TextFormat::ALL.map(|format| format.name().to_owned())),
            _ => with_names(arg),
        })
    });
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "placebench", &mut script);
    let mut script = String::from_utf8(script)?;
    if args.shell == Shell::Zsh {
        script = with_files(&script);
    }
    print(&script)?;
    Ok(Exit::SUCCESS)
}

/// The script for zsh, which takes files for what is named, too: elsewhere they follow where no name fits.
fn with_files(script: &str) -> String {
    let (head, mut rest) =
        script.split_once('\n').map_or((script, String::new()), |(head, rest)| (head, rest.to_owned()));
    let mut functions = String::new();
    for (what, names) in [("graphs", graphs()), ("clusters", clusters()), ("suites", suites())] {
        let names = names.join(" ");
        rest = rest.replace(&format!(":({names})'"), &format!(":_placebench_{what}'"));
        functions += &format!("_placebench_{what}() {{ _alternative 'names:name:({names})' 'files:file:_files' }}\n");
    }
    format!("{head}\n{functions}{rest}")
}

/// An argument with the names that it takes, as far as they can be listed. A script of completions is made with it, and nothing is
/// read: names with parameters and files are no less right.
fn with_names(arg: Arg) -> Arg {
    let names = match arg.get_id().as_str() {
        "graph" | "input" => graphs(),
        "steps" => PASSES.iter().map(|entry| entry.name.to_owned()).collect(),
        "sort" => Sort::ALL.map(|sort| sort.name().to_owned()).to_vec(),
        "spread" => Spread::ALL.map(|spread| spread.name().to_owned()).to_vec(),
        "kinds" => [Kinds::AsGiven, Kinds::AcceleratorsOnly].map(|kinds| kinds.to_string()).to_vec(),
        "memory" => MemoryRule::ALL.map(|rule| rule.name().to_owned()).to_vec(),
        "objective" => [Goal::Makespan, Goal::Period].map(|goal| goal.to_string()).to_vec(),
        "cluster" if arg.get_action().takes_values() => clusters(),
        "suite" => suites(),
        "placer" => registry::placers().map(|entry| entry.name.to_string()).collect(),
        "scheduler" => registry::SCHEDULERS.iter().map(|entry| entry.name.to_string()).collect(),
        "network" => NETWORK_MODELS.iter().map(|model| model.name().to_owned()).collect(),
        "algorithm" => PARTITIONERS.iter().map(|entry| entry.name.to_string()).collect(),
        "collection" => COLLECTIONS.iter().map(|collection| collection.name.to_owned()).collect(),
        _ => return arg,
    };
    takes(arg, names)
}

/// An argument with its names, which live as long as the command: it ends here.
fn takes(arg: Arg, names: impl IntoIterator<Item = String>) -> Arg {
    arg.value_parser(PossibleValuesParser::new(names.into_iter().map(|name| &*name.leak())))
}

/// Families and presets of graphs, and presets of clusters: a family and its preset share a name.
fn generated() -> BTreeSet<String> {
    let families = FAMILIES.iter().map(|family| family.name.to_owned());
    families.chain(GraphParams::presets().map(str::to_owned)).chain(clusters()).collect()
}

/// Graphs of the catalogue and presets.
fn graphs() -> Vec<String> {
    catalogue::entries().iter().map(|entry| entry.name).chain(GraphParams::presets()).map(str::to_owned).collect()
}

/// Presets of clusters.
fn clusters() -> Vec<String> {
    ClusterParams::PRESETS.iter().map(|&name| name.to_owned()).collect()
}

/// Built-in suites.
fn suites() -> Vec<String> {
    BUILT_IN.iter().map(|suite| suite.name.to_owned()).collect()
}

/// Characters of a line of docs/REFERENCE.md.
const REFERENCE_WIDTH: usize = 100;

/// Arguments of `man`.
#[derive(clap::Args)]
pub(crate) struct Man {
    /// The verb whose page is printed [default: the page of the command].
    verb: Option<String>,

    /// Writes the pages of the command and of all verbs into this folder, such as ~/.local/share/man/man1.
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    out: Option<PathBuf>,

    /// Prints the help of all verbs as Markdown: docs/REFERENCE.md.
    #[arg(long, conflicts_with_all = ["verb", "out"])]
    markdown: bool,
}

/// Prints a manual page, or writes all.
pub(crate) fn man(args: &Man, command: Command) -> anyhow::Result<Exit> {
    // The same on any terminal.
    let mut command = command.term_width(REFERENCE_WIDTH);
    if args.out.is_some() {
        // A page that says that the others exist would be one for each of them.
        command = command.disable_help_subcommand(true);
    }
    command.build();
    if args.markdown {
        print(&reference(&mut command))?;
        return Ok(Exit::SUCCESS);
    }
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command, folder))
            .map_err(|error| anyhow!("{}: {}", folder.display(), io_reason(&error)))?;
        return Ok(Exit::SUCCESS);
    }
    let of = match &args.verb {
        None => command,
        Some(verb) => {
            let verbs: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let unknown = || anyhow!("unknown verb '{verb}': {}", did_you_mean(verb, verbs));
            command.find_subcommand(verb).ok_or_else(unknown)?.clone()
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(of).render(&mut page)?;
    print(&String::from_utf8(page)?)?;
    Ok(Exit::SUCCESS)
}

/// The help of each verb, in the order of `placebench help`.
fn reference(command: &mut Command) -> String {
    let mut text = "# Reference\n\nWhat `placebench VERB --help` prints, verb by verb. `placebench man --markdown` makes this page.\n".to_owned();
    for verb in command.get_subcommands_mut().filter(|verb| verb.get_name() != "help") {
        let help = verb.render_long_help().to_string();
        let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        text.push_str(&format!("\n## {}\n\n```text\n{}\n```\n", verb.get_name(), lines.join("\n")));
    }
    text
}
