//! The cells of a column, whichever of Arrow's types for such cells it has.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, Float64Array, PrimitiveArray, UInt64Array};
use arrow_schema::DataType;

/// What a column holds instead of what is expected: `holds Utf8 where numbers are expected`.
fn other(array: &dyn Array, expected: &str) -> String {
    format!("holds {} where {expected} are expected", array.data_type())
}

/// Whole numbers of 8 to 64 bits; or floating-point numbers that are whole, NaN for a null, as pandas makes of a column with nulls.
pub(super) fn whole(array: &dyn Array) -> Result<UInt64Array, String> {
    match array.data_type() {
        DataType::UInt64 => Ok(array.as_primitive::<UInt64Type>().clone()),
        DataType::UInt32 => natural::<UInt32Type>(array),
        DataType::UInt16 => natural::<UInt16Type>(array),
        DataType::UInt8 => natural::<UInt8Type>(array),
        DataType::Int64 => natural::<Int64Type>(array),
        DataType::Int32 => natural::<Int32Type>(array),
        DataType::Int16 => natural::<Int16Type>(array),
        DataType::Int8 => natural::<Int8Type>(array),
        DataType::Float64 | DataType::Float32 => real(array)?.iter().map(whole_of).collect(),
        DataType::Null => Ok(UInt64Array::new_null(array.len())),
        _ => Err(other(array, "whole numbers")),
    }
}

/// Beyond this, not every whole number is a 64-bit floating-point number.
const MOST_EXACT: f64 = (1u64 << 53) as f64;

fn whole_of(value: Option<f64>) -> Result<Option<u64>, String> {
    match value.filter(|value| !value.is_nan()) {
        None => Ok(None),
        Some(value) if value < 0.0 => Err(format!("holds {value}, which is negative")),
        Some(value) if value.fract() == 0.0 && value <= MOST_EXACT => Ok(Some(value as u64)),
        Some(value) => Err(format!("holds {value} where whole numbers are expected")),
    }
}

fn natural<T: ArrowPrimitiveType>(array: &dyn Array) -> Result<UInt64Array, String>
where
    T::Native: TryInto<u64> + std::fmt::Display,
{
    let numbers: &PrimitiveArray<T> = array.as_primitive();
    numbers.try_unary(|value| value.try_into().map_err(|_| format!("holds {value}, which is negative")))
}

/// Floating-point numbers of 32 or 64 bits.
pub(super) fn real(array: &dyn Array) -> Result<Float64Array, String> {
    match array.data_type() {
        DataType::Float64 => Ok(array.as_primitive::<Float64Type>().clone()),
        DataType::Float32 => Ok(array.as_primitive::<Float32Type>().unary(f64::from)),
        DataType::Null => Ok(Float64Array::new_null(array.len())),
        _ => Err(other(array, "floating-point numbers")),
    }
}

/// Texts, also as views or as entries of a dictionary.
pub(super) fn texts(array: &dyn Array) -> Result<Vec<Option<&str>>, String> {
    match array.data_type() {
        DataType::Utf8 => Ok(array.as_string::<i32>().iter().collect()),
        DataType::LargeUtf8 => Ok(array.as_string::<i64>().iter().collect()),
        DataType::Utf8View => Ok(array.as_string_view().iter().collect()),
        DataType::Null => Ok(vec![None; array.len()]),
        DataType::Dictionary(_, _) => {
            let dictionary = array.as_any_dictionary();
            let entries = texts(dictionary.values().as_ref())?;
            if entries.is_empty() {
                return Ok(vec![None; array.len()]);
            }
            let keys = dictionary.normalized_keys().into_iter().enumerate();
            Ok(keys.map(|(row, key)| if array.is_null(row) { None } else { entries[key] }).collect())
        }
        _ => Err(other(array, "texts")),
    }
}

/// Lists: their items, one after the other.
pub(super) struct Lists {
    ends: Vec<usize>,
    pub(super) items: ArrayRef,
}

impl Lists {
    /// # Errors
    /// If the column holds no lists, or a list is null.
    pub(super) fn of(array: &dyn Array) -> Result<Self, String> {
        let (ends, items) = match array.data_type() {
            DataType::List(_) => {
                let lists = array.as_list::<i32>();
                (lists.offsets().iter().map(|&end| end as usize).collect(), lists.values())
            }
            DataType::LargeList(_) => {
                let lists = array.as_list::<i64>();
                (lists.offsets().iter().map(|&end| end as usize).collect(), lists.values())
            }
            _ => return Err(other(array, "lists")),
        };
        match array.null_count() {
            0 => Ok(Self { ends, items: Arc::clone(items) }),
            _ => Err("has a null where a list, perhaps an empty one, is expected".to_owned()),
        }
    }

    /// The numbers of a row's items.
    pub(super) fn row(&self, row: usize) -> Range<usize> {
        self.ends[row]..self.ends[row + 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_floating_point_numbers_are_whole_numbers_and_others_are_refused() {
        let of =
            |values: &[f64]| whole(&Float64Array::from(values.to_vec())).map(|found| found.iter().collect::<Vec<_>>());
        assert_eq!(of(&[3.0, f64::NAN, 0.0]), Ok(vec![Some(3), None, Some(0)]));
        assert_eq!(of(&[0.5]), Err("holds 0.5 where whole numbers are expected".to_owned()));
        assert_eq!(of(&[-1.0]), Err("holds -1, which is negative".to_owned()));
        assert!(of(&[f64::INFINITY]).is_err() && of(&[1e300]).is_err() && of(&[MOST_EXACT]).is_ok());
    }
}
