//! Copies of a graph whose members exchange tensors.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use placebench_base::params::Named;
use placebench_datasets::{DataflowGraph, GraphError, OpId, TensorId};

use super::additions::Additions;
use crate::exchange::{Members, Sum};
use crate::pass::{Pass, PassError};
use crate::rewrite::{Draft, Rewrite};
use crate::sketch::Output;

/// How a tensor is summed over the copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sync {
    Server,
    Ring,
    Doubling,
    Tree,
}

impl Named for Sync {
    const NAMES: &'static [(&'static str, Self)] =
        &[("ring", Self::Ring), ("doubling", Self::Doubling), ("tree", Self::Tree), ("server", Self::Server)];
}

/// What is copied, and what is summed over the copies.
pub(super) struct Copies<'g, 'a> {
    /// The graph.
    pub(super) graph: &'g DataflowGraph,
    /// Number of copies.
    pub(super) n: usize,
    /// How a tensor is summed.
    pub(super) sync: Sync,
    /// What stands for an op in each copy.
    pub(super) draft: &'a dyn Fn(OpId) -> Draft<'g>,
    /// Whether an op takes the sum of a tensor over all copies, not its own copy's.
    pub(super) is_summed: &'a dyn Fn(TensorId, OpId) -> bool,
}

/// Checks that copies with their exchanges fit into memory: on a ring a sum takes 2n² ops.
///
/// # Errors
/// If they do not.
pub(super) fn check_size<P: Pass>(graph: &DataflowGraph, n: usize, sums: usize) -> Result<(), PassError> {
    let (n, sums) = (n as f64, sums as f64);
    let exchanged = 2.0 * n * n * sums;
    PassError::check_size::<P>(n * graph.op_count() as f64 + exchanged, n * graph.edge_count() as f64 + 2.0 * exchanged)
}

impl<'g> Copies<'g, '_> {
    /// The graph of all copies, which are groups of their own, and the number of tensors that are summed.
    ///
    /// # Errors
    /// If the graph outgrows 32-bit ids.
    pub(super) fn made(&self) -> Result<(Rewrite<'g>, usize), GraphError> {
        let graph = self.graph;
        let mut rewrite = Rewrite::new(graph);
        let mut copies: Vec<Vec<OpId>> = Vec::with_capacity(self.n);
        for copy in 0..self.n {
            let suffix = format!("copy_{copy}");
            copies.push(graph.op_ids().map(|op| rewrite.add((self.draft)(op).suffixed(&suffix))).collect());
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
                // Of one tensor, or of tensors without bytes, there is nothing to sum.
                if self.n == 1 || graph.tensor_bytes(tensor) == 0 || !(self.is_summed)(tensor, op) {
                    let port = graph.port(tensor);
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
        Ok((rewrite, summed.len()))
    }

    /// The sum of a tensor over all copies, for each copy.
    fn sum(&self, exchange: &mut Exchange<'_, '_>, tensor: TensorId) -> Result<Vec<Vec<Output>>, GraphError> {
        let (graph, n) = (exchange.graph, self.n);
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
    /// `ops` are bytes that are added. An op of a sum is where the sum is used, one of a server anywhere.
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
        if let Some(copy) = copies.get(member) {
            rewrite.builder.colocate(copy[taker.index()], op)?;
        }
        Ok(op)
    }
}
