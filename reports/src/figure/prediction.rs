//! Predicted against measured makespans.

use super::Figure;
use super::axis::{Axis, draw_title};
use super::drawing::{Area, Datum, Drawing, Paint, Shape, Stroke, line};
use super::legend::{Legend, MARKER, Swatch};
use super::look::Look;
use super::point_labels::{around, place_labels};
use super::quantity::{Quantity, Unit};
use super::scale::Scale;
use super::style::Style;
use crate::export::{TextTable, number_text};
use crate::scores::distinct;

/// Candidates by predicted and measured makespan, on one logarithmic scale for both axes; on the diagonal the prediction
/// is exact, above it the measurement took longer.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// One line above the figure; may be empty.
    pub title: String,
    /// Unit of both makespans.
    pub unit: Unit,
    /// What predicted: a network model.
    pub model: String,
    /// The candidates.
    pub points: Vec<PredictedPoint>,
}

/// A candidate in a [`Prediction`] figure.
#[derive(Clone, Debug, PartialEq)]
pub struct PredictedPoint {
    /// Its name, which gives it its look.
    pub name: String,
    /// The predicted makespan, above 0.
    pub predicted: f64,
    /// The least, median and largest measured makespan, above 0.
    pub measured: [f64; 3],
    /// The key of its mark.
    pub key: String,
}

const DIAGONAL: Stroke = Stroke { paint: Paint::ink(0.6), width: 0.6, dash: &[3.0, 1.5] };
const LEAST: usize = 0;
const MEDIAN: usize = 1;
const LARGEST: usize = 2;

impl Figure for Prediction {
    fn table(&self) -> TextTable {
        let columns = ["predicted", "measured least", "measured median", "measured largest"];
        let columns = columns.map(|name| Quantity::new(name, self.unit.clone()).column());
        let mut table = TextTable::new(["placer".to_owned()].into_iter().chain(columns));
        for point in &self.points {
            let mut row = vec![point.name.clone(), number_text(point.predicted)];
            row.extend(point.measured.iter().map(|&value| number_text(value)));
            table.push(row);
        }
        table
    }

    /// # Complexity
    /// O(points²).
    fn draw(&self, style: &Style) -> Drawing {
        let mut drawing = Drawing::new(style.width(), style.theme, self.title.clone(), self.table());
        let top = draw_title(&mut drawing, &self.title, style) + style.half_capital();
        let values = || self.points.iter().flat_map(|point| point.measured.into_iter().chain([point.predicted]));
        let scale = Scale::log(values()).unwrap_or_else(|| Scale::linear(values(), true));
        let measured = Quantity::new("measured makespan", self.unit.clone());
        let predicted = Quantity::new(format!("makespan predicted by {}", self.model), self.unit.clone());
        // Both axes have one scale, so that the area is a square if there is room for it.
        let height = (drawing.width * 0.75).clamp(150.0, 300.0);
        let y = Axis::left(scale, &measured, height, style);
        let left = y.left_room(style, true);
        let draft = Axis::below(scale, &predicted, drawing.width - left, style);
        let width = (drawing.width - left - draft.right_room(drawing.width - left, style)).min(height * 1.4);
        let area = Area::new(left, top, width, height);
        let x = Axis::below(scale, &predicted, width, style);
        y.draw_left(&mut drawing, &area, style, true, true);
        x.draw_below(&mut drawing, &area, style, true);
        drawing.line((area.x, area.bottom()), (area.right(), area.y), DIAGONAL);
        let at =
            |point: &PredictedPoint, which: usize| (x.x(point.predicted, &area), y.y(point.measured[which], &area));
        let names: Vec<&str> = self.points.iter().map(|point| point.name.as_str()).collect();
        // A candidate has a point for each repetition, all of one look, and one label.
        let candidates = distinct(names.iter().copied());
        let own = Look::of(&candidates);
        let place = |name: &&str| candidates.iter().position(|other| other == name);
        let looks: Vec<Look> = names.iter().filter_map(|name| Some(own[place(name)?])).collect();
        let firsts = candidates.iter().filter_map(|name| names.iter().position(|other| other == name));
        let labelled: Vec<usize> = firsts.collect();
        let markers: Vec<(f64, f64)> = self.points.iter().map(|point| at(point, MEDIAN)).collect();
        let ranges = self.points.iter().map(|point| around(at(point, LEAST), at(point, LARGEST), 0.5));
        let steps = 40;
        let on_diagonal = |step: usize| {
            let share = step as f64 / steps as f64;
            (area.x + share * area.width, area.bottom() - share * area.height)
        };
        let diagonal = (0..steps).map(|step| around(on_diagonal(step), on_diagonal(step + 1), 0.3));
        let labels = place_labels(&labelled, &names, &markers, ranges.chain(diagonal).collect(), &area, style);
        for ((point, look), (&marker, label)) in self.points.iter().zip(&looks).zip(markers.iter().zip(&labels)) {
            let mut shapes = vec![line(at(point, LEAST), at(point, LARGEST), look.stroke(0.6))];
            if let Some((_, Some(end))) = label {
                shapes.push(line(marker, *end, Stroke::solid(Paint::ink(0.6), 0.35)));
            }
            shapes.push(look.point(marker, MARKER));
            shapes.extend(label.as_ref().map(|(text, _)| Shape::Text(text.clone())));
            let title = format!(
                "{}: predicted {}, measured {} ({} to {})",
                point.name,
                self.unit.text(point.predicted),
                self.unit.text(point.measured[MEDIAN]),
                self.unit.text(point.measured[LEAST]),
                self.unit.text(point.measured[LARGEST]),
            );
            drawing.mark(Datum { key: point.key.clone(), title }, shapes);
        }
        drawing.height = area.bottom() + x.below_room(style, true) + 2.0;
        let without: Vec<(Swatch, String)> = labelled
            .into_iter()
            .filter(|&index| labels[index].is_none())
            .map(|index| (Swatch::Point(looks[index]), self.points[index].name.clone()))
            .collect();
        if !without.is_empty() {
            let legend = Legend::new(without, drawing.width, style);
            let y = drawing.height;
            legend.draw(&mut drawing, 0.0, y + 2.0, style);
            drawing.height += 2.0 + legend.height();
        }
        drawing
    }
}
