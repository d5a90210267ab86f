//! Acyclic blocks judged by nets: many starts, each refined by V-cycles on nets, and by flows and moves of closed sets.
//!
//! Flows and closed sets look at edges. For a given partition, edges can be weighed so that their cut is what the nets
//! cost: the producer of a net has an edge to each consumer, and those in one block share the net's weight. What lowers
//! that cut mostly lowers the cost, too; what does not is dropped.

use rayon::prelude::*;

use super::closed_sets::ClosedSets;
use super::flow_refinement::{FlowConfig, refine_by_flows};
use super::order::{Arrangement, arranged_slabs_of_nets};
use super::{ARRANGEMENTS, Effort, LARGE, LITTLE, SHARES};
use crate::partition::PartitionError;
use crate::partition::multilevel::graph::Graph;
use crate::partition::multilevel::initial::starts::slabs;
use crate::partition::multilevel::nets::Nets;
use crate::partition::multilevel::problem::Problem;
use crate::partition::multilevel::refinement::Scored;
use crate::partition::multilevel::settings::Preset;
use crate::partition::multilevel::solver::Solver;
use crate::partition::multilevel::structure::Structure;

/// Acyclic blocks of low cost, from acyclic blocks `start`, from slabs of the natural order, and from slabs of changed
/// ones. Never worse than `start` or the slabs that cut the fewest edges.
pub(crate) fn partition(solver: &Solver<'_, Nets>, preset: Preset, start: Vec<u32>) -> Result<Scored, PartitionError> {
    let Problem { graph: nets, max_block_weights, request, .. } = solver.problem;
    let by_edges = slabs(solver.problem)?.block_of;
    let Some(order) = nets.order() else { return Ok(solver.improve(start)) };
    let star = nets.as_edges(order, &vec![0; nets.len()]);
    let effort = Effort::of(preset);
    let [large, medium, small] = effort.map_or([0; 3], |effort| effort.starts);
    let changed = match order.entries() {
        _ if solver.is_small() => small,
        LARGE.. => large,
        _ => medium,
    };
    let orders: Vec<Option<Arrangement>> =
        std::iter::once(None).chain(ARRANGEMENTS[..changed].iter().copied().map(Some)).collect();
    let slabs_of = |how: Option<Arrangement>| {
        let blocks = arranged_slabs_of_nets(nets, &star, max_block_weights, how, &request.stop);
        solver.improve(blocks)
    };
    let mut begun: Vec<Scored> = orders.into_par_iter().with_max_len(1).map(slabs_of).collect();
    begun.extend([start, by_edges].into_par_iter().map(|blocks| solver.improve(blocks)).collect::<Vec<_>>());
    begun.sort_by_key(|begun| begun.score);
    if !solver.is_small() {
        begun.truncate(effort.map_or(1, |effort| effort.finalists));
    }
    let found: Vec<Scored> = match &effort {
        None => begun,
        Some(effort) => begun.into_par_iter().map(|begun| in_turns(solver, order, begun, effort)).collect(),
    };
    found.into_iter().min_by_key(|found| found.score).ok_or(PartitionError::Stopped)
}

/// Flows and moves of closed sets, then V-cycles on nets, in turn.
fn in_turns(solver: &Solver<'_, Nets>, order: &Graph<'static>, begun: Scored, effort: &Effort) -> Scored {
    let Problem { graph: nets, max_block_weights, request, .. } = solver.problem;
    let has_hubs = order.has_hubs();
    let mut closed_sets = ClosedSets::default();
    let mut best = begun;
    for turn in 0..effort.turns {
        let mut block_of = best.block_of.clone();
        let flows = FlowConfig { share: SHARES[turn as usize % SHARES.len()], ..effort.flows };
        refine_by_flows(&nets.as_edges(order, &block_of), max_block_weights, &mut block_of, &flows, &request.stop);
        if !has_hubs {
            let edges = nets.as_edges(order, &block_of);
            closed_sets.refine(&edges, max_block_weights, &mut block_of, &effort.moves, &request.stop);
        }
        let next = solver.improve(block_of);
        let gain = best.score.1 - next.score.1;
        let little = next.score.0 >= best.score.0 && gain as f64 <= LITTLE * best.score.1 as f64;
        if next.score < best.score {
            best = next;
        }
        // On small graphs all shares are tried.
        let enough = !solver.is_small() || turn as usize + 1 >= SHARES.len();
        if request.stop.is_stopped() || (little && enough) {
            break;
        }
    }
    best
}
