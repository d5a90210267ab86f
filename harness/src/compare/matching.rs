//! Finds the cells that two runs share.

use std::collections::BTreeMap;

use super::{ComparisonError, RunTable};
use crate::results::{CellKey, Row};

/// The cells of two runs, each list in the order of [`CellKey`].
#[derive(Debug)]
pub(super) struct Matching<'a> {
    /// Cells in both runs: the old row and the new one.
    pub(super) pairs: Vec<Pair<'a>>,
    /// Cells only in the old run.
    pub(super) only_old: Vec<CellKey>,
    /// Cells only in the new run.
    pub(super) only_new: Vec<CellKey>,
}

/// A cell of two runs.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    pub(super) id: CellKey,
    pub(super) old: &'a Row,
    pub(super) new: &'a Row,
}

impl<'a> Matching<'a> {
    /// Matches rows by their identity; without suites if `any_suite`.
    ///
    /// # Complexity
    /// O(n log n).
    pub(super) fn new(old: &'a RunTable, new: &'a RunTable, any_suite: bool) -> Result<Self, ComparisonError> {
        let old_cells = cells(old, any_suite)?;
        let mut new_cells = cells(new, any_suite)?;
        let (mut pairs, mut only_old) = (Vec::new(), Vec::new());
        for (id, row) in old_cells {
            match new_cells.remove(&id) {
                Some(new) => pairs.push(Pair { id, old: row, new }),
                None => only_old.push(id),
            }
        }
        if pairs.is_empty() {
            return Err(nothing_in_common(old, new, any_suite));
        }
        Ok(Self { pairs, only_old, only_new: new_cells.into_keys().collect() })
    }
}

/// The rows of a run by identity.
pub(super) fn cells(run: &RunTable, any_suite: bool) -> Result<BTreeMap<CellKey, &Row>, ComparisonError> {
    let mut cells = BTreeMap::new();
    for row in &run.rows {
        let mut id = row.key();
        if any_suite {
            id.suite.clear();
        }
        if cells.insert(id.clone(), row).is_some() {
            return Err(ComparisonError::Duplicate { run: run.name.clone(), cell: Box::new(id) });
        }
    }
    Ok(cells)
}

/// A column as text.
type TextOf = fn(&Row) -> String;

fn nothing_in_common(old: &RunTable, new: &RunTable, any_suite: bool) -> ComparisonError {
    let shares = |column: TextOf| {
        let known: std::collections::BTreeSet<String> = old.rows.iter().map(column).collect();
        new.rows.iter().any(|row| known.contains(&column(row)))
    };
    let first = |run: &RunTable, column: TextOf| run.rows.first().map(column).unwrap_or_default();
    let columns: [(&str, TextOf); 7] = [
        ("suite", |row| row.suite.clone()),
        ("seed", |row| row.seed.to_string()),
        ("graph", |row| row.graph.clone()),
        ("cluster", |row| row.cluster.clone()),
        ("network", |row| row.network.clone()),
        ("placer", |row| row.placer.clone()),
        ("scheduler", |row| row.scheduler.clone()),
    ];
    let matters = |name: &str| !any_suite || name != "suite";
    let differing = columns.into_iter().find(|&(name, column)| matters(name) && !shares(column));
    let reason = match differing {
        Some(("suite", column)) => {
            let (a, b) = (first(old, column), first(new, column));
            format!("suite '{a}' there, '{b}' here; --ignore suite compares suites of different names")
        }
        Some((name, column)) => format!("{name} '{}' there, '{}' here", first(old, column), first(new, column)),
        None => "every name is in both runs, but never in the same combination".to_owned(),
    };
    ComparisonError::NothingInCommon { old: old.name.clone(), new: new.name.clone(), reason }
}
