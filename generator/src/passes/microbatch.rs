//! A training step in parts of its batch.

use std::borrow::Cow;
use std::collections::BTreeMap;

use placebench_base::params::{Named, Params};
use placebench_base::spec::SpecError;
use placebench_datasets::{DataflowGraph, GraphError, OpId, TensorId};

use super::additions::Additions;
use super::training_step::{TrainingStep, is_update_type, undivided};
use crate::pass::{Kept, Pass, PassError, Passed};
use crate::rewrite::{Draft, Rewrite, refused_by};

/// How the gradients of micro-batches are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sum {
    /// Each is added to the sum of those before, which is freed.
    Chain,
    /// All at once, when the last is there.
    Once,
}

impl Named for Sum {
    const NAMES: &'static [(&'static str, Self)] = &[("chain", Self::Chain), ("once", Self::Once)];
}

/// Divides the batch of a training step into `m` micro-batches: forward and backward pass of each are ops of their own, on the
/// same weights; gradients are summed; the weights are updated once. Where anything runs is left open: a placer that puts
/// layers on different devices has made a pipeline.
///
/// Which ops are repeated says [`TrainingStep`]. Each copy of such an op does 1/m of its work, and its outputs have 1/m of their
/// bytes, but for gradients, which have the size of their weights, and for what is as small as a number or a shape
/// (64 bytes). Copies are in the group of their op. In an inference, which has no updates, the batch is divided alone.
/// Gradients of some rows of a variable are put one behind the other, with the numbers of the rows: an op joins the parts.
///
/// The work of repeated ops is kept up to rounding, and additions and joins of gradients come on top. An op's time is taken to be
/// proportional to its batch: what a device loses on small batches is no part of it, but for overheads of the cluster.
///
/// # Complexity
/// O(m · (ops + edges) · log ops).
///
/// # Reference
/// Y. Huang et al.: GPipe: efficient training of giant neural networks using pipeline parallelism. NeurIPS 2019, §2.2.
pub(super) struct Microbatch {
    m: u32,
    sum: Sum,
}

impl Pass for Microbatch {
    const NAME: &'static str = "microbatch";
    const SUMMARY: &'static str =
        "divides the batch of a training step; gradients are summed, weights are updated once";
    const SOURCE: &'static str = "Huang et al. 2019, §2.2";
    const KEEPS: &'static [Kept] = &[];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            m: params.number("m", 4, 1..=4096, "micro-batches of a step")?,
            sum: params.word(
                "sum",
                Sum::Chain,
                "whether gradients are added one by one (chain) or all at once (once)",
            )?,
        })
    }

    fn apply(&self, graph: &DataflowGraph) -> Result<Passed, PassError> {
        let step = TrainingStep::of(graph);
        if !graph.op_ids().any(|op| step.is_repeated(op)) {
            let inputs = "no op takes inputs that could be divided (Placeholder in TensorFlow, input in JAX)";
            return Err(PassError::refused::<Self>(inputs));
        }
        if let Some(op) = graph.op_ids().find(|&op| step.is_repeated(op) && is_update_type(graph, op)) {
            let what = graph.label(op);
            return Err(PassError::refused::<Self>(format!(
                "{what} updates a variable, as its type says, but is colocated with none, so that it would be done {} times: colocate it",
                self.m
            )));
        }
        let m = f64::from(self.m);
        PassError::check_size::<Self>(m * graph.op_count() as f64, m * graph.edge_count() as f64)?;
        self.divided(graph, &step).map_err(refused_by::<Self>)
    }
}

