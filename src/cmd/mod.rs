//! The verbs.

mod calibrate;
mod cite;
mod compare;
mod convert;
mod csv;
mod dataset;
mod execute;
mod execute_worker;
mod figure;
mod filter;
mod generate;
mod inspect;
mod launcher;
mod list;
mod number;
mod partition;
mod passes;
mod place;
mod rank;
mod read;
mod report;
mod reproduce;
mod run;
mod shell;
mod submit;
mod table;
mod trend;
mod tutorial;

use crate::output::Exit;

use clap::{Arg, ArgAction, ArgMatches, Command, Subcommand};

use crate::output::Form;

/// What is named twice counts once, where it stands first.
fn once<T: Copy + PartialEq>(named: &[T]) -> Vec<T> {
    let mut once = Vec::new();
    named.iter().for_each(|own| {
        if !once.contains(own) {
            once.push(*own)
        }
    });
    once
}

/// What the command can do.
#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Runs a suite: graphs × clusters × placers × schedulers, each placement simulated and validated.
    Run(run::Args),
    /// Runs a paper's evaluation and checks its claims one by one.
    Reproduce(reproduce::Args),
    /// Makes one HTML file of a run: findings, figures, tables, and a page for each cell; or of several runs compared.
    Report(report::Args),
    /// Draws the figures of a run, as SVG, PNG, PDF or TikZ, with their data as CSV beside them.
    Figure(figure::Args),
    /// Prints the results of a run as a table for a paper: Markdown, LaTeX or CSV.
    Table(table::Args),
    /// Places one graph on one cluster and judges the placement.
    Place(place::Args),
    /// Executes a placement for real, measures it, and compares it with what was predicted.
    Execute(execute::Args),
    /// Waits to be a device of 'execute --transport tcp', on this host or another.
    ExecuteWorker(execute_worker::Args),
    /// Measures a machine into a cluster file.
    Calibrate(calibrate::Args),
    /// Partitions a graph into blocks, or judges a partition.
    Partition(partition::Args),
    /// Makes a graph or a cluster, with a manifest to check it by.
    Generate(generate::Args),
    /// Makes a named collection of graphs with index, best makespans and metadata, or verifies one.
    Dataset(dataset::Args),
    /// Judges a solution of an instance of a collection, and ranks it among the known ones.
    Submit(submit::Args),
    /// Compares two runs of a suite; exit code 1 if the new one is worse.
    Compare(compare::Args),
    /// Ranks placers or schedulers over the instances that all of them finish.
    Rank(rank::Args),
    /// Keeps a history of runs and shows how results move.
    Trend(trend::Args),
    /// Prints BibTeX of what a run used: algorithms, graphs, models, tools.
    Cite(cite::Args),
    /// Shows the property sheet of a graph.
    Inspect(inspect::Args),
    /// Converts graphs and clusters between formats.
    Convert(convert::Args),
    /// Lists graphs, presets, clusters, placers, partitioners, schedulers, suites, formats.
    List(list::Args),
    /// Writes the files of the tutorial's study: a suite, and a placer of one's own.
    Tutorial(tutorial::Args),
    /// Prints a script that completes the command in a shell, as in 'placebench completions bash'.
    Completions(shell::Completions),
    /// Prints a manual page: 'placebench man run | man -l -'.
    Man(shell::Man),
}

/// The option that every verb has but [`WITHOUT_JSON`].
const JSON: &str = "json";

/// Verbs whose text is made for one reader: a shell, `man`, and `execute`.
const WITHOUT_JSON: [&str; 3] = ["completions", "man", "execute-worker"];

/// The command as it is understood: a value may be a negative number, and then is refused for what it is; and verbs answer in
/// JSON where they are asked to.
pub(crate) fn command(command: Command) -> Command {
    command.mut_subcommands(|verb| {
        let verb = verb.mut_args(|arg| match arg.get_action().takes_values() {
            true => arg.allow_negative_numbers(true),
            false => arg,
        });
        let help = "Prints the answer as one JSON document: docs/JSON.md has its keys";
        match WITHOUT_JSON.contains(&verb.get_name()) {
            true => verb,
            false => verb.arg(Arg::new(JSON).long(JSON).action(ArgAction::SetTrue).help(help)),
        }
    })
}

/// How the arguments want the answer.
pub(crate) fn form(arguments: &ArgMatches) -> Form {
    let asked = |verb: &ArgMatches| verb.try_get_one::<bool>(JSON).ok().flatten().copied();
    match arguments.subcommand().and_then(|(_, verb)| asked(verb)) {
        Some(true) => Form::Json,
        _ => Form::Text,
    }
}

impl Verb {
    /// Does it; `command` is what it is a verb of.
    pub(crate) fn execute(self, command: Command, form: Form) -> anyhow::Result<Exit> {
        match self {
            Self::Run(args) => run::execute(&args, form),
            Self::Reproduce(args) => reproduce::execute(&args, form),
            Self::Report(args) => report::execute(&args, form),
            Self::Figure(args) => figure::execute(&args, form),
            Self::Table(args) => table::execute(&args, form),
            Self::Place(args) => place::execute(&args, form),
            Self::Execute(args) => execute::execute(&args, form),
            Self::ExecuteWorker(args) => execute_worker::execute(&args),
            Self::Calibrate(args) => calibrate::execute(&args, form),
            Self::Partition(args) => partition::execute(&args, form),
            Self::Generate(args) => generate::execute(&args, form),
            Self::Dataset(args) => dataset::execute(&args, form),
            Self::Submit(args) => submit::execute(&args, form),
            Self::Compare(args) => compare::execute(&args, form),
            Self::Rank(args) => rank::execute(&args, form),
            Self::Trend(args) => trend::execute(&args, form),
            Self::Cite(args) => cite::execute(&args, form),
            Self::Inspect(args) => inspect::execute(&args, form),
            Self::Convert(args) => convert::execute(&args, form),
            Self::List(args) => list::execute(&args, form),
            Self::Tutorial(args) => tutorial::execute(&args, form),
            Self::Completions(args) => shell::completions(&args, command),
            Self::Man(args) => shell::man(&args, command),
        }
    }
}
