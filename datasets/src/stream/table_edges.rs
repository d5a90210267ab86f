//! Parquet tables of edges.

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::EdgeStream;
use super::bytes::{self, BATCH};
use super::part::{EDGES, VERTICES};
use crate::format::{FormatError, contain};

/// A stream from a Parquet table with the columns `source` and `target`: integers of 32 or 64 bits without nulls. Other
/// columns are skipped.
///
/// # Memory
/// What one row group's pages take, and 2 MiB.
pub struct TableEdges {
    path: PathBuf,
    file: SerializedFileReader<File>,
    /// Where the file has the two columns.
    positions: [usize; 2],
    vertices: usize,
    edges: u64,
    /// The next row group.
    group: usize,
    /// The columns of the present one, and the rows left in it.
    columns: Option<[ColumnReader; 2]>,
    left: usize,
    read: u64,
    ends: [Vec<u64>; 2],
    batch: Vec<(u32, u32)>,
}

impl TableEdges {
    /// Opens a table. The note `vertices` in its metadata gives the number of vertices; without it, the table is read once,
    /// and the largest id decides.
    ///
    /// # Errors
    /// If the file cannot be read, is no Parquet table, or lacks a column.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FormatError> {
        let path = path.as_ref();
        let (file, _) = bytes::open(path)?;
        let file = decoded(path, || SerializedFileReader::new(file).map_err(|error| corrupt(path, &error)))?;
        let metadata = file.metadata().file_metadata();
        let found = metadata.schema_descr().columns();
        let mut positions = [0; 2];
        for (position, column) in positions.iter_mut().zip(&EDGES) {
            let item = |message: &str| FormatError::item(path, format!("column '{}'", column.name), message);
            let at = found.iter().position(|found| found.path().string() == column.name);
            *position = at.ok_or_else(|| item("is missing").remedy("a table of edges has 'source' and 'target'"))?;
            let found = &found[*position];
            if !matches!(found.physical_type(), Type::INT32 | Type::INT64) || found.max_rep_level() > 0 {
                return Err(item("holds no integers").remedy("write vertex ids as integers of 32 or 64 bits"));
            }
        }
        let edges = u64::try_from(metadata.num_rows()).map_err(|_| corrupt(path, &"its number of rows is negative"))?;
        let notes = metadata.key_value_metadata().map_or(&[][..], Vec::as_slice);
        let note = notes.iter().find(|note| note.key == VERTICES).and_then(|note| note.value.as_ref());
        let vertices = note.map(|text| {
            text.parse::<u32>()
                .map_err(|_| FormatError::file(path, format!("its note of vertices is '{text}', no number")))
        });
        let vertices = vertices.transpose()?;
        let mut this = Self {
            path: path.to_owned(),
            file,
            positions,
            vertices: vertices.unwrap_or(u32::MAX) as usize,
            edges,
            group: 0,
            columns: None,
            left: 0,
            read: 0,
            ends: [Vec::new(), Vec::new()],
            batch: Vec::new(),
        };
        if vertices.is_none() {
            let mut count = 0;
            while let Some(batch) = this.next_edges()? {
                count = batch.iter().fold(count, |count, &(a, b)| count.max(a.max(b) as usize + 1));
            }
            this.vertices = count;
            this.rewind()?;
        }
        Ok(this)
    }

    /// Opens the next row group; `false` if there is none.
    fn next_group(&mut self) -> Result<bool, FormatError> {
        if self.group == self.file.num_row_groups() {
            return Ok(false);
        }
        let path = &self.path;
        let rows = self.file.metadata().row_group(self.group).num_rows();
        self.left = usize::try_from(rows).map_err(|_| corrupt(path, &"a row group has a negative size"))?;
        let open = || {
            let group = self.file.get_row_group(self.group)?;
            Ok([group.get_column_reader(self.positions[0])?, group.get_column_reader(self.positions[1])?])
        };
        let columns = decoded(path, || open().map_err(|error: parquet::errors::ParquetError| corrupt(path, &error)))?;
        self.columns = Some(columns);
        self.group += 1;
        Ok(true)
    }
}

