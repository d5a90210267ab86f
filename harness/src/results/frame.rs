//! How a field of a row becomes a column of a data frame and back.

use polars::prelude::*;

use crate::execute::ExecutorName;
use crate::problem::Kinds;

/// A type that a column can hold.
pub trait ColumnValue: Sized {
    /// The type in docs.
    const NAME: &'static str;

    /// A column of these values.
    fn column(name: &str, values: Vec<Self>) -> Column;

    /// The values of a column.
    ///
    /// # Errors
    /// If the column is of another type, or has a null where the type has none.
    fn values(column: &Column) -> PolarsResult<Vec<Self>>;
}

/// The values of a column of a data frame.
///
/// # Errors
/// If there is no such column, it is of another type, or has a null where the type has none.
pub fn values<T: ColumnValue>(frame: &DataFrame, name: &str) -> PolarsResult<Vec<T>> {
    T::values(frame.column(name)?)
}

/// The numbers in each list of a column: what a group of rows has. Nulls are left out.
///
/// # Errors
/// If there is no such column, or it holds no lists of numbers.
pub fn lists(frame: &DataFrame, name: &str) -> PolarsResult<Vec<Vec<f64>>> {
    let numbers = |list: Option<Series>| match list {
        Some(list) => Ok(list.cast(&DataType::Float64)?.f64()?.iter().flatten().collect()),
        None => Ok(Vec::new()),
    };
    let column = frame.column(name)?.list()?;
    (0..column.len()).map(|row| numbers(column.get_as_series(row))).collect()
}

/// The error that a column holds a null where the schema has none.
fn null_in(column: &Column) -> PolarsError {
    polars_err!(ComputeError: "column '{}' has an empty value", column.name())
}

macro_rules! required {
    ($rust:ty, $name:literal, $view:ident, $dtype:expr) => {
        impl ColumnValue for $rust {
            const NAME: &str = $name;

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
    ($rust:ty, $name:literal, $view:ident, $dtype:expr) => {
        impl ColumnValue for Option<$rust> {
            const NAME: &str = $name;

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

impl ColumnValue for Kinds {
    const NAME: &str = String::NAME;

    fn column(name: &str, values: Vec<Self>) -> Column {
        Column::new(name.into(), values.into_iter().map(Self::name).collect::<Vec<_>>())
    }

    fn values(column: &Column) -> PolarsResult<Vec<Self>> {
        let parse = |text: String| {
            text.parse().map_err(|error| polars_err!(ComputeError: "column '{}': {error}", column.name()))
        };
        String::values(column)?.into_iter().map(parse).collect()
    }
}

impl ColumnValue for ExecutorName {
    const NAME: &str = String::NAME;

    fn column(name: &str, values: Vec<Self>) -> Column {
        Column::new(name.into(), values.iter().map(Self::as_str).collect::<Vec<_>>())
    }

    fn values(column: &Column) -> PolarsResult<Vec<Self>> {
        Ok(String::values(column)?.iter().map(|name| Self::from(name.as_str())).collect())
    }
}

required!(String, "text", str, DataType::String);
required!(u32, "u32", u32, DataType::UInt32);
required!(u64, "u64", u64, DataType::UInt64);
required!(f64, "f64", f64, DataType::Float64);
optional!(String, "text", str, DataType::String);
optional!(u64, "u64", u64, DataType::UInt64);
optional!(f64, "f64", f64, DataType::Float64);
