//! Result tables: one row a cell, as Rust structs, Polars data frames and files.

mod builder;
mod cell_key;
mod codes;
mod column;
mod csv_texts;
mod files;
mod filter;
mod frame;
mod metric;
mod page_headers;
mod predictions;
mod read;
mod row;
mod source;
mod table;
mod table_error;

pub(crate) use builder::TableBuilder;
pub use cell_key::{CellKey, Scenario};
pub use codes::Codes;
pub use column::{Column, UnknownColumn};
pub use csv_texts::CsvTexts;
pub use files::{TableFormat, save_table, write_frame, write_rows, write_table};
pub(crate) use filter::as_text;
pub use filter::{Filter, FilterError};
pub use frame::{ColumnValue, lists, values};
pub use metric::{Measure, Metric, UnknownMetric};
pub use predictions::{Prediction, Predictions};
pub use read::{open_table, read_table};
pub use row::{Row, SCHEMA_VERSION, Status};
pub use table::{CELL, SCENARIO, Table, cell_keys, left_join, scenarios};
pub use table_error::TableError;
