//! TOML with faults in one line, the way users see them.

use serde::de::DeserializeOwned;

/// Reads TOML; an error is one line that starts with the line number where that is known.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let message = error.message().replace('\n', " ");
        match error.span() {
            Some(span) => format!("line {}: {message}", text[..span.start].matches('\n').count() + 1),
            None => message,
        }
    })
}
