//! The plan of a leveled graph: how many ops and edges each level has, from which every level can be made alone.

use std::ops::Range;

use placebench_datasets::{Colocation, KindSet, OpId};
use rayon::prelude::*;

use super::colocation::draw_groups;
use super::edges::{LevelShape, Scratch};
use super::params::{Amount, Decay, LeveledParams};
use crate::counts::{binomial, hypergeometric};
use crate::error::GeneratorError;
use crate::random::{Purpose, Stream, below, stream};

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
    pub(super) params: LeveledParams,
    pub(super) seed: u64,
    /// Largest number of levels that a level-based edge spans.
    pub(super) reach: u32,
    /// First op of each level, and the number of ops.
    pub(super) first_op: Vec<u32>,
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
        let first_op = draw_level_sizes(params, seed)?;
        let ops = u64::from(first_op[first_op.len() - 1]);
        params.colocation.check_against(ops)?;
        let colocation = draw_groups(&params.colocation, ops as usize, seed);
        let mut group_kinds = vec![KindSet::ALL; colocation.group_count()];
        params.kinds.fill(&mut stream(seed, Purpose::GroupKinds, 0), &mut group_kinds);
        let mut plan = Self {
            reach: params.level_edges.reach(params.levels),
            params: params.clone(),
            seed,
            first_op,
            first_edge: Vec::new(),
            random_edges: Vec::new(),
            colocation,
            group_kinds,
        };
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
        self.first_op.len() - 1
    }

    /// Number of ops.
    pub fn op_count(&self) -> usize {
        self.first_op[self.level_count()] as usize
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
        self.first_op[level]..self.first_op[level + 1]
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
        Scratch::default().write_level(self, &shape, 0, &mut ends, &mut sources);
        let mut edges = Vec::with_capacity(sources.len());
        for (target, &end) in (shape.first_op..).zip(&ends) {
            edges.extend(sources[edges.len()..end as usize].iter().map(|&source| (OpId(source), OpId(target))));
        }
        edges
    }

    pub(super) fn shape(&self, level: usize) -> LevelShape {
        let edges = self.first_edge[level + 1] - self.first_edge[level];
        self.shape_with(level, edges - self.random_edges[level], self.random_edges[level])
    }

    fn shape_with(&self, level: usize, level_edges: u64, random_edges: u64) -> LevelShape {
        LevelShape {
            level,
            first_op: self.first_op[level],
            ops: self.first_op[level + 1] - self.first_op[level],
            window_first: self.first_op[level.saturating_sub(self.reach as usize)],
            level_edges: level_edges as usize,
            random_edges: random_edges as usize,
        }
    }

    /// How many level-based edges enter each level.
    fn draw_level_edge_counts(&self) -> Result<Vec<u64>, GeneratorError> {
        let pairs: Vec<u64> = (0..self.level_count()).map(|level| self.shape_with(level, 0, 0).level_pairs()).collect();
        let rng = &mut stream(self.seed, Purpose::LevelEdgeCounts, 0);
        let edges = &self.params.level_edges;
        match (edges.amount, edges.decay) {
            (Amount::Count(count), Decay::None) => split_exactly(rng, "level_edges.count", count, &pairs),
            (Amount::Probability(p), Decay::None) => Ok(pairs.iter().map(|&pairs| binomial(rng, pairs, p)).collect()),
            (Amount::Count(count), _) => {
                let weights: Vec<f64> =
                    (0..self.level_count()).into_par_iter().map(|level| self.level_weight(level)).collect();
                split_by_weight(rng, count, &pairs, &weights)
            }
            (Amount::Probability(p), _) => Ok((0..self.level_count())
                .into_par_iter()
                .map(|level| self.decaying_edges(&self.shape_with(level, 0, 0), p).len() as u64)
                .collect()),
        }
    }

    fn draw_random_edge_counts(&self, level_edges: &[u64]) -> Result<Vec<u64>, GeneratorError> {
        let pairs: Vec<u64> = level_edges
            .iter()
            .enumerate()
            .map(|(level, &taken)| self.shape_with(level, 0, 0).all_pairs() - taken)
            .collect();
        let rng = &mut stream(self.seed, Purpose::RandomEdgeCounts, 0);
        match self.params.random_edges {
            Amount::Count(count) => split_exactly(rng, "random_edges.count", count, &pairs),
            Amount::Probability(p) => Ok(pairs.iter().map(|&pairs| binomial(rng, pairs, p)).collect()),
        }
    }

    /// Sum of the decay's factors over all pairs of a level's ops and ops below.
    fn level_weight(&self, level: usize) -> f64 {
        let decay = self.params.level_edges.decay;
        let below: f64 = (1..=self.reach.min(level as u32))
            .map(|distance| decay.factor(distance) * self.level_ops(level - distance as usize).len() as f64)
            .sum();
        below * self.level_ops(level).len() as f64
    }
}

