//! A history of runs: one line a run and placer, in a CSV file.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use chrono::DateTime;
use placebench_algorithms::period::Goal;
use placebench_base::{did_you_mean, io_reason};
use placebench_datasets::format::write_whole;
use polars::prelude::*;
use serde::{Deserialize, Serialize};

use super::verdict::{changes_of, goal_of};
use super::{ComparisonError, QualityComparison, RunTable};
use crate::execute::ExecutorName;
use crate::results::grid::{Candidates, DROP_FAILING, Grid, GridInstance, Standings};
use crate::results::{Codes, Column, CsvTexts, Metric, Status, Table, as_text, values};
use crate::statistics::geometric_mean;

/// A placer in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HistoryLine {
    /// When the run was started, in UTC (RFC 3339); empty if unknown.
    pub date: String,
    /// The commit that made the run; empty if unknown.
    pub commit: String,
    /// Name of the suite.
    pub suite: String,
    /// The placer.
    pub placer: String,
    /// Cells with a result.
    pub ok: usize,
    /// Cells without.
    pub failed: usize,
    /// Date and commit of the reference.
    pub reference: String,
    /// Cells with a result here and in the reference.
    pub compared: usize,
    /// Geometric mean over instances of makespan / the reference's, with the best scheduler of either run; of the period where
    /// both were placed for it.
    pub makespan_ratio: Option<f64>,
    /// Geometric mean over instances of makespan / lower bound, with the scheduler of the least; of period / its bound where the
    /// suite minimises that.
    pub gap: Option<f64>,
    /// Seconds of all placements.
    pub place_seconds: f64,
    /// Seconds of all simulations.
    pub simulate_seconds: f64,
    /// What ratio and gap are of: makespan or period.
    #[serde(default, with = "as_text")]
    pub objective: Goal,
}

impl HistoryLine {
    /// The line with other texts.
    fn with_texts(self, text: impl Fn(&str) -> String) -> Self {
        let Self { date, commit, suite, placer, reference, .. } = &self;
        let [date, commit, suite, placer, reference] = [date, commit, suite, placer, reference].map(|own| text(own));
        Self { date, commit, suite, placer, reference, ..self }
    }

    /// Checks that the line says what a run can say.
    ///
    /// # Errors
    /// The column, and what is wrong.
    fn check(&self) -> Result<(), String> {
        if !self.date.is_empty() && DateTime::parse_from_rfc3339(&self.date).is_err() {
            return Err(format!("column 'date': '{}' is no time as in 2026-01-31T12:00:00Z", self.date));
        }
        let ratios = [("makespan_ratio", self.makespan_ratio), ("gap", self.gap)];
        let seconds = [("place_seconds", self.place_seconds), ("simulate_seconds", self.simulate_seconds)];
        let ratios = ratios.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let wrong_ratio = ratios.into_iter().find(|(_, value)| !(value.is_finite() && *value > 0.0));
        let wrong_seconds = seconds.into_iter().find(|(_, value)| !(value.is_finite() && *value >= 0.0));
        match wrong_ratio.or(wrong_seconds) {
            Some((name, value)) => Err(format!("column '{name}': {value} is not what a run can have")),
            None => Ok(()),
        }
    }

    /// A metric of the line; `None` if it has no value, or is none of [`Metric::OF_HISTORY`].
    pub fn value(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::MakespanRatio => self.makespan_ratio,
            Metric::Gap => self.gap,
            Metric::PlaceSeconds => Some(self.place_seconds),
            Metric::SimulateSeconds => Some(self.simulate_seconds),
            Metric::Failed => Some(self.failed as f64),
            _ => None,
        }
    }
}

/// The fields of [`HistoryLine`]; histories of earlier versions lack the last one.
const COLUMNS: [&str; 13] = [
    "date",
    "commit",
    "suite",
    "placer",
    "ok",
    "failed",
    "reference",
    "compared",
    "makespan_ratio",
    "gap",
    "place_seconds",
    "simulate_seconds",
    "objective",
];

/// Lines by suite, then date, then commit, then placer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// The lines.
    pub lines: Vec<HistoryLine>,
}

