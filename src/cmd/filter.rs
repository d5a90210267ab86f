//! `--where`: which rows of a run a command is about.

use std::path::Path;

use anyhow::bail;
use placebench::harness::compare::RunTable;
use placebench::harness::results::{Filter, Row, Table};
use placebench::harness::runner::read_run;

/// The option `--where`.
#[derive(clap::Args, Default)]
pub(crate) struct Where {
    /// Only rows with these values, as in 'placer=heft,peft graph=nmt network=one_port': suite, graph, cluster, network,
    /// placer (without or with its parameters), placer_spec (as the suite writes it), scheduler, repetition, seed or
    /// status.
    #[arg(long = "where", value_name = "FILTER")]
    filters: Vec<Filter>,
}

impl Where {
    /// What all `--where` ask for together.
    pub(crate) fn filter(&self) -> Filter {
        self.filters.iter().fold(Filter::default(), Filter::and)
    }

    /// The rows that pass.
    ///
    /// # Errors
    /// If there are rows but none passes, or one of the values is nowhere.
    pub(crate) fn rows(&self, rows: Vec<Row>) -> anyhow::Result<Vec<Row>> {
        let filter = self.filter();
        if filter.is_empty() {
            return Ok(rows);
        }
        let table = Table::new(&rows)?;
        filter.check(&[&table])?;
        Ok(table.filter(filter.expr())?.rows()?)
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
        let tables = runs.iter().map(|run| Table::new(&run.rows)).collect::<Result<Vec<_>, _>>()?;
        filter.check(&tables.iter().collect::<Vec<_>>())?;
        for (run, table) in runs.iter_mut().zip(tables) {
            run.rows = table.filter(filter.expr())?.rows()?;
        }
        Ok(())
    }

    /// The rows of a run folder that pass.
    ///
    /// # Errors
    /// If the folder cannot be read, holds no rows, or none passes.
    pub(crate) fn rows_of(&self, run: &Path) -> anyhow::Result<Vec<Row>> {
        let rows = read_run(run)?;
        if rows.is_empty() {
            bail!("{}: has no finished cell to show", run.display());
        }
        self.rows(rows)
    }
}
