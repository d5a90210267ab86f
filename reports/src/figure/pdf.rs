//! Drawings as PDF: a page of the figure's size, with vectors and the font in it, so that texts can be searched and
//! printers need no font of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str, TextStr};

use super::drawing::{Area, Drawing, MARGIN, Paint, Shape, Step, Stroke, Text};
use super::font;
use super::svg::rgb;

const FONT: Name = Name(b"F");
/// Six letters before the name say that the font is a subset.
const FONT_NAME: Name = Name(b"ARIMOS+Arimo");
const SYSTEM: SystemInfo = SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

impl Drawing {
    /// The drawing as PDF 1.7, one page as large as the figure. The same drawing gives the same bytes.
    ///
    /// # Complexity
    /// O(shapes).
    pub fn to_pdf(&self) -> Vec<u8> {
        let mut page = Page::of(self);
        page.paint_paper();
        for shape in self.items.iter().flat_map(|item| &item.shapes) {
            page.draw(shape);
        }
        document(self, page)
    }
}

/// Objects of the document, by number.
const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const INFO: Ref = Ref::new(5);
const TYPE0: Ref = Ref::new(6);
const CID: Ref = Ref::new(7);
const DESCRIPTOR: Ref = Ref::new(8);
const FILE: Ref = Ref::new(9);
const UNICODE: Ref = Ref::new(10);

fn document(drawing: &Drawing, page: Page<'_>) -> Vec<u8> {
    let mut pdf = Pdf::new();
    pdf.catalog(CATALOG).pages(PAGES);
    pdf.pages(PAGES).kids([PAGE]).count(1);
    pdf.document_info(INFO).title(TextStr(&drawing.title)).producer(TextStr("placebench"));
    let [width, height] = [drawing.width, drawing.height].map(|length| rounded(length + 2.0 * MARGIN));
    let mut leaf = pdf.page(PAGE);
    leaf.parent(PAGES).media_box(Rect::new(0.0, 0.0, width, height)).contents(CONTENT);
    let mut resources = leaf.resources();
    resources.fonts().pair(FONT, TYPE0);
    let mut states = resources.ext_g_states();
    for (name, (what, opacity)) in &page.states {
        let mut state = states.insert(Name(name.as_bytes())).start::<pdf_writer::writers::ExtGraphicsState<'_>>();
        match what {
            Part::Inside => state.non_stroking_alpha(*opacity),
            Part::Line => state.stroking_alpha(*opacity),
        };
    }
    states.finish();
    resources.finish();
    leaf.finish();
    pdf.stream(CONTENT, &compressed(&page.content.finish())).filter(Filter::FlateDecode);
    write_font(&mut pdf);
    pdf.finish()
}

fn write_font(pdf: &mut Pdf) {
    let per_mille = |units: f64| rounded(units / font::UNITS * 1000.0);
    let mut type0 = pdf.type0_font(TYPE0);
    type0.base_font(FONT_NAME).encoding_predefined(Name(b"Identity-H")).descendant_font(CID).to_unicode(UNICODE);
    type0.finish();
    // A glyph that stands for several characters is read as the first of them.
    let mut glyphs: BTreeMap<u16, (char, f32)> = BTreeMap::new();
    for (&character, glyph) in font::GLYPHS.iter() {
        glyphs.entry(glyph.id).or_insert((character, per_mille(glyph.advance)));
    }
    let mut cid = pdf.cid_font(CID);
    cid.subtype(CidFontType::Type2).base_font(FONT_NAME).system_info(SYSTEM).font_descriptor(DESCRIPTOR);
    cid.default_width(1000.0).cid_to_gid_map_predefined(Name(b"Identity"));
    let mut widths = cid.widths();
    for (&id, &(_, advance)) in &glyphs {
        widths.consecutive(id, [advance]);
    }
    widths.finish();
    cid.finish();
    let mut unicode = UnicodeCmap::new(Name(b"Arimo"), SYSTEM);
    for (&id, &(character, _)) in &glyphs {
        unicode.pair(id, character);
    }
    pdf.stream(UNICODE, &compressed(&unicode.finish())).filter(Filter::FlateDecode);
    let mut descriptor = pdf.font_descriptor(DESCRIPTOR);
    // As the font file has them, in units of 1/2048 em.
    let [left, low, right, high, ascent, descent, capital] =
        [-1114.0, -797.0, 5728.0, 2136.0, 1854.0, -434.0, 1409.0].map(per_mille);
    descriptor.name(FONT_NAME).flags(FontFlags::NON_SYMBOLIC).bbox(Rect::new(left, low, right, high));
    descriptor.italic_angle(0.0).ascent(ascent).descent(descent).cap_height(capital).stem_v(80.0).font_file2(FILE);
    descriptor.finish();
    let file = compressed(font::FILE);
    let mut stream = pdf.stream(FILE, &file);
    stream.filter(Filter::FlateDecode);
    stream.pair(Name(b"Length1"), font::FILE.len() as i32);
}

