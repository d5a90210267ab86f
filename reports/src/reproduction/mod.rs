//! The figures and tables of a source's evaluation as data, made from the rows of a run under the same numbers.
//!
//! A file lists every figure and table of the source's chapter: what it shows as a query over the rows, or why it cannot
//! be made. Bars, curves and tables come from rows; timelines and executable ops from single cells that are run again.

mod bars;
mod curves;
mod tables;
mod timelines;
mod write;

use std::collections::BTreeMap;

use placebench_generator::GraphParams;
use placebench_harness::results::{CELL, CellKey, Column, Filter, Metric, Table, cell_keys, lists, values};
use placebench_harness::suite::Suite;
use polars::prelude::{Expr, PolarsError, PolarsResult, col};
use serde::Deserialize;

pub use write::{Made, Outputs, write_figures};

use crate::FigureKind;
use crate::export::TextTable;
use crate::figure::{Quantity, Unit};

/// The figures and tables of a source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// The suite whose rows they are made from.
    pub suite: String,
    /// Rows that figures and tables are made of, by column; by default all.
    #[serde(default, rename = "where")]
    pub only: Filter,
    /// What values of columns are called in figures, if not by themselves.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The figures, in the order of the source.
    #[serde(default, rename = "figure")]
    pub figures: Vec<FigureEntry>,
    /// The tables, in the order of the source.
    #[serde(default, rename = "table")]
    pub tables: Vec<TableEntry>,
}

/// A figure of the source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureEntry {
    /// Its number there.
    pub number: String,
    /// What it shows.
    pub caption: String,
    /// Why it cannot be made; then it has no panels.
    #[serde(default)]
    pub cannot_be_made: Option<String>,
    /// Its parts.
    #[serde(default)]
    pub panels: Vec<Panel>,
}

/// A part of a figure: one picture, or one for each value of a column.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// Its letter; empty if the figure has one part.
    #[serde(default)]
    pub letter: String,
    /// The line above it.
    #[serde(default)]
    pub title: String,
    /// What is drawn.
    pub kind: FigureKind,
    /// Rows that count, by column.
    #[serde(default, rename = "where")]
    pub only: Filter,
    /// What is shown; of several metrics each is a series.
    #[serde(default)]
    pub metrics: Vec<Metric>,
    /// What each value is multiplied by.
    #[serde(default = "one")]
    pub scale: f64,
    /// Unit of the values, if it is not that of the rows.
    #[serde(default)]
    pub unit: Option<String>,
    /// A picture for each value of this column.
    #[serde(default)]
    pub split: Option<Column>,
    /// Of bars: what groups them.
    #[serde(default)]
    pub group: Option<Column>,
    /// What tells bars of a group, or curves, apart.
    #[serde(default)]
    pub series: Option<Column>,
    /// Of curves: the column whose last number is the abscissa, …
    #[serde(default)]
    pub x: Option<Column>,
    /// … or the parameter of the placer that is.
    #[serde(default)]
    pub parameter: Option<String>,
}

fn one() -> f64 {
    1.0
}

/// A table of the source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableEntry {
    /// Its number there.
    pub number: String,
    /// What it shows.
    pub caption: String,
    /// The graphs of the suite that it lists, one a row.
    pub graphs: Vec<String>,
    /// What it lists of them on each cluster, the mean over repetitions; without, their properties in the first repetition.
    #[serde(default)]
    pub metric: Option<Metric>,
    /// What each value is multiplied by.
    #[serde(default = "one")]
    pub scale: f64,
    /// Values are how many times that of this graph they are contained in: baseline / graph.
    #[serde(default)]
    pub baseline: Option<String>,
    /// What the source prints: by graph, the cells after its name.
    #[serde(default)]
    pub printed: BTreeMap<String, Vec<String>>,
}

