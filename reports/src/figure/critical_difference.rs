//! Critical-difference diagrams (Demšar 2006, Fig. 1).

use super::Figure;
use super::axis::{Axis, draw_title, wrapped};
use super::drawing::{Anchor, Area, Datum, Drawing, Paint, Shape, Stroke, line, polyline};
use super::font;
use super::legend::MARKER;
use super::look::Look;
use super::quantity::{Quantity, Unit};
use super::scale::Scale;
use super::statistics::RankTest;
use super::style::{AXIS, Style};
use crate::export::{Table, number_text};
use crate::marks::unmarked;

/// Mean ranks of algorithms on a line, the best at the left; bars join those that do not differ.
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

/// Bars that join what does not differ.
const CLIQUE: Stroke = Stroke::solid(Paint::INK, 2.0);
const ELBOW: Stroke = Stroke::solid(Paint::ink(0.75), 0.5);
/// Between two such bars.
const LEVEL: f64 = 4.2;

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
        let mut levels: Vec<f64> = Vec::new();
        for clique in self.test.cliques() {
            let (Some(&first), Some(&last)) = (clique.first(), clique.last()) else { continue };
            let (from, to) = (x(self.test.ranks[first]) - 2.0, x(self.test.ranks[last]) + 2.0);
            let level = levels.iter().position(|&end| end + 3.0 < from).unwrap_or(levels.len());
            if level == levels.len() {
                levels.push(to);
            } else {
                levels[level] = to;
            }
            let y = top + level as f64 * LEVEL;
            drawing.line((from, y), (to, y), CLIQUE);
        }
        top + levels.len() as f64 * LEVEL
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
    fn table(&self) -> Table {
        let mut table = Table::new(["algorithm", "mean_rank", "critical_difference", "holm_p_against_best"]);
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
        let label = |index: usize| format!("{} {:.2}", names[index], self.test.ranks[index]);
        let (left, right) = order.split_at(order.len().div_ceil(2));
        let widest =
            |side: &[usize]| side.iter().map(|&index| style.text_width(&label(index))).fold(0.0, f64::max) + 6.0;
        let (from, to) = (widest(left), drawing.width - widest(right));
        let area = Area::new(from + 4.0, top + style.line() + 8.0, (to - from - 8.0).max(40.0), 0.0);
        let scale = Scale::Linear { low: 1.0, high: self.algorithms.len() as f64 };
        let quantity = Quantity::new("mean rank", Unit::One);
        let axis = Axis::below(scale, &quantity, area.width, style);
        let x = |rank: f64| axis.x(rank, &area);
        self.draw_scale_of_difference(&mut drawing, x, area.y - 2.0, &area, style);
        let axis_y = area.y + style.line() + 6.0;
        axis.draw_above(&mut drawing, &Area { y: axis_y, ..area }, style);
        let bottom = self.draw_bars(&mut drawing, x, axis_y + 5.5);
        let looks = Look::of(&self.algorithms);
        let pitch = style.line() + 0.8;
        // The outermost of each side is the lowest, so that no line crosses a name.
        for (side, anchor, edge) in
            [(left.to_vec(), Anchor::End, from), (right.iter().rev().copied().collect(), Anchor::Start, to)]
        {
            for (row, &index) in side.iter().enumerate() {
                let y = bottom + 4.0 + (row as f64 + 0.5) * pitch;
                let at = x(self.test.ranks[index]);
                let mut elbow = vec![polyline(&[(at, axis_y), (at, y), (edge, y)], ELBOW)];
                elbow.push(looks[index].point((at, axis_y), MARKER));
                elbow.push(self.label(label(index), edge, y, anchor, style));
                let title = format!("{}: mean rank {:.2}", self.algorithms[index], self.test.ranks[index]);
                drawing.mark(Datum { key: unmarked(&self.algorithms[index]).to_owned(), title }, elbow);
            }
        }
        let bottom = bottom + 9.0 + left.len() as f64 * pitch;
        drawing.height = self.draw_words(&mut drawing, bottom, style) + 2.0;
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
    fn label(&self, text: String, edge: f64, y: f64, anchor: Anchor, style: &Style) -> Shape {
        let x = if anchor == Anchor::End { edge - 2.5 } else { edge + 2.5 };
        let y = y + style.half_capital();
        Shape::Text(super::drawing::Text { x, y, text, size: style.font_pt, anchor, upwards: false, paint: Paint::INK })
    }

    fn draw_words(&self, drawing: &mut Drawing, top: f64, style: &Style) -> f64 {
        let test = &self.test;
        let p = test.p();
        let p = if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") };
        let f = test.iman_davenport.map_or_else(String::new, |f| format!(", F = {f:.2}"));
        let alpha = number_text(self.alpha);
        let words = match test.separates(self.alpha) {
            true => format!("Bars join algorithms that do not differ (Nemenyi, α = {alpha})."),
            false => format!(
                "No two algorithms differ (Nemenyi, α = {alpha}): this order is not evidence. More instances or fewer \
                 algorithms would tell more."
            ),
        };
        let text = format!("{} instances; Friedman χ² = {:.2}{f}, {p}. {words}", test.instances, test.friedman);
        let lines = wrapped(&text, drawing.width, style.font_pt);
        for (index, line) in lines.iter().enumerate() {
            let y = top + font::CAPITAL * style.font_pt + index as f64 * style.line();
            drawing.text(0.0, y, style.font_pt, Anchor::Start, line);
        }
        top + lines.len() as f64 * style.line()
    }
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
