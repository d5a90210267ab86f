//! Parts of a graph that is too large for one file: edges as Parquet, binary or text, and ops as Parquet.

use std::io::{self, Write};
use std::path::Path;

use placebench_base::did_you_mean;
use sha2::{Digest, Sha256};

use super::edge_file::write_header;
use crate::format::native::schema::{Column, Content, Packing, optional, required};
use crate::format::native::table_write::{Digesting, TableWriter};
use crate::format::sha256::hex;
use crate::format::{FormatError, write_whole};
use crate::{GroupId, KindSet};

/// How the edges of a part are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeFormat {
    /// A table with the columns `source` and `target`.
    Parquet,
    /// 8 bytes an edge, with a header.
    Binary,
    /// A line for each edge.
    Text,
}

impl EdgeFormat {
    /// All of them, with their names and extensions.
    pub const ALL: [(Self, &'static str, &'static str); 3] =
        [(Self::Parquet, "parquet", "parquet"), (Self::Binary, "binary", "pbedges"), (Self::Text, "edges", "edges")];

    /// The format of a name.
    ///
    /// # Errors
    /// One line with the nearest name.
    pub fn named(name: &str) -> Result<Self, String> {
        let names = Self::ALL.map(|(_, name, _)| name);
        let found = Self::ALL.into_iter().find(|entry| entry.1 == name);
        let unknown = || format!("'{name}' is no format of streams: {}", did_you_mean(name, names));
        found.map(|entry| entry.0).ok_or_else(unknown)
    }

    /// The format that a file's extension says.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        Self::ALL.into_iter().find(|entry| entry.2 == extension).map(|entry| entry.0)
    }

    fn entry(self) -> (Self, &'static str, &'static str) {
        Self::ALL.into_iter().find(|entry| entry.0 == self).unwrap_or(Self::ALL[0])
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.entry().1
    }

    /// The extension of its files.
    pub fn extension(self) -> &'static str {
        self.entry().2
    }
}

/// The columns of a table of edges.
pub(super) const EDGES: [Column; 2] = [
    required("source", Content::Unsigned(32), Packing::Delta),
    required("target", Content::Unsigned(32), Packing::Delta),
];

/// The note in a table of edges that says how many vertices the graph has.
pub(super) const VERTICES: &str = "vertices";

const OPS: [Column; 5] = [
    required("ops", Content::Double, Packing::Dictionary),
    required("memory_bytes", Content::Unsigned(64), Packing::Dictionary),
    required("tensor_bytes", Content::Unsigned(64), Packing::Dictionary),
    required("kinds", Content::Unsigned(8), Packing::Dictionary),
    optional("group", Content::Unsigned(32), Packing::Delta),
];

/// Rows of a row group: what a writer holds in memory.
const GROUP_ROWS: usize = 1 << 20;

/// Takes the edges of a part in turn.
pub struct EdgeSink<'a, W: Write + Send> {
    path: &'a Path,
    out: Out<W>,
    /// Bytes of the edges that came together.
    buffer: Vec<u8>,
    count: u64,
}

enum Out<W: Write + Send> {
    Parquet(Box<TableWriter<W>>),
    Binary(Digesting<W>),
    Text(Digesting<W>),
}

impl<'a, W: Write + Send> EdgeSink<'a, W> {
    fn start(path: &'a Path, out: W, format: EdgeFormat, vertices: u32, edges: u64) -> Result<Self, FormatError> {
        let io = |error| FormatError::io(path, error);
        let digesting = |out| Digesting { out, digest: Sha256::new() };
        let out = match format {
            EdgeFormat::Parquet => {
                let notes = [(VERTICES, vertices.to_string())];
                Out::Parquet(Box::new(TableWriter::on(path, out, EDGES.to_vec(), GROUP_ROWS, &notes)?))
            }
            EdgeFormat::Binary => {
                let mut out = digesting(out);
                write_header(&mut out, vertices, edges).map_err(io)?;
                Out::Binary(out)
            }
            EdgeFormat::Text => {
                let mut out = digesting(out);
                writeln!(out, "# vertices {vertices}").map_err(io)?;
                Out::Text(out)
            }
        };
        Ok(Self { path, out, buffer: Vec::new(), count: 0 })
    }

    /// Writes some edges.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn push(&mut self, edges: &[(u32, u32)]) -> Result<(), FormatError> {
        let io = |error| FormatError::io(self.path, error);
        self.count += edges.len() as u64;
        match &mut self.out {
            Out::Parquet(table) => {
                for &(source, target) in edges {
                    table.cells[0].push_u32(source);
                    table.cells[1].push_u32(target);
                    table.end_row()?;
                }
                Ok(())
            }
            Out::Binary(out) => {
                self.buffer.resize(edges.len() * 8, 0);
                for (bytes, &(a, b)) in self.buffer.as_chunks_mut().0.iter_mut().zip(edges) {
                    *bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
                }
                out.write_all(&self.buffer).map_err(io)
            }
            Out::Text(out) => {
                self.buffer.clear();
                self.buffer.reserve(edges.len() * 22);
                for &(a, b) in edges {
                    push_number(&mut self.buffer, a);
                    self.buffer.push(b' ');
                    push_number(&mut self.buffer, b);
                    self.buffer.push(b'\n');
                }
                out.write_all(&self.buffer).map_err(io)
            }
        }
    }

    /// What was written to, and its SHA-256.
    fn end(self, expected: u64) -> Result<(W, String), FormatError> {
        if self.count != expected {
            let message = format!("{} edges came, but {expected} were announced", self.count);
            return Err(FormatError::file(self.path, message));
        }
        match self.out {
            Out::Parquet(table) => table.end(),
            Out::Binary(out) | Out::Text(out) => Ok((out.out, hex(&out.digest.finalize()))),
        }
    }
}

