//! Presets: what time buys.

use super::refinement::Effort;
use super::refinement::fm::FmConfig;
use crate::Named;

/// How much time a partition may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Coarse clusters, label propagation, and hill-climbing with one search for the whole boundary.
    Fast,
    /// Hill-climbing also while blocks may be too heavy, and from each boundary vertex of its own, twice a level.
    Default,
    /// Many such passes, several initial partitions carried to the end, and V-cycles.
    Quality,
}

impl Named for Preset {
    const NAMES: &'static [(&'static str, Self)] =
        &[("fast", Self::Fast), ("default", Self::Default), ("quality", Self::Quality)];
}

/// What a preset stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Coarsening ends at this many vertices per block.
    pub(crate) target_per_block: usize,
    /// A bisection of the coarsest graph coarsens it further, to this many vertices.
    pub(crate) bisection_target: usize,
    /// Whether every run coarsens within communities. If not, every second one does, and only if the graph is small.
    pub(crate) always_communities: bool,
    /// Vertices that may join in one step of coarsening.
    pub(crate) max_members: u32,
    /// Greedy growings that each bisection of the coarsest graph tries.
    pub(crate) trials: u32,
    /// The same for small graphs. Their runs vary more, so more of them pay.
    pub(crate) trials_if_small: u32,
    /// Initial partitions that are refined up to the finest level, at most. The best one counts.
    pub(crate) runs: u64,
    /// The same for small graphs, where a run costs little.
    pub(crate) runs_if_small: u64,
    /// V-cycles: coarsening within the blocks and refining again.
    pub(crate) cycles: u32,
    /// Refinement within a bisection of the coarsest graph.
    pub(crate) initial: Effort,
    /// Refinement at each level.
    pub(crate) effort: Effort,
    /// Refinement at each level of a V-cycle.
    pub(crate) effort_again: Effort,
}

impl Preset {
    /// This preset and those that take less time, the quickest first.
    pub(crate) fn and_quicker(self) -> &'static [Self] {
        const ALL: [Preset; 3] = [Preset::Fast, Preset::Default, Preset::Quality];
        &ALL[..=self as usize]
    }

    pub(crate) fn settings(self) -> Settings {
        let search = |seeds, rounds, patience| {
            Some(FmConfig { rounds, min_improvement: 0.002, seeds, patience, worthwhile: 0.0 })
        };
        let global = |rounds, patience| search(usize::MAX, rounds, patience);
        let local = |rounds, patience| search(1, rounds, patience);
        let initial = Effort {
            balance_anywhere: false,
            propagation: 2,
            global: global(3, 100),
            loosened: 0,
            local: None,
            local_share: 1.0,
        };
        let shared = Settings {
            target_per_block: 40,
            bisection_target: 120,
            always_communities: false,
            max_members: 8,
            trials: 8,
            trials_if_small: 8,
            runs: 1,
            runs_if_small: 1,
            cycles: 0,
            initial,
            effort: initial,
            effort_again: initial,
        };
        match self {
            Self::Fast => {
                let global = global(1, 200).map(|global| FmConfig { worthwhile: 0.0003, ..global });
                Settings { effort: Effort { balance_anywhere: true, global, ..initial }, ..shared }
            }
            Self::Default => {
                let effort = Effort {
                    balance_anywhere: true,
                    propagation: 0,
                    global: global(2, 500).map(|global| FmConfig { worthwhile: 0.0002, ..global }),
                    loosened: 1,
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
                    loosened: 1,
                    local: local(10, 20),
                    local_share: 1.0,
                };
                // A longer search hardly ever finds something the second time.
                let effort_again = Effort { global: global(3, 1000), ..effort };
                let runs = Settings { runs: 2, runs_if_small: 4, cycles: 2, ..shared };
                Settings { trials: 32, trials_if_small: 16, effort, effort_again, ..runs }
            }
        }
    }

    /// The same for nets. They hold more vertices together than edges do: searches from the whole boundary pay for
    /// longer, and those that start where the structure of the finest level is known, in communities and with more
    /// vertices left.
    pub(crate) fn settings_for_nets(self) -> Settings {
        let settings =
            Settings { target_per_block: 160, bisection_target: 60, always_communities: true, ..self.settings() };
        match self {
            Self::Fast => settings,
            Self::Default => {
                let longer = |global| FmConfig { rounds: 4, patience: 2000, ..global };
                let global = settings.effort.global.map(longer);
                let effort = Effort { global, loosened: 2, ..settings.effort };
                let initial = Effort { loosened: 1, ..settings.initial };
                Settings { trials_if_small: 6, runs_if_small: 3, initial, effort, ..settings }
            }
            Self::Quality => {
                let effort = Effort { loosened: 2, ..settings.effort };
                Settings { runs_if_small: 4, effort, ..settings }
            }
        }
    }
}
