//! Curves over devices or a parameter, from rows.

use placebench_algorithms::Spec;
use placebench_harness::results::{Column, Table};

use super::{Figures, Panel, grouped};
use crate::FigureKind;
use crate::figure::{Curve, Drawing, Estimate, Figure, Quantity, Scaling, Style, Sweep, Unit};

/// The curves of a panel over rows that were selected already.
///
/// # Errors
/// If the panel names no metric or abscissa, a point would mix cells, or Polars refuses.
pub(super) fn curves(
    figures: &Figures,
    panel: &Panel,
    table: &Table,
    title: String,
    style: &Style,
) -> Result<Drawing, String> {
    let metric = *panel.metrics.first().ok_or("curves need a metric")?;
    let series = panel.series.ok_or("curves need a column that tells them apart")?;
    let polars = |error: polars::error::PolarsError| error.to_string();
    let mut curves: Vec<Curve> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for own in grouped(table, &[series, panel.x.unwrap_or(Column::PlacerSpec)], metric).map_err(polars)? {
        let curve = names.iter().position(|name| *name == own.names[0]).unwrap_or_else(|| {
            curves.push(Curve { name: figures.label(&own.names[0]), points: Vec::new() });
            names.push(own.names[0].clone());
            names.len() - 1
        });
        let Some(x) = abscissa(panel, &own.names[1])? else { continue };
        let points = &mut curves[curve].points;
        if !own.is_one_cell || points.iter().any(|(known, ..)| *known == x) {
            return Err(format!("the point of {} mixes cells: select by more columns", own.cell.mark()));
        }
        let values: Vec<f64> = own.values.iter().map(|value| value * panel.scale).collect();
        points.extend(Estimate::of(&values).map(|value| (x, value, own.cell.mark())));
    }
    for curve in &mut curves {
        curve.points.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
    }
    let quantity = panel.quantity(metric, table).map_err(polars)?;
    let numbers = Unit::of_numbers(curves.iter().flat_map(|curve| &curve.points).map(|(number, ..)| *number));
    Ok(match panel.kind {
        FigureKind::Sweep => {
            let parameter = Quantity::new(panel.parameter.as_deref().unwrap_or("parameter"), numbers);
            Sweep { title, parameter, quantity, curves }.draw(style)
        }
        _ => {
            let devices = Quantity::new(panel.parameter.as_deref().unwrap_or("devices"), numbers);
            Scaling { title, devices, quantity, curves }.draw(style)
        }
    })
}

/// Where a point stands: at the last number of a column's value, or at a parameter of a placer; `None` if the placer has
/// no such parameter.
fn abscissa(panel: &Panel, value: &str) -> Result<Option<f64>, String> {
    if panel.x.is_some() {
        let digits = value.len() - value.bytes().rev().take_while(u8::is_ascii_digit).count();
        return match value[digits..].parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(format!("'{value}' ends in no number")),
        };
    }
    let parameter = panel.parameter.as_deref().ok_or("curves need a column or a parameter as their abscissa")?;
    let spec: Spec = value.parse().map_err(|error| format!("{error}"))?;
    let value = spec.params.iter().find(|(name, _)| name == parameter).map(|(_, value)| value);
    value.map(|value| value.parse().map_err(|_| format!("'{value}' is no number"))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_stands_at_the_number_of_its_cluster_or_at_a_parameter_of_its_placer() {
        let mut panel: Panel =
            toml::from_str("kind = 'scaling'\nmetrics = ['makespan']\nseries = 'placer'\nx = 'cluster'").unwrap();
        assert_eq!(abscissa(&panel, "gtx1080x8"), Ok(Some(8.0)));
        assert!(abscissa(&panel, "gpus").is_err());
        (panel.x, panel.parameter) = (None, Some("alpha".into()));
        assert_eq!(abscissa(&panel, "scoring(alpha=0.7, fringe=2)"), Ok(Some(0.7)));
        assert_eq!(abscissa(&panel, "expert"), Ok(None));
        assert_eq!(panel.series, Some(Column::Placer));
    }
}
