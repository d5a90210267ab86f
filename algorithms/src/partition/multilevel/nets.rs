//! The working hypergraph: vertices and nets, each with a list of the others.

use std::ops::Range;

use placebench_datasets::{Hypergraph, HypergraphError, UndirectedGraph};
use rayon::prelude::*;

use super::coarsening::communities::communities;
use super::coarsening::net_contraction;
use super::graph::Graph;
use super::refinement::gain_cache::{Connection, GainRow};
use super::refinement::partitioned_graph::PartitionedGraph;
use super::structure::{Pins, Structure};
use super::weights::Weights;
use crate::StopToken;

/// Coarsening looks for neighbours in nets of at most this many pins. In larger ones hardly anybody belongs together,
/// and they would take long.
const LARGE: usize = 1000;

/// Digits behind the point of ties: those of a net of p pins weigh 1 / (p − 1) of it.
const FRACTION: u32 = 16;

/// The same of the shares that edges have of a net.
const SHARE_FRACTION: u32 = 8;

/// A hypergraph in two compressed sparse rows: the pins of each net, and the nets of each vertex.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nets {
    /// Where each net's pins begin, and the end of the last.
    pub(crate) pin_offsets: Vec<u32>,
    pub(crate) pins: Vec<u32>,
    pub(crate) net_weights: Vec<i64>,
    /// Where each vertex's nets begin, and the end of the last.
    net_offsets: Vec<u32>,
    nets: Vec<u32>,
    vertex_weights: Vec<i64>,
    /// The edges that must lead to the same or a later block, where directions matter.
    order: Option<Graph<'static>>,
}

impl Nets {
    /// Nets from the pins of each, without repetitions.
    pub(crate) fn new(
        pin_offsets: Vec<u32>,
        pins: Vec<u32>,
        net_weights: Vec<i64>,
        vertex_weights: Vec<i64>,
        order: Option<Graph<'static>>,
    ) -> Self {
        let mut net_offsets = vec![0u32; vertex_weights.len() + 1];
        for &pin in &pins {
            net_offsets[pin as usize + 1] += 1;
        }
        for vertex in 0..vertex_weights.len() {
            net_offsets[vertex + 1] += net_offsets[vertex];
        }
        let mut next = net_offsets.clone();
        let mut nets = vec![0; pins.len()];
        for (net, row) in (0..).zip(pin_offsets.windows(2)) {
            for &pin in &pins[row[0] as usize..row[1] as usize] {
                let slot = &mut next[pin as usize];
                nets[*slot as usize] = net;
                *slot += 1;
            }
        }
        Self { pin_offsets, pins, net_weights, net_offsets, nets, vertex_weights, order }
    }

    #[inline]
    fn row(&self, net: u32) -> Range<usize> {
        self.pin_offsets[net as usize] as usize..self.pin_offsets[net as usize + 1] as usize
    }

    #[inline]
    pub(crate) fn nets_of(&self, vertex: u32) -> &[u32] {
        &self.nets[self.net_offsets[vertex as usize] as usize..self.net_offsets[vertex as usize + 1] as usize]
    }

    #[inline]
    pub(crate) fn net_weight(&self, net: u32) -> i64 {
        self.net_weights[net as usize]
    }

    pub(crate) fn order(&self) -> Option<&Graph<'static>> {
        self.order.as_ref()
    }

    /// The graph `order` with other weights of edges: the first pin of each net has edges to the others, and those in one
    /// block share the net's weight. So the cut of `block_of` is what the nets cost, but for rounding and for edges that
    /// the graph lacks.
    pub(crate) fn as_edges(&self, order: &Graph<'static>, block_of: &[u32]) -> Graph<'static> {
        let mut weights = vec![0u64; order.neighbours.len()];
        let mut raise = |vertex: u32, other: u32, weight: i64| {
            let row = order.row(vertex);
            if let Ok(at) = order.neighbours[row.clone()].binary_search(&other) {
                weights[row.start + at] += weight as u64;
            }
        };
        let mut others: Vec<(u32, u32)> = Vec::new();
        for net in 0..self.net_count() as u32 {
            let Some((&first, rest)) = self.pins(net).split_first() else { continue };
            others.clear();
            others.extend(rest.iter().map(|&pin| (block_of[pin as usize], pin)));
            others.sort_unstable();
            for group in others.chunk_by(|(block, _), (other, _)| block == other) {
                let share = (self.net_weight(net) << SHARE_FRACTION) / group.len() as i64;
                for &(_, pin) in group {
                    raise(first, pin, share);
                    raise(pin, first, share);
                }
            }
        }
        Graph { edge_weights: Weights::Wide(weights.into()), ..order.clone() }
    }

    fn all_nets(&self) -> impl IndexedParallelIterator<Item = u32> {
        (0..self.net_count() as u32).into_par_iter().with_min_len(4096)
    }

    /// The graph of vertices and nets, an edge for each pin.
    fn bipartite(&self) -> Graph<'static> {
        let vertices = self.len() as u32;
        let share = |net: u32| ((self.net_weight(net) << 8) / self.pins(net).len() as i64).max(1);
        let mut offsets = self.net_offsets.clone();
        offsets.extend(self.pin_offsets[1..].iter().map(|offset| self.pins.len() as u32 + offset));
        let mut neighbours: Vec<u32> = self.nets.iter().map(|net| vertices + net).collect();
        neighbours.extend_from_slice(&self.pins);
        let mut weights: Vec<u64> = self.nets.iter().map(|&net| share(net) as u64).collect();
        for net in 0..self.net_count() as u32 {
            weights.extend(std::iter::repeat_n(share(net) as u64, self.pins(net).len()));
        }
        Graph {
            offsets: offsets.into(),
            neighbours: neighbours.into(),
            edge_weights: Weights::Wide(weights.into()),
            ..Graph::default()
        }
    }
}

