//! Result tables: one row a cell, as Rust structs, Polars data frames and files.

mod builder;
mod cell_key;
mod codes;
mod column;
mod columns;
mod csv_texts;
mod files;
mod filter;
mod frame;
pub mod grid;
mod metric;
mod page_headers;
mod predictions;
mod read;
mod row;
mod source;
mod table;
mod table_error;

pub(crate) use builder::TableBuilder;
pub use cell_key::CellKey;
pub use codes::Codes;
pub use column::{Column, UnknownColumn};
pub use columns::{ColumnInfo, Content};
pub use csv_texts::CsvTexts;
pub use files::{TableFormat, save_table, write_frame, write_rows, write_table};
pub(crate) use filter::as_text;
pub use filter::{Filter, FilterError};
pub use frame::{ColumnValue, lists, values};
pub use metric::{Metric, UnknownMetric};
pub use predictions::{Prediction, Predictions};
pub use read::{open_table, read_table};
pub use row::{Row, SCHEMA_VERSION, Status};
pub use table::{CELL, Table, cell_keys};
pub use table_error::TableError;
