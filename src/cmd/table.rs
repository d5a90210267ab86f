//! `placebench table`: the results of a run as a table for a paper.

use crate::output::Exit;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use placebench::harness::results::Metric;
use placebench::reports::export::{TextFormat, plain_label};
use placebench::reports::{Float, MetricRecords, MetricTable, Sort, Spread};
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

    /// Only these columns, in this order: instances as the heads of the table name them, without unit, and `mean`. The mean
    /// ratios stay those over all instances; '--where' leaves instances out of them, too.
    #[arg(long, value_name = "NAME,…")]
    columns: Option<String>,

    /// markdown, tex (LaTeX with the package booktabs) or csv [default: what the ending of '--out' says, .md, .tex or .csv;
    /// else markdown].
    #[arg(long, short, conflicts_with = "json")]
    format: Option<TextFormat>,

    #[command(flatten)]
    csv: CsvArgs,

    /// What \ref calls the table in LaTeX [default: tab: with the run folder's name and the metric].
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,

    /// In LaTeX: takes both columns of a paper, as a table*.
    #[arg(long)]
    wide: bool,

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
    let format = format_of(args)?;
    if args.label.is_some() && format != TextFormat::Latex {
        bail!("--label is what LaTeX calls the table: leave it out, or use --format tex");
    }
    if let Some(label) = args.label.as_deref().filter(|label| label.is_empty() || plain_label(label) != *label) {
        bail!("--label '{label}': \\ref takes letters and digits of ASCII and any of : . _ - +");
    }
    if args.wide && format != TextFormat::Latex {
        bail!("--wide is for LaTeX: leave it out, or use --format tex");
    }
    args.csv.check(format == TextFormat::Csv)?;
    let table = args.only.table_of(&args.run)?;
    let metric = args.metric.map_or_else(|| table.goal(), Ok)?;
    let name = metric.title();
    let numbers = MetricTable::new(&table, metric, args.sort, args.spread)?;
    if args.metric.is_some() && numbers.is_empty() {
        bail!("{}: no row has a value of {}: choose another --metric", args.run.display(), metric.short());
    }
    let numbers = match &args.columns {
        None => numbers,
        Some(names) => numbers.with_columns(names)?,
    };
    let note = numbers.marks.note();
    let over = &numbers.over;
    let beside = numbers.beside().map(str::to_owned);
    let notes: String = beside.iter().chain(&note).map(|note| format!(". {note}")).collect();
    let caption = format!("Mean {name} of each placer with its best scheduler; mean ratio to best: {over}{notes}");
    let folder = args.run.file_name().unwrap_or_default().to_string_lossy();
    let label = args.label.clone().unwrap_or_else(|| format!("tab:{folder}-{}", metric.short()));
    let text = || {
        let float = Float { caption: &caption, label: &label, is_wide: args.wide };
        let text = || numbers.to_text(format, &float);
        match format {
            TextFormat::Markdown => {
                let beside = beside.as_ref().map(|beside| format!(" {beside}.")).unwrap_or_default();
                let note = note.as_ref().map(|note| format!("{note}\n")).unwrap_or_default();
                format!("{}\nMean ratio to best: {over}.{beside}\n{note}", text())
            }
            TextFormat::Csv => numbers.csv().to_csv_with(args.csv.texts()),
            TextFormat::Latex => text(),
        }
    };
    match &args.out {
        Some(path) => write_file(path, |out| out.write_all(text().as_bytes()))?,
        None => form.print(&Answer { metric, note: &note, records: numbers.records() }, text)?,
    }
    Ok(Exit::SUCCESS)
}

/// What is asked for, or what the ending of the file says.
fn format_of(args: &Args) -> anyhow::Result<TextFormat> {
    let ending = args.out.as_deref().and_then(Path::extension).map(|ending| ending.to_string_lossy().to_lowercase());
    let said = match ending.as_deref() {
        Some("md" | "markdown") => Some(TextFormat::Markdown),
        Some("tex") => Some(TextFormat::Latex),
        Some("csv") => Some(TextFormat::Csv),
        _ => None,
    };
    match (args.format, said, &args.out) {
        (Some(asked), Some(said), Some(out)) if asked != said => {
            bail!("{}: the ending says another format than --format: change one of them", out.display())
        }
        (None, None, Some(out)) if ending.is_some() => {
            bail!("{}: no table has this ending: use .md, .tex or .csv, or say the --format", out.display())
        }
        (asked, said, _) => Ok(asked.or(said).unwrap_or(TextFormat::Markdown)),
    }
}
