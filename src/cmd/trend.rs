//! `placebench trend`: how results move over many runs.

use crate::output::Exit;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::ValueEnum;
use placebench::harness::compare::{History, RunTable};
use placebench::harness::results::{Metric, UnknownMetric};
use placebench::reports::Trend;
use placebench::reports::figure::{Figure, Style};
use serde::Serialize;

use super::compare::bad_input;
use super::csv::CsvArgs;
use crate::output::{Form, shown, write_file};

const EXAMPLES: &str = "\
A history is a CSV file with one line a run and placer; docs/NIGHTLY.md has its columns and a recipe for nightly jobs.

Examples:
  placebench trend history.csv --add runs/tonight --reference runs/reference
  placebench trend history.csv --metric place_seconds --figure trend.svg
  placebench trend runs --last 30";

/// Arguments of `trend`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A history (.csv), or a folder of run folders.
    history: PathBuf,

    /// Adds a run to the history, which is made if it does not exist; a run that is there already is replaced.
    #[arg(long, value_name = "RUN")]
    add: Vec<PathBuf>,

    /// The run that ratios refer to: for --add the run itself if left out, for a folder its oldest run of the suite.
    #[arg(long, value_name = "RUN")]
    reference: Option<PathBuf>,

    /// What to show: makespan_ratio, gap, place_time, simulate_time or failed.
    #[arg(long, short, default_value = "makespan_ratio", value_parser = of_history)]
    metric: Metric,

    /// Shows only the last N runs of each suite.
    #[arg(long, value_name = "N", default_value = "60", value_parser = clap::value_parser!(u32).range(1..))]
    last: u32,

    /// Also draws the trend of the suite: .svg or .png.
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,

    #[command(flatten)]
    csv: CsvArgs,

    /// How to print; csv has the values of all runs.
    #[arg(long, value_enum, default_value = "text", conflicts_with = "json")]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Markdown,
    Csv,
}

/// What the verb answers.
#[derive(Serialize)]
struct Answer<'a> {
    trends: &'a [Trend],
    files: Vec<String>,
}

/// Pixels a point of a PNG: 300 an inch.
const PNG_SCALE: f64 = 300.0 / 72.0;

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    let trends = match trends(args) {
        Ok(trends) => trends,
        Err(error) => return Ok(bad_input(&error)),
    };
    let history = Some(&args.history).filter(|_| !args.add.is_empty());
    let files = history.into_iter().chain(&args.figure).map(|path| shown(path)).collect();
    form.print(&Answer { trends: &trends, files }, || match args.format {
        Format::Text => trends.iter().map(Trend::text).collect::<Vec<_>>().join("\n"),
        Format::Markdown => trends.iter().map(Trend::markdown).collect::<Vec<_>>().join("\n"),
        Format::Csv => {
            trends.iter().map(|trend| trend.table().to_csv_with(args.csv.texts())).collect::<Vec<_>>().join("\n")
        }
    })?;
    Ok(Exit::SUCCESS)
}

/// A metric that a history has.
fn of_history(text: &str) -> Result<Metric, UnknownMetric> {
    Metric::among(text, &Metric::OF_HISTORY)
}

fn trends(args: &Args) -> anyhow::Result<Vec<Trend>> {
    let history = history(args)?;
    let trends = Trend::all(&history, args.metric, args.last as usize);
    if trends.is_empty() {
        bail!("{}: no runs yet: add one with --add", args.history.display());
    }
    if let Some(path) = &args.figure {
        draw(&trends, path)?;
    }
    Ok(trends)
}

fn history(args: &Args) -> anyhow::Result<History> {
    let reference = args.reference.as_deref().map(RunTable::read).transpose()?;
    if args.history.is_dir() {
        if !args.add.is_empty() {
            bail!("{}: a folder of runs: --add is for a history in CSV", args.history.display());
        }
        return Ok(History::of_runs(&runs_in(&args.history)?, reference.as_ref(), &[])?);
    }
    if args.history.extension().is_none_or(|extension| extension != "csv") {
        bail!("{}: neither a folder of runs nor a history in .csv", args.history.display());
    }
    if args.add.is_empty() && args.reference.is_some() {
        bail!("--reference is what runs that are added are compared with: give one with --add, or leave it out");
    }
    if args.add.is_empty() && !args.history.exists() {
        bail!("{}: no such history: --add makes it", args.history.display());
    }
    let mut history = History::read(&args.history)?;
    for path in &args.add {
        let run = RunTable::read(path)?;
        if run.unfinished {
            bail!("{}: is unfinished: a history is of complete runs", path.display());
        }
        history.add(&run, reference.as_ref().unwrap_or(&run))?;
    }
    if !args.add.is_empty() {
        history.write(&args.history)?;
    }
    Ok(history)
}

/// The complete runs in a folder.
fn runs_in(folder: &Path) -> anyhow::Result<Vec<RunTable>> {
    let entries = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    let mut runs = Vec::new();
    for path in paths.iter().filter(|path| path.join("suite.toml").exists()) {
        let run = RunTable::read(path)?;
        if run.unfinished {
            crate::output::complain(&format!("{}: left out, because it is unfinished", path.display()));
        } else {
            runs.push(run);
        }
    }
    if runs.is_empty() {
        bail!("{}: has no folder of a complete run: give the folder above the runs", folder.display());
    }
    Ok(runs)
}

fn draw(trends: &[Trend], path: &Path) -> anyhow::Result<()> {
    let [trend] = trends else {
        bail!("{}: a figure shows one suite, the history has {}", path.display(), trends.len());
    };
    let drawing = trend.figure().draw(&Style::double_column());
    let bytes = match path.extension().and_then(|extension| extension.to_str()) {
        Some("svg") => drawing.to_svg().into_bytes(),
        Some("png") => drawing.to_png(PNG_SCALE).with_context(|| path.display().to_string())?,
        _ => bail!("{}: unknown kind of figure: use .svg or .png", path.display()),
    };
    write_file(path, |out| out.write_all(&bytes))
}
