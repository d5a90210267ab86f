//! Reads tables from disk: Parquet, CSV, JSON.

use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use placebench_base::open_file;

use csv::StringRecord;
use serde::Deserializer;
use serde::de::{Error, SeqAccess, Visitor};

use super::builder::TableBuilder;
use super::{CsvTexts, Row, Table, TableError, TableFormat};

/// Opens a table in the format of the file's extension. Of a Parquet file, queries read what they need. Other formats are
/// read once; if they have many rows, into a temporary Parquet file.
///
/// # Errors
/// If the extension is unknown, the file cannot be read, or a column is missing or of another type.
///
/// # Complexity
/// Memory for 65,536 rows, and as [`Table::open`].
pub fn open_table(path: &Path) -> Result<Table, TableError> {
    let format = TableFormat::of_path(path).ok_or_else(|| TableError::Extension { path: path.to_owned() })?;
    let mut builder = TableBuilder::new();
    let push = |row| builder.push(row);
    match format {
        TableFormat::Parquet => return Table::open(path),
        TableFormat::Csv => csv_rows(path, push)?,
        TableFormat::Json => json_rows(path, push)?,
    }
    builder.finish()
}

/// Reads all rows of a table in the format of the file's extension.
///
/// # Errors
/// As [`open_table`].
pub fn read_table(path: &Path) -> Result<Vec<Row>, TableError> {
    open_table(path)?.rows().map_err(|source| TableError::Table { path: path.to_owned(), source })
}

fn open(path: &Path) -> Result<BufReader<File>, TableError> {
    open_file(path).map(BufReader::new).map_err(|source| TableError::Io { path: path.to_owned(), source })
}

fn no_row(path: &Path, reason: &str) -> TableError {
    TableError::NoRow { path: path.to_owned(), reason: reason.replace(['\n', '\r'], " ") }
}

/// Hands over the rows of a CSV file, up to the first error.
fn csv_rows(path: &Path, mut push: impl FnMut(Row) -> Result<(), TableError>) -> Result<(), TableError> {
    let mut reader = csv::Reader::from_reader(open(path)?);
    let header = reader.headers().map_err(|error| no_row(path, &error.to_string()))?.clone();
    let named = |error: csv::Error| {
        let line = error.position().map(|at| format!("line {}: ", at.line())).unwrap_or_default();
        let reason = match error.kind() {
            csv::ErrorKind::Deserialize { err, .. } => {
                let column = err.field().and_then(|field| header.get(field as usize));
                let column = column.map(|name| format!("column '{name}': ")).unwrap_or_default();
                format!("{line}{column}{}", err.kind())
            }
            _ => format!("{line}{error}"),
        };
        no_row(path, &reason)
    };
    let row = |record: csv::Result<StringRecord>| as_written(record?).deserialize(Some(&header));
    reader.into_records().try_for_each(|record| push(row(record).map_err(named)?))
}

/// A record of CSV with its texts as they were before they became cells.
fn as_written(record: StringRecord) -> StringRecord {
    if record.iter().all(|cell| CsvTexts::as_written(cell) == cell) {
        return record;
    }
    let mut texts: StringRecord = record.iter().map(CsvTexts::as_written).collect();
    texts.set_position(record.position().cloned());
    texts
}

/// Hands over the rows of a JSON file, up to the first error.
fn json_rows(path: &Path, push: impl FnMut(Row) -> Result<(), TableError>) -> Result<(), TableError> {
    let mut refused = None;
    let mut json = serde_json::Deserializer::from_reader(open(path)?);
    let read = json.deserialize_seq(EachRow { push, refused: &mut refused }).and_then(|()| json.end());
    match refused {
        Some(error) => Err(error),
        None => read.map_err(|error| no_row(path, &error.to_string())),
    }
}

/// Takes the rows of a list one by one.
struct EachRow<'a, F> {
    push: F,
    /// The error of `push`, which the reader's own error type cannot hold.
    refused: &'a mut Option<TableError>,
}

impl<'de, F: FnMut(Row) -> Result<(), TableError>> Visitor<'de> for EachRow<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(row) = list.next_element()? {
            (self.push)(row).map_err(|error| {
                *self.refused = Some(error);
                A::Error::custom("refused")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::source::GROUP_ROWS;
    use super::super::write_table;
    use super::*;

    #[test]
    fn a_broken_value_is_named_by_line_and_column() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        write_table(&path, &[Row { seed: 77, ..Row::default() }]).unwrap();
        fs::write(&path, fs::read_to_string(&path).unwrap().replace(",77,", ",many,")).unwrap();
        let error = read_table(&path).unwrap_err().to_string();
        assert!(error.contains("line 2: column 'seed': invalid digit"), "{error}");
        fs::write(&path, "a,b\n1,2\n").unwrap();
        let error = read_table(&path).unwrap_err().to_string();
        assert!(error.contains("missing field `suite`"), "{error}");
        let path = folder.path().join("t.json");
        fs::write(&path, "[{}]").unwrap();
        assert!(read_table(&path).unwrap_err().to_string().contains("missing field `suite`"));
        fs::write(&path, "{}").unwrap();
        assert!(read_table(&path).unwrap_err().to_string().contains("expected a list of rows"));
        fs::write(&path, "[] []").unwrap();
        assert!(read_table(&path).unwrap_err().to_string().contains("trailing characters"));
    }

    #[test]
    fn many_rows_of_csv_and_json_are_read_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let row = |seed: usize| Row { seed: seed as u64, makespan: Some(0.1 * seed as f64), ..Row::default() };
        let rows: Vec<Row> = (0..GROUP_ROWS + 3).map(row).collect();
        for name in ["t.csv", "t.json"] {
            let path = folder.path().join(name);
            write_table(&path, &rows).unwrap();
            let table = open_table(&path).unwrap();
            assert!(table.is_in_file(), "{name}: all rows are in memory");
            assert!(table.rows().unwrap() == rows, "{name}");
        }
    }
}
