//! Two runs compared.

use std::collections::{BTreeMap, BTreeSet};

use placebench_datasets::is_equal;
use placebench_harness::compare::{
    CellChange, CompareOptions, Comparison, Effect, QualityComparison, QualityGroup, Regression, Side, StatusChange,
    TimeChange, TimeComparison,
};
use placebench_harness::results::{CellKey, Metric};
use serde::Serialize;

use super::numbers::{counted, factor, probability, seconds, values};
use crate::export::TextTable;
use crate::html::{escape, grid};
use crate::terminal::aligned;

/// A comparison for a terminal; lists end after `limit` lines.
pub fn comparison_text(comparison: &Comparison, limit: usize) -> String {
    document(comparison, limit, Style::Text)
}

/// A comparison in Markdown; lists end after `limit` lines.
pub fn comparison_markdown(comparison: &Comparison, limit: usize) -> String {
    document(comparison, limit, Style::Markdown)
}

/// A comparison for programs: everything, with the limits that it was judged by. In JSON, numbers that are not finite are null.
#[derive(Clone, Debug, Serialize)]
pub struct ComparisonDocument<'a> {
    /// Whether anything got worse beyond the limits.
    pub is_regression: bool,
    /// The limits.
    pub limits: Limits,
    /// What was found.
    #[serde(flatten)]
    pub comparison: &'a Comparison,
}

/// The limits of [`CompareOptions`].
#[derive(Clone, Debug, Serialize)]
pub struct Limits {
    max_cell: f64,
    max_mean: f64,
    max_time: Option<f64>,
    max_cell_time: f64,
    least_seconds: f64,
    all_cells: bool,
    broken: bool,
}

impl<'a> ComparisonDocument<'a> {
    /// A comparison with the options that made it.
    pub fn new(comparison: &'a Comparison, options: &CompareOptions) -> Self {
        let &CompareOptions { max_cell, max_mean, max_time, max_cell_time, least_seconds, all_cells, broken, .. } =
            options;
        let limits = Limits { max_cell, max_mean, max_time, max_cell_time, least_seconds, all_cells, broken };
        Self { is_regression: comparison.is_regression(), limits, comparison }
    }
}

/// A comparison as HTML without a heading: verdict, regressions, placers, seconds, cells that are not in both; lists end after
/// `limit` lines.
pub(crate) fn comparison_html(comparison: &Comparison, limit: usize) -> String {
    document(comparison, limit, Style::Html)
}

#[derive(Clone, Copy, PartialEq)]
enum Style {
    Text,
    Markdown,
    Html,
}

impl Style {
    fn heading(self, text: &str) -> String {
        match self {
            Self::Text => format!("\n{text}\n"),
            Self::Markdown => format!("\n### {text}\n\n"),
            Self::Html => format!("<h3>{}</h3>\n", escape(text)),
        }
    }

    fn table(self, table: &TextTable) -> String {
        match self {
            Self::Text => aligned(table),
            Self::Markdown => table.to_markdown() + "\n",
            Self::Html => grid(table),
        }
    }

    fn item(self, text: &str) -> String {
        match self {
            Self::Text => format!("{text}\n"),
            Self::Markdown => format!("- {text}\n"),
            Self::Html => format!("<p class=\"item\">{}</p>\n", escape(text)),
        }
    }

    fn items(self, all: impl ExactSizeIterator<Item = String>, limit: usize) -> String {
        let more = all.len().saturating_sub(limit);
        let mut text: String = all.take(limit).map(|line| self.item(&line)).collect();
        if more > 0 {
            text.push_str(&self.item(&format!("… and {more} more ({})", self.all())));
        }
        text
    }

    /// How to see all lines of a list.
    fn all(self) -> &'static str {
        if self == Self::Html { "placebench compare --all lists them" } else { "use --all" }
    }
}

fn document(comparison: &Comparison, limit: usize, style: Style) -> String {
    let mut text = verdict(comparison, style);
    if style == Style::Markdown {
        text.push('\n');
    }
    for (word, side) in [("old", &comparison.old), ("new", &comparison.new)] {
        text.push_str(&style.item(&format!("{word}: {}", side_line(side))));
    }
    for warning in &comparison.warnings {
        text.push_str(&style.item(&format!("warning: {warning}")));
    }
    if comparison.is_regression() {
        text.push_str(&style.heading("Regressions"));
        text.push_str(&style.items(comparison.regressions.iter().map(regression_line), limit));
    }
    for quality in &comparison.quality {
        text.push_str(&quality_section(quality, limit, style));
    }
    for times in &comparison.times {
        text.push_str(&time_section(times, limit, style));
    }
    text + &coverage(comparison, limit, style)
}

