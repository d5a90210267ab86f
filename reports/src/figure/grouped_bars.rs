//! Grouped bars with error bars (L Fig. 7.1–7.8, B Fig. 5.25).

use super::Figure;
use super::axis::{Axis, draw_note, draw_title};
use super::drawing::{Anchor, Area, Datum, Drawing, Paint, Shape, Stroke, line};
use super::estimate::Estimate;
use super::font;
use super::legend::{Legend, Swatch};
use super::look::Look;
use super::marker::Marker;
use super::quantity::Quantity;
use super::scale::Scale;
use super::style::{AXIS, EDGE, Style, WHISKER};
use crate::export::{TextTable, number_text};

/// One bar a group and series: algorithms under schedulers, say. With one series, each bar has the look of its group.
///
/// Bars stand upright where their names fit, and lie otherwise. Where the largest value is more than a hundred times the
/// least, the axis is logarithmic, and says so.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupedBars {
    /// One line above the figure; may be empty.
    pub title: String,
    /// What the length of a bar is.
    pub quantity: Quantity,
    /// What a group is: `placer`.
    pub group: String,
    /// What a series is: `scheduler`.
    pub one_series: String,
    /// The groups' names, in order.
    pub groups: Vec<String>,
    /// The series' names, in order.
    pub series: Vec<String>,
    /// By group, then by series; `None` where nothing was measured and nothing failed.
    pub bars: Vec<Vec<Option<Bar>>>,
}

/// A bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Its length and error bar; `None` if the algorithm failed, which is shown as a cross.
    pub value: Option<Estimate>,
    /// Links it with rows: see [`CellKey::mark`](placebench_harness::results::CellKey::mark).
    pub key: String,
}

/// Values further apart than this get a logarithmic axis.
const LINEAR_UP_TO: f64 = 100.0;
/// What is around error bars.
const RIM: Stroke = Stroke::solid(Paint { opacity: 0.75, ..Paint::PAPER }, 1.7);
/// The thinnest bar, in points, that still shows its hatch.
const THINNEST: f64 = 3.0;

impl Figure for GroupedBars {
    fn table(&self) -> TextTable {
        let quantity = self.quantity.column();
        let header = [&*self.group, &*self.one_series, &quantity, "standard_deviation", "count"];
        let mut table = TextTable::new(header);
        for (group, series, bar) in self.listed() {
            let value = bar.value;
            table.push([
                group.to_owned(),
                series.to_owned(),
                value.map_or_else(String::new, |value| number_text(value.mean)),
                value.map_or_else(String::new, |value| value.deviation_text()),
                value.map_or(0, |value| value.count).to_string(),
            ]);
        }
        table
    }

    fn draw(&self, style: &Style) -> Drawing {
        self.draw_on(self.scale(style), None, style)
    }
}

impl GroupedBars {
    /// Draws it on a scale, with a name for what groups are, if it is not plain from their names.
    pub(super) fn draw_on(&self, scale: Scale, name: Option<&str>, style: &Style) -> Drawing {
        let mut drawing = Drawing::new(style.width(), style.theme, self.title.clone(), self.table());
        let top = draw_title(&mut drawing, &self.title, style);
        let legend = self.legend(&drawing, style);
        let top = match &legend {
            Some(legend) => {
                legend.draw(&mut drawing, 0.0, top, style);
                top + legend.height() + 4.0
            }
            None => top + style.half_capital(),
        };
        if !self.draw_upright(&mut drawing, top, scale, style) {
            self.draw_lying(&mut drawing, top, scale, style);
        } else if let Some(name) = name {
            let (x, y) = (drawing.width / 2.0, drawing.height + font::CAPITAL * style.font_pt);
            drawing.text(x, y, style.font_pt, Anchor::Middle, name);
            drawing.height += style.line() + 1.0;
        }
        if self.listed().any(|(.., bar)| bar.value.is_none()) {
            let top = drawing.height + 2.0;
            drawing.height = draw_note(&mut drawing, top, "× failed", style) + 2.0;
        }
        drawing
    }

    fn listed(&self) -> impl Iterator<Item = (&str, &str, &Bar)> {
        self.groups.iter().zip(&self.bars).flat_map(|(group, bars)| {
            let pairs = self.series.iter().zip(bars);
            pairs.filter_map(move |(series, bar)| Some((group.as_str(), series.as_str(), bar.as_ref()?)))
        })
    }

