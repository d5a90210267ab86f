//! Writes tables to disk: Parquet, CSV, JSON. Written beside and renamed, so that no reader meets half a file.

use std::io::{self, Write};
use std::path::Path;

use placebench_datasets::format::write_whole;
use polars::prelude::*;
use serde::Serializer;
use serde::ser::SerializeSeq;

use super::builder::GroupWriter;
use super::table_error::TableError;
use super::{CsvTexts, Row, Table};

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

/// Writes rows as a table in the format of the file's extension, in CSV with safe texts.
///
/// # Errors
/// As [`save_table`].
pub fn write_table(path: &Path, rows: &[Row]) -> Result<(), TableError> {
    let table = Table::new(rows).map_err(|source| TableError::Table { path: path.to_owned(), source })?;
    save_table(path, &table, CsvTexts::Safe)
}

/// Writes a table in the format of the file's extension, some rows at a time; `texts` is about CSV.
///
/// # Errors
/// If the extension is unknown, the table cannot be read or the file cannot be written; an existing file is then left as it
/// was.
pub fn save_table(path: &Path, table: &Table, texts: CsvTexts) -> Result<(), TableError> {
    let format = TableFormat::of_path(path).ok_or_else(|| TableError::Extension { path: path.to_owned() })?;
    let io_error = |source| TableError::Io { path: path.to_owned(), source };
    let table_error = |source| TableError::Table { path: path.to_owned(), source };
    let json_error = |error: serde_json::Error| io_error(error.into());
    write_whole(path, io_error, |mut out| {
        let mut frames = table.row_frames();
        let first = frames.next().unwrap_or_else(|| Row::to_frame(&[])).map_err(table_error)?;
        let schema = first.schema().clone();
        let frames = std::iter::once(Ok(first)).chain(frames);
        match format {
            TableFormat::Parquet => {
                let mut writer = ParquetWriter::new(&mut out).batched(&schema).map_err(table_error)?;
                for frame in frames {
                    writer.write_batch(&frame.map_err(table_error)?).map_err(table_error)?;
                }
                writer.finish().map_err(table_error)?;
            }
            TableFormat::Csv => {
                let mut header = true;
                for frame in frames {
                    let writer = CsvWriter::new(&mut out).include_header(std::mem::take(&mut header));
                    let mut frame = frame.and_then(|frame| with_cells(frame, texts)).map_err(table_error)?;
                    { writer }.finish(&mut frame).map_err(table_error)?;
                }
            }
            TableFormat::Json => {
                let mut json = serde_json::Serializer::pretty(&mut out);
                let mut list = json.serialize_seq(None).map_err(json_error)?;
                for frame in frames {
                    for row in frame.and_then(|frame| Row::from_frame(&frame)).map_err(table_error)? {
                        list.serialize_element(&row).map_err(json_error)?;
                    }
                }
                list.end().map_err(json_error)?;
                out.write_all(b"\n").map_err(io_error)?;
            }
        }
        Ok(())
    })
}

/// The frame with its texts as cells of CSV.
fn with_cells(mut frame: DataFrame, texts: CsvTexts) -> PolarsResult<DataFrame> {
    let changes = |column: &Column| -> PolarsResult<bool> {
        Ok(column.dtype() == &DataType::String
            && column.str()?.iter().flatten().any(|text| texts.cell(text).as_ref() != text))
    };
    for index in 0..frame.width() {
        let column = frame.columns()[index].clone();
        if changes(&column)? {
            let cells = column.str()?.iter().map(|text| text.map(|text| texts.cell(text)));
            let cells: StringChunked = cells.collect();
            frame.replace_column(index, Column::from(cells.into_series().with_name(column.name().clone())))?;
        }
    }
    Ok(frame)
}

/// Writes any data frame as Parquet or CSV, by the file's extension.
///
/// # Errors
/// If the extension is another, or the file cannot be written; an existing file is then left as it was.
pub fn write_frame(path: &Path, frame: &mut DataFrame) -> Result<(), TableError> {
    let format = TableFormat::of_path(path).filter(|&format| format != TableFormat::Json);
    let format = format.ok_or_else(|| TableError::Extension { path: path.to_owned() })?;
    let io_error = |source| TableError::Io { path: path.to_owned(), source };
    let table_error = |source| TableError::Table { path: path.to_owned(), source };
    write_whole(path, io_error, |mut out| match format {
        TableFormat::Parquet => ParquetWriter::new(&mut out).finish(frame).map(|_| ()).map_err(table_error),
        _ => {
            let mut frame = with_cells(frame.clone(), CsvTexts::Safe).map_err(table_error)?;
            CsvWriter::new(&mut out).finish(&mut frame).map_err(table_error)
        }
    })
}

