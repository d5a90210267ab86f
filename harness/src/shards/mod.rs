//! Launchers: where the shards of a job are run, and how they are followed to the end.
//!
//! A launcher starts processes that run `placebench … --shard I/N` somewhere, and knows which of them are alive. Nothing
//! else is asked of it. What is finished stands in files ([`Work`]): rows in a run folder, parts of a graph. So a shard that
//! is killed, lost with its node, or runs twice costs time and nothing else: a shard that is neither alive nor finished is
//! started again. Another launcher is one file with [`Launcher`] and a line in [`LAUNCHERS`].

mod allocation;
mod cost;
mod follow;
mod local;
mod slurm;
mod work;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use placebench_base::{Listed, UnknownName, find, io_reason};

pub use allocation::{expand_node_list, task_addresses};
pub use cost::{Costs, LEAST_SHARD_SECONDS, MOST_SHARDS};
pub use follow::{Followed, follow};
pub use local::Local;
pub use slurm::Slurm;
pub use work::{Cells, Items, Work};

use crate::runner::FolderError;

/// What every shard is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardJob {
    /// The command `placebench`: an absolute path that is the same wherever shards run.
    pub program: PathBuf,
    /// The folder that paths in the arguments, and in a suite, are relative to, absolute.
    pub directory: PathBuf,
    /// The folder that the shards fill, absolute.
    pub folder: PathBuf,
    /// The arguments of a shard, to which its number and its threads are added: `--shard I/N --threads T`.
    pub arguments: Vec<String>,
    /// Number of shards.
    pub count: u32,
    /// The folder in which a launcher keeps what it needs: scripts, what shards print. Absolute.
    pub jobs: PathBuf,
    /// The command that goes on when nobody follows any more.
    pub goes_on: String,
}

impl ShardJob {
    /// The shards of the run in a folder, absolute.
    pub fn of_run(program: PathBuf, directory: PathBuf, folder: PathBuf, count: u32, goes_on: String) -> Self {
        let arguments = ["run", "--quiet", "--resume", &folder.to_string_lossy()].map(str::to_owned).to_vec();
        Self { program, directory, jobs: folder.join(JOBS), folder, arguments, count, goes_on }
    }
}

/// Where a run folder has what launchers keep.
const JOBS: &str = "jobs";

/// A shard that was started and has not ended, as far as the launcher knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveShard {
    /// Which one, from 1.
    pub index: u32,
    /// Whether it runs; else it waits for its turn.
    pub running: bool,
}

/// Runs shards.
pub trait Launcher {
    /// Starts these shards, from 1, now or when there is room. Returns what the person who waits may want to know, if anything.
    ///
    /// # Errors
    /// [`LauncherError::Unreachable`] if it may work later, others if it will not.
    fn start(&mut self, shards: &[u32]) -> Result<Option<String>, LauncherError>;

    /// The shards that are alive.
    ///
    /// # Errors
    /// As [`Launcher::start`].
    fn live(&mut self) -> Result<Vec<LiveShard>, LauncherError>;

    /// The last that a shard printed, if it left anything.
    fn last_words(&self, shard: u32) -> Option<String>;

    /// How long to wait between two looks.
    fn pause(&self) -> Duration;

    /// How long to ask a launcher that does not answer, while no cell is finished either.
    fn patience(&self) -> Duration {
        Duration::from_secs(600)
    }

    /// Nobody follows any more: stops the shards, or leaves them running. Returns what became of them and how to go on.
    fn leave(&mut self) -> String;
}

/// The launchers.
pub static LAUNCHERS: [LauncherEntry; 2] = [
    LauncherEntry { name: "local", summary: "processes on this machine" },
    LauncherEntry {
        name: "slurm",
        summary: "a job array of Slurm, on the nodes of a cluster with a shared file system",
    },
];

/// A line of [`LAUNCHERS`].
pub struct LauncherEntry {
    /// Unique name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
}

impl Listed for LauncherEntry {
    const WHAT: &'static str = "launcher";
    const LIST: &'static str = "launchers";

    fn name(&self) -> &str {
        self.name
    }

    fn summary(&self) -> &str {
        self.summary
    }
}

/// Checks the name of a launcher.
///
/// # Errors
/// If there is none.
pub fn launcher_name(name: &str) -> Result<&'static str, UnknownName> {
    find(&LAUNCHERS, name).map(|launcher| launcher.name)
}

/// Why shards cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum LauncherError {
    /// The file system says no.
    #[error("{}: {}", path.display(), io_reason(source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program of the launcher says no.
    #[error("{program}: {reason}")]
    Program {
        /// The program.
        program: &'static str,
        /// Why.
        reason: String,
    },
    /// The launcher does not answer, but may later.
    #[error("{program} does not answer: {reason}")]
    Unreachable {
        /// The program.
        program: &'static str,
        /// Why.
        reason: String,
    },
    /// The launcher did not answer for long, and no cell was finished meanwhile.
    #[error("{program} has not answered for {}: {reason}", seconds_text(*seconds))]
    Silent {
        /// The program.
        program: &'static str,
        /// Why.
        reason: String,
        /// For how many seconds.
        seconds: u64,
    },
    /// A shard ended again and again without finishing anything.
    #[error("shard {shard} ended {times} times without finishing anything{}", last_words.as_deref().map(|words| format!("; it said: {words}")).unwrap_or_default())]
    GaveUp {
        /// Which one, from 1.
        shard: u32,
        /// How often.
        times: u32,
        /// The last that it printed.
        last_words: Option<String>,
    },
    /// The run folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

fn seconds_text(seconds: u64) -> String {
    if seconds >= 120 { format!("{} minutes", seconds / 60) } else { format!("{seconds} s") }
}

/// An error of the file system at a path.
fn io_at(path: &Path) -> impl FnOnce(io::Error) -> LauncherError {
    let path = path.to_owned();
    move |source| LauncherError::Io { path, source }
}

/// The last line of a log that is not empty; or why none is there, if the log cannot be written.
fn last_line(path: &Path) -> Option<String> {
    let text = String::from_utf8_lossy(&std::fs::read(path).ok()?).into_owned();
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).map(|line| line.trim().to_owned());
    last.or_else(|| why_silent(path))
}

/// Why a log has no words: on a full disk a shard cannot say that it is full.
fn why_silent(path: &Path) -> Option<String> {
    let written = std::fs::OpenOptions::new().append(true).open(path).and_then(|mut log| log.write_all(b"\n"));
    written
        .err()
        .map(|error| format!("nothing, since its log cannot be written: {}: {}", path.display(), io_reason(&error)))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_shard_that_a_full_disk_silenced_is_not_silent() {
        let expected = "nothing, since its log cannot be written: /dev/full: no space is left on the disk";
        assert_eq!(why_silent(Path::new("/dev/full")).unwrap(), expected);
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("local_1.log");
        assert_eq!(last_line(&log), None, "no log");
        std::fs::write(&log, " \n").unwrap();
        assert_eq!(last_line(&log), None);
        std::fs::write(&log, "error: no disk\n\n").unwrap();
        assert_eq!(last_line(&log).unwrap(), "error: no disk");
    }
}