/// Why a history cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The file system says no.
    #[error("{}: {}", path.display(), io_reason(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line is none of a history.
    #[error("{}: not a history of runs ({reason})", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Where and why.
        reason: String,
    },
    /// A run has a cell twice.
    #[error(transparent)]
    Comparison(#[from] ComparisonError),
}

impl History {
    /// Reads a history; one that does not exist is empty.
    ///
    /// # Errors
    /// If the file cannot be read or is no history.
    pub fn read(path: &Path) -> Result<Self, HistoryError> {
        if !path.exists() {
            return Ok(Self::default());
        }
        let refused = |reason: String| HistoryError::Line { path: path.to_owned(), reason };
        let unreadable = |error: csv::Error| refused(error.to_string());
        let mut reader = csv::Reader::from_path(path).map_err(unreadable)?;
        let header = reader.headers().map_err(unreadable)?.clone();
        check_header(&header).map_err(refused)?;
        let mut lines = Vec::new();
        for record in reader.records() {
            let record = record.map_err(unreadable)?;
            let place = record.position().map_or(0, csv::Position::line);
            let line: HistoryLine = record.deserialize(Some(&header)).map_err(|error| {
                let column = match error.kind() {
                    csv::ErrorKind::Deserialize { err, .. } => err.field().and_then(|field| header.get(field as usize)),
                    _ => None,
                };
                let fault = match error.kind() {
                    csv::ErrorKind::Deserialize { err, .. } => err.kind().to_string(),
                    _ => error.to_string(),
                };
                let column = column.map(|column| format!(", column '{column}'")).unwrap_or_default();
                refused(format!("line {place}{column}: {fault}: correct it, or delete the line"))
            })?;
            let line = line.with_texts(|text| CsvTexts::as_written(text).to_owned());
            line.check().map_err(|fault| refused(format!("line {place}, {fault}: correct it, or delete the line")))?;
            lines.push(line);
        }
        Ok(Self { lines })
    }

    /// Writes the history: beside and renamed, so that a crash loses nothing.
    ///
    /// # Errors
    /// If the file cannot be written; an existing one is then left as it was.
    pub fn write(&self, path: &Path) -> Result<(), HistoryError> {
        let io_error = |source: io::Error| HistoryError::Io { path: path.to_owned(), source };
        let mut writer = csv::Writer::from_writer(Vec::new());
        for line in &self.lines {
            let cells = line.clone().with_texts(|text| CsvTexts::Safe.cell(text).into_owned());
            writer.serialize(cells).map_err(|error| io_error(error.into()))?;
        }
        let bytes = writer.into_inner().map_err(|error| io_error(io::Error::other(error.to_string())))?;
        write_whole(path, io_error, |out| out.write_all(&bytes).map_err(io_error))
    }

    /// Adds a run, each placer against the same cells of the reference. A run that is there already, by date, commit and suite, is
    /// replaced.
    ///
    /// # Errors
    /// If a run has a cell twice.
    pub fn add(&mut self, run: &RunTable, reference: &RunTable) -> Result<(), ComparisonError> {
        self.add_known(run, reference, None)
    }

    /// As [`History::add`], if it is known how the metric changed.
    fn add_known(
        &mut self,
        run: &RunTable,
        reference: &RunTable,
        known: Option<&QualityComparison>,
    ) -> Result<(), ComparisonError> {
        let fresh = lines(run, reference, known)?;
        let same_run =
            |a: &HistoryLine, b: &HistoryLine| (&a.date, &a.commit, &a.suite) == (&b.date, &b.commit, &b.suite);
        self.lines.retain(|line| !fresh.iter().any(|fresh| same_run(fresh, line)));
        self.lines.extend(fresh);
        let key =
            |line: &HistoryLine| (line.suite.clone(), line.date.clone(), line.commit.clone(), line.placer.clone());
        self.lines.sort_by_cached_key(key);
        Ok(())
    }

