//! A topological order whose prefixes cut little, for slabs of it.
//!
//! A slab of the natural order cuts through whatever happens to lie at its border. Here the order is changed first: stretches
//! of it are divided by minimum cuts, and these again, until they are short.

use std::ops::Range;

use rayon::prelude::*;

use super::max_flow::{Arc, Network, UNLIMITED};
use crate::StopToken;
use crate::partition::level_slabs::Line;
use crate::partition::multilevel::graph::{EARLIER, Graph, LATER};
use crate::partition::multilevel::initial::starts::MOST_PLACES;
use crate::partition::multilevel::nets::Nets;
use crate::partition::multilevel::structure::Structure;

/// Stretches of fewer vertices stay as they are.
const SHORTEST: usize = 16;

/// How the order is changed.
struct ArrangeConfig {
    /// Weight of the stretches to begin with.
    longest: i64,
    /// Edges that span more weight than this are cut in any case.
    span: i64,
}

/// An order of the vertices, the place of each in it, and the weight before each place.
struct Order {
    vertices: Vec<u32>,
    place_of: Vec<u32>,
    before: Vec<i64>,
}

impl Order {
    /// That of the vertices' numbers.
    fn natural(graph: &Graph<'_>) -> Self {
        let vertices: Vec<u32> = (0..graph.len() as u32).collect();
        let mut order = Self { place_of: vertices.clone(), vertices, before: Vec::new() };
        order.weigh(graph);
        order
    }

    /// One that follows each path to its end as soon as it can.
    fn depth_first(graph: &Graph<'_>) -> Self {
        let count = graph.len() as u32;
        let leads = |at: usize, direction: u8| graph.directions[at] & direction != 0;
        let mut waits_for: Vec<usize> =
            (0..count).map(|vertex| graph.row(vertex).filter(|&at| leads(at, EARLIER)).count()).collect();
        let mut ready: Vec<u32> = (0..count).rev().filter(|&vertex| waits_for[vertex as usize] == 0).collect();
        let mut order = Self { vertices: Vec::new(), place_of: vec![0; graph.len()], before: Vec::new() };
        while let Some(vertex) = ready.pop() {
            order.place_of[vertex as usize] = order.vertices.len() as u32;
            order.vertices.push(vertex);
            for at in graph.row(vertex).filter(|&at| leads(at, LATER)) {
                let later = graph.neighbours[at];
                waits_for[later as usize] -= 1;
                if waits_for[later as usize] == 0 {
                    ready.push(later);
                }
            }
        }
        order.weigh(graph);
        order
    }

    fn weigh(&mut self, graph: &Graph<'_>) {
        self.before.clear();
        self.before.push(0);
        let mut sum = 0;
        for &vertex in &self.vertices {
            sum += graph.weight(vertex);
            self.before.push(sum);
        }
    }

    /// The first place with at least so much weight before it.
    fn place(&self, weight: i64) -> usize {
        self.before.partition_point(|&before| before < weight).min(self.vertices.len())
    }

    /// For every place the weight of the edges that lead across it, without those that span more than `span`.
    fn across(&self, graph: &Graph<'_>, span: i64) -> Vec<i64> {
        let (mut across, mut open) = (vec![0], 0);
        for (place, &vertex) in self.vertices.iter().enumerate() {
            for (neighbour, weight) in graph.edges(vertex) {
                let other = self.place_of[neighbour as usize] as usize;
                if self.span(place, other) <= span {
                    if other > place { open += weight } else { open -= weight }
                }
            }
            across.push(open);
        }
        across
    }

    /// For every place the weight of the nets with pins before and behind it, without those that span more than `span`.
    fn nets_across(&self, nets: &Nets, span: i64) -> Vec<i64> {
        let mut across = vec![0; self.vertices.len() + 1];
        for net in 0..nets.net_count() as u32 {
            let places = nets.pins(net).iter().map(|&pin| self.place_of[pin as usize] as usize);
            if let (Some(first), Some(last)) = (places.clone().min(), places.max())
                && self.span(first, last) <= span
            {
                across[first + 1] += nets.net_weight(net);
                across[last + 1] -= nets.net_weight(net);
            }
        }
        let mut open = 0;
        for weight in &mut across {
            open += *weight;
            *weight = open;
        }
        across
    }

    /// The weight from the one to the other place, both included.
    fn span(&self, a: usize, b: usize) -> i64 {
        self.before[a.max(b) + 1] - self.before[a.min(b)]
    }
}

/// Changes a topological order.
fn arrange(graph: &Graph<'_>, order: Order, config: &ArrangeConfig, stop: &StopToken) -> Order {
    let mut order = order;
    let total = order.before[graph.len()];
    let stretches = (total / config.longest.max(1)).clamp(1, graph.len().max(1) as i64);
    let even = |at: i64| order.place((i128::from(total) * i128::from(at) / i128::from(stretches)) as i64);
    let mut borders: Vec<usize> = (0..stretches).map(even).collect();
    borders.push(graph.len());
    borders.dedup();
    while !stop.is_stopped() {
        let long = borders.windows(2).map(|pair| (pair[0], pair[1])).filter(|(begin, end)| end - begin >= SHORTEST);
        let divided: Vec<(usize, Vec<u32>, usize)> = long
            .collect::<Vec<_>>()
            .into_par_iter()
            .filter_map(|(begin, end)| {
                let (vertices, first) = divide(graph, &order, begin..end, config.span)?;
                Some((begin, vertices, begin + first))
            })
            .collect();
        if divided.is_empty() {
            break;
        }
        for (begin, vertices, border) in divided {
            for (place, vertex) in (begin..).zip(vertices) {
                order.vertices[place] = vertex;
                order.place_of[vertex as usize] = place as u32;
            }
            borders.push(border);
        }
        order.weigh(graph);
        borders.sort_unstable();
    }
    order
}

