//! Runs side by side: one page of what got better, worse, appeared and failed against the first of them.

use std::collections::{BTreeMap, BTreeSet};

use placebench_harness::compare::{
    CompareOptions, Comparison, ComparisonError, Effect, History, HistoryError, QualityComparison, QualityGroup,
    RunTable, goal_of,
};
use placebench_harness::results::{Column, Metric, Status};
use polars::prelude::{Expr, PolarsResult, col, lit};

use super::escape::{escape, fill};
use super::{HINTS, STYLE, grid};
use crate::Trend;
use crate::comparison::{comparison_html, counted, factor, probability};
use crate::export::TextTable;
use crate::figure::{Figure, Style};
use crate::words::capitalised;

const PAGE: &str = include_str!("assets/comparison.html");
/// Lists end after this many lines.
const LIMIT: usize = 50;
/// A ratio of new to old that is as loud as it gets.
const LOUDEST: f64 = 2.0;
/// More runs than this are the matter of `placebench trend`.
pub const MOST_RUNS: usize = 60;

/// Makes the page of runs compared with the first of them. The same runs give the same bytes.
///
/// # Errors
/// If a run has nothing in common with the first, or has a cell twice.
///
/// # Complexity
/// O(n log n) in the rows of each run.
pub fn comparison_report(runs: &[RunTable], options: &CompareOptions) -> Result<String, HistoryError> {
    let Some((old, later)) = runs.split_first() else { return Ok(String::new()) };
    let mut options = options.clone();
    if options.metrics.is_empty() {
        let all: Vec<&RunTable> = runs.iter().collect();
        options.metrics.push(goal_of(&all).map_err(ComparisonError::from)?);
    }
    let metric = options.metrics[0];
    let compared: Vec<Comparison> =
        later.iter().map(|new| Comparison::new(old, new, &options)).collect::<Result<_, ComparisonError>>()?;
    let names: Vec<String> = later.iter().map(|run| run.name.clone()).collect();
    let sections: String = compared.iter().zip(later).map(|(comparison, run)| section(comparison, old, run)).collect();
    let suites = runs.iter().map(|run| run.table.distinct(Column::Suite)).collect::<PolarsResult<Vec<_>>>();
    let suites: BTreeSet<String> = suites.map_err(ComparisonError::from)?.into_iter().flatten().collect();
    let suites = suites.into_iter().collect::<Vec<_>>().join(", ");
    let table = runs_table(runs, &compared).map_err(ComparisonError::from)?;
    let placers = by_name(&compared, |quality| &quality.placers);
    let graphs = by_name(&compared, |quality| &quality.graphs);
    let known = later.iter().zip(&compared).filter(|_| !options.any_suite);
    let known = known.filter_map(|(run, comparison)| Some((run, comparison.quality.first()?)));
    let history = History::of_runs(runs, Some(old), &known.collect::<Vec<_>>())?;
    Ok(fill(
        PAGE,
        &[
            ("suite", &escape(&suites)),
            ("first", &escape(&old.name)),
            ("metric", metric.title()),
            ("Metric", &capitalised(metric.title())),
            ("runs", &grid(&table)),
            ("placers", &matrix("placer", &names, &placers)),
            ("graphs", &matrix("graph", &names, &graphs)),
            ("sections", &sections),
            ("history", &trends(&history)),
            ("style", STYLE),
            ("script", HINTS),
        ],
    ))
}

/// Whether a row has a result.
fn is_ok() -> Expr {
    col("status").eq(lit(Status::Ok.name()))
}

