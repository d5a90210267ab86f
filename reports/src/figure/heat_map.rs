//! Heat maps: placer × graph at a glance.

use super::Figure;
use super::axis::{draw_title, wrapped};
use super::drawing::{Anchor, Area, Color, Datum, Drawing, Item, Paint, Shape, Stroke, Text};
use super::font;
use super::look::lightness;
use super::quantity::Quantity;
use super::scale::Scale;
use super::style::{AXIS, EDGE, Style};
use crate::export::{Table, number_text};

/// Rows × columns of numbers, each a cell whose lightness is its value: the darker, the larger. The number stands in the
/// cell where it fits.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatMap {
    /// One line above the figure; may be empty.
    pub title: String,
    /// What the cells are: `makespan / best`.
    pub quantity: Quantity,
    /// What a row is: `placer`.
    pub row: String,
    /// What a column is: `graph`.
    pub column: String,
    /// Names of the rows.
    pub rows: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// By row, then by column.
    pub cells: Vec<Vec<HeatCell>>,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatCell {
    /// Its number; `None` if there is none, which is shown as a struck-out cell.
    pub value: Option<f64>,
    /// Links it with rows: see [`CellKey::mark`](placebench_harness::results::CellKey::mark).
    pub key: String,
}

/// From dark blue over grey to yellow, after cividis: lightness rises all the way, and people who do not see red or green
/// see the same as others (J. R. Nuñez, C. R. Anderton, R. S. Renslow, *Optimizing colormaps with consideration for color vision deficiency*,
/// PLoS ONE 13(7), 2018). The dark end is the largest value.
const COLORS: [(u8, u8, u8); 9] = [
    (0x00, 0x22, 0x4e),
    (0x12, 0x35, 0x70),
    (0x3b, 0x49, 0x6c),
    (0x57, 0x5d, 0x6d),
    (0x70, 0x71, 0x73),
    (0x8a, 0x86, 0x78),
    (0xa5, 0x9c, 0x74),
    (0xc3, 0xb3, 0x69),
    (0xfe, 0xe8, 0x38),
];

impl Figure for HeatMap {
    fn table(&self) -> Table {
        let mut table = Table::new([self.row.clone(), self.column.clone(), self.quantity.column()]);
        for (row, cells) in self.rows.iter().zip(&self.cells) {
            for (column, cell) in self.columns.iter().zip(cells) {
                table.push([row.clone(), column.clone(), cell.value.map_or_else(String::new, number_text)]);
            }
        }
        table
    }

    fn draw(&self, style: &Style) -> Drawing {
        let mut drawing = Drawing::new(style.width(), style.theme, self.title.clone(), self.table());
        let top = draw_title(&mut drawing, &self.title, style);
        let names: Vec<String> =
            self.rows.iter().map(|name| font::shortened(name, style.font_pt, drawing.width * 0.42)).collect();
        let left = names.iter().map(|name| style.text_width(name)).fold(0.0, f64::max) + 4.0;
        let room = drawing.width - left - 1.0;
        let widest = self.columns.iter().map(|name| style.text_width(name)).fold(0.0, f64::max);
        let width = (room / self.columns.len().max(1) as f64).min((widest + 4.0).clamp(60.0, 110.0));
        let height = style.line() + 1.6;
        let top = self.draw_columns(&mut drawing, left, top, width, style);
        let scale = self.scale();
        for (index, (name, cells)) in names.iter().zip(&self.cells).enumerate() {
            let y = top + index as f64 * height;
            let baseline = y + height / 2.0 + style.half_capital();
            drawing.text(left - 3.0, baseline, style.font_pt, Anchor::End, name);
            for (column, cell) in cells.iter().enumerate() {
                let area = Area::new(left + column as f64 * width, y, width, height);
                let item = self.cell(index, column, cell, area, &scale, style);
                drawing.items.push(item);
            }
        }
        let bottom = top + self.rows.len() as f64 * height;
        drawing.height = self.draw_key(&mut drawing, left, bottom + 6.0, &scale, style) + 1.0;
        drawing
    }
}

