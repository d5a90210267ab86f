//! The font that figures are measured with, drawn with where pixels are made, and embedded in PDF: a subset of Arimo.
//!
//! Arimo has the widths of Arial and Helvetica. Texts in SVG name those and fix their length, so that what was measured
//! here holds with whatever font a viewer has. Advances and outlines come from a table that a script takes from the font
//! file, so that the program reads no font.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::step::Step;

/// What texts in SVG ask for: fonts of the same widths, in the order in which they are common.
pub(crate) const FAMILY: &str = "Arial,Helvetica,Arimo,'Liberation Sans',sans-serif";

/// The font file.
pub(super) const FILE: &[u8] = include_bytes!("../../assets/arimo/Arimo-Subset.ttf");

/// See `glyphs.py` beside it.
const TABLE: &str = include_str!("../../assets/arimo/glyphs.txt");

/// Units of the table in an em.
pub(super) const UNITS: f64 = 2048.0;

/// Height of capitals over the font size.
pub(crate) const CAPITAL: f64 = 0.72;

/// How far letters such as `g` reach below the baseline, over the font size.
pub(crate) const DESCENT: f64 = 0.22;

/// From line to line, over the font size.
pub(crate) const LINE: f64 = 1.15;

/// A character of the font.
pub(super) struct Glyph {
    /// Its number in the font file.
    pub(super) id: u16,
    /// How far it moves on, in [`UNITS`].
    pub(super) advance: f64,
    outline: &'static str,
}

/// By character; U+FFFD stands for those that the font lacks.
pub(super) static GLYPHS: LazyLock<BTreeMap<char, Glyph>> =
    LazyLock::new(|| TABLE.lines().skip(1).map(|line| read(line).expect("a line of the table of glyphs")).collect());

fn read(line: &'static str) -> Option<(char, Glyph)> {
    let mut fields = line.splitn(4, ' ');
    let code = u32::from_str_radix(fields.next()?, 16).ok()?;
    let glyph = Glyph {
        id: fields.next()?.parse().ok()?,
        advance: fields.next()?.parse().ok()?,
        outline: fields.next().unwrap_or_default(),
    };
    Some((char::from_u32(code)?, glyph))
}

pub(super) fn glyph(character: char) -> &'static Glyph {
    GLYPHS.get(&character).unwrap_or_else(|| &GLYPHS[&char::REPLACEMENT_CHARACTER])
}

impl Glyph {
    /// Its outline, moved by `place` from units with y upwards to where it is drawn.
    pub(super) fn steps(&self, place: impl Fn(f64, f64) -> (f64, f64)) -> Vec<Step> {
        let mut words = self.outline.split(' ');
        let mut steps = Vec::new();
        let mut at = (0.0, 0.0);
        while let Some(letter) = words.next() {
            let mut number = || words.next().and_then(|word| word.parse().ok()).unwrap_or_default();
            let mut point = || place(number(), number());
            match letter {
                "M" => {
                    at = point();
                    steps.push(Step::Move(at.0, at.1));
                }
                "L" => {
                    at = point();
                    steps.push(Step::Line(at.0, at.1));
                }
                "Q" => {
                    let (handle, end) = (point(), point());
                    // A quadratic curve is the cubic one whose handles are two thirds of the way to its handle.
                    let towards = |from: (f64, f64)| {
                        (from.0 + (handle.0 - from.0) * 2.0 / 3.0, from.1 + (handle.1 - from.1) * 2.0 / 3.0)
                    };
                    let (first, second) = (towards(at), towards(end));
                    steps.push(Step::Curve(first.0, first.1, second.0, second.1, end.0, end.1));
                    at = end;
                }
                "Z" => steps.push(Step::Close),
                _ => {}
            }
        }
        steps
    }
}

/// How wide a text is at a font size, in the unit of the size. A character that the font lacks is as wide as the size.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let units: f64 = text.chars().map(|character| glyph(character).advance).sum();
    units / UNITS * size
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

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_table_of_glyphs_is_that_of_the_font_file() {
        let hash: String = Sha256::digest(FILE).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(TABLE.lines().next(), Some(&*format!("# sha256 {hash}")), "run reports/assets/arimo/glyphs.py");
        assert_eq!(GLYPHS.len(), TABLE.lines().count() - 1);
        for (character, glyph) in GLYPHS.iter() {
            let steps = glyph.steps(|x, y| (x, y));
            let visible = !character.is_whitespace() && !character.is_control() && *character != '\u{ad}';
            assert!(!visible || steps.len() > 3, "{character:?}");
            assert!(steps.is_empty() || matches!(steps[0], Step::Move(..)), "{character:?}");
        }
    }

    #[test]
    fn widths_are_those_of_arial() {
        // Arial's advances of H, e, f, t over 2048 units: 1479, 1139, 569, 569.
        assert!((width("Heft", 2048.0) - f64::from(1479 + 1139 + 569 + 569)).abs() < 1e-9);
        assert_eq!(width("", 7.0), 0.0);
        assert_eq!(width("漢", 7.0), 7.0);
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
            assert!(GLYPHS.contains_key(&sign), "{sign}");
        }
    }
}
