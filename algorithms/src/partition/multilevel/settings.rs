//! Presets: what time buys.

use std::str::FromStr;

use super::fm::FmConfig;
use super::refine::Effort;

/// How much time a partition may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Coarse clusters, label propagation, and hill-climbing with one search for the whole boundary.
    Fast,
    /// Hill-climbing also from each boundary vertex of its own, twice a level.
    Default,
    /// Many such passes, several initial partitions carried to the end, and V-cycles.
    Quality,
}

impl FromStr for Preset {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "fast" => Ok(Self::Fast),
            "default" => Ok(Self::Default),
            "quality" => Ok(Self::Quality),
            _ => Err(()),
        }
    }
}

/// What a preset stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Coarsening ends at so many vertices a block.
    pub(crate) target_per_block: usize,
    /// Vertices that may join in one step of coarsening.
    pub(crate) max_members: u32,
    /// Greedy growings tried in each bisection of the coarsest graph.
    pub(crate) trials: u32,
    /// As many on small graphs, of which several runs differ by more.
    pub(crate) trials_if_small: u32,
    /// Initial partitions carried to the finest level, of which the best counts.
    pub(crate) runs: u64,
    /// As many where a run costs little.
    pub(crate) runs_if_small: u64,
    /// V-cycles: coarsening within the blocks and refining again.
    pub(crate) cycles: u32,
    /// Refinement within a bisection of the coarsest graph.
    pub(crate) initial: Effort,
    /// Refinement at each level.
    pub(crate) effort: Effort,
}

impl Preset {
    pub(crate) fn settings(self) -> Settings {
        let global = |rounds, patience| Some(FmConfig { rounds, min_improvement: 0.002, seeds: usize::MAX, patience });
        let local = |rounds, patience| Some(FmConfig { rounds, min_improvement: 0.002, seeds: 1, patience });
        let initial =
            Effort { balance_anywhere: false, propagation: 2, global: global(3, 100), local: None, local_share: 1.0 };
        let shared = Settings {
            target_per_block: 40,
            max_members: 8,
            trials: 8,
            trials_if_small: 8,
            runs: 1,
            runs_if_small: 1,
            cycles: 0,
            initial,
            effort: initial,
        };
        match self {
            Self::Fast => {
                Settings { effort: Effort { balance_anywhere: true, global: global(1, 200), ..initial }, ..shared }
            }
            Self::Default => {
                let effort = Effort {
                    balance_anywhere: true,
                    propagation: 0,
                    global: global(2, 500),
                    local: local(2, 15),
                    local_share: 0.4,
                };
                Settings { trials: 16, runs_if_small: 3, effort, ..shared }
            }
            Self::Quality => {
                let effort = Effort {
                    balance_anywhere: true,
                    propagation: 0,
                    global: global(3, 5000),
                    local: local(10, 20),
                    local_share: 1.0,
                };
                Settings { trials: 32, trials_if_small: 16, runs: 2, runs_if_small: 4, cycles: 2, effort, ..shared }
            }
        }
    }
}
