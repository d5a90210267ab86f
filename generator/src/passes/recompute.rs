//! Activations are made again instead of kept.

use std::collections::BTreeSet;

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::{DataflowGraph, GraphError, OpId, TensorId};

use super::training_step::{TrainingStep, is_state, op_type};
use crate::pass::{Kept, Pass, PassError, Passed};
use crate::rewrite::{Draft, Rewrite, refused_by};

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Budget {
    /// The outputs that leave one of √n segments.
    Sqrt,
    /// This share of the bytes of all activations.
    Share(f64),
}

/// Computes activations of the forward pass again when the backward pass needs them, so that they need not stay in memory.
///
/// An op is of the forward pass if the gradients of all weights depend on it. An activation is an output of such an op that an op
/// of the backward pass takes. `sqrt` divides the n ops with activations into √n segments of equal work and keeps what a later
/// segment takes; the last segment is kept, since it is needed at once. A share is a greedy choice: op by op, by bytes that are
/// freed for each unit of work that is done again, until that share of the bytes is left. With an op is done again what comes
/// before it, back to tensors that are kept.
///
/// An op that is done again waits for the gradients that the first op that needs it takes, since else it would be done at once and
/// free nothing. Inputs, variables, and ops that draw at random are never done again.
///
/// # Complexity
/// O(variables · (ops + edges)) to tell the forward pass, and O(ops · length of what is done again for one op) for the choice.
///
/// # Reference
/// T. Chen, B. Xu, C. Zhang, C. Guestrin: Training deep nets with sublinear memory cost. arXiv:1604.06174, 2016, §4.
pub(super) struct Recompute {
    budget: Budget,
}

impl Pass for Recompute {
    const NAME: &'static str = "recompute";
    const SUMMARY: &'static str = "makes activations again for the backward pass instead of keeping them";
    const SOURCE: &'static str = "Chen et al. 2016, §4";
    const KEEPS: &'static [Kept] = &[Kept::Bytes, Kept::Results];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let expected = "sqrt or a number from 0 to 1";
        let parse = |text: &str| match text {
            "sqrt" => Some(Budget::Sqrt),
            _ => text.parse().ok().filter(|share| (0.0..=1.0).contains(share)).map(Budget::Share),
        };
        let doc = "what is kept: the outputs of √n segments (sqrt), or this share of the bytes of all activations";
        Ok(Self { budget: params.value("budget", "sqrt", expected, doc, parse)? })
    }

    fn apply(&self, graph: &DataflowGraph) -> Result<Passed, PassError> {
        let step = TrainingStep::of(graph);
        if !step.has_updates() {
            let reason = "the graph updates no variable, and without a backward pass no activation has to stay";
            return Err(PassError::refused::<Self>(reason));
        }
        let passes = Directions::of(graph, &step);
        let again = match self.budget {
            Budget::Sqrt => passes.by_segments(graph),
            Budget::Share(share) => passes.by_bytes(graph, share),
        };
        passes.with_again(graph, &again).map_err(refused_by::<Self>)
    }
}

/// Parts of names of op types that draw at random, in TensorFlow, JAX and PyTorch: done again they would draw anew.
const RANDOM: [&str; 8] =
    ["random", "Random", "Multinomial", "multinomial", "bernoulli", "native_dropout", "uniform_", "normal_"];

/// Which ops are of the forward pass and which of the backward pass.
struct Directions {
    is_forward: Vec<bool>,
    is_backward: Vec<bool>,
    order: Vec<OpId>,
    positions: Vec<u32>,
}

impl Directions {
    fn of(graph: &DataflowGraph, step: &TrainingStep) -> Self {
        let is_forward = step.forward(graph);
        let is_backward = graph.op_ids().map(|op| step.is_repeated(op) && !is_forward[op.index()]).collect();
        let (order, positions) = (graph.topological_order().collect(), graph.topological_positions());
        Self { is_forward, is_backward, order, positions }
    }

    /// The ops that take a tensor and are of the backward pass.
    fn backward_takers<'a>(&'a self, graph: &'a DataflowGraph, op: OpId) -> impl Iterator<Item = OpId> + 'a {
        let data = graph.successors(op).filter(|edge| edge.tensor.is_some()).map(|edge| edge.op);
        data.filter(|taker| self.is_backward[taker.index()])
    }

    /// Whether an op may be done again.
    fn may_again(&self, graph: &DataflowGraph, op: OpId) -> bool {
        let draws = op_type(graph, op).is_some_and(|name| RANDOM.iter().any(|random| name.contains(random)));
        self.is_forward[op.index()] && !is_state(graph, op) && !draws && graph.in_degree(op) > 0
    }

