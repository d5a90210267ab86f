//! Run folders: the suite as run, the environment, the journal of finished cells, the table.
//!
//! ```text
//! suite.toml         the suite as run
//! environment.toml   version, commit, processor, threads, command line, digests of the files that the run reads
//! cells.jsonl        one line a finished cell, appended while the run goes on
//! results.parquet    all rows in the suite's order, once the run is complete
//! ```
//!
//! The journal is what survives a crash, and what a process locks as long as it writes the run: a torn last line is cut off when the run resumes. The table appears by renaming
//! when all cells are done.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use placebench_datasets::format::write_whole;
use placebench_datasets::io_reason;
use serde::{Deserialize, Serialize};

use super::lock::lock_alone;
use crate::results::{Row, TableError, read_table, write_table};
use crate::suite::{Suite, SuiteError};

/// Where and how a run was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of placebench.
    pub version: String,
    /// Commit that it was built from, if known.
    pub commit: Option<String>,
    /// When the run was started, in UTC (RFC 3339).
    #[serde(default)]
    pub started: Option<String>,
    /// Processor.
    pub cpu: String,
    /// Threads that cells ran on.
    pub threads: usize,
    /// Operating system and architecture.
    pub platform: String,
    /// Whether the build was optimised.
    pub optimized: bool,
    /// Version of the table's columns.
    pub schema_version: u32,
    /// The command line.
    pub command: Vec<String>,
    /// SHA-256 of each file that the run reads, by its path: see [`input_digests`](super::input_digests).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
}

/// Why a run folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The file system says no.
    #[error("{}: {}", path.display(), io_reason(source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder holds a run of another suite or version.
    #[error("{}: holds a run of {found}: choose another folder with --out, or delete this one", path.display())]
    OtherRun {
        /// The folder.
        path: PathBuf,
        /// What differs.
        found: String,
    },
    /// Another process runs the same suite in the folder.
    #[error(
        "{}: another placebench is writing this run: wait until it ends, or choose another folder with --out", path.display()
    )]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// A file that the run reads is not what it was when the run began.
    #[error(
        "{}: {file} {change}: restore it, or start a new run with --fresh or another --out", path.display()
    )]
    OtherInput {
        /// The folder.
        path: PathBuf,
        /// The file.
        file: String,
        /// What is known about it.
        change: &'static str,
    },
    /// The folder exists and is no run folder.
    #[error("{}: exists and is not a run folder: choose another with --out", path.display())]
    NotARun {
        /// The folder.
        path: PathBuf,
    },
    /// There is no run to read.
    #[error("{}: {}", path.display(), no_run(path))]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// A line of the journal that is not the last is no row.
    #[error("{}:{line}: not a row ({reason}): delete the line to run its cell again", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Why.
        reason: String,
    },
    /// A file of the folder does not say what it should.
    #[error("{}: {reason}", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The suite of the run names what this version does not have.
    #[error(transparent)]
    Suite(#[from] SuiteError),
    /// The table cannot be read or written.
    #[error(transparent)]
    Table(#[from] TableError),
}

/// An open run folder.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    journal: Mutex<File>,
}

const SUITE: &str = "suite.toml";
const ENVIRONMENT: &str = "environment.toml";
const JOURNAL: &str = "cells.jsonl";
const RESULTS: &str = "results.parquet";

