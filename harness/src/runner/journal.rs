//! Journals: files that finished cells are appended to, one for each process that runs cells.
//!
//! A journal has a reader that knows only complete lines: what a crash tore, or a process is just writing, is not there yet.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use placebench_base::io_reason;
use placebench_datasets::format::sha256;
use serde::{Deserialize, Serialize};

use super::environment::Environment;
use super::folder_error::FolderError;
use super::lock::lock_alone;
use crate::results::Row;
use crate::suite::Shard;

/// The journal of a run that is not in shards.
pub(super) const WHOLE: &str = "cells.jsonl";

/// The folder of the journals of shards.
pub(super) const PARTS: &str = "parts";

/// The first line of a part: what run its cells are of, and who wrote it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PartHeader {
    /// SHA-256 of the suite's text.
    pub(super) suite: String,
    /// Of the process that wrote the part.
    pub(super) environment: Environment,
}

impl PartHeader {
    pub(super) fn new(suite_toml: &str, environment: &Environment) -> Self {
        Self { suite: suite_digest(suite_toml), environment: environment.clone() }
    }

    /// What of this part is not as in the run; `None` if it is a part of it.
    pub(super) fn difference(&self, run: &Self) -> Option<&'static str> {
        match () {
            () if self.suite != run.suite => Some("another suite"),
            () if !self.environment.is_same_version(&run.environment) => Some("another version of placebench"),
            () if self.environment.inputs != run.environment.inputs => Some("other input files"),
            () => None,
        }
    }
}

fn suite_digest(suite_toml: &str) -> String {
    // Reading a text does not fail.
    sha256(suite_toml.as_bytes()).unwrap_or_default()
}

/// A file that one process appends finished cells to.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    /// Why, after a write failed: a line after half a line would be lost with it.
    file: Mutex<Result<File, String>>,
}

impl Journal {
    /// The journal of a run that is not in shards, locked as long as it is open; cuts off a torn last line.
    ///
    /// # Errors
    /// [`FolderError::InUse`] if another process has it open.
    pub(super) fn whole(folder: &Path) -> Result<Self, FolderError> {
        let path = folder.join(WHOLE);
        let open = || {
            let file = OpenOptions::new().read(true).append(true).create(true).open(&path)?;
            if !lock_alone(&file) {
                return Ok(None);
            }
            let mut complete = 0;
            let mut lines = Lines::new(&file, 0)?;
            while lines.next()?.is_some() {
                complete = lines.end;
            }
            file.set_len(complete)?;
            Ok(Some(file))
        };
        let file = open().map_err(|source| FolderError::Io { path: path.clone(), source })?;
        let file = file.ok_or_else(|| FolderError::InUse { path: folder.to_owned() })?;
        Ok(Self { path, file: Mutex::new(Ok(file)) })
    }

    /// The journal of a new attempt at a shard: a file that no other process writes.
    pub(super) fn part(folder: &Path, shard: Shard, header: &PartHeader) -> Result<Self, FolderError> {
        let parts = folder.join(PARTS);
        let fault = |path: &Path, source| FolderError::Io { path: path.to_owned(), source };
        fs::create_dir_all(&parts).map_err(|source| fault(&parts, source))?;
        for attempt in 1.. {
            let path = parts.join(PartName { shard, attempt }.to_string());
            match OpenOptions::new().append(true).create_new(true).open(&path) {
                Ok(file) => {
                    let journal = Self { path, file: Mutex::new(Ok(file)) };
                    journal.append(header)?;
                    return Ok(journal);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(fault(&path, source)),
            }
        }
        Err(fault(&parts, io::Error::other("no free name for a part")))
    }

    /// Appends a line in one write.
    pub(super) fn append(&self, line: &impl Serialize) -> Result<(), FolderError> {
        let fault = |source| FolderError::Io { path: self.path.clone(), source };
        let mut text = serde_json::to_string(line).map_err(|error| fault(error.into()))?;
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let open = match file.as_mut() {
            Ok(open) => open,
            Err(reason) => return Err(fault(io::Error::other(format!("an earlier write failed: {reason}")))),
        };
        open.write_all(text.as_bytes()).map_err(|source| {
            *file = Err(io_reason(&source));
            fault(source)
        })
    }
}

/// `cells.I-of-N.ATTEMPT.jsonl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PartName {
    shard: Shard,
    attempt: u32,
}

impl std::fmt::Display for PartName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Shard { index, count } = self.shard;
        write!(f, "cells.{index}-of-{count}.{}.jsonl", self.attempt)
    }
}

impl PartName {
    /// `None` if a file is no part.
    fn parse(name: &str) -> Option<Self> {
        let (shard, attempt) = name.strip_prefix("cells.")?.strip_suffix(".jsonl")?.split_once('.')?;
        let shard = shard.replacen("-of-", "/", 1).parse().ok()?;
        let parsed = Self { shard, attempt: attempt.parse().ok()? };
        (parsed.to_string() == name).then_some(parsed)
    }
}

