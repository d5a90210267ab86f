//! Label propagation refinement: every boundary vertex moves to the block that it is tied to most, if that helps.

use super::graph::Weight;
use super::state::State;

/// Passes over the boundary until one moves nothing. Moves without gain are made where they level the blocks out.
/// The cut never rises. Returns by how much it fell.
pub(crate) fn propagate<W: Weight>(state: &mut State<'_, '_, W>, rounds: u32) -> i64 {
    let mut total = 0;
    let mut next = state.boundary();
    let mut queued = vec![false; state.graph.len()];
    for _ in 0..rounds {
        let now = std::mem::take(&mut next);
        if now.is_empty() {
            break;
        }
        for vertex in now {
            queued[vertex as usize] = false;
            let Some(target) = state.best_target(vertex) else { continue };
            let from = state.block_of[vertex as usize];
            let levels_out =
                state.loads[from as usize] - state.loads[target.block as usize] > state.graph.weight(vertex);
            if target.gain > 0 || (target.gain == 0 && levels_out) {
                total += target.gain;
                state.relocate(vertex, target.block, |_, neighbour| {
                    if !std::mem::replace(&mut queued[neighbour as usize], true) {
                        next.push(neighbour);
                    }
                });
            }
        }
    }
    total
}
