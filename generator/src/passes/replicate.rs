//! Data parallelism: a training step on copies of the model, each with a part of the batch.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use placebench_base::params::{Named, Params};
use placebench_base::spec::SpecError;
use placebench_datasets::{DataflowGraph, GraphError, OpId, TensorId};

use super::additions::Additions;
use super::training_step::{TrainingStep, undivided};
use crate::exchange::{Members, Sum};
use crate::pass::{Kept, Pass, PassError, Passed};
use crate::rewrite::{Draft, Rewrite, refused_by};
use crate::sketch::Output;

/// How gradients are summed over the copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sync {
    Server,
    Ring,
    Doubling,
    Tree,
}

impl Named for Sync {
    const NAMES: &'static [(&'static str, Self)] =
        &[("ring", Self::Ring), ("doubling", Self::Doubling), ("tree", Self::Tree), ("server", Self::Server)];
}

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
        self.copied(graph, &step).map_err(refused_by::<Self>)
    }
}

impl Replicate {
    fn copied(&self, graph: &DataflowGraph, step: &TrainingStep) -> Result<Passed, GraphError> {
        let n = self.n as usize;
        let whole = undivided(graph, step);
        let parts = if self.batch == Batch::Split { n } else { 1 };
        let mut rewrite = Rewrite::new(graph);
        let mut copies: Vec<Vec<OpId>> = Vec::with_capacity(n);
        for copy in 0..n {
            let draft = |op: OpId| match step.is_repeated(op) {
                true => Draft::part_of(graph, op, parts, &whole),
                false => Draft::of(graph, op),
            };
            let suffix = format!("copy_{copy}");
            copies.push(graph.op_ids().map(|op| rewrite.add(draft(op).suffixed(&suffix))).collect());
        }
        let additions = Additions::of(graph);
        let mut exchange =
            Exchange { graph, additions, copies: &copies, rewrite: &mut rewrite, taker: OpId(0), near: OpId(0) };
        let mut summed: BTreeMap<TensorId, Vec<Vec<Output>>> = BTreeMap::new();
        for op in graph.op_ids() {
            for edge in graph.predecessors(op) {
                let Some(tensor) = edge.tensor else {
                    for copy in &copies {
                        exchange.rewrite.builder.add_control_edge(copy[edge.op.index()], copy[op.index()])?;
                    }
                    continue;
                };
                let port = graph.port(tensor);
                // Of a tensor without bytes there is nothing to sum.
                let is_summed = step.is_repeated(edge.op) && !step.is_repeated(op) && graph.tensor_bytes(tensor) > 0;
                if n == 1 || !is_summed {
                    for copy in &copies {
                        exchange.rewrite.builder.add_edge(copy[edge.op.index()], port, copy[op.index()])?;
                    }
                    continue;
                }
                let sums = match summed.entry(tensor) {
                    Entry::Occupied(sums) => sums.into_mut(),
                    Entry::Vacant(place) => {
                        (exchange.taker, exchange.near) = (op, edge.op);
                        place.insert(self.sum(&mut exchange, tensor)?)
                    }
                };
                for (copy, results) in copies.iter().zip(sums) {
                    for &mut (result, port) in results {
                        exchange.rewrite.builder.add_edge(result, port, copy[op.index()])?;
                    }
                }
            }
        }
        for copy in &copies {
            rewrite.colocate(|op| [copy[op.index()]])?;
        }
        let (count, sums) = (graph.op_count(), summed.len());
        rewrite.finish(format!("{n} copies of {count} ops, {sums} tensors summed over them"))
    }

    /// The sum of a tensor over all copies, for each copy.
    fn sum(&self, exchange: &mut Exchange<'_, '_>, tensor: TensorId) -> Result<Vec<Vec<Output>>, GraphError> {
        let (graph, n) = (exchange.graph, self.n as usize);
        let (producer, port) = (graph.producer(tensor), graph.port(tensor));
        let tensors: Vec<Output> = exchange.copies.iter().map(|copy| (copy[producer.index()], port)).collect();
        let sum = Sum {
            name: graph.name(producer).map_or_else(|| format!("{producer}/{port}/"), |name| format!("{name}/{port}/")),
            values: graph.tensor_bytes(tensor),
            members: &(0..n).collect::<Vec<_>>(),
            tensors: &tensors,
            bytes: &|bytes| bytes,
            message: &|bytes| bytes,
            pack_ops: 0.0,
            add_ops: &|bytes| bytes as f64,
        };
        match self.sync {
            Sync::Ring => sum.on_a_ring(exchange),
            Sync::Doubling => sum.by_recursive_doubling(exchange),
            Sync::Tree => sum.on_a_tree(exchange),
            Sync::Server => sum.by_servers(exchange, n, 1),
        }
    }
}

/// Adds the ops of sums, at the price of the graph's own additions.
struct Exchange<'g, 'r> {
    graph: &'g DataflowGraph,
    additions: Additions<'g>,
    copies: &'r [Vec<OpId>],
    rewrite: &'r mut Rewrite<'g>,
    /// The old op that takes the sum.
    taker: OpId,
    /// The old op that makes what is summed.
    near: OpId,
}

impl Members for Exchange<'_, '_> {
    /// `ops` are bytes that are added.
    fn add(
        &mut self,
        member: usize,
        name: &str,
        op_type: &str,
        ops: f64,
        outputs: &[u64],
        inputs: &[Output],
    ) -> Result<OpId, GraphError> {
        let Self { graph, additions, copies, rewrite, taker, near } = self;
        let draft = additions.draft(graph, *near, ops as u64, if ops > 0.0 { 2 } else { 0 });
        let draft = Draft {
            name: graph.has_names().then(|| Cow::Owned(format!("{name}/copy_{member}"))),
            op_type: draft.op_type.is_some().then(|| Cow::Owned(op_type.to_owned())),
            outputs: outputs.to_vec(),
            ..draft
        };
        let op = rewrite.add(draft);
        inputs.iter().try_for_each(|&(input, port)| rewrite.builder.add_edge(input, port, op))?;
        // A server is no copy.
        if let Some(copy) = copies.get(member) {
            rewrite.builder.colocate(copy[taker.index()], op)?;
        }
        Ok(op)
    }
}
