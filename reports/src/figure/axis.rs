//! Axes around a plot: ticks whose labels do not touch, grid lines, the name of the quantity.

use super::drawing::{Anchor, Area, Drawing};
use super::font;
use super::quantity::Quantity;
use super::scale::{Scale, Tick};
use super::style::{AXIS, GRID, Style};

/// A scale laid out along a length: its ticks fit.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) scale: Scale,
    ticks: Vec<Tick>,
    label: String,
}

/// Between a tick's label and the axis, in points.
const PAD: f64 = 3.0;
/// Between the labels of the axis below and the plot: the lowest label at the left reaches below the plot too.
const PAD_BELOW: f64 = 4.4;
/// How far the name of an axis may reach to the left of a narrow plot: less than the least room for labels there.
const REACH: f64 = 16.0;

impl Axis {
    /// An axis below a plot of this width.
    pub(crate) fn below(scale: Scale, quantity: &Quantity, width: f64, style: &Style) -> Self {
        Self::fitting(scale, quantity, width, |label| style.text_width(label) + style.font_pt * 0.7)
    }

    /// An axis at the left of a plot of this height.
    pub(crate) fn left(scale: Scale, quantity: &Quantity, height: f64, style: &Style) -> Self {
        Self::fitting(scale, quantity, height, |_| style.line() * 1.3)
    }

    /// The most ticks whose labels, of these lengths along the axis, keep apart.
    fn fitting(scale: Scale, quantity: &Quantity, length: f64, extent: impl Fn(&str) -> f64) -> Self {
        let apart = |ticks: &[Tick]| {
            let labelled: Vec<&Tick> = ticks.iter().filter(|tick| !tick.label.is_empty()).collect();
            labelled.windows(2).all(|pair| {
                let distance = (scale.position(pair[1].value) - scale.position(pair[0].value)) * length;
                distance >= (extent(&pair[0].label) + extent(&pair[1].label)) / 2.0
            })
        };
        for most in (2..=9).rev() {
            let (ticks, label) = scale.ticks(quantity, most);
            if apart(&ticks) {
                return Self { scale, ticks, label };
            }
        }
        // No choice fits: labels that would touch the one before them are left out.
        let (mut ticks, label) = scale.ticks(quantity, 2);
        let mut free = f64::NEG_INFINITY;
        for tick in ticks.iter_mut().filter(|tick| !tick.label.is_empty()) {
            let (middle, half) = (scale.position(tick.value) * length, extent(&tick.label) / 2.0);
            if middle - half < free {
                tick.label.clear();
            } else {
                free = middle + half;
            }
        }
        Self { scale, ticks, label }
    }

    /// Room that the axis needs at the left of the plot: ticks' labels and the name, which reads upwards.
    pub(crate) fn left_room(&self, style: &Style, named: bool) -> f64 {
        let widest = self.ticks.iter().map(|tick| style.text_width(&tick.label)).fold(0.0, f64::max);
        widest + PAD + if named { style.line() + 2.0 } else { 0.0 }
    }

    /// Room below the plot: ticks' labels and the name.
    pub(crate) fn below_room(&self, style: &Style, named: bool) -> f64 {
        PAD_BELOW + style.line() * if named { 2.1 } else { 1.0 }
    }

    /// How far the last label reaches beyond the right end of the plot.
    pub(crate) fn right_room(&self, width: f64, style: &Style) -> f64 {
        let reach = self
            .ticks
            .iter()
            .map(|tick| style.text_width(&tick.label) / 2.0 - (1.0 - self.scale.position(tick.value)) * width);
        reach.fold(1.0, f64::max)
    }

