//! From result rows to tables for papers.

use std::collections::BTreeMap;

use placebench_datasets::is_equal;
use placebench_harness::results::grid::GridError;
use placebench_harness::results::{self, Metric};
use serde::Serialize;

use crate::export::{TextFormat, TextTable, latex_float, latex_text, number_text};
use crate::figure::Estimate;
use crate::marks::Marks;
use crate::scores::{Scores, Sort};

/// Placer × instance: mean and standard deviation over the draws of a metric with the placer's best scheduler, in one unit a
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
    /// The instance with its unit: `nmt (ms)`.
    name: String,
    /// Digits after the point, the same in the whole column: three significant ones of the least value.
    decimals: usize,
    /// Whether any of its values has a deviation.
    repeated: bool,
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
#[derive(Clone, Copy, Debug, PartialEq)]
struct Value {
    mean: f64,
    /// Of several draws.
    deviation: Option<f64>,
    /// Whether no other in the column is better.
    best: bool,
}

const MEAN_RATIO: &str = "mean ratio to best";

impl MetricTable {
    /// The table of a metric, its placers in this order. A placer that takes no part in the means has none.
    ///
    /// # Errors
    /// If a cell is in the table twice, or Polars refuses.
    ///
    /// # Complexity
    /// That of the grid.
    pub fn new(rows: &results::Table, metric: Metric, sort: Sort) -> Result<Self, GridError> {
        let scores = Scores::new(rows, metric, &[], sort)?;
        let (placers, instances) = (0..scores.placers.len(), 0..scores.instances().len());
        let mut table = Self {
            marks: scores.marks.clone(),
            over: scores.mean_over(),
            columns: Vec::new(),
            rows: scores.shown.iter().map(|name| (name.clone(), Vec::new())).collect(),
        };
        for instance in instances {
            let of = |placer: usize| Estimate::of(&scores.best(placer, instance)?.values()?);
            let largest = placers.clone().filter_map(of).map(|value| value.mean).fold(0.0, f64::max);
            let (factor, unit) = scores.quantity(instance).unit.multiple(largest);
            let value = |placer: usize| {
                let estimate = of(placer)?;
                Some(Value {
                    mean: estimate.mean / factor,
                    deviation: (estimate.count > 1).then(|| estimate.deviation() / factor),
                    best: scores.ratio(placer, instance) == Some(1.0),
                })
            };
            let label = &scores.labels[instance];
            let name = if unit.is_empty() { label.clone() } else { format!("{label} ({unit})") };
            table.add(name, placers.clone().map(value).collect());
        }
        let means: Vec<Option<f64>> = placers.map(|placer| scores.mean(placer)).collect();
        let least = means.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        let value = |mean: f64| Value { mean, deviation: None, best: is_equal(mean, least) };
        table.add(MEAN_RATIO.to_owned(), means.into_iter().map(|mean| mean.map(value)).collect());
        if let Some(column) = table.columns.last_mut() {
            column.decimals = 3;
        }
        Ok(table)
    }

    fn add(&mut self, name: String, values: Vec<Option<Value>>) {
        let means = values.iter().flatten().map(|value| value.mean.abs());
        let least = means.filter(|&mean| mean > 0.0).fold(f64::INFINITY, f64::min);
        let decimals = if least.is_finite() { (2.0 - least.log10().floor()).clamp(0.0, 6.0) as usize } else { 0 };
        let repeated = values.iter().flatten().any(|value| value.deviation.is_some());
        self.columns.push(Column { name, decimals, repeated });
        for ((_, row), value) in self.rows.iter_mut().zip(values) {
            row.push(value);
        }
    }

    /// The table as text; `caption` and `label` are of use to LaTeX only.
    pub fn to_text(&self, format: TextFormat, caption: &str, label: &str) -> String {
        match format {
            TextFormat::Markdown => self.markdown().to_markdown(),
            TextFormat::Latex => self.latex(caption, label),
            TextFormat::Csv => self.csv().to_csv(),
        }
    }

