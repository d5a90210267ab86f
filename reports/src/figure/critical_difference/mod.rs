//! Critical-difference diagrams (Demšar 2006, Fig. 1).

mod rows;

use super::Figure;
use super::axis::{Axis, draw_note, draw_title};
use super::drawing::{Anchor, Area, Datum, Drawing, Paint, Shape, Stroke, Text, line, polyline};
use super::font;
use super::legend::MARKER;
use super::look::Look;
use super::quantity::{Quantity, Unit};
use super::scale::Scale;
use super::statistics::RankTest;
use super::style::{AXIS, Style};
use crate::export::{TextTable, number_text};
use crate::marks::unmarked;

/// Mean ranks of algorithms on a line, the best first; bars join those that are not told apart. Where the line has too little
/// room, each algorithm has a row instead, and the bars stand upright.
///
/// # Reference
/// J. Demšar, *Statistical comparisons of classifiers over multiple data sets*, Journal of Machine Learning Research 7,
/// 2006, 1–30.
#[derive(Clone, Debug, PartialEq)]
pub struct CriticalDifference {
    /// One line above the figure; may be empty.
    pub title: String,
    /// The algorithms.
    pub algorithms: Vec<String>,
    /// What their ranks say.
    pub test: RankTest,
    /// The probability of seeing a difference where there is none.
    pub alpha: f64,
}

/// Bars that join what is not told apart.
const CLIQUE: Stroke = Stroke::solid(Paint::INK, 2.0);
const ELBOW: Stroke = Stroke::solid(Paint::ink(0.75), 0.5);
/// Between two such bars.
const LEVEL: f64 = 4.2;
/// With less room than this on the line for each algorithm, markers hide each other and elbows run together.
const LEAST_PITCH: f64 = 6.0;

impl CriticalDifference {
    /// Compares algorithms by their results, as [`RankTest::new`] does; `None` with too few to compare.
    pub fn new(title: String, algorithms: Vec<String>, results: &[Vec<Option<f64>>], alpha: f64) -> Option<Self> {
        let test = RankTest::new(results, alpha)?;
        (test.ranks.len() == algorithms.len()).then_some(Self { title, algorithms, test, alpha })
    }

    /// Indices by ascending rank.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.algorithms.len()).collect();
        order.sort_by(|&a, &b| self.test.ranks[a].total_cmp(&self.test.ranks[b]));
        order
    }

    fn draw_bars(&self, drawing: &mut Drawing, x: impl Fn(f64) -> f64, top: f64) -> f64 {
        let ends = |clique: Vec<usize>| {
            let (first, last) = (*clique.first()?, *clique.last()?);
            Some((x(self.test.ranks[first]) - 2.0, x(self.test.ranks[last]) + 2.0))
        };
        let bars = levelled(self.test.cliques().into_iter().filter_map(ends));
        for &(level, from, to) in &bars {
            let y = top + level as f64 * LEVEL;
            drawing.line((from, y), (to, y), CLIQUE);
        }
        top + levels_of(&bars) as f64 * LEVEL
    }

    /// What a name is followed by, and the mark of an algorithm.
    fn label(&self, name: &str, index: usize) -> String {
        format!("{name} {:.2}", self.test.ranks[index])
    }

    fn datum(&self, index: usize) -> Datum {
        let title = format!("{}: mean rank {:.2}", self.algorithms[index], self.test.ranks[index]);
        Datum { key: unmarked(&self.algorithms[index]).to_owned(), title }
    }

    fn scale(&self) -> Scale {
        Scale::Linear { low: 1.0, high: self.algorithms.len() as f64 }
    }

    fn draw_scale_of_difference(
        &self,
        drawing: &mut Drawing,
        x: impl Fn(f64) -> f64,
        y: f64,
        area: &Area,
        style: &Style,
    ) {
        let (from, to) = (x(1.0), x(1.0 + self.test.critical_difference));
        drawing.line((from, y), (to, y), AXIS);
        for end in [from, to] {
            drawing.line((end, y - 2.0), (end, y + 2.0), AXIS);
        }
        let reach = self.test.critical_difference + 1.0 > self.algorithms.len() as f64;
        let more = if reach { " (beyond the axis)" } else { "" };
        let text = format!("critical difference {:.2}{more}", self.test.critical_difference);
        let middle = (from + to) / 2.0;
        let half = style.text_width(&text) / 2.0;
        let middle = middle.clamp(half, (drawing.width - half).max(half)).max(area.x.min(half));
        drawing.text(middle, y - 4.0, style.font_pt, Anchor::Middle, text);
    }
}

impl Figure for CriticalDifference {
    fn table(&self) -> TextTable {
        let mut table = TextTable::new(["algorithm", "mean_rank", "critical_difference", "holm_p_of_mean_rank"]);
        for index in self.order() {
            let holm = self.test.holm[index].map_or_else(String::new, number_text);
            let numbers = [self.test.ranks[index], self.test.critical_difference].map(number_text);
            table.push([self.algorithms[index].clone()].into_iter().chain(numbers).chain([holm]));
        }
        table
    }

