//! Lines over a common pair of axes: what sweeps, scaling plots, performance profiles and executable ops share.
//!
//! More lines than can be told apart become panels: each shows some of them, in order, with all others in pale grey
//! behind, so that panels compare.

use super::axis::{Axis, draw_title};
use super::drawing::{Area, Datum, Drawing, Paint, Stroke, line, polygon, polyline};
use super::estimate::Estimate;
use super::legend::{BEHIND, Legend, MARKER, Swatch};
use super::look::Look;
use super::quantity::Quantity;
use super::scale::Scale;
use super::style::{Style, WHISKER};
use crate::export::TextTable;

/// A line through points.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) look: Look,
    /// By ascending x.
    pub(crate) points: Vec<Point>,
    /// Whether the line keeps its height up to the next point.
    pub(crate) steps: bool,
    /// What the line as a whole stands for, if its points stand for nothing.
    pub(crate) datum: Option<Datum>,
}

/// A point of a line.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: Estimate,
    /// What it stands for; a point without gets no marker.
    pub(crate) datum: Option<Datum>,
}

/// How a spread is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// As error bars at the points.
    Bars,
    /// As a band behind the line.
    Band,
    /// Not at all.
    None,
}

/// Lines and their axes.
#[derive(Clone, Debug)]
pub(crate) struct LinePlot<'a> {
    pub(crate) title: &'a str,
    pub(crate) x: (&'a Quantity, Scale),
    pub(crate) y: (&'a Quantity, Scale),
    pub(crate) lines: Vec<Line>,
    /// Lines in pale grey behind, all of one entry in the legend.
    pub(crate) others: Vec<Line>,
    pub(crate) spread: Spread,
    pub(crate) table: TextTable,
}

/// The most lines in one panel.
pub(crate) const MOST_LINES: usize = 10;
/// Lines of a panel where there are several.
const LINES_A_PANEL: usize = 6;

impl LinePlot<'_> {
    pub(crate) fn draw(&self, style: &Style) -> Drawing {
        let mut drawing = Drawing::new(style.width(), style.theme, self.title.to_owned(), self.table.clone());
        let mut top = draw_title(&mut drawing, self.title, style);
        let panels: Vec<&[Line]> = match self.lines.len() {
            0..=MOST_LINES => vec![&self.lines],
            _ => self.lines.chunks(LINES_A_PANEL).collect(),
        };
        let columns = match panels.len() {
            1 => 1,
            _ if style.width() > 350.0 => 3.min(panels.len()),
            _ => 2,
        };
        let width = drawing.width / columns as f64;
        let height = if columns == 1 { (width * 0.55).clamp(110.0, 190.0) } else { (width * 0.62).clamp(70.0, 120.0) };
        for row in panels.chunks(columns) {
            let mut bottom = top;
            for (column, lines) in row.iter().enumerate() {
                let place = Area::new(column as f64 * width, top, width - if columns > 1 { 8.0 } else { 0.0 }, height);
                bottom = self.draw_panel(&mut drawing, &place, lines, panels.len() > 1, style).max(bottom);
            }
            top = bottom + if panels.len() > 1 { 6.0 } else { 0.0 };
        }
        drawing.height = top + 1.0;
        drawing
    }

    /// Draws a panel, its plot as high as `place`; returns where it ends, legend included.
    fn draw_panel(&self, drawing: &mut Drawing, place: &Area, own: &[Line], others: bool, style: &Style) -> f64 {
        let y = Axis::left(self.y.1, self.y.0, place.height, style);
        let left = y.left_room(style, true);
        let draft = Axis::below(self.x.1, self.x.0, place.width - left, style);
        let width = place.width - left - draft.right_room(place.width - left, style);
        // The topmost label reaches half a line above its tick.
        let area = Area::new(place.x + left, place.y + style.half_capital(), width, place.height);
        let x = Axis::below(self.x.1, self.x.0, width, style);
        y.draw_left(drawing, &area, style, true, true);
        x.draw_below(drawing, &area, style, true);
        let at = |point: &Point| (x.x(point.x, &area), y.y(point.y.mean, &area));
        if others {
            for other in self.lines.iter().filter(|line| own.iter().all(|own| own.name != line.name)) {
                drawing.add(polyline(&other.path(at), BEHIND));
            }
        }
        for other in &self.others {
            let path = polyline(&other.path(at), BEHIND);
            match &other.datum {
                Some(datum) => drawing.mark(datum.clone(), vec![path]),
                None => drawing.add(path),
            }
        }
        if self.spread == Spread::Band {
            for line in own {
                draw_band(drawing, line, |point| x.x(point.x, &area), |value| y.y(value, &area));
            }
        }
        for line in own {
            let path = polyline(&line.path(at), line.look.stroke(1.1));
            match &line.datum {
                Some(datum) => {
                    let markers = spaced(&line.path(at), 5).into_iter().map(|at| line.look.point(at, MARKER));
                    drawing.mark(datum.clone(), std::iter::once(path).chain(markers).collect());
                }
                None => drawing.add(path),
            }
        }
        for line in own {
            self.draw_points(drawing, line, at, |value| y.y(value, &area));
        }
        let bottom = area.bottom() + x.below_room(style, true) + 2.0;
        if self.lines.len() < 2 {
            return bottom;
        }
        let others = (!self.others.is_empty()).then(|| (Swatch::Others, format!("{} others", self.others.len())));
        let entries = own.iter().map(|line| (Swatch::Line(line.look), line.name.clone())).chain(others);
        let legend = Legend::new(entries.collect(), place.width, style);
        legend.draw(drawing, place.x, bottom, style);
        bottom + legend.height()
    }

    fn draw_points(
        &self,
        drawing: &mut Drawing,
        line_: &Line,
        at: impl Fn(&Point) -> (f64, f64),
        y: impl Fn(f64) -> f64,
    ) {
        for point in &line_.points {
            let Some(datum) = &point.datum else { continue };
            let (x, middle) = at(point);
            let mut shapes = Vec::new();
            if self.spread == Spread::Bars && point.y.has_spread() {
                let stroke = Stroke { paint: line_.look.ink(), ..WHISKER };
                shapes.push(line((x, y(point.y.low)), (x, y(point.y.high)), stroke));
                // What goes on beyond the axis has no end.
                let ends = [point.y.low, point.y.high].into_iter().filter(|&end| self.y.1.contains(end));
                shapes.extend(ends.map(|end| line((x - 1.6, y(end)), (x + 1.6, y(end)), stroke)));
            }
            shapes.push(line_.look.point((x, middle), MARKER));
            drawing.mark(datum.clone(), shapes);
        }
    }
}

