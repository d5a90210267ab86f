//! Drawings as TikZ pictures: TeX sets their texts in the font of the paper.

use std::collections::BTreeMap;
use std::fmt::Write;

use placebench_base::printable;

use super::drawing::{Anchor, Color, Drawing, Item, MARGIN, Paint, Shape, Step, Stroke, Text, Theme};
use super::svg::{decimal, rgb};
use crate::export::latex_text;

/// A drawing has more shapes than TeX takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a picture of {shapes} shapes is more than TeX takes ({MOST_SHAPES}): choose pdf")]
pub struct TexError {
    /// How many.
    pub shapes: usize,
}

/// With its usual memory, pdflatex takes some forty thousand.
const MOST_SHAPES: usize = 20_000;

/// Texts that are longer in the paper's font than here are made as long as here, so that none meets another.
const FIT: &str = "\\def\\placebenchtext#1#2{\\setbox0\\hbox{#2}\\ifdim\\wd0>#1bp\
                   \\resizebox{#1bp}{\\height}{\\box0}\\else\\box0\\fi}%\n";

impl Drawing {
    /// The drawing as a `tikzpicture`, for `\input` into a paper with `\usepackage{tikz}`.
    ///
    /// # Errors
    /// If it has more shapes than TeX takes.
    pub fn to_tex(&self) -> Result<String, TexError> {
        let shapes = self.items.iter().map(|item| item.shapes.len()).sum();
        if shapes > MOST_SHAPES {
            return Err(TexError { shapes });
        }
        let mut picture = Picture { theme: self.theme, colors: BTreeMap::new(), body: String::new() };
        for Item { shapes, .. } in &self.items {
            for shape in shapes {
                picture.draw(shape);
            }
        }
        let mut text = format!(
            "% {}\n% Needs \\usepackage{{tikz}}. Include it with \\input.\n{{%\n{FIT}",
            printable(&self.title.replace(['\n', '\r'], " "))
        );
        for (color, name) in &picture.colors {
            let _ = writeln!(text, "\\definecolor{{{name}}}{{RGB}}{{{},{},{}}}%", color.0, color.1, color.2);
        }
        let [left, right, bottom] = [-MARGIN, self.width + MARGIN, self.height + MARGIN].map(decimal);
        let _ = write!(
            text,
            "\\begin{{tikzpicture}}[x=1bp,y=-1bp,inner sep=0pt,outer sep=0pt]\n\
             \\useasboundingbox ({left},{left}) rectangle ({right},{bottom});\n{}\\end{{tikzpicture}}}}%\n",
            picture.body
        );
        Ok(text)
    }
}

struct Picture {
    theme: Theme,
    /// The colours that occur, with their names.
    colors: BTreeMap<(u8, u8, u8), String>,
    body: String,
}

