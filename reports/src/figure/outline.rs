//! Texts as paths, for programs that have neither the font nor the means to fit another to its widths.

use super::drawing::{Drawing, Item, Shape, Step, Text};
use super::font;

impl Drawing {
    /// The same drawing with its texts as paths: it looks the same in every program, but its texts cannot be searched or
    /// read aloud.
    pub fn outlined(&self) -> Self {
        let outlined = |shape: &Shape| match shape {
            Shape::Text(text) => Shape::Path { steps: text.outline(), fill: Some(text.paint), stroke: None },
            other => other.clone(),
        };
        let item = |item: &Item| Item { datum: item.datum.clone(), shapes: item.shapes.iter().map(outlined).collect() };
        Self { items: self.items.iter().map(item).collect(), ..self.clone() }
    }
}

impl Text {
    /// The outlines of its characters, where they are.
    pub(super) fn outline(&self) -> Vec<Step> {
        let scale = self.size / font::UNITS;
        let mut along = -self.before();
        let mut steps = Vec::new();
        for character in self.text.chars() {
            let glyph = font::glyph(character);
            steps.extend(glyph.steps(|x, y| match self.upwards {
                false => (self.x + along + x * scale, self.y - y * scale),
                true => (self.x - y * scale, self.y - along - x * scale),
            }));
            along += glyph.advance * scale;
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Anchor, Area, Paint};

    #[test]
    fn outlines_lie_where_the_text_is_measured_to_be() {
        for upwards in [false, true] {
            for anchor in [Anchor::Start, Anchor::Middle, Anchor::End] {
                let text = "HgHeft_1".to_owned();
                let text = Text { x: 50.0, y: 30.0, text, size: 7.0, anchor, upwards, paint: Paint::INK };
                let area = text.area();
                let mut reached = (f64::INFINITY, f64::NEG_INFINITY);
                for step in text.outline() {
                    let (Step::Move(x, y) | Step::Line(x, y) | Step::Curve(_, _, _, _, x, y)) = step else { continue };
                    assert!(area.contains(&Area::new(x, y, 0.0, 0.0), 0.4), "{x} {y} of {area:?}");
                    let along = if upwards { y } else { x };
                    reached = (reached.0.min(along), reached.1.max(along));
                }
                assert!(reached.1 - reached.0 > 0.9 * text.length());
            }
        }
    }
}
