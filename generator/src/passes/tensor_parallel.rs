//! Tensor parallelism: products of matrices divided among members that share all else.

use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::{DataflowGraph, OpId, TensorId, is_matrix_op};

use super::copies::{Copies, Sync, check_size};
use super::parts::partial_sums;
use super::training_step::{TrainingStep, is_size_of, is_state, makes_numbers, op_type};
use crate::pass::{Kept, Pass, PassError, Passed};
use crate::rewrite::{Draft, refused_by};

/// Divides each product with a variable among `n` members: a member has an n-th of the matrix and does an n-th of the product; what it
/// computes is a part of the sum, and all members add up their parts. Everything else is done by every member for itself, on
/// the same values.
///
/// A variable is divided if nothing but products takes it in the forward and the backward pass: matrices of weights, no biases and no
/// tables of embeddings. With it are divided what is done to it once in a step, its gradient, and the products that take it or make
/// its gradient. Gradients of divided variables stay with their member, and those of the others are the same on all, so that
/// weights need no exchange. What is added up are the outputs of divided products: for a layer of a transformer two forward and
/// two backward, in a graph whose products are ops of their own one for each.
///
/// # Complexity
/// O(n · (ops + edges) · log ops), and 2n² ops for each sum on a ring.
///
/// # Reference
/// M. Shoeybi et al.: Megatron-LM: training multi-billion parameter language models using model parallelism. arXiv:1909.08053, 2019,
/// §3 (there, products come in pairs, and the first of two needs no sum).
pub(super) struct TensorParallel {
    n: u32,
    sync: Sync,
}

impl Pass for TensorParallel {
    const NAME: &'static str = "tensor_parallel";
    const SUMMARY: &'static str = "divides products of matrices among members, which add up their parts";
    const SOURCE: &'static str = "Shoeybi et al. 2019, §3";
    const KEEPS: &'static [Kept] = &[];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Ok(Self {
            n: params.number("n", 2, 1..=4096, "members")?,
            sync: params.word("sync", Sync::Ring, "how parts are summed: ring, doubling, tree or server")?,
        })
    }

    fn apply(&self, graph: &DataflowGraph) -> Result<Passed, PassError> {
        let step = TrainingStep::of(graph);
        // What a pass has joined with a product may be no sum of parts.
        let takes_weights = |op: OpId| {
            let mut data = graph.predecessors(op).filter(|edge| edge.tensor.is_some());
            step.is_repeated(op) && data.any(|edge| !step.takes_inputs(edge.op))
        };
        let is_joined = |op: OpId| {
            op_type(graph, op).is_some_and(|name| is_matrix_op(name) && name.contains('+')) && takes_weights(op)
        };
        if let Some(op) = graph.op_ids().find(|&op| is_joined(op)) {
            let what = graph.label(op);
            let reason = format!(
                "{what} is a product joined with other ops, and may be no sum of parts: put fuse and coarsen last"
            );
            return Err(PassError::refused::<Self>(reason));
        }
        let divided = Divided::of(graph, &step);
        if divided.variables == 0 {
            let reason = "no variable is taken by products of matrices alone, so that there is nothing to divide";
            return Err(PassError::refused::<Self>(reason));
        }
        let n = self.n as usize;
        check_size::<Self>(graph, n, if self.sync == Sync::Ring { 2 * divided.variables } else { 0 })?;
        // What adds up parts of sums has as many of them as before.
        let adds_up = |op: OpId| graph.predecessor_ops(op).iter().any(|source| divided.is_partial[source.index()]);
        let draft = |op: OpId| match divided.is_product[op.index()] || divided.is_with[op.index()] {
            true => Draft::part_of(graph, op, n, &divided.is_whole),
            false if divided.is_partial[op.index()] && !adds_up(op) => {
                Draft::of(graph, op).scaled(1.0 / f64::from(self.n))
            }
            false => Draft::of(graph, op),
        };
        // What products make is summed, and what else is made of parts of gradients, such as their squares.
        let is_summed = |tensor: TensorId, taker: OpId| {
            let producer = graph.producer(tensor).index();
            let is_product =
                divided.is_product[producer] && divided.is_whole[tensor.index()] && step.is_repeated(taker);
            is_product || (divided.is_partial[producer] && !divided.is_partial[taker.index()])
        };
        let copies = Copies {
            graph,
            n,
            sync: self.sync,
            draft: &draft,
            is_summed: &is_summed,
            is_rows: &|_| false,
            results: &divided.results,
        };
        let (rewrite, [sums, _]) = copies.made().map_err(refused_by::<Self>)?;
        let products = divided.is_product.iter().filter(|&&is_product| is_product).count();
        let variables = divided.variables;
        rewrite
            .finish(format!("{products} products with {variables} variables divided among {n} members, {sums} sums"))
            .map_err(refused_by::<Self>)
    }
}

