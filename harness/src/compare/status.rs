//! Cells that end differently than before.

use std::cmp::Ordering;

use polars::prelude::{DataFrame, IntoLazy, PolarsResult, col};
use serde::Serialize;

use crate::results::{CellKey, Status, cell_keys, values};

/// What a change of status means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// A result is lost, or an algorithm is now wrong: a panic, or an answer that the validator refused.
    Regression,
    /// It failed before and fails now, in another way that is no worse.
    Neutral,
    /// There is a result where there was none, or an algorithm is no longer wrong.
    Fixed,
}

/// A cell that ended with another status.
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
    /// The changes among matched cells.
    pub(super) fn all(pairs: &DataFrame) -> PolarsResult<Vec<Self>> {
        let changed = pairs.clone().lazy().filter(col("status").neq(col("status_new"))).collect()?;
        let [old, new] = ["status", "status_new"].map(|name| values::<String>(&changed, name));
        let [old_error, new_error] = ["error", "error_new"].map(|name| values::<Option<String>>(&changed, name));
        let reasons = new_error?.into_iter().zip(old_error?).map(|(new, old)| new.or(old));
        let statuses = old?.into_iter().zip(new?);
        let change = |((cell, (old, new)), reason): ((CellKey, (String, String)), Option<String>)| Self {
            cell,
            effect: match severity(&new).cmp(&severity(&old)) {
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
        Some(Status::Infeasible | Status::Error | Status::TimedOut) => 1,
        Some(Status::Panicked | Status::Invalid) | None => 2,
    }
}
