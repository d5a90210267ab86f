//! The plan of a leveled graph: how many ops and edges each level has, from which every level can be made alone.

use std::ops::Range;

use placebench_datasets::{Colocation, KindSet, OpId};
use rayon::prelude::*;

use super::colocation::draw_groups;
use super::edges::write_level;
use super::levels::{LevelShape, Levels};
use super::params::{Amount, Decay, LeveledParams};
use crate::counts::binomial;
use crate::error::GeneratorError;
use crate::pairs::Rows;
use crate::random::{Purpose, stream};
use crate::split::{split_by_weight, split_exactly};

/// Sizes, edge counts and colocation groups of a leveled graph, drawn from its parameters and a seed.
///
/// With a plan any level's ops and edges can be made alone, in any order and on any thread, and always come out the
/// same.
///
/// # Memory
/// 20 bytes a level, and with colocation 4 bytes an op and 4 a colocated op.
///
/// # Example
/// ```
/// use placebench_generator::{Amount, LeveledParams, LeveledPlan};
///
/// let mut params = LeveledParams::new(4, (10, 20));
/// params.random_edges = Amount::Count(25);
/// let plan = LeveledPlan::new(&params, 7).unwrap();
/// let counts: Vec<usize> = (0..4).map(|level| plan.edges_into(level).len()).collect();
/// assert_eq!(counts[0], 0);
/// assert_eq!(counts.iter().sum::<usize>(), 25);
/// ```
#[derive(Clone, Debug)]
pub struct LeveledPlan {
    pub(super) levels: Levels,
    /// Level-based and random edges into all levels before each, and in all.
    pub(super) first_edge: Vec<u64>,
    pub(super) random_edges: Vec<u64>,
    pub(super) colocation: Colocation,
    pub(super) group_kinds: Vec<KindSet>,
}

impl LeveledPlan {
    /// Draws sizes, counts and groups.
    ///
    /// # Errors
    /// If a parameter makes no sense, or more edges are asked for than the levels drawn have pairs.
    ///
    /// # Complexity
    /// O(levels · √(edges a level) + colocated ops); with a decay also O(levels · reach) for a count, and as making all
    /// level-based edges for a probability.
    pub fn new(params: &LeveledParams, seed: u64) -> Result<Self, GeneratorError> {
        params.check()?;
        let levels = Levels::draw(params, seed)?;
        params.colocation.check(levels.op_count() as u64)?;
        let colocation = draw_groups(&params.colocation, levels.op_count(), seed);
        let mut group_kinds = vec![KindSet::ALL; colocation.group_count()];
        params.kinds.fill(&mut stream(seed, Purpose::GroupKinds, 0), &mut group_kinds);
        let mut plan = Self { levels, first_edge: Vec::new(), random_edges: Vec::new(), colocation, group_kinds };
        let level_edges = plan.draw_level_edge_counts()?;
        plan.random_edges = plan.draw_random_edge_counts(&level_edges)?;
        let mut edges = 0;
        plan.first_edge = std::iter::once(0)
            .chain(level_edges.iter().zip(&plan.random_edges).map(|(&by_level, &random)| {
                edges += by_level + random;
                edges
            }))
            .collect();
        Ok(plan)
    }

    /// Number of levels.
    pub fn level_count(&self) -> usize {
        self.levels.count()
    }

    /// Number of ops.
    pub fn op_count(&self) -> usize {
        self.levels.op_count()
    }

    /// Number of edges.
    pub fn edge_count(&self) -> u64 {
        self.first_edge[self.level_count()]
    }

    /// Number of random long-range edges.
    pub fn random_edge_count(&self) -> u64 {
        self.random_edges.iter().sum()
    }

    /// The ids of the ops of a level: consecutive, and larger than those of all lower levels.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn level_ops(&self, level: usize) -> Range<u32> {
        self.levels.ops(level)
    }

    /// The colocation groups.
    pub fn colocation(&self) -> &Colocation {
        &self.colocation
    }

    /// The edges into the ops of a level as (source, target), ascending by target, then by source.
    ///
    /// # Panics
    /// If there is no such level.
    ///
    /// # Complexity
    /// O(e log e) for e edges, O(e) if they are few among the possible.
    pub fn edges_into(&self, level: usize) -> Vec<(OpId, OpId)> {
        let shape = self.shape(level);
        let mut ends = vec![0; shape.ops as usize];
        let mut sources = vec![0; shape.edge_count()];
        write_level(&mut Rows::default(), &self.levels, &shape, 0, &mut ends, &mut sources);
        let mut edges = Vec::with_capacity(sources.len());
        for (target, &end) in (shape.first_op..).zip(&ends) {
            edges.extend(sources[edges.len()..end as usize].iter().map(|&source| (OpId(source), OpId(target))));
        }
        edges
    }

    pub(super) fn shape(&self, level: usize) -> LevelShape {
        let edges = self.first_edge[level + 1] - self.first_edge[level];
        self.levels.shape(level, edges - self.random_edges[level], self.random_edges[level])
    }

    /// How many level-based edges enter each level.
    fn draw_level_edge_counts(&self) -> Result<Vec<u64>, GeneratorError> {
        let pairs: Vec<u64> =
            (0..self.level_count()).map(|level| self.levels.shape(level, 0, 0).level_pairs()).collect();
        let rng = &mut stream(self.levels.seed, Purpose::LevelEdgeCounts, 0);
        let edges = &self.levels.params.level_edges;
        match (edges.amount, edges.decay) {
            (Amount::Count(count), Decay::None) => split_exactly(rng, "level_edges.count", count, &pairs),
            (Amount::Probability(p), Decay::None) => Ok(pairs.iter().map(|&pairs| binomial(rng, pairs, p)).collect()),
            (Amount::Count(count), _) => {
                let weights: Vec<f64> =
                    (0..self.level_count()).into_par_iter().map(|level| self.levels.decay_weight(level)).collect();
                split_by_weight(rng, "level_edges.count", count, &pairs, &weights)
            }
            (Amount::Probability(p), _) => Ok((0..self.level_count())
                .into_par_iter()
                .map(|level| self.levels.decaying_edges(&self.levels.shape(level, 0, 0), p).len() as u64)
                .collect()),
        }
    }

    fn draw_random_edge_counts(&self, level_edges: &[u64]) -> Result<Vec<u64>, GeneratorError> {
        let pairs: Vec<u64> = level_edges
            .iter()
            .enumerate()
            .map(|(level, &taken)| self.levels.shape(level, 0, 0).all_pairs() - taken)
            .collect();
        let rng = &mut stream(self.levels.seed, Purpose::RandomEdgeCounts, 0);
        match self.levels.params.random_edges {
            Amount::Count(count) => split_exactly(rng, "random_edges.count", count, &pairs),
            Amount::Probability(p) => Ok(pairs.iter().map(|&pairs| binomial(rng, pairs, p)).collect()),
        }
    }
}