    /// The ops of the forward pass with activations, in topological order.
    fn with_activations(&self, graph: &DataflowGraph) -> Vec<OpId> {
        let has = |op: &OpId| self.is_forward[op.index()] && self.backward_takers(graph, *op).next().is_some();
        self.order.iter().copied().filter(has).collect()
    }

    /// The ops that are done again if only what leaves a segment is kept.
    fn by_segments(&self, graph: &DataflowGraph) -> Vec<bool> {
        let count = (self.with_activations(graph).len() as f64).sqrt().ceil().max(1.0);
        let forward = || self.order.iter().filter(|op| self.is_forward[op.index()]);
        let total: f64 = forward().map(|&op| work(graph, op)).sum();
        let mut segment = vec![0; graph.op_count()];
        let mut done = 0.0;
        for &op in forward() {
            let at = if total > 0.0 { done / total * count } else { 0.0 };
            segment[op.index()] = (at as usize).min(count as usize - 1);
            done += work(graph, op);
        }
        let leaves = |op: OpId| {
            let own = segment[op.index()];
            let takers = graph.successor_ops(op).iter().filter(|taker| self.is_forward[taker.index()]);
            own + 1 == count as usize || takers.into_iter().any(|taker| segment[taker.index()] != own)
        };
        graph.op_ids().map(|op| self.may_again(graph, op) && !leaves(op)).collect()
    }

    /// The ops that are done again if a share of the bytes of all activations is kept.
    fn by_bytes(&self, graph: &DataflowGraph, share: f64) -> Vec<bool> {
        let mut is_kept = vec![false; graph.tensor_count()];
        let activations = self.with_activations(graph);
        for &op in &activations {
            for edge in graph.successors(op).filter(|edge| self.is_backward[edge.op.index()]) {
                edge.tensor.into_iter().for_each(|tensor| is_kept[tensor.index()] = true);
            }
        }
        let bytes = |tensor: TensorId| graph.tensor_bytes(tensor) as f64;
        let held = |is_kept: &[bool], op: OpId| -> f64 {
            graph.outputs(op).filter(|tensor| is_kept[tensor.index()]).map(bytes).sum()
        };
        let mut again = vec![false; graph.op_count()];
        let mut left = self.kept_bytes(graph, &again);
        let most = share * left;
        // Bytes freed for each unit of work, at first.
        let value = |op: &OpId| {
            let (ops, kept) = self.chain(graph, *op, &is_kept, &again);
            let freed = held(&is_kept, *op) - kept.iter().map(|&tensor| bytes(tensor)).sum::<f64>();
            freed / ops.iter().map(|&op| work(graph, op)).sum::<f64>().max(f64::MIN_POSITIVE)
        };
        let candidates = activations.iter().filter(|&&op| self.may_again(graph, op));
        let mut candidates: Vec<(f64, OpId)> = candidates.map(|op| (value(op), *op)).collect();
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (_, op) in candidates {
            // What an op frees is estimated; whether it is enough is counted.
            if left <= most {
                left = self.kept_bytes(graph, &again);
                if left <= most {
                    break;
                }
            }
            let (ops, kept) = self.chain(graph, op, &is_kept, &again);
            let freed = held(&is_kept, op) - kept.iter().map(|&tensor| bytes(tensor)).sum::<f64>();
            if freed > 0.0 {
                left -= freed;
                ops.iter().for_each(|op| again[op.index()] = true);
                graph.outputs(op).for_each(|tensor| is_kept[tensor.index()] = false);
                kept.iter().for_each(|tensor| is_kept[tensor.index()] = true);
            }
        }
        again
    }

    /// What it takes to do an op again: the op and those before it back to tensors that are kept, and tensors that have to be kept
    /// for it, since their ops cannot be done again.
    fn chain(&self, graph: &DataflowGraph, op: OpId, is_kept: &[bool], again: &[bool]) -> (Vec<OpId>, Vec<TensorId>) {
        let (mut ops, mut kept) = (vec![op], BTreeSet::new());
        let (mut seen, mut at) = (BTreeSet::from([op]), 0);
        while let Some(&member) = ops.get(at) {
            at += 1;
            for edge in graph.predecessors(member).filter(|edge| self.is_forward[edge.op.index()]) {
                let Some(tensor) = edge.tensor.filter(|tensor| !is_kept[tensor.index()] && !again[edge.op.index()])
                else {
                    continue;
                };
                if !self.may_again(graph, edge.op) {
                    kept.insert(tensor);
                } else if seen.insert(edge.op) {
                    ops.push(edge.op);
                }
            }
        }
        (ops, kept.into_iter().collect())
    }

