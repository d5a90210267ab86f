//! What stands beside the parts of a streamed graph: a manifest, a sheet for each part, the properties of the whole.

use placebench_base::parse_toml;
use placebench_datasets::stream::EdgeFormat;
use serde::{Deserialize, Serialize};

use super::params::format_name;
use super::{Sheet, StreamParams, Tally};
use crate::manifest::seed;

/// What a streamed graph is made from. All machines that make parts of it have the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamManifest {
    /// Version of this crate.
    pub version: String,
    /// The seed.
    #[serde(with = "seed")]
    pub seed: u64,
    /// How edges are written.
    #[serde(with = "format_name")]
    pub format: EdgeFormat,
    /// Number of parts.
    pub parts: u32,
    /// Number of vertices or ops.
    pub vertices: u32,
    /// Number of edges.
    pub edges: u64,
    /// Family and parameters.
    #[serde(flatten)]
    pub params: StreamParams,
}

/// What is known of a part when it is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartSheet {
    /// Which part, from 1.
    pub part: u32,
    /// Number of edges.
    pub edges: u64,
    /// SHA-256 of the file of edges.
    pub sha256: String,
    /// SHA-256 of the file of ops, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops_sha256: Option<String>,
    /// Counts of the part.
    #[serde(default, flatten)]
    pub counts: Sheet,
}

/// A manifest beside a single file, with what is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FileManifest {
    #[serde(flatten)]
    pub(super) manifest: StreamManifest,
    pub(super) part: PartSheet,
}

/// The property sheet of a streamed graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamProperties {
    /// Number of vertices or ops.
    pub vertices: u32,
    /// Number of edges.
    pub edges: u64,
    /// SHA-256 of the digests of all parts' files, each followed by a line break, in the order of parts, edges first.
    pub sha256: String,
    /// In-degrees of a leveled graph, out-degrees of a directed G(n, m).
    #[serde(default, skip_serializing_if = "Tally::is_empty")]
    pub degrees: Tally,
    /// How many levels an edge spans.
    #[serde(default, skip_serializing_if = "Tally::is_empty")]
    pub spans: Tally,
    /// How many ops a level has.
    #[serde(default, skip_serializing_if = "Tally::is_empty")]
    pub level_sizes: Tally,
    /// How many ops a colocation group has.
    #[serde(default, skip_serializing_if = "Tally::is_empty")]
    pub group_sizes: Tally,
}

/// Reads one of these files.
pub(super) fn parse<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
    parse_toml(text).map_err(|fault| fault.to_string())
}

/// Writes one of these files.
pub(super) fn text<T: Serialize>(value: &T) -> String {
    toml::to_string(value).expect("what is written here holds nothing that TOML cannot")
}
