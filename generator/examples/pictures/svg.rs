//! Dots and lines as SVG, in colours that read on light and dark pages.

use std::fmt::Write as _;

/// Colours that most people can tell apart (Okabe, Ito 2008).
/// and shades of them.
const COLOURS: [&str; 12] = [
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#b0a000", "#7f5f2f", "#7f3fbf", "#7fbf3f",
    "#5f5f5f", "#bf0000",
];

/// A picture: points with their kind, lines between them, and the names of the kinds.
pub(crate) struct Picture<'a> {
    pub(crate) points: Vec<(f64, f64, usize)>,
    /// Points that are squares; the others are circles.
    pub(crate) squares: Vec<usize>,
    pub(crate) lines: Vec<(usize, usize)>,
    /// Lines that are dashed.
    pub(crate) dashed: Vec<usize>,
    /// The number of each kind, and its name.
    pub(crate) kinds: Vec<(usize, &'a str)>,
    pub(crate) arrows: bool,
    pub(crate) radius: f64,
}

impl Picture<'_> {
    /// The picture as an SVG file.
    pub(crate) fn svg(&self) -> String {
        const MARGIN: f64 = 12.0;
        const LINE: f64 = 15.0;
        let width = self.points.iter().map(|point| point.0).fold(0.0, f64::max) + 2.0 * MARGIN;
        let drawn = self.points.iter().map(|point| point.1).fold(0.0, f64::max) + 2.0 * MARGIN;
        // The legend in rows below the drawing.
        let (mut legend, mut at, mut row) = (String::new(), MARGIN, 0.0);
        let wide = width.max(200.0);
        for &(kind, name) in &self.kinds {
            let length = 18.0 + 6.4 * name.len() as f64;
            if at + length > wide && at > MARGIN {
                (at, row) = (MARGIN, row + LINE);
            }
            let (y, colour) = (drawn + row + 6.0, colour(kind));
            let _ = write!(legend, "<circle cx=\"{at:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>");
            let _ = writeln!(legend, "<text x=\"{:.1}\" y=\"{:.1}\">{name}</text>", at + 7.0, y + 4.0);
            at += length;
        }
        let height = drawn + if self.kinds.is_empty() { 0.0 } else { row + LINE + 2.0 };
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {wide:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"11\" fill=\"#808080\">\n\
             <g stroke=\"#909090\" stroke-width=\"0.9\" fill=\"none\">\n"
        );
        for (line, &(from, to)) in self.lines.iter().enumerate() {
            let ((x, y, _), (a, b, _)) = (self.points[from], self.points[to]);
            let (x, y, a, b) = (x + MARGIN, y + MARGIN, a + MARGIN, b + MARGIN);
            let _ = write!(svg, "<path d=\"M{x:.1} {y:.1}L{a:.1} {b:.1}");
            if self.arrows {
                let length = (a - x).hypot(b - y).max(1e-9);
                let (u, v) = ((a - x) / length, (b - y) / length);
                let (tip_x, tip_y) = (a - u * self.radius, b - v * self.radius);
                let barb = |side: f64| (tip_x - 4.0 * u - side * 2.0 * v, tip_y - 4.0 * v + side * 2.0 * u);
                let ((c, d), (e, f)) = (barb(1.0), barb(-1.0));
                let _ = write!(svg, "M{c:.1} {d:.1}L{tip_x:.1} {tip_y:.1}L{e:.1} {f:.1}");
            }
            svg.push_str(if self.dashed.contains(&line) { "\" stroke-dasharray=\"3 2\"/>\n" } else { "\"/>\n" });
        }
        svg.push_str("</g>\n");
        for (point, &(x, y, kind)) in self.points.iter().enumerate() {
            let (x, y, radius, colour) = (x + MARGIN, y + MARGIN, self.radius, colour(kind));
            let _ = match self.squares.contains(&point) {
                true => {
                    let (left, top, side) = (x - radius, y - radius, 2.0 * radius);
                    writeln!(
                        svg,
                        "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{side}\" height=\"{side}\" fill=\"{colour}\"/>"
                    )
                }
                false => writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\"/>"),
            };
        }
        svg + &legend + "</svg>\n"
    }
}

fn colour(kind: usize) -> &'static str {
    COLOURS[kind % COLOURS.len()]
}
