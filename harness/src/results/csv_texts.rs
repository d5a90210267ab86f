//! Texts in CSV that a spreadsheet would take for formulas.

use std::borrow::Cow;

/// How texts are written into CSV.
///
/// A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@` as a formula, whether it is quoted or not, and a name in a
/// table may come from anyone. The usual remedy is an apostrophe in front, which spreadsheets do not show.
///
/// # Reference
/// OWASP: CSV Injection. <https://owasp.org/www-community/attacks/CSV_Injection>
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CsvTexts {
    /// With an apostrophe before what begins as a formula does. [`as_written`](Self::as_written) takes it off.
    #[default]
    Safe,
    /// As they are.
    Raw,
}

impl CsvTexts {
    /// The text as a cell. Numbers, percentages and a lone `-` stay. So that every text can be read back, one that begins with
    /// apostrophes and then as a formula gets one more.
    pub fn cell(self, text: &str) -> Cow<'_, str> {
        match self == Self::Safe && begins_formula(text.trim_start_matches('\'')) && !is_harmless(text) {
            true => Cow::Owned(format!("'{text}")),
            false => Cow::Borrowed(text),
        }
    }

    /// The text of a cell that [`cell`](Self::cell) made safe. A raw cell stays as it is, unless it begins with an apostrophe
    /// and then as a formula.
    pub fn as_written(cell: &str) -> &str {
        match cell.strip_prefix('\'') {
            Some(text) if begins_formula(text.trim_start_matches('\'')) => text,
            _ => cell,
        }
    }
}

fn begins_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n'])
}

fn is_harmless(text: &str) -> bool {
    text == "-" || text.trim_end_matches(['%', '×']).parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_that_begin_as_formulas_do_get_an_apostrophe_and_numbers_stay() {
        for text in ["=1+1", "+x", "-x", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "=cmd|' /C calc'!A0", "-1+1"] {
            assert_eq!(CsvTexts::Safe.cell(text), format!("'{text}"));
            assert_eq!(CsvTexts::Raw.cell(text), text);
        }
        for text in ["", "-", "-1.5", "+3", "-2e-9", "-5%", "heft", "a=1", "'", "'quoted'", " =1"] {
            assert_eq!(CsvTexts::Safe.cell(text), text);
            assert_eq!(CsvTexts::as_written(text), text);
        }
        assert_eq!(CsvTexts::Safe.cell("'=1"), "''=1");
    }

    proptest! {
        #[test]
        fn every_text_reads_back(text in "['=+@\t\r\n1a-]{0,6}") {
            let cell = CsvTexts::Safe.cell(&text);
            prop_assert_eq!(CsvTexts::as_written(&cell), text.as_str());
        }
    }
}
