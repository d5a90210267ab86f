//! How a field of a row becomes a column of a data frame and back.

use polars::prelude::*;

/// A type that a column can hold.
pub(super) trait ColumnValue: Sized {
    fn column(name: &str, values: Vec<Self>) -> Column;
    fn values(column: &Column) -> PolarsResult<Vec<Self>>;
}

/// The error that a column holds a null where the schema has none.
fn null_in(column: &Column) -> PolarsError {
    polars_err!(ComputeError: "column '{}' has an empty value", column.name())
}

macro_rules! required {
    ($rust:ty, $view:ident, $dtype:expr) => {
        impl ColumnValue for $rust {
            fn column(name: &str, values: Vec<Self>) -> Column {
                Column::new(name.into(), values)
            }

            fn values(column: &Column) -> PolarsResult<Vec<Self>> {
                let cast = column.cast(&$dtype)?;
                cast.$view()?.iter().map(|value| value.map(Into::into).ok_or_else(|| null_in(column))).collect()
            }
        }
    };
}

macro_rules! optional {
    ($rust:ty, $view:ident, $dtype:expr) => {
        impl ColumnValue for Option<$rust> {
            fn column(name: &str, values: Vec<Self>) -> Column {
                Column::new(name.into(), values)
            }

            fn values(column: &Column) -> PolarsResult<Vec<Self>> {
                let cast = column.cast(&$dtype)?;
                Ok(cast.$view()?.iter().map(|value| value.map(Into::into)).collect())
            }
        }
    };
}

required!(String, str, DataType::String);
required!(u32, u32, DataType::UInt32);
required!(u64, u64, DataType::UInt64);
optional!(String, str, DataType::String);
optional!(u64, u64, DataType::UInt64);
optional!(f64, f64, DataType::Float64);
