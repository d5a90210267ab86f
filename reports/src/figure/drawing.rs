//! What a figure is drawn as: rectangles, paths and texts in points, before it is SVG or pixels.

use super::font;
pub use super::step::Step;
use crate::export::TextTable;

/// A colour; all but [`Color::Rgb`] follow the theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Color {
    /// The colour of texts and axes.
    Ink,
    /// The colour of the page.
    Paper,
    /// The colour of what is only background to the rest: pale, and the same however often it is drawn over itself.
    Faint,
    /// The colour of what is bad: the worse, the more opaque. Ink on it can be read.
    Loud,
    /// The colour of what is good: the better, the more opaque. Ink on it can be read.
    Calm,
    /// Red, green, blue: the same on any page.
    Rgb(u8, u8, u8),
    /// Red, green, blue of a thin line: darker on a light page and lighter on a dark one, where it could not be seen else.
    Line(u8, u8, u8),
}

/// A colour that may let what is below shine through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paint {
    /// The colour.
    pub color: Color,
    /// 0 is invisible, 1 is opaque.
    pub opacity: f64,
}

impl Paint {
    /// The colour of texts and axes.
    pub const INK: Self = Self { color: Color::Ink, opacity: 1.0 };
    /// The colour of the page.
    pub const PAPER: Self = Self { color: Color::Paper, opacity: 1.0 };

    /// Ink that lets the page shine through.
    pub const fn ink(opacity: f64) -> Self {
        Self { color: Color::Ink, opacity }
    }

    /// An opaque colour.
    pub const fn opaque(color: Color) -> Self {
        Self { color, opacity: 1.0 }
    }
}

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// Its colour.
    pub paint: Paint,
    /// Its width in points.
    pub width: f64,
    /// Lengths of dashes and gaps in points; empty for a solid line.
    pub dash: &'static [f64],
}

impl Stroke {
    /// A solid line.
    pub const fn solid(paint: Paint, width: f64) -> Self {
        Self { paint, width, dash: &[] }
    }
}

/// An axis-parallel box in points; y grows downwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left end.
    pub x: f64,
    /// Upper end.
    pub y: f64,
    /// Width, from 0.
    pub width: f64,
    /// Height, from 0.
    pub height: f64,
}

impl Area {
    /// A box by its left upper corner and its size.
    pub const fn new(x: f64, y: f64, width: f64, height: f64) -> Self {
        Self { x, y, width, height }
    }

    /// The right end.
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    /// The lower end.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }

    /// Whether two boxes share more than `slack` points in both directions.
    pub fn overlaps(&self, other: &Self, slack: f64) -> bool {
        self.x + slack < other.right()
            && other.x + slack < self.right()
            && self.y + slack < other.bottom()
            && other.y + slack < self.bottom()
    }

    /// Whether `other` lies within, but for `slack` points.
    pub fn contains(&self, other: &Self, slack: f64) -> bool {
        other.x >= self.x - slack
            && other.y >= self.y - slack
            && other.right() <= self.right() + slack
            && other.bottom() <= self.bottom() + slack
    }
}

/// Which point of a text is at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// A line of text.
#[derive(Clone, Debug, PartialEq)]
pub struct Text {
    /// Where its anchor is, on the baseline.
    pub x: f64,
    /// Where its baseline is.
    pub y: f64,
    /// What it says.
    pub text: String,
    /// Font size in points.
    pub size: f64,
    /// What is at (x, y).
    pub anchor: Anchor,
    /// Whether it reads upwards.
    pub upwards: bool,
    /// Its colour.
    pub paint: Paint,
}

impl Text {
    /// How long it is in points.
    pub fn length(&self) -> f64 {
        font::width(&self.text, self.size)
    }

    /// How much of it, in points, comes before its position.
    pub(super) fn before(&self) -> f64 {
        match self.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => self.length() / 2.0,
            Anchor::End => self.length(),
        }
    }

    /// The box that it fills, from the feet of `g` to the heads of capitals.
    pub fn area(&self) -> Area {
        let (length, before) = (self.length(), self.before());
        let (up, down) = (font::CAPITAL * self.size, font::DESCENT * self.size);
        match self.upwards {
            false => Area::new(self.x - before, self.y - up, length, up + down),
            true => Area::new(self.x - up, self.y + before - length, up + down, length),
        }
    }
}

