//! The weights of vertices or edges: stored in 32 bits where these hold their sum, else in 64, and used as `i64`.

use std::borrow::Cow;

use placebench_datasets::{Hypergraph, Numbers, UndirectedGraph};
use rayon::prelude::*;

/// Bits that hold the sum of all edge weights. The rest of a 64-bit word names a block.
const EDGE_WEIGHT_BITS: u32 = 43;

/// The bits that are left to name a block.
pub(crate) const BLOCK_BITS: u32 = u64::BITS - EDGE_WEIGHT_BITS;

/// A partition has at most this many blocks.
pub(crate) const MOST_BLOCKS: u32 = 1 << BLOCK_BITS;

/// Bits that hold the sum of all vertex weights.
const VERTEX_WEIGHT_BITS: u32 = 61;

/// Numbers that a thread copies at a time.
const LONG: usize = 65_536;

/// A list of weights.
#[derive(Clone, Debug, Default)]
pub(crate) enum Weights<'a> {
    /// All are 1, however many there are.
    #[default]
    Ones,
    /// 32 bits hold the sum of all.
    Narrow(Cow<'a, [u32]>),
    /// 64 bits hold the sum of all.
    Wide(Cow<'a, [u64]>),
}

impl<'a> Weights<'a> {
    /// The weights of a graph divided by 2^`shift` and rounded up; `total` is their sum before. Borrows them if it can.
    fn scaled(weights: Option<Numbers<'a>>, total: u64, shift: u32) -> Self {
        // Sums of the two ends of edges have room, too.
        let is_narrow = total <= u64::from(u32::MAX) / 2;
        match weights {
            None => Self::Ones,
            Some(Numbers::Narrow(weights)) if is_narrow => Self::Narrow(Cow::Borrowed(weights)),
            Some(Numbers::Wide(weights)) if !is_narrow && shift == 0 => Self::Wide(Cow::Borrowed(weights)),
            Some(weights) if is_narrow => Self::Narrow(weights.iter().map(|weight| weight as u32).collect()),
            Some(weights) => Self::Wide(weights.iter().map(|weight| weight.div_ceil(1 << shift)).collect()),
        }
    }

    pub(crate) fn is_ones(&self) -> bool {
        matches!(self, Self::Ones)
    }

    /// Some of the weights, as they are stored; `None` if all are 1.
    #[inline]
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Option<Numbers<'_>> {
        match self {
            Self::Ones => None,
            Self::Narrow(weights) => Some(Numbers::Narrow(&weights[range])),
            Self::Wide(weights) => Some(Numbers::Wide(&weights[range])),
        }
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> i64 {
        match self {
            Self::Ones => 1,
            Self::Narrow(weights) => i64::from(weights[at]),
            Self::Wide(weights) => weights[at] as i64,
        }
    }

    pub(crate) fn set(&mut self, at: usize, weight: i64) {
        match self {
            Self::Ones => {}
            Self::Narrow(weights) => weights.to_mut()[at] = weight as u32,
            Self::Wide(weights) => weights.to_mut()[at] = weight as u64,
        }
    }

    /// The same list, borrowed from nobody.
    pub(crate) fn into_owned(self) -> Weights<'static> {
        match self {
            Self::Ones => Weights::Ones,
            Self::Narrow(weights) => Weights::Narrow(weights.into_owned().into()),
            Self::Wide(weights) => Weights::Wide(weights.into_owned().into()),
        }
    }

    /// An empty list for some of these weights.
    pub(crate) fn none_of(&self) -> Weights<'static> {
        match self {
            Self::Ones => Weights::Ones,
            Self::Narrow(_) => Weights::Narrow(Cow::default()),
            Self::Wide(_) => Weights::Wide(Cow::default()),
        }
    }

    /// An empty list for sums of these weights.
    pub(crate) fn no_sums_of(&self, capacity: usize) -> Weights<'static> {
        match self {
            Self::Ones | Self::Narrow(_) => Weights::Narrow(Vec::with_capacity(capacity).into()),
            Self::Wide(_) => Weights::Wide(Vec::with_capacity(capacity).into()),
        }
    }

    /// Adds a weight to the list; a list of ones takes nothing else.
    #[inline]
    pub(crate) fn push(&mut self, weight: i64) {
        match self {
            Self::Ones => {}
            Self::Narrow(weights) => weights.to_mut().push(weight as u32),
            Self::Wide(weights) => weights.to_mut().push(weight as u64),
        }
    }

    /// Adds several weights to the list.
    pub(crate) fn extend(&mut self, others: &[i64]) {
        match self {
            Self::Ones => {}
            Self::Narrow(weights) => weights.to_mut().extend(others.iter().map(|&weight| weight as u32)),
            Self::Wide(weights) => weights.to_mut().extend(others.iter().map(|&weight| weight as u64)),
        }
    }

    /// Adds another list, stored alike, to this one.
    pub(crate) fn append(&mut self, other: &Weights<'_>) {
        match (self, other) {
            (Self::Narrow(weights), Weights::Narrow(others)) => append(weights.to_mut(), others),
            (Self::Wide(weights), Weights::Wide(others)) => append(weights.to_mut(), others),
            _ => {}
        }
    }

    pub(crate) fn shrink_to_fit(&mut self) {
        match self {
            Self::Ones => {}
            Self::Narrow(weights) => weights.to_mut().shrink_to_fit(),
            Self::Wide(weights) => weights.to_mut().shrink_to_fit(),
        }
    }
}

