//! Multilevel partitioning: coarsen, partition the coarsest graph, uncoarsen and refine.

mod balance;
mod coarsen;
mod contract;
mod fm;
mod graph;
mod heap;
mod initial;
mod isolated;
mod propagate;
mod random;
mod refine;
mod starts;
mod state;

use std::str::FromStr;

use placebench_datasets::UndirectedGraph;

use self::coarsen::{CoarsenConfig, coarsen};
use self::fm::FmConfig;
use self::graph::Weight;
use self::initial::{InitialConfig, recursive_bisection};
use self::isolated::set_aside;
use self::random::Random;
use self::refine::{Effort, uncoarsen};
use self::starts::best_start;
use super::{Partition, PartitionError, Partitioner, Request};

/// How much time a partition may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Label propagation only.
    Fast,
    /// Hill-climbing at every level.
    Default,
    /// Finer coarsening, wider searches, V-cycles.
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
struct Settings {
    /// Vertices a block of the coarsest graph.
    target_per_block: usize,
    max_members: u32,
    trials: u32,
    initial: Effort,
    effort: Effort,
    cycles: u32,
}

impl Settings {
    fn of(preset: Preset, graph_len: usize, entries: usize) -> Self {
        let irregular = entries > 0 && graph_len > 0;
        let fm = |rounds, seeds, patience| FmConfig { rounds, min_improvement: 0.002, seeds, patience };
        let _ = irregular;
        let env = |name: &str, default: f64| std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default);
        match preset {
            Preset::Fast => Self {
                target_per_block: env("PT", 40.0) as usize,
                max_members: env("PM", 4.0) as u32,
                trials: env("PI", 4.0) as u32,
                initial: Effort { propagation: 2, fm: Some(fm(2, 1_000_000, 50)) },
                effort: Effort { propagation: env("PL", 4.0) as u32, fm: None },
                cycles: env("PV", 0.0) as u32,
            },
            Preset::Default => Self {
                target_per_block: env("PT", 40.0) as usize,
                max_members: env("PM", 2.0) as u32,
                trials: env("PI", 8.0) as u32,
                initial: Effort { propagation: 2, fm: Some(fm(3, 1_000_000, 100)) },
                effort: Effort { propagation: env("PL", 2.0) as u32, fm: Some(fm(env("PR", 2.0) as u32, env("PS", 20.0) as usize, env("PP", 50.0) as u32)) },
                cycles: env("PV", 0.0) as u32,
            },
            Preset::Quality => Self {
                target_per_block: env("PT", 80.0) as usize,
                max_members: env("PM", 2.0) as u32,
                trials: env("PI", 16.0) as u32,
                initial: Effort { propagation: 2, fm: Some(fm(5, 1_000_000, 100)) },
                effort: Effort { propagation: env("PL", 2.0) as u32, fm: Some(fm(env("PR", 10.0) as u32, env("PS", 5.0) as usize, env("PP", 150.0) as u32)) },
                cycles: env("PV", 2.0) as u32,
            },
        }
    }
}

/// Multilevel k-way partitioning.
#[derive(Clone, Copy, Debug)]
pub struct Multilevel {
    /// Time against quality.
    pub preset: Preset,
}

impl Partitioner for Multilevel {
    fn partition(&self, graph: &UndirectedGraph, request: &Request) -> Result<Partition, PartitionError> {
        request.check()?;
        let total_edges = graph.total_edge_weight();
        let narrow = u64::from(u32::MAX);
        let block_of = if graph.total_vertex_weight() <= narrow && total_edges <= narrow / 2 {
            self.run::<u32>(graph, request)?
        } else {
            self.run::<u64>(graph, request)?
        };
        Ok(Partition { blocks: request.blocks, block_of })
    }
}

impl Multilevel {
    fn run<W: Weight>(&self, graph: &UndirectedGraph, request: &Request) -> Result<Vec<u32>, PartitionError> {
        let total = graph.total_vertex_weight();
        let caps: Vec<i64> = (0..request.blocks).map(|block| request.capacity(block, total) as i64).collect();
        let least_slack = (0..request.blocks).map(|block| self.slack(request, block, total)).min().unwrap_or(0);
        let split = set_aside::<W>(graph, least_slack.max(1));
        let working = &split.graph;
        let settings = Settings::of(self.preset, working.len(), working.entries());
        let stop = &request.stop;
        let mut random = Random::new(request.seed, 0);
        let target = (settings.target_per_block * caps.len()).max(2000);
        let max_weight = (working.total_weight() as f64 * 1.5 / target as f64).ceil() as i64;
        let coarsening = CoarsenConfig { target, max_weight, max_members: settings.max_members };
        let time = std::time::Instant::now();
        let (levels, _) = coarsen(working, &coarsening, None, stop);
        let verbose = std::env::var("PDEBUG").is_ok();
        if verbose {
            for level in &levels {
                eprintln!("  {} {}", level.graph.len(), level.graph.entries());
            }
            eprintln!("coarsen {:?}", time.elapsed());
        }
        let coarsest = levels.last().map_or(working, |level| &level.graph);
        let initial = InitialConfig {
            epsilon: request.epsilon,
            trials: settings.trials,
            max_members: settings.max_members,
            effort: &settings.initial,
            seed: random.next(),
        };
        let mut blocks = recursive_bisection(coarsest, &caps, &initial, stop);
        let cut = coarsest.cut(&blocks);
        if verbose {
            eprintln!("initial {:?} cut {}", time.elapsed(), cut);
        }
        let start = best_start(graph, working, split.kept.as_deref(), &caps, request)?;
        if verbose {
            eprintln!("start {:?} cut {:?}", time.elapsed(), start.as_ref().map(|s|s.cut));
        }
        let mut levels = levels;
        if let Some(start) = start.filter(|start| start.cut < cut) {
            let (better_levels, coarse) = coarsen(working, &coarsening, Some(&start.block_of), stop);
            levels = better_levels;
            blocks = coarse.unwrap_or_default();
        }
        let mut blocks = uncoarsen(working, &levels, &caps, blocks, &settings.effort, &mut random, stop);
        drop(levels);
        if verbose {
            eprintln!("uncoarsen {:?} cut {}", time.elapsed(), working.cut(&blocks));
        }
        for _ in 0..settings.cycles {
            let (levels, coarse) = coarsen(working, &coarsening, Some(&blocks), stop);
            let coarse = coarse.unwrap_or_default();
            blocks = uncoarsen(working, &levels, &caps, coarse, &settings.effort, &mut random, stop);
            if verbose {
                eprintln!("cycle {:?} cut {}", time.elapsed(), working.cut(&blocks));
            }
        }
        if stop.is_stopped() { Err(PartitionError::Stopped) } else { Ok(split.complete(graph, &caps, blocks)) }
    }

    /// What a block tolerates above its share, rounded down.
    fn slack(&self, request: &Request, block: u32, total: u64) -> u64 {
        let exact = Request { epsilon: 0.0, ..request.clone() }.capacity(block, total);
        request.capacity(block, total).saturating_sub(exact)
    }
}
