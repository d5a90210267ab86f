//! Run folders: the suite as run, the environment, the journal of finished cells, the table.
//!
//! ```text
//! suite.toml         the suite as run
//! environment.toml   version, commit, processor, threads, command line, digests of the files that the run reads
//! cells.jsonl        one line a finished cell, appended while the run goes on
//! timelines/         what measured cells did when: see MeasuredTimeline
//! parts/             of a run in shards: cells.I-of-N.ATTEMPT.jsonl, a file for each attempt at a shard
//! results.parquet    all rows in the suite's order, once the run is complete
//! ```
//!
//! The journals are what survives a crash: a torn last line does not count. The table appears by renaming when all cells are
//! done. The journal of a run that is not in shards is locked as long as a process writes it. Shards share the folder
//! without locks, so that it may be on a network file system: no two processes write one file, and files that they all make
//! appear complete or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::folder_error::FolderError;
use super::journal::{Journal, PARTS, PartHeader};
use crate::results::Row;
use crate::suite::{Shard, Suite};

/// An open run folder.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    environment: Environment,
    journal: Journal,
}

pub(super) const SUITE: &str = "suite.toml";
pub(super) const ENVIRONMENT: &str = "environment.toml";
pub(super) const RESULTS: &str = "results.parquet";

impl RunFolder {
    /// Opens `path` for a run of the suite with this text, or of a shard of it: makes the folder, or resumes the unfinished
    /// run in it. [`Finished`](super::Finished) says what is there already.
    ///
    /// # Errors
    /// If the folder cannot be written, holds something else than a run of the same suite by the same version, another
    /// process writes the same run and neither is a shard, or a file that the run reads has changed since.
    pub fn open(
        path: &Path,
        suite_toml: &str,
        environment: &Environment,
        shard: Option<Shard>,
    ) -> Result<Self, FolderError> {
        Self::prepare(path, suite_toml, environment)?;
        let journal = match shard {
            None => Journal::whole(path)?,
            Some(shard) => Journal::part(path, shard, &PartHeader::new(suite_toml, environment))?,
        };
        Ok(Self { path: path.to_owned(), environment: environment.clone(), journal })
    }

    /// Makes the folder, or checks that it holds a run of the same suite by the same version: what its shards need to find.
    ///
    /// # Errors
    /// As [`RunFolder::open`].
    pub fn prepare(path: &Path, suite_toml: &str, environment: &Environment) -> Result<(), FolderError> {
        let io_at = |path: PathBuf| move |source| FolderError::Io { path, source };
        if !path.join(SUITE).exists() {
            let foreign = path.exists() && is_foreign(path).map_err(io_at(path.to_owned()))?;
            // Another shard may have made the folder, and begun in it, since the look at its suite.
            if foreign && !path.join(SUITE).exists() {
                return Err(FolderError::NotARun { path: path.to_owned() });
            }
            fs::create_dir_all(path).map_err(io_at(path.to_owned()))?;
            let environment = toml::to_string_pretty(environment).unwrap_or_default();
            write_once(path, ENVIRONMENT, environment.as_bytes())?;
            // The suite comes last: a folder with a suite is a run folder, complete enough to resume.
            write_once(path, SUITE, suite_toml.as_bytes())?;
        }
        // Also where this process has just made it: another shard may have been first.
        let before = Self::check_same_run(path, suite_toml, environment)?;
        check_same_inputs(path, &before.inputs, &environment.inputs)
    }

