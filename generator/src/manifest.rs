//! The manifest of a generated graph: what it was made from and the hash of what came out.

use placebench_base::parse_toml;
use placebench_datasets::DataflowGraph;
use serde::{Deserialize, Serialize};

use crate::digest::graph_sha256;
use crate::error::GeneratorError;
use crate::leveled::{GraphStats, LeveledGraph, LeveledParams, generate_leveled};

/// What a generated graph was made from, and what came out: enough to make it again and to know that it is the same.
///
/// ```
/// use placebench_generator::{LeveledParams, Manifest, generate_leveled};
///
/// let params = LeveledParams::preset("laich3").unwrap();
/// let manifest = Manifest::new(&params, 7, &generate_leveled(&params, 7).unwrap());
/// let file = manifest.to_toml();
/// assert!(file.starts_with("generator = \"leveled\"\n"));
/// assert_eq!(Manifest::from_toml(&file).unwrap().check(), Ok(()));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The family of graphs.
    pub generator: Family,
    /// Version of this crate that made the graph.
    pub version: String,
    /// The seed; in the file as text if it is above 2⁶³ − 1, which TOML's integers end at.
    #[serde(with = "seed")]
    pub seed: u64,
    /// SHA-256 of the graph's content; see [`graph_sha256`].
    pub sha256: String,
    /// The parameters.
    pub parameters: LeveledParams,
    /// Counts of the graph.
    pub counts: GraphStats,
}

/// A family of generated graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Family {
    /// [`generate_leveled`].
    Leveled,
}

/// Why a graph is not the one of a manifest.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ManifestError {
    /// The parameters no longer make a graph.
    #[error("the manifest's parameters make no graph: {0}")]
    Generator(#[from] GeneratorError),
    /// The graph has other counts.
    #[error(
        "the graph has {found} {what}, but its manifest (version {made_by}) says {expected}: it was made from other \
         parameters or by another version than this one ({this})"
    )]
    Count {
        /// What is counted.
        what: &'static str,
        /// The count in the manifest.
        expected: f64,
        /// The count of the graph.
        found: f64,
        /// Version that wrote the manifest.
        made_by: String,
        /// Version that checks.
        this: &'static str,
    },
    /// Counts agree, but not the content.
    #[error(
        "the graph's content has SHA-256 {found}, but its manifest (version {made_by}) says {expected}: make the graph \
         again with this version ({this}), or use the version that made it"
    )]
    Content {
        /// The hash in the manifest.
        expected: String,
        /// The hash of the graph.
        found: String,
        /// Version that wrote the manifest.
        made_by: String,
        /// Version that checks.
        this: &'static str,
    },
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

impl Manifest {
    /// The manifest of a graph that [`generate_leveled`] made from `params` and `seed`.
    pub fn new(params: &LeveledParams, seed: u64, made: &LeveledGraph) -> Self {
        Self {
            generator: Family::Leveled,
            version: VERSION.to_owned(),
            seed,
            sha256: graph_sha256(&made.graph),
            parameters: params.clone(),
            counts: made.stats.clone(),
        }
    }

    /// The manifest as a TOML file.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a manifest holds nothing that TOML cannot")
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// One line: the line number and what is wrong there.
    pub fn from_toml(text: &str) -> Result<Self, String> {
        let manifest: Self = parse_toml(text).map_err(|fault| fault.to_string())?;
        manifest.parameters.check().map_err(|error| error.to_string())?;
        Ok(manifest)
    }

    /// Makes the graph again and compares it with the manifest.
    ///
    /// # Errors
    /// If the parameters make no graph, or another one.
    pub fn check(&self) -> Result<(), ManifestError> {
        let made = generate_leveled(&self.parameters, self.seed)?;
        let (then, now) = (&self.counts, &made.stats);
        let pairs = [
            ("nodes", then.nodes as f64, now.nodes as f64),
            ("edges", then.edges as f64, now.edges as f64),
            ("random edges", then.random_edges as f64, now.random_edges as f64),
            ("level-based edges", then.level_edges as f64, now.level_edges as f64),
            ("levels", then.levels as f64, now.levels as f64),
            ("nodes in its smallest level", then.least_nodes_per_level as f64, now.least_nodes_per_level as f64),
            ("nodes in its largest level", then.most_nodes_per_level as f64, now.most_nodes_per_level as f64),
            ("edges a node", then.average_degree, now.average_degree),
            ("colocated nodes", then.colocated_nodes as f64, now.colocated_nodes as f64),
            ("colocation groups", then.colocation_groups as f64, now.colocation_groups as f64),
        ];
        for (what, expected, found) in pairs {
            if expected != found {
                return Err(ManifestError::Count {
                    what,
                    expected,
                    found,
                    made_by: self.version.clone(),
                    this: VERSION,
                });
            }
        }
        self.check_graph(&made.graph)
    }

    /// Compares a graph, read from a file say, with the manifest.
    ///
    /// # Errors
    /// If its content has another hash.
    pub fn check_graph(&self, graph: &DataflowGraph) -> Result<(), ManifestError> {
        let found = graph_sha256(graph);
        if found == self.sha256 {
            return Ok(());
        }
        let (expected, made_by) = (self.sha256.clone(), self.version.clone());
        Err(ManifestError::Content { expected, found, made_by, this: VERSION })
    }
}

/// Seeds are any 64 bits, TOML's integers 63.
pub(crate) mod seed {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Seed {
        Number(i64),
        Text(String),
    }

    pub(crate) fn serialize<S: Serializer>(seed: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        i64::try_from(*seed).map_or_else(|_| Seed::Text(seed.to_string()), Seed::Number).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let wrong = |text: String| D::Error::custom(format!("the seed is {text}, but must be an integer in [0, 2^64)"));
        match Seed::deserialize(deserializer)? {
            Seed::Number(number) => u64::try_from(number).map_err(|_| wrong(number.to_string())),
            Seed::Text(text) => text.parse().map_err(|_| wrong(format!("'{text}'"))),
        }
    }
}
