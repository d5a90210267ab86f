//! The problem as the levels see it: the working graph or nets, and the maximum block weights. And the way back to the
//! caller's graph.
//!
//! Vertices without neighbours are set aside, and packed where there is room once all others have their blocks.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use placebench_datasets::{Hypergraph, Numbers, UndirectedGraph};
use rayon::prelude::*;

use super::graph::{EARLIER, Graph, LATER};
use super::nets::Nets;
use super::structure::Structure;
use super::weights::{MOST_BLOCKS, Scale};
use crate::partition::{Partition, PartitionError, PartitionRequest};

/// A graph, or nets, and a request as the levels see them.
pub(crate) struct Problem<'a, S = Graph<'a>> {
    pub(crate) original: &'a UndirectedGraph,
    pub(crate) request: &'a PartitionRequest,
    /// The working graph or nets.
    pub(crate) graph: S,
    /// For each block, the weight that it may have.
    pub(crate) max_block_weights: Vec<i64>,
    scale: Scale,
    /// The original numbers of the working graph's vertices. `None` if it has all of them: those set aside weigh nothing.
    kept: Option<Vec<u32>>,
    /// Isolated vertices.
    set_aside: Vec<u32>,
}

/// If fewer than one vertex in this many is isolated, the isolated ones stay in the working graph, without weight. To take
/// them out, all rows would have to be copied.
const FEW: usize = 8;

impl<'a> Problem<'a> {
    /// If `directed`, each edge leads from the lower to the higher number.
    pub(crate) fn new(
        original: &'a UndirectedGraph,
        request: &'a PartitionRequest,
        directed: bool,
    ) -> Result<Self, PartitionError> {
        check(request, original.all_neighbours().len(), "the two ends of edges", "edges")?;
        let scale = Scale::of(original);
        let max_block_weights = max_block_weights(original, request, scale);
        let light = lightest_slack(request, original.total_vertex_weight());
        let is_aside = |vertex: &u32| original.degree(*vertex) == 0 && original.vertex_weight(*vertex) <= light;
        let set_aside: Vec<u32> = (0..original.vertex_count() as u32).into_par_iter().filter(is_aside).collect();
        let is_weighted = original.vertex_weights().is_some();
        let stay = set_aside.is_empty() || (is_weighted && set_aside.len() * FEW < original.vertex_count());
        let (graph, kept) = if stay {
            (whole(original, scale, directed, &set_aside), None)
        } else {
            let kept: Vec<u32> = original.vertices().filter(|vertex| !is_aside(vertex)).collect();
            (part(original, scale, directed, &kept), Some(kept))
        };
        Ok(Self { original, request, graph, max_block_weights, scale, kept, set_aside })
    }
}

impl<'a> Problem<'a, Nets> {
    /// The nets of the graph's vertices. If `directed`, each edge leads from the lower to the higher number.
    pub(crate) fn of_nets(
        original: &'a UndirectedGraph,
        hypergraph: &Hypergraph,
        request: &'a PartitionRequest,
        directed: bool,
    ) -> Result<Self, PartitionError> {
        check(request, hypergraph.pin_count(), "pins", "pins")?;
        check(request, original.all_neighbours().len(), "the two ends of edges", "edges")?;
        let scale = Scale::of(original).with_nets(hypergraph);
        let max_block_weights = max_block_weights(original, request, scale);
        let matters = |&net: &usize| hypergraph.pins(net).len() > 1 && hypergraph.net_weight(net) > 0;
        let nets: Vec<usize> = (0..hypergraph.net_count()).filter(matters).collect();
        let mut is_isolated = vec![!directed; original.vertex_count()];
        for &pin in nets.iter().flat_map(|&net| hypergraph.pins(net)) {
            is_isolated[pin as usize] = false;
        }
        let light = lightest_slack(request, original.total_vertex_weight());
        let is_aside = |vertex: u32| is_isolated[vertex as usize] && original.vertex_weight(vertex) <= light;
        let (set_aside, kept): (Vec<u32>, Vec<u32>) = original.vertices().partition(|&vertex| is_aside(vertex));
        let mut number = vec![0u32; original.vertex_count()];
        for (new, &vertex) in (0..).zip(&kept) {
            number[vertex as usize] = new;
        }
        let (mut offsets, mut pins, mut net_weights) = (vec![0], Vec::new(), Vec::with_capacity(nets.len()));
        for net in nets {
            pins.extend(hypergraph.pins(net).iter().map(|&pin| number[pin as usize]));
            offsets.push(pins.len() as u32);
            net_weights.push(scale.edge(hypergraph.net_weight(net)));
        }
        let vertex_weights = kept.iter().map(|&vertex| scale.vertex(original.vertex_weight(vertex))).collect();
        let order = directed.then(|| whole(original, scale, true, &[]).into_owned());
        let graph = Nets::new(offsets, pins, net_weights, vertex_weights, order);
        let kept = (!set_aside.is_empty()).then_some(kept);
        Ok(Self { original, request, graph, max_block_weights, scale, kept, set_aside })
    }
}

