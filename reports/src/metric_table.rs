//! From result rows to tables for papers.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use placebench_base::did_you_mean;
use placebench_datasets::is_equal;
use placebench_harness::results::grid::{GridCell, GridError};
use placebench_harness::results::{self, Metric};
use serde::Serialize;

use crate::export::{TextFormat, TextTable, latex_float, latex_text, number_text};
use crate::figure::{Estimate, Unit};
use crate::marks::Marks;
use crate::scores::{Scores, Sort};

/// What stands beside a mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// The standard deviation over the draws.
    #[default]
    Deviation,
    /// The least and the largest value, under whatever numbering of ops and devices.
    Range,
    /// Nothing.
    None,
}

impl Spread {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Deviation, Self::Range, Self::None];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deviation => "deviation",
            Self::Range => "range",
            Self::None => "none",
        }
    }

    /// What the columns of its numbers are called.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Deviation => &["standard deviation"],
            Self::Range => &["least", "largest"],
            Self::None => &[],
        }
    }

    /// Its numbers, if there are several values.
    fn of(self, cell: &GridCell) -> Option<Vec<f64>> {
        match self {
            Self::Deviation => {
                Estimate::of(&cell.values()?).filter(|own| own.count > 1).map(|own| vec![own.deviation()])
            }
            Self::Range => cell.range().map(|range| range.to_vec()),
            Self::None => None,
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Spread {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|spread| spread.name() == text)
            .ok_or_else(|| did_you_mean(text, Self::ALL.map(Self::name)))
    }
}

/// Placer × instance: the mean over the draws of a metric with the placer's best scheduler and how they spread, in one unit a
/// column, and the geometric mean of the ratios to the best.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricTable {
    /// Marks on placers whose authors assume what does not hold.
    pub marks: Marks,
    /// What the means are over: `geometric mean over 7 instances`.
    pub over: String,
    columns: Vec<Column>,
    /// Placers with a value for each column; `None` is a failure.
    rows: Vec<(String, Vec<Option<Value>>)>,
}

#[derive(Clone, Debug, PartialEq)]
struct Column {
    /// What `--columns` calls it: the instance, as `nmt` or `nmt@gtx1080x4`, or [`MEAN`].
    label: String,
    /// The instance with its unit: `nmt (ms)`.
    name: String,
    /// Digits after the point, the same in the whole column: three significant ones of the least value.
    decimals: usize,
    /// What stands beside its values, if any has that.
    spread: Spread,
}

/// The table for programs: the columns of its CSV, with all digits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricRecords {
    /// Names of the columns, in order; the first is `placer`.
    pub columns: Vec<String>,
    /// A row for each placer, with a value for each column; null where the placer failed.
    pub rows: Vec<BTreeMap<String, serde_json::Value>>,
}

/// A mean in the unit of its column.
#[derive(Clone, Debug, PartialEq)]
struct Value {
    mean: f64,
    /// How the values that it is of spread.
    spread: Option<Vec<f64>>,
    /// Whether no other in the column is better.
    best: bool,
}

const MEAN_RATIO: &str = "mean ratio to best";

/// What [`MetricTable::with_columns`] calls the column of means.
const MEAN: &str = "mean";

/// How a table becomes LaTeX.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Float<'a> {
    /// The text under it; without one, there is the bare `tabular`.
    pub caption: &'a str,
    /// What `\\ref` calls it.
    pub label: &'a str,
    /// Whether it takes both columns of a paper: a `table*`.
    pub is_wide: bool,
}

/// There is no such column, or it is named twice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnChoice {
    /// There is none.
    #[error("the table has no column '{name}': {remedy}")]
    Unknown {
        /// The name.
        name: String,
        /// What to do.
        remedy: String,
    },
    /// It is named twice.
    #[error("the column '{0}' is named twice: name each once")]
    Twice(String),
}

