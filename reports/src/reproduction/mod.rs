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

use placebench_harness::results::{Metric, Row};
use serde::Deserialize;

pub use write::{Made, Outputs, write_figures};

use crate::figure::{Quantity, Unit};
use crate::query::{Column, Results, Selection};

/// The figures and tables of a source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// The suite whose rows they are made from.
    pub suite: String,
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
    pub kind: Kind,
    /// Rows that count, by column.
    #[serde(default, rename = "where")]
    pub only: Selection,
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

/// What a panel draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A bar for each group and series, with the standard deviation over repetitions.
    Bars,
    /// A curve for each series over the number of devices.
    Scaling,
    /// A curve for each series over a parameter.
    Sweep,
    /// Who executes what, when: of the first repetition.
    Gantt,
    /// Executable ops on each device when it decides: of the first repetition.
    ExecutableOps,
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

impl Figures {
    /// What a value of a column is called.
    fn label(&self, value: &str) -> String {
        self.labels.get(value).map_or_else(|| value.to_owned(), Clone::clone)
    }
}

impl Panel {
    /// The quantity of a metric over some rows.
    fn quantity(&self, metric: Metric, rows: &[&Row]) -> Quantity {
        let time_unit = rows.first().map_or("seconds", |row| &row.time_unit);
        let quantity = Quantity::of(metric, time_unit);
        match &self.unit {
            Some(unit) => Quantity { unit: Unit::of_time(unit), ..quantity },
            None => quantity,
        }
    }

    /// The values of some rows, those that have it.
    fn values(&self, results: &Results, metric: Metric, rows: &[&Row]) -> Vec<f64> {
        let ok = rows.iter().filter(|row| row.is_ok());
        ok.filter_map(|row| results.value(metric, row)).map(|value| value * self.scale).collect()
    }
}

/// The key by which a report finds the rows of a mark.
fn key_of(row: &Row) -> String {
    row.key().mark()
}

/// Whether rows are repetitions of one cell: means over anything else would be of unlike things.
fn are_one_cell(rows: &[&Row]) -> bool {
    rows.windows(2).all(|pair| Column::ALL.iter().all(|column| column.of(pair[0]) == column.of(pair[1])))
}

/// The values of a column, in the order of the rows.
fn distinct(rows: &[&Row], column: Column) -> Vec<String> {
    let mut values: Vec<String> = Vec::new();
    for row in rows {
        let value = column.of(row);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use placebench_harness::suite::BuiltIn;

    use super::*;
    use crate::SOURCES;

    #[test]
    fn the_figures_that_come_along_are_valid_and_name_what_their_suites_have() {
        for source in SOURCES {
            let figures = figures_of(source).unwrap().unwrap();
            assert_eq!(figures.suite, source);
            let suite = BuiltIn::find(source).unwrap().suite().unwrap();
            let graphs: Vec<String> = suite.graphs.iter().map(|entry| entry.label()).collect();
            let clusters: Vec<String> = suite.clusters.iter().map(|entry| entry.label()).collect();
            for figure in &figures.figures {
                assert!(figure.cannot_be_made.is_some() == figure.panels.is_empty(), "{}", figure.number);
                for panel in &figure.panels {
                    let known = |column: Column, known: &[String]| {
                        let named = panel.only.get(&column).into_iter().flatten();
                        assert!(named.clone().all(|name| known.contains(name)), "{} {named:?}", figure.number);
                    };
                    known(Column::Graph, &graphs);
                    known(Column::Cluster, &clusters);
                    known(Column::PlacerSpec, &suite.placers);
                    known(Column::Scheduler, &suite.schedulers);
                    let drawn = matches!(panel.kind, Kind::Gantt | Kind::ExecutableOps);
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