    /// A history of runs against the oldest of each suite, or against the reference. `known` has runs that were compared with
    /// the reference before, and how the metric changed: they are not compared again.
    ///
    /// # Errors
    /// If a run has a cell twice.
    pub fn of_runs(
        runs: &[RunTable],
        reference: Option<&RunTable>,
        known: &[(&RunTable, &QualityComparison)],
    ) -> Result<Self, ComparisonError> {
        let mut sorted: Vec<&RunTable> = runs.iter().collect();
        sorted.sort_by_key(|run| (run.date.clone(), run.name.clone()));
        let mut history = Self::default();
        let suites = sorted.iter().map(|run| Ok(run.table.distinct(Column::Suite)?.into_iter().next()));
        let suites = suites.collect::<PolarsResult<Vec<Option<String>>>>()?;
        for (run, suite) in sorted.iter().zip(&suites) {
            let oldest = suites.iter().position(|other| other == suite).map(|first| sorted[first]);
            let known = known.iter().find(|(known, _)| std::ptr::eq(*known, *run)).map(|&(_, changes)| changes);
            history.add_known(run, reference.or(oldest).unwrap_or(run), known)?;
        }
        Ok(history)
    }
}

/// Checks that a history has its columns and no others: others would be lost when it is written again.
fn check_header(header: &csv::StringRecord) -> Result<(), String> {
    if let Some(unknown) = header.iter().find(|name| !COLUMNS.contains(name)) {
        return Err(format!("line 1: unknown column '{unknown}': {}", did_you_mean(unknown, COLUMNS)));
    }
    if let Some(twice) = COLUMNS.into_iter().find(|own| header.iter().filter(|name| name == own).count() > 1) {
        return Err(format!("line 1: the column '{twice}' is there twice: delete one"));
    }
    let missing = COLUMNS.into_iter().find(|own| *own != "objective" && !header.iter().any(|name| name == *own));
    missing.map_or(Ok(()), |missing| Err(format!("line 1: no column '{missing}'")))
}

fn lines(
    run: &RunTable,
    reference: &RunTable,
    known: Option<&QualityComparison>,
) -> Result<Vec<HistoryLine>, ComparisonError> {
    let suites = run.table.distinct(Column::Suite)?;
    let one_suite = suites.len() == 1 && reference.table.distinct(Column::Suite)? == suites;
    let is_itself = std::ptr::eq(run, reference);
    let mut lines = Vec::new();
    for suite in &suites {
        let of_suite = |run: &RunTable| -> PolarsResult<RunTable> {
            let table = match suites.len() {
                1 => run.table.clone(),
                _ => run.table.filter(Column::Suite.expr().eq(lit(suite.as_str())))?,
            };
            Ok(RunTable { table, ..run.clone() })
        };
        let (run, reference) = (of_suite(run)?, of_suite(reference)?);
        let goal = goal_of(&[&run, &reference])?;
        let changes = match known.filter(|known| one_suite && known.metric == goal) {
            Some(known) => Some(known.clone()),
            None if is_itself && is_simulated(&run)? => None,
            None => Some(changes_of(goal, &reference, &run)?),
        };
        lines.extend(lines_of_suite((suite, goal), &run, &reference, changes)?);
    }
    Ok(lines)
}

/// Whether nothing in a run was measured: compared with itself, every makespan is the same.
fn is_simulated(run: &RunTable) -> PolarsResult<bool> {
    Ok(run.table.distinct(Column::Executor)?.iter().all(|name| name == ExecutorName::default().as_str()))
}

