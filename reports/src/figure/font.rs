//! The font that figures are measured with, and drawn with where pixels are made: a subset of Arimo.
//!
//! Arimo has the widths of Arial and Helvetica. Texts in SVG name those and fix their length, so that what was measured
//! here holds with whatever font a viewer has.

use std::sync::LazyLock;

use ttf_parser::{Face, OutlineBuilder};

/// What texts in SVG ask for: fonts of the same widths, in the order in which they are common.
pub(crate) const FAMILY: &str = "Arial,Helvetica,Arimo,'Liberation Sans',sans-serif";

static FACE: LazyLock<Face<'static>> = LazyLock::new(|| {
    let bytes = include_bytes!("../../assets/arimo/Arimo-Subset.ttf");
    Face::parse(bytes, 0).expect("the font that is part of the program is sound")
});

/// Height of capitals over the font size.
pub(crate) const CAPITAL: f64 = 0.72;

/// How far letters such as `g` reach below the baseline, over the font size.
pub(crate) const DESCENT: f64 = 0.22;

/// From line to line, over the font size.
pub(crate) const LINE: f64 = 1.15;

/// How wide a text is at a font size, in the unit of the size. A character that the font lacks is as wide as the size.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let units: f64 = text.chars().map(advance).sum();
    units * size
}

fn advance(character: char) -> f64 {
    let glyph = FACE.glyph_index(character).and_then(|glyph| FACE.glyph_hor_advance(glyph));
    glyph.map_or(1.0, |advance| f64::from(advance) / f64::from(FACE.units_per_em()))
}

/// The text, or as much of its beginning and end as fits `room`, with an ellipsis between.
pub(crate) fn shortened(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let characters: Vec<char> = text.chars().collect();
    for kept in (2..characters.len()).rev() {
        // The beginning is the name, the end is what tells variants apart.
        let (head, tail) = (kept - kept / 2, kept / 2);
        let short: String =
            characters[..head].iter().chain(&['…']).chain(&characters[characters.len() - tail..]).collect();
        if width(&short, size) <= room {
            return short;
        }
    }
    characters.first().map_or_else(String::new, ToString::to_string)
}

/// Hands the outline of a text to `builder`, in em: x from 0 to the right, y from the baseline up.
pub(crate) fn outline(text: &str, builder: &mut dyn OutlineBuilder) {
    let mut x = 0.0;
    let em = f32::from(FACE.units_per_em());
    for character in text.chars() {
        let glyph = FACE.glyph_index(character).unwrap_or_default();
        FACE.outline_glyph(glyph, &mut Shifted { builder: &mut *builder, x, em });
        x += advance(character) as f32;
    }
}

struct Shifted<'a> {
    builder: &'a mut dyn OutlineBuilder,
    x: f32,
    em: f32,
}

impl Shifted<'_> {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x / self.em, y / self.em)
    }
}

impl OutlineBuilder for Shifted<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.builder.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.builder.curve_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_arial() {
        // Arial's advances of H, e, f, t over 2048 units: 1479, 1139, 569, 569.
        assert!((width("Heft", 2048.0) - f64::from(1479 + 1139 + 569 + 569)).abs() < 1e-9);
        assert_eq!(width("", 7.0), 0.0);
    }

    #[test]
    fn a_shortened_text_fits_and_keeps_both_ends() {
        let text = "random(with_a_parameter=of_a_long_name,and_another=one)";
        let short = shortened(text, 7.0, 80.0);
        assert!(width(&short, 7.0) <= 80.0 && short.starts_with("random") && short.ends_with("one)"), "{short}");
        assert_eq!(shortened("heft", 7.0, 80.0), "heft");
        assert_eq!(shortened("heft", 7.0, 0.0), "h");
    }

    #[test]
    fn every_sign_that_axes_use_is_in_the_font() {
        for sign in "≤≥×±µ…−–—·".chars() {
            assert!(FACE.glyph_index(sign).is_some(), "{sign}");
        }
    }
}
