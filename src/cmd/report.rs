//! `placebench report`: a run as one HTML file, or several side by side.

use crate::output::Exit;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::ValueEnum;
use placebench::base::significant::bytes_text;
use placebench::harness::compare::{CompareOptions, RunTable};
use placebench::harness::runner::{read_environment, read_suite};
use placebench::harness::suite::RunPlan;
use placebench::reports::{MOST_RUNS, ReportInput, Timelines, comparison_report, html_report};
use serde::Serialize;

use super::compare::Limits;
use super::filter::Where;
use crate::output::{Form, check_place, shown, write_file};

/// Arguments of `report`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The run folder, finished or not. Several are compared with the first of them, side by side; these may be tables
    /// (.parquet, .csv, .json), too.
    #[arg(required = true)]
    runs: Vec<PathBuf>,

    /// The file to write [default: report.html in the run folder; of several runs comparison.html in that of the last].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    only: Where,

    #[command(flatten)]
    limits: Limits,

    /// Which cells are simulated again for a timeline [default: auto]; not for several runs.
    #[arg(long, value_enum)]
    timelines: Option<Choice>,
}

/// Which cells get a timeline.
#[derive(Clone, Copy, ValueEnum)]
enum Choice {
    /// The best scheduler of each placer on each graph, as many as take little time and space.
    Auto,
    /// No cell.
    None,
    /// The best scheduler of each placer on each graph, whatever it takes.
    All,
}

/// What the verb answers.
#[derive(Serialize)]
struct Answer {
    /// Runs on the page.
    runs: usize,
    /// Timelines on the page; `None` on one of several runs.
    timelines: Option<usize>,
    /// Size of the page.
    bytes: usize,
    files: Vec<String>,
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    let answer = match args.runs.as_slice() {
        [run] => one(args, run),
        runs => compared(args, runs),
    }?;
    form.print(&answer, || {
        let (path, size) = (answer.files.join(", "), bytes_text(answer.bytes as f64));
        let what = match answer.timelines {
            Some(timelines) => format!("{timelines} timelines"),
            None => format!("{} runs compared", answer.runs),
        };
        format!("{path}: {size}, {what}; open it in a browser\n")
    })?;
    Ok(Exit::SUCCESS)
}

/// The page of runs compared with the first of them.
fn compared(args: &Args, runs: &[PathBuf]) -> anyhow::Result<Answer> {
    if args.timelines.is_some() {
        bail!("--timelines is about one run: of several, the page compares numbers only");
    }
    if runs.len() > MOST_RUNS {
        bail!("{} runs are too many for a page of at most {MOST_RUNS}: use placebench trend", runs.len());
    }
    let mut tables = runs.iter().map(|run| RunTable::read(run)).collect::<Result<Vec<_>, _>>()?;
    args.only.keep(&mut tables)?;
    let html = comparison_report(&tables, &args.limits.options())?;
    let beside = runs.last().filter(|run| run.is_dir()).map(|run| run.join("comparison.html"));
    let path =
        args.out.clone().or(beside).context("the last of the runs is a table: say where to write with --out FILE")?;
    write_page(&path, &html)?;
    Ok(Answer { runs: runs.len(), timelines: None, bytes: html.len(), files: vec![shown(&path)] })
}

/// Writes a page: what is replaced has to be one.
fn write_page(path: &Path, html: &str) -> anyhow::Result<()> {
    const BEGIN: &str = "<!doctype html";
    check_place(path)?;
    if path.is_file() {
        let mut begin = Vec::new();
        File::open(path)?
            .take(BEGIN.len() as u64)
            .read_to_end(&mut begin)
            .with_context(|| path.display().to_string())?;
        if !begin.is_empty() && !begin.eq_ignore_ascii_case(BEGIN.as_bytes()) {
            bail!("{}: exists and is no page: choose another --out, or delete it", path.display());
        }
    }
    write_file(path, |out| out.write_all(html.as_bytes()))
}

/// The page of one run.
fn one(args: &Args, run: &Path) -> anyhow::Result<Answer> {
    if args.limits.options() != CompareOptions::default() {
        bail!("metrics, limits and --ignore are about several runs: name the run to compare with first");
    }
    let folder = run.to_str().with_context(|| format!("{}: is not Unicode", run.display()))?;
    let table = args.only.table_of(run)?;
    let only = args.only.filter();
    let (suite_text, suite) = read_suite(run)?;
    let plan = suite
        .map_err(|error| error.to_string())
        .and_then(|suite| RunPlan::new(suite).map(Arc::new).map_err(|error| error.to_string()));
    let timelines = match args.timelines {
        None | Some(Choice::Auto) => Timelines::Auto,
        Some(Choice::None) => Timelines::None,
        Some(Choice::All) => Timelines::All,
    };
    let environment = read_environment(run)?;
    let folder = folder.trim_end_matches('/').to_owned();
    let report = html_report(&ReportInput { folder, table, suite_text, plan, environment, timelines, only })?;
    let path = args.out.clone().unwrap_or_else(|| run.join("report.html"));
    write_page(&path, &report.html)?;
    let timelines = Some(report.timelines);
    Ok(Answer { runs: 1, timelines, bytes: report.html.len(), files: vec![shown(&path)] })
}
