//! Quality against time: which algorithms are worth their time.

use super::Figure;
use super::axis::{Axis, draw_title};
use super::drawing::{Area, Datum, Drawing, Paint, Shape, Stroke, line, polyline};
use super::legend::{Legend, MARKER, Swatch};
use super::look::Look;
use super::point_labels::{around, place_labels};
use super::quantity::Quantity;
use super::scale::Scale;
use super::style::Style;
use crate::export::{TextTable, number_text};

/// Algorithms by time and result, both better when smaller; a line joins those that no other beats in both.
#[derive(Clone, Debug, PartialEq)]
pub struct Pareto {
    /// One line above the figure; may be empty.
    pub title: String,
    /// The time, on a logarithmic axis.
    pub time: Quantity,
    /// The result.
    pub quality: Quantity,
    /// The algorithms.
    pub points: Vec<ParetoPoint>,
}

/// An algorithm in a [`Pareto`] figure.
#[derive(Clone, Debug, PartialEq)]
pub struct ParetoPoint {
    /// Its name, which gives it its look.
    pub name: String,
    /// What it costs, above 0.
    pub time: f64,
    /// What it achieves.
    pub quality: f64,
    /// The key of its mark.
    pub key: String,
}

const FRONT: Stroke = Stroke { paint: Paint::ink(0.8), width: 0.8, dash: &[3.0, 1.5] };
const LEADER: Stroke = Stroke::solid(Paint::ink(0.6), 0.35);
/// The result is on a logarithmic axis if the worst is more than this many times the best.
const LINEAR_UP_TO: f64 = 5.0;

impl Pareto {
    /// Indices of the points that no other beats in both time and result, by ascending time.
    pub fn front(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.points.len()).collect();
        let key = |index: usize| (self.points[index].time, self.points[index].quality);
        order.sort_by(|&a, &b| key(a).0.total_cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
        let mut best = f64::INFINITY;
        order.retain(|&index| {
            let better = self.points[index].quality < best;
            best = best.min(self.points[index].quality);
            better
        });
        order
    }

    fn quality_scale(&self, style: &Style) -> Scale {
        let values = || self.points.iter().map(|point| point.quality);
        let (least, most) =
            values().fold((f64::INFINITY, 0.0f64), |(least, most), value| (value.min(least), value.max(most)));
        let log =
            style.scale.is_log(least > 0.0 && most > LINEAR_UP_TO * least).then(|| Scale::log(values())).flatten();
        // Ratios to the best are at least 1: an axis from 0 would be half empty.
        log.unwrap_or_else(|| match least >= 1.0 {
            true => Scale::from_one(most),
            false => Scale::linear(values(), false),
        })
    }
}

impl Figure for Pareto {
    fn table(&self) -> TextTable {
        let front = self.front();
        let mut table =
            TextTable::new(["algorithm".to_owned(), self.time.column(), self.quality.column(), "on_front".into()]);
        for (index, point) in self.points.iter().enumerate() {
            let on_front = if front.contains(&index) { "yes" } else { "no" };
            table.push([point.name.clone(), number_text(point.time), number_text(point.quality), on_front.to_owned()]);
        }
        table
    }

    /// # Complexity
    /// O(points²).
    fn draw(&self, style: &Style) -> Drawing {
        let mut drawing = Drawing::new(style.width(), style.theme, self.title.clone(), self.table());
        let top = draw_title(&mut drawing, &self.title, style) + style.half_capital();
        let height = (drawing.width * 0.55).clamp(150.0, 260.0);
        let y = Axis::left(self.quality_scale(style), &self.quality, height, style);
        let left = y.left_room(style, true);
        let times = self.points.iter().map(|point| point.time);
        let time_scale = Scale::log(times.clone()).unwrap_or_else(|| Scale::linear(times, true));
        let draft = Axis::below(time_scale, &self.time, drawing.width - left, style);
        let width = drawing.width - left - draft.right_room(drawing.width - left, style);
        let area = Area::new(left, top, width, height);
        let x = Axis::below(time_scale, &self.time, width, style);
        y.draw_left(&mut drawing, &area, style, true, true);
        x.draw_below(&mut drawing, &area, style, true);
        let at = |point: &ParetoPoint| (x.x(point.time, &area), y.y(point.quality, &area));
        let front = self.front();
        let mut path: Vec<(f64, f64)> = Vec::new();
        for &index in &front {
            let (x, y) = at(&self.points[index]);
            if let Some(&(_, before)) = path.last() {
                path.push((x, before));
            }
            path.push((x, y));
        }
        if let Some(&(_, lowest)) = path.last() {
            path.push((area.right(), lowest));
            drawing.add(polyline(&path, FRONT));
        }
        let lines: Vec<Area> = path.windows(2).map(|pair| around(pair[0], pair[1], 0.8)).collect();
        let names: Vec<&str> = self.points.iter().map(|point| point.name.as_str()).collect();
        let looks = Look::of(&names);
        let markers: Vec<(f64, f64)> = self.points.iter().map(at).collect();
        // The front first: its names matter most.
        let rest = (0..self.points.len()).filter(|index| !front.contains(index));
        let order: Vec<usize> = front.iter().copied().chain(rest).collect();
        let labels = place_labels(&order, &names, &markers, lines, &area, style);
        for ((point, look), (&at, label)) in self.points.iter().zip(&looks).zip(markers.iter().zip(&labels)) {
            let mut shapes = Vec::new();
            if let Some((_, Some(end))) = label {
                shapes.push(line(at, *end, LEADER));
            }
            shapes.push(look.point(at, MARKER + 0.6));
            shapes.extend(label.as_ref().map(|(text, _)| Shape::Text(text.clone())));
            let title = format!(
                "{}: {} {} in {}",
                point.name,
                self.quality.name,
                self.quality.unit.text(point.quality),
                self.time.unit.text(point.time)
            );
            drawing.mark(Datum { key: point.key.clone(), title }, shapes);
        }
        let bottom = area.bottom() + x.below_room(style, true) + 2.0;
        let without: Vec<(Swatch, String)> = (0..self.points.len())
            .filter(|&index| labels[index].is_none())
            .map(|index| (Swatch::Point(looks[index]), self.points[index].name.clone()))
            .collect();
        drawing.height = bottom;
        if !without.is_empty() {
            let legend = Legend::new(without, drawing.width, style);
            legend.draw(&mut drawing, 0.0, bottom + 2.0, style);
            drawing.height += 2.0 + legend.height();
        }
        drawing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Unit;

    #[test]
    fn the_front_holds_what_no_other_beats() {
        let point = |name: &str, time, quality| ParetoPoint { name: name.into(), time, quality, key: name.into() };
        let figure = Pareto {
            title: String::new(),
            time: Quantity::new("time", Unit::Seconds),
            quality: Quantity::new("ratio", Unit::One),
            points: vec![
                point("slow", 9.0, 1.0),
                point("bad", 5.0, 3.0),
                point("fast", 1.0, 2.0),
                point("same", 9.0, 1.0),
            ],
        };
        assert_eq!(figure.front(), [2, 0]);
    }
}