impl RunFolder {
    /// Opens `path` for a run of the suite with this text: makes it, or resumes the unfinished run in it. Returns the
    /// rows that are already there.
    ///
    /// # Errors
    /// If the folder cannot be written, holds something else than a run of the same suite by the same version, another process
    /// has it open, or a file that the run reads has changed since.
    pub fn open(path: &Path, suite_toml: &str, environment: &Environment) -> Result<(Self, Vec<Row>), FolderError> {
        let io_at = |path: PathBuf| move |source| FolderError::Io { path, source };
        if path.exists() && fs::read_dir(path).map_err(io_at(path.to_owned()))?.next().is_some() {
            let before = Self::check_same_run(path, suite_toml, environment)?;
            check_same_inputs(path, &before.inputs, &environment.inputs)?;
        } else {
            fs::create_dir_all(path).map_err(io_at(path.to_owned()))?;
            let environment = toml::to_string_pretty(environment).unwrap_or_default();
            write_atomically(&path.join(ENVIRONMENT), environment.as_bytes())?;
            // The suite comes last: a folder with a suite is a run folder, complete enough to resume.
            write_atomically(&path.join(SUITE), suite_toml.as_bytes())?;
        }
        let journal = path.join(JOURNAL);
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).open(&journal).map_err(io_at(journal.clone()))?;
        if !lock_alone(&file) {
            return Err(FolderError::InUse { path: path.to_owned() });
        }
        let rows = read_journal(&mut file, &journal)?;
        Ok((Self { path: path.to_owned(), journal: Mutex::new(file) }, rows))
    }

    /// Whether a folder holds a run of this suite by this version, and if so whether it is complete.
    pub fn state(path: &Path, suite_toml: &str, environment: &Environment) -> Option<RunState> {
        Self::check_same_run(path, suite_toml, environment).ok()?;
        Some(if path.join(RESULTS).exists() { RunState::Complete } else { RunState::Unfinished })
    }

    /// The environment of a run of the same suite by the same version.
    fn check_same_run(path: &Path, suite_toml: &str, environment: &Environment) -> Result<Environment, FolderError> {
        let other = |found: &str| FolderError::OtherRun { path: path.to_owned(), found: found.to_owned() };
        let place = path.join(SUITE);
        let suite = fs::read_to_string(&place).map_err(|source| match source.kind() {
            io::ErrorKind::PermissionDenied => FolderError::Io { path: place, source },
            _ => FolderError::NotARun { path: path.to_owned() },
        })?;
        if suite != suite_toml {
            return Err(other("another suite, or an earlier state of this one"));
        }
        let text = fs::read_to_string(path.join(ENVIRONMENT)).unwrap_or_default();
        let before: Environment = toml::from_str(&text).map_err(|_| other("an unknown version of placebench"))?;
        let same = (&before.version, &before.commit, before.schema_version)
            == (&environment.version, &environment.commit, environment.schema_version);
        if !same {
            return Err(other("another version of placebench"));
        }
        Ok(before)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a finished cell to the journal: one write, so that a crash tears at most the last line.
    ///
    /// # Errors
    /// If the journal cannot be written (a full disk, say).
    pub fn append(&self, row: &Row) -> Result<(), FolderError> {
        let io_error = |source| FolderError::Io { path: self.path.join(JOURNAL), source };
        let mut line = serde_json::to_string(row).map_err(|error| io_error(error.into()))?;
        line.push('\n');
        let mut file = self.journal.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.write_all(line.as_bytes()).map_err(io_error)
    }

    /// Writes the table of the complete run.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(&self, rows: &[Row]) -> Result<PathBuf, FolderError> {
        let path = self.path.join(RESULTS);
        write_table(&path, rows)?;
        Ok(path)
    }
}

/// Checks that files hold what they held when the run in `path` began.
fn check_same_inputs(
    path: &Path,
    before: &BTreeMap<String, String>,
    now: &BTreeMap<String, String>,
) -> Result<(), FolderError> {
    let change = |file: &String| match (before.get(file), now.get(file)) {
        (Some(before), Some(now)) => (before != now).then_some("has changed since this run began"),
        (None, _) => Some("was not recorded when this run began"),
        (_, None) => Some("was read when this run began, and is not now"),
    };
    let mut files = before.keys().chain(now.keys());
    match files.find_map(|file| Some((file, change(file)?))) {
        None => Ok(()),
        Some((file, change)) => Err(FolderError::OtherInput { path: path.to_owned(), file: file.clone(), change }),
    }
}

/// Whether a run folder's run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// All cells are done and the table is written.
    Complete,
    /// Some cells are missing.
    Unfinished,
}

/// Reads the rows of a run: the table if the run is complete, else the journal.
///
/// # Errors
/// If the folder is no run folder, or a file in it is broken.
pub fn read_run(path: &Path) -> Result<Vec<Row>, FolderError> {
    check_is_run(path)?;
    let results = path.join(RESULTS);
    if results.exists() {
        return Ok(read_table(&results)?);
    }
    let journal = path.join(JOURNAL);
    let text = fs::read_to_string(&journal).map_err(|source| FolderError::Io { path: journal.clone(), source })?;
    Ok(parse_journal(&text, &journal)?.0)
}

