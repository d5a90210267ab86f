//! Finds the cells that two runs share.

use std::collections::BTreeSet;

use polars::prelude::*;

use super::{ComparisonError, RunTable};
use crate::results::{CELL, CellKey, Column, Metric, Table, cell_keys};

/// Columns beside the key and the metrics that a comparison looks at.
const COMPARED: [&str; 6] = ["status", "error", "devices", "ops", "edges", "time_unit"];

/// The cells of two runs, each list in the order of [`CellKey`].
#[derive(Debug)]
pub(super) struct Matching {
    /// Cells in both runs: the columns [`CELL`], and those of the old run and, with `_new` after their names, of the new
    /// run: [`COMPARED`], the metrics and [`noise`].
    pub(super) pairs: DataFrame,
    /// Cells only in the old run.
    pub(super) only_old: Vec<CellKey>,
    /// Cells only in the new run.
    pub(super) only_new: Vec<CellKey>,
}

impl Matching {
    /// Matches [`cells`] of an old and a new run by their identity.
    ///
    /// # Complexity
    /// O(n log n).
    pub(super) fn new(old: DataFrame, new: DataFrame) -> PolarsResult<Self> {
        let (old_cells, new_cells) = (old.lazy(), new.lazy());
        let join = |left: &LazyFrame, right: &LazyFrame, how: JoinType| {
            let args = JoinArgs::new(how).with_suffix(Some("_new".into()));
            let joined = left.clone().join(right.clone(), CELL.map(col), CELL.map(col), args);
            joined.sort(CELL, SortMultipleOptions::default()).collect()
        };
        Ok(Self {
            pairs: join(&old_cells, &new_cells, JoinType::Inner)?,
            only_old: cell_keys(&join(&old_cells, &new_cells, JoinType::Anti)?)?,
            only_new: cell_keys(&join(&new_cells, &old_cells, JoinType::Anti)?)?,
        })
    }
}

/// What the repetitions of a measured cell say of its noise: their number, and their least and largest makespan, each / median.
fn noise() -> [Expr; 3] {
    let share = |column: &str| (col(column) / col("makespan")).alias(format!("{column}_share"));
    [col("repetitions"), share("makespan_least"), share("makespan_largest")]
}

/// The rows of a run, or of a part of it: the columns [`CELL`], [`COMPARED`], these metrics and [`noise`]. With `any_suite`
/// the suites have no names.
pub(super) fn cells(
    run: &str,
    rows: &Table,
    metrics: &[Metric],
    any_suite: bool,
) -> Result<DataFrame, ComparisonError> {
    let suite = if any_suite { lit("").alias("suite") } else { col("suite") };
    let columns: Vec<Expr> = [suite]
        .into_iter()
        .chain(CELL[1..].iter().map(|&name| col(name)))
        .chain(COMPARED.map(col))
        .chain(metrics.iter().map(|metric| metric.expr()))
        .chain(noise())
        .collect();
    let cells = rows.lazy()?.select(columns).collect()?;
    let twice = cells.clone().lazy().group_by_stable(CELL).agg([len()]).filter(col("len").gt(lit(1))).collect()?;
    match cell_keys(&twice)?.into_iter().next() {
        Some(cell) => Err(ComparisonError::Duplicate { run: run.to_owned(), cell: Box::new(cell) }),
        None => Ok(cells),
    }
}

pub(super) fn nothing_in_common(old: &RunTable, new: &RunTable, any_suite: bool) -> PolarsResult<ComparisonError> {
    let mut reason = "every name is in both runs, but never in the same combination".to_owned();
    let names = [
        Column::Suite,
        Column::Seed,
        Column::Graph,
        Column::Cluster,
        Column::Kinds,
        Column::Network,
        Column::Executor,
        Column::Placer,
        Column::Scheduler,
    ];
    for column in names.into_iter().filter(|&column| !any_suite || column != Column::Suite) {
        // Placers match by what tables print.
        let name = if column == Column::Placer { col("placer") } else { column.expr() };
        let [there, here] = [old.table.distinct_values(name.clone())?, new.table.distinct_values(name)?];
        let known: BTreeSet<&String> = there.iter().collect();
        if !here.iter().any(|value| known.contains(value)) {
            let first = |values: &[String]| values.first().cloned().unwrap_or_default();
            reason = format!("{} '{}' there, '{}' here", column.title(), first(&there), first(&here));
            if column == Column::Suite {
                reason.push_str("; --ignore suite compares suites of different names");
            }
            break;
        }
    }
    Ok(ComparisonError::NothingInCommon { old: old.name.clone(), new: new.name.clone(), reason })
}
