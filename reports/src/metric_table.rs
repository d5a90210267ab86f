//! From result rows to tables for papers.

use placebench_harness::compare::statistics::geometric_mean;
use placebench_harness::results::{self, Metric};
use polars::prelude::PolarsResult;

use crate::export::{Table, number_text};
use crate::figure::Estimate;
use crate::scores::{Scores, in_registry_order};

/// Placer × scenario: mean ± standard deviation of a metric with the placer's best scheduler, in the axis' unit, and the
/// geometric mean of the ratios to the best, if the placer has a result everywhere. An empty cell is a failure.
///
/// # Errors
/// If Polars refuses.
pub fn metric_table(rows: &results::Table, metric: Metric) -> PolarsResult<Table> {
    let placers = in_registry_order(rows.placers()?);
    let scores = Scores::new(rows, metric, &[], placers)?;
    let scenarios = 0..scores.scenarios.len();
    // One multiple of the unit a column, so that its numbers compare.
    let units: Vec<(f64, String)> = scenarios
        .clone()
        .map(|scenario| {
            let means = scores.best.iter().filter_map(|row| Some(row[scenario].as_ref()?.mean()));
            scores.quantity(scenario).unit.multiple(means.fold(0.0, f64::max))
        })
        .collect();
    let column = |scenario: usize| match units[scenario].1.as_str() {
        "" => scores.labels[scenario].clone(),
        unit => format!("{} ({unit})", scores.labels[scenario]),
    };
    let header = ["placer".to_owned()].into_iter().chain(scenarios.clone().map(column));
    let mut table = Table::new(header.chain(["mean ratio to best".to_owned()]));
    for (placer, name) in scores.shown.iter().enumerate() {
        let cell = |scenario: usize| {
            let values = scores.best[placer][scenario].as_ref().map(|best| best.values.as_slice());
            let Some(estimate) = values.and_then(Estimate::of) else { return String::new() };
            let (mean, deviation) = (estimate.mean / units[scenario].0, estimate.deviation() / units[scenario].0);
            match estimate.count {
                1 => four_digits(mean),
                _ => format!("{} ± {}", four_digits(mean), four_digits(deviation)),
            }
        };
        let ratios: Option<Vec<f64>> = scenarios.clone().map(|scenario| scores.ratio(placer, scenario)).collect();
        let mean = ratios.and_then(geometric_mean);
        let cells = scenarios.clone().map(cell).chain([mean.map_or_else(String::new, |mean| format!("{mean:.3}"))]);
        table.push([name.clone()].into_iter().chain(cells));
    }
    Ok(table)
}

/// Four significant digits, without an exponent where the number is of a usual size.
fn four_digits(value: f64) -> String {
    if value == 0.0 || !(1e-3..1e7).contains(&value.abs()) {
        return number_text(value);
    }
    let decimals = (3 - value.abs().log10().floor() as i32).max(0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::table;

    #[test]
    fn a_table_has_the_best_scheduler_and_leaves_failures_empty() {
        let table = metric_table(&table(), Metric::Makespan).unwrap();
        assert_eq!(table.header, ["placer", "a (ms)", "b (s)", "mean ratio to best"]);
        assert_eq!(table.rows[1], ["heft", "10.00 ± 0", "4.000 ± 0", "1.000"]);
        assert_eq!(table.rows[0], ["random", "20.00 ± 0", "", ""]);
    }
}