    /// Whether a folder holds a run of this suite by this version, and if so whether it is complete.
    pub fn state(path: &Path, suite_toml: &str, environment: &Environment) -> Option<RunState> {
        Self::check_same_run(path, suite_toml, environment).ok()?;
        Some(table_of(path).1)
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
        if !before.is_same_version(environment) {
            return Err(other("another version of placebench"));
        }
        Ok(before)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends a finished cell to the journal of this process, with the host, processor and commit: one write, so that a
    /// crash tears at most the last line. A measured timeline is written before.
    ///
    /// # Errors
    /// If a file cannot be written (a full disk, say). What is appended after that is refused.
    pub fn append(&self, row: &Row) -> Result<(), FolderError> {
        if let Some(timeline) = &row.timeline {
            timeline.write(&self.path).map_err(|(path, source)| FolderError::Io { path, source })?;
        }
        self.journal.append(&self.environment.sign(row.clone()))
    }

    /// Notes that a shard is done, and says whether all are.
    ///
    /// # Errors
    /// If the folder cannot be written or read.
    pub fn shard_is_done(&self, shard: Shard) -> Result<bool, FolderError> {
        let parts = self.path.join(PARTS);
        let mark = |index: u32| format!("done.{index}-of-{}", shard.count);
        write_once(&parts, &mark(shard.index), b"")?;
        Ok((1..=shard.count).all(|index| parts.join(mark(index)).exists()))
    }
}

/// Whether a folder without a suite holds more than what is there while a run folder is made.
fn is_foreign(path: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(path)? {
        let name = entry?.file_name();
        if name != ENVIRONMENT && name != SUITE && !name.to_string_lossy().starts_with(".tmp") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes a file unless there is one: of several processes that try, one succeeds, and nobody meets half of it.
fn write_once(folder: &Path, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
    let path = folder.join(name);
    let write = || {
        let mut options = tempfile::Builder::new();
        // As the system makes files: temporary ones are hidden from others.
        #[cfg(unix)]
        options.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut file = options.tempfile_in(folder)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(&path) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error.error),
        }
    };
    write().map_err(|source| FolderError::Io { path: path.clone(), source })
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
pub(super) fn check_is_run(path: &Path) -> Result<(), FolderError> {
    match path.join(SUITE).try_exists() {
        Ok(true) => Ok(()),
        Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
            Err(FolderError::Io { path: path.to_owned(), source })
        }
        _ => Err(FolderError::NoRun { path: path.to_owned() }),
    }
}

/// The file that holds the rows of a run now, and whether the run is complete; of a run in shards that goes on, the folder
/// of its parts.
pub fn table_of(path: &Path) -> (PathBuf, RunState) {
    let [results, parts] = [RESULTS, PARTS].map(|name| path.join(name));
    match () {
        () if results.exists() => (results, RunState::Complete),
        () if parts.exists() => (parts, RunState::Unfinished),
        () => (path.join(super::journal::WHOLE), RunState::Unfinished),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::journal::rows_of;
    use super::super::open::read_run;
    use super::*;

    pub(crate) fn environment() -> Environment {
        Environment {
            version: "1".into(),
            commit: None,
            started: None,
            host: "h".into(),
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
        let [host, processor] = ["h", "c"].map(|text| Some(text.to_owned()));
        Row { repetition, status: "ok".into(), makespan: Some(0.1), host, processor, ..Row::default() }
    }

    #[test]
    fn a_torn_last_line_is_cut_off_and_its_cell_runs_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let run = RunFolder::open(&path, "a", &environment(), None).unwrap();
        run.append(&row(0)).unwrap();
        run.append(&row(1)).unwrap();
        drop(run);
        let journal = path.join("cells.jsonl");
        let text = fs::read_to_string(&journal).unwrap();
        fs::write(&journal, &text[..text.len() - 10]).unwrap();
        let run = RunFolder::open(&path, "a", &environment(), None).unwrap();
        assert_eq!(read_run(&path).unwrap(), [row(0)]);
        run.append(&row(1)).unwrap();
        assert_eq!(read_run(&path).unwrap(), [row(0), row(1)]);
    }

    #[test]
    fn a_folder_that_is_open_is_refused_until_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let run = RunFolder::open(&path, "a", &environment(), None).unwrap();
        run.append(&row(0)).unwrap();
        assert!(matches!(RunFolder::open(&path, "a", &environment(), None), Err(FolderError::InUse { .. })));
        assert_eq!(read_run(&path).unwrap(), [row(0)], "reading needs no lock");
        drop(run);
        RunFolder::open(&path, "a", &environment(), None).unwrap();
        assert_eq!(rows_of(&path.join("cells.jsonl")).unwrap(), [row(0)]);
    }

    #[test]
    fn a_folder_of_something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        RunFolder::open(&path, "a", &environment(), None).unwrap();
        assert!(matches!(RunFolder::open(&path, "b", &environment(), None), Err(FolderError::OtherRun { .. })));
        let newer = Environment { version: "2".into(), ..environment() };
        assert!(matches!(RunFolder::open(&path, "a", &newer, None), Err(FolderError::OtherRun { .. })));
        fs::write(folder.path().join("x"), "x").unwrap();
        assert!(matches!(RunFolder::open(folder.path(), "a", &environment(), None), Err(FolderError::NotARun { .. })));
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
            RunFolder::open(folder.path(), "a", &begun, None).unwrap();
            RunFolder::open(folder.path(), "a", &begun, None).unwrap();
            let error = RunFolder::open(folder.path(), "a", &inputs(now), None).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{}: {expected}", folder.path().display())), "{error}");
            assert_eq!(RunFolder::state(folder.path(), "a", &inputs(now)), Some(RunState::Unfinished));
        }
        let folder = tempfile::tempdir().unwrap();
        RunFolder::open(folder.path(), "a", &begun, None).unwrap();
        assert_eq!(read_environment(folder.path()).unwrap(), begun);
    }

    #[test]
    fn a_broken_line_in_the_middle_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::open(folder.path(), "a", &environment(), None).unwrap();
        run.append(&row(0)).unwrap();
        let journal = folder.path().join("cells.jsonl");
        let text = fs::read_to_string(&journal).unwrap();
        fs::write(&journal, format!("nonsense\n{text}")).unwrap();
        let error = read_run(folder.path()).unwrap_err().to_string();
        assert!(error.contains("cells.jsonl:1: not a row"), "{error}");
    }
}