/// Appends a number in decimal digits.
fn push_number(text: &mut Vec<u8>, mut number: u32) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[at..]);
}

/// Where a part goes: to a file that appears when it is complete, or nowhere.
pub enum Target<'a> {
    /// A file, which is replaced if it is there.
    File(&'a Path),
    /// Only the digest counts; the path is for messages.
    Nowhere(&'a Path),
}

/// Writes `edges` edges of a graph, which `content` makes. Returns the SHA-256 of the file. The same edges give the same
/// bytes.
///
/// # Errors
/// If the file cannot be written, or `content` fails.
///
/// # Complexity
/// O(edges) time; for Parquet 16 MiB of memory.
pub fn write_edge_part(
    target: &Target<'_>,
    format: EdgeFormat,
    vertices: u32,
    edges: u64,
    content: impl FnOnce(&mut EdgeSink<'_, &mut (dyn Write + Send)>) -> Result<(), FormatError>,
) -> Result<String, FormatError> {
    to_target(target, |path, out| {
        let mut sink = EdgeSink::start(path, out, format, vertices, edges)?;
        content(&mut sink)?;
        Ok(sink.end(edges)?.1)
    })
}

fn to_target(
    target: &Target<'_>,
    write: impl FnOnce(&Path, &mut (dyn Write + Send)) -> Result<String, FormatError>,
) -> Result<String, FormatError> {
    match *target {
        Target::Nowhere(path) => write(path, &mut io::sink()),
        Target::File(path) => {
            let mut digest = String::new();
            write_whole(
                path,
                |error| FormatError::io(path, error),
                |out| {
                    digest = write(path, out)?;
                    Ok(())
                },
            )?;
            Ok(digest)
        }
    }
}

/// Some consecutive ops of a graph with one tensor for each op.
#[derive(Clone, Copy, Debug)]
pub struct OpRow {
    /// Cost, in operations.
    pub ops: f64,
    /// Resident memory.
    pub memory_bytes: u64,
    /// Size of the output.
    pub tensor_bytes: u64,
    /// Kinds of devices that the op may run on.
    pub kinds: KindSet,
    /// Colocation group.
    pub group: Option<GroupId>,
}

/// Takes the ops of a part in turn.
pub struct OpSink<'a>(TableWriter<&'a mut (dyn Write + Send)>);

impl OpSink<'_> {
    /// Writes an op.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn push(&mut self, op: &OpRow) -> Result<(), FormatError> {
        let cells = &mut self.0.cells;
        cells[0].push_f64(op.ops);
        cells[1].push_u64(op.memory_bytes);
        cells[2].push_u64(op.tensor_bytes);
        cells[3].push_u32(op.kinds.bits().into());
        cells[4].push_optional_u32(op.group.map(|group| group.0));
        self.0.end_row()
    }
}

/// Writes ops, which `content` makes, as a Parquet table. Returns the SHA-256 of the file.
///
/// # Errors
/// If the file cannot be written, or `content` fails.
pub fn write_op_part(
    target: &Target<'_>,
    content: impl FnOnce(&mut OpSink<'_>) -> Result<(), FormatError>,
) -> Result<String, FormatError> {
    to_target(target, |path, out| {
        let mut sink = OpSink(TableWriter::on(path, out, OPS.to_vec(), GROUP_ROWS, &[])?);
        content(&mut sink)?;
        Ok(sink.0.end()?.1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::sha256;
    use crate::stream::open_edges;

    #[test]
    fn parts_are_read_back_and_their_digests_are_those_of_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let edges: Vec<(u32, u32)> = (0..150_000).map(|edge| (edge % 977, edge * 31 % 4_000_000)).collect();
        for (format, name, extension) in EdgeFormat::ALL {
            let path = folder.path().join(format!("part.{extension}"));
            let write = |target: &Target<'_>| {
                write_edge_part(target, format, 4_000_000, 150_000, |sink| {
                    edges.chunks(70_000).try_for_each(|some| sink.push(some))
                })
                .unwrap()
            };
            let digest = write(&Target::File(&path));
            assert_eq!(digest, sha256(std::fs::File::open(&path).unwrap()).unwrap());
            assert_eq!(digest, write(&Target::Nowhere(&path)));
            let mut stream = open_edges(&path, format).unwrap();
            let mut found = Vec::new();
            while let Some(batch) = stream.next_edges().unwrap() {
                found.extend_from_slice(batch);
            }
            assert!(found == edges, "{name}");
            if format != EdgeFormat::Text {
                assert_eq!(stream.vertex_count(), 4_000_000);
            }
            assert_eq!((EdgeFormat::of_path(&path), EdgeFormat::named(name)), (Some(format), Ok(format)));
        }
    }

    #[test]
    fn a_part_without_all_its_edges_does_not_appear() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part.edges");
        let error = write_edge_part(&Target::File(&path), EdgeFormat::Text, 9, 2, |sink| sink.push(&[(1, 2)]));
        assert!(error.unwrap_err().to_string().ends_with("1 edges came, but 2 were announced"));
        assert!(!path.exists());
    }
}
