//! The class `Figure`.

use std::path::PathBuf;

use placebench::reports::figure::{self, Drawing, NamedFigure, Style, Theme};
use pyo3::prelude::*;

use crate::fault::fault;
use crate::file::write_whole;

/// A figure: vectors, pixels and data. A notebook shows it.
#[pyclass(frozen, module = "placebench")]
pub(crate) struct Figure {
    name: String,
    caption: String,
    drawing: Drawing,
}

/// How figures look, as the options of `placebench figure`.
///
/// # Errors
/// If a word is unknown.
pub(crate) fn style_of(width: &str, page: &str) -> PyResult<Style> {
    let style = match width {
        "single" => Style::single_column(),
        "double" => Style::double_column(),
        other => return Err(fault(format!("width is '{other}': use single (84 mm) or double (174 mm)"))),
    };
    match page {
        "light" => Ok(style.with_theme(Theme::Light)),
        "dark" => Ok(style.with_theme(Theme::Dark)),
        other => Err(fault(format!("page is '{other}': use light or dark"))),
    }
}

impl Figure {
    /// Draws a figure.
    pub(crate) fn of(name: String, caption: String, figure: &dyn figure::Figure, style: &Style) -> Self {
        Self { name, caption, drawing: figure.draw(style) }
    }

    /// Draws a figure that has its name.
    pub(crate) fn named(figure: NamedFigure, style: &Style) -> Self {
        Self::of(figure.name, figure.caption, &*figure.figure, style)
    }

    /// The figure as SVG.
    pub(crate) fn to_svg(&self) -> String {
        self.drawing.to_svg()
    }
}

#[pymethods]
impl Figure {
    /// A name for files.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// What it shows, in one sentence.
    #[getter]
    fn caption(&self) -> &str {
        &self.caption
    }

    /// The figure as SVG. With `outlines` texts are paths, for programs that lack the font.
    #[pyo3(signature = (*, outlines=false))]
    fn svg(&self, outlines: bool) -> String {
        if outlines { self.drawing.outlined().to_svg() } else { self.to_svg() }
    }

    /// The figure as PNG.
    #[pyo3(signature = (*, dpi=300))]
    fn png(&self, dpi: u32) -> PyResult<Vec<u8>> {
        if !(36..=2400).contains(&dpi) {
            return Err(fault(format!("dpi is {dpi}: give 36 to 2400")));
        }
        self.drawing.to_png(f64::from(dpi) / 72.0).map_err(fault)
    }

    /// The figure's data as CSV.
    fn csv(&self) -> String {
        self.drawing.table().to_csv()
    }

    /// Writes the figure, or its data, by the path's extension: `.svg`, `.png`, `.pdf`, `.tex` (a TikZ picture) or `.csv`.
    #[pyo3(signature = (path, *, dpi=300))]
    fn save(&self, path: PathBuf, dpi: u32) -> PyResult<()> {
        let bytes = match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => self.to_svg().into_bytes(),
            Some("png") => self.png(dpi)?,
            Some("pdf") => self.drawing.to_pdf(),
            Some("tex") => self.drawing.to_tex().map_err(fault)?.into_bytes(),
            Some("csv") => self.csv().into_bytes(),
            _ => {
                let kinds = ".svg, .png, .pdf, .tex or .csv";
                return Err(fault(format!("{}: unknown kind of figure: use {kinds}", path.display())));
            }
        };
        write_whole(&path, &bytes)
    }

    fn _repr_svg_(&self) -> String {
        self.to_svg()
    }

    fn __repr__(&self) -> String {
        format!("<placebench.Figure '{}': {}>", self.name, self.caption)
    }
}
