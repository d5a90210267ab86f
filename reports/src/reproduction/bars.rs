//! Grouped bars from rows.

use placebench_harness::results::{Metric, Row};

use super::{Figures, Panel, are_one_cell, distinct, key_of};
use crate::figure::{Bar, Estimate, GroupedBars};
use crate::query::{Column, Results};

/// The bars of a panel over rows that were selected already.
///
/// # Errors
/// If the panel names no group or metric, or a bar would mix cells.
pub(super) fn bars(
    figures: &Figures,
    panel: &Panel,
    results: &Results,
    rows: &[&Row],
    title: String,
) -> Result<GroupedBars, String> {
    let group = panel.group.ok_or("bars need a column to group by")?;
    let first = *panel.metrics.first().ok_or("bars need a metric")?;
    let groups = distinct(rows, group);
    let series: Vec<Series> = match panel.series {
        Some(column) if panel.metrics.len() == 1 => distinct(rows, column)
            .into_iter()
            .map(|value| Series { metric: first, only: Some((column, value)) })
            .collect(),
        Some(_) => return Err("bars have several metrics or several series, not both".to_owned()),
        None => panel.metrics.iter().map(|&metric| Series { metric, only: None }).collect(),
    };
    let mut bars = Vec::with_capacity(groups.len());
    for name in &groups {
        let of_group: Vec<&Row> = rows.iter().copied().filter(|row| group.of(row) == *name).collect();
        bars.push(series.iter().map(|series| bar(panel, results, &of_group, series)).collect::<Result<_, _>>()?);
    }
    let several = panel.metrics.len() > 1;
    let quantity = panel.quantity(first, rows);
    Ok(GroupedBars {
        title,
        quantity: if several { crate::figure::Quantity::new("time", quantity.unit) } else { quantity },
        group: group.name().to_owned(),
        one_series: panel.series.map_or("metric", Column::name).to_owned(),
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
}

/// `None` if there are no such rows; a bar without a value if all of them failed.
fn bar(panel: &Panel, results: &Results, rows: &[&Row], series: &Series) -> Result<Option<Bar>, String> {
    let matching = |row: &&Row| series.only.as_ref().is_none_or(|(column, value)| column.of(row) == *value);
    let rows: Vec<&Row> = rows.iter().copied().filter(matching).collect();
    let Some(first) = rows.first() else { return Ok(None) };
    if !are_one_cell(&rows) {
        return Err(format!("the bar of {} mixes cells: select by more columns", key_of(first)));
    }
    let value = Estimate::of(&panel.values(results, series.metric, &rows));
    Ok(Some(Bar { value, key: key_of(first) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::rows;

    fn made(panel: &str) -> Result<GroupedBars, String> {
        let figures: Figures = toml::from_str("suite = 's'\n[labels]\nheft = 'HEFT'").unwrap();
        let panel: Panel = toml::from_str(&format!("kind = 'bars'\n{panel}")).unwrap();
        let results = Results::from(rows());
        let rows: Vec<&Row> = results.rows.iter().filter(|row| crate::query::matches(row, &panel.only)).collect();
        bars(&figures, &panel, &results, &rows, String::new())
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
