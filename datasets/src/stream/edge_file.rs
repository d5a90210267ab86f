//! Binary files of edges, with a header or bare.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::EdgeStream;
use super::bytes::{self, BATCH};
use crate::format::FormatError;
use crate::format::atomic;

const MAGIC: &[u8; 8] = b"PBEDGES1";
const HEADER: u64 = 24;
const EDGE: u64 = 8;

/// A stream from a binary file of edges: pairs of 32-bit vertex ids, little-endian.
///
/// # Memory
/// 1 MiB, whatever the size of the file.
#[derive(Debug)]
pub struct EdgeFile {
    path: PathBuf,
    file: File,
    /// Where the first edge is.
    start: u64,
    vertices: usize,
    edges: u64,
    /// Edges read.
    read: u64,
    raw: Vec<u8>,
    batch: Vec<(u32, u32)>,
}

impl EdgeFile {
    /// Opens a file with a header, as [`write_edges`] makes it.
    ///
    /// # Errors
    /// If the file cannot be read, is in another format, or is not as long as its header says.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FormatError> {
        let path = path.as_ref();
        let (mut file, length) = bytes::open(path)?;
        let [vertices, edges] = bytes::read_header(&mut file, path, MAGIC, "binary file of edges")?;
        let vertices = bytes::vertex_count(path, vertices)?;
        let expected = edges.checked_mul(EDGE).and_then(|bytes| bytes.checked_add(HEADER));
        bytes::check_length(path, length, expected, &format!("{edges} edges"))?;
        Ok(Self::new(path, file, HEADER, vertices, edges))
    }

    /// Opens a file of edges without a header.
    ///
    /// # Errors
    /// If the file cannot be read, or ends within an edge.
    pub fn open_bare(path: impl AsRef<Path>, vertices: u32) -> Result<Self, FormatError> {
        let path = path.as_ref();
        let (file, length) = bytes::open(path)?;
        if length % EDGE != 0 {
            let message = format!("has {length} bytes, which is no multiple of the {EDGE} of an edge: it is cut short");
            return Err(FormatError::file(path, message).remedy("write the file again"));
        }
        Ok(Self::new(path, file, 0, vertices as usize, length / EDGE))
    }

    fn new(path: &Path, file: File, start: u64, vertices: usize, edges: u64) -> Self {
        Self { path: path.to_owned(), file, start, vertices, edges, read: 0, raw: Vec::new(), batch: Vec::new() }
    }
}

impl EdgeStream for EdgeFile {
    fn vertex_count(&self) -> usize {
        self.vertices
    }

    fn edge_count(&self) -> u64 {
        self.edges
    }

    fn next_edges(&mut self) -> Result<Option<&[(u32, u32)]>, FormatError> {
        let count = (self.edges - self.read).min(BATCH as u64) as usize;
        if count == 0 {
            return Ok(None);
        }
        self.raw.resize(count * EDGE as usize, 0);
        self.file.read_exact(&mut self.raw).map_err(|error| FormatError::io(&self.path, error))?;
        self.batch.clear();
        self.batch.extend(bytes::numbers64(&self.raw).map(|pair| (pair as u32, (pair >> 32) as u32)));
        let largest = self.batch.iter().fold(0, |largest, &(a, b)| largest.max(a).max(b));
        if largest as usize >= self.vertices {
            let outside = |&(a, b): &(u32, u32)| a.max(b) as usize >= self.vertices;
            let at = self.batch.iter().position(outside).unwrap_or(0);
            return Err(bytes::unknown_end(&self.path, self.read + at as u64, self.batch[at], self.vertices));
        }
        self.read += count as u64;
        Ok(Some(&self.batch))
    }

    fn rewind(&mut self) -> Result<(), FormatError> {
        self.read = 0;
        self.file.seek(SeekFrom::Start(self.start)).map_err(|error| FormatError::io(&self.path, error))?;
        Ok(())
    }

    fn memory_bytes(&self) -> u64 {
        (self.raw.capacity() + self.batch.capacity() * EDGE as usize) as u64
    }
}

/// Writes the header of a binary file of edges.
pub(super) fn write_header(out: &mut impl Write, vertices: u32, edges: u64) -> io::Result<()> {
    out.write_all(MAGIC)?;
    out.write_all(&u64::from(vertices).to_le_bytes())?;
    out.write_all(&edges.to_le_bytes())
}

/// Writes a binary file of edges with a header. Returns the number of edges.
///
/// # Errors
/// If the file cannot be written, or an end is not below `vertices`.
///
/// # Complexity
/// O(edges) time, constant memory.
pub fn write_edges(
    path: impl AsRef<Path>,
    vertices: u32,
    edges: impl IntoIterator<Item = (u32, u32)>,
) -> Result<u64, FormatError> {
    let path = path.as_ref();
    let io = |error| FormatError::io(path, error);
    let mut count = 0u64;
    atomic::write_file(path, |out| {
        write_header(out, vertices, 0).map_err(io)?;
        for (a, b) in edges {
            if a.max(b) >= vertices {
                return Err(bytes::unknown_end(path, count, (a, b), vertices as usize));
            }
            out.write_all(&(u64::from(b) << 32 | u64::from(a)).to_le_bytes()).map_err(io)?;
            count += 1;
        }
        // The number of edges is known only now.
        out.seek(SeekFrom::Start(HEADER - 8)).map_err(io)?;
        out.write_all(&count.to_le_bytes()).map_err(io)
    })?;
    Ok(count)
}
