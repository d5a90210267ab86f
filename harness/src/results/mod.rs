//! Result tables: one row a cell, as Rust structs, Polars data frames and files.

mod cell_key;
mod columns;
mod files;
mod metric;
mod row;

pub use cell_key::{CellKey, Scenario};
pub use files::{TableError, TableFormat, read_table, write_table};
pub use metric::{Measure, Metric, UnknownMetric, names_of};
pub use row::{Row, SCHEMA_VERSION, Status};