impl<S: Structure> Problem<'_, S> {
    /// The blocks of the working graph's vertices, from those of all vertices.
    pub(crate) fn restrict(&self, block_of: Vec<u32>) -> Vec<u32> {
        match &self.kept {
            Some(kept) => kept.iter().map(|&vertex| block_of[vertex as usize]).collect(),
            None => block_of,
        }
    }

    /// Puts the working graph's vertices one after the other into the block with the most room.
    pub(crate) fn fill(&self, order: &[u32]) -> Vec<u32> {
        let mut roomiest = by_room(self.max_block_weights.clone());
        let mut block_of = vec![0; self.graph.len()];
        for &vertex in order {
            if let Some(mut top) = roomiest.peek_mut() {
                block_of[vertex as usize] = top.1.0;
                top.0 -= self.graph.weight(vertex);
            }
        }
        block_of
    }

    /// The blocks of all vertices, from those of the working graph's. The isolated ones go, heaviest first, to the block with
    /// the most room.
    ///
    /// # Errors
    /// [`PartitionError::Stopped`] if the request's token says so.
    pub(crate) fn complete(&self, block_of: Vec<u32>) -> Result<Partition, PartitionError> {
        if self.request.stop.is_stopped() {
            return Err(PartitionError::Stopped);
        }
        let blocks = self.request.blocks;
        if self.set_aside.is_empty() {
            return Ok(Partition { blocks, block_of });
        }
        let mut room = self.max_block_weights.clone();
        for (vertex, &block) in (0..).zip(&block_of) {
            room[block as usize] -= self.graph.weight(vertex);
        }
        let mut complete = match &self.kept {
            None => block_of,
            Some(kept) => {
                let mut complete = vec![0; self.original.vertex_count()];
                for (&vertex, block) in kept.iter().zip(block_of) {
                    complete[vertex as usize] = block;
                }
                complete
            }
        };
        let mut roomiest = by_room(room);
        let mut aside = self.set_aside.clone();
        aside.sort_by_key(|&vertex| Reverse(self.original.vertex_weight(vertex)));
        for vertex in aside {
            if let Some(mut top) = roomiest.peek_mut() {
                complete[vertex as usize] = top.1.0;
                top.0 -= self.scale.vertex(self.original.vertex_weight(vertex));
            }
        }
        Ok(Partition { blocks, block_of: complete })
    }
}

/// Whether a partition can be asked for like this, and `count` of `what` counted with 32 bits.
fn check(request: &PartitionRequest, count: usize, what: &str, many: &str) -> Result<(), PartitionError> {
    request.check()?;
    if u32::try_from(count).is_err() {
        let what = format!("{what} are counted with 32 bits: this graph has too many {many}");
        return Err(PartitionError::Unsupported(what));
    }
    if request.blocks > MOST_BLOCKS {
        let what = format!("{} blocks were asked for: at most {MOST_BLOCKS} are supported", request.blocks);
        return Err(PartitionError::Unsupported(what));
    }
    Ok(())
}

/// For each block, the scaled weight that it may have.
fn max_block_weights(original: &UndirectedGraph, request: &PartitionRequest, scale: Scale) -> Vec<i64> {
    let total = original.total_vertex_weight();
    (0..request.blocks).map(|block| scale.capacity(request.capacity(block, total))).collect()
}

/// The least weight that the tolerated imbalance adds to a block, at least 1. An isolated vertex that weighs no more finds
/// room at the end.
fn lightest_slack(request: &PartitionRequest, total: u64) -> u64 {
    let even = PartitionRequest { epsilon: 0.0, ..request.clone() };
    let slack = |block| request.capacity(block, total).saturating_sub(even.capacity(block, total));
    (0..request.blocks).map(slack).min().unwrap_or(0).max(1)
}

/// Blocks, the one with the most room on top, then the lowest number.
fn by_room(room: Vec<i64>) -> BinaryHeap<(i64, Reverse<u32>)> {
    room.into_iter().zip((0..).map(Reverse)).collect()
}

/// The directions of all entries; none if they do not matter.
fn directions(original: &UndirectedGraph, directed: bool) -> Vec<u8> {
    let of_row = |vertex: u32| {
        original.neighbours(vertex).iter().map(move |&neighbour| if neighbour > vertex { LATER } else { EARLIER })
    };
    if directed { original.vertices().flat_map(of_row).collect() } else { Vec::new() }
}

