//! What the JSON formats share: faults with their line, numbers that read back exactly.

use std::fmt;
use std::path::Path;

use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;

use super::FormatError;
use super::text::Number;

/// Parses a whole text.
///
/// # Errors
/// With the line of the fault.
pub(super) fn parse<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T, FormatError> {
    serde_json::from_str(text).map_err(|error| fault(path, &error))
}

/// The keys of the outermost object; none if it is no object.
pub(super) fn top_keys(path: &Path, text: &str) -> Result<Vec<String>, FormatError> {
    struct Keys;

    impl<'de> Visitor<'de> for Keys {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
            let mut keys = Vec::new();
            while let Some((key, _)) = map.next_entry::<String, IgnoredAny>()? {
                keys.push(key);
            }
            Ok(keys)
        }
    }

    let mut reader = serde_json::Deserializer::from_str(text);
    reader.deserialize_map(Keys).and_then(|keys| reader.end().map(|()| keys)).map_err(|error| fault(path, &error))
}

fn fault(path: &Path, error: &serde_json::Error) -> FormatError {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    let remedy = match error.classify() {
        Category::Syntax | Category::Eof => "write valid JSON",
        Category::Data | Category::Io => "docs/FORMATS.md says what the format has there",
    };
    FormatError::at_line(path, error.line() as u64, message).remedy(remedy)
}

/// A text as JSON writes it.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A finite number as JSON writes it, exactly.
pub(super) fn number(value: f64) -> String {
    Number(value).to_string()
}

/// A size in a file of a tool that counts in whole or broken numbers.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn amount(number: &serde_json::Number) -> Result<f64, String> {
    match number.as_f64() {
        Some(value) if value.is_finite() && value >= 0.0 => Ok(value),
        _ => Err(format!("is {number}: write a finite number ≥ 0")),
    }
}