/// Remembers why the system refused to write: the table library says that it did, but not always why.
struct Remembering<W> {
    to: W,
    refused: Option<io::Error>,
}

impl<W: Write> Write for Remembering<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes).inspect_err(|error| self.refused = Some(error.kind().into()))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush().inspect_err(|error| self.refused = Some(error.kind().into()))
    }
}

/// Writes rows to a Parquet file as they come, in batches of some 100 MB, which are groups of rows in the file: the memory
/// does not grow with the number of rows.
///
/// # Errors
/// The first error of a row, or if the file cannot be written; an existing file is then left as it was.
pub fn write_rows<E: From<TableError>>(path: &Path, rows: impl Iterator<Item = Result<Row, E>>) -> Result<(), E> {
    let io_error = |source| E::from(TableError::Io { path: path.to_owned(), source });
    let table_error = |source| E::from(TableError::Table { path: path.to_owned(), source });
    write_whole(path, io_error, |out| {
        let mut out = Remembering { to: out, refused: None };
        let written = (|| {
            let mut writer = GroupWriter::new(&mut out).map_err(table_error)?;
            for row in rows {
                writer.push(row?).map_err(table_error)?;
            }
            writer.finish().map_err(table_error)
        })();
        match out.refused {
            Some(refused) => Err(io_error(refused)),
            None => written,
        }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::read_table;
    use super::super::source::GROUP_ROWS;
    use super::*;

    #[test]
    fn a_table_survives_parquet_csv_and_json() {
        let folder = tempfile::tempdir().unwrap();
        let error = Some("no, \"never\"".into());
        let row = Row { graph: "g".into(), seed: u64::MAX, makespan: Some(0.1 + 0.2), error, ..Row::default() };
        let rows = vec![row; 3];
        let path = folder.path().join("t.parquet");
        write_table(&path, &rows).unwrap();
        assert_eq!(read_table(&path).unwrap(), rows);
        let csv = folder.path().join("t.csv");
        write_table(&csv, &rows).unwrap();
        assert_eq!(read_table(&csv).unwrap(), rows);
        let text = fs::read_to_string(csv).unwrap();
        assert_eq!(text.lines().count(), 4);
        assert!(text.starts_with("suite,graph,passes,cluster,"));
        let json = folder.path().join("t.json");
        write_table(&json, &rows).unwrap();
        assert_eq!(read_table(&json).unwrap(), rows);
    }

    #[test]
    fn csv_holds_nothing_that_a_spreadsheet_runs_and_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let row = |graph: &str, error: &str| Row { graph: graph.into(), error: Some(error.into()), ..Row::default() };
        let rows = [row("=1+1", "-x"), row("plain", "'=y, \"z\""), row("@a", "+1")];
        write_table(&path, &rows).unwrap();
        assert_eq!(read_table(&path).unwrap(), rows);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(",'=1+1,") && text.contains(",'-x,") && text.contains(",'@a,"), "{text}");
        assert!(text.contains("\"''=y, \"\"z\"\"\"") && text.contains(",plain,") && text.contains(",+1,"), "{text}");
        save_table(&path, &Table::new(&rows).unwrap(), CsvTexts::Raw).unwrap();
        assert!(fs::read_to_string(&path).unwrap().contains(",=1+1,"));
        fs::write(&path, text.replace(",plain,,\"\",0,", ",plain,,\"\",many,")).unwrap();
        assert!(read_table(&path).unwrap_err().to_string().contains("line 3"), "the line is known");
    }

    #[test]
    fn rows_written_in_batches_are_one_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        for height in [0, 1, GROUP_ROWS, GROUP_ROWS + 3] {
            let row = |seed: usize| Row { seed: seed as u64, error: (seed == 7).then(|| "e".into()), ..Row::default() };
            let rows: Vec<Row> = (0..height).map(row).collect();
            write_rows(&path, rows.iter().cloned().map(Ok::<_, TableError>)).unwrap();
            assert!(read_table(&path).unwrap() == rows, "{height} rows");
        }
        let failing = [Ok(Row::default()), Err(TableError::Extension { path: path.clone() })];
        assert!(write_rows(&path, failing.into_iter()).is_err());
        assert_eq!(read_table(&path).unwrap().len(), GROUP_ROWS + 3, "the file stays as it was");
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
        assert!(matches!(read_table(&path), Err(TableError::Cut { .. })));
    }
}
