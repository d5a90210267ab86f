//! Binary files of rows: vertices with their neighbours.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::bytes::{self, BUFFER};
use super::{VertexRow, VertexStream};
use crate::Numbers;
use crate::format::FormatError;
use crate::format::atomic;
use crate::format::entry::{Format, Holds, Mark};

/// The line of the table of formats.
pub(crate) static FORMAT: Format = Format {
    name: "rows",
    mark: Mark::Nothing,
    title: "a binary row for each vertex",
    lacks: &[],
    options: &[],
    holds: Holds::Rows,
};

const MAGIC: &[u8; 8] = b"PBROWS01";
const HEADER: u64 = 48;
const VERTEX_WEIGHTS: u64 = 1;
const EDGE_WEIGHTS: u64 = 2;

/// The header of a file of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Header {
    vertices: u64,
    /// Neighbours in all rows together.
    entries: u64,
    vertex_weight: u64,
    edge_weight: u64,
    flags: u64,
}

impl Header {
    fn read(file: &mut impl Read, path: &Path) -> Result<Self, FormatError> {
        let [vertices, entries, vertex_weight, edge_weight, flags] =
            bytes::read_header(file, path, MAGIC, "binary file of rows")?;
        if flags > VERTEX_WEIGHTS | EDGE_WEIGHTS {
            return Err(FormatError::file(path, format!("has flags {flags}; only 1 and 2 are known")));
        }
        Ok(Self { vertices, entries, vertex_weight, edge_weight, flags })
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        out.write_all(MAGIC)?;
        for number in [self.vertices, self.entries, self.vertex_weight, self.edge_weight, self.flags] {
            out.write_all(&number.to_le_bytes())?;
        }
        Ok(())
    }

    fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    fn row_bytes(&self) -> u64 {
        if self.has(VERTEX_WEIGHTS) { 16 } else { 8 }
    }

    fn entry_bytes(&self) -> u64 {
        if self.has(EDGE_WEIGHTS) { 12 } else { 4 }
    }

    fn file_bytes(&self) -> Option<u64> {
        let rows = self.vertices.checked_mul(self.row_bytes())?;
        self.entries.checked_mul(self.entry_bytes())?.checked_add(rows)?.checked_add(HEADER)
    }
}

/// A stream from a binary file of rows.
///
/// # Memory
/// 256 KiB, a bit a vertex and 8 bytes an entry of the largest row (24 with weights), whatever the size of the file.
#[derive(Debug)]
pub struct RowFile {
    path: PathBuf,
    file: BufReader<File>,
    header: Header,
    raw: Vec<u8>,
    neighbours: Vec<u32>,
    weights: Vec<u64>,
    /// A bit for each vertex that came.
    seen: Vec<u64>,
    rows: u64,
    entries: u64,
    vertex_weight: u128,
    /// Each edge counts twice.
    edge_weight: u128,
}