#[cfg(test)]
impl From<Vec<u32>> for Weights<'static> {
    fn from(weights: Vec<u32>) -> Self {
        Self::Narrow(weights.into())
    }
}

/// Copies numbers to the end of a list. Threads share the work, since the pages are new.
pub(crate) fn append<T: Copy + Send + Sync>(numbers: &mut Vec<T>, others: &[T]) {
    numbers.par_extend(others.par_iter().with_min_len(LONG).copied());
}

/// By how many bits weights are shifted so that their sum takes fewer than `bits`. One bit is left over, since rounding
/// up adds less than one to each weight.
fn shift(total: u64, bits: u32) -> u32 {
    (u64::BITS - total.leading_zeros()).saturating_sub(bits - 1)
}

/// Divides weights by powers of two where their sums would need too many bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    vertex_shift: u32,
    edge_shift: u32,
}

impl Scale {
    pub(crate) fn of(graph: &UndirectedGraph) -> Self {
        Self {
            vertex_shift: shift(graph.total_vertex_weight(), VERTEX_WEIGHT_BITS),
            edge_shift: shift(graph.total_edge_weight(), EDGE_WEIGHT_BITS),
        }
    }

    /// The scale of a graph's vertices and of nets.
    pub(crate) fn with_nets(self, nets: &Hypergraph) -> Self {
        let total = (0..nets.net_count()).fold(0u64, |sum, net| sum.saturating_add(nets.net_weight(net)));
        Self { edge_shift: shift(total, EDGE_WEIGHT_BITS), ..self }
    }

    /// Of an edge or a net.
    pub(crate) fn edge(self, weight: u64) -> i64 {
        weight.div_ceil(1 << self.edge_shift) as i64
    }

    pub(crate) fn vertex(self, weight: u64) -> i64 {
        weight.div_ceil(1 << self.vertex_shift) as i64
    }

    pub(crate) fn vertices(self, graph: &UndirectedGraph) -> Weights<'_> {
        Weights::scaled(graph.vertex_weights(), graph.total_vertex_weight(), self.vertex_shift)
    }

    pub(crate) fn edges(self, graph: &UndirectedGraph) -> Weights<'_> {
        Weights::scaled(graph.edge_weights(), graph.total_edge_weight(), self.edge_shift)
    }

    /// What a block may weigh, rounded down: what fits in scaled weights then fits in true ones.
    pub(crate) fn capacity(self, capacity: u64) -> i64 {
        (capacity >> self.vertex_shift).min(1 << 62) as i64
    }
}