impl Line {
    fn path(&self, at: impl Fn(&Point) -> (f64, f64)) -> Vec<(f64, f64)> {
        let mut path: Vec<(f64, f64)> = Vec::with_capacity(self.points.len());
        for point in &self.points {
            let (x, y) = at(point);
            if let Some(&(_, before)) = path.last().filter(|_| self.steps) {
                path.push((x, before));
            }
            path.push((x, y));
        }
        path
    }
}

fn draw_band(drawing: &mut Drawing, line: &Line, x: impl Fn(&Point) -> f64, y: impl Fn(f64) -> f64) {
    if !line.points.iter().any(|point| point.y.has_spread()) {
        return;
    }
    let lower = line.points.iter().map(|point| (x(point), y(point.y.low)));
    let upper = line.points.iter().rev().map(|point| (x(point), y(point.y.high)));
    let around: Vec<(f64, f64)> = lower.chain(upper).collect();
    let paint = Paint { opacity: 0.16, ..line.look.ink() };
    let edge = Stroke::solid(Paint { opacity: 0.5, ..line.look.ink() }, 0.3);
    drawing.add(polygon(&around, Some(paint), Some(edge)));
}

/// About `count` points of a path, equally far apart along it.
fn spaced(path: &[(f64, f64)], count: usize) -> Vec<(f64, f64)> {
    let length = |pair: &[(f64, f64)]| (pair[1].0 - pair[0].0).hypot(pair[1].1 - pair[0].1);
    let total: f64 = path.windows(2).map(length).sum();
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut done = 0.0;
    for pair in path.windows(2) {
        let own = length(pair);
        while points.len() < count && (points.len() as f64 + 0.5) * total / count as f64 <= done + own && own > 0.0 {
            let share = ((points.len() as f64 + 0.5) * total / count as f64 - done) / own;
            points.push((pair[0].0 + share * (pair[1].0 - pair[0].0), pair[0].1 + share * (pair[1].1 - pair[0].1)));
        }
        done += own;
    }
    if points.is_empty() { path.first().copied().into_iter().collect() } else { points }
}
