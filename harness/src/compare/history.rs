//! A history of runs: one line a run and placer, in a CSV file.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use placebench_datasets::format::write_whole;
use placebench_datasets::io_reason;
use polars::prelude::*;
use serde::{Deserialize, Serialize};

use super::matching::cells_once;
use super::statistics::geometric_mean;
use super::verdict::PROBLEM;
use super::{ComparisonError, RunTable};
use crate::results::{CELL, Column, CsvTexts, Metric, Status, Table, lists, values};

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
    /// Geometric mean of makespan / the reference's over these.
    pub makespan_ratio: Option<f64>,
    /// Geometric mean of makespan / lower bound over the cells with a result.
    pub gap: Option<f64>,
    /// Seconds of all placements.
    pub place_seconds: f64,
    /// Seconds of all simulations.
    pub simulate_seconds: f64,
}

impl HistoryLine {
    /// The line with other texts.
    fn with_texts(self, text: impl Fn(&str) -> String) -> Self {
        let Self { date, commit, suite, placer, reference, .. } = &self;
        let [date, commit, suite, placer, reference] = [date, commit, suite, placer, reference].map(|own| text(own));
        Self { date, commit, suite, placer, reference, ..self }
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
        let line_error = |error: csv::Error| HistoryError::Line { path: path.to_owned(), reason: error.to_string() };
        let mut reader = csv::Reader::from_path(path).map_err(line_error)?;
        let lines = reader.deserialize::<HistoryLine>();
        let as_written = |text: &str| CsvTexts::as_written(text).to_owned();
        let lines = lines.map(|line| Ok(line?.with_texts(as_written))).collect::<Result<_, _>>().map_err(line_error)?;
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
        let fresh = lines(run, reference)?;
        let same_run =
            |a: &HistoryLine, b: &HistoryLine| (&a.date, &a.commit, &a.suite) == (&b.date, &b.commit, &b.suite);
        self.lines.retain(|line| !fresh.iter().any(|fresh| same_run(fresh, line)));
        self.lines.extend(fresh);
        let key =
            |line: &HistoryLine| (line.suite.clone(), line.date.clone(), line.commit.clone(), line.placer.clone());
        self.lines.sort_by_cached_key(key);
        Ok(())
    }

    /// A history of runs against the oldest of each suite, or against the reference.
    ///
    /// # Errors
    /// If a run has a cell twice.
    pub fn of_runs(runs: &[RunTable], reference: Option<&RunTable>) -> Result<Self, ComparisonError> {
        let mut sorted: Vec<&RunTable> = runs.iter().collect();
        sorted.sort_by_key(|run| (run.date.clone(), run.name.clone()));
        let mut history = Self::default();
        let suites = sorted.iter().map(|run| Ok(run.table.distinct(Column::Suite)?.into_iter().next()));
        let suites = suites.collect::<PolarsResult<Vec<Option<String>>>>()?;
        for (run, suite) in sorted.iter().zip(&suites) {
            let oldest = suites.iter().position(|other| other == suite).map(|first| sorted[first]);
            history.add(run, reference.or(oldest).unwrap_or(run))?;
        }
        Ok(history)
    }
}

/// What a history is made from.
const METRICS: [Metric; 4] = [Metric::Makespan, Metric::Gap, Metric::PlaceSeconds, Metric::SimulateSeconds];

/// What the cells of a placer add up to.
#[derive(Default)]
struct Tally {
    cells: usize,
    ok: usize,
    ratios: Vec<f64>,
    gaps: Vec<f64>,
    place_seconds: f64,
    simulate_seconds: f64,
}