    /// The labelled ticks: value and label.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (f64, &str)> {
        self.ticks.iter().filter(|tick| !tick.label.is_empty()).map(|tick| (tick.value, tick.label.as_str()))
    }

    /// The vertical coordinate of a value: larger values are higher.
    pub(crate) fn y(&self, value: f64, area: &Area) -> f64 {
        area.bottom() - self.scale.position(value) * area.height
    }

    /// The horizontal coordinate of a value.
    pub(crate) fn x(&self, value: f64, area: &Area) -> f64 {
        area.x + self.scale.position(value) * area.width
    }

    /// Draws the axis at the left of the plot, with lines across it at labelled ticks.
    pub(crate) fn draw_left(&self, drawing: &mut Drawing, area: &Area, style: &Style, labelled: bool, named: bool) {
        for tick in &self.ticks {
            let y = self.y(tick.value, area);
            let length = if tick.label.is_empty() { 1.2 } else { 2.2 };
            if !tick.label.is_empty() {
                drawing.line((area.x, y), (area.right(), y), GRID);
            }
            drawing.line((area.x - length, y), (area.x, y), AXIS);
            if labelled && !tick.label.is_empty() {
                drawing.text(area.x - PAD, y + style.half_capital(), style.font_pt, Anchor::End, &tick.label);
            }
        }
        drawing.line((area.x, area.y), (area.x, area.bottom()), AXIS);
        if named {
            let x = area.x - self.left_room(style, false) - 3.0;
            let label = font::shortened(&self.label, style.font_pt, area.height.max(60.0));
            drawing.text_upwards(x, area.y + area.height / 2.0, style.font_pt, Anchor::Middle, label);
        }
    }

    /// Draws the axis below the plot, with lines across it at labelled ticks.
    pub(crate) fn draw_below(&self, drawing: &mut Drawing, area: &Area, style: &Style, named: bool) {
        for tick in &self.ticks {
            let x = self.x(tick.value, area);
            let length = if tick.label.is_empty() { 1.2 } else { 2.2 };
            if !tick.label.is_empty() {
                drawing.line((x, area.y), (x, area.bottom()), GRID);
            }
            drawing.line((x, area.bottom()), (x, area.bottom() + length), AXIS);
            if !tick.label.is_empty() {
                let y = area.bottom() + PAD_BELOW + font::CAPITAL * style.font_pt;
                drawing.text(x, y, style.font_pt, Anchor::Middle, &tick.label);
            }
        }
        drawing.line((area.x, area.bottom()), (area.right(), area.bottom()), AXIS);
        if named {
            let y = area.bottom() + PAD_BELOW + style.line() + font::CAPITAL * style.font_pt;
            // What is too long for the plot reaches below the labels at its left.
            if style.text_width(&self.label) > area.width {
                let label = font::shortened(&self.label, style.font_pt, area.width + REACH);
                drawing.text(area.right(), y, style.font_pt, Anchor::End, label);
            } else {
                drawing.text(area.x + area.width / 2.0, y, style.font_pt, Anchor::Middle, &self.label);
            }
        }
    }
}

/// Draws the title over the width of the drawing, in as many lines as it needs; returns where the figure goes on below it.
pub(crate) fn draw_title(drawing: &mut Drawing, title: &str, style: &Style) -> f64 {
    let lines = if style.titled { wrapped(title, drawing.width, style.font_pt) } else { Vec::new() };
    for (index, line) in lines.iter().enumerate() {
        let y = font::CAPITAL * style.font_pt + 0.5 + index as f64 * style.line();
        drawing.text(0.0, y, style.font_pt, Anchor::Start, line);
    }
    if lines.is_empty() { 2.0 } else { lines.len() as f64 * style.line() + 3.5 }
}

/// Draws a note from `top` on over the width of the drawing, in as many lines as it needs; returns where the figure goes on
/// below it.
pub(crate) fn draw_note(drawing: &mut Drawing, top: f64, note: &str, style: &Style) -> f64 {
    let lines = wrapped(note, drawing.width, style.font_pt);
    for (index, line) in lines.iter().enumerate() {
        let y = top + font::CAPITAL * style.font_pt + index as f64 * style.line();
        drawing.text(0.0, y, style.font_pt, Anchor::Start, line);
    }
    top + lines.len() as f64 * style.line()
}

/// A text in lines no wider than `width`; a word that is wider is shortened. No line ends at a no-break space (U+00A0).
pub(crate) fn wrapped(text: &str, width: f64, size: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_ascii_whitespace() {
        let word = font::shortened(&word.replace('\u{a0}', " "), size, width);
        match lines.last_mut() {
            Some(line) if font::width(&format!("{line} {word}"), size) <= width => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}
