//! Reads TOML; what is wrong with a text is one line.

use std::fmt;

use serde::de::DeserializeOwned;

/// What is wrong with a TOML text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TomlFault {
    /// The line of the fault, from 1, if the parser knows it.
    pub line: Option<u64>,
    /// The fault, in one line.
    pub message: String,
}

/// Reads a TOML text.
///
/// # Errors
/// If the text is no TOML, or not that of a `T`.
///
/// # Example
/// ```
/// #[derive(Debug, serde::Deserialize)]
/// struct Size {
///     width: u32,
/// }
/// let fault = placebench_datasets::parse_toml::<Size>("# a size\nwidth = 'wide'").unwrap_err();
/// assert_eq!(fault.to_string(), "line 2: invalid type: string \"wide\", expected u32");
/// ```
pub fn parse_toml<T: DeserializeOwned>(text: &str) -> Result<T, TomlFault> {
    toml::from_str(text).map_err(|error| TomlFault::of(text, &error))
}

impl TomlFault {
    /// The parser's error about a text.
    pub(crate) fn of(text: &str, error: &toml::de::Error) -> Self {
        let line = error.span().map(|span| line_at(text, span.start));
        Self { line, message: error.message().replace('\n', " ") }
    }
}

/// The line, from 1, of a byte of a text.
pub(crate) fn line_at(text: &str, offset: usize) -> u64 {
    let before = &text.as_bytes()[..offset.min(text.len())];
    before.iter().filter(|&&byte| byte == b'\n').count() as u64 + 1
}

impl std::error::Error for TomlFault {}

impl fmt::Display for TomlFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}