/// Draws the first op of each level.
fn draw_level_sizes(params: &LeveledParams, seed: u64) -> Result<Vec<u32>, GeneratorError> {
    let (min, max) = params.nodes_per_level;
    let rng = &mut stream(seed, Purpose::LevelSizes, 0);
    let levels = params.levels as usize;
    let mut sizes: Vec<u32> = (0..levels).map(|_| min + below(rng, u64::from(max - min) + 1) as u32).collect();
    let mut free: Vec<usize> = (0..levels).collect();
    if params.reach_bounds && levels > 1 {
        for size in [min, max] {
            let level = free.swap_remove(below(rng, free.len() as u64) as usize);
            sizes[level] = size;
        }
    }
    let sum = |sizes: &[u32]| sizes.iter().map(|&size| u64::from(size)).sum::<u64>();
    if let Some(nodes) = params.nodes {
        let drawn = sum(&sizes);
        let too_few = drawn < nodes;
        let full = if too_few { max } else { min };
        free.retain(|&level| sizes[level] != full);
        for _ in 0..drawn.abs_diff(nodes) {
            let position = below(rng, free.len() as u64) as usize;
            let size = &mut sizes[free[position]];
            *size = if too_few { *size + 1 } else { *size - 1 };
            if *size == full {
                free.swap_remove(position);
            }
        }
    }
    let ops = sum(&sizes);
    if ops >= u64::from(u32::MAX) {
        return Err(GeneratorError::TooLarge { ops, edges: 0 });
    }
    let mut first = 0;
    Ok(std::iter::once(0)
        .chain(sizes.into_iter().map(|size| {
            first += size;
            first
        }))
        .collect())
}

/// Splits `count` distinct pairs drawn uniformly from all pairs over the levels: a multivariate hypergeometric draw.
fn split_exactly(rng: &mut Stream, param: &'static str, count: u64, pairs: &[u64]) -> Result<Vec<u64>, GeneratorError> {
    let mut total: u64 = pairs.iter().sum();
    if count > total {
        return Err(GeneratorError::TooManyEdges { param, asked: count, possible: total });
    }
    let mut left = count;
    Ok(pairs
        .iter()
        .map(|&here| {
            let taken = hypergeometric(rng, total, here, left);
            total -= here;
            left -= taken;
            taken
        })
        .collect())
}

/// Splits `count` edges over the levels in proportion to their weights (multinomial); what a level has no pairs for goes
/// to the others.
fn split_by_weight(rng: &mut Stream, count: u64, pairs: &[u64], weights: &[f64]) -> Result<Vec<u64>, GeneratorError> {
    let possible: u64 = pairs.iter().sum();
    if count > possible {
        return Err(GeneratorError::TooManyEdges { param: "level_edges.count", asked: count, possible });
    }
    let mut taken = vec![0; pairs.len()];
    let mut left = count;
    while left > 0 {
        let mut open: f64 =
            (0..pairs.len()).filter(|&level| taken[level] < pairs[level]).map(|level| weights[level]).sum();
        let mut this_round = left;
        let mut last_open = None;
        for level in 0..pairs.len() {
            if taken[level] == pairs[level] {
                continue;
            }
            last_open = Some(level);
            let drawn = binomial(rng, this_round, weights[level] / open);
            this_round -= drawn;
            open -= weights[level];
            let fits = drawn.min(pairs[level] - taken[level]);
            taken[level] += fits;
            left -= fits;
        }
        // Rounding of `open` can leave a few at the end.
        if let Some(level) = last_open {
            let fits = this_round.min(pairs[level] - taken[level]);
            taken[level] += fits;
            left -= fits;
        }
    }
    Ok(taken)
}
