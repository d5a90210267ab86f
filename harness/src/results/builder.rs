//! Tables of rows that come one by one, however many.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use polars::prelude::*;
use polars_io::parquet::write::BatchedWriter;

use super::source::{GROUP_ROWS, Source};
use super::{Row, Table, TableError};

/// Writes rows to Parquet, in groups of [`GROUP_ROWS`]: the memory does not grow with the number of rows.
pub(super) struct GroupWriter<W: Write> {
    writer: BatchedWriter<W>,
    rows: Vec<Row>,
}

impl<W: Write> GroupWriter<W> {
    pub(super) fn new(out: W) -> PolarsResult<Self> {
        let schema = Row::to_frame(&[])?.schema().clone();
        Ok(Self { writer: ParquetWriter::new(out).batched(&schema)?, rows: Vec::new() })
    }

    pub(super) fn push(&mut self, row: Row) -> PolarsResult<()> {
        self.rows.push(row);
        if self.rows.len() == GROUP_ROWS { self.write_group() } else { Ok(()) }
    }

    fn write_group(&mut self) -> PolarsResult<()> {
        self.writer.write_batch(&Row::to_frame(&self.rows)?)?;
        self.rows.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> PolarsResult<()> {
        if !self.rows.is_empty() {
            self.write_group()?;
        }
        self.writer.finish().map(drop)
    }
}

/// Makes a table of rows that come one by one. The first [`GROUP_ROWS`] stay in memory. If there are more, all go to an
/// unnamed Parquet file in the folder of temporary files (`TMPDIR`): about 0.1 kB a row, and gone with the process.
pub(crate) struct TableBuilder {
    rows: Vec<Row>,
    file: Option<(File, GroupWriter<File>)>,
    folder: PathBuf,
}

impl TableBuilder {
    pub(crate) fn new() -> Self {
        Self::within(std::env::temp_dir())
    }

    fn within(folder: PathBuf) -> Self {
        Self { rows: Vec::new(), file: None, folder }
    }

    /// Adds a row behind those that are there.
    ///
    /// # Errors
    /// If the temporary file cannot be made or written.
    pub(crate) fn push(&mut self, row: Row) -> Result<(), TableError> {
        if self.file.is_none() && self.rows.len() < GROUP_ROWS {
            self.rows.push(row);
            return Ok(());
        }
        self.write(row).map_err(|error| self.fault(error))
    }

    fn write(&mut self, row: Row) -> PolarsResult<()> {
        let (_, writer) = match &mut self.file {
            Some(file) => file,
            none => {
                let file = tempfile::tempfile_in(&self.folder)?;
                let mut writer = GroupWriter::new(file.try_clone()?)?;
                std::mem::take(&mut self.rows).into_iter().try_for_each(|row| writer.push(row))?;
                none.insert((file, writer))
            }
        };
        writer.push(row)
    }

    fn fault(&self, source: PolarsError) -> TableError {
        match source {
            PolarsError::IO { error, .. } => {
                let source = std::io::Error::new(error.kind(), error);
                TableError::Io { path: self.folder.clone(), source }
            }
            source => TableError::Table { path: self.folder.clone(), source },
        }
    }

    /// The table of all rows.
    ///
    /// # Errors
    /// If the temporary file cannot be written or read.
    pub(crate) fn finish(mut self) -> Result<Table, TableError> {
        let made = match self.file.take() {
            None => Table::new(&self.rows),
            Some((file, writer)) => {
                writer.finish().and_then(|()| Source::of_file(file, &self.folder)).and_then(Table::of)
            }
        };
        made.map_err(|source| self.fault(source))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_holds_the_rows_as_they_came_in_memory_or_in_a_file_that_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        for height in [0, 1, GROUP_ROWS, GROUP_ROWS + 1, 2 * GROUP_ROWS + 3] {
            let row = |seed: usize| Row { seed: seed as u64, error: (seed == 7).then(|| "e".into()), ..Row::default() };
            let mut builder = TableBuilder::within(folder.path().to_owned());
            (0..height).for_each(|seed| builder.push(row(seed)).unwrap());
            assert_eq!(builder.file.is_some(), height > GROUP_ROWS);
            assert!(builder.rows.len() <= GROUP_ROWS);
            let table = builder.finish().unwrap();
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
            assert_eq!(table.height(), height);
            assert!(table.rows().unwrap() == (0..height).map(row).collect::<Vec<Row>>(), "{height} rows");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap().path().join("gone");
        let mut builder = TableBuilder::within(folder.clone());
        (0..GROUP_ROWS).for_each(|_| builder.push(Row::default()).unwrap());
        let error = builder.push(Row::default()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: ", folder.display())), "{error}");
    }
}
