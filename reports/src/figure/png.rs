//! Drawings as pixels. Texts are drawn from the outlines of the font that is part of the program, so that the picture is
//! the same on every machine.

use tiny_skia::{FillRule, PathBuilder, Pixmap, Rect, StrokeDash, Transform};

use super::drawing::{Color, Drawing, MARGIN, Paint, Shape, Step, Stroke};
use super::svg::rgb;

/// Why a drawing cannot be made pixels.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PngError {
    /// The picture would be larger than a decoder takes, or empty.
    #[error("a picture of {width:.0} by {height:.0} pixels cannot be made: choose another scale")]
    Size {
        /// Width in pixels.
        width: f64,
        /// Height in pixels.
        height: f64,
    },
    /// The encoder failed.
    #[error("the picture cannot be encoded: {0}")]
    Encoding(String),
}

/// The most pixels on a side: 16384 by 16384 pixels are 1 GiB.
const MOST_PIXELS: f64 = 16_384.0;

impl Drawing {
    /// The drawing as PNG with `scale` pixels a point: 300 dots per inch are 300/72.
    ///
    /// # Errors
    /// If the picture would have no pixel, or more than 16384 on a side.
    pub fn to_png(&self, scale: f64) -> Result<Vec<u8>, PngError> {
        let pixels = |length: f64| ((length + 2.0 * MARGIN) * scale).round();
        let (width, height) = (pixels(self.width), pixels(self.height));
        let size_error = || PngError::Size { width, height };
        if !(width >= 1.0 && height >= 1.0 && width <= MOST_PIXELS && height <= MOST_PIXELS) {
            return Err(size_error());
        }
        let mut pixmap = Pixmap::new(width as u32, height as u32).ok_or_else(size_error)?;
        let paper = self.paint(Paint::PAPER);
        if let tiny_skia::Shader::SolidColor(color) = paper.shader {
            pixmap.fill(color);
        }
        let to_pixels = Transform::from_scale(scale as f32, scale as f32).pre_translate(MARGIN as f32, MARGIN as f32);
        for shape in self.items.iter().flat_map(|item| &item.shapes) {
            self.draw(&mut pixmap, shape, to_pixels);
        }
        pixmap.encode_png().map_err(|error| PngError::Encoding(error.to_string()))
    }

    fn draw(&self, pixmap: &mut Pixmap, shape: &Shape, to_pixels: Transform) {
        let (path, fill, stroke) = match shape {
            Shape::Rect { area, fill, stroke } => {
                let rect = Rect::from_xywh(area.x as f32, area.y as f32, area.width as f32, area.height as f32);
                (rect.map(PathBuilder::from_rect), *fill, *stroke)
            }
            Shape::Path { steps, fill, stroke } => (path_of(steps), *fill, *stroke),
            Shape::Text(text) => (path_of(&text.outline()), Some(text.paint), None),
        };
        // Nothing to be seen, such as a rectangle without area, is no path.
        let Some(path) = path else { return };
        if let Some(fill) = fill {
            pixmap.fill_path(&path, &self.paint(fill), FillRule::Winding, to_pixels, None);
        }
        if let Some(stroke) = stroke {
            pixmap.stroke_path(&path, &self.paint(stroke.paint), &pen(stroke), to_pixels, None);
        }
    }

    fn paint(&self, paint: Paint) -> tiny_skia::Paint<'static> {
        let (red, green, blue) = rgb(paint.color, self.theme);
        let mut own = tiny_skia::Paint::default();
        own.set_color_rgba8(red, green, blue, (paint.opacity * 255.0).round() as u8);
        own.anti_alias = paint.color != Color::Paper || paint.opacity < 1.0;
        own
    }
}

fn pen(stroke: Stroke) -> tiny_skia::Stroke {
    let dash = stroke.dash.iter().map(|&length| length as f32).collect::<Vec<_>>();
    tiny_skia::Stroke { width: stroke.width as f32, dash: StrokeDash::new(dash, 0.0), ..tiny_skia::Stroke::default() }
}

fn path_of(steps: &[Step]) -> Option<tiny_skia::Path> {
    let mut builder = PathBuilder::new();
    for step in steps {
        match *step {
            Step::Move(x, y) => builder.move_to(x as f32, y as f32),
            Step::Line(x, y) => builder.line_to(x as f32, y as f32),
            Step::Curve(x1, y1, x2, y2, x, y) => {
                builder.cubic_to(x1 as f32, y1 as f32, x2 as f32, y2 as f32, x as f32, y as f32);
            }
            Step::Close => builder.close(),
        }
    }
    builder.finish()
}