/// Bytes as zlib packs them; writing to memory cannot fail.
fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

/// A hundredth of a point is finer than any printer.
fn rounded(value: f64) -> f32 {
    ((value * 100.0).round() / 100.0) as f32
}

/// What an opacity is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Inside,
    Line,
}

/// What stands on the page, y upwards.
struct Page<'a> {
    drawing: &'a Drawing,
    content: Content,
    /// The opacities that occur, by the names of their states.
    states: BTreeMap<String, (Part, f32)>,
    /// The states that hold now.
    now: BTreeSet<String>,
}

impl<'a> Page<'a> {
    fn of(drawing: &'a Drawing) -> Self {
        Self { drawing, content: Content::new(), states: BTreeMap::new(), now: BTreeSet::new() }
    }

    /// From the figure's corner at the top to the page's corner at the bottom.
    fn place(&self, x: f64, y: f64) -> (f32, f32) {
        (rounded(x + MARGIN), rounded(self.drawing.height + MARGIN - y))
    }

    fn paint_paper(&mut self) {
        let Drawing { width, height, .. } = *self.drawing;
        let area = Area::new(-MARGIN, -MARGIN, width + 2.0 * MARGIN, height + 2.0 * MARGIN);
        self.draw(&Shape::Rect { area, fill: Some(Paint::PAPER), stroke: None });
    }

    fn draw(&mut self, shape: &Shape) {
        match shape {
            Shape::Rect { area, fill, stroke } => self.draw_path(*fill, *stroke, |page| {
                let ((left, bottom), (right, top)) =
                    (page.place(area.x, area.bottom()), page.place(area.right(), area.y));
                page.content.rect(left, bottom, right - left, top - bottom);
            }),
            Shape::Path { steps, fill, stroke } => self.draw_path(*fill, *stroke, |page| page.follow(steps)),
            Shape::Text(text) => self.draw_text(text),
        }
    }

    /// Fills what `follow` goes along, then draws its line.
    fn draw_path(&mut self, fill: Option<Paint>, stroke: Option<Stroke>, follow: impl Fn(&mut Self)) {
        if let Some(fill) = fill {
            self.set_fill(fill);
            follow(self);
            self.content.fill_nonzero();
        }
        if let Some(stroke) = stroke {
            self.set_opacity(Part::Line, stroke.paint.opacity);
            let [red, green, blue] = self.parts(stroke.paint);
            self.content.set_stroke_rgb(red, green, blue).set_line_width(rounded(stroke.width));
            self.content.set_dash_pattern(stroke.dash.iter().map(|&length| rounded(length)), 0.0);
            follow(self);
            self.content.stroke();
        }
    }

    fn follow(&mut self, steps: &[Step]) {
        for step in steps {
            match *step {
                Step::Move(x, y) => {
                    let (x, y) = self.place(x, y);
                    self.content.move_to(x, y);
                }
                Step::Line(x, y) => {
                    let (x, y) = self.place(x, y);
                    self.content.line_to(x, y);
                }
                Step::Curve(x1, y1, x2, y2, x, y) => {
                    let [(x1, y1), (x2, y2), (x, y)] = [(x1, y1), (x2, y2), (x, y)].map(|(x, y)| self.place(x, y));
                    self.content.cubic_to(x1, y1, x2, y2, x, y);
                }
                Step::Close => {
                    self.content.close_path();
                }
            }
        }
    }

