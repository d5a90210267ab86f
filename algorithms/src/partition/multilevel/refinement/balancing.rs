//! Rebalancing: vertices leave blocks that are too heavy, at the least loss for their weight.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::exchange::exchange;
use super::partitioned_graph::PartitionedGraph;
use crate::partition::multilevel::structure::Structure;
use crate::total::Total;

/// A vertex that could leave: the smaller the loss for its weight, the better; then the heavier, which is harder to place.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Leaver {
    loss_per_weight: Reverse<Total>,
    weight: i64,
    vertex: Reverse<u32>,
}

/// Where a vertex of an overloaded block would go: the block with room that it is most connected to, or else the one with
/// most room if it may go `anywhere`; and the loss.
fn refuge<S: Structure>(partition: &PartitionedGraph<'_, S>, vertex: u32, anywhere: bool) -> Option<(u32, i64)> {
    let own = partition.block_of[vertex as usize];
    if let Some(target) = partition.best_move(vertex) {
        return Some((target.block, -target.gain));
    }
    if !anywhere {
        return None;
    }
    let (first, last) = partition.graph.window(vertex, |other| partition.block_of[other as usize]);
    let room = |block: u32| partition.max_block_weights[block as usize] - partition.block_weights[block as usize];
    let roomiest = (0..partition.max_block_weights.len() as u32)
        .filter(|&block| block != own && (first..=last).contains(&block))
        .max_by_key(|&block| (room(block), Reverse(block)))?;
    (room(roomiest) >= partition.graph.weight(vertex)).then(|| (roomiest, partition.connection_to(vertex, own)))
}

/// Moves vertices out of the blocks that exceed what they may weigh, as far as others have room; to blocks that they are not
/// tied to only if they may go `anywhere`, which tears coarse vertices far from their neighbours. Then what is left is
/// exchanged for lighter vertices, too.
///
/// # Complexity
/// O(blocks · (vertices · log vertices)) at worst; nothing if no block is too heavy.
pub(crate) fn rebalance<S: Structure>(partition: &mut PartitionedGraph<'_, S>, anywhere: bool) {
    if partition.overload() == 0 {
        return;
    }
    for block in 0..partition.max_block_weights.len() as u32 {
        let excess = |partition: &PartitionedGraph<'_, S>| {
            partition.block_weights[block as usize] - partition.max_block_weights[block as usize]
        };
        if excess(partition) <= 0 {
            continue;
        }
        let leaver = |partition: &PartitionedGraph<'_, S>, vertex: u32| {
            let (_, loss) = refuge(partition, vertex, anywhere)?;
            let weight = partition.graph.weight(vertex);
            // A vertex without weight cannot help. Gains are worth most for many light vertices.
            let loss_per_weight = if loss > 0 { loss as f64 / weight as f64 } else { loss as f64 * weight as f64 };
            (weight > 0).then_some(Leaver {
                loss_per_weight: Reverse(Total(loss_per_weight)),
                weight,
                vertex: Reverse(vertex),
            })
        };
        let mut leavers: BinaryHeap<Leaver> = (0..partition.graph.len() as u32)
            .filter(|&vertex| partition.block_of[vertex as usize] == block)
            .filter_map(|vertex| leaver(partition, vertex))
            .collect();
        while excess(partition) > 0 {
            let Some(Leaver { loss_per_weight: Reverse(known), vertex: Reverse(vertex), .. }) = leavers.pop() else {
                break;
            };
            if partition.block_of[vertex as usize] != block {
                continue;
            }
            match leaver(partition, vertex) {
                Some(now) if now.loss_per_weight.0 > known => leavers.push(now),
                Some(_) => {
                    let Some((to, _)) = refuge(partition, vertex, anywhere) else { continue };
                    let mut woken = Vec::new();
                    partition.relocate(vertex, to, |partition, neighbour, _| {
                        if partition.block_of[neighbour as usize] == block {
                            woken.push(neighbour);
                        }
                    });
                    leavers.extend(woken.into_iter().filter_map(|neighbour| leaver(partition, neighbour)));
                }
                None => {}
            }
        }
    }
    if anywhere && partition.overload() > 0 {
        exchange(partition);
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::partition::multilevel::graph::Graph;

    #[test]
    fn the_vertex_that_loses_least_leaves_a_block_that_is_too_heavy() {
        // A path 0-1-2-3-4-5, all but the last in block 0.
        let graph = Graph {
            offsets: vec![0, 1, 3, 5, 7, 9, 10].into(),
            neighbours: Cow::Owned(vec![1, 0, 2, 1, 3, 2, 4, 3, 5, 4]),
            ..Graph::default()
        };
        let mut partition = PartitionedGraph::new(&graph, &[3, 3], vec![0, 0, 0, 0, 0, 1], |_| true);
        rebalance(&mut partition, true);
        assert_eq!(partition.block_of, [0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn blocks_without_edges_take_vertices_too() {
        let graph =
            Graph { offsets: vec![0; 7].into(), vertex_weights: vec![1, 2, 3, 1, 2, 3].into(), ..Graph::default() };
        let mut partition = PartitionedGraph::new(&graph, &[4, 4, 4], vec![0; 6], |_| true);
        rebalance(&mut partition, true);
        assert_eq!(partition.overload(), 0);
    }
}
