//! `placebench table`: the results of a run as a table for a paper.

use std::io::Write;
use std::path::PathBuf;
use crate::output::Exit;

use placebench::harness::results::Metric;
use placebench::reports::export::TextFormat;
use placebench::reports::{MetricRecords, MetricTable, Sort, Spread};
use serde::Serialize;

use super::csv::CsvArgs;
use super::filter::Where;
use crate::output::{Form, write_file};

/// Arguments of `table`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder of a run.
    run: PathBuf,

    /// What the numbers are: makespan, slr, speedup, gap, traffic, imbalance, utilization, memory, executable,
    /// place_time, or another number of a row by the name of its column
    /// [default: makespan, or period where all cells were placed for the period].
    #[arg(long, short)]
    metric: Option<Metric>,

    #[command(flatten)]
    only: Where,

    /// How placers are listed: by their mean, the best first, by name, or as the suite names them (mean, name, suite).
    #[arg(long, value_name = "ORDER", default_value_t)]
    sort: Sort,

    /// What stands beside a mean: deviation (the standard deviation over the repetitions), range (the least and the largest
    /// value of any repetition under any numbering of ops and devices), none.
    #[arg(long, value_name = "WHAT", default_value_t)]
    spread: Spread,

    /// markdown, latex (with the package booktabs) or csv.
    #[arg(long, short, default_value = "markdown", conflicts_with = "json")]
    format: TextFormat,

    #[command(flatten)]
    csv: CsvArgs,

    /// What \ref calls the table in LaTeX [default: tab: with the run folder's name and the metric].
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,

    /// Writes to this file instead of standard output.
    #[arg(long, short, value_name = "FILE", conflicts_with = "json")]
    out: Option<PathBuf>,
}

/// What the verb answers.
#[derive(Serialize)]
struct Answer<'a> {
    metric: Metric,
    note: &'a Option<String>,
    #[serde(flatten)]
    records: MetricRecords,
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    if args.label.is_some() && args.format != TextFormat::Latex {
        anyhow::bail!("--label is what LaTeX calls the table: leave it out, or use --format latex");
    }
    args.csv.check(args.format == TextFormat::Csv)?;
    let table = args.only.table_of(&args.run)?;
    let metric = args.metric.map_or_else(|| table.goal(), Ok)?;
    let name = metric.title();
    let numbers = MetricTable::new(&table, metric, args.sort, args.spread)?;
    let note = numbers.marks.note();
    let said = note.as_ref().map(|note| format!(". {note}")).unwrap_or_default();
    let over = &numbers.over;
    let caption = format!("Mean {name} of each placer with its best scheduler; mean ratio to best: {over}{said}");
    let folder = args.run.file_name().unwrap_or_default().to_string_lossy();
    let label = args.label.clone().unwrap_or_else(|| format!("tab:{folder}-{}", metric.short()));
    let text = || {
        let text = || numbers.to_text(args.format, &caption, &label);
        match (args.format, &note) {
            (TextFormat::Markdown, note) => {
                let note = note.as_ref().map(|note| format!("{note}\n")).unwrap_or_default();
                format!("{}\nMean ratio to best: {over}.\n{note}", text())
            }
            (TextFormat::Csv, _) => numbers.csv().to_csv_with(args.csv.texts()),
            _ => text(),
        }
    };
    match &args.out {
        Some(path) => write_file(path, |out| out.write_all(text().as_bytes()))?,
        None => form.print(&Answer { metric, note: &note, records: numbers.records() }, text)?,
    }
    Ok(Exit::SUCCESS)
}
