//! Heat maps: placer × graph at a glance.

use super::Figure;
use super::axis::{draw_title, wrapped};
use super::drawing::{Anchor, Area, Color, Datum, Drawing, Item, Paint, Shape, Stroke, Text};
use super::font;
use super::quantity::Quantity;
use super::style::{AXIS, EDGE, Style};
use crate::export::{TextTable, number_text};

/// Rows × columns of ratios: to the best, from 1, or of what may be better or worse than something else, around 1. Cells of 1 are as pale
/// as the page, the worse ones the louder, and better ones have another colour. The number stands in the cell where it fits.
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
    /// The mean of each row, by which rows are read: a last column, set apart.
    pub means: Option<Vec<HeatCell>>,
    /// Whether ratios may be below 1, which is better.
    pub is_two_sided: bool,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub struct HeatCell {
    /// Its ratio; `None` if there is none, which is shown as a struck-out cell.
    pub value: Option<f64>,
    /// Links it with rows: see [`CellKey::mark`](placebench_harness::results::CellKey::mark).
    pub key: String,
}

/// What the column of means is called.
const MEAN: &str = "mean";
/// How far it is from the others.
const GAP: f64 = 3.0;
/// From this many times the best on, a colour is as loud as it gets; a factor, not a difference, is a step. The summary of a
/// report has the same colours (`LOUDEST` in `sections.js`).
const LOUDEST: f64 = 8.0;
/// The same where ratios may be below 1.
const LOUDEST_OF_TWO_SIDES: f64 = 4.0;
/// The opacity of the loudest cell: its number can still be read.
const MOST_OPAQUE: f64 = 0.85;
const EDGE_OF_CELL: Stroke = Stroke::solid(Paint::ink(0.14), 0.3);

