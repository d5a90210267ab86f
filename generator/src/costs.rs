//! Random weights and kind constraints of ops, for generated graphs and for others.

use std::ops::Range;

use placebench_datasets::{AssignmentUnits, DataflowGraph, Kind, KindSet, is_less};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Distribution;
use crate::error::{GeneratorError, check_probability};
use crate::random::{Purpose, Stream, stream, unit};

/// The distributions of an op's three weights. The default is L's: each uniform in 1..=100 (L §6.2).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// Cost of an op, in operations.
    pub ops: Distribution,
    /// Size of an output tensor, in bytes.
    pub tensor_bytes: Distribution,
    /// Resident memory of an op, in bytes.
    pub memory_bytes: Distribution,
}

impl Default for Costs {
    fn default() -> Self {
        let all = Distribution::UNIFORM_1_100;
        Self { ops: all, tensor_bytes: all, memory_bytes: all }
    }
}

impl Costs {
    pub(crate) fn check(&self) -> Result<(), GeneratorError> {
        for (param, distribution) in [
            ("costs.ops", self.ops),
            ("costs.tensor_bytes", self.tensor_bytes),
            ("costs.memory_bytes", self.memory_bytes),
        ] {
            distribution.check().map_err(|fault| {
                GeneratorError::bad(param, distribution, format!("a distribution with legal parameters ({fault})"))
            })?;
        }
        Ok(())
    }
}

/// The probabilities that an op may run on one kind of device only; the rest may run anywhere. The default constrains
/// no op.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KindProbabilities {
    /// Probability of an op for CPUs only.
    pub cpu: f64,
    /// Probability of an op for GPUs only.
    pub gpu: f64,
    /// Probability of an op for TPUs only.
    pub tpu: f64,
}

impl KindProbabilities {
    pub(crate) fn check(&self) -> Result<(), GeneratorError> {
        check_probability("kinds.cpu", self.cpu)?;
        check_probability("kinds.gpu", self.gpu)?;
        check_probability("kinds.tpu", self.tpu)?;
        let sum = self.cpu + self.gpu + self.tpu;
        if is_less(1.0, sum) {
            return Err(GeneratorError::bad(
                "kinds",
                format!("{sum} in sum"),
                "probabilities that add up to at most 1",
            ));
        }
        Ok(())
    }

    /// Draws a constraint for each slot.
    pub(crate) fn fill(&self, rng: &mut Stream, slots: &mut [KindSet]) {
        let sets = [KindSet::only(Kind::Cpu), KindSet::only(Kind::Gpu), KindSet::only(Kind::Tpu), KindSet::ALL];
        let ends = [self.cpu, self.cpu + self.gpu, self.cpu + self.gpu + self.tpu];
        if ends[2] == 0.0 {
            slots.fill(KindSet::ALL);
            return;
        }
        for slot in slots {
            let at = unit(rng);
            // Counting the bounds that are passed avoids a branch that the processor could not predict.
            *slot = sets[ends.iter().map(|&end| usize::from(at >= end)).sum::<usize>()];
        }
    }
}

/// Puts random weights, and with `kinds` random kind constraints, on the structure of any graph, as L did with the
/// graphs extracted from TensorFlow (L §6.2).
///
/// Structure, colocation, names, types and layers stay; measured times are dropped. Constraints are drawn once an
/// assignment unit, so that a colocation group never contradicts itself; without `kinds` the graph's own stay.
///
/// # Errors
/// If a distribution or probability is not legal.
///
/// # Complexity
/// O(ops + edges), for the copy of the structure; weights are drawn in parallel with the same result on any number of
/// threads.
pub fn redraw_costs(
    graph: &DataflowGraph,
    seed: u64,
    costs: &Costs,
    kinds: Option<&KindProbabilities>,
) -> Result<DataflowGraph, GeneratorError> {
    costs.check()?;
    let mut ops = vec![0.0; graph.op_count()];
    fill_blocks(&mut ops, |rng, slots| costs.ops.fill(rng, slots), seed, Purpose::Ops);
    let mut memory_bytes = vec![0; graph.op_count()];
    fill_blocks(&mut memory_bytes, |rng, slots| costs.memory_bytes.fill(rng, slots), seed, Purpose::MemoryBytes);
    let mut tensor_bytes = vec![0; graph.tensor_count()];
    fill_blocks(&mut tensor_bytes, |rng, slots| costs.tensor_bytes.fill(rng, slots), seed, Purpose::TensorBytes);
    let graph = graph.with_costs(ops, memory_bytes, tensor_bytes)?;
    let Some(kinds) = kinds else { return Ok(graph) };
    kinds.check()?;
    let units = AssignmentUnits::new(&graph);
    let mut unit_kinds = vec![KindSet::ALL; units.count()];
    fill_blocks(&mut unit_kinds, |rng, slots| kinds.fill(rng, slots), seed, Purpose::Kinds);
    let op_kinds = graph.op_ids().map(|op| unit_kinds[units.unit_of(op).index()]).collect();
    Ok(graph.with_kinds(op_kinds)?)
}

/// Fills a column block by block, each block from its own stream.
pub(crate) fn fill_blocks<T: Send>(
    column: &mut [T],
    fill: impl Fn(&mut Stream, &mut [T]) + Sync,
    seed: u64,
    purpose: Purpose,
) {
    const BLOCK: usize = 1 << 14;
    column.par_chunks_mut(BLOCK).enumerate().for_each(|(block, slots)| {
        fill(&mut stream(seed, purpose, block as u64), slots);
    });
}

/// The weight and constraint columns of consecutive ops.
pub(crate) struct OpColumns<'a> {
    pub(crate) ops: &'a mut [f64],
    pub(crate) memory_bytes: &'a mut [u64],
    pub(crate) tensor_bytes: &'a mut [u64],
    pub(crate) kinds: &'a mut [KindSet],
}

impl OpColumns<'_> {
    /// The columns of the ops in `range`, counted from the first op of these columns.
    pub(crate) fn part(&mut self, range: Range<usize>) -> OpColumns<'_> {
        OpColumns {
            ops: &mut self.ops[range.clone()],
            memory_bytes: &mut self.memory_bytes[range.clone()],
            tensor_bytes: &mut self.tensor_bytes[range.clone()],
            kinds: &mut self.kinds[range],
        }
    }

    /// The columns of the first `count` ops and those of the others.
    pub(crate) fn split(self, count: usize) -> (Self, Self) {
        let (ops, other_ops) = self.ops.split_at_mut(count);
        let (memory_bytes, other_memory_bytes) = self.memory_bytes.split_at_mut(count);
        let (tensor_bytes, other_tensor_bytes) = self.tensor_bytes.split_at_mut(count);
        let (kinds, other_kinds) = self.kinds.split_at_mut(count);
        let here = Self { ops, memory_bytes, tensor_bytes, kinds };
        let others = Self {
            ops: other_ops,
            memory_bytes: other_memory_bytes,
            tensor_bytes: other_tensor_bytes,
            kinds: other_kinds,
        };
        (here, others)
    }

    /// Draws the columns of the level `index`.
    pub(crate) fn draw(self, costs: &Costs, kinds: &KindProbabilities, seed: u64, index: u64) {
        costs.ops.fill(&mut stream(seed, Purpose::Ops, index), self.ops);
        costs.memory_bytes.fill(&mut stream(seed, Purpose::MemoryBytes, index), self.memory_bytes);
        costs.tensor_bytes.fill(&mut stream(seed, Purpose::TensorBytes, index), self.tensor_bytes);
        kinds.fill(&mut stream(seed, Purpose::Kinds, index), self.kinds);
    }
}