impl Structure for Nets {
    #[inline]
    fn len(&self) -> usize {
        self.vertex_weights.len()
    }

    #[inline]
    fn entries(&self) -> usize {
        self.pins.len()
    }

    #[inline]
    fn weight(&self, vertex: u32) -> i64 {
        self.vertex_weights[vertex as usize]
    }

    #[inline]
    fn degree(&self, vertex: u32) -> usize {
        self.nets_of(vertex).len()
    }

    fn is_even(&self) -> bool {
        self.net_weights.iter().all(|&weight| weight == 1)
    }

    /// Heavy-edge rating: each pin of a net of p pins gets 1 / (p − 1) of its weight.
    #[inline]
    fn for_each_tie(&self, vertex: u32, mut visit: impl FnMut(u32, i64)) {
        for &net in self.nets_of(vertex) {
            let pins = self.pins(net);
            if pins.len() > LARGE {
                continue;
            }
            let strength = (self.net_weight(net) << FRACTION) / (pins.len() as i64 - 1).max(1);
            pins.iter().filter(|&&pin| pin != vertex).for_each(|&pin| visit(pin, strength));
        }
    }

    /// Of the graph of vertices and nets.
    fn communities(&self, stop: &StopToken) -> Vec<u32> {
        let mut found = communities(&self.bipartite(), stop);
        found.truncate(self.len());
        found
    }

    fn contract(&self, cluster_of: &[u32], clusters: usize) -> Self {
        net_contraction::contract(self, cluster_of, clusters)
    }

    fn induced(&self, members: &[u32], index: &[u32], inside: impl Fn(u32) -> bool) -> Self {
        let (mut pin_offsets, mut pins, mut net_weights) = (vec![0], Vec::new(), Vec::new());
        for net in 0..self.net_count() as u32 {
            let first = pins.len();
            pins.extend(self.pins(net).iter().filter(|&&pin| inside(pin)).map(|&pin| index[pin as usize]));
            if pins.len() < first + 2 {
                pins.truncate(first);
                continue;
            }
            pin_offsets.push(pins.len() as u32);
            net_weights.push(self.net_weight(net));
        }
        let vertex_weights = members.iter().map(|&vertex| self.weight(vertex)).collect();
        Self::new(pin_offsets, pins, net_weights, vertex_weights, None)
    }

    fn has_hubs(&self) -> bool {
        let mean = self.entries() / self.len().max(1);
        let hubs = self.vertices().filter(|&vertex| self.degree(vertex) > 8 * (mean + 1));
        hubs.map(|vertex| self.degree(vertex)).sum::<usize>() * 10 >= self.entries().max(1)
    }

    /// As for graphs, with edges from the first pin of each net to the others.
    fn is_strip(&self, blocks: usize) -> bool {
        let squares = self.all_nets().map(|net| {
            let pins = self.pins(net);
            let Some(&first) = pins.first() else { return 0 };
            pins.iter().map(|&pin| u64::from(pin.abs_diff(first))).map(|length| u128::from(length * length)).sum()
        });
        let edges = self.entries() - self.net_count();
        squares.sum::<u128>() * blocks as u128 <= self.len() as u128 * edges as u128
    }

    fn cut(&self, block_of: &[u32]) -> i64 {
        let of_net = |seen: &mut Vec<u32>, net: u32| {
            seen.clear();
            seen.extend(self.pins(net).iter().map(|&pin| block_of[pin as usize]));
            seen.sort_unstable();
            seen.dedup();
            self.net_weight(net) * (seen.len().max(1) as i64 - 1)
        };
        self.all_nets().map_init(Vec::new, of_net).sum()
    }

    fn known_cut(partition: &PartitionedGraph<'_, Self>) -> i64 {
        let nets = partition.graph;
        let of_net = |net: u32| {
            let blocks = partition.pins.row(net).iter().filter(|connection| connection.weight() != 0).count();
            nets.net_weight(net) * (blocks.max(1) as i64 - 1)
        };
        nets.all_nets().map(of_net).sum()
    }

    #[inline]
    fn is_directed(&self) -> bool {
        self.order.is_some()
    }

