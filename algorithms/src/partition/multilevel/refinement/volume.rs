//! Refinement for communication volume: what is sent if each vertex's value goes once to each block that needs it.

use super::partitioned_graph::PartitionedGraph;
use crate::StopToken;
use crate::partition::multilevel::graph::Graph;
use crate::partition::multilevel::weights::Weights;

/// Passes over the boundary, at most.
const ROUNDS: u32 = 10;

/// Moves boundary vertices where that lowers the communication volume, or keeps it and lowers the number of edges cut, until
/// nothing does. The volume never rises.
pub(crate) fn lower_volume(
    graph: &Graph<'_>,
    max_block_weights: &[i64],
    block_of: Vec<u32>,
    stop: &StopToken,
) -> Vec<u32> {
    // Connections count neighbours, whatever their edges weigh.
    let counted = Graph { edge_weights: Weights::Ones, ..graph.clone() };
    let mut partition = PartitionedGraph::new(&counted, max_block_weights, block_of, |_| true);
    let mut candidates = Vec::new();
    for _ in 0..ROUNDS {
        let mut any = false;
        for vertex in partition.boundary() {
            if stop.is_stopped() {
                return partition.block_of;
            }
            let own = partition.block_of[vertex as usize];
            let weight = counted.weight(vertex);
            let (first, last) = counted.window(vertex, |other| partition.block_of[other as usize]);
            candidates.clear();
            candidates.extend(partition.connected_blocks(vertex).filter(|&block| {
                let fits =
                    partition.block_weights[block as usize] + weight <= partition.max_block_weights[block as usize];
                block != own && fits && (first..=last).contains(&block)
            }));
            let to_own = partition.connection_to(vertex, own);
            let score = |&block: &u32| {
                (change(&partition, vertex, block), to_own - partition.connection_to(vertex, block), block)
            };
            if let Some((volume, cut, block)) = candidates.iter().map(score).min()
                && (volume, cut) < (0, 0)
            {
                partition.relocate(vertex, block, |_, _, _| ());
                any = true;
            }
        }
        if !any {
            break;
        }
    }
    partition.block_of
}

/// By how much the volume would rise if the vertex moved to a block that it has edges into.
fn change(partition: &PartitionedGraph<'_, '_>, vertex: u32, to: u32) -> i64 {
    let from = partition.block_of[vertex as usize];
    // The vertex has neighbours in `to`: it no longer sends there, but to `from` if a neighbour stays behind.
    let mut change = i64::from(partition.connection_to(vertex, from) > 0) - 1;
    for &neighbour in partition.graph.neighbours(vertex) {
        let own = partition.block_of[neighbour as usize];
        change -= i64::from(own != from && partition.connection_to(neighbour, from) == 1);
        change += i64::from(own != to && partition.connection_to(neighbour, to) == 0);
    }
    change
}

#[cfg(test)]
mod tests {
    use super::*;

    fn volume(graph: &Graph<'_>, block_of: &[u32]) -> i64 {
        let foreign = |vertex: u32| {
            let near = graph.neighbours(vertex).iter().map(|&n| block_of[n as usize]);
            near.filter(|&block| block != block_of[vertex as usize]).collect::<std::collections::BTreeSet<u32>>().len()
        };
        (0..graph.len() as u32).map(|vertex| foreign(vertex) as i64).sum()
    }

    /// The complete bipartite graph of three and six vertices, and a path through the six.
    fn graph() -> Graph<'static> {
        let mut rows: Vec<Vec<(u32, u32)>> = vec![(3..9).map(|near| (near, 1)).collect(); 3];
        for at in 3..9u32 {
            let along = [at - 1, at + 1].into_iter().filter(|near| (3..9).contains(near));
            rows.push((0..3).chain(along).map(|near| (near, 1)).collect());
        }
        Graph::of_rows(&rows)
    }

    #[test]
    fn the_change_told_is_the_change_had() {
        let graph = graph();
        for pattern in 0..3u32.pow(6) {
            let block_of: Vec<u32> = (0..9).map(|at| pattern / 3u32.pow(at % 6) % 3).collect();
            let before = volume(&graph, &block_of);
            for vertex in 0..9 {
                let mut partition = PartitionedGraph::new(&graph, &[9, 9, 9], block_of.clone(), |_| true);
                let own = block_of[vertex as usize];
                let targets: Vec<u32> = partition.connected_blocks(vertex).filter(|&block| block != own).collect();
                let Some(&to) = targets.first() else { continue };
                let told = change(&partition, vertex, to);
                partition.relocate(vertex, to, |_, _, _| ());
                assert_eq!(volume(&graph, &partition.block_of) - before, told, "{block_of:?}: {vertex} to {to}");
            }
        }
    }

    #[test]
    fn the_volume_falls_within_capacity() {
        let graph = graph();
        let block_of = vec![0, 1, 2, 0, 1, 2, 0, 1, 2];
        let refined = lower_volume(&graph, &[5, 5, 5], block_of.clone(), &StopToken::default());
        assert!(volume(&graph, &refined) < volume(&graph, &block_of));
        assert!((0..3).all(|block| refined.iter().filter(|&&own| own == block).count() <= 5));
    }
}
