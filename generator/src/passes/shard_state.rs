//! Data parallelism whose copies divide what stays from step to step.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::{DataflowGraph, GraphError, OpId, TensorId};

use super::copies::{Exchange, check_size};
use super::parts::partial_sums;
use super::training_step::{NUMBER, SMALL, TrainingStep, is_state, makes_numbers, undivided};
use crate::exchange::{Members, share};
use crate::pass::{Kept, Pass, PassError, Passed};
use crate::rewrite::{Draft, Rewrite, refused_by};
use crate::sketch::Output;

/// Makes `n` copies of a training step, as `replicate` does, that divide the state of the optimizer among them (stages 1 and 2),
/// and the weights, too (stage 3).
///
/// A gradient is summed by a reduce-scatter on a ring, after which each copy has an n-th of the sum. It updates that n-th of the
/// weights. In stages 1 and 2 the new weights are gathered by all at the end of the step; in stage 3 each copy keeps its n-th,
/// and weights are gathered before the forward pass and again before the backward pass, as soon as the first op that needs them there
/// has its gradients. A copy holds W + S/n bytes of weights and state, or (W + S)/n in stage 3, and for weights and
/// gradients of W bytes 2(n − 1) · W bytes move, or 3(n − 1) · W, if no two copies share a device.
///
/// Stage 2 differs from stage 1 in what is kept of gradients between micro-batches: as a graph of one step, in which a tensor is
/// freed after its last use, it is the same. What makes a number of a divided gradient, as a norm of all gradients does, makes a part
/// of it, which is summed over the copies by recursive doubling. A state of at most 8 bytes, such as a count of steps, is not divided.
///
/// Gradients of some rows are gathered by all copies, each of which updates the rows that it has.
///
/// # Complexity
/// O(n · (ops + edges) · log ops), and 2n² ops for each gradient.
///
/// # Reference
/// S. Rajbhandari, J. Rasley, O. Ruwase, Y. He: ZeRO: memory optimizations toward training trillion parameter models. SC 2020, §5, §7.
pub(super) struct ShardState {
    n: u32,
    stage: u32,
}

impl Pass for ShardState {
    const NAME: &'static str = "shard_state";
    const SUMMARY: &'static str =
        "makes copies of a training step that divide state (ZeRO 1, 2) and weights (3) among them";
    const SOURCE: &'static str = "Rajbhandari et al. 2020";
    const KEEPS: &'static [Kept] = &[];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            n: params.number("n", 2, 1..=4096, "copies")?,
            stage: params.number("stage", 1, 1..=3, "what is divided: state (1, 2), or weights, too (3)")?,
        })
    }

    fn apply(&self, graph: &DataflowGraph) -> Result<Passed, PassError> {
        let step = TrainingStep::of(graph);
        if !step.has_updates() {
            return Err(PassError::refused::<Self>("the graph updates no variable: there is no state to divide"));
        }
        check_size::<Self>(graph, self.n as usize, 2 * step.variables())?;
        let sharding = Sharding::of(graph, &step, self.n as usize, self.stage == 3);
        sharding.made().map_err(refused_by::<Self>)
    }
}

/// What is divided, and who takes what.
struct Sharding<'g, 's> {
    graph: &'g DataflowGraph,
    step: &'s TrainingStep,
    n: usize,
    /// Whether an op is done by each copy for an n-th of a variable.
    is_shard: Vec<bool>,
    /// Whether an op makes a part of a sum over the copies.
    is_partial: Vec<bool>,
    /// Tensors of weights that are divided, by stage 3, and that ops done for each example take.
    is_gathered: Vec<bool>,
    /// The op that makes new weights, and their bytes, where they are gathered at the end.
    updated: Vec<(OpId, u64)>,
    is_backward: Vec<bool>,
    /// By op, its place in topological order.
    positions: Vec<u32>,
}