fn runs_table(runs: &[RunTable], compared: &[Comparison]) -> PolarsResult<TextTable> {
    let mut table = TextTable::new([
        "run",
        "started",
        "commit",
        "processor",
        "cells",
        "failed",
        "worse",
        "better",
        "newly failed",
        "repaired",
        "appeared",
        "gone",
    ]);
    for (index, run) in runs.iter().enumerate() {
        let environment = run.environment.as_ref();
        let failed = run.table.filter(is_ok().not())?.height();
        let mut line = vec![
            run.name.clone(),
            run.date.clone().unwrap_or_default(),
            run.commit().unwrap_or_default().chars().take(12).collect(),
            environment.map_or_else(String::new, |environment| environment.cpu.clone()),
            run.table.height().to_string(),
            failed.to_string(),
        ];
        if let Some(comparison) = index.checked_sub(1).and_then(|index| compared.get(index)) {
            let sum = |count: fn(&QualityGroup) -> usize| -> usize {
                comparison.quality.iter().map(|quality| count(&quality.total)).sum()
            };
            let ended = |effect| comparison.status_changes.iter().filter(|change| change.effect == effect).count();
            let counts = [
                sum(|total| total.worse),
                sum(|total| total.better),
                ended(Effect::Regression),
                ended(Effect::Fixed),
                comparison.only_new.len(),
                comparison.only_old.len(),
            ];
            line.extend(counts.map(|count| count.to_string()));
        }
        table.push(line);
    }
    Ok(table)
}

/// What became of a placer or graph in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Change {
    cells: usize,
    better: usize,
    worse: usize,
    /// Geometric mean of new / old; 1 where nothing changed.
    ratio: f64,
    /// After Holm's correction over the placers.
    p: Option<f64>,
}

/// For each run, the changes by name.
type Changes = Vec<BTreeMap<String, Change>>;

/// By placer or graph, as `compare` counts them.
fn by_name(compared: &[Comparison], groups: fn(&QualityComparison) -> &[QualityGroup]) -> Changes {
    let change = |group: &QualityGroup| Change {
        cells: group.cells,
        better: group.better,
        worse: group.worse,
        ratio: group.mean_ratio.unwrap_or(1.0),
        p: group.p_holm,
    };
    let of = |comparison: &Comparison| {
        let groups = comparison.quality.first().map(groups).unwrap_or_default();
        groups.iter().map(|group| (group.name.clone(), change(group))).collect()
    };
    compared.iter().map(of).collect()
}