/// Why a figure or table that should be made was not.
#[derive(Debug, thiserror::Error)]
pub enum ReproductionError {
    /// A panel's query does not fit its kind or its rows.
    #[error("figure {figure}: {reason}")]
    Panel {
        /// The figure with its letter.
        figure: String,
        /// What is wrong.
        reason: String,
    },
    /// A table's graph cannot be made.
    #[error("table {table}: {reason}")]
    Table {
        /// The table.
        table: String,
        /// What is wrong.
        reason: String,
    },
    /// The rows cannot be queried.
    #[error(transparent)]
    Query(#[from] PolarsError),
    /// A file cannot be written.
    #[error("{path}: {reason}")]
    Io {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
}

/// The figures and tables of `name`, if it is a source; see [`SOURCES`](crate::SOURCES).
pub fn figures_of(name: &str) -> Option<Result<Figures, String>> {
    let text = match name {
        "laich2017" => include_str!("../../figures/laich2017.toml"),
        "bahnmueller2018" => include_str!("../../figures/bahnmueller2018.toml"),
        "tolstobrov" => include_str!("../../figures/tolstobrov.toml"),
        _ => return None,
    };
    Some(toml::from_str(text).map_err(|error| error.message().to_owned()))
}

/// The tables of numbers that a source prints, with their captions: ours, and in brackets the source's where it differs.
///
/// # Errors
/// If a graph cannot be made.
pub(crate) fn printed_tables(name: &str, suite: &Suite) -> Result<Vec<(String, TextTable)>, String> {
    let Some(figures) = figures_of(name) else { return Ok(Vec::new()) };
    let beside = |entry: &TableEntry| {
        let mut table = tables::properties(entry, suite)?;
        for row in &mut table.rows {
            let printed = entry.printed.get(&row[0]).map(Vec::as_slice).unwrap_or_default();
            for (ours, printed) in row[1..].iter_mut().zip(printed) {
                if ours.parse::<f64>().ok() != printed.parse().ok() {
                    *ours = format!("{ours} ({printed})");
                }
            }
        }
        Ok((format!("Table {}, {}", entry.number, entry.caption), table))
    };
    figures?.tables.iter().filter(|entry| !entry.printed.is_empty()).map(beside).collect()
}

/// The training steps in each graph of a suite that consists of them.
pub fn training_steps(suite: &Suite) -> BTreeMap<String, f64> {
    let steps = suite.graphs.iter().filter_map(|entry| match entry.params() {
        Ok(Some(GraphParams::TrainingSteps(params))) => Some((entry.label(), f64::from(params.steps))),
        _ => None,
    });
    steps.collect()
}

impl Figures {
    /// What a value of a column is called.
    fn label(&self, value: &str) -> String {
        self.labels.get(value).map_or_else(|| value.to_owned(), Clone::clone)
    }
}

impl Panel {
    /// The quantity of a metric over a table.
    fn quantity(&self, metric: Metric, table: &Table) -> PolarsResult<Quantity> {
        let units: Vec<String> = table.column("time_unit")?;
        let quantity = Quantity::of(metric, units.first().map_or("seconds", String::as_str));
        Ok(match &self.unit {
            Some(unit) => Quantity { unit: Unit::of_time(unit), ..quantity },
            None => quantity,
        })
    }
}

/// The columns in which the repetitions of a cell agree.
const REPEATED: [&str; 6] = ["graph", "cluster", "placer", "scheduler", "network", "executor"];

/// Rows that a figure shows as one number.
struct Group {
    /// The values of the columns that the rows were grouped by.
    names: Vec<String>,
    /// The first row's cell.
    cell: CellKey,
    /// Whether the rows are repetitions of one cell: means over anything else would be of unlike things.
    is_one_cell: bool,
    /// A metric of the rows that have it.
    values: Vec<f64>,
}

/// Groups the rows of a table by columns, in the order of the rows.
fn grouped(table: &Table, by: &[Column], metric: Metric) -> PolarsResult<Vec<Group>> {
    let names: Vec<String> = (0..by.len()).map(|index| format!("by{index}")).collect();
    let keys: Vec<Expr> = by.iter().zip(&names).map(|(column, name)| column.expr().alias(name.as_str())).collect();
    let different = REPEATED.map(|name| col(name).n_unique().alias(format!("{name}s")));
    let mut about = CELL.map(|name| col(name).first()).to_vec();
    about.extend(different);
    about.push(metric.expr().drop_nulls().alias("values"));
    let frame = table.lazy()?.group_by_stable(keys).agg(about).collect()?;
    let names = names.iter().map(|name| values::<String>(&frame, name)).collect::<PolarsResult<Vec<_>>>()?;
    let counts =
        REPEATED.iter().map(|name| values::<u32>(&frame, &format!("{name}s"))).collect::<PolarsResult<Vec<_>>>()?;
    let group = |(row, (cell, values)): (usize, (CellKey, Vec<f64>))| Group {
        names: names.iter().map(|column| column[row].clone()).collect(),
        cell,
        is_one_cell: counts.iter().all(|column| column[row] == 1),
        values,
    };
    Ok(cell_keys(&frame)?.into_iter().zip(lists(&frame, "values")?).enumerate().map(group).collect())
}

#[cfg(test)]
mod tests {
    use placebench_harness::suite::BuiltIn;

    use super::*;
    use crate::SOURCES;

    #[test]
    fn steps_come_from_the_suite() {
        let steps = training_steps(&BuiltIn::find("tolstobrov").unwrap().suite().unwrap());
        assert_eq!((steps["1_ring"], steps["7_doubling"], steps["9"]), (1.0, 16.0, 512.0));
    }

    #[test]
    fn the_figures_that_come_along_are_valid_and_name_what_their_suites_have() {
        for source in SOURCES {
            let Some(figures) = figures_of(source) else { continue };
            let figures = figures.unwrap();
            assert_eq!(figures.suite, source);
            let suite = BuiltIn::find(source).unwrap().suite().unwrap();
            let graphs: Vec<String> = suite.graphs.iter().map(|entry| entry.label()).collect();
            let clusters: Vec<String> = suite.clusters.iter().map(|entry| entry.label()).collect();
            for figure in &figures.figures {
                assert!(figure.cannot_be_made.is_some() == figure.panels.is_empty(), "{}", figure.number);
                for panel in &figure.panels {
                    let known = |column: Column, known: &[String]| {
                        let named = panel.only.values(column).iter();
                        assert!(named.clone().all(|name| known.contains(name)), "{} {named:?}", figure.number);
                    };
                    known(Column::Graph, &graphs);
                    known(Column::Cluster, &clusters);
                    known(Column::PlacerSpec, &suite.placers);
                    known(Column::Scheduler, &suite.schedulers);
                    let drawn = matches!(panel.kind, FigureKind::Gantt | FigureKind::Executable);
                    assert!(drawn == panel.metrics.is_empty(), "{}", figure.number);
                }
            }
            for table in &figures.tables {
                assert!(
                    table.graphs.iter().chain(&table.baseline).all(|graph| graphs.contains(graph)),
                    "{}",
                    table.number
                );
            }
        }
    }
}
