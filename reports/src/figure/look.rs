//! How an algorithm looks: the same colour, hatch, marker and dash in every figure.
//!
//! A placer's place in the registry says all: place `i` has colour `i mod 8`, hatch and marker `i mod 9`, dash `i mod 5`.
//! Since 8 and 9 have no common divisor, no two of 72 algorithms look alike; and algorithms that share a hatch differ in
//! lightness, since all eight colours do. That is what makes figures readable in grey.

use placebench_algorithms::registry;

use super::drawing::{Area, Color, Paint, Shape, Stroke, Theme};
use super::hatch::Hatch;
use super::marker::Marker;
use super::style::EDGE;
use crate::marks::unmarked;

/// Colours that people who do not see red or green tell apart: the hues of P. Tol, *Colour Schemes*, SRON/EPS/TN/09-002,
/// issue 3.2, 2021, scheme "muted", with lightness (CIE L*) spread over 22, 30, 44, 50, 58, 67, 76 and 88 of 100.
const COLORS: [(u8, u8, u8); 8] = [
    (0x33, 0x22, 0x88),
    (0xee, 0xdd, 0x99),
    (0xb6, 0x51, 0xa4),
    (0x4c, 0xb3, 0xa1),
    (0x80, 0x20, 0x50),
    (0x7f, 0xc3, 0xe8),
    (0x11, 0x77, 0x33),
    (0xd0, 0x6f, 0x80),
];

const DASHES: [&[f64]; 5] = [&[], &[4.0, 1.6], &[1.3, 1.3], &[5.0, 1.5, 1.3, 1.5], &[7.0, 2.2]];

/// Looks that differ in colour or hatch.
const COUNT: usize = COLORS.len() * Hatch::ALL.len();

/// How an algorithm looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Colour of bars and markers.
    pub color: (u8, u8, u8),
    /// Hatch of bars.
    pub hatch: Hatch,
    /// Marker of points.
    pub marker: Marker,
    /// Dashes of lines.
    pub dash: &'static [f64],
}

impl Look {
    /// The look with a number; they repeat after 72.
    pub fn nth(number: usize) -> Self {
        Self {
            color: COLORS[number % COLORS.len()],
            hatch: Hatch::ALL[number % Hatch::ALL.len()],
            marker: Marker::ALL[number % Marker::ALL.len()],
            dash: DASHES[number % DASHES.len()],
        }
    }

    /// The looks of the algorithms of a figure. Those of the registry look the same in every figure; others (a placer with
    /// parameters, a program) get the looks that are the least like those before them in the figure, by a hash of their names
    /// among equals: the same in all figures of the same algorithms. If no name is an algorithm's (graphs, say), they get
    /// looks in their order.
    pub fn of<T: AsRef<str>>(names: &[T]) -> Vec<Self> {
        let known = registry::placer_names();
        let names: Vec<&str> = names.iter().map(|name| unmarked(name.as_ref())).collect();
        let is_algorithm = |name: &&str| registered(name.split('(').next().unwrap_or_default(), &known).is_some();
        if !names.iter().any(is_algorithm) {
            return (0..names.len()).map(Self::nth).collect();
        }
        let mut numbers: Vec<Option<usize>> = names.iter().map(|name| registered(name, &known)).collect();
        let mut taken: Vec<usize> = numbers.iter().flatten().map(|number| number % COUNT).collect();
        for (number, name) in numbers.iter_mut().zip(names) {
            let first = hash(name) % COUNT;
            number.get_or_insert_with(|| {
                let used = |slot: usize| {
                    let alike = |kind: usize| taken.iter().filter(|&&other| other % kind == slot % kind).count();
                    (taken.contains(&slot), alike(COLORS.len()) + alike(Hatch::ALL.len()))
                };
                let next =
                    (0..COUNT).map(|step| (first + step) % COUNT).min_by_key(|&slot| used(slot)).unwrap_or(first);
                taken.push(next);
                next
            });
        }
        numbers.into_iter().map(|number| Self::nth(number.unwrap_or_default())).collect()
    }

    /// The colour of bars and markers.
    pub(crate) fn fill(&self) -> Paint {
        let (red, green, blue) = self.color;
        Paint::opaque(Color::Rgb(red, green, blue))
    }