    /// The ops of the backward pass that an op takes something of.
    fn gradients<'a>(&'a self, graph: &'a DataflowGraph, op: OpId) -> impl Iterator<Item = OpId> + 'a {
        graph.predecessor_ops(op).iter().copied().filter(|source| self.is_backward[source.index()])
    }

    /// For each op that is done again, the first op of the backward pass that needs it. What nothing of the backward pass comes before
    /// would be done again at once, and is not.
    fn first_needed(&self, graph: &DataflowGraph, again: &[bool]) -> Vec<Option<OpId>> {
        let mut first: Vec<Option<OpId>> = vec![None; graph.op_count()];
        for &op in self.order.iter().rev().filter(|op| again[op.index()]) {
            let copies = graph.successor_ops(op).iter().filter_map(|taker| first[taker.index()]);
            let needed = self.backward_takers(graph, op).chain(copies);
            let needed = needed.min_by_key(|taker| self.positions[taker.index()]);
            first[op.index()] = needed.filter(|&taker| self.gradients(graph, taker).next().is_some());
        }
        first
    }

    /// Bytes of the forward pass that stay for the backward pass, or for what is done again in it.
    fn kept_bytes(&self, graph: &DataflowGraph, again: &[bool]) -> f64 {
        let first = self.first_needed(graph, again);
        let is_later = |op: OpId| self.is_backward[op.index()] || first[op.index()].is_some();
        let kept = |&op: &OpId| -> f64 {
            let stays = |tensor: &TensorId| {
                let mut takers = graph.successors(op).filter(|edge| edge.tensor == Some(*tensor));
                takers.any(|edge| is_later(edge.op))
            };
            graph.outputs(op).filter(stays).map(|tensor| graph.tensor_bytes(tensor) as f64).sum()
        };
        let forward = self.order.iter().filter(|op| self.is_forward[op.index()]);
        forward.filter(|op| first[op.index()].is_none()).map(kept).sum()
    }

    /// The graph in which the backward pass takes these ops' outputs from copies of them.
    fn with_again(&self, graph: &DataflowGraph, again: &[bool]) -> Result<Passed, GraphError> {
        let first = self.first_needed(graph, again);
        let mut rewrite = Rewrite::new(graph);
        let new: Vec<OpId> = graph.op_ids().map(|op| rewrite.add(Draft::of(graph, op))).collect();
        let copy: Vec<Option<OpId>> = graph
            .op_ids()
            .map(|op| {
                first[op.index()]
                    .map(|_| rewrite.add(Draft { memory_bytes: 0, ..Draft::of(graph, op).suffixed("again") }))
            })
            .collect();
        let of_copy = |source: OpId, port: usize| Some((copy[source.index()].unwrap_or(new[source.index()]), port));
        for op in graph.op_ids() {
            match self.is_backward[op.index()] {
                true => rewrite.connect(op, new[op.index()], of_copy)?,
                false => rewrite.connect(op, new[op.index()], |source, port| Some((new[source.index()], port)))?,
            }
            if let (Some(id), Some(taker)) = (copy[op.index()], first[op.index()]) {
                rewrite.connect(op, id, of_copy)?;
                for gradient in self.gradients(graph, taker) {
                    rewrite.builder.add_control_edge(new[gradient.index()], id)?;
                }
            }
        }
        rewrite.colocate(|op| [Some(new[op.index()]), copy[op.index()]].into_iter().flatten())?;
        let done: f64 = graph.op_ids().filter(|op| copy[op.index()].is_some()).map(|op| work(graph, op)).sum();
        let forward: f64 = graph.op_ids().filter(|op| self.is_forward[op.index()]).map(|op| work(graph, op)).sum();
        let count = copy.iter().flatten().count();
        let share = if forward > 0.0 { 100.0 * (done / forward).max(0.0) } else { 0.0 };
        let kept = [again, &vec![false; again.len()]].map(|again| self.kept_bytes(graph, again));
        let kept = if kept[1] > 0.0 { 100.0 * kept[0] / kept[1] } else { 100.0 };
        rewrite.finish(format!(
            "{count} ops are done again, {share:.0} % of the work of the forward pass; {kept:.0} % of the bytes that it leaves stay"
        ))
    }
}

/// The work of an op: the mean of its measured times where it has some, else its operations.
fn work(graph: &DataflowGraph, op: OpId) -> f64 {
    let times: Vec<f64> = graph.measured_times().iter().filter_map(|times| times.of(op)).collect();
    if times.is_empty() { graph.ops(op) } else { times.iter().sum::<f64>() / times.len() as f64 }
}
