//! The working graph: rows with narrow weights, so that more of them fit into a cache.

use std::borrow::Cow;
use std::ops::Range;

/// A weight of a vertex or edge, as narrow as the graph's totals permit.
pub(crate) trait Weight: Copy + Ord + Default + Send + Sync + std::fmt::Debug + 'static {
    /// Weight 1.
    const ONE: Self;
    /// From a wide number that is known to fit.
    fn narrow(wide: i64) -> Self;
    /// As a wide number.
    fn wide(self) -> i64;
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
}

/// An undirected graph in compressed sparse rows. Rows need not be sorted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph<'a, W: Weight> {
    /// Where each vertex's row begins, and the end of the last.
    pub(crate) offsets: Vec<u32>,
    pub(crate) neighbours: Cow<'a, [u32]>,
    /// Parallel to `neighbours`; empty if all are 1.
    pub(crate) edge_weights: Vec<W>,
    /// Empty if all are 1.
    pub(crate) vertex_weights: Vec<W>,
}

impl<W: Weight> Graph<'_, W> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
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

    pub(crate) fn total_weight(&self) -> i64 {
        if self.vertex_weights.is_empty() {
            self.len() as i64
        } else {
            self.vertex_weights.iter().map(|weight| weight.wide()).sum()
        }
    }

    /// Sum of the weights of the edges between blocks.
    pub(crate) fn cut(&self, block_of: &[u32]) -> i64 {
        let mut twice = 0;
        for vertex in 0..self.len() as u32 {
            let own = block_of[vertex as usize];
            let foreign = self.edges(vertex).filter(|&(n, _)| block_of[n as usize] != own);
            twice += foreign.map(|(_, weight)| weight.wide()).sum::<i64>();
        }
        twice / 2
    }

    /// The subgraph of the vertices that `members` lists; `index` says where each of them is in that list.
    pub(crate) fn induced(&self, members: &[u32], index: &[u32], inside: impl Fn(u32) -> bool) -> Graph<'static, W> {
        let mut sub = Graph { offsets: Vec::with_capacity(members.len() + 1), ..Graph::default() };
        sub.offsets.push(0);
        let mut neighbours = Vec::new();
        for &vertex in members {
            for (neighbour, weight) in self.edges(vertex) {
                if inside(neighbour) {
                    neighbours.push(index[neighbour as usize]);
                    if !self.edge_weights.is_empty() {
                        sub.edge_weights.push(weight);
                    }
                }
            }
            if !self.vertex_weights.is_empty() {
                sub.vertex_weights.push(self.vertex_weights[vertex as usize]);
            }
            sub.offsets.push(neighbours.len() as u32);
        }
        sub.neighbours = Cow::Owned(neighbours);
        sub
    }
}