    /// The colour of lines.
    pub(crate) fn ink(&self) -> Paint {
        let (red, green, blue) = self.color;
        Paint::opaque(Color::Line(red, green, blue))
    }

    /// A line of this look.
    pub(crate) fn stroke(&self, width: f64) -> Stroke {
        Stroke { paint: self.ink(), width, dash: self.dash }
    }

    /// A bar of this look: its inside, its hatch, its edge.
    pub(crate) fn bar(&self, area: Area) -> Vec<Shape> {
        let lines = if lightness(self.color) > 50.0 { (0x1a, 0x1a, 0x1a) } else { (0xff, 0xff, 0xff) };
        let hatch = self.hatch.shape(&area, Paint { color: Color::Rgb(lines.0, lines.1, lines.2), opacity: 0.85 });
        let inside = Shape::Rect { area, fill: Some(self.fill()), stroke: None };
        let edge = Shape::Rect { area, fill: None, stroke: Some(EDGE) };
        std::iter::once(inside).chain(hatch).chain([edge]).collect()
    }

    /// A marker of this look.
    pub(crate) fn point(&self, at: (f64, f64), size: f64) -> Shape {
        self.marker.shape(at, size, self.fill(), EDGE)
    }
}

/// The colour of a thin line on a page: within a range of lightness that contrasts with it, whatever it is if it is not
/// known.
pub(super) fn line_color(color: (u8, u8, u8), theme: Theme) -> (u8, u8, u8) {
    let (least, most) = match theme {
        Theme::Light => (0.0, 70.0),
        Theme::Dark => (55.0, 100.0),
        Theme::Page => (42.0, 70.0),
    };
    let lightness = lightness(color);
    let mix = |to: f64, share: f64| {
        let mixed = |part: u8| (f64::from(part) + share * (to - f64::from(part))).round() as u8;
        (mixed(color.0), mixed(color.1), mixed(color.2))
    };
    if lightness > most {
        mix(0.0, 0.28)
    } else if lightness < least {
        mix(255.0, 0.45)
    } else {
        color
    }
}

/// The place of a name in the registry, of placers first, of schedulers else.
fn registered(name: &str, placers: &[String]) -> Option<usize> {
    let placer = placers.iter().position(|known| known == name);
    placer.or_else(|| registry::SCHEDULERS.iter().position(|known| known.name == name))
}

/// FNV-1a: the same on every machine and in every version.
fn hash(text: &str) -> usize {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    (hash >> 33) as usize
}

/// CIE L* from 0 (black) to 100 (white), of sRGB.
pub(crate) fn lightness((red, green, blue): (u8, u8, u8)) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    let luminance = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    if luminance > 0.008_856 { 116.0 * luminance.cbrt() - 16.0 } else { 903.3 * luminance }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_algorithms_of_the_registry_look_alike_with_or_without_colour() {
        let names = registry::placer_names();
        assert!(names.len() <= COUNT, "more algorithms than looks: add a colour or a hatch");
        let looks = Look::of(&names);
        for (index, look) in looks.iter().enumerate() {
            for other in &looks[..index] {
                assert!(look.color != other.color || look.hatch != other.hatch);
                let apart = (lightness(look.color) - lightness(other.color)).abs();
                assert!(look.hatch != other.hatch || apart > 6.0, "{look:?} {other:?}");
            }
        }
    }

    #[test]
    fn an_algorithm_looks_the_same_whatever_else_is_in_the_figure() {
        assert_eq!(Look::of(&["heft"])[0], Look::of(&["random", "x", "heft"])[2]);
        assert_eq!(Look::of(&["heft"])[0], Look::of(&["heft°", "random°"])[0]);
        let names = ["heft", "scoring(alpha=2)", "scoring(alpha=4)"];
        assert_eq!(Look::of(&names), Look::of(&names));
    }

    #[test]
    fn variants_of_an_algorithm_differ_from_each_other() {
        let names: Vec<String> = (0..20).map(|alpha| format!("scoring(alpha={alpha})")).collect();
        let looks = Look::of(&names);
        for (index, look) in looks.iter().enumerate() {
            assert!(looks[..index].iter().all(|other| other.color != look.color || other.hatch != look.hatch));
        }
    }
}