impl MetricTable {
    /// The table of a metric, its placers in this order. A placer that takes no part in the means has none.
    ///
    /// # Errors
    /// If a cell is in the table twice, or Polars refuses.
    ///
    /// # Complexity
    /// That of the grid.
    pub fn new(rows: &results::Table, metric: Metric, sort: Sort, spread: Spread) -> Result<Self, GridError> {
        let scores = Scores::new(rows, metric, &[], sort)?;
        let (placers, instances) = (0..scores.placers.len(), 0..scores.instances().len());
        let mut table = Self {
            marks: scores.marks.clone(),
            over: scores.mean_over(),
            columns: Vec::new(),
            rows: scores.shown.iter().map(|name| (name.clone(), Vec::new())).collect(),
        };
        for instance in instances {
            let of = |placer: usize| scores.best(placer, instance);
            let mean = |cell: &GridCell| Some(Estimate::of(&cell.values()?)?.mean);
            let largest = placers.clone().filter_map(of).filter_map(mean).fold(0.0, f64::max);
            let (factor, unit) = match scores.quantity(instance).unit {
                // A ratio in thousands is none that others could compare.
                Unit::One => (1.0, String::new()),
                unit => unit.multiple(largest),
            };
            let value = |placer: usize| {
                let cell = of(placer)?;
                Some(Value {
                    mean: mean(cell)? / factor,
                    spread: spread.of(cell).map(|own| own.into_iter().map(|value| value / factor).collect()),
                    best: scores.ratio(placer, instance) == Some(1.0),
                })
            };
            let label = &scores.labels[instance];
            let name = if unit.is_empty() { label.clone() } else { format!("{label} ({unit})") };
            table.add(label, name, placers.clone().map(value).collect(), spread);
        }
        let means: Vec<Option<f64>> = placers.map(|placer| scores.mean(placer)).collect();
        let least = means.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let value = |mean: f64| Value { mean, spread: None, best: is_equal(mean, least) };
        table.add(MEAN, MEAN_RATIO.to_owned(), means.into_iter().map(|mean| mean.map(value)).collect(), Spread::None);
        if let Some(column) = table.columns.last_mut() {
            column.decimals = 3;
        }
        Ok(table)
    }

    /// Only these columns, separated by commas, in this order: instances as their heads name them, without unit, and `mean`.
    /// The means stay those over all instances.
    ///
    /// # Errors
    /// If there is no such column, or it is named twice.
    pub fn with_columns(self, names: &str) -> Result<Self, ColumnChoice> {
        let known = || self.columns.iter().map(|column| column.label.as_str());
        let mut chosen: Vec<usize> = Vec::new();
        let mut rest = Some(names);
        while let Some(text) = rest.map(str::trim_start) {
            // Names may have commas: the longest that fits is meant.
            let after = |label: &str| {
                let after = text.strip_prefix(label)?.trim_start();
                if after.is_empty() { Some(None) } else { after.strip_prefix(',').map(Some) }
            };
            let fitting = known().enumerate().filter_map(|(at, label)| Some((label.len(), at, after(label)?)));
            let Some((_, at, after)) = fitting.max_by_key(|(length, ..)| *length) else {
                let name = text.split(',').next().unwrap_or(text).trim_end().to_owned();
                let remedy = did_you_mean(&name, known());
                return Err(ColumnChoice::Unknown { name, remedy });
            };
            if chosen.contains(&at) {
                return Err(ColumnChoice::Twice(self.columns[at].label.clone()));
            }
            chosen.push(at);
            rest = after;
        }
        let rows = self
            .rows
            .iter()
            .map(|(placer, values)| (placer.clone(), chosen.iter().map(|&at| values[at].clone()).collect()));
        Ok(Self { rows: rows.collect(), columns: chosen.iter().map(|&at| self.columns[at].clone()).collect(), ..self })
    }

