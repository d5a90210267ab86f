//! What B leaves open about the coarse graph: what a vertex weighs, and whether parallel edges count one by one.

use crate::{Named, Params, SpecError};

/// What a vertex weighs where loads are balanced.
///
/// B §4.1 treats colocated ops "as single operations", which is [`Weight::One`]; B §4.3 counts the nodes on a device, and a
/// group that is placed is all its nodes, which is [`Weight::Ops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// The number of its ops.
    Ops,
    /// 1, however many ops it has.
    One,
}

impl Named for Weight {
    const NAMES: &'static [(&'static str, Self)] = &[("ops", Self::Ops), ("one", Self::One)];
}

impl Weight {
    /// The parameter `vertex`.
    pub(in crate::placers) fn param(params: &mut Params) -> Result<Self, SpecError> {
        params.word("vertex", Self::Ops, "what a cell or colocation group weighs: ops (as many as it has) or one")
    }
}

/// Which edges of the coarse graph contraction draws from.
///
/// B §4.1 says that whatever had a connection with a colocated node has "a connection" with its group afterwards: one edge,
/// or as many as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edges {
    /// Every edge of the graph between two vertices.
    Parallel,
    /// One edge between two vertices, whatever its direction and however many there are in the graph; nor has contraction
    /// ever more than one between two supernodes.
    Simple,
}

impl Named for Edges {
    const NAMES: &'static [(&'static str, Self)] = &[("parallel", Self::Parallel), ("simple", Self::Simple)];
}

impl Edges {
    /// The parameter `edges`.
    pub(in crate::placers) fn param(params: &mut Params) -> Result<Self, SpecError> {
        let doc = "edges between cells or groups: parallel (each is drawn and counted) or simple (one a pair)";
        params.word("edges", Self::Parallel, doc)
    }

    /// The edges that count.
    ///
    /// # Complexity
    /// O(edges · log edges) for simple ones, else O(edges).
    pub(in crate::placers) fn of(self, edges: impl Iterator<Item = (u32, u32)>) -> Vec<(u32, u32)> {
        match self {
            Self::Parallel => edges.collect(),
            Self::Simple => {
                let mut pairs: Vec<_> = edges.map(|(from, to)| (from.min(to), from.max(to))).collect();
                pairs.sort_unstable();
                pairs.dedup();
                pairs
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simple_edges_are_one_a_pair_in_either_direction() {
        let edges = [(2, 1), (0, 1), (1, 2), (0, 1)];
        assert_eq!(Edges::Parallel.of(edges.into_iter()), edges);
        assert_eq!(Edges::Simple.of(edges.into_iter()), [(0, 1), (1, 2)]);
    }
}
