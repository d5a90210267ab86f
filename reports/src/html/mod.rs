//! The report of a run: one HTML file that needs nothing else.
//!
//! The page carries the rows as compact JSON ([`columns`]) and a script that shows them; failures, findings, figures and
//! the environment come first, each cell has a page of its own. The file opens from disk: it loads nothing, and its
//! content security policy forbids that it ever does.

mod claims;
mod columns;
mod commands;
mod comparison;
mod escape;
mod figures;
mod kept;
mod strips;
mod summary;
mod timelines;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use placebench_harness::results::grid::GridError;
use placebench_harness::results::{Column, Filter, SCHEMA_VERSION, Table};
use placebench_harness::runner::Environment;
use placebench_harness::suite::RunPlan;
use polars::prelude::PolarsResult;
use serde_json::json;

pub use comparison::{MOST_RUNS, comparison_report};
pub use timelines::Timelines;

use crate::agreement_text::{EXPLANATION, HEADER, agreement_cells};
use crate::{Summary, export, finding_sentences};
use commands::{Commands, quoted};
pub(crate) use escape::escape;
use escape::{fill, json_in_script};
use kept::Kept;
use timelines::Made;

/// What a report is made from.
#[derive(Clone)]
pub struct ReportInput {
    /// The run folder as commands should name it; what it keeps of measured cells is read there.
    pub folder: String,
    /// The rows, in the suite's order.
    pub table: Table,
    /// The text of the suite as run.
    pub suite_text: String,
    /// The suite with its names resolved, or one line that says why this version of placebench cannot.
    pub plan: Result<Arc<RunPlan>, String>,
    /// Where and how the run was made.
    pub environment: Environment,
    /// Which cells get a timeline.
    pub timelines: Timelines,
    /// What the rows were selected by; empty if they are all of the run.
    pub only: Filter,
}

/// A report.
#[derive(Clone, Debug)]
pub struct Report {
    /// The file.
    pub html: String,
    /// Cells that have a timeline.
    pub timelines: usize,
}

/// How large reports should be at most: timelines take what the rest leaves.
const TARGET_BYTES: usize = 2_800_000;

/// How much of that figures may take.
const FIGURE_BYTES: usize = 1_200_000;

const PAGE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/style.css");
/// Shared with the page of runs compared.
const HINTS: &str = include_str!("assets/hints.js");
/// In the order in which they build on each other.
const SCRIPTS: [&str; 6] = [
    HINTS,
    include_str!("assets/data.js"),
    include_str!("assets/table.js"),
    include_str!("assets/cell.js"),
    include_str!("assets/sections.js"),
    include_str!("assets/report.js"),
];

/// A suite of more bytes than this is cut: the run folder has it.
const SUITE_BYTES: usize = 100_000;

