//! `placebench table`: the results of a run as a table for a paper.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use placebench::harness::results::Metric;
use placebench::harness::runner::read_run;
use placebench::reports::export::{TextFormat, metric_table};

use crate::output::{print, write_file};

/// Arguments of `table`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder of a run.
    run: PathBuf,

    /// What the numbers are: makespan, slr, speedup, gap, traffic, imbalance, utilization, memory, executable or
    /// place_time.
    #[arg(long, short, default_value = "makespan")]
    metric: Metric,

    /// markdown, latex (with the package booktabs) or csv.
    #[arg(long, short, default_value = "markdown")]
    format: TextFormat,

    /// Writes to this file instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let rows = read_run(&args.run)?;
    if rows.is_empty() {
        bail!("{}: has no finished cell to show", args.run.display());
    }
    let name = args.metric.title();
    let caption = format!("Mean {name} of each placer with its best scheduler");
    let text = metric_table(&rows, args.metric).to_text(args.format, &caption);
    match &args.out {
        Some(path) => write_file(path, |out| out.write_all(text.as_bytes()))?,
        None => print(&text)?,
    }
    Ok(ExitCode::SUCCESS)
}
