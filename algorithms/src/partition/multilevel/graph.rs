//! The working graph: undirected, weighted, in compressed sparse rows.

use std::borrow::Cow;
use std::ops::Range;

use placebench_datasets::Numbers;
use rayon::prelude::*;

use super::coarsening::communities::communities;
use super::coarsening::contraction::contract;
use super::refinement::gain_cache::{Connection, GainRow};
use super::refinement::partitioned_graph::PartitionedGraph;
use super::structure::{Pins, Structure};
use super::weights::Weights;
use crate::StopToken;

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
    /// The same graph, borrowed from nobody.
    pub(crate) fn into_owned(self) -> Graph<'static> {
        Graph {
            offsets: self.offsets.into_owned().into(),
            neighbours: self.neighbours.into_owned().into(),
            edge_weights: self.edge_weights.into_owned(),
            vertex_weights: self.vertex_weights.into_owned(),
            directions: self.directions,
        }
    }

    #[inline]
    pub(crate) fn row(&self, vertex: u32) -> Range<usize> {
        self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize
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
}

impl Structure for Graph<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Twice the number of edges.
    #[inline]
    fn entries(&self) -> usize {
        self.neighbours.len()
    }

    #[inline]
    fn weight(&self, vertex: u32) -> i64 {
        self.vertex_weights.get(vertex as usize)
    }

    #[inline]
    fn degree(&self, vertex: u32) -> usize {
        self.row(vertex).len()
    }

    fn is_even(&self) -> bool {
        self.edge_weights.is_ones()
    }

    #[inline]
    fn for_each_tie(&self, vertex: u32, visit: impl FnMut(u32, i64)) {
        self.for_each_edge(vertex, visit);
    }

    fn communities(&self, stop: &StopToken) -> Vec<u32> {
        communities(self, stop)
    }

    fn contract(&self, cluster_of: &[u32], clusters: usize) -> Self {
        contract(self, cluster_of, clusters)
    }

    fn induced(&self, members: &[u32], index: &[u32], inside: impl Fn(u32) -> bool) -> Self {
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

    /// Whether vertices of more than eight times the mean degree have a tenth of the edges.
    fn has_hubs(&self) -> bool {
        let mean = self.entries() / self.len().max(1);
        let hubs = self.vertices().filter(|&vertex| self.degree(vertex) > 8 * (mean + 1));
        hubs.map(|vertex| self.degree(vertex)).sum::<usize>() * 10 >= self.entries().max(1)
    }

    /// Whether edges are so short, in the order of the vertices, that the graph is longer than wide even in each of k
    /// slices: the mean square of their lengths is at most a block's number of vertices.
    fn is_strip(&self, blocks: usize) -> bool {
        let squares = self.vertices().map(|vertex| {
            let lengths = self.neighbours(vertex).iter().map(|&neighbour| u64::from(neighbour.abs_diff(vertex)));
            lengths.map(|length| u128::from(length * length)).sum::<u128>()
        });
        squares.sum::<u128>() * blocks as u128 <= self.len() as u128 * self.entries() as u128
    }

    fn cut(&self, block_of: &[u32]) -> i64 {
        let twice = self.vertices().map(|vertex| {
            let own = block_of[vertex as usize];
            let mut foreign = 0;
            self.for_each_edge(vertex, |n, weight| foreign += if block_of[n as usize] == own { 0 } else { weight });
            foreign
        });
        twice.sum::<i64>() / 2
    }

    fn known_cut(partition: &PartitionedGraph<'_, Self>) -> i64 {
        let foreign = |vertex: u32| {
            let own = partition.block_of[vertex as usize];
            let row = partition.known_row(vertex).unwrap_or_default();
            let foreign = row.iter().filter(move |connection| connection.block() != own);
            foreign.map(|connection| connection.weight()).sum::<i64>()
        };
        partition.graph.vertices().map(foreign).sum::<i64>() / 2
    }

    #[inline]
    fn is_directed(&self) -> bool {
        !self.directions.is_empty()
    }

    #[inline]
    fn window(&self, vertex: u32, block_of: impl Fn(u32) -> u32) -> (u32, u32) {
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

    #[inline]
    fn most_connections(&self, vertex: u32, blocks: usize) -> usize {
        self.degree(vertex).min(blocks)
    }

    fn whole_connection(&self, vertex: u32) -> i64 {
        self.edges(vertex).map(|(_, weight)| weight).sum()
    }

    #[inline]
    fn is_torn<'p>(&self, vertex: u32, block_of: &[u32], _: impl Fn(u32) -> &'p [Connection]) -> bool {
        let own = block_of[vertex as usize];
        self.neighbours(vertex).iter().any(|&n| block_of[n as usize] != own)
    }

    #[inline]
    fn connect<'p>(
        &self,
        vertex: u32,
        row: &mut GainRow<'_>,
        block_of: impl Fn(u32) -> u32,
        _: impl Fn(u32) -> &'p [Connection],
    ) {
        self.for_each_edge(vertex, |neighbour, weight| {
            row.raise(block_of(neighbour), weight);
        });
    }

    #[inline]
    fn for_each_change<P: Pins>(
        &self,
        pins: &mut P,
        vertex: u32,
        _: u32,
        _: u32,
        mut visit: impl FnMut(&mut P, u32, i64, i64),
    ) {
        self.for_each_edge(vertex, |neighbour, weight| visit(pins, neighbour, weight, weight));
    }

    fn cost_of_swap(partition: &PartitionedGraph<'_, Self>, one: u32, other: u32) -> i64 {
        let between = partition.graph.edges(one).filter(|&(neighbour, _)| neighbour == other);
        2 * between.map(|(_, weight)| weight).sum::<i64>()
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