/// Makes the report. The same input gives the same bytes. Of more than 20,000 rows it carries a part, and says so.
///
/// # Errors
/// If a cell is in the table twice, or Polars refuses the rows.
pub fn html_report(input: &ReportInput) -> Result<Report, GridError> {
    let table = &input.table;
    let (summary, grid_of_table) = Summary::with_grid(table)?;
    let kept = Kept::new(table, &summary, &grid_of_table)?;
    let candidates = timelines::candidates(&summary.standings, &grid_of_table)
        .into_iter()
        .filter_map(|row| kept.position(row))
        .collect();
    let rows = &kept.rows;
    let mut commands = input.plan.as_ref().ok().map(|plan| Commands::new(&input.folder, &plan.suite));
    if let Some(commands) = commands.as_mut().filter(|_| rows.len() < kept.of) {
        commands.keep_graphs(rows);
    }
    let cells = match &input.plan {
        Ok(plan) if input.only.is_empty() => plan.cells.len().max(kept.of),
        _ => kept.of,
    };
    let parts = [
        ("about", columns::about_json()),
        ("columns", columns::columns_json(rows)),
        ("summary", summary::summary_json(&summary, &kept)),
        ("commands", serde_json::to_string(&commands).unwrap_or_else(|_| "null".to_owned())),
        ("rows", rows.len().to_string()),
    ];
    let measured = summary.instances.iter().any(|instance| instance.executor.measures());
    let suite_text = suite_text(input);
    let used: usize = parts.iter().map(|(_, json)| json.len()).sum::<usize>()
        + [PAGE, STYLE, &suite_text].map(str::len).iter().sum::<usize>()
        + SCRIPTS.map(str::len).iter().sum::<usize>();
    let figures = figures::figures(table, grid_of_table, TARGET_BYTES.saturating_sub(used).min(FIGURE_BYTES))?;
    let used = used + figures.html.len();
    let left = TARGET_BYTES.saturating_sub(used);
    let made =
        timelines::make(input.timelines, input.plan.as_ref().ok(), (Path::new(&input.folder), rows), candidates, left);
    let strips: Vec<String> = made.strips.iter().map(|(row, strips)| format!("\"{row}\":{strips}")).collect();
    let refused: BTreeMap<String, &String> = made.refused.iter().map(|(row, why)| (row.to_string(), why)).collect();
    let mut data: Vec<String> = parts.iter().map(|(name, json)| format!("\"{name}\":{json}")).collect();
    data.push(format!("\"timelines\":{{{}}}", strips.join(",")));
    data.push(format!("\"refused\":{}", json!(refused)));

    let left_out = match figures.left_out {
        0 => String::new(),
        count => {
            let folder = escape(&quoted(&input.folder));
            format!(
                "<p class=\"note\">{count} figures are left out, since they would make this page too large: <code>placebench figure \
                 {folder}</code> draws them.</p>"
            )
        }
    };
    let suite = table.distinct(Column::Suite)?.into_iter().next().unwrap_or_default();
    let title = input.plan.as_ref().map_or("", |plan| &plan.suite.title);
    let findings: String =
        finding_sentences(&summary).iter().map(|sentence| format!("<li>{}</li>\n", escape(sentence))).collect();
    let claims = match &input.plan {
        // Some of the rows say little of what the source says of all.
        Ok(plan) if input.only.is_empty() && rows.len() == kept.of => claims::section(rows, &plan.suite)?,
        _ => String::new(),
    };
    let html = fill(
        PAGE,
        &[
            ("suite", &escape(&suite)),
            ("title", &escape(title)),
            ("counts", &escape(&counts(&summary, cells, input, &kept))),
            ("analysis", &paragraphs(input.plan.as_ref().map_or("", |plan| &plan.suite.analysis))),
            ("findings", &findings),
            ("agreement", &if measured { agreement(table)? } else { String::new() }),
            ("to_claims", if claims.is_empty() { "" } else { "<a href=\"#claims\">Claims</a>\n" }),
            ("claims", &claims),
            ("environment", &environment(input)),
            ("timelines", &escape(&about_timelines(input, &made))),
            ("suite_text", &escape(&suite_text)),
            ("folder", &escape(&input.folder)),
            ("figures", &figures.html),
            ("figures_hidden", if figures.html.is_empty() { "hidden" } else { "" }),
            ("figures_left_out", &left_out),
            ("style", STYLE),
            ("script", &SCRIPTS.concat()),
            ("data", &json_in_script(&format!("{{{}}}", data.join(",")))),
        ],
    );
    Ok(Report { html, timelines: made.strips.len() })
}

/// How far off predictions are: a table, or nothing if nothing was measured.
fn agreement(table: &Table) -> PolarsResult<String> {
    let rows = agreement_cells(table)?;
    if rows.is_empty() {
        return Ok(String::new());
    }
    let table = export::TextTable {
        header: HEADER.map(str::to_owned).to_vec(),
        rows: rows.into_iter().map(Vec::from).collect(),
    };
    let (table, explanation) = (grid(&table), escape(EXPLANATION));
    Ok(format!("<h3>How far off predictions are</h3>\n{table}<p class=\"note\">{explanation}</p>\n"))
}

