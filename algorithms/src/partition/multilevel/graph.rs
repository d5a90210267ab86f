//! The working graph: undirected, weighted, in compressed sparse rows.

use std::borrow::Cow;
use std::ops::Range;

use placebench_datasets::Numbers;
use rayon::prelude::*;

use super::weights::Weights;

/// Vertices that a thread takes at a time.
const STRETCH: usize = 8192;

/// An undirected graph in compressed sparse rows, borrowed as far as another one has them like this. Rows need not be sorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph<'a> {
    /// Where each vertex's row begins, and the end of the last.
    pub(crate) offsets: Cow<'a, [u32]>,
    pub(crate) neighbours: Cow<'a, [u32]>,
    /// Parallel to `neighbours`.
    pub(crate) edge_weights: Weights<'a>,
    pub(crate) vertex_weights: Weights<'a>,
    /// Parallel to `neighbours`, where directions matter: [`LATER`] and [`EARLIER`], both for an edge that was merged of
    /// some in either direction. Else empty.
    pub(crate) directions: Vec<u8>,
}

/// The edge leads to the neighbour.
pub(crate) const LATER: u8 = 1;
/// The edge comes from the neighbour.
pub(crate) const EARLIER: u8 = 2;

impl Graph<'_> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// All vertices, shared among threads.
    pub(crate) fn vertices(&self) -> impl IndexedParallelIterator<Item = u32> {
        (0..self.len() as u32).into_par_iter().with_min_len(STRETCH)
    }

    /// Number of row entries: twice the number of edges.
    #[inline]
    pub(crate) fn entries(&self) -> usize {
        self.neighbours.len()
    }

    #[inline]
    pub(crate) fn row(&self, vertex: u32) -> Range<usize> {
        self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize
    }

    #[inline]
    pub(crate) fn degree(&self, vertex: u32) -> usize {
        self.row(vertex).len()
    }

    #[inline]
    pub(crate) fn neighbours(&self, vertex: u32) -> &[u32] {
        &self.neighbours[self.row(vertex)]
    }

    #[inline]
    pub(crate) fn edges(&self, vertex: u32) -> impl ExactSizeIterator<Item = (u32, i64)> + '_ {
        let row = self.row(vertex);
        let weights = self.edge_weights.slice(row.clone());
        let neighbours = &self.neighbours[row];
        let weight = move |at: usize| match weights {
            None => 1,
            Some(Numbers::Narrow(weights)) => i64::from(weights[at]),
            Some(Numbers::Wide(weights)) => weights[at] as i64,
        };
        neighbours.iter().enumerate().map(move |(at, &neighbour)| (neighbour, weight(at)))
    }

    /// Calls `visit` with each neighbour and the weight of the edge to it: faster than a loop over [`Graph::edges`].
    #[inline]
    pub(crate) fn for_each_edge(&self, vertex: u32, mut visit: impl FnMut(u32, i64)) {
        let row = self.row(vertex);
        let neighbours = &self.neighbours[row.clone()];
        match self.edge_weights.slice(row) {
            None => neighbours.iter().for_each(|&neighbour| visit(neighbour, 1)),
            Some(Numbers::Narrow(weights)) => {
                neighbours.iter().zip(weights).for_each(|(&neighbour, &weight)| visit(neighbour, i64::from(weight)));
            }
            Some(Numbers::Wide(weights)) => {
                neighbours.iter().zip(weights).for_each(|(&neighbour, &weight)| visit(neighbour, weight as i64));
            }
        }
    }

    #[inline]
    pub(crate) fn weight(&self, vertex: u32) -> i64 {
        self.vertex_weights.get(vertex as usize)
    }

    /// Whether vertices of more than eight times the mean degree have a tenth of the edges.
    pub(crate) fn has_hubs(&self) -> bool {
        let mean = self.entries() / self.len().max(1);
        let hubs = self.vertices().filter(|&vertex| self.degree(vertex) > 8 * (mean + 1));
        hubs.map(|vertex| self.degree(vertex)).sum::<usize>() * 10 >= self.entries().max(1)
    }

    /// Whether edges are so short, in the order of the vertices, that the graph is longer than wide even in each of k
    /// slices: the mean square of their lengths is at most a block's number of vertices.
    pub(crate) fn is_strip(&self, blocks: usize) -> bool {
        let squares = self.vertices().map(|vertex| {
            let lengths = self.neighbours(vertex).iter().map(|&neighbour| u64::from(neighbour.abs_diff(vertex)));
            lengths.map(|length| u128::from(length * length)).sum::<u128>()
        });
        squares.sum::<u128>() * blocks as u128 <= self.len() as u128 * self.entries() as u128
    }

    /// The first and the last block that the vertex may be in, if edges must lead to the same or a later block.
    #[inline]
    pub(crate) fn window(&self, vertex: u32, block_of: impl Fn(u32) -> u32) -> (u32, u32) {
        let (mut first, mut last) = (0, u32::MAX);
        if self.directions.is_empty() {
            return (first, last);
        }
        let row = self.row(vertex);
        for (&neighbour, &direction) in self.neighbours[row.clone()].iter().zip(&self.directions[row]) {
            let block = block_of(neighbour);
            if direction & EARLIER != 0 {
                first = first.max(block);
            }
            if direction & LATER != 0 {
                last = last.min(block);
            }
        }
        (first, last)
    }

    pub(crate) fn total_weight(&self) -> i64 {
        (0..self.len() as u32).map(|vertex| self.weight(vertex)).sum()
    }

    /// What each block weighs.
    pub(crate) fn block_weights(&self, block_of: &[u32], blocks: usize) -> Vec<i64> {
        let mut weights = vec![0; blocks];
        for (vertex, &block) in (0..).zip(block_of) {
            weights[block as usize] += self.weight(vertex);
        }
        weights
    }

    /// Sum of the weights of the edges between blocks.
    pub(crate) fn cut(&self, block_of: &[u32]) -> i64 {
        let twice = self.vertices().map(|vertex| {
            let own = block_of[vertex as usize];
            let mut foreign = 0;
            self.for_each_edge(vertex, |n, weight| foreign += if block_of[n as usize] == own { 0 } else { weight });
            foreign
        });
        twice.sum::<i64>() / 2
    }

    /// The subgraph of the vertices that `members` lists; `index` says where each of them is in that list.
    pub(crate) fn induced(&self, members: &[u32], index: &[u32], inside: impl Fn(u32) -> bool) -> Graph<'static> {
        let mut offsets = Vec::with_capacity(members.len() + 1);
        offsets.push(0);
        let mut neighbours = Vec::new();
        let (mut edge_weights, mut vertex_weights) = (self.edge_weights.none_of(), self.vertex_weights.none_of());
        for &vertex in members {
            for (neighbour, weight) in self.edges(vertex) {
                if inside(neighbour) {
                    neighbours.push(index[neighbour as usize]);
                    edge_weights.push(weight);
                }
            }
            vertex_weights.push(self.weight(vertex));
            offsets.push(neighbours.len() as u32);
        }
        Graph {
            offsets: offsets.into(),
            neighbours: neighbours.into(),
            edge_weights,
            vertex_weights,
            directions: Vec::new(),
        }
    }
}

