//! How good a partition is: cut, communication volume, imbalance. Straight from the definitions, for all to be judged by.

use placebench_datasets::{DataflowGraph, Hypergraph, UndirectedGraph};

use super::Partition;

/// Sum of the weights of the edges between blocks.
///
/// # Complexity
/// O(vertices + edges).
pub fn edge_cut(graph: &UndirectedGraph, partition: &Partition) -> u64 {
    let mut cut = 0;
    for vertex in graph.vertices() {
        let own = partition.block_of[vertex as usize];
        let later = graph.edges_of(vertex).filter(|&(neighbour, _)| neighbour > vertex);
        cut += later.filter(|&(n, _)| partition.block_of[n as usize] != own).map(|(_, weight)| weight).sum::<u64>();
    }
    cut
}

/// Sum over the vertices of the number of other blocks in which they have neighbours: what is sent if each vertex's value
/// goes once to each block that needs it.
///
/// # Complexity
/// O(vertices + edges).
pub fn communication_volume(graph: &UndirectedGraph, partition: &Partition) -> u64 {
    let mut seen_by = vec![u32::MAX; partition.blocks as usize];
    let mut volume = 0;
    for vertex in graph.vertices() {
        seen_by[partition.block_of[vertex as usize] as usize] = vertex;
        for &neighbour in graph.neighbours(vertex) {
            let seen = &mut seen_by[partition.block_of[neighbour as usize] as usize];
            volume += u64::from(*seen != vertex);
            *seen = vertex;
        }
    }
    volume
}

/// Weight of each block.
///
/// # Complexity
/// O(vertices).
pub fn block_weights(graph: &UndirectedGraph, partition: &Partition) -> Vec<u64> {
    let mut weights = vec![0; partition.blocks as usize];
    for vertex in graph.vertices() {
        weights[partition.block_of[vertex as usize] as usize] += graph.vertex_weight(vertex);
    }
    weights
}

/// Largest block weight / (total weight / blocks) − 1; 0 for a graph without weight.
///
/// # Complexity
/// O(vertices).
pub fn imbalance(graph: &UndirectedGraph, partition: &Partition) -> f64 {
    let total = graph.total_vertex_weight();
    let largest = block_weights(graph, partition).into_iter().max().unwrap_or(0);
    if total == 0 { 0.0 } else { largest as f64 * f64::from(partition.blocks) / total as f64 - 1.0 }
}

/// Sum over the nets of weight · (blocks that the net's pins are in − 1): the connectivity metric. Of a dataflow graph's
/// tensors it is the bytes that move between blocks, each tensor sent once to each block that needs it.
///
/// # Complexity
/// O(pins + vertices + blocks).
pub fn connectivity(hypergraph: &Hypergraph, partition: &Partition) -> u64 {
    let blocks_of = blocks_of_nets(hypergraph, partition);
    blocks_of.map(|(net, blocks)| hypergraph.net_weight(net) * blocks.saturating_sub(1)).sum()
}

/// Sum of the weights of the nets with pins in more than one block.
///
/// # Complexity
/// O(pins + vertices + blocks).
pub fn cut_nets(hypergraph: &Hypergraph, partition: &Partition) -> u64 {
    let blocks_of = blocks_of_nets(hypergraph, partition);
    blocks_of.filter(|&(_, blocks)| blocks > 1).map(|(net, _)| hypergraph.net_weight(net)).sum()
}

/// Each net with the number of blocks that its pins are in.
fn blocks_of_nets(hypergraph: &Hypergraph, partition: &Partition) -> impl Iterator<Item = (usize, u64)> {
    let mut last_net_in = vec![usize::MAX; partition.blocks as usize];
    (0..hypergraph.net_count()).map(move |net| {
        let mut blocks = 0;
        for &pin in hypergraph.pins(net) {
            let last = &mut last_net_in[partition.block_of[pin as usize] as usize];
            blocks += u64::from(*last != net);
            *last = net;
        }
        (net, blocks)
    })
}

