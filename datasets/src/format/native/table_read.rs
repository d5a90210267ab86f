//! Reads one Parquet table in batches of bounded size.

use bytes::Bytes;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use placebench_base::did_you_mean;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::schema::{Column, Content, TableSchema};
use crate::format::{FormatError, contain};

/// Rows in memory at a time.
const BATCH: usize = 1 << 18;

/// Where the bytes of a table are.
pub(crate) enum Source {
    /// An open file.
    File(File),
    /// All of them in memory.
    Bytes(Bytes),
}

/// The cells of a column in a batch; only the vector of the column's type is filled.
#[derive(Default)]
pub(crate) struct Cells {
    /// Whether the table has the column.
    pub(super) present: bool,
    /// 1 for a value, 0 for a null; empty if there is no null.
    levels: Vec<i16>,
    ints: Vec<u64>,
    doubles: Vec<f64>,
    texts: Vec<ByteArray>,
    raw_ints: Vec<i32>,
    raw_longs: Vec<i64>,
}

impl Cells {
    /// The integers of a column without nulls.
    pub(crate) fn ints(&self) -> &[u64] {
        &self.ints
    }

    /// The numbers of a column without nulls.
    pub(super) fn doubles(&self) -> &[f64] {
        &self.doubles
    }

    pub(super) fn optional_ints(&self) -> impl Iterator<Item = Option<u64>> + '_ {
        self.optional(&self.ints).map(|cell| cell.copied())
    }

    pub(super) fn optional_doubles(&self) -> impl Iterator<Item = Option<f64>> + '_ {
        self.optional(&self.doubles).map(|cell| cell.copied())
    }

    /// The texts as bytes: not checked to be UTF-8.
    pub(super) fn optional_texts(&self) -> impl Iterator<Item = Option<&[u8]>> + '_ {
        self.optional(&self.texts).map(|cell| cell.map(ByteArray::data))
    }

    /// One item a row; none at all if the column is absent.
    fn optional<'a, T>(&'a self, values: &'a [T]) -> impl Iterator<Item = Option<&'a T>> {
        let mut next = values.iter();
        let rows = if self.levels.is_empty() { values.len() } else { self.levels.len() };
        (0..rows).map(move |row| match self.levels.get(row) {
            Some(0) => None,
            _ => next.next(),
        })
    }

    /// Reads `rows` cells; fewer are there only if the column is corrupt.
    fn fill(&mut self, reader: &mut ColumnReader, rows: usize) -> Result<(), String> {
        self.levels.clear();
        let Self { levels, ints, doubles, texts, raw_ints, raw_longs, .. } = self;
        match reader {
            ColumnReader::Int32ColumnReader(reader) => {
                read(reader, rows, levels, raw_ints)?;
                ints.clear();
                ints.extend(raw_ints.iter().map(|&value| u64::from(value as u32)));
            }
            ColumnReader::Int64ColumnReader(reader) => {
                read(reader, rows, levels, raw_longs)?;
                ints.clear();
                ints.extend(raw_longs.iter().map(|&value| value as u64));
            }
            ColumnReader::DoubleColumnReader(reader) => read(reader, rows, levels, doubles)?,
            ColumnReader::ByteArrayColumnReader(reader) => read(reader, rows, levels, texts)?,
            _ => return Err("its type is none that is used here".to_owned()),
        }
        if levels.iter().all(|&level| level == 1) {
            levels.clear();
        }
        Ok(())
    }
}

fn read<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
    levels: &mut Vec<i16>,
    values: &mut Vec<T::T>,
) -> Result<(), String> {
    values.clear();
    let (records, ..) = reader.read_records(rows, Some(levels), None, values).map_err(text)?;
    if records < rows {
        return Err("it has fewer values than the table has rows".to_owned());
    }
    Ok(())
}

/// Some rows of a table.
pub(crate) struct Batch {
    pub(crate) first_row: usize,
    pub(crate) rows: usize,
    /// One for each column of the reader.
    pub(crate) columns: Vec<Cells>,
}

/// An open table whose columns are those of the schema.
pub(crate) struct TableReader {
    pub(crate) path: PathBuf,
    file: Box<dyn FileReader>,
    /// The columns of the schema, and the others that the file has.
    pub(super) columns: Vec<Column>,
    /// Where the file has each of them.
    positions: Vec<Option<usize>>,
    pub(crate) row_count: u64,
}

impl TableReader {
    pub(crate) fn open(path: &Path, source: Source, table: &'static TableSchema) -> Result<Self, FormatError> {
        let file = decoded(path, || -> Result<Box<dyn FileReader>, ParquetError> {
            Ok(match source {
                Source::File(file) => Box::new(SerializedFileReader::new(file)?),
                Source::Bytes(bytes) => Box::new(SerializedFileReader::new(bytes)?),
            })
        })?
        .map_err(|error| corrupt(path, &text(error)))?;
        let rows = file.metadata().file_metadata().num_rows();
        let row_count = u64::try_from(rows).map_err(|_| corrupt(path, "its number of rows is negative"))?;
        let found = file.metadata().file_metadata().schema_descr().columns();
        let names: Vec<String> = found.iter().map(|column| column.path().string()).collect();
        let columns = table.columns_for(names.iter().map(String::as_str));
        let mut this = Self { path: path.to_owned(), file, positions: vec![None; columns.len()], columns, row_count };
        this.match_columns()?;
        Ok(this)
    }

