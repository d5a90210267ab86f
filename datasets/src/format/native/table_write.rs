//! Writes one Parquet table, row group by row group, and digests it on the way.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use sha2::{Digest, Sha256};

use super::schema::{Column, Content, Packing};
use crate::format::FormatError;
use crate::format::atomic::PartialFolder;
use crate::format::sha256::hex;

/// Says who wrote a file without the version of any library, so that equal graphs have equal bytes.
const CREATED_BY: &str = "placebench";

/// The cells of a column to be written; only the vector of the column's type is filled, and only with what is not null.
#[derive(Debug, Default)]
pub(crate) struct Cells {
    /// 1 for a value, 0 for a null.
    levels: Vec<i16>,
    ints: Vec<i32>,
    longs: Vec<i64>,
    doubles: Vec<f64>,
    texts: Vec<ByteArray>,
}

impl Cells {
    pub(crate) fn push_u32(&mut self, value: u32) {
        self.ints.push(value.cast_signed());
    }

    pub(crate) fn push_u64(&mut self, value: u64) {
        self.longs.push(value.cast_signed());
    }

    pub(crate) fn push_f64(&mut self, value: f64) {
        self.doubles.push(value);
    }

    pub(crate) fn push_optional_u32(&mut self, value: Option<u32>) {
        self.levels.push(i16::from(value.is_some()));
        self.ints.extend(value.map(u32::cast_signed));
    }

    pub(super) fn push_optional_f64(&mut self, value: Option<f64>) {
        self.levels.push(i16::from(value.is_some()));
        self.doubles.extend(value);
    }

    pub(super) fn push_optional_text(&mut self, value: Option<&str>) {
        self.levels.push(i16::from(value.is_some()));
        self.texts.extend(value.map(ByteArray::from));
    }

    fn clear(&mut self) {
        self.levels.clear();
        self.ints.clear();
        self.longs.clear();
        self.doubles.clear();
        self.texts.clear();
    }

    fn write<W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, Digesting<W>>,
        column: &Column,
    ) -> Result<(), ParquetError> {
        match column.content {
            Content::Unsigned(64) => self.write_values::<Int64Type, W>(group, column, &self.longs),
            Content::Unsigned(_) => self.write_values::<Int32Type, W>(group, column, &self.ints),
            Content::Double => self.write_values::<DoubleType, W>(group, column, &self.doubles),
            Content::Text => self.write_values::<ByteArrayType, W>(group, column, &self.texts),
        }
    }

    fn write_values<T: DataType, W: Write + Send>(
        &self,
        group: &mut SerializedRowGroupWriter<'_, Digesting<W>>,
        column: &Column,
        values: &[T::T],
    ) -> Result<(), ParquetError> {
        let Some(mut writer) = group.next_column()? else {
            return Err(ParquetError::General(format!("column '{}' is not part of the schema", column.name)));
        };
        let levels = column.nullable.then_some(self.levels.as_slice());
        writer.typed::<T>().write_batch(values, levels, None)?;
        writer.close()
    }
}

/// A table under construction.
pub(crate) struct TableWriter<W: Write + Send = BufWriter<File>> {
    /// Where the file will be.
    path: PathBuf,
    writer: SerializedFileWriter<Digesting<W>>,
    columns: Vec<Column>,
    /// One for each of `columns`.
    pub(crate) cells: Vec<Cells>,
    pub(crate) row_count: u64,
    buffered: usize,
    group_rows: usize,
}

impl TableWriter {
    /// Starts the table of a file in `folder`. In memory are at most `group_rows` rows.
    pub(super) fn create(
        folder: &PartialFolder,
        file: &str,
        columns: Vec<Column>,
        group_rows: usize,
    ) -> Result<Self, FormatError> {
        let path = folder.target().join(file);
        let file = File::create(folder.path().join(file)).map_err(|error| FormatError::io(&path, error))?;
        Self::on(&path, BufWriter::with_capacity(1 << 16, file), columns, group_rows, &[])
    }

