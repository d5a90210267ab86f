//! Data parallelism: a training step on copies of the model, each with a part of the batch.

use placebench_base::params::{Named, Params};
use placebench_base::spec::SpecError;
use placebench_datasets::{DataflowGraph, OpId, TensorId};

use super::copies::{Copies, Sync, check_size};
use super::training_step::{TrainingStep, undivided};
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
/// `batch=each` there are n times the rows; what is done with them costs what it did.
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
        let draft = |op: OpId| match step.is_repeated(op) {
            true => Draft::part_of(graph, op, parts, &whole),
            false => Draft::of(graph, op),
        };
        let is_summed =
            |tensor: TensorId, taker: OpId| step.is_repeated(graph.producer(tensor)) && !step.is_repeated(taker);
        let is_rows = |tensor: TensorId| step.is_rows(tensor);
        let copies = Copies { graph, n, sync: self.sync, draft: &draft, is_summed: &is_summed, is_rows: &is_rows };
        let (rewrite, [sums, gathered]) = copies.made().map_err(refused_by::<Self>)?;
        let count = graph.op_count();
        let rows = if gathered > 0 { format!(", {gathered} tensors of rows gathered") } else { String::new() };
        rewrite
            .finish(format!("{n} copies of {count} ops, {sums} tensors summed over them{rows}"))
            .map_err(refused_by::<Self>)
    }
}