fn lines(run: &RunTable, reference: &RunTable) -> Result<Vec<HistoryLine>, ComparisonError> {
    let mut tallies: BTreeMap<(String, String), Tally> = BTreeMap::new();
    // Within a suite and placer, cells are in the order of their names: graphs on clusters come first in it.
    for part in Table::aligned(&[&run.table, &reference.table]) {
        let own = cells_once(&run.name, &part[0], &METRICS)?;
        if own.height() > 0 {
            add(&mut tallies, own, cells_once(&reference.name, &part[1], &METRICS)?)?;
        }
    }
    let date_and_commit =
        |run: &RunTable| [run.date.as_deref(), run.commit()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let line = |((suite, placer), tally): ((String, String), Tally)| HistoryLine {
        date: run.date.clone().unwrap_or_default(),
        commit: run.commit().unwrap_or_default().to_owned(),
        suite,
        placer,
        ok: tally.ok,
        failed: tally.cells - tally.ok,
        reference: date_and_commit(reference),
        compared: tally.ratios.len(),
        makespan_ratio: geometric_mean(tally.ratios),
        gap: geometric_mean(tally.gaps),
        place_seconds: tally.place_seconds,
        simulate_seconds: tally.simulate_seconds,
    };
    Ok(tallies.into_iter().map(line).collect())
}

/// Adds the cells of some graphs on their clusters, and what they were in the reference.
fn add(tallies: &mut BTreeMap<(String, String), Tally>, own: DataFrame, before: DataFrame) -> PolarsResult<()> {
    let ok = |name: &str| col(name).eq(lit(Status::Ok.name()));
    let own = own.lazy().sort(CELL, SortMultipleOptions::default()).collect()?;
    let args = JoinArgs { maintain_order: MaintainOrderJoin::Left, ..JoinArgs::new(JoinType::Left) };
    let args = args.with_suffix(Some("_before".into()));
    let joined = own.clone().lazy().join(before.lazy(), CELL.map(col), CELL.map(col), args);
    let same = PROBLEM.map(|name| col(name).eq(col(format!("{name}_before"))));
    let compared = same.into_iter().fold(ok("status").and(ok("status_before")), Expr::and);
    let (old, new) = (col("makespan_before"), col("makespan"));
    let ratio = when(old.clone().eq(new.clone())).then(lit(1.0)).otherwise(new / old);
    let counts = |ratio: Expr| ratio.clone().is_finite().and(ratio.gt(lit(0.0)));
    let frame = joined
        .with_column(when(compared).then(ratio).otherwise(lit(NULL)).alias("ratio"))
        .group_by_stable(["suite", "placer"])
        .agg([
            ok("status").sum().alias("ok"),
            len().alias("cells"),
            col("ratio").filter(counts(col("ratio"))).alias("ratios"),
            col("gap").filter(col("gap").gt(lit(0.0))).alias("gaps"),
            col("simulate_seconds").drop_nulls(),
        ])
        .collect()?;
    let counted = values::<u32>(&frame, "ok")?.into_iter().zip(values::<u32>(&frame, "cells")?);
    let measured = lists(&frame, "ratios")?.into_iter().zip(lists(&frame, "gaps")?);
    let measured = measured.zip(lists(&frame, "simulate_seconds")?);
    for ((name, (ok, cells)), ((ratios, gaps), seconds)) in names(&frame)?.zip(counted).zip(measured) {
        let tally = tallies.entry(name).or_default();
        tally.ok += ok as usize;
        tally.cells += cells as usize;
        tally.ratios.extend(ratios);
        tally.gaps.extend(gaps);
        seconds.iter().for_each(|seconds| tally.simulate_seconds += seconds);
    }
    let placed = place_seconds(own)?;
    for (name, seconds) in names(&placed)?.zip(lists(&placed, "place_seconds")?) {
        let tally = tallies.entry(name).or_default();
        seconds.iter().for_each(|seconds| tally.place_seconds += seconds);
    }
    Ok(())
}

/// The suites and placers of a data frame.
fn names(frame: &DataFrame) -> PolarsResult<impl Iterator<Item = (String, String)> + use<>> {
    Ok(values::<String>(frame, "suite")?.into_iter().zip(values::<String>(frame, "placer")?))
}

/// Seconds of the placements of each suite and placer: one that several schedulers and networks share counts once.
fn place_seconds(cells: DataFrame) -> PolarsResult<DataFrame> {
    let placement = ["suite", "placer", "graph", "cluster", "repetition", "seed", "place_seconds"];
    cells
        .lazy()
        .filter(col("place_seconds").is_not_null())
        .group_by(placement.map(col))
        .agg([len()])
        .sort(placement, SortMultipleOptions::default())
        .group_by_stable(["suite", "placer"])
        .agg([col("place_seconds")])
        .collect()
}
