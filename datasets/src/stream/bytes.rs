//! What the binary files of streams share: headers, and numbers in little-endian order.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::format::{FormatError, compressed};

/// Edges, or entries of rows, that are read and checked at once.
pub(super) const BATCH: usize = 1 << 16;

/// Bytes that a file is read by.
pub(super) const BUFFER: usize = 1 << 18;

/// A file and its length.
pub(super) fn open(path: &Path) -> Result<(File, u64), FormatError> {
    let file = compressed::open(path)?;
    let metadata = file.metadata().map_err(|error| FormatError::io(path, error))?;
    if metadata.is_dir() {
        return Err(FormatError::file(path, "is a folder").remedy("name a file in it"));
    }
    Ok((file, metadata.len()))
}

/// The numbers of a header that begins with a magic word.
pub(super) fn read_header<const N: usize>(
    file: &mut impl Read,
    path: &Path,
    magic: &[u8; 8],
    what: &str,
) -> Result<[u64; N], FormatError> {
    let wrong = |message: String| FormatError::file(path, message);
    let mut found = [0; 8];
    file.read_exact(&mut found).map_err(|_| wrong(format!("is too short for a {what}")))?;
    if found != *magic {
        let name = magic.escape_ascii();
        return Err(wrong(format!("is no {what}: it does not begin with '{name}'")).remedy("choose the format it has"));
    }
    let mut numbers = [0; N];
    for number in &mut numbers {
        let mut bytes = [0; 8];
        file.read_exact(&mut bytes).map_err(|_| wrong(format!("ends within the header of {what}")))?;
        *number = u64::from_le_bytes(bytes);
    }
    Ok(numbers)
}

/// Refuses a file that is not as long as its header says.
pub(super) fn check_length(path: &Path, found: u64, expected: Option<u64>, promised: &str) -> Result<(), FormatError> {
    let expected =
        expected.ok_or_else(|| FormatError::file(path, format!("its header promises {promised}: too many")))?;
    if found == expected {
        return Ok(());
    }
    let fault = if found < expected { "it is cut short" } else { "it goes on after them" };
    let message = format!("has {found} bytes, but its header promises {promised}, which take {expected}: {fault}");
    Err(FormatError::file(path, message).remedy("write the file again"))
}

/// Number of vertices, if 32-bit ids can name them.
pub(super) fn vertex_count(path: &Path, vertices: u64) -> Result<usize, FormatError> {
    if vertices > u64::from(u32::MAX) {
        return Err(FormatError::file(path, format!("{vertices} vertices are more than 32-bit ids can name")));
    }
    Ok(vertices as usize)
}

/// A fault of one edge, counted from 0: an end that does not exist.
pub(super) fn unknown_end(path: &Path, edge: u64, ends: (u32, u32), vertices: usize) -> FormatError {
    let message = format!("joins {} and {}, but there are only {vertices} vertices, from 0 on", ends.0, ends.1);
    FormatError::item(path, format_args!("edge {edge}"), message).remedy("correct the edge or the number of vertices")
}

pub(super) fn numbers32(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.as_chunks().0.iter().map(|chunk| u32::from_le_bytes(*chunk))
}

pub(super) fn numbers64(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.as_chunks().0.iter().map(|chunk| u64::from_le_bytes(*chunk))
}
