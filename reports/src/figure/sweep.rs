//! Parameter sweeps and scaling over devices: a metric against a number (B Fig. 5.7, B Fig. 5.3).

use super::Figure;
use super::drawing::{Datum, Drawing};
use super::estimate::Estimate;
use super::lines::{Line, LinePlot, Point, Spread};
use super::look::Look;
use super::quantity::Quantity;
use super::scale::Scale;
use super::style::{ScaleChoice, Style};
use crate::export::{TextTable, number_text};

/// A line: a metric against a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name, which gives it its look: an algorithm.
    pub name: String,
    /// Number, metric, and the key of the mark, by ascending number.
    pub points: Vec<(f64, Estimate, String)>,
}

/// A metric against the value of a parameter, with error bars (B Fig. 5.7).
///
/// The axis of results is logarithmic where they span more than a factor of fifty, that of the parameter from fifteen.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// One line above the figure; may be empty.
    pub title: String,
    /// The parameter.
    pub parameter: Quantity,
    /// The metric.
    pub quantity: Quantity,
    /// One a graph or algorithm.
    pub curves: Vec<Curve>,
}

/// A metric against the number of devices, with the variance as a band (B Fig. 5.3).
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    /// One line above the figure; may be empty.
    pub title: String,
    /// What is counted: devices.
    pub devices: Quantity,
    /// The metric.
    pub quantity: Quantity,
    /// One an algorithm.
    pub curves: Vec<Curve>,
}

/// Results further apart than this get a logarithmic axis.
const LINEAR_UP_TO: f64 = 50.0;
/// And numbers of devices or values of parameters, which are often powers.
const NUMBERS_LINEAR_UP_TO: f64 = 15.0;

impl Figure for Sweep {
    fn table(&self) -> TextTable {
        table(&self.parameter, &self.quantity, &self.curves)
    }

    fn draw(&self, style: &Style) -> Drawing {
        draw(&self.title, &self.parameter, &self.quantity, &self.curves, Spread::Bars, style, self.table()).draw(style)
    }
}

impl Figure for Scaling {
    fn table(&self) -> TextTable {
        table(&self.devices, &self.quantity, &self.curves)
    }

    fn draw(&self, style: &Style) -> Drawing {
        draw(&self.title, &self.devices, &self.quantity, &self.curves, Spread::Band, style, self.table()).draw(style)
    }
}

fn table(x: &Quantity, y: &Quantity, curves: &[Curve]) -> TextTable {
    let mut table =
        TextTable::new(["series".to_owned(), x.column(), y.column(), "standard_deviation".into(), "count".into()]);
    for curve in curves {
        for (number, value, _) in &curve.points {
            let [number, mean] = [*number, value.mean].map(number_text);
            table.push([curve.name.clone(), number, mean, value.deviation_text(), value.count.to_string()]);
        }
    }
    table
}

fn draw<'a>(
    title: &'a str,
    x: &'a Quantity,
    y: &'a Quantity,
    curves: &[Curve],
    spread: Spread,
    style: &Style,
    table: TextTable,
) -> LinePlot<'a> {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
    let lines = curves.iter().zip(Look::of(&names)).map(|(curve, look)| {
        let point = |(number, value, key): &(f64, Estimate, String)| {
            let spread = if value.count > 1 {
                format!(" ± {} (n = {})", y.unit.text(value.deviation()), value.count)
            } else {
                String::new()
            };
            let title =
                format!("{}, {} {}: {}{spread}", curve.name, x.name, x.unit.text(*number), y.unit.text(value.mean));
            Point { x: *number, y: *value, datum: Some(Datum { key: key.clone(), title }) }
        };
        let points = curve.points.iter().map(point).collect();
        Line { name: curve.name.clone(), look, points, steps: false, datum: None }
    });
    // A deviation as large as its mean reaches down to 0, where no logarithmic axis ends: such a bar is cut.
    let least = points().map(|(_, value, _)| value.mean).fold(f64::INFINITY, f64::min);
    let lowest = |value: &Estimate| if least > 0.0 { value.low.max(0.5 * least) } else { value.low };
    let ends = || points().flat_map(|(_, value, _)| [lowest(value), value.high]);
    LinePlot {
        title,
        x: (
            x,
            spanning(
                points().map(|(number, _, _)| *number).collect(),
                NUMBERS_LINEAR_UP_TO,
                ScaleChoice::Auto,
                Scale::around,
            ),
        ),
        y: (y, spanning(ends().collect(), LINEAR_UP_TO, style.scale, |values| Scale::linear(values, true))),
        lines: lines.collect(),
        others: Vec::new(),
        spread,
        table,
    }
}

/// A logarithmic scale for values above 0 that lie further apart than a factor, else a linear one.
fn spanning(
    values: Vec<f64>,
    up_to: f64,
    choice: ScaleChoice,
    linear: impl Fn(std::vec::IntoIter<f64>) -> Scale,
) -> Scale {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    let log =
        (least > 0.0 && choice.is_log(most > up_to * least)).then(|| Scale::log(values.iter().copied())).flatten();
    log.unwrap_or_else(|| linear(values.into_iter()))
}
