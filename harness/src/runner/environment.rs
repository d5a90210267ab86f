//! Where and how a run was made.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::results::Row;

/// Where and how a run was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of placebench.
    pub version: String,
    /// Commit that it was built from, if known.
    pub commit: Option<String>,
    /// When the run was started, in UTC (RFC 3339).
    #[serde(default)]
    pub started: Option<String>,
    /// Name of the host; empty in older run folders.
    #[serde(default)]
    pub host: String,
    /// Processor.
    pub cpu: String,
    /// Threads that cells ran on.
    pub threads: usize,
    /// Operating system and architecture.
    pub platform: String,
    /// Whether the build was optimised.
    pub optimized: bool,
    /// Version of the table's columns.
    pub schema_version: u32,
    /// The command line.
    pub command: Vec<String>,
    /// SHA-256 of each file that the run reads, by its path: see [`input_digests`](super::input_digests).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, String>,
}

impl Environment {
    /// A row that says where it was made: host, processor and commit.
    pub fn sign(&self, row: Row) -> Row {
        let (host, processor, commit) = (self.host.clone(), self.cpu.clone(), self.commit.clone());
        Row { host: Some(host), processor: Some(processor), commit, ..row }
    }

    /// Whether rows of both may stand in one table.
    pub(super) fn is_same_version(&self, other: &Self) -> bool {
        (&self.version, &self.commit, self.schema_version) == (&other.version, &other.commit, other.schema_version)
    }
}
