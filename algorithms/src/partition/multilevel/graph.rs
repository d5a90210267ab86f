//! The working graph: rows with narrow weights, so that more of them fit into a cache.

use std::borrow::Cow;
use std::ops::Range;

use placebench_datasets::{Numbers, UndirectedGraph};
use rayon::prelude::*;

/// A weight of a vertex or edge, as narrow as the graph's totals permit.
pub(crate) trait Weight: Copy + Ord + Default + Send + Sync + std::fmt::Debug + 'static {
    /// Weight 1.
    const ONE: Self;
    /// From a wide number that is known to fit.
    fn narrow(wide: i64) -> Self;
    /// As a wide number.
    fn wide(self) -> i64;
    /// The numbers as they lie in memory, if they are of this width.
    fn borrow(numbers: Numbers<'_>) -> Option<&[Self]>;
}

impl Weight for u32 {
    const ONE: Self = 1;

    #[inline]
    fn narrow(wide: i64) -> Self {
        wide as u32
    }

    #[inline]
    fn wide(self) -> i64 {
        i64::from(self)
    }

    fn borrow(numbers: Numbers<'_>) -> Option<&[Self]> {
        match numbers {
            Numbers::Narrow(numbers) => Some(numbers),
            Numbers::Wide(_) => None,
        }
    }
}

impl Weight for u64 {
    const ONE: Self = 1;

    #[inline]
    fn narrow(wide: i64) -> Self {
        wide as u64
    }

    #[inline]
    fn wide(self) -> i64 {
        self as i64
    }

    fn borrow(numbers: Numbers<'_>) -> Option<&[Self]> {
        match numbers {
            Numbers::Narrow(_) => None,
            Numbers::Wide(numbers) => Some(numbers),
        }
    }
}

/// Divides weights by a power of two where their totals would not fit into 61 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    vertex_shift: u32,
    edge_shift: u32,
    narrow: bool,
}

impl Scale {
    pub(crate) fn of(graph: &UndirectedGraph) -> Self {
        let (vertices, edges) = (graph.total_vertex_weight(), graph.total_edge_weight());
        // Rounding up adds less than one to each weight.
        let shift = |total: u64| (u64::BITS - total.leading_zeros()).saturating_sub(60);
        let narrow = vertices <= u64::from(u32::MAX) && edges <= u64::from(u32::MAX) / 2;
        Self { vertex_shift: shift(vertices), edge_shift: shift(edges), narrow }
    }

    /// Whether 32 bits hold all totals.
    pub(crate) fn is_narrow(self) -> bool {
        self.narrow
    }

    pub(crate) fn vertex(self, weight: u64) -> i64 {
        weight.div_ceil(1 << self.vertex_shift) as i64
    }

    pub(crate) fn edge(self, weight: u64) -> i64 {
        weight.div_ceil(1 << self.edge_shift) as i64
    }