    /// The most bars that a group has.
    fn most_bars(&self) -> f64 {
        self.bars.iter().map(|bars| bars.iter().flatten().count()).max().unwrap_or(1).max(1) as f64
    }

    /// Where a bar begins relative to the middle of its group, in bars: those that a group has stand side by side.
    fn offset(&self, group: usize, series: usize) -> f64 {
        let bars = &self.bars[group];
        let before = bars[..series].iter().flatten().count() as f64;
        before - bars.iter().flatten().count() as f64 / 2.0
    }

    fn legend(&self, drawing: &Drawing, style: &Style) -> Option<Legend> {
        if self.series.len() < 2 {
            return None;
        }
        let looks = Look::of(&self.series);
        let entries = self.series.iter().zip(looks).map(|(name, look)| (Swatch::Bar(look), name.clone())).collect();
        Some(Legend::new(entries, drawing.width, style))
    }

    fn scale(&self, style: &Style) -> Scale {
        let values = || self.listed().filter_map(|(_, _, bar)| bar.value);
        let ends = || values().flat_map(|value| [value.mean, value.high]);
        let least = values().map(|value| value.mean).filter(|&mean| mean > 0.0).fold(f64::INFINITY, f64::min);
        let most = values().map(|value| value.mean).fold(0.0, f64::max);
        let log = style.scale.is_log(most > LINEAR_UP_TO * least).then(|| Scale::log_decades(ends())).flatten();
        log.unwrap_or_else(|| Scale::linear(ends(), true))
    }

    /// The look of each bar of a group.
    fn looks(&self) -> Vec<Vec<Look>> {
        if self.series.len() < 2 {
            return Look::of(&self.groups).into_iter().map(|look| vec![look]).collect();
        }
        vec![Look::of(&self.series); self.groups.len()]
    }

    /// Draws upright bars if names and bars fit; says whether.
    fn draw_upright(&self, drawing: &mut Drawing, top: f64, scale: Scale, style: &Style) -> bool {
        let height = (drawing.width * 0.34).clamp(100.0, 150.0);
        let axis = Axis::left(scale, &self.quantity, height, style);
        let left = axis.left_room(style, true);
        let area = Area::new(left, top, drawing.width - left - 1.0, height);
        let pitch = area.width / self.groups.len().max(1) as f64;
        let thickness = pitch * 0.82 / self.most_bars();
        let widest = self.groups.iter().map(|name| style.text_width(name)).fold(0.0, f64::max);
        let across = widest <= pitch - 3.0;
        if thickness < THINNEST || !across && (pitch < style.line() || widest > height * 0.8) {
            return false;
        }
        axis.draw_left(drawing, &area, style, true, true);
        drawing.line((area.x, area.bottom()), (area.right(), area.bottom()), AXIS);
        for (index, name) in self.groups.iter().enumerate() {
            let x = area.x + (index as f64 + 0.5) * pitch;
            if across {
                let y = area.bottom() + 3.0 + font::CAPITAL * style.font_pt;
                drawing.text(x, y, style.font_pt, Anchor::Middle, name);
            } else {
                let (x, y) = (x + style.half_capital(), area.bottom() + 3.0);
                drawing.text_upwards(x, y, style.font_pt, Anchor::End, name);
            }
        }
        let at = |group: usize, series: usize, from: f64, to: f64| {
            let x = area.x + (group as f64 + 0.5) * pitch + self.offset(group, series) * thickness;
            let (y1, y2) = (axis.y(from, &area), axis.y(to, &area));
            (Area::new(x, y2.min(y1), thickness, (y1 - y2).abs()), false)
        };
        self.draw_bars(drawing, axis.scale, at);
        drawing.height = area.bottom() + 3.0 + if across { style.line() } else { widest } + 2.0;
        true
    }