    /// What stands beside the means, in words, if anything does.
    pub fn beside(&self) -> Option<&'static str> {
        match self.columns.iter().map(|column| column.spread).find(|&spread| spread != Spread::None)? {
            Spread::Deviation => Some("± is the standard deviation over the repetitions of an instance"),
            Spread::Range => Some("In brackets: the least and the largest value of any repetition under any numbering"),
            Spread::None => None,
        }
    }

    fn add(&mut self, label: &str, name: String, values: Vec<Option<Value>>, spread: Spread) {
        let means = values.iter().flatten().map(|value| value.mean.abs());
        let least = means.filter(|&mean| mean > 0.0).fold(f64::INFINITY, f64::min);
        let decimals = if least.is_finite() { (2.0 - least.log10().floor()).clamp(0.0, 6.0) as usize } else { 0 };
        let spreads = values.iter().flatten().any(|value| value.spread.is_some());
        let label = label.to_owned();
        self.columns.push(Column { label, name, decimals, spread: if spreads { spread } else { Spread::None } });
        for ((_, row), value) in self.rows.iter_mut().zip(values) {
            row.push(value);
        }
    }

    /// The table as text; `float` is of use to LaTeX only.
    pub fn to_text(&self, format: TextFormat, float: &Float<'_>) -> String {
        match format {
            TextFormat::Markdown => self.markdown().to_markdown(),
            TextFormat::Latex => self.latex(float),
            TextFormat::Csv => self.csv().to_csv(),
        }
    }

    /// Whether no placer has a value on any instance.
    pub fn is_empty(&self) -> bool {
        self.rows.iter().all(|(_, values)| values.iter().all(Option::is_none))
    }

    /// `mean ± deviation` or `mean (least–largest)` in a cell, the best in bold, nothing where a placer failed.
    fn markdown(&self) -> TextTable {
        let names = self.columns.iter().map(|column| column.name.clone());
        let mut table = TextTable::new(["placer".to_owned()].into_iter().chain(names));
        for (placer, values) in &self.rows {
            let cell = |(column, value): (&Column, &Option<Value>)| {
                let Some(value) = value else { return String::new() };
                let (mean, spread) = column.texts(value);
                let text = match spread.as_slice() {
                    [deviation] => format!("{mean} ± {deviation}"),
                    [least, largest] => format!("{mean} ({least}–{largest})"),
                    _ => mean,
                };
                if value.best { format!("**{text}**") } else { text }
            };
            table.push([placer.clone()].into_iter().chain(self.columns.iter().zip(values).map(cell)));
        }
        table
    }

    /// Means and what stands beside them in columns of their own.
    fn cells(&self) -> (Vec<String>, Vec<Vec<Option<f64>>>) {
        let names = self.columns.iter().flat_map(|column| {
            let beside = column.spread.columns().iter().map(|beside| format!("{}, {beside}", column.name));
            [column.name.clone()].into_iter().chain(beside)
        });
        let row = |values: &Vec<Option<Value>>| {
            let cells = self.columns.iter().zip(values).flat_map(|(column, value)| {
                let spread = value.as_ref().and_then(|value| value.spread.as_deref()).unwrap_or_default();
                let beside = (0..column.spread.columns().len()).map(|nth| spread.get(nth).copied());
                [value.as_ref().map(|value| value.mean)].into_iter().chain(beside)
            });
            cells.collect()
        };
        (names.collect(), self.rows.iter().map(|(_, values)| row(values)).collect())
    }

    /// What programs read as CSV.
    pub fn csv(&self) -> TextTable {
        let (names, rows) = self.cells();
        let mut table = TextTable::new(["placer".to_owned()].into_iter().chain(names));
        for ((placer, _), row) in self.rows.iter().zip(rows) {
            let cells = row.into_iter().map(|cell| cell.map_or_else(String::new, number_text));
            table.push([placer.clone()].into_iter().chain(cells));
        }
        table
    }

    /// What programs read as records.
    pub fn records(&self) -> MetricRecords {
        let (names, rows) = self.cells();
        let record = |((placer, _), row): (&(String, _), Vec<Option<f64>>)| {
            let cells = names.iter().cloned().zip(row.into_iter().map(serde_json::Value::from));
            [("placer".to_owned(), placer.as_str().into())].into_iter().chain(cells).collect()
        };
        let rows = self.rows.iter().zip(rows).map(record).collect();
        MetricRecords { columns: ["placer".to_owned()].into_iter().chain(names.iter().cloned()).collect(), rows }
    }

    /// With booktabs rules; means and what is beside them stand below each other.
    fn latex(&self, float: &Float<'_>) -> String {
        let columns: String = self.columns.iter().map(Column::latex).collect();
        let names = self.columns.iter().map(|column| match column.spread {
            Spread::None => format!(" & {}", latex_text(&column.name)),
            _ => format!(" & \\multicolumn{{2}}{{c}}{{{}}}", latex_text(&column.name)),
        });
        let mut text = format!("\\begin{{tabular}}{{l{columns}}}\n\\toprule\nplacer{}", names.collect::<String>());
        text.push_str(" \\\\\n\\midrule\n");
        for (placer, values) in &self.rows {
            text.push_str(&latex_text(placer));
            for (column, value) in self.columns.iter().zip(values) {
                text.push_str(" & ");
                let bold = |text: String, best: bool| if best { format!("\\textbf{{{text}}}") } else { text };
                match value {
                    // What stands between the columns, ±, would stand in an empty cell, too.
                    None if column.spread != Spread::None => text.push_str("\\multicolumn{2}{c}{--}"),
                    None => text.push_str("--"),
                    Some(value) => {
                        let (mean, spread) = column.texts(value);
                        text.push_str(&bold(mean, value.best));
                        match spread.as_slice() {
                            _ if column.spread == Spread::None => {}
                            [least, largest] => text.push_str(&format!(" & ({least}--{largest})")),
                            own => text.push_str(&format!(" & {}", bold(own.concat(), value.best))),
                        }
                    }
                }
            }
            text.push_str(" \\\\\n");
        }
        text.push_str("\\bottomrule\n\\end{tabular}\n");
        latex_float(&text, float)
    }
}

