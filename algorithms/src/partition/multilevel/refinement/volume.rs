//! Refinement for communication volume: the bytes that move if each tensor goes once to each block that needs it.

use placebench_datasets::{Hypergraph, HypergraphError, UndirectedGraph};

use crate::partition::PartitionRequest;

/// Passes over the vertices, at most.
const ROUNDS: u32 = 20;

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

/// Moves vertices to blocks that their nets are in where that lowers the volume, or keeps it and lowers the cut, until
/// nothing does or the request says to stop. The volume never rises, and no block comes to exceed its capacity. With
/// `acyclic`, no edge from a lower to a higher number comes to lead to an earlier block.
///
/// # Complexity
/// O(pins · blocks of a net + edges) a pass; 8 bytes a pin and 16 a net.
pub(crate) fn lower_volume(
    graph: &UndirectedGraph,
    nets: &Hypergraph,
    request: &PartitionRequest,
    acyclic: bool,
    block_of: &mut [u32],
) {
    let total = graph.total_vertex_weight();
    let mut room: Vec<i128> = (0..request.blocks).map(|block| request.capacity(block, total).into()).collect();
    for (vertex, &block) in (0..).zip(block_of.iter()) {
        room[block as usize] -= i128::from(graph.vertex_weight(vertex));
    }
    let mut spans = Spans::new(nets, request.blocks, block_of);
    let nets_of = NetsOf::new(nets);
    // For each block: weight of the vertex's nets that are there, and of its edges that lead there. All 0 between
    // vertices.
    let mut ties = vec![(0i128, 0i128); request.blocks as usize];
    let mut near = Vec::new();
    for _ in 0..ROUNDS {
        let mut any = false;
        for vertex in graph.vertices() {
            let own = block_of[vertex as usize];
            if nets_of.vertex(vertex).iter().all(|&net| spans.of(net).len() < 2) {
                continue;
            }
            if request.stop.is_stopped() {
                return;
            }
            // What the vertex alone holds in its block no longer goes there.
            let (mut all, mut alone) = (0i128, 0i128);
            for &net in nets_of.vertex(vertex) {
                let weight = i128::from(nets.net_weight(net as usize));
                all += weight;
                for &(block, pins) in spans.of(net) {
                    if block == own {
                        alone += if pins == 1 { weight } else { 0 };
                    } else {
                        ties[block as usize].0 += weight;
                        near.push(block);
                    }
                }
            }
            let (mut first, mut last) = (0, request.blocks - 1);
            for (neighbour, weight) in graph.edges_of(vertex) {
                let block = block_of[neighbour as usize];
                ties[block as usize].1 += i128::from(weight);
                if acyclic && neighbour < vertex {
                    first = first.max(block);
                } else if acyclic {
                    last = last.min(block);
                }
            }
            near.sort_unstable();
            near.dedup();
            let weight = i128::from(graph.vertex_weight(vertex));
            let to_own = ties[own as usize].1;
            let open = near.iter().filter(|&&block| room[block as usize] >= weight && (first..=last).contains(&block));
            let change = |&block: &u32| {
                let (nets_there, edges_there) = ties[block as usize];
                (all - alone - nets_there, to_own - edges_there, block)
            };
            if let Some((volume, cut, to)) = open.map(change).min()
                && (volume, cut) < (0, 0)
            {
                nets_of.vertex(vertex).iter().for_each(|&net| spans.relocate(net, own, to));
                room[own as usize] += weight;
                room[to as usize] -= weight;
                block_of[vertex as usize] = to;
                any = true;
            }
            near.drain(..).for_each(|block| ties[block as usize] = (0, 0));
            ties[own as usize] = (0, 0);
            for &neighbour in graph.neighbours(vertex) {
                ties[block_of[neighbour as usize] as usize] = (0, 0);
            }
        }
        if !any {
            break;
        }
    }
}

/// The nets of each vertex, ascending.
struct NetsOf {
    offsets: Vec<u64>,
    nets: Vec<u32>,
}

impl NetsOf {
    fn new(hypergraph: &Hypergraph) -> Self {
        let mut offsets = vec![0u64; hypergraph.vertex_count() + 1];
        let all =
            || (0..hypergraph.net_count()).flat_map(|net| hypergraph.pins(net).iter().map(move |&pin| (net, pin)));
        all().for_each(|(_, pin)| offsets[pin as usize + 1] += 1);
        for vertex in 1..offsets.len() {
            offsets[vertex] += offsets[vertex - 1];
        }
        let mut next = offsets.clone();
        let mut nets = vec![0; hypergraph.pin_count()];
        for (net, pin) in all() {
            let at = &mut next[pin as usize];
            nets[*at as usize] = net as u32;
            *at += 1;
        }
        Self { offsets, nets }
    }

    fn vertex(&self, vertex: u32) -> &[u32] {
        &self.nets[self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize]
    }
}

/// For each net the blocks that it is in, and how many pins are there.
struct Spans {
    /// Where each net's blocks begin.
    offsets: Vec<usize>,
    /// How many each net has.
    counts: Vec<u32>,
    blocks: Vec<(u32, u32)>,
}

impl Spans {
    fn new(nets: &Hypergraph, blocks: u32, block_of: &[u32]) -> Self {
        let mut offsets = vec![0];
        for net in 0..nets.net_count() {
            offsets.push(offsets[net] + nets.pins(net).len().min(blocks as usize));
        }
        let last = offsets[nets.net_count()];
        let mut this = Self { offsets, counts: vec![0; nets.net_count()], blocks: vec![(0, 0); last] };
        for net in 0..nets.net_count() {
            nets.pins(net).iter().for_each(|&pin| this.enter(net as u32, block_of[pin as usize]));
        }
        this
    }

