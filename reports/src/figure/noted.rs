//! A figure with a note below it on its marks.

use super::Figure;
use super::axis::draw_note;
use super::drawing::Drawing;
use super::style::Style;
use crate::export::TextTable;
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
        drawing.height = draw_note(&mut drawing, top, &self.note, style) + 2.0;
        drawing
    }

    fn table(&self) -> TextTable {
        self.figure.table()
    }

    fn says_nothing(&self) -> Option<String> {
        self.figure.says_nothing()
    }
}