impl EdgeStream for TableEdges {
    fn vertex_count(&self) -> usize {
        self.vertices
    }

    fn edge_count(&self) -> u64 {
        self.edges
    }

    fn next_edges(&mut self) -> Result<Option<&[(u32, u32)]>, FormatError> {
        while self.left == 0 {
            if !self.next_group()? {
                return match self.read == self.edges {
                    true => Ok(None),
                    false => Err(corrupt(&self.path, &"its row groups do not add up to its number of rows")),
                };
            }
        }
        let count = self.left.min(BATCH);
        if let Some(columns) = &mut self.columns {
            let (path, ends) = (&self.path, &mut self.ends);
            decoded(path, || {
                for ((reader, ends), column) in columns.iter_mut().zip(ends).zip(&EDGES) {
                    read(reader, count, ends).map_err(|message| {
                        FormatError::item(path, format!("column '{}'", column.name), message)
                            .remedy("write the table again")
                    })?;
                }
                Ok(())
            })?;
        }
        self.batch.clear();
        for (at, (&a, &b)) in self.ends[0].iter().zip(&self.ends[1]).enumerate() {
            if a.max(b) >= self.vertices as u64 {
                let message = format!("joins {a} and {b}, but there are only {} vertices, from 0 on", self.vertices);
                let edge = FormatError::item(&self.path, format_args!("edge {}", self.read + at as u64), message);
                return Err(edge.remedy("correct the edge or the number of vertices"));
            }
            self.batch.push((a as u32, b as u32));
        }
        self.left -= count;
        self.read += count as u64;
        Ok(Some(&self.batch))
    }

    fn rewind(&mut self) -> Result<(), FormatError> {
        (self.group, self.left, self.read, self.columns) = (0, 0, 0, None);
        Ok(())
    }

    fn memory_bytes(&self) -> u64 {
        let ends = self.ends[0].capacity() + self.ends[1].capacity() + self.batch.capacity();
        let group = self.file.metadata().row_groups().iter().map(|group| group.compressed_size().max(0) as u64).max();
        ends as u64 * 8 + group.unwrap_or(0)
    }
}

/// Reads `count` values of a column.
fn read(reader: &mut ColumnReader, count: usize, values: &mut Vec<u64>) -> Result<(), String> {
    values.clear();
    match reader {
        ColumnReader::Int32ColumnReader(reader) => {
            let mut raw = Vec::with_capacity(count);
            fill(reader, count, &mut raw)?;
            values.extend(raw.into_iter().map(|value| u64::from(value.cast_unsigned())));
        }
        ColumnReader::Int64ColumnReader(reader) => {
            let mut raw = Vec::with_capacity(count);
            fill(reader, count, &mut raw)?;
            values.extend(raw.into_iter().map(i64::cast_unsigned));
        }
        _ => return Err("holds no integers".to_owned()),
    }
    Ok(())
}

fn fill<T: DataType>(reader: &mut ColumnReaderImpl<T>, count: usize, values: &mut Vec<T::T>) -> Result<(), String> {
    let mut levels = Vec::new();
    let (rows, found, _) =
        reader.read_records(count, Some(&mut levels), None, values).map_err(|error| format!("is corrupt ({error})"))?;
    match (rows == count, found == count) {
        (true, true) => Ok(()),
        (true, false) => Err("has nulls".to_owned()),
        (false, _) => Err("has fewer values than the table has rows".to_owned()),
    }
}

fn corrupt(path: &Path, message: &dyn std::fmt::Display) -> FormatError {
    FormatError::file(path, format!("is no readable Parquet file ({message})")).remedy("write it again")
}

/// Damaged files make the decoder panic now and then.
fn decoded<T>(path: &Path, decode: impl FnOnce() -> Result<T, FormatError>) -> Result<T, FormatError> {
    contain(decode).unwrap_or_else(|error| Err(error.in_file(path, |message| corrupt(path, &message))))
}
