//! Plain tables as text: Markdown, LaTeX (booktabs) and CSV.

mod csv_text;
mod latex;
mod markdown;

use std::str::FromStr;

use placebench_harness::results::CsvTexts;

pub use latex::plain_label;
pub(crate) use latex::{escape as latex_text, float as latex_float};

/// A table of texts: one header, rows of as many cells.
///
/// Numbers are written before they get here, so that all formats show the same digits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextTable {
    /// Names of the columns.
    pub header: Vec<String>,
    /// The rows; a missing cell is an empty text.
    pub rows: Vec<Vec<String>>,
}

/// What a table can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// GitHub's Markdown.
    Markdown,
    /// LaTeX with the package booktabs.
    Latex,
    /// Comma-separated values with a header (RFC 4180).
    Csv,
}

impl TextFormat {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Markdown, Self::Latex, Self::Csv];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Latex => "tex",
            Self::Csv => "csv",
        }
    }
}

/// No format has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown format '{0}' of tables: use markdown, tex or csv")]
pub struct UnknownFormat(pub String);

impl FromStr for TextFormat {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        // The word until 0.1.
        let text = if text == "latex" { "tex" } else { text };
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

impl TextTable {
    /// A table without rows.
    pub fn new<T: Into<String>>(header: impl IntoIterator<Item = T>) -> Self {
        Self { header: header.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Appends a row; cells beyond the header are cut off, missing ones are empty.
    pub fn push<T: Into<String>>(&mut self, row: impl IntoIterator<Item = T>) {
        let mut row: Vec<String> = row.into_iter().map(Into::into).collect();
        row.resize(self.header.len(), String::new());
        self.rows.push(row);
    }

    /// The table in a format; `caption` and `label` are of use to LaTeX only.
    pub fn to_text(&self, format: TextFormat, caption: &str, label: &str) -> String {
        match format {
            TextFormat::Markdown => self.to_markdown(),
            TextFormat::Latex => self.to_latex(caption, label),
            TextFormat::Csv => self.to_csv(),
        }
    }

    /// Comma-separated values, a header first, with safe texts.
    pub fn to_csv(&self) -> String {
        self.to_csv_with(CsvTexts::Safe)
    }

    /// Comma-separated values, a header first.
    pub fn to_csv_with(&self, texts: CsvTexts) -> String {
        csv_text::write(self, texts)
    }

    /// GitHub's Markdown, aligned to be read as plain text too.
    pub fn to_markdown(&self) -> String {
        markdown::write(self)
    }

    /// A LaTeX `table` with booktabs rules (`\usepackage{booktabs}`); an empty caption leaves the `tabular` bare.
    /// `\ref` finds it by its label.
    pub fn to_latex(&self, caption: &str, label: &str) -> String {
        latex::write(self, caption, label)
    }

    /// Whether each column holds only numbers and empty cells: such columns are aligned right.
    pub(crate) fn numeric_columns(&self) -> Vec<bool> {
        let is_number = |text: &String| {
            let digits = text.trim_end_matches(['%', '×']);
            digits.is_empty() || digits == "-" || digits == "—" || digits.parse::<f64>().is_ok()
        };
        (0..self.header.len())
            .map(|column| !self.rows.is_empty() && self.rows.iter().all(|row| is_number(&row[column])))
            .collect()
    }
}

/// A number with as many significant digits as identify it to a reader: six, without an exponent where that is short.
pub fn number_text(value: f64) -> String {
    if !value.is_finite() {
        return String::new();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if !(-4..=14).contains(&magnitude) {
        return format!("{value:.5e}");
    }
    let decimals = (5 - magnitude).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_six_digits_and_no_empty_ones() {
        for (value, text) in
            [(0.0, "0"), (1.0, "1"), (0.012_345_678, "0.0123457"), (1_234_567.0, "1234567"), (-2.5, "-2.5")]
        {
            assert_eq!(number_text(value), text);
        }
        assert_eq!(number_text(1.5e-9), "1.50000e-9");
        assert_eq!(number_text(f64::NAN), "");
    }

    #[test]
    fn formats_are_told_by_name_and_others_refused() {
        for format in TextFormat::ALL {
            assert_eq!(format.name().parse::<TextFormat>().unwrap(), format);
        }
        let error = "xlsx".parse::<TextFormat>().unwrap_err().to_string();
        assert!(error.contains("xlsx") && error.contains("markdown"), "{error}");
    }

    #[test]
    fn a_short_row_is_filled_and_a_long_one_cut() {
        let mut table = TextTable::new(["a", "b"]);
        table.push(["1"]);
        table.push(["1", "2", "3"]);
        assert_eq!(table.rows, [["1", ""], ["1", "2"]]);
    }
}