/// The lines of a run against a reference. Without `changes` it is its own reference.
fn lines_of_suite(
    (suite, goal): (&str, Metric),
    run: &RunTable,
    reference: &RunTable,
    changes: Option<QualityComparison>,
) -> Result<Vec<HistoryLine>, ComparisonError> {
    let (of_gap, objective) = match goal {
        Metric::Period => (Metric::PeriodGap, Goal::Period),
        _ => (Metric::Gap, Goal::Makespan),
    };
    let grid = Grid::of_runs(&[(&run.name, &run.table)], goal, &[of_gap])?;
    let standings = Standings::new(&grid, Candidates::Placer, DROP_FAILING);
    let counts = counts(&run.table)?;
    let date_and_commit =
        |run: &RunTable| [run.date.as_deref(), run.commit()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let line = |(index, placer): (usize, &String)| {
        let own = counts.get(placer).copied().unwrap_or_default();
        let has_value = || (0..standings.places.len()).any(|place| standings.cell(&grid, index, place).is_some());
        let (compared, makespan_ratio) = match &changes {
            None => (own.ok, has_value().then_some(1.0)),
            Some(changes) => {
                let change = changes.placers.iter().find(|group| group.name == *placer);
                (change.map_or(0, |group| group.cells), change.and_then(|group| group.mean_ratio))
            }
        };
        // As by any metric, the best scheduler is that of the best mean: here of the gap.
        let gap = |instance: &GridInstance| {
            let own = instance.cells.iter().filter(|cell| cell.placer as usize == index);
            own.filter_map(|cell| grid.other(cell, of_gap)).filter(|&gap| gap > 0.0).reduce(f64::min)
        };
        HistoryLine {
            date: run.date.clone().unwrap_or_default(),
            commit: run.commit().unwrap_or_default().to_owned(),
            suite: suite.to_owned(),
            placer: placer.clone(),
            ok: own.ok,
            failed: own.cells - own.ok,
            reference: date_and_commit(reference),
            compared,
            makespan_ratio,
            gap: geometric_mean(grid.instances.iter().filter_map(gap)),
            place_seconds: own.place_seconds,
            simulate_seconds: own.simulate_seconds,
            objective,
        }
    };
    let mut lines: Vec<HistoryLine> = grid.placers.iter().enumerate().map(line).collect();
    lines.sort_by(|a, b| a.placer.cmp(&b.placer));
    Ok(lines)
}

/// What the cells of a placer add up to.
#[derive(Clone, Copy, Default)]
struct Counts {
    cells: usize,
    ok: usize,
    place_seconds: f64,
    simulate_seconds: f64,
}

/// The placement of a row: its placer, its seconds as bits (which order as the seconds do), its graph, cluster,
/// repetition,
/// seed and numbering.
type Placement = (u32, u64, u32, u32, u32, u64, u32);

/// The counts of each placer. A placement that several schedulers and networks share counts once. Seconds are added in
/// the order of their size, so that sums do not depend on the order of the rows.
fn counts(table: &Table) -> PolarsResult<BTreeMap<String, Counts>> {
    let mut counts: Vec<Counts> = Vec::new();
    let [mut placers, mut graphs, mut clusters, mut statuses]: [Codes; 4] = Default::default();
    let names = ["placer", "graph", "cluster", "status", "repetition", "seed", "numbering"].map(col);
    let seconds = [Metric::PlaceSeconds, Metric::SimulateSeconds].map(Metric::expr);
    let columns = [&names[..], &seconds].concat();
    for part in table.parts() {
        let frame = part.lazy()?.select(&columns).collect()?;
        let (of_placer, of_status) = (placers.of(&frame, "placer")?, statuses.of(&frame, "status")?);
        let (of_graph, of_cluster) = (graphs.of(&frame, "graph")?, clusters.of(&frame, "cluster")?);
        let (repetitions, seeds) = (values::<u32>(&frame, "repetition")?, values::<u64>(&frame, "seed")?);
        let numberings = values::<u32>(&frame, "numbering")?;
        let [placing, simulating] = [Metric::PlaceSeconds, Metric::SimulateSeconds]
            .map(|metric| values::<Option<f64>>(&frame, metric.column()));
        let (placing, simulating) = (placing?, simulating?);
        counts.resize(placers.names().len(), Counts::default());
        let ok = statuses.find(Status::Ok.name());
        let (mut placements, mut simulations): (Vec<Placement>, Vec<(u32, f64)>) = (Vec::new(), Vec::new());
        for (row, &placer) in of_placer.iter().enumerate() {
            let own = &mut counts[placer as usize];
            own.cells += 1;
            own.ok += usize::from(Some(of_status[row]) == ok);
            simulations.extend(simulating[row].map(|seconds| (placer, seconds)));
            let (graph, cluster, repetition) = (of_graph[row], of_cluster[row], repetitions[row]);
            let placement =
                |seconds: f64| (placer, seconds.to_bits(), graph, cluster, repetition, seeds[row], numberings[row]);
            placements.extend(placing[row].map(placement));
        }
        placements.sort_unstable();
        placements.dedup();
        for (placer, seconds, ..) in placements {
            counts[placer as usize].place_seconds += f64::from_bits(seconds);
        }
        simulations.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        for (placer, seconds) in simulations {
            counts[placer as usize].simulate_seconds += seconds;
        }
    }
    Ok(placers.names().iter().map(|name| name.to_string()).zip(counts).collect())
}
