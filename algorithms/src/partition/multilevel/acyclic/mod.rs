//! Acyclic blocks: starts, and refinement by searches, moves of closed sets, and flows in turn.

mod closed_sets;
mod flow_refinement;
pub(super) mod for_nets;
mod max_flow;
mod order;
mod region;

use rayon::prelude::*;

use self::closed_sets::{ClosedSets, MoveConfig};
use self::flow_refinement::{FlowConfig, refine_by_flows};
use self::order::{Arrangement, arranged_slabs};
use super::initial::starts::slabs;
use super::problem::Problem;
use super::refinement::Scored;
use super::settings::Preset;
use super::solver::Solver;
use crate::partition::PartitionError;
use crate::partition::multilevel::structure::Structure;

/// How much effort acyclic blocks get.
#[derive(Clone, Copy, Debug)]
struct Effort {
    /// The number of changed orders whose slabs are refined: on large graphs, on medium ones, and on small ones.
    starts: [usize; 3],
    /// How many of them go on after a V-cycle. On small graphs all do.
    finalists: usize,
    /// Refinements by flows, each followed by a V-cycle, at most.
    turns: u32,
    flows: FlowConfig,
    moves: MoveConfig,
}

impl Effort {
    /// That of a preset; `None` if it has time for a V-cycle from slabs only.
    fn of(preset: Preset) -> Option<Self> {
        let flows = |rounds, reach, distance| FlowConfig { rounds, reach, least: 500, share: SHARES[0], distance };
        match preset {
            Preset::Fast => None,
            Preset::Default => Some(Self {
                starts: [1, 2, 8],
                finalists: 1,
                turns: 3,
                flows: flows(2, 32.0, 4),
                moves: MoveConfig { rounds: 2, patience: 3, together: 6 },
            }),
            Preset::Quality => Some(Self {
                starts: [2, 4, 8],
                finalists: 2,
                turns: 8,
                flows: flows(3, 64.0, 8),
                moves: MoveConfig { rounds: 3, patience: 10, together: 16 },
            }),
        }
    }
}

/// The orders to start from.
const ARRANGEMENTS: [Arrangement; 8] = {
    const fn natural(longest: f64) -> Arrangement {
        Arrangement { depth_first: false, longest }
    }
    const fn depth_first(longest: f64) -> Arrangement {
        Arrangement { depth_first: true, longest }
    }
    [
        natural(0.02),
        natural(0.005),
        natural(0.05),
        depth_first(0.02),
        natural(0.3),
        depth_first(0.1),
        depth_first(0.3),
        natural(1.0),
    ]
};

/// A graph with at least this many entries is large.
const LARGE: usize = 2_000_000;

/// In each turn, the share of a block that is free at most.
const SHARES: [f64; 3] = [0.6, 0.9, 0.3];

/// A turn that lowers the cut by a smaller share is the last.
const LITTLE: f64 = 0.0005;

/// Acyclic blocks, never worse than the slabs of the natural order.
pub(crate) fn partition(solver: &Solver<'_>, preset: Preset) -> Result<Scored, PartitionError> {
    let slabs = scored(solver, slabs(solver.problem)?.block_of);
    let found = match Effort::of(preset) {
        None => solver.cycle(&slabs.block_of, 0),
        Some(effort) => from_many_slabs(solver, &effort, &slabs),
    };
    Ok(if found.score <= slabs.score { found } else { slabs })
}

/// Refines the slabs of changed orders, and those of the natural order if all of these end worse.
fn from_many_slabs(solver: &Solver<'_>, effort: &Effort, slabs: &Scored) -> Scored {
    let Problem { graph, max_block_weights, request, .. } = solver.problem;
    let [large, medium, small] = effort.starts;
    let starts = match graph.entries() {
        _ if solver.is_small() => small,
        LARGE.. => large,
        _ => medium,
    };
    let begin = |&how: &Arrangement| {
        let start = arranged_slabs(graph, max_block_weights, how, &request.stop);
        solver.cycle(&start, 0)
    };
    let mut begun: Vec<Scored> = ARRANGEMENTS[..starts].par_iter().map(begin).collect();
    if !solver.is_small() {
        begun.sort_by_key(|begun| begun.score);
        begun.truncate(effort.finalists);
    }
    let found: Vec<Scored> = begun.into_par_iter().map(|begun| in_turns(solver, begun, effort)).collect();
    match found.into_iter().min_by_key(|found| found.score) {
        Some(best) if best.score <= slabs.score => best,
        // Some vertices may be heavy. The slabs themselves can only get better.
        _ => in_turns(solver, solver.cycle(&slabs.block_of, 0), effort),
    }
}

/// Moves of closed sets, flow refinement and V-cycles in turn.
fn in_turns(solver: &Solver<'_>, begun: Scored, effort: &Effort) -> Scored {
    let Problem { graph, max_block_weights, request, .. } = solver.problem;
    // A local search that reaches a hub touches most of the graph: skip it.
    let moves = (!graph.has_hubs()).then_some(effort.moves);
    let mut closed_sets = ClosedSets::default();
    let mut move_sets = |mut block_of: Vec<u32>| {
        if let Some(config) = &moves {
            closed_sets.refine(graph, max_block_weights, &mut block_of, config, &request.stop);
        }
        scored(solver, block_of)
    };
    let mut best = move_sets(begun.block_of);
    for turn in 0..effort.turns {
        let before = best.score;
        let share = SHARES[turn as usize % SHARES.len()];
        let flows = FlowConfig { share, ..effort.flows };
        refine_by_flows(graph, max_block_weights, &mut best.block_of, &flows, &request.stop);
        best = move_sets(best.block_of);
        let next = solver.cycle(&best.block_of, 1 + u64::from(turn));
        if next.score < best.score {
            best = next;
        }
        let gain = before.1 - best.score.1;
        let little = best.score.0 >= before.0 && gain as f64 <= LITTLE * before.1 as f64;
        // On small graphs all shares are tried.
        let enough = !solver.is_small() || turn as usize + 1 >= SHARES.len();
        if request.stop.is_stopped() || (little && enough) {
            break;
        }
    }
    best
}

fn scored(solver: &Solver<'_>, block_of: Vec<u32>) -> Scored {
    let graph = &solver.problem.graph;
    Scored { score: (solver.overload(graph, &block_of), graph.cut(&block_of)), block_of }
}