    #[inline]
    fn window(&self, vertex: u32, block_of: impl Fn(u32) -> u32) -> (u32, u32) {
        self.order.as_ref().map_or((0, u32::MAX), |order| order.window(vertex, block_of))
    }

    #[inline]
    fn net_count(&self) -> usize {
        self.net_weights.len()
    }

    #[inline]
    fn pins(&self, net: u32) -> &[u32] {
        &self.pins[self.row(net)]
    }

    #[inline]
    fn most_connections(&self, vertex: u32, blocks: usize) -> usize {
        let mut most = 0;
        for &net in self.nets_of(vertex) {
            most += self.row(net).len() - 1;
            if most >= blocks {
                return blocks;
            }
        }
        most
    }

    fn whole_connection(&self, vertex: u32) -> i64 {
        self.nets_of(vertex).iter().map(|&net| self.net_weight(net)).sum()
    }

    #[inline]
    fn is_torn<'p>(&self, vertex: u32, block_of: &[u32], pins: impl Fn(u32) -> &'p [Connection]) -> bool {
        let own = block_of[vertex as usize];
        let is_foreign = |connection: &Connection| connection.block() != own && connection.weight() != 0;
        self.nets_of(vertex).iter().any(|&net| pins(net).iter().any(is_foreign))
    }

    #[inline]
    fn connect<'p>(
        &self,
        vertex: u32,
        row: &mut GainRow<'_>,
        block_of: impl Fn(u32) -> u32,
        pins: impl Fn(u32) -> &'p [Connection],
    ) {
        let own = block_of(vertex);
        for &net in self.nets_of(vertex) {
            let weight = self.net_weight(net);
            for connection in pins(net) {
                let block = connection.block();
                if connection.weight() > i64::from(block == own) {
                    row.raise(block, weight);
                }
            }
        }
    }

    #[inline]
    fn for_each_change<P: Pins>(
        &self,
        pins: &mut P,
        vertex: u32,
        from: u32,
        to: u32,
        mut visit: impl FnMut(&mut P, u32, i64, i64),
    ) {
        for &net in self.nets_of(vertex) {
            let (before, after) = pins.move_pin(net, from, to);
            // A pin is connected to a block by the others there.
            if before > 2 && after > 2 {
                continue;
            }
            let weight = self.net_weight(net);
            for &pin in self.pins(net) {
                if pin == vertex {
                    continue;
                }
                let block = pins.block_of(pin);
                let lost = if before - 1 == i64::from(block == from) { weight } else { 0 };
                let gained = if after - 1 == i64::from(block == to) { weight } else { 0 };
                if lost != gained || lost != 0 {
                    visit(pins, pin, lost, gained);
                }
            }
        }
    }

    fn cost_of_swap(partition: &PartitionedGraph<'_, Self>, one: u32, other: u32) -> i64 {
        let nets = partition.graph;
        let (a, b) = (partition.block_of[one as usize], partition.block_of[other as usize]);
        let shared = nets.nets_of(one).iter().filter(|&&net| nets.pins(net).contains(&other));
        let correction = |&net: &u32| {
            // The swap leaves the net in the same blocks.
            let alone = |block: u32| i64::from(partition.pins.count(net, block) == 1);
            nets.net_weight(net) * (alone(a) + alone(b))
        };
        shared.map(correction).sum()
    }
}

/// The nets of a graph without tensors: each vertex with its neighbours, weighing 1.
///
/// # Errors
/// As [`Hypergraph::from_nets`].
///
/// # Complexity
/// O(vertices + edges).
pub(crate) fn neighbourhoods(graph: &UndirectedGraph) -> Result<Hypergraph, HypergraphError> {
    let mut pins = Vec::with_capacity(graph.vertex_count() + graph.all_neighbours().len());
    let mut offsets = vec![0];
    for vertex in graph.vertices() {
        pins.push(vertex);
        pins.extend_from_slice(graph.neighbours(vertex));
        offsets.push(pins.len() as u64);
    }
    Hypergraph::from_nets(graph.vertex_count(), offsets, pins, None, None)
}

#[cfg(test)]
impl Nets {
    /// Some 150 weighted nets of 2 to 9 pins on 100 weighted vertices.
    pub(crate) fn tangle(seed: u64) -> Self {
        let mut random = super::random::Random::new(seed, 0);
        let (mut offsets, mut pins, mut weights) = (vec![0], Vec::new(), Vec::new());
        for _ in 0..150 {
            let first = pins.len();
            pins.extend((0..2 + random.below(8)).map(|_| random.below(100) as u32));
            pins[first..].sort_unstable();
            let mut own = pins.split_off(first);
            own.dedup();
            if own.len() > 1 {
                pins.append(&mut own);
                offsets.push(pins.len() as u32);
                weights.push(random.below(9) as i64);
            }
        }
        let vertex_weights = (0..100).map(|_| 1 + random.below(4) as i64).collect();
        Self::new(offsets, pins, weights, vertex_weights, None)
    }
}

#[cfg(test)]
mod tests;