    fn draw_text(&mut self, text: &Text) {
        self.set_fill(text.paint);
        let before = text.before();
        let (x, y) = match text.upwards {
            false => self.place(text.x - before, text.y),
            true => self.place(text.x, text.y + before),
        };
        let matrix = if text.upwards { [0.0, 1.0, -1.0, 0.0, x, y] } else { [1.0, 0.0, 0.0, 1.0, x, y] };
        let glyphs: Vec<u8> = text.text.chars().flat_map(|character| font::glyph(character).id.to_be_bytes()).collect();
        self.content.begin_text().set_font(FONT, text.size as f32).set_text_matrix(matrix).show(Str(&glyphs));
        self.content.end_text();
    }

    fn set_fill(&mut self, paint: Paint) {
        self.set_opacity(Part::Inside, paint.opacity);
        let [red, green, blue] = self.parts(paint);
        self.content.set_fill_rgb(red, green, blue);
    }

    fn parts(&self, paint: Paint) -> [f32; 3] {
        let (red, green, blue) = rgb(paint.color, self.drawing.theme);
        [red, green, blue].map(|part| (f32::from(part) / 255.0 * 1000.0).round() / 1000.0)
    }

    /// An opacity holds until it is set again.
    fn set_opacity(&mut self, what: Part, opacity: f64) {
        let letter = if what == Part::Inside { 'i' } else { 'l' };
        let name = format!("{letter}{:.0}", opacity * 1000.0);
        if self.now.contains(&name) {
            return;
        }
        self.now.retain(|other| !other.starts_with(letter));
        self.content.set_parameters(Name(name.as_bytes()));
        self.states.insert(name.clone(), (what, rounded(opacity)));
        self.now.insert(name);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::export::TextTable;
    use crate::figure::{Anchor, Theme};

    /// The drawing operators of a page.
    fn operators(pdf: &[u8]) -> String {
        let after = |from: usize, mark: &[u8]| {
            pdf[from..].windows(mark.len()).position(|window| window == mark).unwrap() + from + mark.len()
        };
        let start = after(after(0, b"4 0 obj"), b"stream\n");
        let mut text = String::new();
        flate2::read::ZlibDecoder::new(&pdf[start..]).read_to_string(&mut text).unwrap();
        text
    }

    fn drawing() -> Drawing {
        let mut drawing = Drawing::new(100.0, Theme::Light, "über 1 & 2".into(), TextTable::new(["a"]));
        drawing.height = 50.0;
        let paint = Paint::ink(0.5);
        drawing.add(Shape::Rect { area: Area::new(10.0, 20.0, 30.0, 5.0), fill: Some(paint), stroke: None });
        let dash = Stroke { dash: &[4.0, 1.6], ..Stroke::solid(Paint::INK, 0.7) };
        drawing.line((0.0, 0.0), (100.0, 50.0), dash);
        drawing.text(50.0, 40.0, 7.0, Anchor::End, "H");
        drawing.text_upwards(5.0, 40.0, 7.0, Anchor::Start, "i");
        drawing
    }

    #[test]
    fn shapes_stand_where_they_were_drawn_from_the_lower_left_corner() {
        let drawing = drawing();
        let pdf = drawing.to_pdf();
        assert!(pdf.starts_with(b"%PDF-1.7") && pdf.trim_ascii_end().ends_with(b"%%EOF"));
        assert_eq!(pdf, drawing.to_pdf());
        let text = operators(&pdf);
        // 50 points high with margins of 2: y is 52 − y; H is 1479 / 2048 · 7 = 5.06 points wide.
        for expected in [
            "12 27 30 5 re",
            "2 52 m\n102 2 l",
            "[4 1.6] 0 d",
            "1 0 0 1 46.94 12 Tm",
            "0 1 -1 0 7 12 Tm",
            "/i500 gs",
            "/i1000 gs",
        ] {
            assert!(text.contains(expected), "{expected} of\n{text}");
        }
        let id = font::glyph('H').id;
        assert!(id < 256 && text.contains("/F 7 Tf"), "{text}");
    }

    #[test]
    fn a_page_of_a_dark_theme_is_dark() {
        let dark = Drawing { theme: Theme::Dark, ..drawing() };
        assert!(operators(&dark.to_pdf()).starts_with("/i1000 gs\n0.086 0.094 0.11 rg\n0 0 104 54 re\nf"));
    }
}
