//! Curves over devices or a parameter, from rows.

use placebench_algorithms::Spec;
use placebench_harness::results::Row;

use super::{Figures, Kind, Panel, are_one_cell, distinct, key_of};
use crate::figure::{Curve, Drawing, Estimate, Figure, Quantity, Scaling, Style, Sweep, Unit};
use crate::query::Results;

/// The curves of a panel over rows that were selected already.
///
/// # Errors
/// If the panel names no metric or abscissa, or a point would mix cells.
pub(super) fn curves(
    figures: &Figures,
    panel: &Panel,
    results: &Results,
    rows: &[&Row],
    title: String,
    style: &Style,
) -> Result<Drawing, String> {
    let metric = *panel.metrics.first().ok_or("curves need a metric")?;
    let series = panel.series.ok_or("curves need a column that tells them apart")?;
    let mut curves = Vec::new();
    for name in distinct(rows, series) {
        let mut points: Vec<(f64, Vec<&Row>)> = Vec::new();
        for &row in rows.iter().filter(|row| series.of(row) == name) {
            let Some(x) = abscissa(panel, row)? else { continue };
            match points.iter_mut().find(|(known, _)| *known == x) {
                Some((_, rows)) => rows.push(row),
                None => points.push((x, vec![row])),
            }
        }
        points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let mut curve = Curve { name: figures.label(&name), points: Vec::new() };
        for (x, rows) in points {
            if !are_one_cell(&rows) {
                return Err(format!("the point of {} mixes cells: select by more columns", key_of(rows[0])));
            }
            if let Some(value) = Estimate::of(&panel.values(results, metric, &rows)) {
                curve.points.push((x, value, key_of(rows[0])));
            }
        }
        curves.push(curve);
    }
    let quantity = panel.quantity(metric, rows);
    Ok(match panel.kind {
        Kind::Sweep => {
            let parameter = Quantity::new(panel.parameter.as_deref().unwrap_or("parameter"), Unit::One);
            Sweep { title, parameter, quantity, curves }.draw(style)
        }
        _ => {
            let devices = Quantity::new(panel.parameter.as_deref().unwrap_or("devices"), Unit::One);
            Scaling { title, devices, quantity, curves }.draw(style)
        }
    })
}

/// Where a row stands: the last number of a column's value, or a parameter of its placer; `None` if the placer has no such
/// parameter.
fn abscissa(panel: &Panel, row: &Row) -> Result<Option<f64>, String> {
    if let Some(column) = panel.x {
        let value = column.of(row);
        let digits = value.len() - value.bytes().rev().take_while(u8::is_ascii_digit).count();
        return match value[digits..].parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(format!("'{value}' ends in no number")),
        };
    }
    let parameter = panel.parameter.as_deref().ok_or("curves need a column or a parameter as their abscissa")?;
    let spec: Spec = row.placer.parse().map_err(|error| format!("{error}"))?;
    let value = spec.params.iter().find(|(name, _)| name == parameter).map(|(_, value)| value);
    value.map(|value| value.parse().map_err(|_| format!("'{value}' is no number"))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Column;

    #[test]
    fn a_point_stands_at_the_number_of_its_cluster_or_at_a_parameter_of_its_placer() {
        let mut panel: Panel =
            toml::from_str("kind = 'scaling'\nmetrics = ['makespan']\nseries = 'placer'\nx = 'cluster'").unwrap();
        let row = Row { cluster: "gtx1080x8".into(), placer: "scoring(alpha=0.7, fringe=2)".into(), ..Row::default() };
        assert_eq!(abscissa(&panel, &row), Ok(Some(8.0)));
        assert!(abscissa(&panel, &Row { cluster: "gpus".into(), ..row.clone() }).is_err());
        (panel.x, panel.parameter) = (None, Some("alpha".into()));
        assert_eq!(abscissa(&panel, &row), Ok(Some(0.7)));
        assert_eq!(abscissa(&panel, &Row { placer: "expert".into(), ..row }), Ok(None));
        assert_eq!(panel.series, Some(Column::Placer));
    }
}