    fn of(&self, net: u32) -> &[(u32, u32)] {
        &self.blocks[self.offsets[net as usize]..][..self.counts[net as usize] as usize]
    }

    /// A pin of the net comes into a block.
    fn enter(&mut self, net: u32, block: u32) {
        let (start, count) = (self.offsets[net as usize], &mut self.counts[net as usize]);
        let row = &mut self.blocks[start..][..*count as usize];
        match row.iter_mut().find(|(other, _)| *other == block) {
            Some((_, pins)) => *pins += 1,
            None => {
                self.blocks[start + *count as usize] = (block, 1);
                *count += 1;
            }
        }
    }

    /// A pin of the net changes its block. It leaves first, so that a row has room for the block that it comes to.
    fn relocate(&mut self, net: u32, from: u32, to: u32) {
        let (start, count) = (self.offsets[net as usize], &mut self.counts[net as usize]);
        let row = &mut self.blocks[start..][..*count as usize];
        if let Some(at) = row.iter().position(|&(block, _)| block == from) {
            row[at].1 -= 1;
            if row[at].1 == 0 {
                row.swap(at, *count as usize - 1);
                *count -= 1;
            }
        }
        self.enter(net, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::{Partition, quality};

    /// The complete bipartite graph of three and six vertices, and a path through the six.
    fn graph() -> UndirectedGraph {
        let across = (0..3).flat_map(|a| (3..9).map(move |b| (a, b, 1)));
        UndirectedGraph::from_edges(9, across.chain((4..9).map(|b| (b - 1, b, 1))), None).unwrap()
    }

    fn partition(block_of: &[u32]) -> Partition {
        Partition { blocks: 3, block_of: block_of.to_vec() }
    }

    #[test]
    fn neighbourhoods_count_what_the_volume_counts() {
        let graph = graph();
        let nets = neighbourhoods(&graph).unwrap();
        for pattern in 0..3u32.pow(6) {
            let block_of: Vec<u32> = (0..9).map(|at| pattern / 3u32.pow(at % 6) % 3).collect();
            let partition = partition(&block_of);
            let volume = quality::communication_volume(&graph, &partition);
            assert_eq!(quality::connectivity(&nets, &partition), volume, "{block_of:?}");
        }
    }

    #[test]
    fn no_move_that_remains_lowers_the_volume_and_none_made_raised_it() {
        let graph = graph();
        // Tensors of unequal weight, one with a pin in every block.
        let pins = vec![0, 3, 4, 5, 1, 6, 7, 2, 8, 0, 1, 2, 3, 8];
        let tensors = Hypergraph::from_nets(9, vec![0, 4, 7, 9, 14], pins, Some(vec![5, 1, 9, 3]), None).unwrap();
        let request = PartitionRequest::new(3, 0.7, 0);
        for (nets, acyclic) in [(neighbourhoods(&graph).unwrap(), false), (tensors.clone(), false), (tensors, true)] {
            for pattern in 0..3u32.pow(6) {
                // The first vertices of a topological order are in earlier blocks, so that the partition is acyclic.
                let mut block_of: Vec<u32> = (0..9).map(|at| pattern / 3u32.pow(at % 6) % 3).collect();
                if acyclic {
                    block_of.sort_unstable();
                }
                let volume = |block_of: &[u32]| quality::connectivity(&nets, &partition(block_of));
                let fits = |block_of: &[u32]| {
                    (0..3).all(|block| block_of.iter().filter(|&&own| own == block).count() as u64 <= 6)
                };
                let leads_on = |block_of: &[u32]| {
                    graph.edges().all(|(a, b, _)| block_of[a.min(b) as usize] <= block_of[a.max(b) as usize])
                };
                if !fits(&block_of) {
                    continue;
                }
                let before = volume(&block_of);
                lower_volume(&graph, &nets, &request, acyclic, &mut block_of);
                let after = volume(&block_of);
                assert!(after <= before && fits(&block_of) && (!acyclic || leads_on(&block_of)), "{block_of:?}");
                for (vertex, to) in (0..9).flat_map(|vertex| (0..3).map(move |to| (vertex, to))) {
                    let mut moved = block_of.clone();
                    moved[vertex] = to;
                    let allowed = fits(&moved) && (!acyclic || leads_on(&moved));
                    assert!(!allowed || volume(&moved) >= after, "{block_of:?}: {vertex} to {to}");
                }
            }
        }
    }

    #[test]
    fn a_large_tensor_outweighs_many_small_ones() {
        // Vertex 2 between a tensor of 9 bytes from block 0 and three of 1 byte to block 1. The others have no room.
        let edges = [(0, 2, 1), (1, 2, 1), (2, 3, 1), (2, 4, 1), (2, 5, 1)];
        let graph = UndirectedGraph::from_edges(6, edges.into_iter(), Some(vec![6, 6, 1, 5, 5, 5])).unwrap();
        let pins = vec![0, 2, 2, 3, 2, 4, 2, 5];
        let nets = Hypergraph::from_nets(6, vec![0, 2, 4, 6, 8], pins, Some(vec![9, 1, 1, 1]), None).unwrap();
        let mut block_of = vec![0, 0, 1, 1, 1, 1];
        let request = PartitionRequest::new(2, 0.1, 0);
        lower_volume(&graph, &nets, &request, false, &mut block_of);
        assert_eq!(block_of, [0, 0, 0, 1, 1, 1]);
        let mut block_of = vec![0, 0, 0, 1, 1, 1];
        lower_volume(&graph, &neighbourhoods(&graph).unwrap(), &request, false, &mut block_of);
        assert_eq!(block_of, [0, 0, 1, 1, 1, 1], "each neighbour counts the same");
    }
}
