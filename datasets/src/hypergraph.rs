//! A hypergraph with weights on vertices and nets: what communication volume is counted on.

use crate::{UndirectedError, UndirectedGraph};

/// A hypergraph in compressed sparse rows: for each net its pins, ascending.
///
/// # Memory
/// 8 bytes a net, 4 a pin; with weights that are not all 1, 8 more a net and a vertex.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hypergraph {
    vertices: usize,
    /// Where each net's pins begin, and the end of the last.
    offsets: Vec<u64>,
    pins: Vec<u32>,
    /// `None` if all are 1.
    net_weights: Option<Vec<u64>>,
    /// `None` if all are 1.
    vertex_weights: Option<Vec<u64>>,
}

/// Why nets are no hypergraph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HypergraphError {
    /// Offsets must start at 0, not descend, and end at the number of pins.
    #[error("net {net} ends before it begins, or the last net does not end with the pins")]
    BadOffsets {
        /// The net.
        net: usize,
    },
    /// A pin does not exist.
    #[error("net {net} has the pin {pin}, but there are only {vertices} vertices (0 to {})", .vertices.saturating_sub(1))]
    UnknownVertex {
        /// The net.
        net: usize,
        /// The pin.
        pin: u32,
        /// Number of vertices.
        vertices: usize,
    },
    /// A list of weights has the wrong length.
    #[error("{found} {what} weights for {expected} of them")]
    WrongLength {
        /// `vertex` or `net`.
        what: &'static str,
        /// How many are given.
        found: usize,
        /// How many are needed.
        expected: usize,
    },
    /// More vertices than 32-bit ids can name.
    #[error("{vertices} vertices are more than 32-bit ids can name")]
    TooManyVertices {
        /// How many.
        vertices: usize,
    },
    /// The weights add up to more than 64 bits hold. A net counts (pins − 1) times, as if every vertex were a block.
    #[error("the {what} weights add up to more than 64 bits hold")]
    TotalOverflow {
        /// `vertex` or `net`.
        what: &'static str,
    },
}

/// Nets with more pins become rings in [`Hypergraph::to_graph`]: the number of pairs grows with the square of the pins.
const LARGEST_CLIQUE: usize = 32;

/// Each weight is multiplied by this before it is divided by (pins − 1): small divisors then leave no remainder.
const CLIQUE_SCALE: u64 = 60;

