//! Critical-difference diagrams with a row for each algorithm: for columns too narrow to name all beside one line.

use super::{Anchor, Area, Axis, CLIQUE, CriticalDifference, Drawing, ELBOW, LEVEL, Look, MARKER, Quantity, Stroke};
use super::{Style, Unit, font, levelled, levels_of, line, text};
use crate::figure::style::GRID;

/// Rows that fit on a page; the others are counted below.
const MOST_ROWS: usize = 60;

/// The largest share of the width that names take, and that bars do.
const NAMES: f64 = 0.42;
const BARS: f64 = 0.25;

impl CriticalDifference {
    /// A row for each algorithm, the best at the top: name and mean rank, upright bars that join those that are not told apart,
    /// and a marker below the axis of ranks. Returns where it ends, and how many algorithms it leaves out.
    pub(super) fn draw_rows(&self, drawing: &mut Drawing, top: f64, order: &[usize], style: &Style) -> (f64, usize) {
        let shown = &order[..order.len().min(MOST_ROWS)];
        let pitch = style.line() + 0.8;
        let names: Vec<String> = shown
            .iter()
            .map(|&index| {
                let number = style.text_width(&self.label("", index));
                let name = font::shortened(&self.algorithms[index], style.font_pt, drawing.width * NAMES - number);
                self.label(&name, index)
            })
            .collect();
        let left = names.iter().map(|name| style.text_width(name)).fold(0.0, f64::max) + 4.0;

        let row_of = |algorithm: &usize| shown.iter().position(|index| index == algorithm);
        let ends = |clique: Vec<usize>| {
            let first = row_of(clique.first()?)?;
            // One that goes on among those left out ends with the last row.
            let last = clique.iter().filter_map(row_of).max()?;
            (last > first).then_some((first as f64 * pitch + 1.5, (last + 1) as f64 * pitch - 1.5))
        };
        let bars = levelled(self.test.cliques().into_iter().filter_map(ends));
        let levels = levels_of(&bars) as f64;
        let level = LEVEL.min(drawing.width * BARS / levels.max(1.0));

        let x = left + levels * level + MARKER;
        let area = Area::new(x, top + style.line() + 8.0, drawing.width - x - MARKER, 0.0);
        let axis = Axis::below(self.scale(), &Quantity::new("mean rank", Unit::One), area.width, style);
        let at = |rank: f64| axis.x(rank, &area);
        self.draw_scale_of_difference(drawing, at, area.y - 2.0, &area, style);
        let axis_y = area.y + style.line() + 6.0;
        let rows = axis_y + 2.0;
        let bottom = rows + shown.len() as f64 * pitch;
        for (value, _) in axis.labels() {
            drawing.add(line((at(value), axis_y), (at(value), bottom), GRID));
        }
        axis.draw_above(drawing, &Area { y: axis_y, ..area }, style);
        let width = CLIQUE.width.min(0.6 * level);
        for (number, from, to) in bars {
            let x = left + (number as f64 + 0.5) * level;
            drawing.line((x, rows + from), (x, rows + to), Stroke { width, ..CLIQUE });
        }
        let looks = Look::of(&self.algorithms);
        for (row, (&index, name)) in shown.iter().zip(names).enumerate() {
            let y = rows + (row as f64 + 0.5) * pitch;
            let place = (at(self.test.ranks[index]), y);
            let name = text(name, (left - 4.0, y), Anchor::End, style);
            let leader = line((area.x, y), place, ELBOW);
            drawing.mark(self.datum(index), vec![leader, looks[index].point(place, MARKER), name]);
        }
        (bottom + 6.0, order.len() - shown.len())
    }
}
