//! Tables on disk: Parquet, CSV, JSON. Written beside and renamed, so that no reader meets half a file.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use polars::prelude::*;

use super::Row;

/// File formats of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Columnar and typed: what a run folder holds.
    Parquet,
    /// Comma-separated with a header.
    Csv,
    /// One array of objects.
    Json,
}

impl TableFormat {
    /// The format of a file's extension.
    pub fn of_path(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "parquet" => Some(Self::Parquet),
            "csv" => Some(Self::Csv),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// Why a table cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file system says no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The content is no table of results.
    #[error("{}: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// Why.
        source: PolarsError,
    },
    /// The extension is unknown.
    #[error("{}: unknown kind of table: use .parquet, .csv or .json", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
    },
}

/// Writes a table in the format of the file's extension.
///
/// # Errors
/// If the extension is unknown or the file cannot be written; an existing file is then left as it was.
pub fn write_table(path: &Path, rows: &[Row]) -> Result<(), TableError> {
    let format = TableFormat::of_path(path).ok_or_else(|| TableError::Extension { path: path.to_owned() })?;
    let io_error = |source| TableError::Io { path: path.to_owned(), source };
    let table_error = |source| TableError::Table { path: path.to_owned(), source };
    let beside = path.with_extension("part.tmp");
    let write = || -> Result<(), TableError> {
        let mut out = BufWriter::new(File::create(&beside).map_err(io_error)?);
        match format {
            TableFormat::Parquet => {
                let mut frame = Row::to_frame(rows).map_err(table_error)?;
                ParquetWriter::new(&mut out).finish(&mut frame).map_err(table_error)?;
            }
            TableFormat::Csv => {
                let mut frame = Row::to_frame(rows).map_err(table_error)?;
                CsvWriter::new(&mut out).finish(&mut frame).map_err(table_error)?;
            }
            TableFormat::Json => {
                serde_json::to_writer_pretty(&mut out, rows).map_err(|error| io_error(error.into()))?;
                out.write_all(b"\n").map_err(io_error)?;
            }
        }
        out.flush().map_err(io_error)?;
        out.get_ref().sync_all().map_err(io_error)?;
        fs::rename(&beside, path).map_err(io_error)
    };
    write().inspect_err(|_| {
        // The part file is of no use to anyone; that it may not exist is fine.
        let _ = fs::remove_file(&beside);
    })
}

/// Reads a table in Parquet.
///
/// # Errors
/// If the file cannot be read or misses a column.
pub fn read_table(path: &Path) -> Result<Vec<Row>, TableError> {
    let file = File::open(path).map_err(|source| TableError::Io { path: path.to_owned(), source })?;
    let table_error = |source| TableError::Table { path: path.to_owned(), source };
    let frame = ParquetReader::new(file).finish().map_err(table_error)?;
    Row::from_frame(&frame).map_err(table_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_survives_parquet_and_reads_in_csv_and_json() {
        let folder = tempfile::tempdir().unwrap();
        let rows = vec![Row { graph: "g".into(), makespan: Some(1.5), ..Row::default() }; 3];
        let path = folder.path().join("t.parquet");
        write_table(&path, &rows).unwrap();
        assert_eq!(read_table(&path).unwrap(), rows);
        let csv = folder.path().join("t.csv");
        write_table(&csv, &rows).unwrap();
        let text = fs::read_to_string(csv).unwrap();
        assert_eq!(text.lines().count(), 4);
        assert!(text.starts_with("suite,graph,cluster,"));
        let json = folder.path().join("t.json");
        write_table(&json, &rows).unwrap();
        let parsed: Vec<Row> = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
        assert_eq!(parsed, rows);
    }

    #[test]
    fn a_failed_write_leaves_nothing_behind_and_half_a_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(write_table(&folder.path().join("t.xlsx"), &[]), Err(TableError::Extension { .. })));
        assert!(write_table(&folder.path().join("missing/t.csv"), &[]).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let path = folder.path().join("t.parquet");
        write_table(&path, &[Row::default()]).unwrap();
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(matches!(read_table(&path), Err(TableError::Table { .. })));
    }
}