/// The working graph of all vertices. It borrows what it can.
fn whole<'a>(original: &'a UndirectedGraph, scale: Scale, directed: bool, set_aside: &[u32]) -> Graph<'a> {
    let mut vertex_weights = scale.vertices(original);
    for &vertex in set_aside {
        vertex_weights.set(vertex as usize, 0);
    }
    let offsets = match original.offsets() {
        Numbers::Narrow(offsets) => Cow::Borrowed(offsets),
        Numbers::Wide(offsets) => offsets.iter().map(|&offset| offset as u32).collect(),
    };
    Graph {
        offsets,
        neighbours: Cow::Borrowed(original.all_neighbours()),
        edge_weights: scale.edges(original),
        vertex_weights,
        directions: directions(original, directed),
    }
}

/// The working graph of some vertices; the others have no neighbours.
fn part<'a>(original: &'a UndirectedGraph, scale: Scale, directed: bool, kept: &[u32]) -> Graph<'a> {
    let mut number = vec![0u32; original.vertex_count()];
    for (new, &vertex) in kept.iter().enumerate() {
        number[vertex as usize] = new as u32;
    }
    let mut offsets = vec![0];
    offsets.extend(kept.iter().map(|&vertex| original.offsets().at(vertex as usize + 1) as u32));
    let all_weights = scale.vertices(original);
    let mut vertex_weights = all_weights.none_of();
    kept.iter().for_each(|&vertex| vertex_weights.push(all_weights.get(vertex as usize)));
    Graph {
        offsets: offsets.into(),
        neighbours: original.all_neighbours().iter().map(|&neighbour| number[neighbour as usize]).collect(),
        edge_weights: scale.edges(original),
        vertex_weights,
        directions: directions(original, directed),
    }
}

#[cfg(test)]
mod tests {
    use super::super::weights::Weights;
    use super::*;

    /// A band of 400 vertices with weights up to `most`; two of them have no neighbours.
    fn band(most: u64) -> UndirectedGraph {
        let edges = (0..398u32).flat_map(|v| [1, 2, 9].map(|step| (v, (v + step) % 398, 1 + u64::from(v * step) % 17)));
        let heavy = std::iter::once((5, 6, most));
        let weights = (0..400).map(|v| if v == 5 { most } else { 1 + v % 3 }).collect();
        UndirectedGraph::from_edges(400, edges.chain(heavy), Some(weights)).unwrap()
    }

    fn is_borrowed(weights: &Weights<'_>) -> bool {
        matches!(weights, Weights::Narrow(Cow::Borrowed(_)) | Weights::Wide(Cow::Borrowed(_)))
    }

    #[test]
    fn what_lies_in_memory_as_needed_is_not_copied() {
        let request = PartitionRequest::new(4, 0.03, 1);
        let (narrow, wide) = (band(20), band(1 << 32));
        let problem = Problem::new(&narrow, &request, false).unwrap();
        assert!(matches!(problem.graph.edge_weights, Weights::Narrow(Cow::Borrowed(_))));
        assert!(matches!(problem.graph.offsets, Cow::Borrowed(_)));
        // Two vertices are set aside and weigh nothing here.
        assert!(!is_borrowed(&problem.graph.vertex_weights));
        assert_eq!((problem.graph.weight(399), narrow.vertex_weight(399)), (0, 1));
        let problem = Problem::new(&wide, &request, false).unwrap();
        assert!(matches!(problem.graph.edge_weights, Weights::Wide(Cow::Borrowed(_))));
    }

    #[test]
    fn weights_whose_sum_takes_too_many_bits_are_scaled_in_a_copy() {
        let most = u64::MAX / 4;
        let graph = band(most);
        let request = PartitionRequest::new(2, 0.03, 1);
        let problem = Problem::new(&graph, &request, false).unwrap();
        assert!(!is_borrowed(&problem.graph.edge_weights));
        let heaviest = problem.graph.edges(5).map(|(_, weight)| weight).max();
        let expected = graph.edges_of(5).map(|(_, weight)| weight.div_ceil(1 << 21) as i64).max();
        // The sum is a little more than 2^62; 42 bits hold what is left of it.
        assert_eq!(heaviest, expected);
        assert!(problem.graph.edges(5).all(|(_, weight)| weight >= 1));
        assert!(problem.graph.total_weight() < 1 << 61);
    }

    #[test]
    fn more_blocks_than_a_word_can_name_are_refused() {
        let graph = band(20);
        let request = PartitionRequest::new(MOST_BLOCKS + 1, 0.03, 1);
        assert!(matches!(Problem::new(&graph, &request, false), Err(PartitionError::Unsupported(_))));
    }
}
