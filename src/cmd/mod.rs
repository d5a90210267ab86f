//! The verbs.

mod calibrate;
mod compare;
mod convert;
mod dataset;
mod engine;
mod execute;
mod execute_worker;
mod figure;
mod filter;
mod generate;
mod inspect;
mod list;
mod partition;
mod place;
mod rank;
mod report;
mod reproduce;
mod run;
mod shell;
mod table;
mod trend;

use std::process::ExitCode;

use clap::{Command, Subcommand};

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
    /// Compares two runs of a suite; exit code 1 if the new one is worse.
    Compare(compare::Args),
    /// Ranks placers or schedulers over the instances that all of them finish.
    Rank(rank::Args),
    /// Keeps a history of runs and shows how results move.
    Trend(trend::Args),
    /// Shows the property sheet of a graph.
    Inspect(inspect::Args),
    /// Converts graphs and clusters between formats.
    Convert(convert::Args),
    /// Lists graphs, presets, clusters, placers, partitioners, schedulers, suites, formats.
    List(list::Args),
    /// Prints a script that completes the command in a shell, as in 'placebench completions bash'.
    Completions(shell::Completions),
    /// Prints the manual page: 'placebench man | man -l -'.
    Man,
}

/// The command as it is understood: a value may be a negative number, and then is refused for what it is.
pub(crate) fn command(command: Command) -> Command {
    command.mut_subcommands(|verb| {
        verb.mut_args(|arg| match arg.get_action().takes_values() {
            true => arg.allow_negative_numbers(true),
            false => arg,
        })
    })
}

impl Verb {
    /// Does it; `command` is what it is a verb of.
    pub(crate) fn execute(self, command: Command) -> anyhow::Result<ExitCode> {
        match self {
            Self::Run(args) => run::execute(&args),
            Self::Reproduce(args) => reproduce::execute(&args),
            Self::Report(args) => report::execute(&args),
            Self::Figure(args) => figure::execute(&args),
            Self::Table(args) => table::execute(&args),
            Self::Place(args) => place::execute(&args),
            Self::Execute(args) => execute::execute(&args),
            Self::ExecuteWorker(args) => execute_worker::execute(&args),
            Self::Calibrate(args) => calibrate::execute(&args),
            Self::Partition(args) => partition::execute(&args),
            Self::Generate(args) => generate::execute(&args),
            Self::Dataset(args) => dataset::execute(&args),
            Self::Compare(args) => compare::execute(&args),
            Self::Rank(args) => rank::execute(&args),
            Self::Trend(args) => trend::execute(&args),
            Self::Inspect(args) => inspect::execute(&args),
            Self::Convert(args) => convert::execute(&args),
            Self::List(args) => list::execute(&args),
            Self::Completions(args) => shell::completions(&args, command),
            Self::Man => shell::man(command),
        }
    }
}
