//! Compares runs: what changed between two, which algorithm ranks where, how results move over many.
//!
//! Numbers that do not depend on the clock are compared exactly, because runs are deterministic; seconds, and makespans of
//! measured cells, are compared against the noise that repetitions show. `docs/METHODOLOGY.md` has the statistics.

mod agreement;
mod history;
mod matching;
mod quality;
mod ranking;
mod source;
mod status;
mod time;
mod verdict;

pub use agreement::{Agreement, CandidateTimes, ModelAgreement, agreements};
pub use history::{History, HistoryError, HistoryLine};
pub use quality::{CellChange, LEAST_REPETITIONS, MOST_CHANGES, QualityComparison, QualityGroup};
pub use ranking::{Gap, RankEntry, RankOptions, Ranking};
pub use source::{RunTable, SourceError, environment_differences, utc};
pub use status::{Effect, StatusChange};
pub use time::{FALSE_ALARM, LEAST_NOISE, TIMED, TimeChange, TimeComparison};
pub use verdict::{CompareOptions, Comparison, Regression, Side, goal_of};

use crate::results::grid::GridError;
use crate::results::{CellKey, Metric};

/// Why runs do not compare.
#[derive(Debug, thiserror::Error)]
pub enum ComparisonError {
    /// A run has a cell twice.
    #[error("{run}: has more than one row for {cell}: compare tables of one run")]
    Duplicate {
        /// The run.
        run: String,
        /// The cell.
        cell: Box<CellKey>,
    },
    /// The table library refuses.
    #[error(transparent)]
    Table(#[from] polars::error::PolarsError),
    /// No cell that is compared has a number that was asked for.
    #[error("{run}: no compared cell has a {metric}: leave it out, or make the run again with this version", metric = .metric.column())]
    NoValue {
        /// The run.
        run: String,
        /// The number.
        metric: Metric,
    },
    /// It has rows such as no run makes.
    #[error("{run}: {fault}: make the table again")]
    Impossible {
        /// The run.
        run: String,
        /// What is wrong with them.
        fault: String,
    },
    /// No cell is in both runs.
    #[error("{old} and {new} have no cell in common: {reason}")]
    NothingInCommon {
        /// One run.
        old: String,
        /// The other.
        new: String,
        /// What differs.
        reason: String,
    },
}

impl From<GridError> for ComparisonError {
    fn from(error: GridError) -> Self {
        match error {
            GridError::Duplicate { run, cell } => Self::Duplicate { run, cell },
            GridError::Table(error) => Self::Table(error),
        }
    }
}
