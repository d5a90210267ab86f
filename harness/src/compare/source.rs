//! Runs to compare: run folders or table files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use polars::prelude::{PolarsResult, col};

use crate::results::{SCHEMA_VERSION, Table, TableError, open_table};
use crate::runner::{Environment, FolderError, RunState, open_run, read_environment, table_of};

/// A run with what is known of it.
#[derive(Clone, Debug)]
pub struct RunTable {
    /// What people call it: the path as given.
    pub name: String,
    /// The rows.
    pub table: Table,
    /// Where and how it was made; table files do not tell.
    pub environment: Option<Environment>,
    /// When it was started, or else when its table was written, in UTC (RFC 3339).
    pub date: Option<String>,
    /// Whether cells are missing because the run was stopped.
    pub unfinished: bool,
}

/// Why a run cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The run folder cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The table file cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// There is nothing at the path.
    #[error("{}: no such file or folder: give a run folder, or a table in .parquet, .csv or .json", path.display())]
    Missing {
        /// The path.
        path: PathBuf,
    },
    /// The run was made with other columns.
    #[error(
        "{}: has version {found} of the tables' columns, this placebench has {SCHEMA_VERSION}: run the suite again with one version",
        path.display()
    )]
    Schema {
        /// The run folder.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// There are no rows.
    #[error("{}: has no rows", path.display())]
    Empty {
        /// The run folder or table file.
        path: PathBuf,
    },
}

impl RunTable {
    /// Reads a run folder or a table file.
    ///
    /// # Errors
    /// If there is neither, it is broken, has other columns than this version, or has no rows.
    pub fn read(path: &Path) -> Result<Self, SourceError> {
        if !path.exists() {
            return Err(SourceError::Missing { path: path.to_owned() });
        }
        let (mut file, mut environment, mut unfinished) = (path.to_owned(), None, false);
        let table = if path.is_dir() {
            let found = read_environment(path)?;
            if found.schema_version != SCHEMA_VERSION {
                return Err(SourceError::Schema { path: path.to_owned(), found: found.schema_version });
            }
            let (table, state) = table_of(path);
            (file, unfinished) = (table, state == RunState::Unfinished);
            environment = Some(found);
            open_run(path)?
        } else {
            open_table(path)?
        };
        if table.height() == 0 {
            return Err(SourceError::Empty { path: path.to_owned() });
        }
        let written = || fs::metadata(file).and_then(|metadata| metadata.modified()).ok().map(utc);
        let started = environment.as_ref().and_then(|environment: &Environment| environment.started.clone());
        let date = started.or_else(written);
        Ok(Self { name: path.display().to_string(), table, environment, date, unfinished })
    }

    /// The commit that made the run, if known.
    pub fn commit(&self) -> Option<&str> {
        self.environment.as_ref()?.commit.as_deref()
    }
}

/// A moment in UTC, to the second (RFC 3339).
pub fn utc(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// What differs between the environments of two runs and can explain other times, one sentence each; also that a run has
/// seconds of several processors.
///
/// # Errors
/// If the table library refuses the rows.
pub fn environment_differences(old: &RunTable, new: &RunTable) -> PolarsResult<Vec<String>> {
    let mut sentences = Vec::new();
    let (a, b) = (processors(old)?, processors(new)?);
    if a != b && !a.is_empty() && !b.is_empty() {
        sentences.push(format!("processor: {} in the old run, {} in the new one", listed(&a), listed(&b)));
    } else if a.len() > 1 {
        let sentence = "processor: {} in both runs: the seconds of a cell may come from different ones";
        sentences.push(sentence.replace("{}", &listed(&a)));
    }
    let (Some(a), Some(b)) = (&old.environment, &new.environment) else { return Ok(sentences) };
    let profile = |optimized: bool| if optimized { "optimised" } else { "not optimised" }.to_owned();
    let differences = [
        ("platform", a.platform.clone(), b.platform.clone()),
        ("threads", a.threads.to_string(), b.threads.to_string()),
        ("build", profile(a.optimized), profile(b.optimized)),
    ];
    let differing = differences.into_iter().filter(|(_, a, b)| a != b);
    sentences.extend(differing.map(|(what, a, b)| format!("{what}: {a} in the old run, {b} in the new one")));
    Ok(sentences)
}

/// The processors that rows come from; where rows do not say, that of the environment.
fn processors(run: &RunTable) -> PolarsResult<BTreeSet<String>> {
    let of_rows: BTreeSet<String> = run.table.distinct_values(col("processor"))?.into_iter().collect();
    Ok(match of_rows.is_empty() {
        true => run.environment.iter().map(|environment| environment.cpu.clone()).collect(),
        false => of_rows,
    })
}

fn listed(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Row;

    fn run(processors: &[&str]) -> RunTable {
        let row = |name: &&str| Row { processor: Some((*name).to_owned()), ..Row::default() };
        let table = Table::new(&processors.iter().map(row).collect::<Vec<Row>>()).unwrap();
        RunTable { name: String::new(), table, environment: None, date: None, unfinished: false }
    }

    #[test]
    fn seconds_of_several_processors_are_told() {
        let differences = |a: &[&str], b: &[&str]| environment_differences(&run(a), &run(b)).unwrap();
        assert!(differences(&["x", "x"], &["x"]).is_empty());
        assert!(differences(&[], &["x"]).is_empty(), "nothing is known of tables without the column");
        assert_eq!(differences(&["x"], &["y", "x"]), ["processor: x in the old run, x and y in the new one"]);
        let both = "processor: x and y in both runs: the seconds of a cell may come from different ones";
        assert_eq!(differences(&["y", "x"], &["x", "y"]), [both]);
    }
}