impl RowFile {
    /// Opens a file as [`write_rows`] makes it.
    ///
    /// # Errors
    /// If the file cannot be read, is in another format, or is not as long as its header says.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FormatError> {
        let path = path.as_ref();
        let (mut file, length) = bytes::open(path)?;
        let header = Header::read(&mut file, path)?;
        let vertices = bytes::vertex_count(path, header.vertices)?;
        let promised = format!("{vertices} rows with {} entries", header.entries);
        bytes::check_length(path, length, header.file_bytes(), &promised)?;
        Ok(Self {
            path: path.to_owned(),
            file: BufReader::with_capacity(BUFFER, file),
            header,
            raw: Vec::new(),
            neighbours: Vec::new(),
            weights: Vec::new(),
            seen: vec![0; vertices.div_ceil(64)],
            rows: 0,
            entries: 0,
            vertex_weight: 0,
            edge_weight: 0,
        })
    }

    /// The head of the next row: vertex, degree, weight.
    fn head(&mut self) -> Result<(u32, u32, u64), FormatError> {
        let mut head = [0; 16];
        let head = &mut head[..self.header.row_bytes() as usize];
        self.file.read_exact(head).map_err(|error| FormatError::io(&self.path, error))?;
        let mut numbers = bytes::numbers32(head);
        let (vertex, degree) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        let weight = bytes::numbers64(&head[8..]).next().unwrap_or(1);
        let fault = |message: String| Err(FormatError::item(&self.path, format_args!("row {}", self.rows), message));
        if u64::from(vertex) >= self.header.vertices {
            return fault(format!(
                "is of vertex {vertex}, but there are only {} vertices, from 0 on",
                self.header.vertices
            ));
        }
        let word = &mut self.seen[vertex as usize / 64];
        let bit = 1 << (vertex % 64);
        if *word & bit != 0 {
            return fault(format!("is of vertex {vertex}, which has had its row"));
        }
        *word |= bit;
        if u64::from(degree) > self.header.entries - self.entries {
            let left = self.header.entries - self.entries;
            return fault(format!("has {degree} entries, but the header leaves only {left}"));
        }
        Ok((vertex, degree, weight))
    }

    fn check_row(&self, vertex: u32) -> Result<(), FormatError> {
        let wrong = |&n: &u32| u64::from(n) >= self.header.vertices || n == vertex;
        // No branch for each neighbour, so that the compiler checks many at once.
        if !self.neighbours.iter().fold(false, |any, n| any | wrong(n)) {
            return Ok(());
        }
        let neighbour = self.neighbours.iter().copied().find(wrong).unwrap_or(vertex);
        let message = if neighbour == vertex {
            "has an edge to itself".to_owned()
        } else {
            format!("has the neighbour {neighbour}, but there are only {} vertices, from 0 on", self.header.vertices)
        };
        Err(FormatError::item(&self.path, format_args!("vertex {vertex}"), message))
    }

    fn check_totals(&self) -> Result<(), FormatError> {
        let found = [
            ("entries", self.entries.into()),
            ("vertex weight", self.vertex_weight),
            ("edge weight", self.edge_weight / 2),
        ];
        let promised = [self.header.entries, self.header.vertex_weight, self.header.edge_weight];
        for ((what, found), promised) in found.into_iter().zip(promised) {
            if found != u128::from(promised) {
                let message = format!("its rows have {found} {what} in total, but its header promises {promised}");
                return Err(FormatError::file(&self.path, message).remedy("write the file again"));
            }
        }
        Ok(())
    }
}

impl VertexStream for RowFile {
    fn vertex_count(&self) -> usize {
        self.header.vertices as usize
    }

    fn total_vertex_weight(&self) -> u64 {
        self.header.vertex_weight
    }

    fn total_edge_weight(&self) -> u64 {
        self.header.edge_weight
    }

    fn next_row(&mut self) -> Result<Option<VertexRow<'_>>, FormatError> {
        if self.rows == self.header.vertices {
            self.check_totals()?;
            return Ok(None);
        }
        let (vertex, degree, weight) = self.head()?;
        let weighted = self.header.has(EDGE_WEIGHTS);
        self.raw.resize(degree as usize * self.header.entry_bytes() as usize, 0);
        self.file.read_exact(&mut self.raw).map_err(|error| FormatError::io(&self.path, error))?;
        let (ids, weights) = self.raw.split_at(degree as usize * 4);
        self.neighbours.clear();
        self.neighbours.extend(bytes::numbers32(ids));
        self.weights.clear();
        self.weights.extend(bytes::numbers64(weights));
        self.check_row(vertex)?;
        self.rows += 1;
        self.entries += u64::from(degree);
        self.vertex_weight += u128::from(weight);
        self.edge_weight +=
            if weighted { self.weights.iter().map(|&weight| u128::from(weight)).sum::<u128>() } else { degree.into() };
        let edge_weights = weighted.then_some(Numbers::Wide(&self.weights));
        Ok(Some(VertexRow { vertex, weight, neighbours: &self.neighbours, edge_weights }))
    }

    fn rewind(&mut self) -> Result<(), FormatError> {
        self.file.seek(SeekFrom::Start(HEADER)).map_err(|error| FormatError::io(&self.path, error))?;
        self.seen.fill(0);
        (self.rows, self.entries, self.vertex_weight, self.edge_weight) = (0, 0, 0, 0);
        Ok(())
    }

    fn memory_bytes(&self) -> u64 {
        let row = self.raw.capacity() + self.neighbours.capacity() * 4 + self.weights.capacity() * 8;
        (BUFFER + row + self.seen.capacity() * 8) as u64
    }
}

