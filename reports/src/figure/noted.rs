//! A figure with a note below it on its marks.

use super::Figure;
use super::axis::wrapped;
use super::drawing::{Anchor, Drawing};
use super::font;
use super::style::Style;
use crate::export::Table;
use crate::marks::MARK;

/// A figure with a note below it that explains its marks, in lines as wide as the figure. A figure that shows no mark has
/// no note.
pub(crate) struct Noted {
    pub(crate) figure: Box<dyn Figure>,
    pub(crate) note: String,
}

impl Figure for Noted {
    fn draw(&self, style: &Style) -> Drawing {
        let mut drawing = self.figure.draw(style);
        if !drawing.texts().any(|text| text.text.contains(MARK)) {
            return drawing;
        }
        let top = drawing.height + 3.0;
        let lines = wrapped(&self.note, drawing.width, style.font_pt);
        for (index, line) in lines.iter().enumerate() {
            let y = top + font::CAPITAL * style.font_pt + index as f64 * style.line();
            drawing.text(0.0, y, style.font_pt, Anchor::Start, line);
        }
        drawing.height = top + lines.len() as f64 * style.line() + 2.0;
        drawing
    }

    fn table(&self) -> Table {
        self.figure.table()
    }

    fn says_nothing(&self) -> Option<String> {
        self.figure.says_nothing()
    }
}
