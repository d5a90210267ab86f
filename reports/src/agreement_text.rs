//! How well predictions agree with measurements, as a table.

use comfy_table::{CellAlignment, Table as TerminalTable};
use placebench_harness::compare::{ModelAgreement, agreements};
use placebench_harness::execute::ExecutorName;
use placebench_harness::execute::simulate::NETWORK_MODELS;
use placebench_harness::results::{Row, Table};
use polars::prelude::{PolarsResult, col, lit};

/// The header of [`agreement_cells`].
pub(crate) const HEADER: [&str; 10] = [
    "graph",
    "executor",
    "order of",
    "predicted by",
    "placers",
    "tau [95 %]",
    "of halves",
    "mean error",
    "drift",
    "less drift",
];

/// The column of the network model that predicts.
const MODEL: usize = 3;

/// A row an instance that was measured, and network model; none if nothing was measured.
///
/// # Errors
/// If Polars refuses the rows.
pub(crate) fn agreement_cells(table: &Table) -> PolarsResult<Vec<[String; 10]>> {
    Ok(merged(agreements(&measured_rows(table)?).iter().map(cells).collect()))
}

/// The rows of executors that measure.
///
/// # Errors
/// If Polars refuses the rows.
pub(crate) fn measured_rows(table: &Table) -> PolarsResult<Vec<Row>> {
    let is_measured = col("executor").neq(lit(ExecutorName::default().as_str().to_owned()));
    table.filter(is_measured)?.rows()
}

/// One row instead of several if all network models predict the same.
fn merged(rows: Vec<[String; 10]>) -> Vec<[String; 10]> {
    let same = |a: &[String; 10], b: &[String; 10]| a[..MODEL] == b[..MODEL] && a[MODEL + 1..] == b[MODEL + 1..];
    let one = |chunk: &[[String; 10]]| match chunk {
        [first, ..] if chunk.len() == NETWORK_MODELS.len() => {
            let mut row = first.clone();
            row[MODEL] = "all models".to_owned();
            vec![row]
        }
        _ => chunk.to_vec(),
    };
    rows.chunk_by(same).flat_map(one).collect()
}

fn cells(line: &ModelAgreement) -> [String; 10] {
    let ModelAgreement { graph, cluster, network, executor, model, agreement } = line;
    let dash = || "-".to_owned();
    let number = |value: Option<f64>| value.map_or_else(dash, |value| format!("{value:.2}"));
    let percent = |value: Option<f64>| value.map_or_else(dash, |value| format!("{:.1} %", 100.0 * value));
    let interval = agreement.tau_interval.map(|(low, high)| format!(" [{low:.2}, {high:.2}]")).unwrap_or_default();
    [
        format!("{graph}@{cluster}"),
        executor.to_string(),
        network.clone(),
        (*model).to_owned(),
        agreement.candidates.to_string(),
        number(agreement.tau) + &interval,
        number(agreement.tau_of_halves),
        percent(Some(agreement.mean_error)),
        agreement.drift.map_or_else(dash, |drift| format!("{:+.1} %", 100.0 * (drift - 1.0))),
        percent(agreement.error_without_drift),
    ]
}

/// The table for a terminal, with a heading and an explanation; empty if nothing was measured.
///
/// # Errors
/// If Polars refuses the rows.
pub fn agreement_table(table: &Table) -> PolarsResult<String> {
    let rows = agreement_cells(table)?;
    if rows.is_empty() {
        return Ok(String::new());
    }
    let mut text = TerminalTable::new();
    text.load_preset(comfy_table::presets::NOTHING).set_header(HEADER);
    rows.into_iter().for_each(|row| {
        text.add_row(row);
    });
    for column in text.column_iter_mut().skip(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    Ok(format!("How far off predictions are\n{text}\n{EXPLANATION}\n"))
}

/// What the columns mean.
pub(crate) const EXPLANATION: &str = "tau: Kendall's rank correlation of the predicted and the measured order of placers, over the pairs\n\
that the measurement tells apart; of halves: between every other repetition and the rest.\n\
drift: how much longer placements without transfers took than predicted, so how much ops have changed since their\n\
costs were measured; less drift: the mean error of the other placements if predictions are as much longer.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_predict_the_same_share_a_row() {
        let row = |model: &str, error: &str| {
            ["g@c", "jax", "loggp", model, "9", "0.9", "0.9", error, "+1 %", "4 %"].map(str::to_owned)
        };
        let rows = |last: &str| {
            let models = NETWORK_MODELS.iter().map(|model| model.name());
            models.enumerate().map(|(k, model)| row(model, if k == 0 { last } else { "5 %" })).collect::<Vec<_>>()
        };
        assert_eq!(merged(rows("5 %")), [row("all models", "5 %")]);
        assert_eq!(merged(rows("6 %")), rows("6 %"));
    }
}
