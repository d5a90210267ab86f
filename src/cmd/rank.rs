//! `placebench rank`: which algorithm is best over the instances that all of them finish.

use crate::output::Exit;
use std::path::PathBuf;

use anyhow::bail;
use clap::ValueEnum;
use placebench::harness::compare::{Gap, RankOptions, Ranking, RunTable};
use placebench::harness::results::grid::{Candidates, DROP_FAILING};
use placebench::harness::results::{Metric, UnknownMetric};
use placebench::reports::{ranking_notes, ranking_table, ranking_text};

use super::compare::bad_input;
use super::csv::CsvArgs;
use super::filter::{Where, check_rows, unfinished};
use super::number::number;
use crate::output::{Form, complain};

const EXAMPLES: &str = "\
An instance is a graph on a cluster under a network model (and placed by one placer, where schedulers are ranked); its
repetitions are averaged. Placers are judged with their best scheduler on each instance: the means and the order are those
of 'table', of figures and of pages. Intervals and tests count drawn graphs. METHODOLOGY says why.

Examples:
  placebench rank runs/algorithms-1
  placebench rank runs/algorithms-1 --by scheduler
  placebench rank runs/a runs/b --where 'network=one_port scheduler=pct' --drop-failing 0
  placebench rank table.parquet --metric place_seconds --format tex";

/// Arguments of `rank`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Run folders, or tables (.parquet, .csv, .json), of different cells.
    #[arg(required = true)]
    runs: Vec<PathBuf>,

    /// The number to rank by: makespan, slr, gap, traffic, memory, place_time, or another number of a row by the name of
    /// its column; less must be better [default: makespan, or period where all cells were placed for the period].
    #[arg(long, short, value_parser = judging)]
    metric: Option<Metric>,

    /// What to rank.
    #[arg(long, value_enum, default_value = "placer")]
    by: By,

    #[command(flatten)]
    only: Where,

    /// Candidates without a result on more than this share of the instances do not take part (0 to 1).
    #[arg(long, value_name = "SHARE", default_value_t = DROP_FAILING, value_parser = share)]
    drop_failing: f64,

    /// Resamples of the bootstrap.
    #[arg(long, value_name = "N", default_value = "10000", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    resamples: u32,

    /// Seed of the bootstrap.
    #[arg(long, default_value = "0", value_parser = super::number::seed)]
    seed: u64,

    /// How to print.
    #[arg(long, value_enum, default_value = "text", conflicts_with = "json")]
    format: Format,

    #[command(flatten)]
    csv: CsvArgs,

    /// Lists every candidate that lacks results.
    #[arg(long)]
    all: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    Placer,
    Scheduler,
    /// Placers with schedulers.
    Pair,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Markdown,
    /// LaTeX with the package booktabs.
    #[value(name = "tex", alias = "latex")]
    Latex,
    Csv,
}

/// Lines of notes that are printed without `--all`.
const NOTES: usize = 12;

/// A metric whose smaller values are better.
fn judging(text: &str) -> Result<Metric, UnknownMetric> {
    Metric::among(text, &Metric::judging())
}

fn share(text: &str) -> Result<f64, String> {
    let share = number(text)?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("a share is between 0 and 1".to_owned()) }
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    args.csv.check(matches!(args.format, Format::Csv))?;
    let ranking = match rank(args) {
        Ok(ranking) => ranking,
        Err(error) => return Ok(bad_input(&error)),
    };
    let caption = || ranking_notes(&ranking).join(". ");
    form.print(&ranking, || match args.format {
        Format::Text => ranking_text(&ranking, if args.all { usize::MAX } else { NOTES }),
        Format::Markdown => {
            let notes: String = ranking_notes(&ranking).iter().map(|note| format!("- {note}\n")).collect();
            format!("{}\n{notes}", ranking_table(&ranking).to_markdown())
        }
        Format::Latex => ranking_table(&ranking).to_latex(&caption(), "tab:rank"),
        Format::Csv => ranking_table(&ranking).to_csv_with(args.csv.texts()),
    })?;
    Ok(Exit::SUCCESS)
}

fn rank(args: &Args) -> anyhow::Result<Ranking> {
    if let Some(at) = (1..args.runs.len()).find(|&at| args.runs[..at].contains(&args.runs[at])) {
        bail!("{}: is named twice: name each run once", args.runs[at].display());
    }
    let mut runs = args.runs.iter().map(|path| RunTable::read(path)).collect::<Result<Vec<_>, _>>()?;
    for (path, _) in args.runs.iter().zip(&runs).filter(|(_, run)| run.unfinished) {
        complain(&unfinished(path));
    }
    for (path, run) in args.runs.iter().zip(&runs) {
        check_rows(path, &run.table)?;
    }
    args.only.keep(&mut runs)?;
    let metric = match args.metric {
        Some(metric) => metric,
        None => {
            let goals = runs.iter().map(|run| run.table.goal()).collect::<Result<Vec<_>, _>>()?;
            let is_one = goals.iter().all(|goal| *goal == goals[0]);
            if is_one { goals[0] } else { Metric::Makespan }
        }
    };
    let options = RankOptions {
        by: match args.by {
            By::Placer => Candidates::Placer,
            By::Scheduler => Candidates::Scheduler,
            By::Pair => Candidates::Pair,
        },
        metric,
        drop_failing: args.drop_failing,
        resamples: args.resamples as usize,
        seed: args.seed,
    };
    let ranking = Ranking::new(&runs, &options)?;
    if ranking.common > 0 {
        return Ok(ranking);
    }
    let metric = metric.column();
    let lacks = |gap: &Gap| format!("{} lacks a result on {} of {}", gap.name, gap.lacking(), ranking.instances);
    // Those that fail most are the first.
    match ranking.gaps.iter().find(|gap| !gap.dropped) {
        _ if ranking.instances == 0 && ranking.zeros == 0 => {
            bail!("no cell has a {metric}: use another --metric or --where, or make the run again with this version")
        }
        _ if ranking.zeros > 0 => bail!(
            "the best {metric} is 0 on every instance that all candidates finish, so there are no ratios: use another --metric, \
             or --where"
        ),
        Some(gap) => {
            bail!("no instance that all candidates finish ({}): use a smaller --drop-failing, or --where", lacks(gap))
        }
        None => {
            let most = ranking.gaps.first().map(lacks).unwrap_or_default();
            bail!("every candidate fails too often to be ranked ({most}): use a larger --drop-failing, or --where")
        }
    }
}
