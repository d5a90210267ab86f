//! Where the rows of a table are, and reading the columns of some of them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use placebench_base::open_file;
use placebench_datasets::format::{Undecodable, contain};
use polars::prelude::*;
use polars_io::mmap::MmapBytesReader;
use polars_io::parquet::metadata::FileMetadataRef;

use super::page_headers::check_page_headers;
use super::{Row, TableError};

/// Rows of a group in the files that we write: they are read together.
pub(super) const GROUP_ROWS: usize = 1 << 16;

/// Rows in memory, or in a Parquet file, from which only what is asked for is read.
pub(super) enum Source {
    /// All columns of [`Row`].
    Frame(DataFrame),
    /// A file that stays open: it may be replaced meanwhile. What it says of itself is read once: queries run at the same
    /// time, and an open file has one place where it is read.
    File { file: File, path: PathBuf, metadata: FileMetadataRef, columns: Vec<PlSmallStr> },
}

impl Source {
    /// An error of a query, with the file that it is about.
    fn named(&self, error: PolarsError) -> PolarsError {
        match self {
            Self::Frame(_) => error,
            Self::File { path, .. } => polars_err!(ComputeError: "{}: {error}", path.display()),
        }
    }

    /// A Parquet file; of its content only the description of its columns is read.
    pub(super) fn open(path: &Path) -> Result<Self, TableError> {
        let failed = |source| TableError::Io { path: path.to_owned(), source };
        let mut file = open_file(path).map_err(failed)?;
        if !ends_as_parquet(&mut file).map_err(failed)? {
            return Err(TableError::Cut { path: path.to_owned() });
        }
        Self::of_file(file, path).map_err(|source| TableError::Table { path: path.to_owned(), source })
    }

    /// An open Parquet file, which messages call `path`.
    pub(super) fn of_file(file: File, path: &Path) -> PolarsResult<Self> {
        let (columns, metadata) = contained(|| {
            let mut reader = ParquetReader::new(clone_of(&file)?);
            let columns: Vec<PlSmallStr> = reader.schema()?.iter_names().cloned().collect();
            let metadata = Arc::clone(reader.get_metadata()?);
            check_page_headers(file.try_clone()?, &metadata)?;
            Ok((columns, metadata))
        })?;
        Row::check_columns(|name| columns.iter().any(|column| column == name))?;
        Ok(Self::File { file, path: path.to_owned(), metadata, columns })
    }

    pub(super) fn height(&self) -> usize {
        match self {
            Self::Frame(frame) => frame.height(),
            Self::File { metadata, .. } => metadata.num_rows,
        }
    }

    /// These columns of [`Row`], of these rows, in their order.
    ///
    /// # Complexity
    /// Memory for what is returned, and for the columns of [`GROUP_ROWS`] rows.
    pub(super) fn read(&self, columns: &[PlSmallStr], rows: &[Range<u32>]) -> PolarsResult<DataFrame> {
        match self {
            Self::Frame(frame) => pick(frame.select(columns)?, 0, rows),
            Self::File { file, metadata, columns: known, .. } => {
                let (there, missing): (Vec<&PlSmallStr>, Vec<_>) =
                    columns.iter().partition(|name| known.contains(name));
                let names: Vec<String> = there.iter().map(|name| name.to_string()).collect();
                let mut all: Option<DataFrame> = None;
                for (first, rows) in by_group(rows) {
                    let last = rows.last().map_or(first, |range| range.end as usize);
                    let height = if there.is_empty() { 0 } else { last - first };
                    let mut reader = ParquetReader::new(clone_of(file)?).read_parallel(ParallelStrategy::None);
                    reader.set_metadata(Arc::clone(metadata));
                    let reader = reader.with_columns(Some(names.clone())).with_slice(Some((first, height)));
                    let read = contained(|| reader.finish())?;
                    let read = if there.is_empty() { DataFrame::new(last - first, Vec::new())? } else { read };
                    let picked = pick(read, first, &rows)?;
                    match &mut all {
                        Some(all) => drop(all.vstack_mut_owned(picked)?),
                        None => all = Some(picked),
                    }
                }
                let mut all = match all {
                    Some(all) => all,
                    None => Row::to_frame(&[])?.select(there)?,
                };
                // What tables say that were written before there was this column.
                let absent = Row::to_frame(&[Row::default()])?;
                for name in missing {
                    all.with_column(absent.column(name)?.new_from_index(0, all.height()))?;
                }
                let mut all = typed(all.select(columns)?)?;
                all.rechunk_mut_par();
                Ok(all)
            }
        }
    }
}

/// Whether a file ends with the four bytes that end each Parquet file.
fn ends_as_parquet(file: &mut File) -> io::Result<bool> {
    const MAGIC: &[u8; 4] = b"PAR1";
    let mut end = [0; MAGIC.len()];
    if file.seek(io::SeekFrom::End(0))? < 2 * MAGIC.len() as u64 {
        return Ok(false);
    }
    file.seek(io::SeekFrom::End(-(MAGIC.len() as i64)))?;
    file.read_exact(&mut end)?;
    file.rewind()?;
    Ok(&end == MAGIC)
}

/// Damaged files make the decoder panic now and then, on this thread.
fn contained<T>(read: impl FnOnce() -> PolarsResult<T>) -> PolarsResult<T> {
    contain(read).unwrap_or_else(|error| match error {
        Undecodable::Senseless => Err(polars_err!(ComputeError: "{}: make it again", error)),
        Undecodable::NoMemory { .. } => Err(polars_err!(ComputeError: "{}", error)),
    })
}

