//! Cells that end differently than before.

use std::cmp::Ordering;

use polars::prelude::{DataFrame, IntoLazy, PolarsResult, col, lit};
use serde::Serialize;

use crate::results::{CellKey, Status, cell_keys, values};

/// What a change of status means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// A result is lost, or an algorithm is now wrong: a panic, or an answer that the validator refused.
    Regression,
    /// It was cut short in one of the runs, at its time limit or by the machine: whether the algorithm got worse is not known.
    CutShort,
    /// It failed before and fails now, in the same way or in another that is no worse.
    Neutral,
    /// There is a result where there was none, or an algorithm is no longer wrong.
    Fixed,
}

/// How a cell ended in both runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StatusChange {
    /// The cell.
    pub cell: CellKey,
    /// What the change means.
    pub effect: Effect,
    /// The status in the old run.
    pub old: String,
    /// The status in the new run.
    pub new: String,
    /// Why it fails now, or why it failed before.
    pub reason: Option<String>,
}

impl StatusChange {
    /// Matched cells that end differently.
    pub(super) fn changed(pairs: &DataFrame) -> PolarsResult<Vec<Self>> {
        Self::of(pairs.clone().lazy().filter(col("status").neq(col("status_new"))).collect()?)
    }

    /// Matched cells that have no result in either run, for the same reason, which is not that there is no feasible placement.
    pub(super) fn broken(pairs: &DataFrame) -> PolarsResult<Vec<Self>> {
        let is = |status: Status| col("status").eq(lit(status.name()));
        let is_broken = is(Status::Ok).or(is(Status::Infeasible)).not();
        Self::of(pairs.clone().lazy().filter(col("status").eq(col("status_new")).and(is_broken)).collect()?)
    }

    fn of(changed: DataFrame) -> PolarsResult<Vec<Self>> {
        let [old, new] = ["status", "status_new"].map(|name| values::<String>(&changed, name));
        let [old_error, new_error] = ["error", "error_new"].map(|name| values::<Option<String>>(&changed, name));
        let reasons = new_error?.into_iter().zip(old_error?).map(|(new, old)| new.or(old));
        let statuses = old?.into_iter().zip(new?);
        let change = |((cell, (old, new)), reason): ((CellKey, (String, String)), Option<String>)| Self {
            cell,
            effect: match severity(&new).cmp(&severity(&old)) {
                order if order.is_ne() && severity(&new) < 2 && (is_cut_short(&old) || is_cut_short(&new)) => {
                    Effect::CutShort
                }
                Ordering::Greater => Effect::Regression,
                Ordering::Equal => Effect::Neutral,
                Ordering::Less => Effect::Fixed,
            },
            old,
            new,
            reason,
        };
        Ok(cell_keys(&changed)?.into_iter().zip(statuses).zip(reasons).map(change).collect())
    }
}

/// 0 for a result, 1 for none, 2 for something wrong. A word from another version may mean anything but a result.
fn severity(status: &str) -> u8 {
    match Status::named(status) {
        Some(Status::Ok) => 0,
        Some(Status::Infeasible | Status::Error | Status::TimedOut | Status::Interrupted) => 1,
        Some(Status::Panicked | Status::Invalid) | None => 2,
    }
}

/// Whether a cell with this status might have had any other.
fn is_cut_short(status: &str) -> bool {
    matches!(Status::named(status), Some(Status::TimedOut | Status::Interrupted))
}