#[cfg(test)]
impl Graph<'static> {
    /// The graph of rows of neighbours and edge weights, whose vertices all weigh 1.
    pub(crate) fn of_rows(rows: &[Vec<(u32, u32)>]) -> Self {
        let ends = rows.iter().scan(0, |end, row| {
            *end += row.len() as u32;
            Some(*end)
        });
        Self {
            offsets: std::iter::once(0).chain(ends).collect(),
            neighbours: rows.iter().flatten().map(|&(neighbour, _)| neighbour).collect(),
            edge_weights: rows.iter().flatten().map(|&(_, weight)| weight).collect::<Vec<u32>>().into(),
            ..Self::default()
        }
    }

    /// A random graph of some 600 weighted edges on 200 vertices.
    pub(crate) fn tangle(seed: u64) -> Self {
        let mut random = super::random::Random::new(seed, 0);
        let mut rows: Vec<Vec<(u32, u32)>> = vec![Vec::new(); 200];
        for _ in 0..600 {
            let (a, b, weight) = (random.below(200), random.below(200), random.below(9) as u32);
            if a != b && rows[a].iter().all(|&(n, _)| n as usize != b) {
                rows[a].push((b as u32, weight));
                rows[b].push((a as u32, weight));
            }
        }
        let vertex_weights: Vec<u32> = (0..200).map(|_| 1 + random.below(4) as u32).collect();
        Self { vertex_weights: vertex_weights.into(), ..Self::of_rows(&rows) }
    }
}