impl Figure for HeatMap {
    fn table(&self) -> TextTable {
        let mut table = TextTable::new([self.row.clone(), self.column.clone(), self.quantity.column()]);
        let columns: Vec<&str> = self.all_columns().collect();
        for (row, name) in self.rows.iter().enumerate() {
            for (column, cell) in columns.iter().zip(self.all_cells(row)) {
                table.push([name, *column, &cell.value.map_or_else(String::new, number_text)]);
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
        let room = drawing.width - left - 1.0 - if self.means.is_some() { GAP } else { 0.0 };
        let widest = self.all_columns().map(|name| style.text_width(name)).fold(0.0, f64::max);
        let width = (room / self.all_columns().count().max(1) as f64).min((widest + 4.0).max(110.0));
        let height = style.line() + 1.6;
        let top = self.draw_columns(&mut drawing, left, top, width, style);
        let columns: Vec<&str> = self.all_columns().collect();
        for (index, name) in names.iter().enumerate() {
            let y = top + index as f64 * height;
            let baseline = y + height / 2.0 + style.half_capital();
            drawing.text(left - 3.0, baseline, style.font_pt, Anchor::End, name);
            for (column, cell) in self.all_cells(index).enumerate() {
                let area = Area::new(self.x(column, left, width), y, width, height);
                let item = self.cell(&format!("{}, {}", self.rows[index], columns[column]), cell, area, style);
                drawing.items.push(item);
            }
        }
        let bottom = top + self.rows.len() as f64 * height;
        drawing.height = self.draw_key(&mut drawing, left, bottom + 6.0, style) + 1.0;
        drawing
    }
}

impl HeatMap {
    /// Names of the columns, that of the means behind the others.
    fn all_columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(String::as_str).chain(self.means.iter().map(|_| MEAN))
    }

    /// The cells of a row, its mean behind the others.
    fn all_cells(&self, row: usize) -> impl Iterator<Item = &HeatCell> {
        self.cells[row].iter().chain(self.means.iter().map(move |means| &means[row]))
    }

    /// Where a column begins.
    fn x(&self, column: usize, left: f64, width: f64) -> f64 {
        left + column as f64 * width + if column == self.columns.len() { GAP } else { 0.0 }
    }

    /// Draws the columns' names, upwards where they do not fit across; returns where the cells begin.
    fn draw_columns(&self, drawing: &mut Drawing, left: f64, top: f64, width: f64, style: &Style) -> f64 {
        let widest = self.all_columns().map(|name| style.text_width(name)).fold(0.0, f64::max);
        let across = widest <= width - 3.0;
        let names: Vec<String> =
            self.all_columns().map(|name| font::shortened(name, style.font_pt, widest.min(140.0))).collect();
        let height = if across { style.line() } else { widest.min(140.0) };
        // Columns narrower than a line of text: only every second, third, … has room for its name.
        let every = (style.line() / width).ceil().max(1.0) as usize;
        for (index, name) in names.iter().enumerate() {
            let x = self.x(index, left, width) + 0.5 * width;
            if across {
                drawing.text(x, top + height - 2.0, style.font_pt, Anchor::Middle, name);
            } else if index % every == 0 || index == self.columns.len() {
                drawing.text_upwards(x + style.half_capital(), top + height, style.font_pt, Anchor::Start, name);
            }
        }
        top + height + 2.0
    }

    fn cell(&self, name: &str, cell: &HeatCell, area: Area, style: &Style) -> Item {
        let edge = Some(EDGE_OF_CELL);
        let Some(value) = cell.value else {
            let strike = super::drawing::line((area.x, area.bottom()), (area.right(), area.y), EDGE);
            let inside = Shape::Rect { area, fill: Some(Paint::ink(0.06)), stroke: edge };
            let datum = Datum { key: cell.key.clone(), title: format!("{name}: no result") };
            return Item { datum: Some(datum), shapes: vec![inside, strike] };
        };
        let mut shapes = vec![Shape::Rect { area, fill: Some(self.paint(value)), stroke: edge }];
        let text = short_number(value);
        if style.text_width(&text) <= area.width - 2.0 {
            shapes.push(Shape::Text(Text {
                x: area.x + area.width / 2.0,
                y: area.y + area.height / 2.0 + style.half_capital(),
                text,
                size: style.font_pt,
                anchor: Anchor::Middle,
                upwards: false,
                paint: Paint::INK,
            }));
        }
        let datum = Datum { key: cell.key.clone(), title: format!("{name}: {}", self.quantity.unit.text(value)) };
        Item { datum: Some(datum), shapes }
    }

    fn loudest(&self) -> f64 {
        if self.is_two_sided { LOUDEST_OF_TWO_SIDES } else { LOUDEST }
    }

    /// The paint of a ratio.
    fn paint(&self, ratio: f64) -> Paint {
        let share = (ratio.ln() / self.loudest().ln()).clamp(if self.is_two_sided { -1.0 } else { 0.0 }, 1.0);
        let color = if share < 0.0 { Color::Calm } else { Color::Loud };
        Paint { color, opacity: share.abs() * MOST_OPAQUE }
    }

    /// Draws which colour is which number; returns where it ends.
    fn draw_key(&self, drawing: &mut Drawing, left: f64, top: f64, style: &Style) -> f64 {
        let (steps, width, height) = (60, 110.0f64.min(drawing.width - left - 60.0).max(30.0), 6.0);
        let loudest = self.loudest();
        let (least, from) = match self.is_two_sided {
            true => (1.0 / loudest, format!("≤ {}", 1.0 / loudest)),
            false => (1.0, "1".to_owned()),
        };
        let x = left + style.text_width(&from) + 3.0;
        let baseline = top + height / 2.0 + style.half_capital();
        drawing.text(left, baseline, style.font_pt, Anchor::Start, from);
        for step in 0..steps {
            let share = step as f64 / (steps - 1) as f64;
            let area = Area::new(x + step as f64 / steps as f64 * width, top, width / steps as f64, height);
            drawing.add(Shape::Rect {
                area,
                fill: Some(self.paint(least * (loudest / least).powf(share))),
                stroke: None,
            });
        }
        drawing.add(Shape::Rect { area: Area::new(x, top, width, height), fill: None, stroke: Some(AXIS) });
        drawing.text(x + width + 3.0, baseline, style.font_pt, Anchor::Start, format!("≥ {loudest}"));
        let better = if self.is_two_sided { "below 1 is better; " } else { "" };
        let text = format!("{}, log scale; {better}struck out: no result", self.quantity.name);
        let lines = wrapped(&text, drawing.width - left, style.font_pt);
        for (index, line) in lines.iter().enumerate() {
            drawing.text(left, baseline + (index + 1) as f64 * style.line() + 1.0, style.font_pt, Anchor::Start, line);
        }
        baseline + lines.len() as f64 * style.line() + 3.0
    }
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
    use crate::figure::look::lightness;
    use crate::figure::svg::rgb;
    use crate::figure::{Theme, Unit};

    /// Relative luminance (WCAG 2), from 0 to 1.
    fn luminance(color: (u8, u8, u8)) -> f64 {
        let lightness = lightness(color);
        if lightness > 8.0 { ((lightness + 16.0) / 116.0).powi(3) } else { lightness / 903.3 }
    }

    #[test]
    fn a_ratio_of_one_is_as_the_page_and_others_the_louder_but_their_numbers_can_be_read() {
        let map = |is_two_sided| HeatMap {
            title: String::new(),
            quantity: Quantity::new("ratio", Unit::One),
            row: "row".into(),
            column: "column".into(),
            rows: Vec::new(),
            columns: Vec::new(),
            cells: Vec::new(),
            means: None,
            is_two_sided,
        };
        for theme in [Theme::Light, Theme::Dark] {
            let [ink, paper] = [Color::Ink, Color::Paper].map(|color| rgb(color, theme));
            let on_page = |ratio: f64| {
                let Paint { color, opacity } = map(true).paint(ratio);
                let own = rgb(color, theme);
                let mix = |a: u8, b: u8| (f64::from(a) * opacity + f64::from(b) * (1.0 - opacity)).round() as u8;
                (mix(own.0, paper.0), mix(own.1, paper.1), mix(own.2, paper.2))
            };
            assert_eq!(on_page(1.0), paper);
            for ratios in [[1.0, 1.3, 2.0, 3.0, 4.0], [1.0, 0.7, 0.5, 0.3, 0.25]] {
                let loudest = on_page(ratios[4]);
                assert_eq!(loudest, on_page(ratios[4].powi(2)));
                let far = |(r, g, b): (u8, u8, u8)| {
                    u32::from(r.abs_diff(paper.0)) + u32::from(g.abs_diff(paper.1)) + u32::from(b.abs_diff(paper.2))
                };
                let distances: Vec<u32> = ratios.map(|ratio| far(on_page(ratio))).to_vec();
                assert!(distances.windows(2).all(|pair| pair[0] < pair[1]), "{distances:?}");
                let (one, other) = (luminance(ink), luminance(loudest));
                assert!((one.max(other) + 0.05) / (one.min(other) + 0.05) > 4.5, "{theme:?}, {ratios:?}");
            }
            assert_ne!(map(true).paint(0.5).color, map(true).paint(2.0).color);
            assert_eq!(map(false).paint(0.5), map(false).paint(1.0));
        }
    }

    #[test]
    fn numbers_in_cells_have_three_digits() {
        for (value, text) in [(1.0, "1.00"), (12.345, "12.3"), (123.4, "123"), (1_234_567.0, "1.2e6"), (0.0, "0.00")] {
            assert_eq!(short_number(value), text);
        }
    }
}
