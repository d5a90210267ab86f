//! The levels of a leveled graph: how many ops each has, and between which ops its edges run.

use std::ops::Range;

use super::params::LeveledParams;
use crate::error::GeneratorError;
use crate::random::{Purpose, below, stream};

/// The levels of a graph, with the parameters and the seed from which edges are drawn.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    pub(super) params: LeveledParams,
    pub(super) seed: u64,
    /// Largest number of levels that a level-based edge spans.
    pub(super) reach: u32,
    /// First op of each level, and the number of ops.
    pub(super) first_op: Vec<u32>,
}

impl Levels {
    /// Draws the number of ops of each level.
    ///
    /// # Errors
    /// If there are more ops than 32-bit ids can name.
    pub(super) fn draw(params: &LeveledParams, seed: u64) -> Result<Self, GeneratorError> {
        let first_op = draw_level_sizes(params, seed)?;
        Ok(Self { reach: params.level_edges.reach(params.levels), params: params.clone(), seed, first_op })
    }

    pub(super) fn count(&self) -> usize {
        self.first_op.len() - 1
    }

    pub(super) fn op_count(&self) -> usize {
        self.first_op[self.count()] as usize
    }

    /// The ops of a level.
    pub(super) fn ops(&self, level: usize) -> Range<u32> {
        self.first_op[level]..self.first_op[level + 1]
    }

    /// The level of an op.
    pub(super) fn level_of(&self, op: u32) -> u32 {
        self.first_op.partition_point(|&first| first <= op) as u32 - 1
    }

    /// A level with the numbers of edges that enter it.
    pub(super) fn shape(&self, level: usize, level_edges: u64, random_edges: u64) -> LevelShape {
        let ops = self.ops(level);
        LevelShape {
            level,
            first_op: ops.start,
            ops: ops.len() as u32,
            window_first: self.first_op[level.saturating_sub(self.reach as usize)],
            level_edges: level_edges as usize,
            random_edges: random_edges as usize,
        }
    }

    /// Sum of the decay's factors over all pairs of an op of the level and an op below.
    pub(super) fn decay_weight(&self, level: usize) -> f64 {
        let decay = self.params.level_edges.decay;
        let below: f64 = (1..=self.reach.min(level as u32))
            .map(|distance| decay.factor(distance) * self.ops(level - distance as usize).len() as f64)
            .sum();
        below * self.ops(level).len() as f64
    }
}

/// A level: its ops, and how many edges enter it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LevelShape {
    pub(super) level: usize,
    pub(super) first_op: u32,
    pub(super) ops: u32,
    /// First op of the lowest level from which level-based edges come.
    pub(super) window_first: u32,
    pub(super) level_edges: usize,
    pub(super) random_edges: usize,
}

impl LevelShape {
    pub(super) fn edge_count(&self) -> usize {
        self.level_edges + self.random_edges
    }

    /// Pairs that may get a level-based edge.
    pub(super) fn level_pairs(&self) -> u64 {
        u64::from(self.ops) * u64::from(self.first_op - self.window_first)
    }

    /// Pairs of an op of the level with an op below.
    pub(super) fn all_pairs(&self) -> u64 {
        u64::from(self.ops) * u64::from(self.first_op)
    }
}

/// Draws how many ops each level has; returns the first op of each, and the number of ops.
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
