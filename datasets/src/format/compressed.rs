//! Compressed files: any format may end in `.gz` or `.zst`.
//!
//! A compressed file is unpacked into a temporary file without a name before it is read, and a file is compressed after
//! it is written. So readers and writers may seek, and memory stays bounded. The temporary file takes the disk space of
//! the plain one, in the folder that `TMPDIR` names. What a reader takes as a whole is unpacked in memory, if there is room.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use placebench_base::process::check_memory;
use placebench_base::{io_reason, open_file};

use super::FormatError;
use super::held::Held;

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

    fn unpacked(self, from: File) -> io::Result<Box<dyn Read>> {
        let from = BufReader::with_capacity(BUFFER, from);
        Ok(match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(from)),
            Self::Zstandard => Box::new(zstd::Decoder::with_buffer(from)?),
        })
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
    let file = open_file(path).map_err(|error| FormatError::io(path, error))?;
    let Some(compression) = Compression::of(path) else { return Ok(file) };
    let own = |error| no_room(path, &error);
    let mut plain = tempfile::tempfile().map_err(own)?;
    let mut from = compression.unpacked(file).map_err(|error| damaged(path, error))?;
    copy(path, &mut from, &mut plain)?;
    plain.rewind().map_err(own)?;
    Ok(plain)
}

/// Unpacks a file into a temporary one. What is wrong with the one is not said of the other.
fn copy(path: &Path, from: &mut impl Read, to: &mut impl Write) -> Result<(), FormatError> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return to.flush().map_err(|error| no_room(path, &error)),
            Ok(read) => to.write_all(&buffer[..read]).map_err(|error| no_room(path, &error))?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(damaged(path, error)),
        }
    }
}

/// A file could not be unpacked into a temporary one.
fn no_room(path: &Path, error: &io::Error) -> FormatError {
    let folder = std::env::temp_dir();
    let message = format!("cannot be unpacked to a file in {}: {}", folder.display(), io_reason(error));
    FormatError::file(path, message).remedy("name a folder with more room in TMPDIR, or unpack it yourself")
}

/// A compressed file could not be read: by its own fault, unless the system says otherwise.
fn damaged(path: &Path, error: io::Error) -> FormatError {
    // The words of Zstandard where it finds no room for its window.
    let wants_memory = error.kind() == io::ErrorKind::OutOfMemory || error.to_string().ends_with("not enough memory");
    match error.raw_os_error().is_some() || wants_memory {
        true => FormatError::io(path, error),
        false => {
            let fault = FormatError::file(path, format!("cannot be unpacked: {error}"));
            fault.remedy("compress it again, or rename it")
        }
    }
}

/// The whole of a file. A compressed one is unpacked in memory.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, FormatError> {
    let io = |error| FormatError::io(path, error);
    let file = open_file(path).map_err(io)?;
    let mut content = Vec::new();
    match Compression::of(path) {
        None => {
            // A pipe or a device does not know its length.
            let bytes = file.metadata().map_err(io)?.len();
            check_memory(&[(bytes, 1)], || "the file".to_owned()).map_err(|error| FormatError::file(path, error))?;
            content.reserve_exact(bytes as usize);
            Held::new("a file", file).read_to_end(&mut content).map_err(io)?;
        }
        Some(compression) => {
            let from = compression.unpacked(file).map_err(|error| damaged(path, error))?;
            Held::new("a file", from).read_to_end(&mut content).map_err(|error| damaged(path, error))?;
        }
    }
    Ok(content)
}

/// The whole of a text file.
pub(crate) fn read_text(path: &Path) -> Result<String, FormatError> {
    String::from_utf8(read(path)?).map_err(|_| FormatError::io(path, io::ErrorKind::InvalidData.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zeros(count: u64) -> impl Read {
        io::repeat(0).take(count)
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_not_called_damage() {
        let error = copy(Path::new("g.csv.gz"), &mut zeros(1), &mut File::create("/dev/full").unwrap()).unwrap_err();
        let folder = std::env::temp_dir();
        let expected = format!("g.csv.gz: cannot be unpacked to a file in {}: no space is left on", folder.display());
        assert!(error.to_string().starts_with(&expected), "{error}");
    }

    #[test]
    fn want_of_memory_is_not_called_damage_and_damage_is() {
        let path = Path::new("g.csv.zst");
        let said = |error: io::Error| damaged(path, error).to_string();
        let words = "Allocation error : not enough memory";
        assert_eq!(said(io::Error::other(words)), format!("g.csv.zst: {words}"));
        assert_eq!(said(io::ErrorKind::OutOfMemory.into()), "g.csv.zst: not enough memory");
        let expected = "g.csv.zst: cannot be unpacked: corrupt deflate stream: compress it again, or rename it";
        assert_eq!(said(io::Error::other("corrupt deflate stream")), expected);
    }

    #[test]
    fn what_a_file_unpacks_to_is_the_same_whole_or_in_a_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        for (name, compression) in [("g.gz", Compression::Gzip), ("g.zst", Compression::Zstandard)] {
            let path = folder.path().join(name);
            compression.compress(zeros(300_000), File::create(&path).unwrap()).unwrap();
            assert_eq!(
                (read(&path).unwrap().len(), open(&path).unwrap().metadata().unwrap().len()),
                (300_000, 300_000)
            );
        }
    }
}