impl Column {
    /// Mean, and what stands beside it.
    fn texts(&self, value: &Value) -> (String, Vec<String>) {
        let text = |number: f64| format!("{number:.*}", self.decimals);
        (text(value.mean), value.spread.iter().flatten().map(|&own| text(own)).collect())
    }

    fn latex(&self) -> &'static str {
        match self.spread {
            Spread::Deviation => "r@{\\,$\\pm$\\,}r",
            Spread::Range => "r@{\\ }l",
            Spread::None => "r",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::rows;

    fn text(format: TextFormat) -> String {
        spread_text(format, Spread::Deviation)
    }

    fn spread_text(format: TextFormat, spread: Spread) -> String {
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.graph == "a" && row.placer == "random" && row.repetition == 1) {
            row.makespan = row.makespan.map(|makespan| makespan * 1.2);
        }
        let table = results::Table::new(&rows).unwrap();
        MetricTable::new(&table, Metric::Makespan, Sort::Mean, spread)
            .unwrap()
            .to_text(format, &Float { caption: "50 %", label: "tab:a", is_wide: false })
    }

    #[test]
    fn the_range_stands_beside_a_mean_where_it_is_asked_for() {
        let range = |format: TextFormat| spread_text(format, Spread::Range);
        assert!(range(TextFormat::Markdown).contains("| random | 22.0 (20.0–24.0)"), "{}", range(TextFormat::Markdown));
        assert!(
            range(TextFormat::Csv)
                .starts_with("placer,a (ms),\"a (ms), least\",\"a (ms), largest\",b (s),\"b (s), least\","),
            "{}",
            range(TextFormat::Csv)
        );
        assert!(range(TextFormat::Csv).ends_with("random,22,20,24,,,,\n"), "{}", range(TextFormat::Csv));
        assert!(range(TextFormat::Latex).contains("random & 22.0 & (20.0--24.0) & \\multicolumn{2}{c}{--} & --"));
        assert!(spread_text(TextFormat::Markdown, Spread::None).contains("| **10.0** |"));
        assert_eq!("rnage".parse::<Spread>(), Err("did you mean 'range'?".to_owned()));
    }

