//! Graphs of any size, made chunk by chunk: each chunk of edges comes from a random stream of its own, so that it can be
//! made alone, on any thread or machine, and always comes out the same.
//!
//! | graph | chunk | plan |
//! |---|---|---|
//! | [`LeveledChunks`](crate::leveled::LeveledChunks) | the edges into some levels | sizes of levels, edges into each |
//! | [`GnmChunks`] | the edges of some vertices | hypergeometric numbers of edges |
//! | [`RmatChunks`] | the edges in a cell of the adjacency matrix | multinomial numbers of edges |
//!
//! [`Streamed`] writes them to disk, part by part.
//!
//! A plan draws the number of edges of every chunk first. So the place of each edge in the whole is known before it is
//! made, and a part is a range of chunks.
//!
//! # Reference
//! D. Funke, S. Lamm, U. Meyer, M. Penschuck, P. Sanders, C. Schulz, D. Strash, M. von Looz: Communication-free massively
//! distributed graph generation. J. Parallel Distrib. Comput. 131 (2019), 200–217, doi:10.1016/j.jpdc.2019.03.011 (IPDPS 2018).

mod folder;
mod gnm;
mod manifest;
mod params;
mod rmat;
pub(crate) mod tally;

use std::ops::Range;

pub use folder::{StreamError, Streamed};
pub use gnm::{GnmChunks, GnmParams, gnm};
pub use manifest::{PartSheet, StreamManifest, StreamProperties};
pub use params::{StreamGraph, StreamParams};
pub use rmat::{RmatChunks, RmatParams, rmat};
pub use tally::Tally;

use crate::pairs::Rows;
use rmat::Taken;

/// Edges that a chunk has, about: few enough to stay in the processor's caches, enough to make a chunk cheap to start.
pub(crate) const CHUNK: u64 = 1 << 16;

/// A graph whose edges are made chunk by chunk.
pub trait EdgeChunks: Sync {
    /// Number of vertices.
    fn vertex_count(&self) -> u32;

    /// Edges in all chunks before each, and in all: one number more than there are chunks.
    fn first_edges(&self) -> &[u64];

    /// Appends the edges of a chunk, and counts what its sheet says of them. Directed edges are (source, target), others
    /// (smaller, larger).
    ///
    /// # Panics
    /// If there is no such chunk.
    fn append(&self, chunk: usize, scratch: &mut ChunkScratch, edges: &mut Vec<(u32, u32)>, sheet: &mut Sheet);

    /// Number of edges.
    fn edge_count(&self) -> u64 {
        self.first_edges().last().copied().unwrap_or(0)
    }

    /// Number of chunks.
    fn chunk_count(&self) -> usize {
        self.first_edges().len() - 1
    }

    /// The chunks of a part, counted from 0, out of `parts` parts with about the same number of edges.
    fn part(&self, index: u32, parts: u32) -> Range<usize> {
        let edges = u128::from(self.edge_count());
        let starts = &self.first_edges()[..self.chunk_count()];
        let bound = |part: u32| match part == parts {
            true => starts.len(),
            false => starts.partition_point(|&edge| u128::from(edge) * u128::from(parts) < edges * u128::from(part)),
        };
        bound(index)..bound(index + 1)
    }
}

/// What is counted while edges are made. Sheets of parts add up to the sheet of the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Sheet {
    /// In-degrees of a leveled graph, out-degrees of a directed G(n, m); empty for others, whose vertices have edges in
    /// many chunks.
    #[serde(default, skip_serializing_if = "Tally::is_empty")]
    pub degrees: Tally,
    /// How many levels each edge spans.
    #[serde(default, skip_serializing_if = "Tally::is_empty")]
    pub spans: Tally,
}

impl Sheet {
    /// Adds the counts of another part.
    pub fn add(&mut self, other: &Self) {
        self.degrees.add(&other.degrees);
        self.spans.add(&other.spans);
    }
}

/// Buffers for making one chunk after another without allocating.
#[derive(Default)]
pub struct ChunkScratch {
    pub(crate) rows: Rows,
    pub(crate) ends: Vec<u32>,
    pub(crate) columns: Vec<u32>,
    pub(crate) levels: Vec<u32>,
    taken: Taken,
}

/// The chunks' first edges from their numbers of edges.
fn first_edges(counts: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut sum = 0;
    std::iter::once(0)
        .chain(counts.into_iter().map(|count| {
            sum += count;
            sum
        }))
        .collect()
}

/// All edges of a graph, made in parallel, in the order of chunks.
pub(crate) fn all_edges(graph: &impl EdgeChunks) -> Vec<(u32, u32)> {
    use rayon::prelude::*;
    let chunks: Vec<Vec<(u32, u32)>> = (0..graph.chunk_count())
        .into_par_iter()
        .map_init(ChunkScratch::default, |scratch, chunk| {
            let mut edges = Vec::new();
            graph.append(chunk, scratch, &mut edges, &mut Sheet::default());
            edges
        })
        .collect();
    chunks.concat()
}
