//! Uncoarsening: a partition is carried from level to level, and refined at each.

mod balancing;
mod delta;
mod exchange;
pub(crate) mod fm;
pub(crate) mod gain_cache;
mod greedy;
mod label_propagation;
pub(crate) mod partitioned_graph;
mod pin_counts;
pub(crate) mod search;

use rayon::prelude::*;

use self::balancing::rebalance;
use self::fm::{Fm, FmConfig};
use self::label_propagation::propagate;
use self::partitioned_graph::{PartitionedGraph, Refined};
use super::coarsening::Level;
use super::random::Random;
use super::structure::Structure;
use crate::StopToken;

/// How much refinement a level gets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Whether balancing may move vertices to blocks that they have no edges into.
    pub(crate) balance_anywhere: bool,
    /// Rounds of label propagation.
    pub(crate) propagation: u32,
    /// Hill-climbing after it, with one search for the whole boundary.
    pub(crate) global: Option<FmConfig>,
    /// How often, at most, the same is then tried while blocks may be too heavy. After as many levels in a row on which that did
    /// not help, finer levels do without.
    pub(crate) loosened: u32,
    /// Hill-climbing after that, with a search from every few boundary vertices.
    pub(crate) local: Option<FmConfig>,
    /// If a larger share of the vertices is at a boundary, there are no local searches: they cost much and find little.
    /// Small graphs are exempt.
    pub(crate) local_share: f64,
}

/// Vertices that a thread takes at a time.
const LONG: usize = 16_384;

/// Vertices of a graph on which every refinement is cheap.
const SMALL: usize = 5000;

/// Balances, then lowers the cut. Returns whether loosened searches helped.
pub(crate) fn refine<S: Structure>(
    partition: &mut PartitionedGraph<'_, S>,
    effort: &Effort,
    random: &mut Random,
    stop: &StopToken,
) -> bool {
    rebalance(partition, effort.balance_anywhere);
    propagate(partition, effort.propagation);
    let mut fm = Fm::new(partition.graph.len());
    let mut helped = false;
    for (config, share) in [(&effort.global, 1.0), (&effort.local, effort.local_share)] {
        let Some(config) = config else { continue };
        if share < 1.0
            && partition.graph.len() > SMALL
            && partition.boundary().len() as f64 > share * partition.graph.len() as f64
        {
            continue;
        }
        fm.refine(partition, config, random, stop);
        if share == 1.0 && effort.loosened > 0 {
            helped = fm.refine_loosened(partition, config, effort.loosened, random, stop) > 0;
        }
    }
    helped
}

/// A partition of the finest graph.
pub(crate) struct Scored {
    /// By how much blocks exceed what they may weigh, then the cut.
    pub(crate) score: (i64, i64),
    pub(crate) block_of: Vec<u32>,
}

/// Carries a partition of the coarsest graph to the finest, refining at every level. Levels are freed as they are left.
pub(crate) fn uncoarsen<S: Structure>(
    finest: &S,
    mut levels: Vec<Level<S>>,
    max_block_weights: &[i64],
    coarsest: Vec<u32>,
    effort: &Effort,
    random: &mut Random,
    stop: &StopToken,
) -> Scored {
    let mut left: Option<(Refined, Vec<u32>)> = None;
    let (mut loosened, mut in_vain) = (effort.loosened, 0);
    let mut coarsest = Some(coarsest);
    loop {
        let graph: &S = levels.last().map_or(finest, |level| &level.graph);
        let mut partition = match left.take() {
            Some((coarse, cluster_of)) => {
                let block_of =
                    cluster_of.par_iter().with_min_len(LONG).map(|&cluster| coarse.block_of[cluster as usize]);
                let block_of = block_of.collect();
                PartitionedGraph::new(graph, max_block_weights, block_of, |vertex| {
                    coarse.boundary[cluster_of[vertex as usize] as usize]
                })
            }
            None => PartitionedGraph::new(graph, max_block_weights, coarsest.take().unwrap_or_default(), |_| true),
        };
        let balance_anywhere = effort.balance_anywhere && levels.is_empty();
        let helped = refine(&mut partition, &Effort { balance_anywhere, loosened, ..*effort }, random, stop);
        in_vain = if helped { 0 } else { in_vain + 1 };
        if in_vain >= effort.loosened {
            loosened = 0;
        }
        if levels.is_empty() {
            return Scored { score: (partition.overload(), partition.cut()), block_of: partition.block_of };
        }
        let refined = partition.finish();
        left = levels.pop().map(|level| (refined, level.cluster_of));
    }
}
