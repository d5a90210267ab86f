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
    /// Refuses the option where nothing is written as CSV.
    ///
    /// # Errors
    /// If it is given and `is_written` is false.
    pub(crate) fn check(self, is_written: bool) -> anyhow::Result<()> {
        if self.raw_csv && !is_written {
            anyhow::bail!("--raw-csv is about CSV, and none is written here: leave it out");
        }
        Ok(())
    }

    /// How texts are written.
    pub(crate) fn texts(self) -> CsvTexts {
        if self.raw_csv { CsvTexts::Raw } else { CsvTexts::Safe }
    }
}
