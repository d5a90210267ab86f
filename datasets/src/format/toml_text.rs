//! TOML that people write: faults name their line, and a key that does not exist is an error with a suggestion.

use std::ops::Range;
use std::path::Path;

use placebench_base::did_you_mean;
use placebench_base::{TomlFault, line_at, parse_toml};
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::FormatError;

/// The keys that a table may have, and those of the tables below it. A key without [`Keys`] holds a value or a table
/// of free content.
pub(crate) struct Keys(pub(crate) &'static [(&'static str, Option<&'static Keys>)]);

/// A TOML text and the file that it comes from.
pub(crate) struct TomlText<'a> {
    pub(crate) path: &'a Path,
    pub(crate) text: &'a str,
}

impl TomlText<'_> {
    /// Reads the text as a `T` with no other keys than `keys`.
    pub(crate) fn parse<T: DeserializeOwned>(&self, keys: &Keys) -> Result<T, FormatError> {
        let document = DeTable::parse(self.text);
        let document = document.map_err(|error| FormatError::toml(self.path, TomlFault::of(self.text, &error)))?;
        self.check_keys(document.get_ref(), keys)?;
        self.peek()
    }

    /// Reads the text as a `T`, whatever other keys it has.
    pub(crate) fn peek<T: DeserializeOwned>(&self) -> Result<T, FormatError> {
        parse_toml(self.text).map_err(|fault| FormatError::toml(self.path, fault))
    }

    /// A fault at a range of the text.
    pub(crate) fn at(&self, span: Range<usize>, message: impl std::fmt::Display) -> FormatError {
        FormatError::at_line(self.path, line_at(self.text, span.start), message)
    }

    fn check_keys(&self, table: &DeTable<'_>, keys: &Keys) -> Result<(), FormatError> {
        for (key, value) in table {
            let name = key.get_ref();
            let Some((_, below)) = keys.0.iter().find(|(known, _)| known == name) else {
                let error = self.at(key.span(), format!("unknown key '{name}'"));
                return Err(error.remedy(did_you_mean(name, keys.0.iter().map(|&(known, _)| known))));
            };
            if let Some(below) = below {
                self.check_value(value, below)?;
            }
        }
        Ok(())
    }

    fn check_value(&self, value: &Spanned<DeValue<'_>>, keys: &Keys) -> Result<(), FormatError> {
        match value.get_ref() {
            DeValue::Table(table) => self.check_keys(table, keys),
            DeValue::Array(items) => items.iter().try_for_each(|item| match item.get_ref() {
                DeValue::Table(table) => self.check_keys(table, keys),
                _ => Ok(()),
            }),
            _ => Ok(()),
        }
    }
}
