//! The rows of a run, complete or not.

use std::collections::HashSet;
use std::path::Path;

use super::finished::Finished;
use super::folder::{RESULTS, check_is_run, read_suite};
use super::folder_error::FolderError;
use super::journal::{journals, rows_of};
use crate::results::{Row, Table, TableBuilder, TableError};
use crate::suite::RunPlan;

/// Opens the table of a run. Queries read from it what they need. The rows of an unfinished run are read from the journals,
/// if they are many into a temporary file: of each cell the first, in the order of the suite. If this version cannot read
/// the suite, in the order of the journals.
///
/// # Errors
/// If the folder is no run folder, or a file in it is broken.
///
/// # Complexity
/// Of an unfinished run, reading is linear in the bytes of the journals; memory for 65,536 rows, and as [`Finished`]. If this
/// version cannot read the suite, for all rows.
pub fn open_run(path: &Path) -> Result<Table, FolderError> {
    check_is_run(path)?;
    let results = path.join(RESULTS);
    if results.exists() {
        return Ok(Table::open(&results)?);
    }
    let mut table = TableBuilder::new();
    match read_suite(path)?.1.ok().and_then(|suite| RunPlan::new(suite).ok()) {
        Some(plan) => {
            let mut finished = Finished::new(path, &plan)?;
            finished.update(None, |_, _| ())?;
            finished.each_row().try_for_each(|row| Ok::<_, FolderError>(table.push(row?)?))?;
        }
        None => {
            let mut seen = HashSet::new();
            for journal in journals(path, None)? {
                let rows = rows_of(&journal)?.into_iter().filter(|row| seen.insert(row.key()));
                rows.into_iter().try_for_each(|row| table.push(row))?;
            }
        }
    }
    Ok(table.finish()?)
}

/// All rows of a run, in the order of [`open_run`].
///
/// # Errors
/// As [`open_run`].
pub fn read_run(path: &Path) -> Result<Vec<Row>, FolderError> {
    open_run(path)?.rows().map_err(|source| TableError::Table { path: path.to_owned(), source }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Status;
    use crate::runner::RunFolder;
    use crate::runner::folder::tests::environment;
    use crate::suite::{Cell, Suite};

    /// 81,600 cells: more than are kept in memory.
    const SUITE: &str = r#"
        name = "s"
        repetitions = 6800
        placers = ["heft", "random"]
        schedulers = ["pct", "fifo", "msr"]
        networks = ["contention_free", "one_port"]
        [[graph]]
        preset = "laich1"
        [[cluster]]
        preset = "laich7"
    "#;

    #[test]
    fn the_rows_of_an_unfinished_run_are_in_the_order_of_the_suite_and_not_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let plan = RunPlan::new(Suite::parse(SUITE, "s.toml").unwrap()).unwrap();
        let run = RunFolder::open(folder.path(), SUITE, &environment(), None).unwrap();
        let row = |cell: Cell, seconds: f64| Row {
            status: Status::Ok.name().into(),
            makespan: Some(1.0),
            place_seconds: Some(seconds),
            ..plan.request(cell).blank_row()
        };
        // Backwards, the last cell not at all, and one twice: its first row counts.
        let cells = &plan.cells[..plan.cells.len() - 1];
        cells.iter().rev().for_each(|&cell| run.append(&row(cell, 1.0)).unwrap());
        run.append(&row(cells[7], 2.0)).unwrap();
        let table = open_run(folder.path()).unwrap();
        assert!(table.is_in_file(), "all rows are in memory");
        let rows = table.rows().unwrap();
        assert!(rows.iter().map(Row::key).eq(cells.iter().map(|&cell| plan.key(cell))));
        assert!(rows.iter().all(|row| row.place_seconds == Some(1.0)));
    }

    #[test]
    fn a_run_whose_suite_no_version_knows_is_read_in_the_order_of_its_journal() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::open(folder.path(), "placers = ['of the future']", &environment(), None).unwrap();
        for (seed, makespan) in [(3, 1.0), (1, 2.0), (3, 3.0)] {
            run.append(&Row { seed, makespan: Some(makespan), ..Row::default() }).unwrap();
        }
        let rows = read_run(folder.path()).unwrap();
        assert_eq!(
            rows.iter().map(|row| (row.seed, row.makespan)).collect::<Vec<_>>(),
            [(3, Some(1.0)), (1, Some(2.0))]
        );
    }
}
