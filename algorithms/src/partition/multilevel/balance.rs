//! Rebalancing: vertices leave blocks that are too heavy, at the least loss for their weight.

use std::collections::BinaryHeap;

use super::graph::Weight;
use super::state::State;

/// A vertex that could leave: the smaller the loss for its weight, the better.
#[derive(PartialEq)]
struct Leaver {
    loss_per_weight: f64,
    vertex: u32,
}

impl Eq for Leaver {}

impl Ord for Leaver {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.loss_per_weight.total_cmp(&self.loss_per_weight).then(other.vertex.cmp(&self.vertex))
    }
}

impl PartialOrd for Leaver {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Where a vertex of an overloaded block would go: where it is tied most among the blocks with room, else where there is
/// most room; and the loss.
fn refuge<W: Weight>(state: &State<'_, '_, W>, vertex: u32) -> Option<(u32, i64)> {
    let own = state.block_of[vertex as usize];
    if let Some(target) = state.best_target(vertex) {
        return Some((target.block, -target.gain));
    }
    let (first, last) = state.graph.window(vertex, &state.block_of);
    let room = |block: u32| state.caps[block as usize] - state.loads[block as usize];
    let roomiest = (0..state.caps.len() as u32).filter(|&block| block != own && (first..=last).contains(&block)).max_by_key(|&block| {
        (room(block), std::cmp::Reverse(block))
    })?;
    (room(roomiest) >= state.graph.weight(vertex)).then(|| (roomiest, state.tie_to(vertex, own)))
}

/// Moves vertices out of the blocks that exceed what they may weigh, as far as others have room.
///
/// # Complexity
/// O(blocks · (vertices · log vertices)) at worst; nothing if no block is too heavy.
pub(crate) fn rebalance<W: Weight>(state: &mut State<'_, '_, W>) {
    if state.overload() == 0 {
        return;
    }
    for block in 0..state.caps.len() as u32 {
        let excess = |state: &State<'_, '_, W>| state.loads[block as usize] - state.caps[block as usize];
        if excess(state) <= 0 {
            continue;
        }
        let loss_per_weight = |state: &State<'_, '_, W>, vertex: u32| {
            let (_, loss) = refuge(state, vertex)?;
            let weight = state.graph.weight(vertex);
            // Lighter than nothing cannot help; gains are worth most for many light vertices.
            (weight > 0).then(|| if loss > 0 { loss as f64 / weight as f64 } else { loss as f64 * weight as f64 })
        };
        let mut leavers: BinaryHeap<Leaver> = (0..state.graph.len() as u32)
            .filter(|&vertex| state.block_of[vertex as usize] == block)
            .filter_map(|vertex| Some(Leaver { loss_per_weight: loss_per_weight(state, vertex)?, vertex }))
            .collect();
        while excess(state) > 0 {
            let Some(Leaver { loss_per_weight: known, vertex }) = leavers.pop() else { break };
            if state.block_of[vertex as usize] != block {
                continue;
            }
            match loss_per_weight(state, vertex) {
                Some(now) if now > known => leavers.push(Leaver { loss_per_weight: now, vertex }),
                Some(_) => {
                    let Some((to, _)) = refuge(state, vertex) else { continue };
                    let mut woken = Vec::new();
                    state.relocate(vertex, to, |state, neighbour| {
                        if state.block_of[neighbour as usize] == block {
                            woken.push(neighbour);
                        }
                    });
                    for neighbour in woken {
                        if let Some(loss_per_weight) = loss_per_weight(state, neighbour) {
                            leavers.push(Leaver { loss_per_weight, vertex: neighbour });
                        }
                    }
                }
                None => {}
            }
        }
    }
}
