//! In which order a graph in memory is streamed.

use placebench_datasets::UndirectedGraph;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use crate::{Named, Params, SpecError};

/// The order in which a graph in memory becomes a stream (Stanton, Kliot 2012, §4.1). It decides more than anything else: a
/// dataflow graph in its natural, topological order is cut far less than in a random one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamOrder {
    /// By vertex id.
    #[default]
    Natural,
    /// Shuffled by the seed: vertices for partitioners of vertices, edges for partitioners of edges.
    Random,
    /// Breadth-first, each component from its lowest id, neighbours ascending.
    Bfs,
    /// Depth-first preorder, each component from its lowest id, neighbours ascending.
    Dfs,
}

impl Named for StreamOrder {
    const NAMES: &'static [(&'static str, Self)] =
        &[("natural", Self::Natural), ("random", Self::Random), ("bfs", Self::Bfs), ("dfs", Self::Dfs)];
}

impl StreamOrder {
    /// The parameter `order`.
    pub(super) fn param(params: &mut Params) -> Result<Self, SpecError> {
        params.word("order", Self::Natural, "order of the stream: natural, random, bfs or dfs")
    }
}

impl StreamOrder {
    /// The vertices in this order; `None` for the natural one.
    ///
    /// # Complexity
    /// O(vertices + edges).
    pub fn vertices(self, graph: &UndirectedGraph, seed: u64) -> Option<Vec<u32>> {
        match self {
            Self::Natural => None,
            Self::Random => {
                let mut order: Vec<u32> = graph.vertices().collect();
                shuffle(&mut order, seed);
                Some(order)
            }
            Self::Bfs => Some(breadth_first(graph)),
            Self::Dfs => Some(depth_first(graph)),
        }
    }
}

pub(super) fn shuffle<T>(items: &mut [T], seed: u64) {
    items.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
}

fn breadth_first(graph: &UndirectedGraph) -> Vec<u32> {
    let mut seen = vec![false; graph.vertex_count()];
    let mut order: Vec<u32> = Vec::with_capacity(graph.vertex_count());
    for root in graph.vertices() {
        if std::mem::replace(&mut seen[root as usize], true) {
            continue;
        }
        // The order is its own queue.
        let mut next = order.len();
        order.push(root);
        while next < order.len() {
            for &neighbour in graph.neighbours(order[next]) {
                if !std::mem::replace(&mut seen[neighbour as usize], true) {
                    order.push(neighbour);
                }
            }
            next += 1;
        }
    }
    order
}

fn depth_first(graph: &UndirectedGraph) -> Vec<u32> {
    let mut seen = vec![false; graph.vertex_count()];
    let mut order = Vec::with_capacity(graph.vertex_count());
    // Vertices on the path from the root, each with the neighbours that it has not tried.
    let mut path: Vec<std::slice::Iter<'_, u32>> = Vec::new();
    for root in graph.vertices() {
        if std::mem::replace(&mut seen[root as usize], true) {
            continue;
        }
        order.push(root);
        path.push(graph.neighbours(root).iter());
        while let Some(untried) = path.last_mut() {
            match untried.find(|&&neighbour| !seen[neighbour as usize]) {
                None => drop(path.pop()),
                Some(&neighbour) => {
                    seen[neighbour as usize] = true;
                    order.push(neighbour);
                    path.push(graph.neighbours(neighbour).iter());
                }
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_of_two_components() {
        // 0 - 3, 0 - 4, 3 - 4, 4 - 5, and 1 - 2.
        let edges = [(0, 3, 1), (0, 4, 1), (3, 4, 1), (4, 5, 1), (1, 2, 1)];
        let graph = UndirectedGraph::from_edges(6, edges.into_iter(), None).unwrap();
        assert_eq!(StreamOrder::Natural.vertices(&graph, 0), None);
        assert_eq!(StreamOrder::Bfs.vertices(&graph, 0), Some(vec![0, 3, 4, 5, 1, 2]));
        assert_eq!(StreamOrder::Dfs.vertices(&graph, 0), Some(vec![0, 3, 4, 5, 1, 2]));
        let fork = [(0, 1, 1), (0, 2, 1), (1, 3, 1)];
        let graph = UndirectedGraph::from_edges(4, fork.into_iter(), None).unwrap();
        assert_eq!(StreamOrder::Bfs.vertices(&graph, 0), Some(vec![0, 1, 2, 3]));
        assert_eq!(StreamOrder::Dfs.vertices(&graph, 0), Some(vec![0, 1, 3, 2]));
    }

    #[test]
    fn a_random_order_is_the_seed_s() {
        let graph = UndirectedGraph::from_edges(100, [].into_iter(), None).unwrap();
        let order = |seed| StreamOrder::Random.vertices(&graph, seed).unwrap();
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(1);
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..100));
    }
}
