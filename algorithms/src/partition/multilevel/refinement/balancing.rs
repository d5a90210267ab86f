//! Rebalancing: vertices leave blocks that are too heavy, at the least loss for their weight.

use std::collections::BinaryHeap;

use super::exchange::exchange;
use super::partitioned_graph::State;
use crate::partition::multilevel::graph::Weight;

/// A vertex that could leave: the smaller the loss for its weight, the better; then the heavier, which is harder to place.
#[derive(PartialEq)]
struct Leaver {
    loss_per_weight: f64,
    weight: i64,
    vertex: u32,
}

impl Eq for Leaver {}

impl Ord for Leaver {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let by_loss = other.loss_per_weight.total_cmp(&self.loss_per_weight);
        by_loss.then(self.weight.cmp(&other.weight)).then(other.vertex.cmp(&self.vertex))
    }
}

impl PartialOrd for Leaver {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Where a vertex of an overloaded block would go: where it is tied most among the blocks with room, else where there is
/// most room if it may go `anywhere`; and the loss.
fn refuge<W: Weight>(state: &State<'_, '_, W>, vertex: u32, anywhere: bool) -> Option<(u32, i64)> {
    let own = state.block_of[vertex as usize];
    if let Some(target) = state.best_target(vertex) {
        return Some((target.block, -target.gain));
    }
    if !anywhere {
        return None;
    }
    let (first, last) = state.graph.window(vertex, |other| state.block_of[other as usize]);
    let room = |block: u32| state.caps[block as usize] - state.loads[block as usize];
    let roomiest = (0..state.caps.len() as u32)
        .filter(|&block| block != own && (first..=last).contains(&block))
        .max_by_key(|&block| (room(block), std::cmp::Reverse(block)))?;
    (room(roomiest) >= state.graph.weight(vertex)).then(|| (roomiest, state.tie_to(vertex, own)))
}

/// Moves vertices out of the blocks that exceed what they may weigh, as far as others have room; to blocks that they are not
/// tied to only if they may go `anywhere`, which tears coarse vertices far from their neighbours. Then what is left is
/// exchanged for lighter vertices, too.
///
/// # Complexity
/// O(blocks · (vertices · log vertices)) at worst; nothing if no block is too heavy.
pub(crate) fn rebalance<W: Weight>(state: &mut State<'_, '_, W>, anywhere: bool) {
    if state.overload() == 0 {
        return;
    }
    for block in 0..state.caps.len() as u32 {
        let excess = |state: &State<'_, '_, W>| state.loads[block as usize] - state.caps[block as usize];
        if excess(state) <= 0 {
            continue;
        }
        let leaver = |state: &State<'_, '_, W>, vertex: u32| {
            let (_, loss) = refuge(state, vertex, anywhere)?;
            let weight = state.graph.weight(vertex);
            // Who weighs nothing cannot help; gains are worth most for many light vertices.
            let loss_per_weight = if loss > 0 { loss as f64 / weight as f64 } else { loss as f64 * weight as f64 };
            (weight > 0).then_some(Leaver { loss_per_weight, weight, vertex })
        };
        let mut leavers: BinaryHeap<Leaver> = (0..state.graph.len() as u32)
            .filter(|&vertex| state.block_of[vertex as usize] == block)
            .filter_map(|vertex| leaver(state, vertex))
            .collect();
        while excess(state) > 0 {
            let Some(Leaver { loss_per_weight: known, vertex, .. }) = leavers.pop() else { break };
            if state.block_of[vertex as usize] != block {
                continue;
            }
            match leaver(state, vertex) {
                Some(now) if now.loss_per_weight > known => leavers.push(now),
                Some(_) => {
                    let Some((to, _)) = refuge(state, vertex, anywhere) else { continue };
                    let mut woken = Vec::new();
                    state.relocate(vertex, to, |state, neighbour, _| {
                        if state.block_of[neighbour as usize] == block {
                            woken.push(neighbour);
                        }
                    });
                    leavers.extend(woken.into_iter().filter_map(|neighbour| leaver(state, neighbour)));
                }
                None => {}
            }
        }
    }
    if anywhere && state.overload() > 0 {
        exchange(state);
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::partition::multilevel::graph::Graph;

    #[test]
    fn whoever_loses_least_leaves_a_block_that_is_too_heavy() {
        // A path 0-1-2-3-4-5, all but the last in block 0.
        let graph = Graph::<u32> {
            offsets: vec![0, 1, 3, 5, 7, 9, 10].into(),
            neighbours: Cow::Owned(vec![1, 0, 2, 1, 3, 2, 4, 3, 5, 4]),
            ..Graph::default()
        };
        let mut state = State::new(&graph, &[3, 3], vec![0, 0, 0, 0, 0, 1], |_| true);
        rebalance(&mut state, true);
        assert_eq!(state.block_of, [0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn blocks_nobody_is_tied_to_take_vertices_too() {
        let graph = Graph::<u32> {
            offsets: vec![0; 7].into(),
            vertex_weights: vec![1, 2, 3, 1, 2, 3].into(),
            ..Graph::default()
        };
        let mut state = State::new(&graph, &[4, 4, 4], vec![0; 6], |_| true);
        rebalance(&mut state, true);
        assert_eq!(state.overload(), 0);
    }
}
