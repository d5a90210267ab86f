//! Grouped bars from rows.

use placebench_harness::results::{Column, Metric, Table};

use super::{Figures, Panel, grouped};
use crate::figure::{Bar, Estimate, GroupedBars, Quantity};
use crate::scores::distinct;

/// The bars of a panel over rows that were selected already.
///
/// # Errors
/// If the panel names no group or metric, a bar would mix cells, or Polars refuses.
pub(super) fn bars(figures: &Figures, panel: &Panel, table: &Table, title: String) -> Result<GroupedBars, String> {
    let group = panel.group.ok_or("bars need a column to group by")?;
    let first = *panel.metrics.first().ok_or("bars need a metric")?;
    let polars = |error: polars::error::PolarsError| error.to_string();
    let groups = table.distinct(group).map_err(polars)?;
    let series: Vec<Series> = match panel.series {
        Some(column) if panel.metrics.len() == 1 => {
            let values = table.distinct(column).map_err(polars)?;
            values.into_iter().map(|value| Series { metric: first, only: Some((column, value)) }).collect()
        }
        Some(_) => return Err("bars have several metrics or several series, not both".to_owned()),
        None => panel.metrics.iter().map(|&metric| Series { metric, only: None }).collect(),
    };
    let mut bars: Vec<Vec<Option<Bar>>> = groups.iter().map(|_| series.iter().map(|_| None).collect()).collect();
    let by: Vec<Column> = [group].into_iter().chain(panel.series).collect();
    for metric in distinct(series.iter().map(|series| series.metric)) {
        for own in grouped(table, &by, metric).map_err(polars)? {
            if !own.is_one_cell {
                return Err(format!("the bar of {} mixes cells: select by more columns", own.cell.mark()));
            }
            let row = groups.iter().position(|name| *name == own.names[0]);
            let column = series.iter().position(|series| series.is_of(metric, own.names.get(1)));
            if let (Some(row), Some(column)) = (row, column) {
                let values: Vec<f64> = own.values.iter().map(|value| value * panel.scale).collect();
                bars[row][column] = Some(Bar { value: Estimate::of(&values), key: own.cell.mark() });
            }
        }
    }
    let several = panel.metrics.len() > 1;
    let quantity = panel.quantity(first, table).map_err(polars)?;
    Ok(GroupedBars {
        title,
        quantity: if several { Quantity::new("time", quantity.unit) } else { quantity },
        group: group.title().to_owned(),
        one_series: panel.series.map_or("metric", Column::title).to_owned(),
        groups: groups.iter().map(|name| figures.label(name)).collect(),
        series: series.iter().map(|series| series.label(figures)).collect(),
        bars,
    })
}

/// A metric, of the rows that have a value in a column.
struct Series {
    metric: Metric,
    only: Option<(Column, String)>,
}

impl Series {
    fn label(&self, figures: &Figures) -> String {
        figures.label(self.only.as_ref().map_or(self.metric.title(), |(_, value)| value))
    }

    fn is_of(&self, metric: Metric, value: Option<&String>) -> bool {
        self.metric == metric && self.only.as_ref().map(|(_, value)| value) == value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::table;

    fn made(panel: &str) -> Result<GroupedBars, String> {
        let figures: Figures = toml::from_str("suite = 's'\n[labels]\nheft = 'HEFT'").unwrap();
        let panel: Panel = toml::from_str(&format!("kind = 'bars'\n{panel}")).unwrap();
        bars(&figures, &panel, &table().filter(panel.only.expr()).unwrap(), String::new())
    }

    #[test]
    fn a_bar_is_the_mean_over_repetitions_and_carries_the_key_of_its_rows() {
        let bars = made(
            "metrics = ['makespan']\ngroup = 'placer'\nseries = 'scheduler'\nwhere = {graph = ['b']}\nscale = 10.0",
        );
        let bars = bars.unwrap();
        assert_eq!(
            (bars.groups, bars.series),
            (vec!["HEFT".into(), "random".into()], vec!["pct".into(), "fifo".into()])
        );
        let bar = bars.bars[1][1].as_ref().unwrap();
        // One of two repetitions failed: 4 · 2 · 1.5 is left, times 10.
        assert_eq!((bar.value, bar.key.as_str()), (Some(Estimate::exact(120.0)), "b|c|random|fifo"));
    }

    #[test]
    fn metrics_side_by_side_are_series_and_cells_do_not_mix() {
        let bars = made(
            "metrics = ['makespan', 'step_time']\ngroup = 'graph'\nwhere = {placer = ['heft'], scheduler = ['pct']}",
        );
        assert_eq!(bars.unwrap().series, ["makespan", "time of a step"]);
        assert!(made("metrics = ['makespan']\ngroup = 'graph'").unwrap_err().contains("mixes cells"));
        assert!(made("metrics = ['makespan']").unwrap_err().contains("group"));
    }
}