/// The text of the suite that a run folder holds, and the suite. Its paths are as in the run: relative to the folder that
/// the run was started in, not to the run folder.
///
/// # Errors
/// If the folder is no run folder. The suite has an error of its own: it may name what this version of placebench does
/// not have, while the table can still be read.
pub fn read_suite(path: &Path) -> Result<(String, Result<Suite, FolderError>), FolderError> {
    let place = path.join(SUITE);
    check_is_run(path)?;
    let text = fs::read_to_string(&place).map_err(|source| FolderError::Io { path: place.clone(), source })?;
    let suite = Suite::parse(&text, &place.display().to_string()).map_err(FolderError::from);
    Ok((text, suite))
}

/// Where and how the run of a folder was made.
///
/// # Errors
/// If the file cannot be read or does not say.
pub fn read_environment(path: &Path) -> Result<Environment, FolderError> {
    let folder = path.to_owned();
    let path = path.join(ENVIRONMENT);
    let text = match fs::read_to_string(&path) {
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Err(FolderError::NoRun { path: folder }),
        other => other.map_err(|source| FolderError::Io { path: path.clone(), source })?,
    };
    toml::from_str(&text).map_err(|error| FolderError::Broken { path, reason: error.message().replace('\n', " ") })
}

/// Whether a path is a run folder that may be looked into.
fn check_is_run(path: &Path) -> Result<(), FolderError> {
    match path.join(SUITE).try_exists() {
        Ok(true) => Ok(()),
        Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
            Err(FolderError::Io { path: path.to_owned(), source })
        }
        _ => Err(FolderError::NoRun { path: path.to_owned() }),
    }
}

fn no_run(path: &Path) -> &'static str {
    match path.exists() {
        true => "is not a run folder",
        false => "there is no such run folder: 'placebench run' makes one",
    }
}

/// The file that holds the rows of a run now, and whether the run is complete.
pub fn table_of(path: &Path) -> (PathBuf, RunState) {
    let results = path.join(RESULTS);
    if results.exists() { (results, RunState::Complete) } else { (path.join(JOURNAL), RunState::Unfinished) }
}

fn read_journal(file: &mut File, path: &Path) -> Result<Vec<Row>, FolderError> {
    let io_error = |source| FolderError::Io { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(io_error)?;
    let text = String::from_utf8_lossy(&bytes);
    let (rows, complete) = parse_journal(&text, path)?;
    file.set_len(complete as u64).map_err(io_error)?;
    file.seek(SeekFrom::End(0)).map_err(io_error)?;
    Ok(rows)
}

/// The rows of all complete lines, and the length of those lines in bytes.
fn parse_journal(text: &str, path: &Path) -> Result<(Vec<Row>, usize), FolderError> {
    let complete = text.rfind('\n').map_or(0, |end| end + 1);
    let row = |(index, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| FolderError::Journal {
            path: path.to_owned(),
            line: index + 1,
            reason: error.to_string().replace(['\n', '\r'], " "),
        })
    };
    let rows = text[..complete].lines().enumerate().map(row).collect::<Result<_, _>>()?;
    Ok((rows, complete))
}

fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    write_whole(path, |error| error, |out| out.write_all(bytes))
        .map_err(|source| FolderError::Io { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        Environment {
            version: "1".into(),
            commit: None,
            started: None,
            cpu: "c".into(),
            threads: 1,
            platform: "p".into(),
            optimized: false,
            schema_version: 1,
            command: vec!["placebench".into()],
            inputs: BTreeMap::new(),
        }
    }

    fn row(repetition: u32) -> Row {
        Row { repetition, status: "ok".into(), makespan: Some(0.1), ..Row::default() }
    }

    #[test]
    fn a_torn_last_line_is_cut_off_and_its_cell_runs_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let (run, rows) = RunFolder::open(&path, "a", &environment()).unwrap();
        assert!(rows.is_empty());
        run.append(&row(0)).unwrap();
        run.append(&row(1)).unwrap();
        drop(run);
        let journal = path.join(JOURNAL);
        let text = fs::read_to_string(&journal).unwrap();
        fs::write(&journal, &text[..text.len() - 10]).unwrap();
        let (run, rows) = RunFolder::open(&path, "a", &environment()).unwrap();
        assert_eq!(rows, [row(0)]);
        run.append(&row(1)).unwrap();
        assert_eq!(read_run(&path).unwrap(), [row(0), row(1)]);
    }

    #[test]
    fn a_folder_that_is_open_is_refused_until_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let (run, _) = RunFolder::open(&path, "a", &environment()).unwrap();
        run.append(&row(0)).unwrap();
        assert!(matches!(RunFolder::open(&path, "a", &environment()), Err(FolderError::InUse { .. })));
        assert_eq!(read_run(&path).unwrap(), [row(0)], "reading needs no lock");
        drop(run);
        assert_eq!(RunFolder::open(&path, "a", &environment()).unwrap().1, [row(0)]);
    }

    #[test]
    fn a_folder_of_something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        RunFolder::open(&path, "a", &environment()).unwrap();
        assert!(matches!(RunFolder::open(&path, "b", &environment()), Err(FolderError::OtherRun { .. })));
        let newer = Environment { version: "2".into(), ..environment() };
        assert!(matches!(RunFolder::open(&path, "a", &newer), Err(FolderError::OtherRun { .. })));
        fs::write(folder.path().join("x"), "x").unwrap();
        assert!(matches!(RunFolder::open(folder.path(), "a", &environment()), Err(FolderError::NotARun { .. })));
    }

    #[test]
    fn a_run_with_another_input_is_refused_with_the_name_of_the_file() {
        let inputs = |files: &[(&str, &str)]| {
            let owned = |&(file, digest): &(&str, &str)| (file.to_owned(), digest.to_owned());
            Environment { inputs: files.iter().map(owned).collect(), ..environment() }
        };
        let begun = inputs(&[("c.toml", "0"), ("g.csv", "1")]);
        for (now, expected) in [
            (&[("c.toml", "0"), ("g.csv", "2")][..], "g.csv has changed since this run began: restore it, or"),
            (&[("c.toml", "0"), ("g.csv", "1"), ("p.py", "3")], "p.py was not recorded when this run began"),
            (&[("g.csv", "1")], "c.toml was read when this run began, and is not now"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            RunFolder::open(folder.path(), "a", &begun).unwrap();
            RunFolder::open(folder.path(), "a", &begun).unwrap();
            let error = RunFolder::open(folder.path(), "a", &inputs(now)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{}: {expected}", folder.path().display())), "{error}");
            assert_eq!(RunFolder::state(folder.path(), "a", &inputs(now)), Some(RunState::Unfinished));
        }
        let folder = tempfile::tempdir().unwrap();
        RunFolder::open(folder.path(), "a", &begun).unwrap();
        assert_eq!(read_environment(folder.path()).unwrap(), begun);
    }

    #[test]
    fn a_broken_line_in_the_middle_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let (run, _) = RunFolder::open(folder.path(), "a", &environment()).unwrap();
        run.append(&row(0)).unwrap();
        let journal = folder.path().join(JOURNAL);
        let text = fs::read_to_string(&journal).unwrap();
        fs::write(&journal, format!("nonsense\n{text}")).unwrap();
        let error = RunFolder::open(folder.path(), "a", &environment()).unwrap_err().to_string();
        assert!(error.contains("cells.jsonl:1: not a row"), "{error}");
    }

    #[test]
    fn a_finished_run_is_complete_and_reads_from_its_table() {
        let folder = tempfile::tempdir().unwrap();
        let (run, _) = RunFolder::open(folder.path(), "a", &environment()).unwrap();
        assert_eq!(RunFolder::state(folder.path(), "a", &environment()), Some(RunState::Unfinished));
        run.finish(&[row(0)]).unwrap();
        assert_eq!(RunFolder::state(folder.path(), "a", &environment()), Some(RunState::Complete));
        assert_eq!(read_run(folder.path()).unwrap(), [row(0)]);
    }
}