    /// `mean ± deviation` in a cell, the best in bold, nothing where a placer failed.
    fn markdown(&self) -> TextTable {
        let names = self.columns.iter().map(|column| column.name.clone());
        let mut table = TextTable::new(["placer".to_owned()].into_iter().chain(names));
        for (placer, values) in &self.rows {
            let cell = |(column, value): (&Column, &Option<Value>)| {
                let Some(value) = value else { return String::new() };
                let [mean, deviation] = column.texts(value);
                let text = if deviation.is_empty() { mean } else { format!("{mean} ± {deviation}") };
                if value.best { format!("**{text}**") } else { text }
            };
            table.push([placer.clone()].into_iter().chain(self.columns.iter().zip(values).map(cell)));
        }
        table
    }

    /// Means and deviations in columns of their own.
    fn cells(&self) -> (Vec<String>, Vec<Vec<Option<f64>>>) {
        let names = self.columns.iter().flat_map(|column| {
            [Some(column.name.clone()), column.repeated.then(|| format!("{}, standard deviation", column.name))]
        });
        let row = |values: &Vec<Option<Value>>| {
            let cells = self.columns.iter().zip(values).flat_map(|(column, value)| {
                let deviation = || value.and_then(|value| value.deviation);
                [Some(value.map(|value| value.mean)), column.repeated.then(deviation)]
            });
            cells.flatten().collect()
        };
        (names.flatten().collect(), self.rows.iter().map(|(_, values)| row(values)).collect())
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

    /// With booktabs rules; means and deviations stand below each other on both sides of ±.
    fn latex(&self, caption: &str, label: &str) -> String {
        let columns: String = self.columns.iter().map(Column::latex).collect();
        let names = self.columns.iter().map(|column| match column.repeated {
            true => format!(" & \\multicolumn{{2}}{{c}}{{{}}}", latex_text(&column.name)),
            false => format!(" & {}", latex_text(&column.name)),
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
                    None if column.repeated => text.push_str("\\multicolumn{2}{c}{--}"),
                    None => text.push_str("--"),
                    Some(value) => {
                        let [mean, deviation] = column.texts(value);
                        text.push_str(&bold(mean, value.best));
                        if column.repeated {
                            text.push_str(&format!(" & {}", bold(deviation, value.best)));
                        }
                    }
                }
            }
            text.push_str(" \\\\\n");
        }
        text.push_str("\\bottomrule\n\\end{tabular}\n");
        latex_float(&text, caption, label)
    }
}

impl Column {
    /// Mean and deviation; the deviation is empty if there is none.
    fn texts(&self, value: &Value) -> [String; 2] {
        let text = |number: f64| format!("{number:.*}", self.decimals);
        [text(value.mean), value.deviation.map_or_else(String::new, text)]
    }

    fn latex(&self) -> &'static str {
        if self.repeated { "r@{\\,$\\pm$\\,}r" } else { "r" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::rows;

    fn text(format: TextFormat) -> String {
        let mut rows = rows();
        for row in rows.iter_mut().filter(|row| row.graph == "a" && row.placer == "random" && row.repetition == 1) {
            row.makespan = row.makespan.map(|makespan| makespan * 1.2);
        }
        let table = results::Table::new(&rows).unwrap();
        MetricTable::new(&table, Metric::Makespan, Sort::Mean).unwrap().to_text(format, "50 %", "tab:a")
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
    fn without_repetitions_there_are_no_deviations_and_ties_are_all_best() {
        let mut rows: Vec<_> = rows().into_iter().filter(|row| row.repetition == 0 && row.graph == "a").collect();
        for row in &mut rows {
            row.makespan = Some(0.5);
        }
        let table = results::Table::new(&rows).unwrap();
        let text = MetricTable::new(&table, Metric::Makespan, Sort::Mean).unwrap().to_text(TextFormat::Latex, "", "");
        assert!(text.starts_with("\\begin{tabular}{lrr}") && text.matches("\\textbf{500}").count() == 2, "{text}");
        // No number is a multiple of 0: of traffic, no placer is the best.
        let traffic = MetricTable::new(&table, Metric::TrafficBytes, Sort::Mean).unwrap();
        assert!(!traffic.to_text(TextFormat::Latex, "", "").contains("textbf"));
    }
}
