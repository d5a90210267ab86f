//! Acyclic blocks: starts, and refinement by searches and by flows in turn.

use rayon::prelude::*;

use super::Work;
use super::arrange::arranged_slabs;
use super::graph::Weight;
use super::pairs::{FlowConfig, refine_by_flows};
use super::refine::Scored;
use super::settings::Preset;
use super::starts::Start;

/// How much effort acyclic blocks get.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Slabs of a changed order to start from; their number on graphs that are not small, and on small ones.
    starts: [usize; 2],
    /// Refinements by flows, each followed by a V-cycle, at most.
    turns: u32,
    flows: FlowConfig,
}

impl Effort {
    /// That of a preset; `None` if it has time for a V-cycle from slabs only.
    pub(crate) fn of(preset: Preset) -> Option<Self> {
        let flows = |rounds, reach, distance| FlowConfig { rounds, reach, least: 500, share: 0.6, distance };
        match preset {
            Preset::Fast => None,
            Preset::Default => Some(Self { starts: [1, 2], turns: 3, flows: flows(2, 32.0, 4) }),
            Preset::Quality => Some(Self { starts: [2, 4], turns: 8, flows: flows(3, 64.0, 8) }),
        }
    }
}

/// The stretches in which the order is changed, by start, as shares of the whole.
const STRETCHES: [f64; 4] = [0.02, 0.005, 0.05, 0.1];

/// Entries of a graph on which starts cost little.
const SMALL: usize = 2_000_000;

/// A turn that lowers the cut by a smaller share is the last.
const LITTLE: f64 = 0.0002;

impl<W: Weight> Work<'_, '_, W> {
    /// Acyclic blocks, never worse than the slabs.
    pub(crate) fn acyclic(&self, effort: Option<Effort>, slabs: Start) -> Scored {
        let slabs = self.scored(slabs.block_of);
        let found = match effort {
            None => self.cycle(&slabs.block_of, 0),
            Some(effort) => {
                let starts = effort.starts[usize::from(self.graph.entries() < SMALL)];
                let from = |longest: &f64| {
                    let start = arranged_slabs(self.graph, self.caps, *longest, &self.request.stop);
                    self.in_turns(&start, &effort)
                };
                let found: Vec<Scored> = STRETCHES[..starts].par_iter().map(from).collect();
                match found.into_iter().min_by_key(|found| found.score) {
                    Some(best) if best.score <= slabs.score => best,
                    // Heavy vertices, perhaps: from the slabs it can only get better.
                    _ => self.in_turns(&slabs.block_of, &effort),
                }
            }
        };
        if found.score <= slabs.score { found } else { slabs }
    }

    /// A V-cycle, then flows and V-cycles in turn.
    fn in_turns(&self, start: &[u32], effort: &Effort) -> Scored {
        let mut best = self.cycle(start, 0);
        for turn in 0..effort.turns {
            let before = best.score;
            refine_by_flows(self.graph, self.caps, &mut best.block_of, &effort.flows, &self.request.stop);
            best = self.scored(best.block_of);
            let next = self.cycle(&best.block_of, 1 + u64::from(turn));
            if next.score < best.score {
                best = next;
            }
            let gain = before.1 - best.score.1;
            if self.request.stop.is_stopped() || (best.score.0 >= before.0 && gain as f64 <= LITTLE * before.1 as f64) {
                break;
            }
        }
        best
    }

    fn scored(&self, block_of: Vec<u32>) -> Scored {
        Scored { score: (self.overload(self.graph, &block_of), self.graph.cut(&block_of)), block_of }
    }
}
