//! What is divided, as the levels see it: vertices with edges, or vertices with nets.
//!
//! A graph is a hypergraph whose nets have two pins. So both share every phase, and each phase is compiled for each of
//! them.

use rayon::prelude::*;

use super::refinement::gain_cache::{Connection, GainRow};
use super::refinement::partitioned_graph::PartitionedGraph;
use crate::StopToken;

/// Vertices that a thread takes at a time.
const STRETCH: usize = 8192;

/// Where the pins of nets are, for a partition that a move changes. Graphs need none of it.
pub(crate) trait Pins {
    /// The block that a vertex is in.
    fn block_of(&self, vertex: u32) -> u32;

    /// Counts a pin of a net in another block. Returns the pins that were in `from` before, and that are in `to` after.
    fn move_pin(&mut self, net: u32, from: u32, to: u32) -> (i64, i64);
}

/// Vertices that belong together more or less, and what a partition of them costs: its **cut**. For a graph it is the
/// weight of the edges between blocks; for nets, the weight of each net once for each further block that it is in.
///
/// A vertex is **connected** to a block by the edges that lead there, or by the nets that have another pin there. A
/// move from one block to another lowers the cut by the weight of the connection to the new one, less that to the old
/// one. This holds for both, so that they share the gain cache.
pub(crate) trait Structure: Sync + Sized {
    /// Number of vertices.
    fn len(&self) -> usize;

    /// Row entries of all vertices: a measure of size.
    fn entries(&self) -> usize;

    fn weight(&self, vertex: u32) -> i64;

    /// Edges or nets of a vertex.
    fn degree(&self, vertex: u32) -> usize;

    /// Whether all edges or nets weigh 1.
    fn is_even(&self) -> bool;

    /// Calls `visit` with each neighbour and how much the vertex and it belong together. A neighbour may come several
    /// times; what it comes with adds up.
    fn for_each_tie(&self, vertex: u32, visit: impl FnMut(u32, i64));

    /// A community for each vertex, for coarsening to keep to.
    fn communities(&self, stop: &StopToken) -> Vec<u32>;

    /// The structure of the clusters: `cluster_of` gives each vertex a cluster below `clusters`.
    fn contract(&self, cluster_of: &[u32], clusters: usize) -> Self;

    /// The part of the vertices that `members` lists; `index` says where each of them is in that list.
    fn induced(&self, members: &[u32], index: &[u32], inside: impl Fn(u32) -> bool) -> Self;

    /// Whether few vertices have many of the edges or pins.
    fn has_hubs(&self) -> bool;

    /// Whether neighbours are so near in the order of the vertices that slabs of it are good blocks.
    fn is_strip(&self, blocks: usize) -> bool;

    /// What a partition costs.
    fn cut(&self, block_of: &[u32]) -> i64;

    /// The same, if there is a gain cache.
    fn known_cut(partition: &PartitionedGraph<'_, Self>) -> i64;

    /// Whether edges must lead to the same or a later block.
    fn is_directed(&self) -> bool;

    /// The first and the last block that the vertex may be in, if edges must lead to the same or a later block.
    fn window(&self, vertex: u32, block_of: impl Fn(u32) -> u32) -> (u32, u32);

    /// Number of nets, and how many pins each has. None for graphs.
    fn net_count(&self) -> usize {
        0
    }

    /// The pins of a net.
    fn pins(&self, _net: u32) -> &[u32] {
        &[]
    }

    /// The most blocks, of those that there are, that a vertex can be connected to.
    fn most_connections(&self, vertex: u32, blocks: usize) -> usize;

    /// The connection of a vertex to the block that all its neighbours are in.
    fn whole_connection(&self, vertex: u32) -> i64;

    /// Whether the vertex has a neighbour in another block. `pins` tells where the pins of a net are.
    fn is_torn<'p>(&self, vertex: u32, block_of: &[u32], pins: impl Fn(u32) -> &'p [Connection]) -> bool;

    /// Adds the connections of a vertex to an empty row. `pins` tells where the pins of a net are.
    fn connect<'p>(
        &self,
        vertex: u32,
        row: &mut GainRow<'_>,
        block_of: impl Fn(u32) -> u32,
        pins: impl Fn(u32) -> &'p [Connection],
    );

    /// After a move of a vertex, calls `visit` with each neighbour whose connections change: by how much that to `from`
    /// falls and that to `to` rises. A neighbour may come several times, each time when only some of its changes are
    /// made.
    fn for_each_change<P: Pins>(
        &self,
        pins: &mut P,
        vertex: u32,
        from: u32,
        to: u32,
        visit: impl FnMut(&mut P, u32, i64, i64),
    );

    /// By how much a swap of two vertices in different blocks raises the cut beyond what the two moves alone would.
    fn cost_of_swap(partition: &PartitionedGraph<'_, Self>, one: u32, other: u32) -> i64;

    /// All vertices, shared among threads.
    fn vertices(&self) -> impl IndexedParallelIterator<Item = u32> {
        (0..self.len() as u32).into_par_iter().with_min_len(STRETCH)
    }

    fn total_weight(&self) -> i64 {
        (0..self.len() as u32).map(|vertex| self.weight(vertex)).sum()
    }

    /// What each block weighs.
    fn block_weights(&self, block_of: &[u32], blocks: usize) -> Vec<i64> {
        let mut weights = vec![0; blocks];
        for (vertex, &block) in (0..).zip(block_of) {
            weights[block as usize] += self.weight(vertex);
        }
        weights
    }
}
