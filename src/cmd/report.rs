//! `placebench report`: a run as one HTML file.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::ValueEnum;
use placebench::datasets::significant::bytes_text;
use placebench::harness::runner::{read_environment, read_suite};
use placebench::harness::suite::Plan;
use placebench::reports::{ReportInput, Timelines, html_report};

use super::filter::Where;
use crate::output::{print, write_file};

/// Arguments of `report`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The run folder, finished or not.
    folder: PathBuf,

    /// The file to write [default: report.html in the run folder].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    only: Where,

    /// Which cells are simulated again for a timeline.
    #[arg(long, value_enum, default_value_t)]
    timelines: Choice,
}

/// Which cells get a timeline.
#[derive(Clone, Copy, Default, ValueEnum)]
enum Choice {
    /// The best scheduler of each placer on each graph, as many as take little time and space.
    #[default]
    Auto,
    /// No cell.
    None,
    /// The best scheduler of each placer on each graph, whatever it takes.
    All,
}

pub(crate) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    let folder = args.folder.to_str().with_context(|| format!("{}: is not Unicode", args.folder.display()))?;
    let table = args.only.table_of(&args.folder)?;
    let only = args.only.filter();
    let (suite_text, suite) = read_suite(&args.folder)?;
    let plan = suite
        .map_err(|error| error.to_string())
        .and_then(|suite| Plan::new(suite).map(Arc::new).map_err(|error| error.to_string()));
    let timelines = match args.timelines {
        Choice::Auto => Timelines::Auto,
        Choice::None => Timelines::None,
        Choice::All => Timelines::All,
    };
    let environment = read_environment(&args.folder)?;
    let folder = folder.trim_end_matches('/').to_owned();
    let report = html_report(&ReportInput { folder, table, suite_text, plan, environment, timelines, only })?;
    let path = args.out.clone().unwrap_or_else(|| args.folder.join("report.html"));
    write_file(&path, |out| out.write_all(report.html.as_bytes()))?;
    let size = bytes_text(report.html.len() as f64);
    print(&format!("{}: {size}, {} timelines; open it in a browser\n", path.display(), report.timelines))?;
    Ok(ExitCode::SUCCESS)
}
