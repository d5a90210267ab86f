//! What graphs can be streamed, by name.

use placebench_datasets::stream::EdgeFormat;
use serde::{Deserialize, Serialize};

use super::{ChunkScratch, EdgeChunks, GnmChunks, GnmParams, RmatChunks, RmatParams, Sheet};
use crate::error::GeneratorError;
use crate::leveled::{LeveledChunks, LeveledParams};

/// The parameters of a graph that can be streamed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "generator", content = "parameters", rename_all = "snake_case")]
pub enum StreamParams {
    /// A leveled random graph.
    Leveled(Box<LeveledParams>),
    /// G(n, m).
    Gnm(GnmParams),
    /// R-MAT.
    Rmat(RmatParams),
}

impl StreamParams {
    /// Draws the plan of the graph.
    ///
    /// # Errors
    /// If a parameter makes no sense, or the plan does not fit into memory.
    pub fn graph(&self, seed: u64) -> Result<StreamGraph, GeneratorError> {
        Ok(match self {
            Self::Leveled(params) => StreamGraph::Leveled(Box::new(LeveledChunks::new(params, seed)?)),
            Self::Gnm(params) => StreamGraph::Gnm(GnmChunks::new(params, seed)?),
            Self::Rmat(params) if !params.isolated => {
                return Err(GeneratorError::bad(
                    "isolated",
                    false,
                    "true: all edges must be known to number vertices anew",
                ));
            }
            Self::Rmat(params) => StreamGraph::Rmat(RmatChunks::new(params, seed)?),
        })
    }

    /// What an edge format keeps of the graph, for people: leveled graphs have ops, too.
    pub(super) fn has_ops(&self) -> bool {
        matches!(self, Self::Leveled(_))
    }
}

/// The plan of a graph that can be streamed.
#[derive(Clone, Debug)]
pub enum StreamGraph {
    /// A leveled random graph.
    Leveled(Box<LeveledChunks>),
    /// G(n, m).
    Gnm(GnmChunks),
    /// R-MAT.
    Rmat(RmatChunks),
}

impl StreamGraph {
    fn chunks(&self) -> &dyn EdgeChunks {
        match self {
            Self::Leveled(graph) => &**graph,
            Self::Gnm(graph) => graph,
            Self::Rmat(graph) => graph,
        }
    }
}

impl EdgeChunks for StreamGraph {
    fn vertex_count(&self) -> u32 {
        self.chunks().vertex_count()
    }

    fn first_edges(&self) -> &[u64] {
        self.chunks().first_edges()
    }

    fn append(&self, chunk: usize, scratch: &mut ChunkScratch, edges: &mut Vec<(u32, u32)>, sheet: &mut Sheet) {
        self.chunks().append(chunk, scratch, edges, sheet);
    }
}

/// An edge format as manifests name it.
pub(super) mod format_name {
    use super::EdgeFormat;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(in super::super) fn serialize<S: Serializer>(format: &EdgeFormat, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(format.name())
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EdgeFormat, D::Error> {
        EdgeFormat::named(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