impl Microbatch {
    fn divided(&self, graph: &DataflowGraph, step: &TrainingStep) -> Result<Passed, GraphError> {
        let m = self.m as usize;
        let whole = undivided(graph, step);
        let mut rewrite = Rewrite::new(graph);
        // The copies of each op, or the op itself.
        let mut new: Vec<Vec<OpId>> = vec![Vec::new(); graph.op_count()];
        for op in graph.op_ids().filter(|&op| !step.is_repeated(op)) {
            new[op.index()].push(rewrite.add(Draft::of(graph, op)));
        }
        for part in 0..m {
            for op in graph.op_ids().filter(|&op| step.is_repeated(op)) {
                let draft = Draft::part_of(graph, op, m, &whole).suffixed(&format!("micro_{part}"));
                new[op.index()].push(rewrite.add(draft));
            }
        }
        let (additions, joins) = (Additions::of(graph), Additions::joins_of(graph));
        let mut sums = Sums { how: self.sum, additions, joins, made: BTreeMap::new() };
        for op in graph.op_ids() {
            if step.is_repeated(op) {
                for part in 0..m {
                    let of = |producer: OpId, port| {
                        Some((new[producer.index()][if step.is_repeated(producer) { part } else { 0 }], port))
                    };
                    rewrite.connect(op, new[op.index()][part], of)?;
                }
                continue;
            }
            let id = new[op.index()][0];
            for edge in graph.predecessors(op) {
                let copies = &new[edge.op.index()];
                match edge.tensor {
                    None => copies.iter().try_for_each(|&copy| rewrite.builder.add_control_edge(copy, id))?,
                    Some(tensor) if copies.len() == 1 => rewrite.builder.add_edge(copies[0], graph.port(tensor), id)?,
                    Some(tensor) => {
                        let sum = sums.of(graph, step, &mut rewrite, tensor, copies)?;
                        rewrite.builder.add_edge(sum, 0, id)?;
                    }
                }
            }
        }
        rewrite.colocate(|op| new[op.index()].clone())?;
        let repeated = graph.op_ids().filter(|&op| step.is_repeated(op)).count();
        let once = graph.op_count() - repeated;
        let joined = sums.made.keys().filter(|&&tensor| step.is_rows(tensor)).count();
        let rows = if joined > 0 { format!("{joined} tensors of rows joined, ") } else { String::new() };
        let summed = sums.made.len() - joined;
        rewrite
            .finish(format!("{m} micro-batches of {repeated} ops, {summed} tensors summed, {rows}{once} ops done once"))
    }
}

/// The sums of gradients, and the joins of their rows.
struct Sums<'g> {
    how: Sum,
    additions: Additions<'g>,
    joins: Additions<'g>,
    /// By gradient.
    made: BTreeMap<TensorId, OpId>,
}

impl<'g> Sums<'g> {
    /// The sum of a tensor over the copies of its producer, or the rows of all copies.
    fn of(
        &mut self,
        graph: &'g DataflowGraph,
        step: &TrainingStep,
        rewrite: &mut Rewrite<'g>,
        tensor: TensorId,
        copies: &[OpId],
    ) -> Result<OpId, GraphError> {
        if let Some(&sum) = self.made.get(&tensor) {
            return Ok(sum);
        }
        let (producer, port, bytes) = (graph.producer(tensor), graph.port(tensor), graph.tensor_bytes(tensor));
        let is_rows = step.is_rows(tensor);
        let mut add = |at: usize, inputs: &[(OpId, usize)]| {
            let (what, draft) = match is_rows {
                true => (format!("rows_{port}"), self.joins.draft(graph, producer, bytes, 1)),
                false => (format!("sum_{port}_{at}"), self.additions.draft(graph, producer, bytes, inputs.len())),
            };
            let name = graph.name(producer).map(|name| Cow::Owned(format!("{name}/{what}")));
            let draft = Draft { name, ..draft };
            let sum = rewrite.add(draft);
            inputs.iter().try_for_each(|&(input, port)| rewrite.builder.add_edge(input, port, sum))?;
            Ok::<OpId, GraphError>(sum)
        };
        let gradients: Vec<(OpId, usize)> = copies.iter().map(|&copy| (copy, port)).collect();
        let sum = match self.how {
            _ if is_rows => add(0, &gradients)?,
            Sum::Once => add(0, &gradients)?,
            Sum::Chain => {
                let mut sum = gradients[0];
                for (at, &gradient) in gradients.iter().enumerate().skip(1) {
                    sum = (add(at, &[sum, gradient])?, 0);
                }
                sum.0
            }
        };
        self.made.insert(tensor, sum);
        Ok(sum)
    }
}
