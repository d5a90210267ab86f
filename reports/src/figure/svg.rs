//! Drawings as SVG 1.1.

use std::fmt::Write;

use super::drawing::{Anchor, Color, Datum, Drawing, Item, MARGIN, Paint, Shape, Step, Stroke, Text, Theme};
use super::font;
use super::look::line_color;
use super::style::POINTS_PER_MM;

impl Drawing {
    /// The drawing as SVG, sized in millimetres: a document of its own that may also stand within HTML.
    ///
    /// Marks are `<g class="mark" data-key="…">` with a `<title>`, which viewers show when the mouse rests on it. Nothing
    /// in it has an id, so that many may stand in one page.
    pub fn to_svg(&self) -> String {
        let (width, height) = (self.width + 2.0 * MARGIN, self.height + 2.0 * MARGIN);
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}mm\" height=\"{}mm\" viewBox=\"{} {} {} {}\" role=\"img\" \
             font-family=\"{}\"",
            decimal(width / POINTS_PER_MM),
            decimal(height / POINTS_PER_MM),
            decimal(-MARGIN),
            decimal(-MARGIN),
            decimal(width),
            decimal(height),
            font::FAMILY
        );
        let _ = writeln!(out, " aria-label=\"{}\">", escape(&self.title));
        if self.theme != Theme::Page {
            let paper = color(Color::Paper, self.theme);
            let [left, width, height] = [-MARGIN, width, height].map(decimal);
            let _ = writeln!(
                out,
                "<rect x=\"{left}\" y=\"{left}\" width=\"{width}\" height=\"{height}\" fill=\"{paper}\"/>"
            );
        }
        for item in &self.items {
            self.write_item(&mut out, item);
        }
        out.push_str("</svg>\n");
        out
    }

    fn write_item(&self, out: &mut String, item: &Item) {
        if let Some(Datum { key, title }) = &item.datum {
            let _ = write!(out, "<g class=\"mark\" data-key=\"{}\"><title>{}</title>", escape(key), escape(title));
        }
        for shape in &item.shapes {
            self.write_shape(out, shape);
        }
        out.push_str(if item.datum.is_some() { "</g>\n" } else { "\n" });
    }

    fn write_shape(&self, out: &mut String, shape: &Shape) {
        match shape {
            Shape::Rect { area, fill, stroke } => {
                let _ = write!(
                    out,
                    "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
                    decimal(area.x),
                    decimal(area.y),
                    decimal(area.width),
                    decimal(area.height)
                );
                self.write_paints(out, *fill, *stroke);
                out.push_str("/>");
            }
            Shape::Path { steps, fill, stroke } => {
                out.push_str("<path d=\"");
                write_steps(out, steps);
                out.push('"');
                self.write_paints(out, *fill, *stroke);
                out.push_str("/>");
            }
            Shape::Text(text) => self.write_text(out, text),
        }
    }

    fn write_text(&self, out: &mut String, text: &Text) {
        let (x, y) = (decimal(text.x), decimal(text.y));
        let _ = write!(out, "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"", decimal(text.size));
        match text.anchor {
            Anchor::Start => {}
            Anchor::Middle => out.push_str(" text-anchor=\"middle\""),
            Anchor::End => out.push_str(" text-anchor=\"end\""),
        }
        if text.upwards {
            let _ = write!(out, " transform=\"rotate(-90 {x} {y})\"");
        }
        if text.text.chars().count() > 1 {
            // Whatever font the viewer has: the text is as long as it was measured.
            let _ = write!(out, " textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", decimal(text.length()));
        }
        self.write_paints(out, Some(text.paint), None);
        let _ = write!(out, ">{}</text>", escape(&text.text));
    }

    fn write_paints(&self, out: &mut String, fill: Option<Paint>, stroke: Option<Stroke>) {
        match fill {
            None => out.push_str(" fill=\"none\""),
            Some(fill) => self.write_paint(out, "fill", fill),
        }
        let Some(stroke) = stroke else { return };
        self.write_paint(out, "stroke", stroke.paint);
        let _ = write!(out, " stroke-width=\"{}\"", decimal(stroke.width));
        if !stroke.dash.is_empty() {
            let dash: Vec<String> = stroke.dash.iter().map(|&length| decimal(length)).collect();
            let _ = write!(out, " stroke-dasharray=\"{}\"", dash.join(" "));
        }
    }

    fn write_paint(&self, out: &mut String, what: &str, paint: Paint) {
        let color = color(paint.color, self.theme);
        let _ = write!(out, " {what}=\"{color}\"");
        if paint.opacity < 1.0 {
            let _ = write!(out, " {what}-opacity=\"{}\"", decimal(paint.opacity));
        }
    }
}

fn write_steps(out: &mut String, steps: &[Step]) {
    for step in steps {
        let _ = match *step {
            Step::Move(x, y) => write!(out, "M{} {}", decimal(x), decimal(y)),
            Step::Line(x, y) => write!(out, "L{} {}", decimal(x), decimal(y)),
            Step::Curve(x1, y1, x2, y2, x, y) => {
                let numbers = [x1, y1, x2, y2, x, y].map(decimal);
                write!(out, "C{}", numbers.join(" "))
            }
            Step::Close => write!(out, "Z"),
        };
    }
}

/// The colour in a theme; in that of a page, those that depend on the page are left to it.
fn color(color: Color, theme: Theme) -> String {
    let (red, green, blue) = rgb(color, theme);
    let hex = format!("#{red:02x}{green:02x}{blue:02x}");
    match (color, theme) {
        (Color::Ink, Theme::Page) => "currentColor".to_owned(),
        (Color::Paper, Theme::Page) => format!("var(--figure-paper,{hex})"),
        (Color::Faint, Theme::Page) => format!("var(--figure-faint,{hex})"),
        (Color::Loud, Theme::Page) => format!("var(--figure-loud,{hex})"),
        (Color::Calm, Theme::Page) => format!("var(--figure-calm,{hex})"),
        _ => hex,
    }
}

/// Red, green and blue of a colour in a theme.
pub(super) fn rgb(color: Color, theme: Theme) -> (u8, u8, u8) {
    match (color, theme) {
        (Color::Rgb(red, green, blue), _) => (red, green, blue),
        (Color::Line(red, green, blue), _) => line_color((red, green, blue), theme),
        (Color::Ink, Theme::Light | Theme::Page) => (0x1a, 0x1a, 0x1a),
        (Color::Ink, Theme::Dark) => (0xe8, 0xe8, 0xe8),
        (Color::Faint, Theme::Light) => (0xd4, 0xd4, 0xd4),
        (Color::Faint, Theme::Page) => (0xa8, 0xa8, 0xa8),
        (Color::Faint, Theme::Dark) => (0x44, 0x47, 0x4d),
        (Color::Loud, Theme::Light | Theme::Page) => (0xc8, 0x50, 0x1e),
        (Color::Loud, Theme::Dark) => (0xa3, 0x44, 0x1a),
        (Color::Calm, Theme::Light | Theme::Page) => (0x3a, 0x86, 0xc8),
        (Color::Calm, Theme::Dark) => (0x1f, 0x5c, 0x96),
        (Color::Paper, Theme::Light | Theme::Page) => (0xff, 0xff, 0xff),
        (Color::Paper, Theme::Dark) => (0x16, 0x18, 0x1c),
    }
}

/// A number with at most two decimals: a hundredth of a point is finer than any printer.
pub(super) fn decimal(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            // XML 1.0 has no other control characters, not even escaped.
            other if (other as u32) < 0x20 && other != '\t' => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}
