//! Parquet tables as other tools might write them, right or wrong.

use std::sync::Arc;

use parquet::basic::{Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

/// The cells of a column, `None` for a null.
#[derive(Clone)]
pub(crate) enum Values {
    Int(Vec<Option<i32>>),
    Long(Vec<Option<i64>>),
    Double(Vec<Option<f64>>),
    Text(Vec<Option<&'static [u8]>>),
}

pub(crate) fn ints(values: &[i32]) -> Values {
    Values::Int(values.iter().copied().map(Some).collect())
}

pub(crate) fn longs(values: &[i64]) -> Values {
    Values::Long(values.iter().copied().map(Some).collect())
}

pub(crate) fn doubles(values: &[f64]) -> Values {
    Values::Double(values.iter().copied().map(Some).collect())
}

pub(crate) fn texts(values: &[&'static [u8]]) -> Values {
    Values::Text(values.iter().copied().map(Some).collect())
}

/// A table whose columns are all nullable, as data frame libraries write them.
pub(crate) fn table(columns: &[(&str, Values)]) -> Vec<u8> {
    let fields = columns
        .iter()
        .map(|(name, values)| {
            let physical = match values {
                Values::Int(_) => Physical::INT32,
                Values::Long(_) => Physical::INT64,
                Values::Double(_) => Physical::DOUBLE,
                Values::Text(_) => Physical::BYTE_ARRAY,
            };
            let field = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
            Arc::new(field.build().unwrap())
        })
        .collect();
    let schema = Type::group_type_builder("frame").with_fields(fields).build().unwrap();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for (_, values) in columns {
        match values {
            Values::Int(cells) => write::<Int32Type, _>(&mut group, cells, |&cell| cell),
            Values::Long(cells) => write::<Int64Type, _>(&mut group, cells, |&cell| cell),
            Values::Double(cells) => write::<DoubleType, _>(&mut group, cells, |&cell| cell),
            Values::Text(cells) => write::<ByteArrayType, _>(&mut group, cells, |&cell| ByteArray::from(cell)),
        }
    }
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

fn write<T: DataType, V>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    cells: &[Option<V>],
    convert: impl Fn(&V) -> T::T,
) {
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let values: Vec<T::T> = cells.iter().flatten().map(convert).collect();
    let mut writer = group.next_column().unwrap().unwrap();
    writer.typed::<T>().write_batch(&values, Some(&levels), None).unwrap();
    writer.close().unwrap();
}