/// A table of texts that scrolls sideways where it is too wide.
pub(crate) fn grid(table: &export::TextTable) -> String {
    let numeric = table.numeric_columns();
    let line = |cells: &[String], tag: &str| {
        let cell = |(text, &number): (&String, &bool)| {
            let class = if number { " class=\"number\"" } else { "" };
            format!("<{tag}{class}>{}</{tag}>", escape(text))
        };
        let cells: String = cells.iter().zip(&numeric).map(cell).collect();
        format!("<tr>{cells}</tr>\n")
    };
    let body: String = table.rows.iter().map(|row| line(row, "td")).collect();
    let header = line(&table.header, "th");
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"grid\">\n<thead>{header}</thead>\n<tbody>{body}</tbody></table></div>\n"
    )
}

/// The suite as run, or the beginning of a long one.
fn suite_text(input: &ReportInput) -> String {
    let text = input.suite_text.trim();
    match text.char_indices().take_while(|&(at, _)| at <= SUITE_BYTES).last() {
        Some((at, _)) if text.len() > SUITE_BYTES => {
            format!("{}\n… and so on: see suite.toml in the run folder", &text[..at])
        }
        _ => text.to_owned(),
    }
}

fn counts(summary: &Summary, cells: usize, input: &ReportInput, kept: &Kept) -> String {
    let only = &input.only;
    let failed: usize = summary.failed.values().sum();
    let done = summary.ok + failed;
    let mut text = format!("{done} cells");
    if done < cells {
        text = format!("unfinished: {done} of {cells} cells");
    }
    if !only.is_empty() {
        text.push_str(&format!(" where {only}"));
    }
    text.push_str(&match failed {
        0 => ", none failed".to_owned(),
        failed => format!(", {failed} failed"),
    });
    match kept.left_out(summary.instances.len(), &quoted(&input.folder)) {
        Some(left_out) => format!("{text}. {left_out}"),
        None => text,
    }
}

fn paragraphs(text: &str) -> String {
    text.split("\n\n")
        .filter(|text| !text.trim().is_empty())
        .map(|text| format!("<p>{}</p>\n", escape(text.trim())))
        .collect()
}

fn environment(input: &ReportInput) -> String {
    let Environment {
        version,
        commit,
        started,
        host,
        cpu,
        threads,
        platform,
        optimized,
        schema_version,
        command,
        inputs,
    } = &input.environment;
    let commit = commit.as_deref().map_or_else(String::new, |commit| format!(" (commit {commit})"));
    let build = if *optimized { "optimised" } else { "not optimised: seconds are too long" };
    let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let mut lines = vec![
        ("placebench", format!("{version}{commit}, {build}")),
        ("Host", host.clone()),
        ("Processor", format!("{cpu}, {threads} threads ran cells")),
        ("Platform", platform.clone()),
        ("Command line", command.join(" ")),
        ("Run folder", input.folder.clone()),
    ];
    lines.extend(started.clone().map(|started| ("Started", started)));
    lines.extend(inputs.iter().map(|(file, digest)| ("Input file", format!("{file}, SHA-256 {digest}"))));
    if *schema_version != SCHEMA_VERSION {
        lines.push(("Columns", format!("version {schema_version}")));
    }
    if let Err(reason) = &input.plan {
        lines.push(("Suite", format!("this version of placebench cannot read it: {reason}")));
    }
    let line = |(name, value): &(&str, String)| format!("<dt>{name}</dt><dd>{}</dd>\n", escape(value));
    lines.iter().map(line).collect()
}

fn about_timelines(input: &ReportInput, made: &Made) -> String {
    let (count, all) = (made.strips.len(), made.candidates);
    if input.plan.is_err() || all == 0 {
        return "No cell has a timeline: none could be simulated again.".to_owned();
    }
    let others = "The command on a cell's page, with --trace FILE added, writes its timeline for a trace viewer.";
    let how = match input.timelines {
        Timelines::Auto if count == all => String::new(),
        _ if count + made.refused.len() == all => {
            " The others could not be simulated again; their pages say why.".to_owned()
        }
        _ => {
            let folder = quoted(&input.folder);
            format!(" placebench report {folder} --timelines all makes all of them, whatever time and space they take.")
        }
    };
    format!(
        "{count} cells have a timeline, measured or simulated again for this report, of the {all} that are a placer's best scheduler on a graph in \
         the first repetition.{how} {others}"
    )
}

#[cfg(test)]
mod tests;
