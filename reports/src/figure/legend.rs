//! What bars and lines stand for, in columns as wide as the names.

use super::drawing::{Anchor, Area, Color, Drawing, Paint, Shape, Stroke, polyline};
use super::font;
use super::look::Look;
use super::style::Style;

/// What stands before a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Swatch {
    /// A bar, hatched.
    Bar(Look),
    /// A dashed line with a marker.
    Line(Look),
    /// A marker.
    Point(Look),
    /// A line of those that are not told apart.
    Others,
}

/// Lines that are only background to others.
pub(crate) const BEHIND: Stroke = Stroke::solid(Paint::opaque(Color::Faint), 0.5);

/// Names with their swatches.
#[derive(Clone, Debug)]
pub(crate) struct Legend {
    entries: Vec<(Swatch, String)>,
    columns: usize,
    column_width: f64,
    line: f64,
}

/// Width of a bar or line before a name, and the space after it, in points.
const SWATCH: f64 = 17.0;
const GAP: f64 = 3.0;
const BETWEEN: f64 = 8.0;

impl Legend {
    /// A legend over a width; names that are too long for it are shortened.
    pub(crate) fn new(entries: Vec<(Swatch, String)>, width: f64, style: &Style) -> Self {
        let room = width - SWATCH - GAP;
        let entries: Vec<(Swatch, String)> =
            entries.into_iter().map(|(swatch, name)| (swatch, font::shortened(&name, style.font_pt, room))).collect();
        let widest = entries.iter().map(|(_, name)| style.text_width(name)).fold(0.0, f64::max);
        let column_width = SWATCH + GAP + widest + BETWEEN;
        let columns = (((width + BETWEEN) / column_width) as usize).clamp(1, entries.len().max(1));
        Self { entries, columns, column_width, line: style.line() + 1.0 }
    }

    /// Its height in points.
    pub(crate) fn height(&self) -> f64 {
        self.entries.len().div_ceil(self.columns) as f64 * self.line
    }

    /// Draws it with its left upper corner here: down the columns.
    pub(crate) fn draw(&self, drawing: &mut Drawing, x: f64, y: f64, style: &Style) {
        let rows = self.entries.len().div_ceil(self.columns).max(1);
        for (index, (swatch, name)) in self.entries.iter().enumerate() {
            let left = x + (index / rows) as f64 * self.column_width;
            let middle = y + ((index % rows) as f64 + 0.5) * self.line;
            for shape in swatch.shapes(left, middle) {
                drawing.add(shape);
            }
            drawing.text(left + SWATCH + GAP, middle + style.half_capital(), style.font_pt, Anchor::Start, name);
        }
    }
}

impl Swatch {
    fn shapes(self, x: f64, y: f64) -> Vec<Shape> {
        match self {
            Self::Bar(look) => look.bar(Area::new(x + 3.0, y - 3.0, SWATCH - 3.0, 6.0)),
            Self::Line(look) => {
                let line = polyline(&[(x, y), (x + SWATCH, y)], look.stroke(1.0));
                vec![line, look.point((x + SWATCH / 2.0, y), MARKER)]
            }
            Self::Point(look) => vec![look.point((x + SWATCH / 2.0, y), MARKER)],
            Self::Others => vec![polyline(&[(x, y), (x + SWATCH, y)], BEHIND)],
        }
    }
}

/// Size of markers in points.
pub(crate) const MARKER: f64 = 3.4;