/// Writes a binary file of rows in the order of a stream.
///
/// # Errors
/// If the stream or the file fails, or weights add up to more than 64 bits hold.
///
/// # Complexity
/// O(vertices + edges) time; constant memory beside the stream's.
pub fn write_rows(path: impl AsRef<Path>, rows: &mut (impl VertexStream + ?Sized)) -> Result<(), FormatError> {
    let path = path.as_ref();
    // A first pass over the stream finds out whether all weights are 1, and then they are left out.
    let mut flags = 0;
    rows.rewind()?;
    while let Some(row) = rows.next_row()? {
        let edges = row.edge_weights.is_some_and(|weights| weights.iter().any(|weight| weight != 1));
        flags |= if row.weight != 1 { VERTEX_WEIGHTS } else { 0 } | if edges { EDGE_WEIGHTS } else { 0 };
    }
    rows.rewind()?;
    let mut writer = RowWriter::new(path, rows.vertex_count() as u64, flags);
    writer.write(|writer, out| {
        while let Some(row) = rows.next_row()? {
            writer.row(out, row)?;
        }
        Ok(())
    })
}

/// Writes rows one by one, and the header when the totals are known.
pub(super) struct RowWriter<'a> {
    path: &'a Path,
    header: Header,
    vertex_weight: u128,
    edge_weight: u128,
    raw: Vec<u8>,
}

impl<'a> RowWriter<'a> {
    pub(super) fn new(path: &'a Path, vertices: u64, flags: u64) -> Self {
        let header = Header { vertices, flags, ..Header::default() };
        Self { path, header, vertex_weight: 0, edge_weight: 0, raw: Vec::new() }
    }

    /// Writes what `rows` hands to [`RowWriter::row`].
    pub(super) fn write(
        &mut self,
        rows: impl FnOnce(&mut Self, &mut dyn Write) -> Result<(), FormatError>,
    ) -> Result<(), FormatError> {
        let path = self.path;
        let io = |error| FormatError::io(path, error);
        atomic::write_file(path, |out| {
            self.header.write(out).map_err(io)?;
            rows(self, out)?;
            let total = |what, sum: u128| {
                let overflow =
                    || FormatError::file(path, format!("the {what} weights add up to more than 64 bits hold"));
                u64::try_from(sum).map_err(|_| overflow())
            };
            self.header.vertex_weight = total("vertex", self.vertex_weight)?;
            self.header.edge_weight = total("edge", self.edge_weight / 2)?;
            out.seek(SeekFrom::Start(0)).map_err(io)?;
            self.header.write(out).map_err(io)
        })
    }

    pub(super) fn row(&mut self, out: &mut dyn Write, row: VertexRow<'_>) -> Result<(), FormatError> {
        let degree = row.neighbours.len() as u32;
        self.raw.clear();
        self.raw.extend(row.vertex.to_le_bytes());
        self.raw.extend(degree.to_le_bytes());
        if self.header.has(VERTEX_WEIGHTS) {
            self.raw.extend(row.weight.to_le_bytes());
        }
        self.raw.extend(row.neighbours.iter().flat_map(|neighbour| neighbour.to_le_bytes()));
        if self.header.has(EDGE_WEIGHTS) {
            match row.edge_weights {
                Some(weights) => self.raw.extend(weights.iter().flat_map(|weight| weight.to_le_bytes())),
                None => self.raw.extend(row.neighbours.iter().flat_map(|_| 1u64.to_le_bytes())),
            }
        }
        self.header.entries += u64::from(degree);
        self.vertex_weight += u128::from(row.weight);
        self.edge_weight += match row.edge_weights {
            Some(weights) => weights.sum(),
            None => degree.into(),
        };
        out.write_all(&self.raw).map_err(|error| FormatError::io(self.path, error))
    }
}