impl HeatMap {
    fn scale(&self) -> Scale {
        let values: Vec<f64> = self.cells.iter().flatten().filter_map(|cell| cell.value).collect();
        let (low, high) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| (value.min(low), value.max(high)));
        if low > 0.0 && high > 3.0 * low {
            Scale::Log { low, high }
        } else if high > low {
            Scale::Linear { low, high }
        } else {
            let low = if low.is_finite() { low } else { 0.0 };
            Scale::Linear { low, high: low + 1.0 }
        }
    }

    /// Draws the columns' names, upwards where they do not fit across; returns where the cells begin.
    fn draw_columns(&self, drawing: &mut Drawing, left: f64, top: f64, width: f64, style: &Style) -> f64 {
        let widest = self.columns.iter().map(|name| style.text_width(name)).fold(0.0, f64::max);
        let across = widest <= width - 3.0;
        let names: Vec<String> =
            self.columns.iter().map(|name| font::shortened(name, style.font_pt, widest.min(140.0))).collect();
        let height = if across { style.line() } else { widest.min(140.0) };
        // Columns narrower than a line of text: only every second, third, … has room for its name.
        let every = (style.line() / width).ceil().max(1.0) as usize;
        for (index, name) in names.iter().enumerate() {
            let x = left + (index as f64 + 0.5) * width;
            if across {
                drawing.text(x, top + height - 2.0, style.font_pt, Anchor::Middle, name);
            } else if index % every == 0 {
                drawing.text_upwards(x + style.half_capital(), top + height, style.font_pt, Anchor::Start, name);
            }
        }
        top + height + 2.0
    }

    fn cell(&self, row: usize, column: usize, cell: &HeatCell, area: Area, scale: &Scale, style: &Style) -> Item {
        let edge = Some(Stroke::solid(Paint::PAPER, 0.4));
        let name = format!("{}, {}", self.rows[row], self.columns[column]);
        let Some(value) = cell.value else {
            let strike = super::drawing::line((area.x, area.bottom()), (area.right(), area.y), EDGE);
            let inside = Shape::Rect { area, fill: Some(Paint::ink(0.06)), stroke: edge };
            let datum = Datum { key: cell.key.clone(), title: format!("{name}: no result") };
            return Item { datum: Some(datum), shapes: vec![inside, strike] };
        };
        let color = color_at(scale.position(value));
        let (red, green, blue) = color;
        let fill = Paint::opaque(Color::Rgb(red, green, blue));
        let mut shapes = vec![Shape::Rect { area, fill: Some(fill), stroke: edge }];
        let text = short_number(value);
        if style.text_width(&text) <= area.width - 2.0 {
            let letters =
                if lightness(color) > 55.0 { Color::Rgb(0x1a, 0x1a, 0x1a) } else { Color::Rgb(0xff, 0xff, 0xff) };
            shapes.push(Shape::Text(Text {
                x: area.x + area.width / 2.0,
                y: area.y + area.height / 2.0 + style.half_capital(),
                text,
                size: style.font_pt,
                anchor: Anchor::Middle,
                upwards: false,
                paint: Paint::opaque(letters),
            }));
        }
        let datum = Datum { key: cell.key.clone(), title: format!("{name}: {}", self.quantity.unit.text(value)) };
        Item { datum: Some(datum), shapes }
    }

    /// Draws which colour is which number; returns where it ends.
    fn draw_key(&self, drawing: &mut Drawing, left: f64, top: f64, scale: &Scale, style: &Style) -> f64 {
        let (Scale::Linear { low, high } | Scale::Log { low, high }) = *scale;
        let (steps, width, height) = (60, 110.0f64.min(drawing.width - left - 40.0).max(30.0), 6.0);
        let [from, to] = [low, high].map(short_number);
        let x = left + style.text_width(&from) + 3.0;
        let baseline = top + height / 2.0 + style.half_capital();
        drawing.text(left, baseline, style.font_pt, Anchor::Start, from);
        for step in 0..steps {
            let share = step as f64 / (steps - 1) as f64;
            let (red, green, blue) = color_at(share);
            // A little wider than its share, so that no gap shows between two.
            let area = Area::new(
                x + share * width * (steps - 1) as f64 / steps as f64,
                top,
                width / steps as f64 + 0.3,
                height,
            );
            drawing.add(Shape::Rect { area, fill: Some(Paint::opaque(Color::Rgb(red, green, blue))), stroke: None });
        }
        drawing.add(Shape::Rect { area: Area::new(x, top, width, height), fill: None, stroke: Some(AXIS) });
        drawing.text(x + width + 3.0, baseline, style.font_pt, Anchor::Start, to);
        let log = if scale.is_log() { ", log scale" } else { "" };
        let text = format!("{}{log}; struck out: no result", self.quantity.name);
        let lines = wrapped(&text, drawing.width - left, style.font_pt);
        for (index, line) in lines.iter().enumerate() {
            drawing.text(left, baseline + (index + 1) as f64 * style.line() + 1.0, style.font_pt, Anchor::Start, line);
        }
        baseline + lines.len() as f64 * style.line() + 3.0
    }
}

/// The colour at a position from 0 (light) to 1 (dark).
fn color_at(position: f64) -> (u8, u8, u8) {
    let place = (1.0 - position.clamp(0.0, 1.0)) * (COLORS.len() - 1) as f64;
    let below = (place.floor() as usize).min(COLORS.len() - 2);
    let share = place - below as f64;
    let (from, to) = (COLORS[below], COLORS[below + 1]);
    let mix = |from: u8, to: u8| (f64::from(from) + share * (f64::from(to) - f64::from(from))).round() as u8;
    (mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

/// A number in as few digits as a narrow cell takes: three significant ones.
fn short_number(value: f64) -> String {
    let decimals = match value.abs() {
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        _ => 2,
    };
    if value.abs() >= 1e5 || value != 0.0 && value.abs() < 0.005 {
        return format!("{value:.1e}");
    }
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn larger_values_are_darker() {
        let shades: Vec<f64> = (0..=50).map(|step| lightness(color_at(f64::from(step) / 50.0))).collect();
        assert!(shades.windows(2).all(|pair| pair[0] >= pair[1]), "{shades:?}");
        assert!(shades[0] - shades[50] > 60.0);
    }

    #[test]
    fn numbers_in_cells_have_three_digits() {
        for (value, text) in [(1.0, "1.00"), (12.345, "12.3"), (123.4, "123"), (1_234_567.0, "1.2e6"), (0.0, "0.00")] {
            assert_eq!(short_number(value), text);
        }
    }
}
