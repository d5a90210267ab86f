//! Texts as paths, for programs that have neither the font nor the means to fit another to its widths.

use ttf_parser::OutlineBuilder;

use super::drawing::{Anchor, Drawing, Item, Shape, Step, Text};
use super::font;

impl Drawing {
    /// The same drawing with its texts as paths: it looks the same in every program, but its texts cannot be searched or
    /// read aloud.
    pub fn outlined(&self) -> Self {
        let outlined = |shape: &Shape| match shape {
            Shape::Text(text) => Shape::Path { steps: steps_of(text), fill: Some(text.paint), stroke: None },
            other => other.clone(),
        };
        let item = |item: &Item| Item { datum: item.datum.clone(), shapes: item.shapes.iter().map(outlined).collect() };
        Self { items: self.items.iter().map(item).collect(), ..self.clone() }
    }
}

fn steps_of(text: &Text) -> Vec<Step> {
    let before = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => text.length() / 2.0,
        Anchor::End => text.length(),
    };
    let mut pen = Pen { text, before, at: (0.0, 0.0), steps: Vec::new() };
    font::outline(&text.text, &mut pen);
    pen.steps
}

/// Takes outlines in em with y upwards to where the text is.
struct Pen<'a> {
    text: &'a Text,
    before: f64,
    /// Where the last step ended.
    at: (f64, f64),
    steps: Vec<Step>,
}

impl Pen<'_> {
    fn place(&self, x: f32, y: f32) -> (f64, f64) {
        let (along, up) = (f64::from(x) * self.text.size - self.before, f64::from(y) * self.text.size);
        match self.text.upwards {
            false => (self.text.x + along, self.text.y - up),
            true => (self.text.x - up, self.text.y - along),
        }
    }

    fn curve(&mut self, first: (f64, f64), second: (f64, f64), end: (f64, f64)) {
        self.steps.push(Step::Curve(first.0, first.1, second.0, second.1, end.0, end.1));
        self.at = end;
    }
}

impl OutlineBuilder for Pen<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        self.at = self.place(x, y);
        self.steps.push(Step::Move(self.at.0, self.at.1));
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.at = self.place(x, y);
        self.steps.push(Step::Line(self.at.0, self.at.1));
    }

    /// A quadratic curve is the cubic one whose handles are two thirds of the way to its handle.
    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let (from, handle, end) = (self.at, self.place(x1, y1), self.place(x, y));
        let towards = |point: (f64, f64)| {
            (point.0 + (handle.0 - point.0) * 2.0 / 3.0, point.1 + (handle.1 - point.1) * 2.0 / 3.0)
        };
        self.curve(towards(from), towards(end), end);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (first, second, end) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.curve(first, second, end);
    }

    fn close(&mut self) {
        self.steps.push(Step::Close);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Area, Paint};

    #[test]
    fn outlines_lie_where_the_text_is_measured_to_be() {
        for upwards in [false, true] {
            for anchor in [Anchor::Start, Anchor::Middle, Anchor::End] {
                let text = "HgHeft_1".to_owned();
                let text = Text { x: 50.0, y: 30.0, text, size: 7.0, anchor, upwards, paint: Paint::INK };
                let steps = steps_of(&text);
                let area = text.area();
                let mut reached = (f64::INFINITY, f64::NEG_INFINITY);
                for step in &steps {
                    let (Step::Move(x, y) | Step::Line(x, y) | Step::Curve(_, _, _, _, x, y)) = *step else { continue };
                    assert!(area.contains(&Area::new(x, y, 0.0, 0.0), 0.4), "{x} {y} of {area:?}");
                    let along = if upwards { y } else { x };
                    reached = (reached.0.min(along), reached.1.max(along));
                }
                assert!(reached.1 - reached.0 > 0.9 * text.length());
            }
        }
    }
}
