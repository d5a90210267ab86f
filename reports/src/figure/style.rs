//! Sizes and colours that a figure is drawn with.

use super::drawing::{MARGIN, Paint, Stroke, Theme};
use super::font;

/// Points in a millimetre: 72 points are an inch.
pub(crate) const POINTS_PER_MM: f64 = 72.0 / 25.4;

/// How wide a figure is, how large its texts are, and on what page it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// Width in millimetres.
    pub width_mm: f64,
    /// Font size in points; no text of a figure is smaller than 6.5 points unless this is.
    pub font_pt: f64,
    /// Whose colours texts and axes have.
    pub theme: Theme,
    /// How results are laid out along their axes.
    pub scale: ScaleChoice,
    /// Whether the title stands above the figure; a paper has captions instead.
    pub titled: bool,
}

/// How results are laid out along an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScaleChoice {
    /// Equal ratios are equal lengths where values lie far apart, else equal differences.
    #[default]
    Auto,
    /// Equal differences are equal lengths.
    Linear,
    /// Equal ratios are equal lengths, as far as values are above 0.
    Log,
}

impl ScaleChoice {
    /// Whether the axis is logarithmic, if values are or are not far apart.
    pub(crate) fn is_log(self, far_apart: bool) -> bool {
        match self {
            Self::Auto => far_apart,
            Self::Linear => false,
            Self::Log => true,
        }
    }
}

impl Default for Style {
    fn default() -> Self {
        Self::double_column()
    }
}

impl Style {
    /// One column of a two-column paper: 84 mm.
    pub const fn single_column() -> Self {
        Self { width_mm: 84.0, font_pt: 6.8, theme: Theme::Light, scale: ScaleChoice::Auto, titled: true }
    }

    /// Both columns: 174 mm.
    pub const fn double_column() -> Self {
        Self { width_mm: 174.0, font_pt: 7.0, theme: Theme::Light, scale: ScaleChoice::Auto, titled: true }
    }

    /// A page in a browser, about as wide as it is: 300 mm.
    pub const fn page() -> Self {
        Self { width_mm: 300.0, font_pt: 8.5, theme: Theme::Page, scale: ScaleChoice::Auto, titled: true }
    }

    /// The same with this choice of scales.
    pub const fn with_scale(self, scale: ScaleChoice) -> Self {
        Self { scale, ..self }
    }

    /// The same for a page of this theme.
    pub const fn with_theme(self, theme: Theme) -> Self {
        Self { theme, ..self }
    }

    /// The same without a title, or with it.
    pub const fn with_title(self, titled: bool) -> Self {
        Self { titled, ..self }
    }

    /// Width in points, without the margins.
    pub(crate) fn width(&self) -> f64 {
        self.width_mm * POINTS_PER_MM - 2.0 * MARGIN
    }

    /// From line to line of text, in points.
    pub(crate) fn line(&self) -> f64 {
        self.font_pt * font::LINE
    }

    /// How wide a text is, in points.
    pub(crate) fn text_width(&self, text: &str) -> f64 {
        font::width(text, self.font_pt)
    }

    /// By how much the baseline is below the middle of capitals, in points.
    pub(crate) fn half_capital(&self) -> f64 {
        self.font_pt * font::CAPITAL / 2.0
    }
}

/// Axes.
pub(crate) const AXIS: Stroke = Stroke::solid(Paint::INK, 0.6);
/// Lines across the plot, at ticks.
pub(crate) const GRID: Stroke = Stroke::solid(Paint::ink(0.16), 0.4);
/// Edges of bars.
pub(crate) const EDGE: Stroke = Stroke::solid(Paint::INK, 0.35);
/// Error bars.
pub(crate) const WHISKER: Stroke = Stroke::solid(Paint::INK, 0.7);
