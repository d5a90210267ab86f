//! Weights for tools that add up in 32 bits with a sign, as METIS and Mt-KaHyPar do by default.

use super::any::Undirected;
use crate::{Hypergraph, UndirectedGraph};

/// What weights may add up to.
const MOST: u128 = i32::MAX as u128;

/// Divides weights by one number, so that they add up to less than 2³¹. If they do already, it leaves them as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Narrow {
    /// Weights are multiplied by this, then divided by `divisor`, and rounded down.
    factor: u128,
    divisor: u128,
}

impl Narrow {
    /// From all weights, each with how often it counts.
    fn of(weights: impl Iterator<Item = (u64, u64)>) -> Self {
        let (mut sum, mut count) = (0u128, 0u128);
        for (weight, times) in weights.filter(|&(weight, _)| weight > 0) {
            sum = sum.saturating_add(u128::from(weight) * u128::from(times));
            count += u128::from(times);
        }
        if sum <= MOST {
            return Self { factor: 1, divisor: 1 };
        }
        // A weight that is less than 1 then becomes 1: room is left for all of them.
        Self { factor: MOST.saturating_sub(count), divisor: sum }
    }

    /// For the vertices of a graph.
    pub(super) fn of_vertices(graph: &UndirectedGraph) -> Self {
        Self::of(graph.vertices().map(|vertex| (graph.vertex_weight(vertex), 1)))
    }

    /// For the edges of a graph. METIS adds up the weights of all rows, which have each edge twice.
    pub(super) fn of_edges(graph: &UndirectedGraph) -> Self {
        Self::of(graph.edges().map(|(_, _, weight)| (weight, 2)))
    }

    /// For the vertices of a hypergraph.
    pub(super) fn of_pins(nets: &Hypergraph) -> Self {
        Self::of((0..nets.vertex_count() as u32).map(|vertex| (nets.vertex_weight(vertex), 1)))
    }

    /// For the nets of a hypergraph. A net counts (pins − 1) times, as if every vertex were a block.
    pub(super) fn of_nets(nets: &Hypergraph) -> Self {
        let times = |net| nets.pins(net).len().saturating_sub(1).max(1) as u64;
        Self::of((0..nets.net_count()).map(|net| (nets.net_weight(net), times(net))))
    }

    /// The weight to write. What is above 0 stays so.
    pub(super) fn weight(self, weight: u64) -> u64 {
        // The product fits: a weight has 64 bits, the factor 31.
        let divided = (u128::from(weight) * self.factor / self.divisor) as u64;
        divided.max(weight.min(1))
    }

    fn changes(self) -> bool {
        self.divisor > 1
    }
}

impl Undirected {
    /// Whether the formats of METIS and hMETIS have to scale weights down, since these add up to 2³¹ or more.
    pub(in crate::format) fn is_wide(&self) -> bool {
        let both = match self {
            Self::Graph(graph) => [Narrow::of_vertices(graph), Narrow::of_edges(graph)],
            Self::Hypergraph(nets) => [Narrow::of_pins(nets), Narrow::of_nets(nets)],
        };
        both.iter().any(|narrow| narrow.changes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_stay_exact_below_two_to_the_31_and_are_scaled_from_there() {
        let narrow = |weights: &[u64]| {
            let narrow = Narrow::of(weights.iter().map(|&weight| (weight, 1)));
            weights.iter().map(|&weight| narrow.weight(weight)).collect::<Vec<u64>>()
        };
        let most = (1u64 << 31) - 1;
        for exact in [vec![], vec![0], vec![most], vec![most - 8, 0, 7, 1]] {
            assert_eq!(narrow(&exact), exact);
        }
        // 2³¹ and 2³¹ share what is left beside the three units of room.
        assert_eq!(narrow(&[1 << 31, 0, 1, 1 << 31]), [(1 << 30) - 3, 0, 1, (1 << 30) - 3]);
        for wide in [vec![u64::MAX], vec![u64::MAX; 1000], vec![u64::MAX, 1, 0, 1 << 40], vec![3 << 20; 4096]] {
            let narrowed = narrow(&wide);
            let sum: u64 = narrowed.iter().sum();
            assert!(sum <= most && sum >= most - 2 * wide.len() as u64, "{sum}");
            assert!(wide.iter().zip(&narrowed).all(|(&before, &after)| (before > 0) == (after > 0)));
        }
    }

    #[test]
    fn an_edge_counts_in_both_rows_and_a_net_for_each_further_pin() {
        let graph = |weight| UndirectedGraph::from_edges(3, [(0, 1, weight), (1, 2, 1)].into_iter(), None).unwrap();
        assert!(!Undirected::Graph(graph((1 << 30) - 2)).is_wide());
        assert!(Undirected::Graph(graph((1 << 30) - 1)).is_wide());
        let nets = |weight| Hypergraph::from_nets(3, vec![0, 3], vec![0, 1, 2], Some(vec![weight]), None).unwrap();
        assert!(!Undirected::Hypergraph(nets((1 << 30) - 1)).is_wide());
        assert!(Undirected::Hypergraph(nets(1 << 30)).is_wide());
    }
}