/// Divides a stretch of the order by a minimum cut in its middle third. Returns its vertices in their new order and how
/// many are before the cut.
fn divide(graph: &Graph<'_>, order: &Order, stretch: Range<usize>, span: i64) -> Option<(Vec<u32>, usize)> {
    let Range { start: begin, end } = stretch;
    let weight = order.before[end] - order.before[begin];
    let low = order.place(order.before[begin] + weight / 3).clamp(begin + 1, end - 1);
    let high = order.place(order.before[end] - weight / 3).clamp(low, end - 1);
    if high <= low {
        return None;
    }
    let mut arcs = Vec::new();
    let mut terminal = vec![0; high - low];
    for place in low..high {
        let vertex = order.vertices[place];
        for (at, (neighbour, weight)) in graph.row(vertex).zip(graph.edges(vertex)) {
            let other = order.place_of[neighbour as usize] as usize;
            if (low..high).contains(&other) {
                if graph.directions[at] & LATER != 0 {
                    let ends = [place, other].map(|place| (place - low) as u32);
                    arcs.push(Arc { ends, there: weight, back: UNLIMITED });
                }
            } else if order.span(place, other) <= span {
                terminal[place - low] += if other < low { weight } else { -weight };
            }
        }
    }
    let mut network = Network::new(&arcs, terminal);
    network.maximise()?;
    let side = network.source_side();
    let mut vertices: Vec<u32> = Vec::with_capacity(end - begin);
    let free = &order.vertices[low..high];
    let of_side = |first: bool| free.iter().zip(&side).filter(move |&(_, &inside)| inside == first).map(|(&v, _)| v);
    vertices.extend_from_slice(&order.vertices[begin..low]);
    vertices.extend(of_side(true));
    let at = vertices.len();
    vertices.extend(of_side(false));
    vertices.extend_from_slice(&order.vertices[high..end]);
    Some((vertices, at))
}

/// An order to begin with, and how to change it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrangement {
    /// Whether paths are followed to their ends; else it is the order of the vertices' numbers.
    pub(crate) depth_first: bool,
    /// The stretches that are divided, as a share of the whole weight.
    pub(crate) longest: f64,
}

/// The best slabs of an order that is changed: a block for every vertex, and every edge leads to the same or a later block. An
/// edge that spans more than any block may weigh does not count, since it is cut wherever the borders are.
///
/// # Complexity
/// O(log vertices) flows through networks that together are as large as the graph.
pub(crate) fn arranged_slabs(
    graph: &Graph<'_>,
    max_block_weights: &[i64],
    how: Arrangement,
    stop: &StopToken,
) -> Vec<u32> {
    let (order, span) = arranged(graph, max_block_weights, how, stop);
    let across = order.across(graph, span);
    slabs(&order, &across, max_block_weights, stop)
}

/// The same for nets, whose weights count instead of those of the edges: at each border between the first pin and the last.
/// `graph` has the edges, with weights to change the order by. Without a way to change it, the natural order stays.
pub(super) fn arranged_slabs_of_nets(
    nets: &Nets,
    graph: &Graph<'_>,
    max_block_weights: &[i64],
    how: Option<Arrangement>,
    stop: &StopToken,
) -> Vec<u32> {
    let (order, span) = match how {
        Some(how) => arranged(graph, max_block_weights, how, stop),
        None => (Order::natural(graph), longest_span(max_block_weights)),
    };
    let across = order.nets_across(nets, span);
    slabs(&order, &across, max_block_weights, stop)
}

/// What spans more is cut wherever the borders are.
fn longest_span(max_block_weights: &[i64]) -> i64 {
    max_block_weights.iter().copied().max().unwrap_or(0)
}

/// A changed order, and what an edge may span to count.
fn arranged(graph: &Graph<'_>, max_block_weights: &[i64], how: Arrangement, stop: &StopToken) -> (Order, i64) {
    let span = longest_span(max_block_weights);
    let longest = (graph.total_weight() as f64 * how.longest).ceil() as i64;
    let order = if how.depth_first { Order::depth_first(graph) } else { Order::natural(graph) };
    (arrange(graph, order, &ArrangeConfig { longest, span }, stop), span)
}

/// The best slabs of an order; `across` is the weight across each place.
fn slabs(order: &Order, across: &[i64], max_block_weights: &[i64], stop: &StopToken) -> Vec<u32> {
    let wide = |list: &[i64]| list.iter().map(|&weight| weight as u64).collect::<Vec<u64>>();
    let line = Line { before: wide(&order.before), across: wide(across) };
    let mut block_of = vec![0; order.vertices.len()];
    // A caller that stopped this does not use the blocks.
    let borders = line.best(&wide(max_block_weights), MOST_PLACES, stop).unwrap_or_default();
    for (block, pair) in borders.windows(2).enumerate() {
        for &vertex in &order.vertices[pair[0]..pair[1]] {
            block_of[vertex as usize] = block as u32;
        }
    }
    block_of
}