impl Picture {
    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Rect { area, fill, stroke } => {
                let [x, y, right, bottom] = [area.x, area.y, area.right(), area.bottom()].map(decimal);
                self.path(*fill, *stroke, &format!("({x},{y}) rectangle ({right},{bottom})"));
            }
            Shape::Path { steps, fill, stroke } => self.path(*fill, *stroke, &steps_text(steps)),
            Shape::Text(text) => self.text(text),
        }
    }

    fn path(&mut self, fill: Option<Paint>, stroke: Option<Stroke>, path: &str) {
        let mut options = Vec::new();
        if let Some(paint) = fill {
            options.push(format!("fill={}", self.color(paint.color)));
            options.extend((paint.opacity < 1.0).then(|| format!("fill opacity={}", decimal(paint.opacity))));
        }
        if let Some(Stroke { paint, width, dash }) = stroke {
            options.push(format!("draw={},line width={}bp", self.color(paint.color), decimal(width)));
            options.extend((paint.opacity < 1.0).then(|| format!("draw opacity={}", decimal(paint.opacity))));
            if !dash.is_empty() {
                let part = |(index, &length): (usize, &f64)| {
                    format!("{} {}bp", if index % 2 == 0 { "on" } else { "off" }, decimal(length))
                };
                let parts: Vec<String> = dash.iter().enumerate().map(part).collect();
                options.push(format!("dash pattern={}", parts.join(" ")));
            }
        }
        let _ = writeln!(self.body, "\\path[{}] {path};", options.join(","));
    }

    fn text(&mut self, text: &Text) {
        let anchor = match text.anchor {
            Anchor::Start => "base west",
            Anchor::Middle => "base",
            Anchor::End => "base east",
        };
        let rotate = if text.upwards { ",rotate=90" } else { "" };
        let color = self.color(text.paint.color);
        let [x, y, size, line] = [text.x, text.y, text.size, text.size * 1.2].map(decimal);
        // A little room: fonts of the same width do not measure the same to the last digit.
        let length = decimal(text.length() * 1.02);
        let _ = writeln!(
            self.body,
            "\\node[anchor={anchor}{rotate},text={color},font=\\fontsize{{{size}bp}}{{{line}bp}}\\selectfont] at ({x},{y}) \
             {{\\placebenchtext{{{length}}}{{{}}}}};",
            latex_text(&text.text)
        );
    }

    fn color(&mut self, color: Color) -> String {
        let next = format!("placebench{}", self.colors.len());
        self.colors.entry(rgb(color, self.theme)).or_insert(next).clone()
    }
}

fn steps_text(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        let _ = match *step {
            Step::Move(x, y) => write!(text, "({},{})", decimal(x), decimal(y)),
            Step::Line(x, y) => write!(text, "--({},{})", decimal(x), decimal(y)),
            Step::Curve(x1, y1, x2, y2, x, y) => {
                let [x1, y1, x2, y2, x, y] = [x1, y1, x2, y2, x, y].map(decimal);
                write!(text, "..controls({x1},{y1})and({x2},{y2})..({x},{y})")
            }
            Step::Close => write!(text, "--cycle "),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::TextTable;
    use crate::figure::Area;

    #[test]
    fn a_picture_has_its_shapes_at_their_places_and_its_texts_as_tex_reads_them() {
        let mut drawing =
            Drawing::new(100.0, Theme::Light, "50 % \\input{x}\n\u{1b}[2Jof".into(), TextTable::new(["a"]));
        drawing.height = 40.0;
        let edge = Stroke { dash: &[4.0, 1.6], ..Stroke::solid(Paint::INK, 0.5) };
        drawing.add(Shape::Rect {
            area: Area::new(1.0, 2.0, 3.0, 4.5),
            fill: Some(Paint { color: Color::Rgb(255, 0, 7), opacity: 0.5 }),
            stroke: Some(edge),
        });
        drawing.text_upwards(5.0, 6.0, 7.0, Anchor::End, "a_b & c");
        let text = drawing.to_tex().unwrap();
        for expected in [
            "% 50 % \\input{x} \\u{1b}[2Jof\n",
            "\\definecolor{placebench0}{RGB}{255,0,7}%",
            "\\useasboundingbox (-2,-2) rectangle (102,42);",
            "\\path[fill=placebench0,fill opacity=0.5,draw=placebench1,line width=0.5bp,dash pattern=on 4bp off 1.6bp] (1,2) \
             rectangle (4,6.5);",
            "\\node[anchor=base east,rotate=90,text=placebench1,font=\\fontsize{7bp}{8.4bp}\\selectfont] at (5,6)",
            "{a\\_b \\& c}};",
        ] {
            assert!(text.contains(expected), "{expected} of\n{text}");
        }
        let many = vec![Shape::Text(drawing.texts().next().unwrap().clone()); MOST_SHAPES];
        drawing.items.push(Item { datum: None, shapes: many });
        assert_eq!(drawing.to_tex(), Err(TexError { shapes: MOST_SHAPES + 2 }));
    }
}