fn verdict(comparison: &Comparison, style: Style) -> String {
    let compared =
        format!("{} in both runs, {} with a result in both", counted(comparison.matched, "cell"), comparison.compared);
    let means: Vec<String> = comparison.quality.iter().filter_map(mean_sentence).collect();
    let verdict = match comparison.regressions.len() {
        0 => "No regression".to_owned(),
        n => counted(n, "regression"),
    };
    // The mean first: a few cells that got worse are no headline where most got better.
    let verdict = format!("{}: {compared}.", [means, vec![verdict]].concat().join("; "));
    match style {
        Style::Text => verdict + "\n",
        Style::Markdown => format!("## {verdict}\n"),
        Style::Html => format!("<p class=\"verdict\"><b>{}</b></p>\n", escape(&verdict)),
    }
}

/// How a metric moved over all; `None` if nothing changed.
fn mean_sentence(quality: &QualityComparison) -> Option<String> {
    let ratio = quality.total.mean_ratio.filter(|_| quality.total.equal < quality.total.cells)?;
    let word = match ratio {
        _ if is_equal(ratio, 1.0) => "the same",
        ratio if ratio < 1.0 => "better",
        _ => "worse",
    };
    Some(format!("{} ×{} ({word}) on the mean", quality.metric.column(), factor(ratio)))
}

fn side_line(side: &Side) -> String {
    let commit = side.commit.as_ref().map(|commit| format!(", commit {commit}")).unwrap_or_default();
    let date = side.date.as_ref().map(|date| format!(", {date}")).unwrap_or_default();
    format!("{}{date}{commit}, {}, {} ok", side.name, counted(side.cells, "cell"), side.ok)
}

fn regression_line(regression: &Regression) -> String {
    match regression {
        Regression::Status(change) => {
            format!("status: {} → {}: {}{}", change.old, change.new, change.cell, reason(change))
        }
        Regression::Broken(change) => format!("broken: {}", broken_line(change)),
        Regression::Missing { cell } => format!("missing: {cell}"),
        Regression::Mean { metric, placer, ratio, instances } => {
            format!("{} ×{}: {placer}, mean over {}", metric.column(), factor(*ratio), counted(*instances, "instance"))
        }
        Regression::Cell { metric, change } => {
            format!("{} ×{} ({}): {}", metric.column(), factor(change.ratio), values(*metric, change), change.cell)
        }
        Regression::Time(change) => {
            let place = if change.place.is_empty() { String::new() } else { format!(" on {}", change.place) };
            format!(
                "{} ×{} ({} → {}, noise ×{}): {}{place}",
                change.metric.column(),
                factor(change.ratio),
                seconds(change.old_seconds),
                seconds(change.new_seconds),
                noise(change),
                change.algorithm
            )
        }
    }
}

fn reason(change: &StatusChange) -> String {
    change.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default()
}

fn broken_line(change: &StatusChange) -> String {
    format!("{}: {}{}", change.new, change.cell, reason(change))
}

fn quality_section(quality: &QualityComparison, limit: usize, style: Style) -> String {
    let name = quality.metric.column();
    let total = &quality.total;
    let heading = style.heading(&format!("{name}, new / old"));
    if total.equal == total.cells {
        return heading + &style.item(&format!("the same in all {}, bit by bit", counted(total.cells, "cell")));
    }
    let mut table = TextTable::new(["placer", "cells", "better", "equal", "worse", "mean", "worst", "p", "p (Holm)"]);
    let (changed, same): (Vec<&QualityGroup>, Vec<_>) =
        quality.placers.iter().partition(|group| group.equal < group.cells);
    for (name, group) in changed.iter().map(|group| (group.name.as_str(), *group)).chain([("all", total)]) {
        let optional = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        table.push([
            name.to_owned(),
            group.cells.to_string(),
            group.better.to_string(),
            group.equal.to_string(),
            group.worse.to_string(),
            optional(group.mean_ratio.map(factor)),
            optional(group.worst.as_ref().map(|change| factor(change.ratio))),
            optional(group.p.map(probability)),
            optional(group.p_holm.map(probability)),
        ]);
    }
    let mut text = heading + &style.table(&table);
    if !same.is_empty() {
        text.push_str(&style.item(&format!("{} the same in every cell", counted(same.len(), "placer"))));
    }
    if total.zeros > 0 {
        let zeros = counted(total.zeros, "mean");
        text.push_str(&style.item(&format!("{zeros} where one run has 0: they have no ratio")));
    }
    if limit == usize::MAX {
        text.push_str(&style.heading(&format!("{name}, all changed cells")));
        let line = |change: &CellChange| {
            format!("×{} ({}): {}", factor(change.ratio), values(quality.metric, change), change.cell)
        };
        text.push_str(&style.items(quality.changes.iter().map(line), limit));
    }
    text
}