    #[test]
    fn a_table_has_the_best_scheduler_in_bold_and_leaves_failures_empty() {
        // random: 20 and 24 ms, so 22 with a deviation of √8; it fails on b.
        assert_eq!(
            text(TextFormat::Markdown),
            "| placer | a (ms)         | b (s)           | mean ratio to best |\n\
             |--------|----------------|-----------------|--------------------|\n\
             | heft   | **10.0 ± 0.0** | **4.00 ± 0.00** | **1.000**          |\n\
             | random | 22.0 ± 2.8     |                 |                    |\n"
        );
        assert_eq!(
            text(TextFormat::Csv),
            "placer,a (ms),\"a (ms), standard deviation\",b (s),\"b (s), standard deviation\",mean ratio to best\n\
             heft,10,0,4,0,1\nrandom,22,2.82843,,,\n"
        );
    }

    #[test]
    fn in_latex_means_and_deviations_stand_below_each_other() {
        let text = text(TextFormat::Latex);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "\\begin{table}",
                "\\centering",
                "\\caption{50 \\%}",
                "\\label{tab:a}",
                "\\begin{tabular}{lr@{\\,$\\pm$\\,}rr@{\\,$\\pm$\\,}rr}",
                "\\toprule",
                "placer & \\multicolumn{2}{c}{a (ms)} & \\multicolumn{2}{c}{b (s)} & mean ratio to best \\\\",
                "\\midrule",
                "heft & \\textbf{10.0} & \\textbf{0.0} & \\textbf{4.00} & \\textbf{0.00} & \\textbf{1.000} \\\\",
                "random & 22.0 & 2.8 & \\multicolumn{2}{c}{--} & -- \\\\",
                "\\bottomrule",
                "\\end{tabular}",
                "\\end{table}",
            ]
        );
    }

    #[test]
    fn ratios_are_not_written_in_thousands() {
        let mut rows: Vec<_> = rows().into_iter().filter(|row| row.repetition == 0 && row.graph == "a").collect();
        rows.iter_mut().for_each(|row| row.slr = Some(if row.placer == "heft" { 4.5 } else { 45_000.0 }));
        let table = results::Table::new(&rows).unwrap();
        let table = MetricTable::new(&table, Metric::Slr, Sort::Mean, Spread::None).unwrap();
        let text = table.to_text(TextFormat::Csv, &Float::default());
        assert_eq!(text, "placer,a,mean ratio to best\nheft,4.5,1\nrandom,45000,10000\n");
    }

    #[test]
    fn without_repetitions_there_are_no_deviations_and_ties_are_all_best() {
        let mut rows: Vec<_> = rows().into_iter().filter(|row| row.repetition == 0 && row.graph == "a").collect();
        for row in &mut rows {
            row.makespan = Some(0.5);
        }
        let table = results::Table::new(&rows).unwrap();
        let text = MetricTable::new(&table, Metric::Makespan, Sort::Mean, Spread::Deviation)
            .unwrap()
            .to_text(TextFormat::Latex, &Float::default());
        assert!(text.starts_with("\\begin{tabular}{lrr}") && text.matches("\\textbf{500}").count() == 2, "{text}");
        // No number is a multiple of 0: of traffic, no placer is the best.
        let traffic = MetricTable::new(&table, Metric::TrafficBytes, Sort::Mean, Spread::None).unwrap();
        assert!(!traffic.to_text(TextFormat::Latex, &Float::default()).contains("textbf"));
    }
}