    fn draw_lying(&self, drawing: &mut Drawing, top: f64, scale: Scale, style: &Style) {
        let names: Vec<String> =
            self.groups.iter().map(|name| font::shortened(name, style.font_pt, drawing.width * 0.42)).collect();
        let widest = names.iter().map(|name| style.text_width(name)).fold(0.0, f64::max);
        let thickness = match self.most_bars() as usize {
            1 => 6.0,
            2 => 3.4,
            _ => 2.7,
        };
        let pitch = (self.most_bars() * thickness * 1.22).max(style.line() + 0.6);
        let left = widest + 4.0;
        let width = drawing.width - left;
        let draft = Axis::below(scale, &self.quantity, width, style);
        let area = Area::new(left, top, width - draft.right_room(width, style), pitch * self.groups.len() as f64);
        let axis = Axis::below(scale, &self.quantity, area.width, style);
        axis.draw_below(drawing, &area, style, true);
        drawing.line((area.x, area.y), (area.x, area.bottom()), AXIS);
        for (index, name) in names.iter().enumerate() {
            let y = area.y + (index as f64 + 0.5) * pitch + style.half_capital();
            drawing.text(area.x - 3.0, y, style.font_pt, Anchor::End, name);
        }
        let at = |group: usize, series: usize, from: f64, to: f64| {
            let y = area.y + (group as f64 + 0.5) * pitch + self.offset(group, series) * thickness;
            let (x1, x2) = (axis.x(from, &area), axis.x(to, &area));
            (Area::new(x1.min(x2), y, (x2 - x1).abs(), thickness), true)
        };
        self.draw_bars(drawing, axis.scale, at);
        drawing.height = area.bottom() + axis.below_room(style, true) + 1.0;
    }

    /// Draws the bars; `at` gives the place of the bar of a group and series between two values, and whether it lies.
    fn draw_bars(&self, drawing: &mut Drawing, scale: Scale, at: impl Fn(usize, usize, f64, f64) -> (Area, bool)) {
        let base = match scale {
            Scale::Linear { low, .. } => low.max(0.0),
            Scale::Log { low, .. } => low,
        };
        let looks = self.looks();
        for (group, bars) in self.bars.iter().enumerate() {
            for (series, bar) in bars.iter().enumerate() {
                let Some(bar) = bar else { continue };
                let Some(value) = bar.value else {
                    let (place, lying) = at(group, series, base, base);
                    drawing.mark(self.datum(group, series, bar), vec![cross(&place, lying)]);
                    continue;
                };
                let (place, _) = at(group, series, base, value.mean);
                let mut shapes = looks[group][series].bar(place);
                if value.has_spread() {
                    let (span, lying) = at(group, series, value.low.max(base), value.high);
                    let ends = [value.low, value.high].map(|end| scale.contains(end));
                    shapes.extend(whisker(&span, lying, ends));
                }
                drawing.mark(self.datum(group, series, bar), shapes);
            }
        }
    }

    fn datum(&self, group: usize, series: usize, bar: &Bar) -> Datum {
        let name = match self.series.len() {
            0 | 1 => self.groups[group].clone(),
            _ => format!("{}, {}", self.groups[group], self.series[series]),
        };
        let unit = &self.quantity.unit;
        let value = bar.value.map_or_else(
            || "failed".to_owned(),
            |value| match value.count {
                1 => unit.text(value.mean),
                count => format!("{} ± {} (n = {count})", unit.text(value.mean), unit.text(value.deviation())),
            },
        );
        Datum { key: bar.key.clone(), title: format!("{name}: {value}") }
    }
}

/// What stands where an algorithm failed.
fn cross(place: &Area, lying: bool) -> Shape {
    let (x, y) = match lying {
        true => (place.x + 3.5, place.y + place.height / 2.0),
        false => (place.x + place.width / 2.0, place.y - 3.5),
    };
    // No larger than the bar would be thick: beside each other, crosses stay apart.
    let size = 3.0f64.min(0.75 * if lying { place.height } else { place.width });
    Marker::Cross.shape((x, y), size, Paint::INK, EDGE)
}

/// The error bar in the middle of a bar, with caps at those of its ends, low and high, that lie within the axis; a rim of
/// paper keeps it visible on a dark bar.
fn whisker(span: &Area, lying: bool, [low, high]: [bool; 2]) -> Vec<Shape> {
    let (x, y) = (span.x + span.width / 2.0, span.y + span.height / 2.0);
    let (half_width, half_height) = ((span.width * 0.3).min(2.2), (span.height * 0.3).min(2.2));
    let lines = match lying {
        true => [
            (true, (span.x, y), (span.right(), y)),
            (low, (span.x, y - half_height), (span.x, y + half_height)),
            (high, (span.right(), y - half_height), (span.right(), y + half_height)),
        ],
        false => [
            (true, (x, span.y), (x, span.bottom())),
            (high, (x - half_width, span.y), (x + half_width, span.y)),
            (low, (x - half_width, span.bottom()), (x + half_width, span.bottom())),
        ],
    };
    let seen = || lines.into_iter().filter(|(seen, ..)| *seen);
    let drawn = |stroke: Stroke| seen().map(move |(_, from, to)| line(from, to, stroke));
    drawn(RIM).chain(drawn(WHISKER)).collect()
}