/// Whether the blocks of a dataflow graph's ops depend on each other without a cycle, so that whole blocks could be
/// executed one after the other. `block_of_op` has numbers below `blocks`.
///
/// # Complexity
/// O(edges · log edges + blocks).
pub fn is_acyclic(graph: &DataflowGraph, block_of_op: &[u32], blocks: u32) -> bool {
    let between = graph.edges().map(|(source, edge)| (block_of_op[source.index()], block_of_op[edge.op.index()]));
    let mut arcs: Vec<(u32, u32)> = between.filter(|(from, to)| from != to).collect();
    arcs.sort_unstable();
    arcs.dedup();
    let mut entering = vec![0u32; blocks as usize];
    for &(_, to) in &arcs {
        entering[to as usize] += 1;
    }
    let mut free: Vec<u32> = (0..blocks).filter(|&block| entering[block as usize] == 0).collect();
    let mut done = 0;
    while let Some(block) = free.pop() {
        done += 1;
        let first = arcs.partition_point(|&(from, _)| from < block);
        for &(_, to) in arcs[first..].iter().take_while(|(from, _)| *from == block) {
            entering[to as usize] -= 1;
            if entering[to as usize] == 0 {
                free.push(to);
            }
        }
    }
    done == blocks
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{GraphBuilder, OpSpec};

    use super::*;

    #[test]
    fn a_hand_counted_partition() {
        // A path 0-1-2-3 with weights 1, 5, 2 and an edge 0-3 of weight 7; blocks {0, 1}, {2}, {3}.
        let edges = [(0, 1, 1), (1, 2, 5), (2, 3, 2), (0, 3, 7)];
        let graph = UndirectedGraph::from_edges(4, edges.into_iter(), Some(vec![1, 1, 1, 3])).unwrap();
        let partition = Partition { blocks: 3, block_of: vec![0, 0, 1, 2] };
        assert_eq!(edge_cut(&graph, &partition), 14);
        // 0 → block 2; 1 → block 1; 2 → blocks 0, 2; 3 → blocks 0, 1.
        assert_eq!(communication_volume(&graph, &partition), 6);
        assert_eq!(block_weights(&graph, &partition), [2, 1, 3]);
        assert_eq!(imbalance(&graph, &partition), 0.5);
    }

    #[test]
    fn hand_counted_nets() {
        // Blocks {0, 1}, {2}, {3}; nets {0, 1} of 4, {0, 1, 2} of 5, {0, 2, 3} of 7, {3} of 9.
        let pins = vec![0, 1, 0, 1, 2, 0, 2, 3, 3];
        let nets = Hypergraph::from_nets(4, vec![0, 2, 5, 8, 9], pins, Some(vec![4, 5, 7, 9]), None).unwrap();
        let partition = Partition { blocks: 3, block_of: vec![0, 0, 1, 2] };
        assert_eq!(connectivity(&nets, &partition), 5 + 2 * 7);
        assert_eq!(cut_nets(&nets, &partition), 5 + 7);
        let whole = Partition { blocks: 1, block_of: vec![0; 4] };
        assert_eq!((connectivity(&nets, &whole), cut_nets(&nets, &whole)), (0, 0));
    }

    #[test]
    fn blocks_that_depend_on_each_other_are_told() {
        let mut builder = GraphBuilder::default();
        let ops = [(); 4].map(|()| builder.add_op(OpSpec::cost(1.0), &[1]));
        for (a, b) in [(0, 1), (1, 2), (0, 3)] {
            builder.add_edge(ops[a], 0, ops[b]).unwrap();
        }
        let graph = builder.build().unwrap();
        assert!(is_acyclic(&graph, &[0, 0, 1, 2], 3));
        assert!(is_acyclic(&graph, &[3, 1, 0, 1], 5), "any numbers, and empty blocks");
        assert!(!is_acyclic(&graph, &[0, 1, 0, 1], 2));
    }
}