    /// Writes what is left, flushes the file to the disk, and returns its SHA-256.
    pub(super) fn finish(self) -> Result<String, FormatError> {
        let path = self.path.clone();
        let (out, digest) = self.end()?;
        let file = out.into_inner().map_err(|error| FormatError::io(&path, error.into_error()))?;
        file.sync_all().map_err(|error| FormatError::io(&path, error))?;
        Ok(digest)
    }

    /// Where the file will be.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a table of these columns in `out`, which will be the file at `path`; `notes` are kept in its metadata.
    pub(crate) fn on(
        path: &Path,
        out: W,
        columns: Vec<Column>,
        group_rows: usize,
        notes: &[(&str, String)],
    ) -> Result<Self, FormatError> {
        let out = Digesting { out, digest: Sha256::new() };
        let writer = schema(&columns)
            .and_then(|schema| SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties(&columns, notes)?)))
            .map_err(|error| fault(path, error))?;
        let cells = columns.iter().map(|_| Cells::default()).collect();
        Ok(Self { path: path.to_owned(), writer, columns, cells, row_count: 0, buffered: 0, group_rows })
    }

    /// Counts the row whose cells were pushed last.
    pub(crate) fn end_row(&mut self) -> Result<(), FormatError> {
        self.row_count += 1;
        self.buffered += 1;
        if self.buffered < self.group_rows {
            return Ok(());
        }
        self.write_group().map_err(|error| fault(&self.path, error))
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for (column, cells) in self.columns.iter().zip(&mut self.cells) {
            cells.write(&mut group, column)?;
            cells.clear();
        }
        self.buffered = 0;
        group.close().map(|_| ())
    }

    /// Writes what is left, and returns what it was written to and its SHA-256.
    pub(crate) fn end(mut self) -> Result<(W, String), FormatError> {
        let result = match self.buffered {
            0 => Ok(()),
            _ => self.write_group(),
        };
        let out = result.and_then(|()| self.writer.into_inner()).map_err(|error| fault(&self.path, error))?;
        Ok((out.out, hex(&out.digest.finalize())))
    }
}

/// What the library says when it cannot write: mostly an error of the system.
fn fault(path: &Path, error: ParquetError) -> FormatError {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => FormatError::io(path, *error),
            Err(error) => FormatError::file(path, error),
        },
        error => FormatError::file(path, error),
    }
}

fn schema(columns: &[Column]) -> Result<Type, ParquetError> {
    let fields: Result<Vec<_>, ParquetError> = columns.iter().map(|column| field(column).map(Arc::new)).collect();
    Type::group_type_builder("table").with_fields(fields?).build()
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.content {
        Content::Unsigned(bits) => {
            let physical = if bits == 64 { Physical::INT64 } else { Physical::INT32 };
            (physical, Some(LogicalType::integer(bits as i8, false)))
        }
        Content::Double => (Physical::DOUBLE, None),
        Content::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let repetition = if column.nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    Type::primitive_type_builder(&column.name, physical).with_logical_type(logical).with_repetition(repetition).build()
}

fn properties(columns: &[Column], notes: &[(&str, String)]) -> Result<WriterProperties, ParquetError> {
    let mut properties = WriterProperties::builder()
        .set_created_by(CREATED_BY.to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        // This writer decides itself where row groups end.
        .set_max_row_group_row_count(None);
    if !notes.is_empty() {
        let notes = notes.iter().map(|(key, value)| KeyValue::new((*key).to_owned(), value.clone()));
        properties = properties.set_key_value_metadata(Some(notes.collect()));
    }
    for column in columns {
        let path = ColumnPath::from(&*column.name);
        properties = match column.packing {
            Packing::Dictionary => properties.set_column_dictionary_enabled(path, true),
            Packing::Plain => properties.set_column_dictionary_enabled(path, false),
            Packing::Delta => properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        };
    }
    Ok(properties.build())
}

/// What is written is digested on the way.
pub(crate) struct Digesting<W> {
    pub(crate) out: W,
    pub(crate) digest: Sha256,
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.digest.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
