//! Why a table cannot be read or written.

use std::io;
use std::path::PathBuf;

use placebench_base::io_reason;
use polars::prelude::PolarsError;

/// Why a table cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The file system says no.
    #[error("{}: {}", path.display(), io_reason(source))]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A Parquet file does not end as one does.
    #[error("{}: empty, cut short or no Parquet file: copy it again, or make the run again", path.display())]
    Cut {
        /// The file.
        path: PathBuf,
    },
    /// The content is no table of results.
    #[error("{}: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// Why.
        source: PolarsError,
    },
    /// The content of a CSV or JSON file is no table of results.
    #[error("{}: not a table of results ({reason})", path.display())]
    NoRow {
        /// The file.
        path: PathBuf,
        /// Where and why.
        reason: String,
    },
    /// The extension is unknown.
    #[error("{}: unknown kind of table: use .parquet, .csv or .json", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
    },
}
