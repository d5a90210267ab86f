//! G(n, m): every simple graph of n vertices and m edges is equally likely.

use std::ops::Range;

use placebench_base::process::check_memory;
use placebench_datasets::UndirectedGraph;
use serde::{Deserialize, Serialize};

use super::{CHUNK, ChunkScratch, EdgeChunks, Sheet, all_edges, first_edges};
use crate::error::GeneratorError;
use crate::pairs::{draw_distinct, key};
use crate::random::{Purpose, pair_below, stream};
use crate::split::split_exactly;
use crate::stream::tally::Counter;

/// Parameters of G(n, m).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GnmParams {
    /// Number of vertices, n.
    pub vertices: u32,
    /// Number of edges, m.
    pub edges: u64,
    /// Whether edges have a direction; there may then be one each way between two vertices.
    pub directed: bool,
}

impl Default for GnmParams {
    /// 2¹⁸ vertices of mean degree 16.
    fn default() -> Self {
        Self { vertices: 1 << 18, edges: 1 << 21, directed: false }
    }
}

impl GnmParams {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If there is no vertex, or more edges than pairs of vertices.
    pub fn check(&self) -> Result<(), GeneratorError> {
        if self.vertices == 0 || self.vertices == u32::MAX {
            return Err(GeneratorError::bad("vertices", self.vertices, format!("from 1 to {}", u32::MAX - 1)));
        }
        let possible = self.pairs(&(0..self.vertices));
        if self.edges > possible {
            return Err(GeneratorError::bad("edges", self.edges, format!("at most {possible}, the pairs of vertices")));
        }
        Ok(())
    }

    /// Pairs that may get an edge and whose row is in the range. A row is a source, or the larger end.
    fn pairs(&self, rows: &Range<u32>) -> u64 {
        let below = |row: u32| match self.directed {
            true => u64::from(row) * u64::from(self.vertices - 1),
            false => u64::from(row) * u64::from(row.saturating_sub(1)) / 2,
        };
        below(rows.end) - below(rows.start)
    }
}

/// The plan of a G(n, m): chunks of consecutive rows of the adjacency matrix (of its lower triangle, if undirected) with
/// about 2¹⁶ edges each, whose numbers are a multivariate hypergeometric draw.
///
/// # Memory
/// 12 bytes a chunk.
#[derive(Clone, Debug)]
pub struct GnmChunks {
    params: GnmParams,
    seed: u64,
    /// First row of each chunk, and the number of rows.
    first_row: Vec<u32>,
    first_edge: Vec<u64>,
}

impl GnmChunks {
    /// Draws the number of edges of each chunk.
    ///
    /// # Errors
    /// As [`GnmParams::check`].
    ///
    /// # Complexity
    /// O(m / 2⁸): the root of its size for each chunk.
    pub fn new(params: &GnmParams, seed: u64) -> Result<Self, GeneratorError> {
        params.check()?;
        let rows = params.vertices;
        let chunks = params.edges.div_ceil(CHUNK).clamp(1, rows.into());
        let bound = |chunk: u64| match params.directed {
            true => (u128::from(chunk) * u128::from(rows) / u128::from(chunks)) as u32,
            // Rows up to √share of all have that share of the pairs.
            false => (f64::from(rows) * (chunk as f64 / chunks as f64).sqrt()) as u32,
        };
        let mut first_row: Vec<u32> = (0..chunks).map(bound).chain([rows]).collect();
        first_row.dedup();
        let pairs: Vec<u64> = first_row.windows(2).map(|ends| params.pairs(&(ends[0]..ends[1]))).collect();
        let rng = &mut stream(seed, Purpose::GnmCounts, 0);
        let counts = split_exactly(rng, "edges", params.edges, &pairs)?;
        Ok(Self { params: *params, seed, first_row, first_edge: first_edges(counts) })
    }
}

impl EdgeChunks for GnmChunks {
    fn vertex_count(&self) -> u32 {
        self.params.vertices
    }

