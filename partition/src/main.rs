//! The `placebench-partition` program: `placebench partition` for people who want a partition and nothing else.

use std::process::ExitCode;

use clap::Parser;
use placebench_algorithms::partition::registry::PARTITIONERS;
use placebench_partition::{Args, execute, output};

/// Partitions a graph into blocks, or judges a partition.
///
/// The verb `partition` of the command placebench as a program of its own, which is built sooner and starts in less memory.
/// What the help calls `convert` and `placebench list` are verbs of the whole command.
#[derive(Parser)]
#[command(version, max_term_width = 100, after_help = partitioners())]
struct Cli {
    #[command(flatten)]
    args: Args,
}

fn main() -> ExitCode {
    output::quiet_decoders();
    output::exit_code(execute(&Cli::parse().args))
}

/// All partitioners with their parameters and defaults, as `--algorithm` takes them.
fn partitioners() -> String {
    let mut text = "Partitioners:".to_owned();
    for entry in PARTITIONERS.iter() {
        text.push_str("\n  ");
        text.push_str(&entry.name);
        let params = entry.params();
        for (number, param) in params.iter().enumerate() {
            text.push_str(if number == 0 { "(" } else { "," });
            text.push_str(param.name);
            text.push('=');
            text.push_str(&param.default);
        }
        if !params.is_empty() {
            text.push(')');
        }
    }
    text
}