fn clone_of(file: &File) -> PolarsResult<impl MmapBytesReader + use<>> {
    file.try_clone().map_err(PolarsError::from)
}

/// The columns as [`Row`] has them: another writer may have used narrower numbers.
fn typed(frame: DataFrame) -> PolarsResult<DataFrame> {
    let schema = Row::to_frame(&[])?.schema().clone();
    let height = frame.height();
    let columns = frame.into_columns().into_iter().map(|column| match schema.get(column.name()) {
        Some(dtype) if dtype != column.dtype() => column.cast(dtype),
        _ => Ok(column),
    });
    DataFrame::new(height, columns.collect::<PolarsResult<_>>()?)
}

/// The rows by the group of the file that they are in: the first row that is needed of it, and which are.
fn by_group(rows: &[Range<u32>]) -> Vec<(usize, Vec<Range<u32>>)> {
    let mut groups: BTreeMap<u32, Vec<Range<u32>>> = BTreeMap::new();
    let size = GROUP_ROWS as u32;
    for range in rows {
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min((start / size + 1) * size);
            groups.entry(start / size).or_default().push(start..end);
            start = end;
        }
    }
    groups.into_values().map(|rows| (rows[0].start as usize, rows)).collect()
}

/// These rows of a frame whose first row has the number `first`.
fn pick(frame: DataFrame, first: usize, rows: &[Range<u32>]) -> PolarsResult<DataFrame> {
    match rows {
        [] => Ok(frame.slice(0, 0)),
        [only] => Ok(frame.slice(only.start as i64 - first as i64, only.len())),
        several => {
            let numbers = several.iter().cloned().flatten().map(|row| row - first as u32);
            frame.take(&IdxCa::from_vec("row".into(), numbers.collect()))
        }
    }
}

/// A query's view of some rows: the columns of [`Row`], and those that follow from them.
pub(super) struct Scan {
    pub(super) source: Arc<Source>,
    pub(super) rows: Vec<Range<u32>>,
    pub(super) steps: Arc<BTreeMap<String, f64>>,
}

impl Scan {
    /// A query over it. It reads the columns that the query needs.
    pub(super) fn lazy(self) -> PolarsResult<LazyFrame> {
        let mut schema = Row::to_frame(&[])?.schema().as_ref().clone();
        schema.insert("row".into(), DataType::UInt32);
        schema.insert("placer_name".into(), DataType::String);
        schema.insert("steps".into(), DataType::Float64);
        let args = ScanArgsAnonymous { schema: Some(Arc::new(schema)), ..ScanArgsAnonymous::default() };
        LazyFrame::anonymous_scan(Arc::new(self), args)
    }
}

impl AnonymousScan for Scan {
    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn allows_projection_pushdown(&self) -> bool {
        true
    }

    fn scan(&self, wanted: AnonymousScanArgs) -> PolarsResult<DataFrame> {
        let wanted: Vec<PlSmallStr> = match &wanted.with_columns {
            Some(names) => names.to_vec(),
            None => wanted.schema.iter_names().cloned().collect(),
        };
        let follows = |name: &PlSmallStr| ["row", "placer_name", "steps"].contains(&name.as_str());
        let mut read: Vec<PlSmallStr> = wanted.iter().filter(|name| !follows(name)).cloned().collect();
        let mut need = |name: &str, columns: &[&'static str]| {
            let columns = columns.iter().filter(|_| wanted.iter().any(|wanted| wanted == name));
            for column in columns.map(|&column| PlSmallStr::from_static(column)) {
                if !read.contains(&column) {
                    read.push(column);
                }
            }
        };
        need("placer_name", &["placer", "placer_spec"]);
        need("steps", &["graph"]);
        let mut frame = self.source.read(&read, &self.rows).map_err(|error| self.source.named(error))?;
        for name in wanted.iter().filter(|name| follows(name)) {
            let column = match name.as_str() {
                "row" => Column::new(name.clone(), self.rows.iter().cloned().flatten().collect::<Vec<u32>>()),
                "placer_name" => placer_names(&frame)?,
                _ => self.steps(&frame)?,
            };
            frame.with_column(column)?;
        }
        frame.select(wanted)
    }
}

impl Scan {
    fn steps(&self, frame: &DataFrame) -> PolarsResult<Column> {
        let of_graph = |graph: Option<&str>| graph.and_then(|graph| self.steps.get(graph)).copied().unwrap_or(1.0);
        let steps: Vec<f64> = frame.column("graph")?.str()?.iter().map(of_graph).collect();
        Ok(Column::new("steps".into(), steps))
    }
}

/// The placers without their parameters, and without names for print.
fn placer_names(frame: &DataFrame) -> PolarsResult<Column> {
    let (placers, specs) = (frame.column("placer")?.str()?, frame.column("placer_spec")?.cast(&DataType::String)?);
    let specs = specs.str()?;
    let name = |spec: &str| spec.split('(').next().unwrap_or_default().trim().to_owned();
    let names = placers.iter().zip(specs.iter()).map(|(placer, spec)| spec.or(placer).map(name));
    Ok(Column::new("placer_name".into(), names.collect::<Vec<Option<String>>>()))
}
