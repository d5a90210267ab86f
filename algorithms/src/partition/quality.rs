//! How good a partition is: cut, communication volume, imbalance. Straight from the definitions, for all to be judged by.

use placebench_datasets::UndirectedGraph;

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

#[cfg(test)]
mod tests {
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
}
