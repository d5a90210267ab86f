//! Hatching: what tells bars apart without colour. Lines are cut to the bar here, so that SVG and pixels agree and no
//! pattern needs an id.

use super::drawing::{Area, Paint, Shape, Step, Stroke};

/// A pattern within a bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hatch {
    /// None.
    Plain,
    /// `/`
    Rising,
    /// `-`
    Horizontal,
    /// `x`
    Crossed,
    /// `|`
    Vertical,
    /// `\`
    Falling,
    /// `.`
    Dotted,
    /// `/`, broad and far apart.
    Broad,
    /// `+`
    Grid,
}

impl Hatch {
    /// All of them, in the order in which algorithms get them.
    pub const ALL: [Self; 9] = [
        Self::Plain,
        Self::Rising,
        Self::Horizontal,
        Self::Crossed,
        Self::Vertical,
        Self::Falling,
        Self::Dotted,
        Self::Broad,
        Self::Grid,
    ];

    /// The pattern's lines within `area`; `None` where there is nothing to draw.
    pub(crate) fn shape(self, area: &Area, paint: Paint) -> Option<Shape> {
        let (gap, width) = match self {
            Self::Broad => (4.6, 1.3),
            Self::Dotted => (2.3, 0.9),
            Self::Crossed | Self::Grid => (3.2, 0.45),
            _ => (2.4, 0.5),
        };
        let mut steps = Vec::new();
        match self {
            Self::Plain => {}
            Self::Rising | Self::Broad => rising(area, gap * std::f64::consts::SQRT_2, &mut steps),
            Self::Falling => falling(area, gap * std::f64::consts::SQRT_2, &mut steps),
            Self::Horizontal => horizontal(area, gap, &mut steps),
            Self::Vertical => vertical(area, gap, &mut steps),
            Self::Crossed => {
                rising(area, gap * std::f64::consts::SQRT_2, &mut steps);
                falling(area, gap * std::f64::consts::SQRT_2, &mut steps);
            }
            Self::Grid => {
                horizontal(area, gap, &mut steps);
                vertical(area, gap, &mut steps);
            }
            Self::Dotted => dots(area, gap, width, &mut steps),
        }
        let stroke = Some(Stroke::solid(paint, width));
        (!steps.is_empty()).then_some(Shape::Path { steps, fill: None, stroke })
    }
}

/// Offsets of lines `gap` apart, the first half a gap in.
fn offsets(length: f64, gap: f64) -> impl Iterator<Item = f64> {
    let count = ((length / gap - 0.5).ceil().max(0.0)) as usize;
    (0..count).map(move |index| (index as f64 + 0.5) * gap)
}

fn horizontal(area: &Area, gap: f64, steps: &mut Vec<Step>) {
    for offset in offsets(area.height, gap) {
        let y = area.bottom() - offset;
        steps.extend([Step::Move(area.x, y), Step::Line(area.right(), y)]);
    }
}

fn vertical(area: &Area, gap: f64, steps: &mut Vec<Step>) {
    for offset in offsets(area.width, gap) {
        let x = area.x + offset;
        steps.extend([Step::Move(x, area.y), Step::Line(x, area.bottom())]);
    }
}

/// From below left to above right: an offset is what x and the height above the lower edge add up to.
fn rising(area: &Area, gap: f64, steps: &mut Vec<Step>) {
    let (width, height) = (area.width, area.height);
    for offset in offsets(width + height, gap) {
        let (left, right) = ((offset - height).max(0.0), offset.min(width));
        let at = |x: f64| (area.x + x, area.y + (offset - x));
        let ((x1, y1), (x2, y2)) = (at(left), at(right));
        steps.extend([Step::Move(x1, y1), Step::Line(x2, y2)]);
    }
}

fn falling(area: &Area, gap: f64, steps: &mut Vec<Step>) {
    let (width, height) = (area.width, area.height);
    for offset in offsets(width + height, gap) {
        let (left, right) = ((offset - height).max(0.0), offset.min(width));
        let at = |x: f64| (area.x + x, area.bottom() - (offset - x));
        let ((x1, y1), (x2, y2)) = (at(left), at(right));
        steps.extend([Step::Move(x1, y1), Step::Line(x2, y2)]);
    }
}

/// Short strokes as long as wide, every other row shifted by half a gap.
fn dots(area: &Area, gap: f64, size: f64, steps: &mut Vec<Step>) {
    for (row, offset) in offsets(area.height, gap).enumerate() {
        let y = area.bottom() - offset;
        let shift = if row % 2 == 0 { 0.0 } else { gap / 2.0 };
        for offset in offsets(area.width - shift, gap) {
            let x = area.x + shift + offset;
            let (left, right) = ((x - size / 2.0).max(area.x), (x + size / 2.0).min(area.right()));
            if left < right {
                steps.extend([Step::Move(left, y), Step::Line(right, y)]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_a_hatch_leaves_its_bar_and_every_hatch_but_plain_shows() {
        for area in [Area::new(3.0, 5.0, 4.0, 60.0), Area::new(0.0, 0.0, 90.0, 2.5), Area::new(1.0, 1.0, 20.0, 20.0)] {
            for hatch in Hatch::ALL {
                let Some(Shape::Path { steps, .. }) = hatch.shape(&area, Paint::INK) else {
                    assert_eq!(hatch, Hatch::Plain);
                    continue;
                };
                for step in steps {
                    let (Step::Move(x, y) | Step::Line(x, y)) = step else { panic!("only lines") };
                    assert!(area.contains(&Area::new(x, y, 0.0, 0.0), 1e-9), "{hatch:?} {x} {y}");
                }
            }
        }
    }
}