    /// The weights of all vertices, those of the original where they need no copy; none if all are 1.
    pub(crate) fn vertices<W: Weight>(self, weights: Option<Numbers<'_>>) -> Cow<'_, [W]> {
        scaled(weights, self.vertex_shift, |weight| self.vertex(weight))
    }

    /// As [`Scale::vertices`] for the weights of all entries.
    pub(crate) fn edges<W: Weight>(self, weights: Option<Numbers<'_>>) -> Cow<'_, [W]> {
        scaled(weights, self.edge_shift, |weight| self.edge(weight))
    }

    /// Rounded down, so that what fits in scaled weights fits in true ones.
    pub(crate) fn cap(self, capacity: u64) -> i64 {
        (capacity >> self.vertex_shift).min(1 << 62) as i64
    }
}

/// Vertices that a thread deals with in one go.
const STRETCH: usize = 8192;

fn scaled<W: Weight>(weights: Option<Numbers<'_>>, shift: u32, scale: impl Fn(u64) -> i64) -> Cow<'_, [W]> {
    let Some(weights) = weights else { return Cow::Borrowed(&[]) };
    match W::borrow(weights) {
        Some(same) if shift == 0 => Cow::Borrowed(same),
        _ => weights.iter().map(|weight| W::narrow(scale(weight))).collect(),
    }
}

/// An undirected graph in compressed sparse rows, borrowed as far as another one has them like this. Rows need not be sorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph<'a, W: Weight> {
    /// Where each vertex's row begins, and the end of the last.
    pub(crate) offsets: Cow<'a, [u32]>,
    pub(crate) neighbours: Cow<'a, [u32]>,
    /// Parallel to `neighbours`; empty if all are 1.
    pub(crate) edge_weights: Cow<'a, [W]>,
    /// Empty if all are 1.
    pub(crate) vertex_weights: Cow<'a, [W]>,
    /// Parallel to `neighbours`, where directions matter: [`LATER`] and [`EARLIER`], both for an edge that was merged of
    /// some in either direction. Else empty.
    pub(crate) directions: Vec<u8>,
}

/// The edge leads to the neighbour.
pub(crate) const LATER: u8 = 1;
/// The edge comes from the neighbour.
pub(crate) const EARLIER: u8 = 2;

impl<W: Weight> Graph<'_, W> {
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
    pub(crate) fn edges(&self, vertex: u32) -> impl ExactSizeIterator<Item = (u32, W)> + '_ {
        let row = self.row(vertex);
        let weights = if self.edge_weights.is_empty() { None } else { Some(&self.edge_weights[row.clone()]) };
        let neighbours = &self.neighbours[row];
        neighbours.iter().enumerate().map(move |(at, &n)| (n, weights.map_or(W::ONE, |weights| weights[at])))
    }

    #[inline]
    pub(crate) fn weight(&self, vertex: u32) -> i64 {
        if self.vertex_weights.is_empty() { 1 } else { self.vertex_weights[vertex as usize].wide() }
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
        if self.vertex_weights.is_empty() {
            self.len() as i64
        } else {
            self.vertex_weights.iter().map(|weight| weight.wide()).sum()
        }
    }

    /// Sum of the weights of the edges between blocks.
    pub(crate) fn cut(&self, block_of: &[u32]) -> i64 {
        let twice = self.vertices().map(|vertex| {
            let own = block_of[vertex as usize];
            let foreign = self.edges(vertex).filter(|&(n, _)| block_of[n as usize] != own);
            foreign.map(|(_, weight)| weight.wide()).sum::<i64>()
        });
        twice.sum::<i64>() / 2
    }

    /// The subgraph of the vertices that `members` lists; `index` says where each of them is in that list.
    pub(crate) fn induced(&self, members: &[u32], index: &[u32], inside: impl Fn(u32) -> bool) -> Graph<'static, W> {
        let mut offsets = Vec::with_capacity(members.len() + 1);
        offsets.push(0);
        let (mut neighbours, mut edge_weights, mut vertex_weights) = (Vec::new(), Vec::new(), Vec::new());
        for &vertex in members {
            for (neighbour, weight) in self.edges(vertex) {
                if inside(neighbour) {
                    neighbours.push(index[neighbour as usize]);
                    if !self.edge_weights.is_empty() {
                        edge_weights.push(weight);
                    }
                }
            }
            if !self.vertex_weights.is_empty() {
                vertex_weights.push(self.vertex_weights[vertex as usize]);
            }
            offsets.push(neighbours.len() as u32);
        }
        Graph {
            offsets: offsets.into(),
            neighbours: neighbours.into(),
            edge_weights: edge_weights.into(),
            vertex_weights: vertex_weights.into(),
            directions: Vec::new(),
        }
    }
}

#[cfg(test)]
impl Graph<'static, u32> {
    /// The graph of rows of neighbours and edge weights, whose vertices all weigh 1.
    pub(crate) fn of_rows(rows: &[Vec<(u32, u32)>]) -> Self {
        let ends = rows.iter().scan(0, |end, row| {
            *end += row.len() as u32;
            Some(*end)
        });
        Self {
            offsets: std::iter::once(0).chain(ends).collect(),
            neighbours: rows.iter().flatten().map(|&(neighbour, _)| neighbour).collect(),
            edge_weights: rows.iter().flatten().map(|&(_, weight)| weight).collect(),
            ..Self::default()
        }
    }
}
