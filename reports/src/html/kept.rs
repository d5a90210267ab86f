//! Which rows a report carries: all of a run that a page can hold, else those that failed and the best.

use std::collections::BTreeSet;

use placebench_harness::results::grid::Grid;
use placebench_harness::results::{Row, Status, Table, values};
use polars::prelude::{PolarsResult, col, lit};

use crate::Summary;

/// A page of more rows than this would be larger than 5 MiB.
const MOST_ROWS: usize = 20_000;

/// Rows that are kept of a larger run: they leave room for figures and timelines.
const KEPT_ROWS: usize = 8_000;

/// How many of them may be failures.
const KEPT_FAILURES: usize = 2_000;

/// Placers on graphs that the summary of a larger run shows.
const KEPT_ENTRIES: usize = 4_000;

/// The rows that a report carries.
pub(super) struct Kept {
    /// In the order of the table.
    pub(super) rows: Vec<Row>,
    /// The numbers of these rows in the table, ascending.
    numbers: Vec<u32>,
    /// By placer, then by scenario of the summary: the number of the row that stands for them.
    entries: Vec<Vec<Option<u32>>>,
    /// How many instances the summary shows: the first ones.
    pub(super) scenarios: usize,
    /// Rows of the table.
    pub(super) of: usize,
}

impl Kept {
    /// Of a table with its summary and the grid that it is made of.
    ///
    /// # Complexity
    /// A pass over the rows if any failed; memory for the rows that are kept.
    pub(super) fn new(table: &Table, summary: &Summary, grid: &Grid) -> PolarsResult<Self> {
        let entries = entries(summary, grid);
        let (of, scenarios) = (table.height(), summary.instances.len());
        if of <= MOST_ROWS {
            let numbers = table.column("row")?;
            return Ok(Self { rows: table.rows()?, numbers, entries, scenarios, of });
        }
        let shown = scenarios.min(KEPT_ENTRIES / summary.placers.len().max(1));
        let failures = if summary.failed.is_empty() { Vec::new() } else { failures(table)? };
        let mut numbers: BTreeSet<u32> = failures.into_iter().take(KEPT_FAILURES).collect();
        let of_shown = (0..shown).flat_map(|scenario| entries.iter().filter_map(move |row| row[scenario]));
        let best_first = by_rank(summary, &entries);
        for number in of_shown.chain(best_first) {
            if numbers.len() >= KEPT_ROWS {
                break;
            }
            numbers.insert(number);
        }
        let numbers: Vec<u32> = numbers.into_iter().collect();
        Ok(Self { rows: table.only(&numbers).rows()?, numbers, entries, scenarios: shown, of })
    }

    /// Where a row of the table is in [`Kept::rows`].
    pub(super) fn position(&self, number: u32) -> Option<usize> {
        self.numbers.binary_search(&number).ok()
    }

    /// The row that stands for a placer in a scenario, if it is kept: the first repetition of the best scheduler, or the
    /// first that failed.
    pub(super) fn entry(&self, placer: usize, scenario: usize) -> Option<usize> {
        self.position(self.entries[placer][scenario]?)
    }

    /// What is not on the page; `None` if nothing is missing.
    pub(super) fn left_out(&self, scenarios: usize, folder: &str) -> Option<String> {
        (self.rows.len() < self.of).then(|| {
            format!(
                "This page carries {} of the {} cells: of those that failed one of each kind, at most {KEPT_FAILURES}; of \
                 the first {} of {scenarios} graphs each placer's best; of the other graphs the best placers'. Findings, \
                 means and figures are of all cells. 'placebench report {folder} --where graph=NAME --out FILE' makes a page \
                 of one graph with all its cells.",
                self.rows.len(),
                self.of,
                self.scenarios
            )
        })
    }
}

/// The rows that stand for placers in scenarios: those of the best placers of all scenarios, then of the second best, and
/// so on.
fn by_rank(summary: &Summary, entries: &[Vec<Option<u32>>]) -> Vec<u32> {
    let mut ranked: Vec<(usize, usize, u32)> = Vec::new();
    for scenario in 0..summary.instances.len() {
        let value = |placer: usize| summary.entries[placer][scenario].as_ref().map(|entry| entry.value);
        let mut placers: Vec<(f64, usize)> =
            (0..entries.len()).filter_map(|placer| Some((value(placer)?, placer))).collect();
        placers.sort_by(|a, b| a.0.total_cmp(&b.0));
        let rows =
            placers.iter().enumerate().filter_map(|(rank, &(_, placer))| Some((rank, entries[placer][scenario]?)));
        ranked.extend(rows.map(|(rank, row)| (rank, scenario, row)));
    }
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, _, row)| row).collect()
}

/// The first row of each way to fail, in the order of the rows.
fn failures(table: &Table) -> PolarsResult<Vec<u32>> {
    let by = ["graph", "cluster", "network", "executor", "placer", "status", "error"];
    let frame = table.by_part(|rows| {
        let failed = rows.filter(col("status").neq(lit(Status::Ok.name())));
        Ok(failed.group_by_stable(by).agg([col("row").first()]))
    })?;
    values(&frame, "row")
}

/// By placer and scenario the row that stands for them.
fn entries(summary: &Summary, grid: &Grid) -> Vec<Vec<Option<u32>>> {
    let row = |placer: usize, scenario: usize| match &summary.entries[placer][scenario] {
        Some(_) => summary.standings.cell(grid, placer, scenario).map(|cell| cell.first),
        None => first_failed(grid, placer, scenario),
    };
    let scenarios = 0..summary.instances.len();
    let of_placer = |placer| scenarios.clone().map(|scenario| row(placer, scenario)).collect();
    (0..summary.placers.len()).map(of_placer).collect()
}

/// Number of the first row of a placer on an instance that failed.
fn first_failed(grid: &Grid, placer: usize, instance: usize) -> Option<u32> {
    let own = grid.instances[instance].cells.iter().filter(|cell| cell.placer as usize == placer);
    own.filter_map(|cell| cell.first_failed).min()
}
