//! Results over many runs: small changes matter, so the axis ends near the values.

use super::Figure;
use super::drawing::{Datum, Drawing};
use super::lines::{Line, LinePlot, Point, Spread};
use super::look::Look;
use super::quantity::{Quantity, Unit};
use super::scale::Scale;
use super::style::Style;
use super::sweep::Curve;
use crate::export::{TextTable, number_text};

/// A number over the runs of a history. A value stays until the next run, so lines are steps; a change is a dot.
#[derive(Clone, Debug, PartialEq)]
pub struct TrendLines {
    /// One line above the figure; may be empty.
    pub title: String,
    /// What the number is.
    pub quantity: Quantity,
    /// Number of the run, value, key: one an algorithm.
    pub curves: Vec<Curve>,
}

impl Figure for TrendLines {
    fn table(&self) -> TextTable {
        let mut table = TextTable::new(["series".to_owned(), "run".to_owned(), self.quantity.column()]);
        for curve in &self.curves {
            for (run, value, _) in &curve.points {
                table.push([curve.name.clone(), number_text(*run), number_text(value.mean)]);
            }
        }
        table
    }

    fn draw(&self, style: &Style) -> Drawing {
        let names: Vec<&str> = self.curves.iter().map(|curve| curve.name.as_str()).collect();
        let lines = self.curves.iter().zip(Look::of(&names)).map(|(curve, look)| Line {
            name: curve.name.clone(),
            look,
            points: points(curve, &self.quantity),
            steps: true,
            datum: None,
        });
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let runs = Quantity::new("run", Unit::Count);
        let plot = LinePlot {
            title: &self.title,
            x: (&runs, Scale::around(points().map(|(run, ..)| *run))),
            y: (&self.quantity, Scale::around(points().map(|(_, value, _)| value.mean))),
            lines: lines.collect(),
            others: Vec::new(),
            spread: Spread::None,
            table: self.table(),
        };
        plot.draw(style)
    }
}

/// The points of a line. The first, the last and those that differ from the one before stand for something.
fn points(curve: &Curve, quantity: &Quantity) -> Vec<Point> {
    let last = curve.points.len().saturating_sub(1);
    let point = |(index, (run, value, key)): (usize, &(f64, super::Estimate, String))| {
        let changed = index == 0 || index == last || curve.points[index - 1].1.mean != value.mean;
        let title = || format!("{}, run {run}: {}", curve.name, quantity.unit.text(value.mean));
        Point { x: *run, y: *value, datum: changed.then(|| Datum { key: key.clone(), title: title() }) }
    };
    curve.points.iter().enumerate().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Estimate;

    #[test]
    fn a_change_of_a_hundredth_is_marked_and_as_high_as_the_plot() {
        let values = [1.0, 1.0, 1.01, 1.01];
        let points =
            (1..).zip(values).map(|(run, value)| (f64::from(run), Estimate::exact(value), format!("heft|{run}")));
        let curves = vec![Curve { name: "heft".into(), points: points.collect() }];
        let figure = TrendLines { title: String::new(), quantity: Quantity::new("ratio", Unit::One), curves };
        let svg = figure.draw(&Style::double_column()).to_svg();
        for (run, marked) in [(1, true), (2, false), (3, true), (4, true)] {
            assert_eq!(svg.contains(&format!("data-key=\"heft|{run}\"")), marked, "run {run}");
        }
        let Scale::Linear { low, high } = Scale::around(values.into_iter()) else { panic!("not linear") };
        assert!(low > 0.99 && high < 1.02);
        assert_eq!(figure.table().rows.len(), 4);
    }
}
