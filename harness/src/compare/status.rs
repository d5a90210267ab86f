//! Cells that end differently than before.

use serde::Serialize;

use super::matching::Pair;
use crate::results::{CellKey, Row, Status};

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
    /// The change, if there is one.
    pub(super) fn new(pair: &Pair<'_>) -> Option<Self> {
        let (old, new) = (pair.old, pair.new);
        (old.status != new.status).then(|| Self {
            cell: pair.id.clone(),
            effect: match severity(new).cmp(&severity(old)) {
                std::cmp::Ordering::Greater => Effect::Regression,
                std::cmp::Ordering::Equal => Effect::Neutral,
                std::cmp::Ordering::Less => Effect::Fixed,
            },
            old: old.status.clone(),
            new: new.status.clone(),
            reason: new.error.clone().or_else(|| old.error.clone()),
        })
    }
}

/// 0 for a result, 1 for none, 2 for something wrong. A word from another version may mean anything but a result.
fn severity(row: &Row) -> u8 {
    match row.status() {
        Some(Status::Ok) => 0,
        Some(Status::Infeasible | Status::Error | Status::TimedOut) => 1,
        Some(Status::Panicked | Status::Invalid) | None => 2,
    }
}