impl<'g, 's> Sharding<'g, 's> {
    fn of(graph: &'g DataflowGraph, step: &'s TrainingStep, n: usize, weights_too: bool) -> Self {
        let is_forward = step.forward(graph);
        let is_backward = graph.op_ids().map(|op| step.is_repeated(op) && !is_forward[op.index()]).collect();
        let mut sharding = Self {
            graph,
            step,
            n,
            is_shard: vec![false; graph.op_count()],
            is_partial: Vec::new(),
            is_gathered: vec![false; graph.tensor_count()],
            updated: Vec::new(),
            is_backward,
            positions: graph.topological_positions(),
        };
        for (group, members) in graph.colocation().groups() {
            let updates: Vec<OpId> = members.iter().copied().filter(|&op| step.is_update(op)).collect();
            if !updates.iter().any(|&op| step.takes_inputs(op)) {
                continue;
            }
            // What is done to the gradient alone, and to the variables' states.
            for &op in updates.iter().chain(&step.after_gradient(graph, group)) {
                sharding.is_shard[op.index()] = !makes_numbers(graph, op);
            }
            let mut weights = 0;
            for state in members.iter().copied().filter(|&op| is_state(graph, op)) {
                let values = step.values(graph, state);
                let takers =
                    |&op: &OpId| graph.successors(op).any(|edge| edge.tensor.is_some() && step.is_repeated(edge.op));
                let is_weight = values.iter().any(takers);
                if is_weight {
                    weights =
                        weights.max(graph.outputs(state).map(|tensor| graph.tensor_bytes(tensor)).max().unwrap_or(0));
                }
                if is_weight && !weights_too {
                    continue;
                }
                for &op in values.iter().filter(|&&op| !makes_numbers(graph, op)) {
                    sharding.is_shard[op.index()] = true;
                    graph.outputs(op).for_each(|tensor| sharding.is_gathered[tensor.index()] = true);
                }
            }
            // The last update, which nothing of the group takes, makes the weights.
            let is_last = |&&op: &&OpId| !graph.successor_ops(op).iter().any(|next| updates.contains(next));
            if let Some(&last) = updates.iter().rev().find(is_last).filter(|_| !weights_too && weights > NUMBER) {
                sharding.updated.push((last, weights));
            }
        }
        let mut is_shard = sharding.is_shard.clone();
        sharding.is_partial = partial_sums(graph, step, &mut is_shard, |source, tensor| {
            let mut takers = graph.successors(source).filter(|edge| edge.tensor == Some(tensor));
            let is_divided = takers.any(|edge| !step.is_repeated(edge.op) && sharding.is_shard[edge.op.index()]);
            step.is_repeated(source) && !step.is_rows(tensor) && is_divided
        });
        sharding.is_shard = is_shard;
        sharding
    }

    /// The port at which an update hands on the new weights, if it does.
    fn port_of(&self, op: OpId, weights: u64) -> Option<usize> {
        self.graph.outputs(op).position(|tensor| self.graph.tensor_bytes(tensor) == weights)
    }

    fn made(&self) -> Result<Passed, GraphError> {
        let (graph, step, n) = (self.graph, self.step, self.n);
        let whole = undivided(graph, step);
        // What adds up parts of sums has as many of them as before.
        let adds_up = |op: OpId| graph.predecessor_ops(op).iter().any(|source| self.is_partial[source.index()]);
        let last: BTreeMap<OpId, u64> = self.updated.iter().copied().collect();
        let mut rewrite = Rewrite::new(graph);
        let mut copies: Vec<Vec<OpId>> = Vec::with_capacity(n);
        for copy in 0..n {
            let draft = |op: OpId| {
                let mut draft = match (step.is_repeated(op), self.is_shard[op.index()]) {
                    (true, _) => Draft::part_of(graph, op, n, &whole),
                    (false, true) => Draft::part_of(graph, op, n, &[]),
                    (false, false) if self.is_partial[op.index()] && !adds_up(op) => {
                        Draft::of(graph, op).scaled(1.0 / n as f64)
                    }
                    (false, false) => Draft::of(graph, op),
                };
                // An update that does not hand on its part of the new weights does so now.
                if let Some(&weights) = last.get(&op).filter(|&&weights| n > 1 && self.port_of(op, weights).is_none()) {
                    draft.outputs.push(share(weights, (copy + 1) % n, n));
                }
                draft.suffixed(&format!("copy_{copy}"))
            };
            copies.push(graph.op_ids().map(|op| rewrite.add(draft(op))).collect());
        }
        let mut ring = Exchange::new(graph, &copies, &mut rewrite);
        let mut summed: BTreeMap<TensorId, Vec<Vec<Output>>> = BTreeMap::new();
        let mut gathered: BTreeMap<(TensorId, bool), Vec<Vec<Output>>> = BTreeMap::new();
        for op in graph.op_ids() {
            for edge in graph.predecessors(op) {
                let Some(tensor) = edge.tensor else {
                    for copy in &copies {
                        ring.rewrite.builder.add_control_edge(copy[edge.op.index()], copy[op.index()])?;
                    }
                    continue;
                };
                let bytes = graph.tensor_bytes(tensor);
                let is_partial = self.is_partial[edge.op.index()] && !self.is_partial[op.index()];
                let is_summed = (step.is_repeated(edge.op) && !step.is_repeated(op)) || is_partial;
                let is_gathered = self.is_gathered[tensor.index()] && step.is_repeated(op);
                let results = if n == 1 || bytes == 0 || !(is_summed || is_gathered) {
                    None
                } else if is_summed {
                    Some(match summed.entry(tensor) {
                        Entry::Occupied(sum) => &*sum.into_mut(),
                        Entry::Vacant(place) => &*place.insert(self.summed(&mut ring, tensor, op)?),
                    })
                } else {
                    let key = (tensor, self.is_backward[op.index()]);
                    Some(match gathered.entry(key) {
                        Entry::Occupied(all) => &*all.into_mut(),
                        Entry::Vacant(place) => &*place.insert(self.gathered(&mut ring, key)?),
                    })
                };
                for (at, copy) in copies.iter().enumerate() {
                    match results {
                        None => ring.rewrite.builder.add_edge(
                            copy[edge.op.index()],
                            graph.port(tensor),
                            copy[op.index()],
                        )?,
                        Some(results) => results[at].iter().try_for_each(|&(result, port)| {
                            ring.rewrite.builder.add_edge(result, port, copy[op.index()])
                        })?,
                    }
                }
            }
        }
        if n > 1 {
            for &(op, weights) in &self.updated {
                (ring.near, ring.with) = (op, op);
                let port = self.port_of(op, weights).unwrap_or(graph.outputs(op).len());
                let parts = ring.of_all(op, port);
                ring.exchange((op, "weights".to_owned(), weights), &parts, |sum, ring| {
                    sum.all_gather(ring, parts.clone()).map(drop)
                })?;
            }
        }
        for copy in &copies {
            rewrite.colocate(|op| [copy[op.index()]])?;
        }
        let joined = summed.keys().filter(|&&tensor| step.is_rows(tensor)).count();
        let (sums, gathers) = (summed.len() - joined, if n > 1 { gathered.len() + self.updated.len() } else { 0 });
        let rows = if joined > 0 { format!("{joined} tensors of rows gathered, ") } else { String::new() };
        rewrite.finish(format!(
            "{n} copies of {} ops, {sums} tensors summed, {rows}weights gathered {gathers} times",
            graph.op_count()
        ))
    }