    fn match_columns(&mut self) -> Result<(), FormatError> {
        for (position, found) in self.file.metadata().file_metadata().schema_descr().columns().iter().enumerate() {
            let name = found.path().string();
            let item = |message: String| FormatError::item(&self.path, format!("column '{name}'"), message);
            let Some(index) = self.columns.iter().position(|column| column.name == name) else {
                let names = self.columns.iter().map(|column| &*column.name);
                return Err(item("is not part of the format".to_owned()).remedy(did_you_mean(&name, names)));
            };
            let (content, physical) = (self.columns[index].content, found.physical_type());
            let fits = match content {
                Content::Unsigned(_) => matches!(physical, Type::INT32 | Type::INT64),
                Content::Double => physical == Type::DOUBLE,
                Content::Text => physical == Type::BYTE_ARRAY,
            };
            if !fits || found.max_rep_level() > 0 || found.max_def_level() > 1 {
                let expected = match content {
                    Content::Unsigned(_) => "INT32 or INT64",
                    Content::Double => "DOUBLE",
                    Content::Text => "BYTE_ARRAY (text)",
                };
                return Err(item(format!("holds {physical} where {expected} is expected")));
            }
            self.positions[index] = Some(position);
        }
        match self.columns.iter().zip(&self.positions).find(|(column, at)| !column.optional && at.is_none()) {
            Some((column, _)) => {
                Err(FormatError::item(&self.path, format!("column '{}'", column.name), "is missing").remedy("add it"))
            }
            None => Ok(()),
        }
    }

    /// Calls `take` with each batch of rows in turn.
    ///
    /// # Errors
    /// What `take` returns; a table that cannot be decoded; a null where there must be none.
    pub(crate) fn for_each_batch(
        &self,
        mut take: impl FnMut(&Batch) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let columns = self.positions.iter().map(|at| Cells { present: at.is_some(), ..Cells::default() }).collect();
        let mut batch = Batch { first_row: 0, rows: 0, columns };
        for group in 0..self.file.num_row_groups() {
            let rows = self.file.metadata().row_group(group).num_rows();
            let mut left = usize::try_from(rows).map_err(|_| corrupt(&self.path, "a row group has a negative size"))?;
            let mut readers = decoded(&self.path, || self.column_readers(group))??;
            while left > 0 {
                batch.rows = left.min(BATCH);
                decoded(&self.path, || self.fill(&mut readers, &mut batch))??;
                take(&batch)?;
                batch.first_row += batch.rows;
                left -= batch.rows;
            }
        }
        match batch.first_row as u64 == self.row_count {
            true => Ok(()),
            false => Err(corrupt(&self.path, "its row groups do not add up to its number of rows")),
        }
    }

    fn column_readers(&self, group: usize) -> Result<Vec<Option<ColumnReader>>, FormatError> {
        let group: Box<dyn RowGroupReader + '_> =
            self.file.get_row_group(group).map_err(|error| corrupt(&self.path, &text(error)))?;
        let open = |at: &Option<usize>| at.map(|at| group.get_column_reader(at)).transpose();
        let readers: Result<Vec<_>, _> = self.positions.iter().map(open).collect();
        readers.map_err(|error| corrupt(&self.path, &text(error)))
    }

    fn fill(&self, readers: &mut [Option<ColumnReader>], batch: &mut Batch) -> Result<(), FormatError> {
        for ((reader, cells), column) in readers.iter_mut().zip(&mut batch.columns).zip(&self.columns) {
            let Some(reader) = reader else { continue };
            let item = || format!("column '{}'", column.name);
            cells.fill(reader, batch.rows).map_err(|message| {
                FormatError::item(&self.path, item(), format!("is corrupt ({message})")).remedy(RESTORE)
            })?;
            if !column.nullable && !cells.levels.is_empty() {
                let row = cells.levels.iter().position(|&level| level == 0).unwrap_or_default() + batch.first_row;
                return Err(
                    FormatError::item(&self.path, item(), format!("is null in row {row}")).remedy("give it a value")
                );
            }
        }
        Ok(())
    }
}

const RESTORE: &str = "restore it or write it again";

fn corrupt(path: &Path, message: &str) -> FormatError {
    FormatError::file(path, format!("is no readable Parquet file ({message})")).remedy(RESTORE)
}

fn text(error: ParquetError) -> String {
    match error {
        ParquetError::General(message) | ParquetError::EOF(message) => message,
        other => other.to_string(),
    }
}

/// [`contain`] with the error of this format.
fn decoded<T>(path: &Path, decode: impl FnOnce() -> T) -> Result<T, FormatError> {
    contain(decode).map_err(|error| error.in_file(path, |message| corrupt(path, message)))
}
