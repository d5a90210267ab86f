//! Why a run folder cannot be used.

use std::io;
use std::path::{Path, PathBuf};

use placebench_base::io_reason;

use super::folder::{ENVIRONMENT, SUITE};
use crate::results::TableError;
use crate::suite::SuiteError;

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
    #[error("{}: holds a run of {found}: choose another folder with --out, or delete this one; 'placebench run --resume DIR' goes on with it as it is", path.display())]
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
    /// A file that the run reads has changed since the run began.
    #[error(
        "{}: {change} while the run went on, which ends here: restore it, and the same command goes on; or start a new run",
        path.display()
    )]
    InputChanged {
        /// The file.
        path: PathBuf,
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
    /// A part was written by a run of something else.
    #[error("{}: holds cells of {found}: delete it to run them again", path.display())]
    OtherPart {
        /// The part.
        path: PathBuf,
        /// What differs.
        found: &'static str,
    },
    /// A complete line of the journal is no row.
    #[error("{}:{line}: not a row ({reason}): its cell runs again", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Why.
        reason: String,
    },
    /// The first line of a part is damaged.
    #[error("{reason}; that line says what run the rows are of, so none of {} counts, and their cells run again", path.display())]
    Headless {
        /// The part.
        path: PathBuf,
        /// What is wrong with the line, and where.
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

fn no_run(path: &Path) -> String {
    if !path.exists() {
        return "there is no such run folder: 'placebench run' makes one".to_owned();
    }
    let missing = [SUITE, ENVIRONMENT].into_iter().find(|file| !path.join(file).exists());
    format!("is not a run folder: it has no {}", missing.unwrap_or("table of results"))
}
