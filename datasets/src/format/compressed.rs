//! Compressed files: any format may end in `.gz` or `.zst`.
//!
//! A compressed file is unpacked into a temporary file without a name before it is read, and a file is compressed after
//! it is written. So readers and writers may seek, and memory stays bounded. The temporary file takes the disk space of
//! the plain one, in the folder that `TMPDIR` names.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;

use super::FormatError;

/// How a file is compressed, by the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Gzip,
    Zstandard,
}

/// Bytes read at once.
const BUFFER: usize = 1 << 17;

impl Compression {
    pub(super) fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "gz" => Some(Self::Gzip),
            "zst" => Some(Self::Zstandard),
            _ => None,
        }
    }

    /// Compresses a whole file. The bytes depend on the content alone.
    pub(super) fn compress(self, mut from: impl Read, to: impl Write) -> io::Result<()> {
        match self {
            Self::Gzip => {
                let mut out = GzEncoder::new(to, flate2::Compression::default());
                io::copy(&mut from, &mut out)?;
                out.finish()?.flush()
            }
            Self::Zstandard => {
                let mut out = zstd::Encoder::new(to, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                io::copy(&mut from, &mut out)?;
                out.finish()?.flush()
            }
        }
    }

    fn unpack(self, from: File, to: &mut impl Write) -> io::Result<u64> {
        let from = BufReader::with_capacity(BUFFER, from);
        match self {
            Self::Gzip => io::copy(&mut MultiGzDecoder::new(from), to),
            Self::Zstandard => io::copy(&mut zstd::Decoder::with_buffer(from)?, to),
        }
    }
}

/// The path without `.gz` or `.zst`: its name says the format.
pub fn without_compression(path: &Path) -> PathBuf {
    match Compression::of(path) {
        Some(_) => path.with_extension(""),
        None => path.to_owned(),
    }
}

/// Opens a file for reading. A compressed one is unpacked first.
///
/// # Errors
/// If the file cannot be read or unpacked.
pub fn open(path: &Path) -> Result<File, FormatError> {
    let file = File::open(path).map_err(|error| FormatError::io(path, error))?;
    let Some(compression) = Compression::of(path) else { return Ok(file) };
    let own = |error| FormatError::file(path, format!("cannot be unpacked: no room for a temporary file: {error}"));
    let mut plain = BufWriter::with_capacity(BUFFER, tempfile::tempfile().map_err(own)?);
    compression.unpack(file, &mut plain).map_err(|error| {
        FormatError::file(path, format!("cannot be unpacked: {error}")).remedy("compress it again, or rename it")
    })?;
    let mut plain = plain.into_inner().map_err(|error| own(error.into_error()))?;
    plain.rewind().map_err(own)?;
    Ok(plain)
}

/// The whole of a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, FormatError> {
    let mut content = Vec::new();
    open(path)?.read_to_end(&mut content).map_err(|error| FormatError::io(path, error))?;
    Ok(content)
}

/// The whole of a text file.
pub(crate) fn read_text(path: &Path) -> Result<String, FormatError> {
    let mut content = String::new();
    open(path)?.read_to_string(&mut content).map_err(|error| FormatError::io(path, error))?;
    Ok(content)
}