/// A row a placer or graph that changed, a column a run, the worst first; the worse, the louder.
fn matrix(what: &str, runs: &[String], changes: &Changes) -> String {
    let mut names: Vec<&String> = changes.iter().flat_map(BTreeMap::keys).collect();
    names.sort_unstable();
    names.dedup();
    let all = names.len();
    let changed = |change: &Change| change.worse + change.better > 0;
    names.retain(|name| changes.iter().filter_map(|run| run.get(*name)).any(changed));
    let same = match all - names.len() {
        0 => String::new(),
        count => format!("<p>{} the same in every cell of every run.</p>\n", counted(count, what)),
    };
    if names.is_empty() {
        return same;
    }
    // By the last run that has it: what happened last matters most.
    let last = |name: &String| changes.iter().rev().find_map(|run| run.get(name)).map_or(1.0, |change| change.ratio);
    names.sort_by(|a, b| last(b).total_cmp(&last(a)));
    let header: String = runs.iter().map(|run| format!("<th class=\"number\">{}</th>", escape(run))).collect();
    let mut body = String::new();
    for name in names {
        let cells: String = changes.iter().map(|run| cell(run.get(name))).collect();
        body.push_str(&format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", escape(name)));
    }
    format!(
        "<div class=\"scroll\" tabindex=\"0\"><table class=\"grid heat\">\n<thead><tr><th>{what}</th>{header}</tr></thead>\n\
         <tbody>{body}</tbody></table></div>\n{same}"
    )
}

fn cell(change: Option<&Change>) -> String {
    let Some(change) = change else { return "<td class=\"number\"></td>".to_owned() };
    let heat = (change.ratio.ln() / LOUDEST.ln()).clamp(0.0, 1.0);
    let counts = match (change.worse, change.better) {
        (0, 0) => "same".to_owned(),
        (worse, better) => {
            let p = change.p.map_or_else(String::new, |p| format!(", p {}", probability(p)));
            format!("{} ({worse} worse, {better} better of {}{p})", factor(change.ratio), counted(change.cells, "cell"))
        }
    };
    let class = if change.worse == 0 && change.better > 0 { "number better" } else { "number" };
    format!("<td class=\"{class}\" style=\"--heat:{heat:.3}\">{}</td>", escape(&counts))
}

fn section(comparison: &Comparison, old: &RunTable, run: &RunTable) -> String {
    let title = escape(&format!("{} against {}", run.name, old.name));
    let open = if comparison.is_regression() { " open" } else { "" };
    format!(
        "<details{open} class=\"run\"><summary>{title}</summary>\n{}</details>\n",
        comparison_html(comparison, LIMIT)
    )
}

/// How makespans, seconds to place and failures moved from run to run, by date and commit.
fn trends(history: &History) -> String {
    let mut html = String::new();
    for (metric, what) in [
        (Metric::MakespanRatio, "What the runs were placed for / that of the first run, geometric mean of each placer"),
        (Metric::PlaceSeconds, "Seconds of all placements"),
        (Metric::Failed, "Cells that failed"),
    ] {
        for trend in Trend::all(history, metric, MOST_RUNS) {
            let svg = trend.figure().draw(&Style::page().with_title(false)).to_svg();
            let heading = escape(&format!("{what}: {}", trend.suite));
            html.push_str(&format!(
                "<h3>{heading}</h3>\n<figure class=\"figure\">\n{svg}</figure>\n<details><summary>Numbers by date and \
                 commit</summary>\n{}</details>\n",
                grid(&trend.table())
            ));
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use placebench_harness::results::{Row, Table as Rows};

    use super::*;
    use crate::summary::tests::rows;

    fn run(name: &str, rows: Vec<Row>) -> RunTable {
        let (table, date) = (Rows::new(&rows).unwrap(), Some(format!("2026-11-2{}T01:00:00Z", name.len())));
        RunTable { name: name.into(), table, environment: None, date, unfinished: false }
    }

    #[test]
    fn the_page_says_what_got_worse_better_appeared_and_failed_in_each_run() {
        let old = run("a", rows());
        let mut worse = rows();
        for row in worse.iter_mut().filter(|row| row.placer == "heft" && row.graph == "a") {
            row.makespan = row.makespan.map(|makespan| makespan * 1.21);
        }
        let mut other = rows();
        for row in &mut other {
            row.makespan = row.makespan.map(|makespan| makespan / 2.0);
            if row.placer == "heft" && row.graph == "b" && row.scheduler == "pct" {
                (row.status, row.makespan) = ("panicked".into(), None);
            }
        }
        other.push(Row { placer: "<new>".into(), ..rows()[0].clone() });
        let runs = [old, run("bb", worse), run("ccc", other)];
        let html = comparison_report(&runs, &CompareOptions::default()).unwrap();
        assert_eq!(html, comparison_report(&runs, &CompareOptions::default()).unwrap());
        assert!(!html.contains("{{") && !html.contains("<new>") && html.contains("&lt;new&gt;"));
        // heft has four cells on a and four on b: 1.21 on half of them is 1.1 in the mean.
        assert!(html.contains("1.1000 (4 worse, 0 better of 8 cells"), "by placer");
        assert!(html.contains("1.1000 (4 worse, 0 better of 8 cells)"), "by graph: no test");
        assert!(html.contains("0.5000 (0 worse,"), "the third run");
        let table = runs_table(
            &runs,
            &runs[1..]
                .iter()
                .map(|new| Comparison::new(&runs[0], new, &CompareOptions::default()).unwrap())
                .collect::<Vec<_>>(),
        )
        .unwrap();
        assert_eq!(table.rows[0][4..], ["16", "2", "", "", "", "", "", ""]);
        assert_eq!(table.rows[1][4..], ["16", "2", "4", "0", "0", "0", "0", "0"]);
        assert_eq!(table.rows[2][4..], ["17", "4", "0", "12", "2", "0", "1", "0"]);
        assert!(html.contains("2026-11-22T01:00:00Z"), "dates of the history");
        let same = comparison_report(&[runs[0].clone(), runs[0].clone()], &CompareOptions::default()).unwrap();
        assert!(same.contains("2 placers the same in every cell of every run"), "nothing changed");
    }
}
