//! Exchanges between blocks: heavy vertices find no block with room for them, but one that gives a lighter vertex for them.

use super::partitioned_graph::PartitionedGraph;
use crate::partition::multilevel::structure::Structure;

/// Do not exchange vertices of larger graphs: they have light vertices to move.
const MANY: usize = 50_000;

/// Exchanges at most.
const MOST: usize = 200;

/// Vertices of another block that are considered in exchange for a vertex.
const TRIED: usize = 8;

/// Two vertices that change places.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    loss_per_weight: f64,
    /// By how much the block's excess falls.
    relief: i64,
    leaving: u32,
    coming: u32,
}

/// The vertices of each block, the lightest first.
struct Blocks(Vec<Vec<(i64, u32)>>);

impl Blocks {
    fn of<S: Structure>(partition: &PartitionedGraph<'_, S>) -> Self {
        let mut blocks = vec![Vec::new(); partition.max_block_weights.len()];
        for vertex in 0..partition.graph.len() as u32 {
            blocks[partition.block_of[vertex as usize] as usize].push((partition.graph.weight(vertex), vertex));
        }
        blocks.iter_mut().for_each(|block| block.sort_unstable());
        Self(blocks)
    }

    fn relocate(&mut self, entry: (i64, u32), from: u32, to: u32) {
        let from = &mut self.0[from as usize];
        let at = from.partition_point(|&other| other < entry);
        from.remove(at);
        let to = &mut self.0[to as usize];
        to.insert(to.partition_point(|&other| other < entry), entry);
    }
}

/// Exchanges vertices of blocks that exceed what they may weigh for lighter ones of blocks that have room for the
/// difference, at the least loss for it, as far as that goes; the overload never rises.
///
/// # Complexity
/// O(blocks · vertices of a block) an exchange.
pub(crate) fn exchange<S: Structure>(partition: &mut PartitionedGraph<'_, S>) {
    if partition.graph.len() > MANY || partition.graph.is_directed() {
        return;
    }
    let mut blocks = Blocks::of(partition);
    let mut left = MOST;
    for block in 0..partition.max_block_weights.len() as u32 {
        while left > 0 && partition.room(block) < 0 {
            let Some(Exchange { leaving, coming, .. }) = best_exchange(partition, &blocks, block) else { break };
            let other = partition.block_of[coming as usize];
            partition.relocate(leaving, other, |_, _, _| ());
            partition.relocate(coming, block, |_, _, _| ());
            blocks.relocate((partition.graph.weight(leaving), leaving), block, other);
            blocks.relocate((partition.graph.weight(coming), coming), other, block);
            left -= 1;
        }
    }
}

/// The exchange that relieves a block at the least loss for the weight, then the most.
fn best_exchange<S: Structure>(partition: &PartitionedGraph<'_, S>, blocks: &Blocks, block: u32) -> Option<Exchange> {
    let mut best: Option<Exchange> = None;
    for &(weight, leaving) in &blocks.0[block as usize] {
        for (other, others) in (0u32..).zip(&blocks.0) {
            if other == block || partition.room(other) <= 0 {
                continue;
            }
            let first = others.partition_point(|&(lighter, _)| lighter < weight - partition.room(other));
            let lighter = others[first..].iter().take(TRIED).take_while(|&&(lighter, _)| lighter < weight);
            let leaves = partition.connection_to(leaving, block) - partition.connection_to(leaving, other);
            for &(light, coming) in lighter {
                let comes = partition.connection_to(coming, other) - partition.connection_to(coming, block);
                let relief = (weight - light).min(-partition.room(block));
                let loss_per_weight =
                    (leaves + comes + S::cost_of_swap(partition, coming, leaving)) as f64 / relief as f64;
                let found = Exchange { loss_per_weight, relief, leaving, coming };
                let is_better = |best: Exchange| {
                    loss_per_weight.total_cmp(&best.loss_per_weight).then(best.relief.cmp(&relief)).is_lt()
                };
                if best.is_none_or(is_better) {
                    best = Some(found);
                }
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::balancing::rebalance;
    use super::*;
    use crate::partition::multilevel::graph::Graph;

    #[test]
    fn heavy_vertices_change_places_where_none_can_move() {
        // Blocks of 7 + 5 and 6 + 3 where 11 are allowed.
        let graph = Graph { offsets: vec![0; 5].into(), vertex_weights: vec![7, 5, 6, 3].into(), ..Graph::default() };
        let mut partition = PartitionedGraph::new(&graph, &[11, 11], vec![0, 0, 1, 1], |_| true);
        rebalance(&mut partition, false);
        assert_eq!(partition.overload(), 1);
        rebalance(&mut partition, true);
        assert_eq!((partition.overload(), partition.block_weights.iter().sum::<i64>()), (0, 21));
    }

    #[test]
    fn a_vertex_heavier_than_its_block_stays() {
        let graph = Graph { offsets: vec![0; 4].into(), vertex_weights: vec![20, 2, 1].into(), ..Graph::default() };
        let mut partition = PartitionedGraph::new(&graph, &[11, 11], vec![0, 1, 1], |_| true);
        exchange(&mut partition);
        assert_eq!(partition.block_of, [0, 1, 1]);
    }
}