/// The journals of a run folder, in a fixed order. With `reader` those that may hold cells of this shard: none of the other
/// shards of as many.
pub(super) fn journals(folder: &Path, reader: Option<Shard>) -> Result<Vec<PathBuf>, FolderError> {
    let parts = folder.join(PARTS);
    let fault = |source| FolderError::Io { path: parts.clone(), source };
    let mut names = Vec::new();
    match fs::read_dir(&parts) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(fault(error)),
        Ok(entries) => {
            for entry in entries {
                names.extend(PartName::parse(&entry.map_err(fault)?.file_name().to_string_lossy()));
            }
        }
    }
    names.retain(|name| reader.is_none_or(|reader| reader == name.shard || reader.count != name.shard.count));
    names.sort_unstable();
    let whole = Some(folder.join(WHOLE)).filter(|path| path.exists());
    Ok(whole.into_iter().chain(names.iter().map(|name| parts.join(name.to_string()))).collect())
}

/// Whether a journal is of a shard, and so begins with a header.
pub(super) fn is_part(journal: &Path) -> bool {
    !journal.ends_with(WHOLE)
}

/// All rows of a journal.
pub(super) fn rows_of(journal: &Path) -> Result<Vec<Row>, FolderError> {
    let fault = |source| FolderError::Io { path: journal.to_owned(), source };
    let file = File::open(journal).map_err(fault)?;
    let mut lines = Lines::new(&file, 0).map_err(fault)?;
    let mut rows = Vec::new();
    while let Some((number, line)) = lines.next().map_err(fault)? {
        if number > 1 || !is_part(journal) {
            rows.push(parse(journal, number, line)?);
        }
    }
    Ok(rows)
}

/// A line of a journal as what it should be.
pub(super) fn parse<'a, T: Deserialize<'a>>(journal: &Path, number: usize, line: &'a [u8]) -> Result<T, FolderError> {
    serde_json::from_slice(line).map_err(|error| FolderError::Journal {
        path: journal.to_owned(),
        line: number,
        reason: error.to_string().replace(['\n', '\r'], " "),
    })
}

/// The complete lines of a file.
pub(super) struct Lines<'a> {
    reader: BufReader<&'a File>,
    line: Vec<u8>,
    /// Number of the last line that was read, from 1 at the offset where reading began.
    pub(super) number: usize,
    /// Where it ends.
    pub(super) end: u64,
}

impl<'a> Lines<'a> {
    /// From an offset at which a line begins.
    pub(super) fn new(mut file: &'a File, offset: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(offset))?;
        Ok(Self { reader: BufReader::with_capacity(1 << 16, file), line: Vec::new(), number: 0, end: offset })
    }

    /// The next line without its end, and its number; `None` if there is none or it is not complete.
    pub(super) fn next(&mut self) -> io::Result<Option<(usize, &[u8])>> {
        self.line.clear();
        let length = self.reader.read_until(b'\n', &mut self.line)?;
        if self.line.pop() != Some(b'\n') {
            return Ok(None);
        }
        self.number += 1;
        self.end += length as u64;
        Ok(Some((self.number, &self.line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_part_says_shard_and_attempt() {
        let name = PartName { shard: Shard { index: 3, count: 8 }, attempt: 2 };
        assert_eq!(name.to_string(), "cells.3-of-8.2.jsonl");
        assert_eq!(PartName::parse("cells.3-of-8.2.jsonl"), Some(name));
        for other in ["cells.9-of-8.2.jsonl", "cells.3-of-8.jsonl", "cells.03-of-8.2.jsonl", "cells.3-of-8.2.jsonl~"] {
            assert_eq!(PartName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_shard_reads_its_own_parts_and_those_of_other_divisions() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(PARTS)).unwrap();
        let names = ["cells.1-of-2.1.jsonl", "cells.1-of-2.10.jsonl", "cells.1-of-2.2.jsonl", "cells.2-of-2.1.jsonl"];
        for name in names.iter().chain(&["cells.1-of-3.1.jsonl", ".nfs1234", "done.1-of-2"]) {
            fs::write(folder.path().join(PARTS).join(name), "").unwrap();
        }
        let read = |reader: Option<Shard>| -> Vec<String> {
            let paths = journals(folder.path(), reader).unwrap();
            paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
        };
        let own = read(Some(Shard { index: 1, count: 2 }));
        let expected =
            ["cells.1-of-2.1.jsonl", "cells.1-of-2.2.jsonl", "cells.1-of-2.10.jsonl", "cells.1-of-3.1.jsonl"];
        assert_eq!(own, expected);
        assert_eq!(read(None).len(), 5);
        fs::write(folder.path().join(WHOLE), "").unwrap();
        assert_eq!(read(None)[0], WHOLE);
    }

    #[test]
    fn two_attempts_never_share_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let header = || PartHeader { suite: "s".into(), environment: super::super::folder::tests::environment() };
        let shard = Shard { index: 1, count: 1 };
        let attempts: Vec<PathBuf> = std::thread::scope(|scope| {
            let open = || Journal::part(folder.path(), shard, &header()).unwrap().path;
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(attempts.iter().collect::<std::collections::BTreeSet<_>>().len(), 8);
    }

    /// `/dev/full` is a disk that is full.
    #[cfg(target_os = "linux")]
    #[test]
    fn after_a_write_that_failed_nothing_is_appended() {
        let file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let journal = Journal { path: "full.jsonl".into(), file: Mutex::new(Ok(file)) };
        let error = journal.append(&1).unwrap_err().to_string();
        assert!(error.starts_with("full.jsonl: no space is left on the disk"), "{error}");
        let expected = "full.jsonl: an earlier write failed: no space is left on the disk";
        assert_eq!(journal.append(&1).unwrap_err().to_string(), expected);
    }
}
