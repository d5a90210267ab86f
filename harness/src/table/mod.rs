//! Result tables: one row a cell, as Rust structs, Polars data frames and files.

mod columns;
mod files;
mod row;

pub use files::{TableError, TableFormat, read_table, write_table};
pub use row::{CellKey, Row, SCHEMA_VERSION, Status};
