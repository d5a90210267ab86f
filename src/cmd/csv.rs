//! `--raw-csv`: texts in CSV as they are.

use placebench::harness::results::CsvTexts;

/// The option `--raw-csv`.
#[derive(clap::Args, Clone, Copy, Default)]
pub(crate) struct CsvArgs {
    /// Writes texts into CSV as they are. By default, one that a spreadsheet would run as a formula gets a ' in front.
    #[arg(long)]
    raw_csv: bool,
}

impl CsvArgs {
    /// How texts are written.
    pub(crate) fn texts(self) -> CsvTexts {
        if self.raw_csv { CsvTexts::Raw } else { CsvTexts::Safe }
    }
}
