//! Finds the cells that two runs share.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use polars::prelude::*;

use super::{ComparisonError, RunTable};
use crate::results::{CELL, CellKey, Codes, Column, Metric, Table, cell_keys, values};

/// Columns beside the key and the metrics that a comparison looks at.
const COMPARED: [&str; 8] = ["status", "error", "memory", "devices", "ops", "edges", "time_unit", "lower_bound"];

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
    /// # Errors
    /// If a run has a cell twice.
    ///
    /// # Complexity
    /// O(n log n).
    pub(super) fn new(old: (&str, &DataFrame), new: (&str, &DataFrame)) -> Result<Self, ComparisonError> {
        let mut names: [Codes; TEXTS.len()] = Default::default();
        let keys = [keys(&mut names, old.1)?, keys(&mut names, new.1)?];
        let ranks = names.map(|names| names.ranks());
        let ranked = |(mut texts, draw): Key| {
            texts.iter_mut().zip(&ranks).for_each(|(code, ranks)| *code = ranks[*code as usize]);
            (texts, draw)
        };
        let [old_keys, new_keys] = keys.map(|keys| keys.into_iter().map(ranked).collect::<Vec<Key>>());
        let (old_order, new_order) = (order(old, &old_keys)?, order(new, &new_keys)?);
        let (mut both_old, mut both_new, mut only_old, mut only_new) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut left, mut right) = (old_order.iter().peekable(), new_order.iter().peekable());
        loop {
            let order = match (left.peek(), right.peek()) {
                (Some(&&a), Some(&&b)) => old_keys[a as usize].cmp(&new_keys[b as usize]),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => break,
            };
            match order {
                Ordering::Less => only_old.extend(left.next()),
                Ordering::Greater => only_new.extend(right.next()),
                Ordering::Equal => {
                    both_old.extend(left.next());
                    both_new.extend(right.next());
                }
            }
        }
        let rows = |frame: &DataFrame, rows: Vec<u32>| frame.take(&IdxCa::from_vec("row".into(), rows));
        let mut pairs = rows(old.1, both_old)?;
        for mut column in rows(&new.1.drop_many(CELL), both_new)?.into_columns() {
            column.rename(format!("{}_new", column.name()).into());
            pairs.with_column(column)?;
        }
        let [only_old, only_new] = [rows(old.1, only_old)?, rows(new.1, only_new)?];
        Ok(Self { pairs, only_old: cell_keys(&only_old)?, only_new: cell_keys(&only_new)? })
    }
}

/// The columns of [`CELL`] that hold texts.
const TEXTS: [&str; 8] = ["suite", "graph", "cluster", "kinds", "network", "executor", "placer", "scheduler"];

/// A cell: its texts by number, and its repetition, seed and numbering.
type Key = ([u32; TEXTS.len()], (u32, u64, u32));

/// What identifies the cells of each row.
fn keys(names: &mut [Codes; TEXTS.len()], frame: &DataFrame) -> PolarsResult<Vec<Key>> {
    let texts = names.iter_mut().zip(TEXTS).map(|(names, column)| names.of(frame, column));
    let texts = texts.collect::<PolarsResult<Vec<_>>>()?;
    let draws = values::<u32>(frame, "repetition")?.into_iter().zip(values::<u64>(frame, "seed")?);
    let numbers = draws.zip(values::<u32>(frame, "numbering")?);
    let key = |(row, ((repetition, seed), numbering)): (usize, ((u32, u64), u32))| {
        (std::array::from_fn(|column| texts[column][row]), (repetition, seed, numbering))
    };
    Ok(numbers.enumerate().map(key).collect())
}

/// The rows of a run in the order of their keys.
fn order((run, frame): (&str, &DataFrame), keys: &[Key]) -> Result<Vec<u32>, ComparisonError> {
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_by_key(|&row| keys[row as usize]);
    let twice = order.windows(2).filter(|rows| keys[rows[0] as usize] == keys[rows[1] as usize]);
    match twice.map(|rows| rows[0]).min() {
        Some(row) => {
            let cell = cell_keys(&frame.slice(i64::from(row), 1))?.into_iter().next().unwrap_or_default();
            Err(ComparisonError::Duplicate { run: run.to_owned(), cell: Box::new(cell) })
        }
        None => Ok(order),
    }
}

/// What the repetitions of a measured cell say of its noise: their number, and their least and largest makespan, each / median.
fn noise() -> [Expr; 3] {
    let share = |column: &str| (col(column) / col("makespan")).alias(format!("{column}_share"));
    [col("repetitions"), share("makespan_least"), share("makespan_largest")]
}

/// The rows of a run, or of a part of it: the columns [`CELL`], [`COMPARED`], these metrics and [`noise`]. With `any_suite`
/// the suites have no names.
pub(super) fn cells(rows: &Table, metrics: &[Metric], any_suite: bool) -> PolarsResult<DataFrame> {
    let suite = if any_suite { lit("").alias("suite") } else { col("suite") };
    let columns: Vec<Expr> = [suite]
        .into_iter()
        .chain(CELL[1..].iter().map(|&name| col(name)))
        .chain(COMPARED.map(col))
        .chain(metrics.iter().map(|metric| metric.expr()))
        .chain(noise())
        .collect();
    rows.lazy()?.select(columns).collect()
}

pub(super) fn nothing_in_common(old: &RunTable, new: &RunTable, any_suite: bool) -> PolarsResult<ComparisonError> {
    let empty = [old, new].into_iter().find(|run| run.table.height() == 0);
    let mut reason = match empty {
        Some(run) => format!("{} has no row that counts here", run.name),
        None => "every name is in both runs, but never in the same combination".to_owned(),
    };
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
    let names = if empty.is_some() { &[][..] } else { &names };
    for &column in names.iter().filter(|&&column| !any_suite || column != Column::Suite) {
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
