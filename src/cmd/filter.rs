//! `--where`: which rows of a run a command is about.

use std::path::Path;

use anyhow::bail;
use placebench::harness::compare::{ComparisonError, RunTable};
use placebench::harness::results::{Filter, Table};
use placebench::harness::runner::{RunState, open_run, table_of};

use crate::output::complain;

/// What is said of a run that is not complete.
pub(crate) fn unfinished(run: &Path) -> String {
    format!("{}: is unfinished: some of its cells are missing", run.display())
}

/// Refuses a table with rows that no run makes.
///
/// # Errors
/// If there are such rows, or the table cannot be read.
pub(crate) fn check_rows(run: &Path, table: &Table) -> anyhow::Result<()> {
    match table.fault()? {
        None => Ok(()),
        Some(fault) => Err(ComparisonError::Impossible { run: run.display().to_string(), fault }.into()),
    }
}

/// The option `--where`.
#[derive(clap::Args, Default)]
pub(crate) struct Where {
    /// Only rows with these values, as in 'placer=heft,peft graph=nmt network=one_port': suite, graph, passes ('none' without),
    /// cluster, kinds, network, executor, placer (without or with its parameters), placer_spec (as the suite writes it), scheduler,
    /// repetition, seed, numbering or status. A value with a comma stands in double quotes.
    #[arg(long = "where", value_name = "FILTER")]
    filters: Vec<Filter>,
}

impl Where {
    /// What all `--where` ask for together.
    pub(crate) fn filter(&self) -> Filter {
        self.filters.iter().fold(Filter::default(), Filter::and)
    }

    /// The rows of a table that pass.
    ///
    /// # Errors
    /// If there are rows but none passes, or one of the values is nowhere.
    fn of(&self, table: Table) -> anyhow::Result<Table> {
        let filter = self.filter();
        if filter.is_empty() {
            return Ok(table);
        }
        filter.check(&[&table])?;
        Ok(table.filter(filter.expr())?)
    }

    /// Keeps the rows of runs that pass.
    ///
    /// # Errors
    /// If no row of any run passes, or one of the values is nowhere.
    pub(crate) fn keep(&self, runs: &mut [RunTable]) -> anyhow::Result<()> {
        let filter = self.filter();
        if filter.is_empty() {
            return Ok(());
        }
        filter.check(&runs.iter().map(|run| &run.table).collect::<Vec<_>>())?;
        for run in runs {
            run.table = run.table.filter(filter.expr())?;
        }
        Ok(())
    }

    /// The rows of a run folder that pass.
    ///
    /// # Errors
    /// If the folder cannot be read, holds no rows, or none passes.
    pub(crate) fn table_of(&self, run: &Path) -> anyhow::Result<Table> {
        let table = open_run(run)?;
        if table.height() == 0 {
            bail!("{}: has no finished cell to show", run.display());
        }
        check_rows(run, &table)?;
        if table_of(run).1 == RunState::Unfinished {
            complain(&unfinished(run));
        }
        self.of(table)
    }
}
