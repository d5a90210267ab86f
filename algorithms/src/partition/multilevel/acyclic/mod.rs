//! Acyclic blocks: starts, and refinement by searches, moves of closed sets, and flows in turn.

mod closed_sets;
mod flow_refinement;
pub(crate) mod max_flow;
mod order;
mod region;

use rayon::prelude::*;

use self::closed_sets::{PullConfig, Pulls};
use self::flow_refinement::{FlowConfig, refine_by_flows};
use self::order::{Arrangement, arranged_slabs};
use super::Work;
use super::graph::Weight;
use super::initial::starts::Start;
use super::refinement::Scored;
use super::settings::Preset;

/// How much effort acyclic blocks get.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Slabs of changed orders to start from; their number on large graphs, on others, and on small ones.
    starts: [usize; 3],
    /// Those of them that go on after a V-cycle. On small graphs all do.
    finalists: usize,
    /// Refinements by flows, each followed by a V-cycle, at most.
    turns: u32,
    flows: FlowConfig,
    pulls: PullConfig,
}

impl Effort {
    /// That of a preset; `None` if it has time for a V-cycle from slabs only.
    pub(crate) fn of(preset: Preset) -> Option<Self> {
        let flows = |rounds, reach, distance| FlowConfig { rounds, reach, least: 500, share: SHARES[0], distance };
        match preset {
            Preset::Fast => None,
            Preset::Default => Some(Self {
                starts: [1, 2, 8],
                finalists: 1,
                turns: 3,
                flows: flows(2, 32.0, 4),
                pulls: PullConfig { rounds: 2, patience: 3, together: 6 },
            }),
            Preset::Quality => Some(Self {
                starts: [2, 4, 8],
                finalists: 2,
                turns: 8,
                flows: flows(3, 64.0, 8),
                pulls: PullConfig { rounds: 3, patience: 10, together: 16 },
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

/// Entries from which on a graph is large.
const LARGE: usize = 2_000_000;

/// The share of a block that is free at most, by turns.
const SHARES: [f64; 3] = [0.6, 0.9, 0.3];

/// A turn that lowers the cut by a smaller share is the last.
const LITTLE: f64 = 0.0005;

impl<W: Weight> Work<'_, '_, W> {
    /// Acyclic blocks, never worse than the slabs.
    pub(crate) fn acyclic(&self, effort: Option<Effort>, slabs: Start) -> Scored {
        let slabs = self.scored(slabs.block_of);
        let found = match effort {
            None => self.cycle(&slabs.block_of, 0),
            Some(effort) => {
                let [large, medium, small] = effort.starts;
                let large = if self.graph.entries() >= LARGE { large } else { medium };
                let starts = if self.is_small() { small } else { large };
                let from = |&how: &Arrangement| {
                    let start = arranged_slabs(self.graph, self.caps, how, &self.request.stop);
                    self.cycle(&start, 0)
                };
                let mut begun: Vec<Scored> = ARRANGEMENTS[..starts].par_iter().map(from).collect();
                if !self.is_small() {
                    begun.sort_by_key(|begun| begun.score);
                    begun.truncate(effort.finalists);
                }
                let found: Vec<Scored> = begun.into_par_iter().map(|begun| self.in_turns(begun, &effort)).collect();
                match found.into_iter().min_by_key(|found| found.score) {
                    Some(best) if best.score <= slabs.score => best,
                    // Heavy vertices, perhaps: from the slabs it can only get better.
                    _ => self.in_turns(self.cycle(&slabs.block_of, 0), &effort),
                }
            }
        };
        if found.score <= slabs.score { found } else { slabs }
    }

    /// Moves of closed sets, flows and V-cycles in turn.
    fn in_turns(&self, begun: Scored, effort: &Effort) -> Scored {
        // Searches from single vertices soon meet a hub, and then know everyone.
        let pulls = (!self.graph.has_hubs()).then_some(effort.pulls);
        let mut pulling = Pulls::default();
        let mut pull = |mut block_of: Vec<u32>| {
            if let Some(config) = &pulls {
                pulling.refine(self.graph, self.caps, &mut block_of, config, &self.request.stop);
            }
            self.scored(block_of)
        };
        let mut best = pull(begun.block_of);
        for turn in 0..effort.turns {
            let before = best.score;
            let share = SHARES[turn as usize % SHARES.len()];
            let flows = FlowConfig { share, ..effort.flows };
            refine_by_flows(self.graph, self.caps, &mut best.block_of, &flows, &self.request.stop);
            best = pull(best.block_of);
            let next = self.cycle(&best.block_of, 1 + u64::from(turn));
            if next.score < best.score {
                best = next;
            }
            let gain = before.1 - best.score.1;
            let little = best.score.0 >= before.0 && gain as f64 <= LITTLE * before.1 as f64;
            // On small graphs all shares are tried.
            let enough = !self.is_small() || turn as usize + 1 >= SHARES.len();
            if self.request.stop.is_stopped() || (little && enough) {
                break;
            }
        }
        best
    }

    fn scored(&self, block_of: Vec<u32>) -> Scored {
        Scored { score: (self.overload(self.graph, &block_of), self.graph.cut(&block_of)), block_of }
    }
}
