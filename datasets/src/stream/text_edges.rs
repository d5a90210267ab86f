//! Text files of edges: two vertex ids a line.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::EdgeStream;
use super::bytes::{self, BATCH, BUFFER};
use crate::format::FormatError;
use crate::format::atomic;
use crate::format::undirected::VERTICES;

/// Longest line.
const LINE: u64 = 4096;

/// A stream from a text file of edges: two ids a line, separated by blanks, tabs or a comma. Empty lines and those that
/// begin with `#` or `%` are skipped, as in the SNAP collection, but for `# vertices 10`, which gives the number of vertices.
///
/// # Memory
/// 1 MiB, whatever the size of the file.
#[derive(Debug)]
pub struct TextEdges {
    path: PathBuf,
    file: BufReader<File>,
    line: Vec<u8>,
    lines: u64,
    vertices: usize,
    /// What a comment says.
    declared: Option<u32>,
    edges: u64,
    batch: Vec<(u32, u32)>,
}

impl TextEdges {
    /// Opens a file. Reads it once to count the edges. If `vertices` is not given, a comment `# vertices 10` decides how many
    /// there are, or else the largest id.
    ///
    /// # Errors
    /// If the file cannot be read, a line is not an edge, or an id is not below the number of vertices.
    ///
    /// # Complexity
    /// O(bytes).
    pub fn open(path: impl AsRef<Path>, vertices: Option<u32>) -> Result<Self, FormatError> {
        let path = path.as_ref();
        let (file, _) = bytes::open(path)?;
        let limit = vertices.unwrap_or(u32::MAX) as usize;
        let mut this = Self {
            path: path.to_owned(),
            file: BufReader::with_capacity(BUFFER, file),
            line: Vec::new(),
            lines: 0,
            vertices: limit,
            declared: None,
            edges: 0,
            batch: Vec::new(),
        };
        let (mut edges, mut count) = (0, 0);
        while let Some((a, b)) = this.next_edge()? {
            edges += 1;
            count = count.max(a.max(b) as usize + 1);
        }
        if let Some(declared) = this.declared.filter(|&declared| vertices.is_none() && (declared as usize) < count) {
            let message =
                format!("an edge joins vertex {}, but '{VERTICES} {declared}' says that they end before", count - 1);
            return Err(FormatError::file(path, message).remedy("correct the edge or the number of vertices"));
        }
        this.vertices = vertices.or(this.declared).map_or(count, |vertices| vertices as usize);
        this.edges = edges;
        this.rewind()?;
        Ok(this)
    }

    fn next_edge(&mut self) -> Result<Option<(u32, u32)>, FormatError> {
        loop {
            self.line.clear();
            let read = self.file.by_ref().take(LINE).read_until(b'\n', &mut self.line);
            if read.map_err(|error| FormatError::io(&self.path, error))? == 0 {
                return Ok(None);
            }
            self.lines += 1;
            let fault = |message: String| FormatError::at_line(&self.path, self.lines, message);
            if self.line.len() as u64 == LINE && self.line.last() != Some(&b'\n') {
                return Err(
                    fault(format!("is longer than {LINE} bytes")).remedy("write an edge a line: two vertex ids")
                );
            }
            let line = self.line.trim_ascii();
            if let Some(count) = line.strip_prefix(VERTICES.as_bytes()) {
                let Some(count) = number_of(count.trim_ascii()) else {
                    let message = format!("'{}' gives no number of vertices", line.escape_ascii());
                    return Err(fault(message).remedy(format!("write '{VERTICES} 10' for ten")));
                };
                self.declared = Some(count);
                continue;
            }
            if line.is_empty() || matches!(line[0], b'#' | b'%') {
                continue;
            }
            let Some((a, b)) = parse(line) else {
                let message = format!("'{}' is no edge", line.escape_ascii());
                return Err(fault(message).remedy("write two vertex ids, from 0 on, and nothing else"));
            };
            if a.max(b) as usize >= self.vertices {
                let message = format!("the edge joins {a} and {b}, but vertex ids end at {}", self.vertices as i64 - 1);
                return Err(fault(message).remedy("correct the edge or the number of vertices"));
            }
            return Ok(Some((a, b)));
        }
    }
}

fn parse(line: &[u8]) -> Option<(u32, u32)> {
    let mut words = line.split(|byte| matches!(byte, b' ' | b'\t' | b',')).filter(|word| !word.is_empty());
    let edge = (number(words.next()?)?, number(words.next()?)?);
    words.next().is_none().then_some(edge)
}

/// A number of at least one digit.
fn number_of(digits: &[u8]) -> Option<u32> {
    (!digits.is_empty()).then(|| number(digits))?
}

fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0u32, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| value.checked_mul(10)?.checked_add(digit.into()))?
    })
}

impl EdgeStream for TextEdges {
    fn vertex_count(&self) -> usize {
        self.vertices
    }

    fn edge_count(&self) -> u64 {
        self.edges
    }

    fn next_edges(&mut self) -> Result<Option<&[(u32, u32)]>, FormatError> {
        self.batch.clear();
        while self.batch.len() < BATCH {
            let Some(edge) = self.next_edge()? else { break };
            self.batch.push(edge);
        }
        Ok((!self.batch.is_empty()).then_some(&self.batch))
    }

    fn rewind(&mut self) -> Result<(), FormatError> {
        self.lines = 0;
        self.file.rewind().map_err(|error| FormatError::io(&self.path, error))
    }

    fn memory_bytes(&self) -> u64 {
        (BUFFER + self.line.capacity() + self.batch.capacity() * 8) as u64
    }
}

/// Writes a text file of edges. Returns their number.
///
/// # Errors
/// If the file cannot be written.
///
/// # Complexity
/// O(edges) time, constant memory.
pub fn write_text_edges(
    path: impl AsRef<Path>,
    edges: impl IntoIterator<Item = (u32, u32)>,
) -> Result<u64, FormatError> {
    let path = path.as_ref();
    let mut count = 0;
    atomic::write_file(path, |out| {
        for (a, b) in edges {
            writeln!(out, "{a} {b}").map_err(|error| FormatError::io(path, error))?;
            count += 1;
        }
        Ok(())
    })?;
    Ok(count)
}