    fn draw(&self, style: &Style) -> Drawing {
        let mut drawing = Drawing::new(style.width(), style.theme, self.title.clone(), self.table());
        let top = draw_title(&mut drawing, &self.title, style);
        let order = self.order();
        let names: Vec<String> =
            self.algorithms.iter().map(|name| font::shortened(name, style.font_pt, drawing.width * 0.28)).collect();
        let (left, right) = order.split_at(order.len().div_ceil(2));
        let width = |&index: &usize| style.text_width(&self.label(&names[index], index));
        let widest = |side: &[usize]| side.iter().map(width).fold(0.0, f64::max) + 6.0;
        let (from, to) = (widest(left), drawing.width - widest(right));
        let (bottom, left_out) = match to - from < LEAST_PITCH * order.len() as f64 {
            true => self.draw_rows(&mut drawing, top, &order, style),
            false => (self.draw_line(&mut drawing, top, (from, to), [left, right], &names, style), 0),
        };
        drawing.height = self.draw_words(&mut drawing, bottom, left_out, style) + 2.0;
        drawing
    }

    fn says_nothing(&self) -> Option<String> {
        (!self.test.separates(self.alpha)).then(|| {
            format!(
                "No diagram of mean ranks: over {} instances no two of {} placers differ (Nemenyi, α = {}).",
                self.test.instances,
                self.algorithms.len(),
                number_text(self.alpha)
            )
        })
    }
}

impl CriticalDifference {
    /// One line for all, the better half named at its left, the others at its right; returns where it ends.
    fn draw_line(
        &self,
        drawing: &mut Drawing,
        top: f64,
        (from, to): (f64, f64),
        [left, right]: [&[usize]; 2],
        names: &[String],
        style: &Style,
    ) -> f64 {
        let area = Area::new(from + 4.0, top + style.line() + 8.0, to - from - 8.0, 0.0);
        let axis = Axis::below(self.scale(), &Quantity::new("mean rank", Unit::One), area.width, style);
        let x = |rank: f64| axis.x(rank, &area);
        self.draw_scale_of_difference(drawing, x, area.y - 2.0, &area, style);
        let axis_y = area.y + style.line() + 6.0;
        axis.draw_above(drawing, &Area { y: axis_y, ..area }, style);
        let bottom = self.draw_bars(drawing, x, axis_y + 5.5);
        let looks = Look::of(&self.algorithms);
        let pitch = style.line() + 0.8;
        // The outermost of each side is the lowest, so that no line crosses a name.
        for (side, anchor, edge) in
            [(left.to_vec(), Anchor::End, from), (right.iter().rev().copied().collect(), Anchor::Start, to)]
        {
            for (row, &index) in side.iter().enumerate() {
                let y = bottom + 4.0 + (row as f64 + 0.5) * pitch;
                let at = x(self.test.ranks[index]);
                let beside = if anchor == Anchor::End { edge - 2.5 } else { edge + 2.5 };
                let elbow = polyline(&[(at, axis_y), (at, y), (edge, y)], ELBOW);
                let marker = looks[index].point((at, axis_y), MARKER);
                let name = text(self.label(&names[index], index), (beside, y), anchor, style);
                drawing.mark(self.datum(index), vec![elbow, marker, name]);
            }
        }
        bottom + 9.0 + left.len() as f64 * pitch
    }

    fn draw_words(&self, drawing: &mut Drawing, top: f64, left_out: usize, style: &Style) -> f64 {
        let test = &self.test;
        let p = test.p();
        let p = if p < 0.001 { "p\u{a0}<\u{a0}0.001".to_owned() } else { format!("p\u{a0}=\u{a0}{p:.3}") };
        let f = test.iman_davenport.map_or_else(String::new, |f| format!(", F = {f:.2}"));
        let alpha = number_text(self.alpha);
        let words = match test.separates(self.alpha) {
            true => format!("Bars join algorithms that are not told apart (Nemenyi, α = {alpha})."),
            false => format!(
                "No two algorithms differ (Nemenyi, α = {alpha}): this order is not evidence. More instances or fewer \
                 algorithms would tell more."
            ),
        };
        let rest = match left_out {
            0 => String::new(),
            count => format!(" {count} algorithms of worse ranks are not shown; the data have them."),
        };
        let text = format!(
            "Mean ranks over {} drawn graphs, 1 is the best. Friedman χ² = {:.2}{f}, {p}. {words}{rest}",
            test.instances, test.friedman
        );
        draw_note(drawing, top, &text, style)
    }
}

/// A name beside its line, in the middle of its height.
fn text(text: String, (x, y): (f64, f64), anchor: Anchor, style: &Style) -> Shape {
    let y = y + style.half_capital();
    Shape::Text(Text { x, y, text, size: style.font_pt, anchor, upwards: false, paint: Paint::INK })
}

/// Bars, in the order of their beginnings, each with its level: bars of a level do not touch.
fn levelled(bars: impl Iterator<Item = (f64, f64)>) -> Vec<(usize, f64, f64)> {
    let mut ends: Vec<f64> = Vec::new();
    let place = |(from, to): (f64, f64)| {
        let level = ends.iter().position(|&end| end + 3.0 < from).unwrap_or(ends.len());
        if level == ends.len() {
            ends.push(to);
        } else {
            ends[level] = to;
        }
        (level, from, to)
    };
    bars.map(place).collect()
}

/// How many levels bars take.
fn levels_of(bars: &[(usize, f64, f64)]) -> usize {
    bars.iter().map(|(level, ..)| level + 1).max().unwrap_or(0)
}

impl Axis {
    /// Draws the axis as a line with its labels above it.
    fn draw_above(&self, drawing: &mut Drawing, area: &Area, style: &Style) {
        drawing.line((area.x, area.y), (area.right(), area.y), AXIS);
        for (value, label) in self.labels() {
            let x = self.x(value, area);
            drawing.add(line((x, area.y - 2.5), (x, area.y), AXIS));
            drawing.text(x, area.y - 4.5, style.font_pt, Anchor::Middle, label);
        }
    }
}
