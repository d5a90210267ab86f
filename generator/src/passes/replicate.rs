//! Data parallelism: a training step on copies of the model, each with a part of the batch.

use placebench_base::params::{Named, Params};
use placebench_base::spec::SpecError;
use placebench_datasets::{DataflowGraph, OpId, TensorId};

use super::copies::{Copies, Sync, check_size};
use super::training_step::{SMALL, TrainingStep, undivided};
use crate::pass::{Kept, Pass, PassError, Passed};
use crate::rewrite::{Draft, refused_by};

/// What a copy works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Batch {
    /// One n-th of the step's batch.
    Split,
    /// A batch as large as the step's.
    Each,
}

impl Named for Batch {
    const NAMES: &'static [(&'static str, Self)] = &[("split", Self::Split), ("each", Self::Each)];
}

/// Makes `n` copies of a training step: variables are mirrored, each copy works on its part of the batch, gradients are summed over
/// all copies, and each updates its own variables. Copies are not bound to devices: what was one group is one group in each
/// copy, and where the groups go is left open.
///
/// Gradients are summed one by one, as they come: by all-reduce on a ring, by recursive doubling, on a binomial tree, or by a
/// server, which is an op that may be anywhere. The ops of a sum are where its result is used. For each gradient of B bytes a
/// ring moves 2(n − 1) · B, recursive doubling n · log₂ n · B where n is a power of two, a tree 2(n − 1) · B and a server
/// 2n · B, if no two copies share a device. What is summed are the tensors that [`TrainingStep`] tells; adding costs what the graph's
/// own additions cost.
///
/// Gradients of some rows, and the numbers of the rows, are gathered the same way: of B bytes in n parts a ring moves (n − 1) · B,
/// recursive doubling as much where n is a power of two, a tree (n − 1 + log₂ n / 2) · B there, and a server (n + 1) · B. With
/// `batch=each` there are n times the rows: what is done with them takes n times the work, and what that makes has n times the
/// bytes, up to the update.
///
/// # Complexity
/// O(n · (ops + edges) · log ops), and 2n² ops for each gradient on a ring.
///
/// # Reference
/// M. Abadi et al.: TensorFlow: large-scale machine learning on heterogeneous distributed systems, 2015, §7 (synchronous
/// data-parallel training); the exchanges as in `training_steps`.
pub(super) struct Replicate {
    n: u32,
    sync: Sync,
    batch: Batch,
}

impl Pass for Replicate {
    const NAME: &'static str = "replicate";
    const SUMMARY: &'static str =
        "makes copies of a training step, each with a part of the batch; gradients are summed";
    const SOURCE: &'static str = "Abadi et al. 2015, §7";
    const KEEPS: &'static [Kept] = &[];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            n: params.number("n", 2, 1..=4096, "copies")?,
            sync: params.word("sync", Sync::Ring, "how gradients are summed: ring, doubling, tree or server")?,
            batch: params.word(
                "batch",
                Batch::Split,
                "whether the batch is divided (split), or each copy has one (each)",
            )?,
        })
    }

    fn apply(&self, graph: &DataflowGraph) -> Result<Passed, PassError> {
        let step = TrainingStep::of(graph);
        if !step.has_updates() {
            return Err(PassError::refused::<Self>("the graph updates no variable: there are no gradients to sum"));
        }
        let n = self.n as usize;
        check_size::<Self>(graph, n, if self.sync == Sync::Ring { step.variables() } else { 0 })?;
        let (whole, parts) = (undivided(graph, &step), if self.batch == Batch::Split { n } else { 1 });
        let grown = if self.batch == Batch::Each { taking_rows(graph, &step) } else { vec![false; graph.op_count()] };
        let draft = |op: OpId| match step.is_repeated(op) {
            true => Draft::part_of(graph, op, parts, &whole),
            false if grown[op.index()] => {
                let mut draft = Draft::of(graph, op).scaled(f64::from(self.n));
                for (bytes, tensor) in draft.outputs.iter_mut().zip(graph.outputs(op)) {
                    if grows(graph, &step, tensor) {
                        *bytes = bytes.saturating_mul(u64::from(self.n));
                    }
                }
                draft
            }
            false => Draft::of(graph, op),
        };
        let is_summed =
            |tensor: TensorId, taker: OpId| step.is_repeated(graph.producer(tensor)) && !step.is_repeated(taker);
        let is_rows = |tensor: TensorId| step.is_rows(tensor);
        let copies =
            Copies { graph, n, sync: self.sync, draft: &draft, is_summed: &is_summed, is_rows: &is_rows, results: &[] };
        let (rewrite, [sums, gathered]) = copies.made().map_err(refused_by::<Self>)?;
        let count = graph.op_count();
        let rows = if gathered > 0 { format!(", {gathered} tensors of rows gathered") } else { String::new() };
        rewrite
            .finish(format!("{n} copies of {count} ops, {sums} tensors summed over them{rows}"))
            .map_err(refused_by::<Self>)
    }
}

/// By op, whether it is done once, for rows of all copies: it takes such rows, or what another such op makes of them.
fn taking_rows(graph: &DataflowGraph, step: &TrainingStep) -> Vec<bool> {
    let mut taking = vec![false; graph.op_count()];
    for op in graph.topological_order().filter(|&op| !step.is_repeated(op)) {
        let mut data = graph.predecessors(op).filter_map(|edge| Some((edge.op, edge.tensor?)));
        taking[op.index()] =
            data.any(|(source, tensor)| step.is_rows(tensor) || (taking[source.index()] && grows(graph, step, tensor)));
    }
    taking
}

/// Whether what an op makes of rows grows with their number: no number or shape, and not what an update makes, which is a variable.
fn grows(graph: &DataflowGraph, step: &TrainingStep, tensor: TensorId) -> bool {
    let producer = graph.producer(tensor);
    graph.tensor_bytes(tensor) > SMALL && !step.is_update(producer) && !graph.outputs_are_resident(producer)
}
