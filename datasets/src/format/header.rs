//! What a file says about a graph beside the graph itself: name, origin, licence, units.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::FormatError;
use super::toml_text::{Keys, TomlText};
use crate::Kinds;

/// What `graph.toml` gives as its format.
const FORMAT: &str = "placebench-graph";

/// The version of the native folder that this program writes, and the newest that it reads.
pub const NATIVE_VERSION: u32 = 1;

/// Name, origin and units of a graph: what travels with it through files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphHeader {
    /// A short name, as tables show it.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// The licence of the data, as an SPDX expression; empty if not stated.
    pub licence: String,
    /// Which of the kinds of devices that ops have kernels for they may run on, unless whoever places the graph says otherwise.
    pub kinds: Kinds,
    /// What the numbers count.
    pub units: Units,
    /// Free entries: where the graph comes from and how it was made.
    pub provenance: toml::Table,
}

impl GraphHeader {
    /// A header with a name and defaults for the rest.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

/// What the numbers of a graph count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Units {
    /// Unit of an op's cost; default `operations`.
    pub ops: String,
    /// Unit of measured times; default `seconds`.
    pub time: String,
    /// Unit of memory and tensor sizes; default `bytes`.
    pub bytes: String,
}

impl Default for Units {
    fn default() -> Self {
        Self { ops: "operations".to_owned(), time: "seconds".to_owned(), bytes: "bytes".to_owned() }
    }
}

/// How many rows each table has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub(crate) ops: u64,
    pub(crate) tensors: u64,
    pub(crate) edges: u64,
}

/// SHA-256 of each table, in hexadecimal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digests {
    pub(crate) ops: String,
    pub(crate) tensors: String,
    pub(crate) edges: String,
}

/// The whole of `graph.toml`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HeaderFile {
    format: String,
    version: u32,
    name: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    licence: String,
    #[serde(default, skip_serializing_if = "is_default")]
    kinds: Kinds,
    #[serde(default)]
    units: Units,
    pub(crate) counts: Counts,
    /// Left out by people who write the tables with other tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<Digests>,
    #[serde(default)]
    provenance: toml::Table,
}

fn is_default(kinds: &Kinds) -> bool {
    *kinds == Kinds::default()
}

const KEYS: Keys = Keys(&[
    ("format", None),
    ("version", None),
    ("name", None),
    ("title", None),
    ("licence", None),
    ("kinds", None),
    ("units", Some(&Keys(&[("ops", None), ("time", None), ("bytes", None)]))),
    ("counts", Some(&Keys(&[("ops", None), ("tensors", None), ("edges", None)]))),
    ("sha256", Some(&Keys(&[("ops", None), ("tensors", None), ("edges", None)]))),
    ("provenance", None),
]);

/// The two keys that are there in every version.
#[derive(Deserialize)]
struct Peek {
    format: toml::Spanned<String>,
    version: toml::Spanned<u32>,
}

impl HeaderFile {
    pub(crate) fn new(header: &GraphHeader, counts: Counts, sha256: Digests) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: NATIVE_VERSION,
            name: header.name.clone(),
            title: header.title.clone(),
            licence: header.licence.clone(),
            kinds: header.kinds,
            units: header.units.clone(),
            counts,
            sha256: Some(sha256),
            provenance: header.provenance.clone(),
        }
    }

    pub(crate) fn parse(path: &Path, bytes: &[u8]) -> Result<Self, FormatError> {
        let text = std::str::from_utf8(bytes).map_err(|_| FormatError::file(path, "the text is not UTF-8"))?;
        let text = TomlText { path, text };
        // Checked first, since a newer version may have keys that are unknown here.
        let Peek { format, version } = text.peek()?;
        if format.get_ref() != FORMAT {
            let message = format!("the format is '{}'", format.get_ref());
            return Err(text.at(format.span(), message).remedy(format!("a graph folder says '{FORMAT}'")));
        }
        if *version.get_ref() > NATIVE_VERSION {
            let message = format!(
                "format version {} is newer than {NATIVE_VERSION}, the newest that this program reads",
                version.get_ref()
            );
            return Err(text.at(version.span(), message).remedy("update placebench"));
        }
        text.parse(&KEYS)
    }

    pub(crate) fn to_toml(&self, path: &Path) -> Result<String, FormatError> {
        toml::to_string(self).map_err(|error| FormatError::file(path, error))
    }

    pub(crate) fn into_header(self) -> GraphHeader {
        let Self { name, title, licence, kinds, units, provenance, .. } = self;
        GraphHeader { name, title, licence, kinds, units, provenance }
    }
}