fn noise(change: &TimeChange) -> String {
    change.noise.map_or_else(|| "unknown".to_owned(), |noise| format!("{noise:.2}"))
}

fn time_section(times: &TimeComparison, limit: usize, style: Style) -> String {
    let (what, algorithm) = match times.metric {
        Metric::SimulateSeconds => ("Seconds to simulate", "scheduler"),
        _ => ("Seconds to place", "placer"),
    };
    let ratio = factor(times.mean_ratio);
    let mut text = style.heading(&format!("{what}, new / old: {ratio} in the mean over all"));
    let mut table = TextTable::new([algorithm, "old", "new", "mean", "noise", "verdict"]);
    for change in times.algorithms.iter().take(limit) {
        let verdict = match change.noise {
            None => "no repetitions to judge by",
            Some(noise) if change.ratio > noise => "slower",
            Some(noise) if change.ratio < 1.0 / noise => "faster",
            Some(_) => "within noise",
        };
        table.push([
            change.algorithm.clone(),
            seconds(change.old_seconds),
            seconds(change.new_seconds),
            format!("{:.2}", change.ratio),
            noise(change),
            verdict.to_owned(),
        ]);
    }
    text.push_str(&style.table(&table));
    let more = times.algorithms.len().saturating_sub(limit);
    if more > 0 {
        text.push_str(&style.item(&format!("… and {more} more ({})", style.all())));
    }
    text
}

fn coverage(comparison: &Comparison, limit: usize, style: Style) -> String {
    let mut text = String::new();
    let changes = |is_listed: fn(Effect) -> bool| -> Vec<String> {
        let changes = comparison.status_changes.iter().filter(|change| is_listed(change.effect));
        changes.map(|change| format!("{} → {}: {}", change.old, change.new, change.cell)).collect()
    };
    let cut_short = changes(|effect| effect == Effect::CutShort);
    let differently = changes(|effect| matches!(effect, Effect::Neutral | Effect::Fixed));
    let broken: Vec<String> = comparison.broken.iter().map(broken_line).collect();
    let missing = |cells: &[CellKey]| if limit == usize::MAX { each(cells) } else { by_placer(cells) };
    let lists = [
        (
            "Cells cut short in one run, at their time limit or by the machine: no regression",
            cut_short.len(),
            cut_short,
        ),
        ("Cells that end differently, but not worse", differently.len(), differently),
        ("Cells without a result in both runs", broken.len(), broken),
        ("Cells only in the old run", comparison.only_old.len(), missing(&comparison.only_old)),
        ("Cells only in the new run", comparison.only_new.len(), missing(&comparison.only_new)),
        (
            "Cells of the same name but of another problem (ops, edges, devices, unit), not compared",
            comparison.other_problems.len(),
            missing(&comparison.other_problems),
        ),
    ];
    for (heading, count, lines) in lists.into_iter().filter(|(_, count, _)| *count > 0) {
        text.push_str(&style.heading(&format!("{heading}: {count}")));
        text.push_str(&style.items(lines.into_iter(), limit));
    }
    text
}

fn each(cells: &[CellKey]) -> Vec<String> {
    cells.iter().map(ToString::to_string).collect()
}

/// A line for each placer: what is missing is most often a placer or a graph as a whole.
fn by_placer(cells: &[CellKey]) -> Vec<String> {
    let mut placers: BTreeMap<&str, (usize, BTreeSet<&str>)> = BTreeMap::new();
    for cell in cells {
        let (count, graphs) = placers.entry(&cell.placer).or_default();
        *count += 1;
        graphs.insert(&cell.graph);
    }
    let line = |(placer, (count, graphs)): (&str, (usize, BTreeSet<&str>))| {
        format!("{placer}: {} on {}", counted(count, "cell"), counted(graphs.len(), "graph"))
    };
    placers.into_iter().map(line).collect()
}
