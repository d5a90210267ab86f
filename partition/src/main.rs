//! The `placebench-partition` program: `placebench partition` for people who want a partition and nothing else.

use std::process::ExitCode;

use clap::Parser;
use placebench_partition::{Args, execute, output};

/// Partitions a graph into blocks, or judges a partition.
///
/// This is the verb `partition` of the command placebench as a program of its own, which starts in less memory. What the help
/// calls `placebench list` and `convert` are verbs of the whole command.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
struct Cli {
    #[command(flatten)]
    args: Args,
}

fn main() -> ExitCode {
    output::quiet_decoders();
    output::exit_code(execute(&Cli::parse().args))
}