/// Something visible.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// A rectangle.
    Rect {
        /// Where.
        area: Area,
        /// Its inside.
        fill: Option<Paint>,
        /// Its edge.
        stroke: Option<Stroke>,
    },
    /// Lines and curves.
    Path {
        /// The steps.
        steps: Vec<Step>,
        /// The inside.
        fill: Option<Paint>,
        /// The line.
        stroke: Option<Stroke>,
    },
    /// A text.
    Text(Text),
}

/// What a mark stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct Datum {
    /// Links the mark with a row: the parts of [`CellKey::mark`](placebench_harness::results::CellKey::mark) or a name, joined by `|`; the attribute `data-key` in SVG.
    pub key: String,
    /// What is shown when the mouse rests on the mark.
    pub title: String,
}

/// Shapes, and the datum that they are the mark of, if any.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it stands for; `None` for axes, legends and other furniture.
    pub datum: Option<Datum>,
    /// What is seen, back to front.
    pub shapes: Vec<Shape>,
}

/// Whose colours ink and paper have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Black on white.
    #[default]
    Light,
    /// White on near-black.
    Dark,
    /// For SVG within a page: texts and axes in the page's text colour, no background; edges in the CSS variable
    /// `--figure-paper` (white), background lines in `--figure-faint` (grey), what is bad in `--figure-loud` (red). Pixels are as
    /// [`Theme::Light`].
    Page,
}

/// What is left free around a figure, in points: strokes and letters reach a little beyond their boxes.
pub const MARGIN: f64 = 2.0;

/// A finished figure. Its items lie between (0, 0) and (width, height); [`MARGIN`] is left free around them.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawing {
    /// Width in points, without the margins.
    pub width: f64,
    /// Height in points, without the margins.
    pub height: f64,
    /// Whose colours ink and paper have.
    pub theme: Theme,
    /// What the figure shows, in one line: the accessible name.
    pub title: String,
    /// Everything visible, back to front.
    pub items: Vec<Item>,
    /// The figure's data, as the CSV beside it has them.
    pub table: TextTable,
}

impl Drawing {
    /// An empty drawing; its height is set when everything has been laid out.
    pub(crate) fn new(width: f64, theme: Theme, title: String, table: TextTable) -> Self {
        Self { width, height: 0.0, theme, title, items: Vec::new(), table }
    }

    /// The figure's data: header and rows of the CSV beside it.
    pub fn table(&self) -> &TextTable {
        &self.table
    }

    /// All texts.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        self.items.iter().flat_map(|item| &item.shapes).filter_map(|shape| match shape {
            Shape::Text(text) => Some(text),
            _ => None,
        })
    }

    /// All marks: what each stands for, and its shapes.
    pub fn marks(&self) -> impl Iterator<Item = (&Datum, &[Shape])> {
        self.items.iter().filter_map(|item| Some((item.datum.as_ref()?, item.shapes.as_slice())))
    }

    pub(crate) fn add(&mut self, shape: Shape) {
        self.items.push(Item { datum: None, shapes: vec![shape] });
    }

    pub(crate) fn mark(&mut self, datum: Datum, shapes: Vec<Shape>) {
        self.items.push(Item { datum: Some(datum), shapes });
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, size: f64, anchor: Anchor, text: impl Into<String>) {
        self.add(Shape::Text(Text { x, y, text: text.into(), size, anchor, upwards: false, paint: Paint::INK }));
    }

    pub(crate) fn text_upwards(&mut self, x: f64, y: f64, size: f64, anchor: Anchor, text: impl Into<String>) {
        self.add(Shape::Text(Text { x, y, text: text.into(), size, anchor, upwards: true, paint: Paint::INK }));
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: Stroke) {
        self.add(line(from, to, stroke));
    }
}

/// A straight line.
pub(crate) fn line(from: (f64, f64), to: (f64, f64), stroke: Stroke) -> Shape {
    polyline(&[from, to], stroke)
}

/// A line through points.
pub(crate) fn polyline(points: &[(f64, f64)], stroke: Stroke) -> Shape {
    Shape::Path { steps: path_through(points), fill: None, stroke: Some(stroke) }
}

/// A closed area with corners at points.
pub(crate) fn polygon(points: &[(f64, f64)], fill: Option<Paint>, stroke: Option<Stroke>) -> Shape {
    let mut steps = path_through(points);
    steps.push(Step::Close);
    Shape::Path { steps, fill, stroke }
}

fn path_through(points: &[(f64, f64)]) -> Vec<Step> {
    let step = |(index, &(x, y)): (usize, &(f64, f64))| if index == 0 { Step::Move(x, y) } else { Step::Line(x, y) };
    points.iter().enumerate().map(step).collect()
}