impl Hypergraph {
    /// A hypergraph from its nets: net `i` has the pins from `offsets[i]` to `offsets[i + 1]`, in any order; a repeated
    /// pin counts once. Weights that are left out are 1.
    ///
    /// # Errors
    /// The first reason why the nets are no hypergraph.
    ///
    /// # Complexity
    /// O(pins · log largest net + vertices).
    pub fn from_nets(
        vertices: usize,
        offsets: Vec<u64>,
        mut pins: Vec<u32>,
        net_weights: Option<Vec<u64>>,
        vertex_weights: Option<Vec<u64>>,
    ) -> Result<Self, HypergraphError> {
        if vertices > u32::MAX as usize {
            return Err(HypergraphError::TooManyVertices { vertices });
        }
        let nets = offsets.len().saturating_sub(1);
        if let Some(net) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
            return Err(HypergraphError::BadOffsets { net });
        }
        if offsets.first() != Some(&0) || offsets.last() != Some(&(pins.len() as u64)) {
            return Err(HypergraphError::BadOffsets { net: nets.saturating_sub(1) });
        }
        let mut kept = 0;
        let mut compact = Vec::with_capacity(offsets.len());
        compact.push(0);
        for (net, range) in offsets.windows(2).enumerate() {
            let (first, end) = (range[0] as usize, range[1] as usize);
            pins[first..end].sort_unstable();
            if let Some(&pin) = pins[first..end].last().filter(|&&pin| pin as usize >= vertices) {
                return Err(HypergraphError::UnknownVertex { net, pin, vertices });
            }
            let start = kept;
            for at in first..end {
                if kept == start || pins[kept - 1] != pins[at] {
                    pins[kept] = pins[at];
                    kept += 1;
                }
            }
            compact.push(kept as u64);
        }
        pins.truncate(kept);
        let this = Self { vertices, offsets: compact, pins, net_weights, vertex_weights };
        this.check_weights()?;
        Ok(this.without_unit_weights())
    }

    fn check_weights(&self) -> Result<(), HypergraphError> {
        let lists = [("vertex", &self.vertex_weights, self.vertices), ("net", &self.net_weights, self.net_count())];
        for (what, weights, expected) in lists {
            if let Some(weights) = weights
                && weights.len() != expected
            {
                return Err(HypergraphError::WrongLength { what, found: weights.len(), expected });
            }
        }
        let vertices: u128 = self.vertex_weights.iter().flatten().map(|&weight| u128::from(weight)).sum();
        let volume = |net| u128::from(self.net_weight(net)) * self.pins(net).len().saturating_sub(1) as u128;
        let volume = (0..self.net_count()).fold(0u128, |sum, net| sum.saturating_add(volume(net)));
        for (what, total) in [("vertex", vertices), ("net", volume)] {
            if total > u128::from(u64::MAX) {
                return Err(HypergraphError::TotalOverflow { what });
            }
        }
        Ok(())
    }

    fn without_unit_weights(mut self) -> Self {
        for weights in [&mut self.net_weights, &mut self.vertex_weights] {
            if weights.as_ref().is_some_and(|weights| weights.iter().all(|&weight| weight == 1)) {
                *weights = None;
            }
        }
        self
    }

    /// Number of vertices.
    pub fn vertex_count(&self) -> usize {
        self.vertices
    }

    /// Number of nets.
    pub fn net_count(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Number of pins of all nets.
    pub fn pin_count(&self) -> usize {
        self.pins.len()
    }

    /// The vertices of a net, ascending.
    #[inline]
    pub fn pins(&self, net: usize) -> &[u32] {
        &self.pins[self.offsets[net] as usize..self.offsets[net + 1] as usize]
    }

    /// Weight of a net.
    #[inline]
    pub fn net_weight(&self, net: usize) -> u64 {
        self.net_weights.as_ref().map_or(1, |weights| weights[net])
    }

    /// Weight of a vertex.
    #[inline]
    pub fn vertex_weight(&self, vertex: u32) -> u64 {
        self.vertex_weights.as_ref().map_or(1, |weights| weights[vertex as usize])
    }

    /// Weights of the nets; `None` if all are 1.
    pub fn net_weights(&self) -> Option<&[u64]> {
        self.net_weights.as_deref()
    }

    /// Weights of the vertices; `None` if all are 1.
    pub fn vertex_weights(&self) -> Option<&[u64]> {
        self.vertex_weights.as_deref()
    }

    /// The same hypergraph with nets that weigh 1 each.
    #[must_use]
    pub fn without_net_weights(self) -> Self {
        Self { net_weights: None, ..self }
    }

    /// The same hypergraph with vertices that weigh 1 each.
    #[must_use]
    pub fn without_vertex_weights(self) -> Self {
        Self { vertex_weights: None, ..self }
    }

    /// A graph for partitioners that do not handle nets. A net of p pins becomes an edge for each pair of them, with 1
    /// / (p − 1) of its weight; so separating one pin from the others costs the whole weight. A net of more than 32
    /// pins becomes a ring through them in their order, each edge with half the weight. All weights are multiplied by
    /// 60 and rounded, unless every net has two pins. The cut of this graph only approximates: judge partitions by the
    /// hypergraph.
    ///
    /// # Errors
    /// If the weights add up to more than 64 bits hold.
    ///
    /// # Complexity
    /// O(pins · 32 + vertices).
    pub fn to_graph(&self) -> Result<UndirectedGraph, UndirectedError> {
        let plain = (0..self.net_count()).all(|net| self.pins(net).len() <= 2);
        let scale = if plain { 1 } else { CLIQUE_SCALE };
        let mut edges: Vec<(u32, u32, u64)> = Vec::new();
        for net in 0..self.net_count() {
            let pins = self.pins(net);
            let scaled =
                self.net_weight(net).checked_mul(scale).ok_or(UndirectedError::TotalOverflow { what: "edge" })?;
            if pins.len() > LARGEST_CLIQUE {
                let next = pins.iter().cycle().skip(1);
                edges.extend(pins.iter().zip(next).map(|(&a, &b)| (a, b, scaled / 2)));
                continue;
            }
            for (at, &a) in pins.iter().enumerate() {
                let share = |others: u64| (scaled + others / 2) / others;
                let others = pins.len() as u64 - 1;
                edges.extend(pins[at + 1..].iter().map(|&b| (a, b, share(others).max(u64::from(scaled > 0)))));
            }
        }
        UndirectedGraph::from_edges(self.vertices, edges.into_iter(), self.vertex_weights.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_sorted_and_count_once() {
        let nets = Hypergraph::from_nets(4, vec![0, 3, 4, 6], vec![2, 0, 2, 3, 1, 0], None, None).unwrap();
        assert_eq!((nets.net_count(), nets.pin_count(), nets.vertex_count()), (3, 5, 4));
        assert_eq!([nets.pins(0), nets.pins(1), nets.pins(2)], [&[0, 2][..], &[3], &[0, 1]]);
        assert_eq!((nets.net_weight(2), nets.vertex_weight(3)), (1, 1));
        let ones = Hypergraph::from_nets(1, vec![0, 1], vec![0], Some(vec![1]), Some(vec![1])).unwrap();
        assert_eq!((ones.net_weights(), ones.vertex_weights()), (None, None));
    }

    #[test]
    fn what_is_no_hypergraph_is_refused() {
        let refuse = |offsets: &[u64], pins: &[u32], weights: Option<Vec<u64>>| {
            Hypergraph::from_nets(2, offsets.to_vec(), pins.to_vec(), weights, None).unwrap_err()
        };
        use HypergraphError::*;
        assert_eq!(refuse(&[0, 1], &[2], None), UnknownVertex { net: 0, pin: 2, vertices: 2 });
        assert_eq!(refuse(&[0, 2, 1], &[0], None), BadOffsets { net: 1 });
        assert_eq!(refuse(&[0, 1], &[0, 1], None), BadOffsets { net: 0 });
        let wrong = WrongLength { what: "net", found: 2, expected: 1 };
        assert_eq!(refuse(&[0, 1], &[0], Some(vec![1, 2])), wrong);
        let heavy = refuse(&[0, 2, 4], &[0, 1, 0, 1], Some(vec![u64::MAX, 1]));
        assert_eq!(heavy, TotalOverflow { what: "net" });
    }

    #[test]
    fn nets_become_pairs_and_large_ones_rings() {
        // Two pins: 7 as it is, but times 60 beside a net of four pins, whose pairs get a third of 2 · 60.
        let pair = Hypergraph::from_nets(2, vec![0, 2], vec![0, 1], Some(vec![7]), None).unwrap();
        assert_eq!(pair.to_graph().unwrap().total_edge_weight(), 7);
        let nets = Hypergraph::from_nets(4, vec![0, 2, 6], vec![0, 1, 0, 1, 2, 3], Some(vec![7, 2]), None).unwrap();
        let graph = nets.to_graph().unwrap();
        assert_eq!(graph.edges_of(0).collect::<Vec<_>>(), [(1, 460), (2, 40), (3, 40)]);
        let large = Hypergraph::from_nets(40, vec![0, 40], (0..40).collect(), None, None).unwrap();
        let ring = large.to_graph().unwrap();
        assert_eq!((ring.edge_count(), ring.degree(0), ring.total_edge_weight()), (40, 2, 40 * 30));
    }
}
