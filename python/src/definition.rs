//! Tables that Python hands over as JSON, read as the TOML of a suite file.

use placebench::base::parse_toml;
use pyo3::prelude::*;
use serde_json::Value;

use crate::fault::fault;

/// A value of a table in JSON, with the messages of a TOML file. `place` is for messages.
///
/// # Errors
/// If it is none.
pub(crate) fn table_of<T: serde::de::DeserializeOwned>(json: &str, place: &str) -> PyResult<T> {
    let text = toml_of(json, place)?;
    parse_toml(&text).map_err(|error| fault(format!("{place}: {}", error.message)))
}

/// A table in JSON as TOML. What is null is left out.
///
/// # Errors
/// If it is no JSON, or no table.
pub(crate) fn toml_of(json: &str, place: &str) -> PyResult<String> {
    fn without_nulls(value: Value) -> Value {
        match value {
            Value::Object(table) => {
                let there = table.into_iter().filter(|(_, value)| !value.is_null());
                Value::Object(there.map(|(key, value)| (key, without_nulls(value))).collect())
            }
            Value::Array(list) => Value::Array(list.into_iter().map(without_nulls).collect()),
            other => other,
        }
    }
    let value: Value = serde_json::from_str(json).map_err(|error| fault(format!("{place}: {error}")))?;
    toml::to_string(&without_nulls(value)).map_err(|error| fault(format!("{place}: {error}")))
}