/// What is divided.
struct Divided {
    /// Number of variables.
    variables: usize,
    /// Products.
    is_product: Vec<bool>,
    /// Divided variables, and what is done to them and to their gradients.
    is_with: Vec<bool>,
    /// What makes parts of sums of divided gradients.
    is_partial: Vec<bool>,
    /// Tensors that each member has in full: parts of sums.
    is_whole: Vec<bool>,
    /// Those that nothing takes, such as what an inference answers.
    results: Vec<TensorId>,
}

impl Divided {
    fn of(graph: &DataflowGraph, step: &TrainingStep) -> Self {
        let is_matrix = |op: OpId| op_type(graph, op).is_some_and(is_matrix_op);
        let mut divided = Self {
            variables: 0,
            is_product: vec![false; graph.op_count()],
            is_with: vec![false; graph.op_count()],
            is_partial: Vec::new(),
            is_whole: vec![false; graph.tensor_count()],
            results: Vec::new(),
        };
        let mut is_gradient = vec![false; graph.tensor_count()];
        let alone = graph.op_ids().filter(|&op| is_state(graph, op) && graph.colocation().group_of(op).is_none());
        let alone: Vec<[OpId; 1]> = alone.map(|state| [state]).collect();
        let groups = graph.colocation().groups().map(|(group, members)| (Some(group), members));
        for (group, members) in groups.chain(alone.iter().map(|members| (None, &members[..]))) {
            let states = members.iter().copied().filter(|&op| is_state(graph, op));
            let values: Vec<Vec<OpId>> = states.map(|state| step.values(graph, state)).collect();
            let takers_of = |values: &Vec<OpId>| -> Vec<OpId> {
                let taken = values.iter().flat_map(|&op| graph.successors(op)).filter(|edge| edge.tensor.is_some());
                taken.map(|edge| edge.op).filter(|&op| step.is_repeated(op)).collect()
            };
            let takers: Vec<Vec<OpId>> = values.iter().map(takers_of).collect();
            let taken = takers.iter().filter(|takers| !takers.is_empty()).count();
            if taken == 0 || !takers.iter().flatten().all(|&taker| is_matrix(taker)) {
                continue;
            }
            divided.variables += taken;
            let after = group.map(|group| step.after_gradient(graph, group)).unwrap_or_default();
            for &op in values.iter().flatten().chain(&after).chain(members) {
                divided.is_with[op.index()] = !step.is_repeated(op) && !makes_numbers(graph, op);
            }
            takers.iter().flatten().for_each(|taker| divided.is_product[taker.index()] = true);
            // Back from the gradient to the products that make it: they add parts, or pass them on, in its size.
            let mut open: Vec<OpId> =
                after.iter().chain(members).copied().filter(|&op| !step.is_repeated(op)).collect();
            while let Some(op) = open.pop() {
                for edge in graph.predecessors(op).filter(|edge| step.is_repeated(edge.op)) {
                    let Some(tensor) = edge.tensor.filter(|_| {
                        group.is_some_and(|group| is_size_of(graph, graph.edge_bytes(edge), group.index()))
                    }) else {
                        continue;
                    };
                    if !std::mem::replace(&mut is_gradient[tensor.index()], true) {
                        match is_matrix(edge.op) {
                            true => divided.is_product[edge.op.index()] = true,
                            false => {
                                divided.is_with[edge.op.index()] = true;
                                open.push(edge.op);
                            }
                        }
                    }
                }
            }
        }
        let is_part = |_: OpId, tensor: TensorId| is_gradient[tensor.index()];
        divided.is_partial = partial_sums(graph, step, &mut divided.is_with, is_part);
        for op in graph.op_ids().filter(|op| divided.is_product[op.index()]) {
            for tensor in graph.outputs(op) {
                let mut takers = graph.successors(op).filter(|edge| edge.tensor == Some(tensor));
                // Gradients stay divided.
                divided.is_whole[tensor.index()] =
                    !is_gradient[tensor.index()] && takers.all(|edge| step.is_repeated(edge.op));
                if graph.out_degree(op) == 0 && divided.is_whole[tensor.index()] {
                    divided.results.push(tensor);
                }
            }
        }
        divided
    }
}