    /// The sum of a tensor over all copies: for each copy its part, or all of it where it is small. Of rows each copy gets all.
    fn summed(
        &self,
        ring: &mut Exchange<'g, '_>,
        tensor: TensorId,
        taker: OpId,
    ) -> Result<Vec<Vec<Output>>, GraphError> {
        let (graph, producer) = (self.graph, self.graph.producer(tensor));
        let (port, bytes) = (graph.port(tensor), graph.tensor_bytes(tensor));
        (ring.near, ring.with) = (producer, taker);
        let tensors = ring.of_all(producer, port);
        if self.step.is_rows(tensor) {
            let bytes = Draft::part_of(graph, producer, self.n, &[]).outputs[port] * self.n as u64;
            let what = (producer, format!("rows_{port}"), bytes);
            return ring.exchange(what, &tensors, |sum, ring| sum.gathered_on_a_ring(ring));
        }
        if self.is_partial[producer.index()] {
            let what = (producer, format!("sum_{port}"), bytes);
            return ring.exchange(what, &tensors, |sum, ring| sum.by_recursive_doubling(ring));
        }
        let mut takers = graph.successors(producer).filter(|edge| edge.tensor == Some(tensor));
        let in_full =
            bytes <= SMALL || !takers.any(|edge| !self.step.is_repeated(edge.op) && self.is_shard[edge.op.index()]);
        ring.exchange((producer, format!("sum_{port}"), bytes), &tensors, |sum, ring| match in_full {
            true => sum.on_a_ring(ring),
            false => {
                let (_, parts) = sum.reduce_scatter(ring)?;
                Ok(parts.into_iter().map(|part| vec![part]).collect())
            }
        })
    }

    /// Weights that each copy has a part of, in full on all copies: once for the forward and once for the backward pass.
    fn gathered(
        &self,
        ring: &mut Exchange<'g, '_>,
        (tensor, backward): (TensorId, bool),
    ) -> Result<Vec<Vec<Output>>, GraphError> {
        let (graph, producer) = (self.graph, self.graph.producer(tensor));
        let (port, bytes) = (graph.port(tensor), graph.tensor_bytes(tensor));
        (ring.near, ring.with) = (producer, producer);
        if backward {
            let takers = graph.successors(producer).filter(|edge| edge.tensor == Some(tensor)).map(|edge| edge.op);
            let first = takers
                .filter(|taker| self.is_backward[taker.index()])
                .min_by_key(|taker| self.positions[taker.index()]);
            let gradients = first.into_iter().flat_map(|first| graph.predecessor_ops(first).iter().copied());
            ring.after = gradients.filter(|op| self.is_backward[op.index()]).collect();
        }
        let parts = ring.of_all(producer, port);
        let what = format!("{}_{port}", if backward { "weights_again" } else { "weights" });
        let n = self.n;
        ring.exchange((producer, what, bytes), &parts.clone(), |sum, ring| {
            // What was sent once stays until its last use: to be sent again it has to be made again.
            let send = |(member, part): (usize, Output)| {
                let bytes = [share(bytes, (member + 1) % n, n)];
                Ok((ring.add(member, &format!("{}pack", sum.name), "Pack", 0.0, &bytes, &[part])?, 0))
            };
            let parts = parts.into_iter().enumerate().map(send).collect::<Result<Vec<Output>, GraphError>>()?;
            ring.after.clear();
            let mut all = sum.all_gather(ring, parts.clone())?;
            all.iter_mut().zip(parts).for_each(|(all, part)| all.push(part));
            Ok(all)
        })
    }
}