    fn first_edges(&self) -> &[u64] {
        &self.first_edge
    }

    fn append(&self, chunk: usize, scratch: &mut ChunkScratch, edges: &mut Vec<(u32, u32)>, sheet: &mut Sheet) {
        let rows = self.first_row[chunk]..self.first_row[chunk + 1];
        let count = (self.first_edge[chunk + 1] - self.first_edge[chunk]) as usize;
        let GnmParams { vertices, directed, .. } = self.params;
        let rng = &mut stream(self.seed, Purpose::GnmEdges, chunk as u64);
        // Columns: all vertices but the row's own, or all below the row.
        let columns = if directed { vertices - 1 } else { rows.end - 1 };
        let mut draw = || loop {
            let (row, column) = pair_below(rng, rows.end - rows.start, columns);
            if directed || column < rows.start + row {
                return (row, column);
            }
        };
        let edge = |row: u32, column: u32| match directed {
            true => (row, column + u32::from(column >= row)),
            false => (column, row),
        };
        edges.reserve(count);
        let mut degrees = Counter::new();
        let available = self.params.pairs(&rows);
        let (few, many_rows) = (count as u64 <= available / 2, rows.len() > 4 * count);
        if count > 0 && few && !many_rows {
            scratch.ends.resize(rows.len(), 0);
            scratch.columns.resize(count, 0);
            scratch.rows.draw(|_| draw(), &mut scratch.ends, &mut scratch.columns);
            let mut from = 0;
            for (row, &end) in rows.clone().zip(&scratch.ends) {
                edges.extend(scratch.columns[from..end as usize].iter().map(|&column| edge(row, column)));
                degrees.count(end as u64 - from as u64);
                from = end as usize;
            }
        } else {
            let all = || {
                let end = |row: u32| if directed { columns } else { row };
                rows.clone().flat_map(move |row| (0..end(row)).map(move |column| (row, column)))
            };
            let first = rows.start;
            let pairs = draw_distinct(
                count,
                available,
                &[],
                || {
                    let (row, column) = draw();
                    key(row, column)
                },
                || all().map(|(row, column)| key(row - first, column)),
            );
            edges.extend(pairs.iter().map(|&pair| edge(first + (pair >> 32) as u32, pair as u32)));
            let runs = pairs.chunk_by(|a, b| a >> 32 == b >> 32);
            let with_edges = runs.map(|run| degrees.count(run.len() as u64)).count();
            degrees.count_zeros(rows.len() as u64 - with_edges as u64);
        }
        if directed {
            sheet.degrees.add(&degrees.tally());
        }
    }
}

/// An undirected G(n, m) in memory: the graph of [`GnmChunks`].
///
/// # Errors
/// If a parameter makes no sense, edges have directions, or the graph does not fit into memory.
///
/// # Complexity
/// O(n + m); parallel.
///
/// # Example
/// ```
/// use placebench_generator::{GnmParams, gnm};
///
/// let graph = gnm(&GnmParams { vertices: 1000, edges: 5000, directed: false }, 1).unwrap();
/// assert_eq!((graph.vertex_count(), graph.edge_count()), (1000, 5000));
/// ```
pub fn gnm(params: &GnmParams, seed: u64) -> Result<UndirectedGraph, GeneratorError> {
    let GnmParams { vertices, edges, directed } = *params;
    if directed {
        return Err(GeneratorError::bad("directed", true, "false, or the graph made with --stream"));
    }
    params.check()?;
    let parts = [(vertices.into(), 8), (edges, 16 + 16)];
    check_memory(&parts, || format!("a graph of {vertices} vertices and {edges} edges"))?;
    let edges = all_edges(&GnmChunks::new(params, seed)?);
    Ok(UndirectedGraph::from_edges(vertices as usize, edges.into_iter().map(|(a, b)| (a, b, 1)), None)?)
}
