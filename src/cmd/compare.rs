//! `placebench compare`: what got worse between two runs.

use crate::output::Exit;
use std::path::PathBuf;

use clap::ValueEnum;
use placebench::harness::compare::{CompareOptions, Comparison, RunTable};
use placebench::harness::results::{Metric, UnknownMetric};
use placebench::reports::{ComparisonDocument, comparison_markdown, comparison_text};

use super::filter::Where;
use super::number::number;
use super::once;
use crate::output::Form;

/// Exit code where the runs cannot be compared; 1 says that the new one is worse.
pub(super) const BAD_INPUT: u8 = 2;

const EXAMPLES: &str = "\
Exit codes: 0 no regression, 1 a regression, 2 the runs cannot be compared.

Cells are matched by graph, cluster, network model, placer, scheduler, repetition, seed, numbering and suite. A
regression is
  - a cell that had a result and has none now, or that now panics or is refused by the validator. A cell that met its
    time limit in one of the runs, or that the machine cut short, is listed apart: with --all-cells it is one, too;
  - a metric that grew beyond --max-cell in a cell, or beyond --max-mean in the geometric mean of a placer;
  - seconds that grew beyond --max-time (a placer or scheduler) or --max-cell-time (on one graph and cluster), and beyond
    the noise that the repetitions show: run suites with 3 repetitions or more, and --threads 1.

Examples:
  placebench compare runs/default-1 runs/default-2
  placebench compare old.parquet new.csv --ignore time
  placebench compare runs/good runs/tonight --max-cell inf --max-mean 1.01 --format markdown
  placebench compare runs/good runs/tonight --metrics makespan,traffic_bytes --all --json";

/// Arguments of `compare`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The run to compare with: a run folder, or a table (.parquet, .csv, .json).
    old: PathBuf,

    /// The run to judge.
    new: PathBuf,

    #[command(flatten)]
    only: Where,

    #[command(flatten)]
    limits: Limits,

    /// How to print.
    #[arg(long, value_enum, default_value = "text", conflicts_with = "json")]
    format: Format,

    /// Lists end after this many lines.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    /// Lists everything, each changed cell included.
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

/// What is compared, and what counts as a regression.
#[derive(clap::Args)]
pub(super) struct Limits {
    /// Metrics to compare: makespan, slr, gap, traffic, or others that do not depend on the clock and whose smaller
    /// values are better [default: makespan, or period where both runs were placed for it].
    #[arg(long, value_name = "METRIC,…", value_delimiter = ',', value_parser = exact)]
    metrics: Vec<Metric>,

    /// A cell's metric may grow to this factor; `inf` for any.
    #[arg(long, value_name = "FACTOR", default_value = "1.001", value_parser = limit)]
    max_cell: f64,

    /// The geometric mean of a placer's metric may grow to this factor; `inf` for any.
    #[arg(long, value_name = "FACTOR", default_value = "1.001", value_parser = limit)]
    max_mean: f64,

    /// The seconds of a placer or scheduler may grow to this factor.
    #[arg(long, value_name = "FACTOR", default_value = "1.3", value_parser = limit)]
    max_time: f64,

    /// The seconds of a placer on one graph and cluster may grow to this factor.
    #[arg(long, value_name = "FACTOR", default_value = "2", value_parser = limit)]
    max_cell_time: f64,

    /// Times below this many seconds count as this.
    #[arg(long, value_name = "SECONDS", default_value = "0.0001", value_parser = positive)]
    least_seconds: f64,

    /// What to leave out: the seconds, the names of the suites.
    #[arg(long, value_name = "WHAT,…", value_delimiter = ',')]
    ignore: Vec<Ignored>,

    /// A cell that the new run lacks, has of another problem, or has cut short, is a regression.
    #[arg(long)]
    all_cells: bool,

    /// A cell without a result is a regression, also if it had none before, unless no placement is feasible.
    #[arg(long)]
    broken: bool,
}

impl Limits {
    pub(super) fn options(&self) -> CompareOptions {
        CompareOptions {
            metrics: once(&self.metrics),
            max_cell: self.max_cell,
            max_mean: self.max_mean,
            max_time: (!self.ignore.contains(&Ignored::Time)).then_some(self.max_time),
            max_cell_time: self.max_cell_time,
            least_seconds: self.least_seconds,
            any_suite: self.ignore.contains(&Ignored::Suite),
            all_cells: self.all_cells,
            broken: self.broken,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Markdown,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Ignored {
    Time,
    Suite,
}

/// A metric that is the same on every run, and whose smaller values are better.
fn exact(text: &str) -> Result<Metric, UnknownMetric> {
    let judging = Metric::judging().into_iter().filter(|metric| !metric.is_measured());
    Metric::among(text, &judging.collect::<Vec<_>>())
}

/// A factor of at least 1.
fn limit(text: &str) -> Result<f64, String> {
    let limit = number(text)?;
    if limit >= 1.0 { Ok(limit) } else { Err("a limit is a factor, new / old, of at least 1".to_owned()) }
}

fn positive(text: &str) -> Result<f64, String> {
    let number = number(text)?;
    if number > 0.0 && number.is_finite() { Ok(number) } else { Err("must be positive".to_owned()) }
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    let options = args.limits.options();
    let compared = || -> anyhow::Result<Comparison> {
        let mut runs = [RunTable::read(&args.old)?, RunTable::read(&args.new)?];
        args.only.keep(&mut runs)?;
        Ok(Comparison::new(&runs[0], &runs[1], &options)?)
    };
    let comparison = match compared() {
        Ok(comparison) => comparison,
        Err(error) => return Ok(bad_input(&error)),
    };
    let limit = if args.all { usize::MAX } else { args.limit as usize };
    form.print(&ComparisonDocument::new(&comparison, &options), || match args.format {
        Format::Text => comparison_text(&comparison, limit),
        Format::Markdown => comparison_markdown(&comparison, limit),
    })?;
    Ok(if comparison.is_regression() { Exit::FAILURE } else { Exit::SUCCESS })
}

/// Says why there is no verdict.
pub(super) fn bad_input(error: &anyhow::Error) -> Exit {
    crate::output::complain(&format!("error: {}", crate::output::one_line(error)));
    Exit::from(BAD_INPUT)
}
