//! Copies of a graph whose members exchange tensors.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use placebench_base::params::Named;
use placebench_datasets::{DataflowGraph, GraphError, OpId, TensorId};

use super::additions::Additions;
use super::training_step::NUMBER;
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
    /// Whether what is summed are rows, which are gathered instead: each copy has its own.
    pub(super) is_rows: &'a dyn Fn(TensorId) -> bool,
    /// Tensors that are summed though nothing takes them.
    pub(super) results: &'a [TensorId],
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
    /// The graph of all copies, which are groups of their own, and the numbers of tensors that are summed and gathered.
    ///
    /// # Errors
    /// If the graph outgrows 32-bit ids.
    pub(super) fn made(&self) -> Result<(Rewrite<'g>, [usize; 2]), GraphError> {
        let graph = self.graph;
        let mut rewrite = Rewrite::new(graph);
        let mut copies: Vec<Vec<OpId>> = Vec::with_capacity(self.n);
        for copy in 0..self.n {
            let suffix = format!("copy_{copy}");
            copies.push(graph.op_ids().map(|op| rewrite.add((self.draft)(op).suffixed(&suffix))).collect());
        }
        let mut exchange = Exchange::new(graph, &copies, &mut rewrite);
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
                        (exchange.with, exchange.near) = (op, edge.op);
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
        for &tensor in self.results.iter().filter(|&&tensor| self.n > 1 && graph.tensor_bytes(tensor) > 0) {
            if let Entry::Vacant(place) = summed.entry(tensor) {
                (exchange.with, exchange.near) = (graph.producer(tensor), graph.producer(tensor));
                place.insert(self.sum(&mut exchange, tensor)?);
            }
        }
        for copy in &copies {
            rewrite.colocate(|op| [copy[op.index()]])?;
        }
        let gathered = summed.keys().filter(|&&tensor| (self.is_rows)(tensor)).count();
        Ok((rewrite, [summed.len() - gathered, gathered]))
    }

    /// The sum of a tensor over all copies, or the rows of all, for each copy.
    fn sum(&self, exchange: &mut Exchange<'g, '_>, tensor: TensorId) -> Result<Vec<Vec<Output>>, GraphError> {
        let (producer, port) = (self.graph.producer(tensor), self.graph.port(tensor));
        let (tensors, is_rows) = (exchange.of_all(producer, port), (self.is_rows)(tensor));
        let bytes = match is_rows {
            true => (self.draft)(producer).outputs[port] * self.n as u64,
            false => self.graph.tensor_bytes(tensor),
        };
        let what = (producer, if is_rows { format!("rows_{port}") } else { port.to_string() }, bytes);
        exchange.exchange(what, &tensors, |sum, exchange| match (self.sync, is_rows) {
            (Sync::Ring, false) if bytes > NUMBER => sum.on_a_ring(exchange),
            // Numbers are not cut into chunks.
            (Sync::Ring | Sync::Doubling, false) => sum.by_recursive_doubling(exchange),
            (Sync::Tree, false) => sum.on_a_tree(exchange),
            (Sync::Server, false) => sum.by_servers(exchange, self.n, 1),
            (Sync::Ring, true) => sum.gathered_on_a_ring(exchange),
            (Sync::Doubling, true) => sum.gathered_by_recursive_doubling(exchange),
            (Sync::Tree, true) => sum.gathered_on_a_tree(exchange),
            (Sync::Server, true) => sum.gathered_by_a_server(exchange, self.n),
        })
    }
}

/// Adds the ops of exchanges between copies, at the price of the graph's own additions.
pub(super) struct Exchange<'g, 'r> {
    graph: &'g DataflowGraph,
    additions: Additions<'g>,
    copies: &'r [Vec<OpId>],
    pub(super) rewrite: &'r mut Rewrite<'g>,
    /// The old op that makes what is exchanged.
    pub(super) near: OpId,
    /// The old op on whose device an exchange goes on, in each copy.
    pub(super) with: OpId,
    /// Old ops that the next ops wait for.
    pub(super) after: Vec<OpId>,
}

impl<'g, 'r> Exchange<'g, 'r> {
    pub(super) fn new(graph: &'g DataflowGraph, copies: &'r [Vec<OpId>], rewrite: &'r mut Rewrite<'g>) -> Self {
        let (near, with) = (OpId(0), OpId(0));
        Self { graph, additions: Additions::of(graph), copies, rewrite, near, with, after: Vec::new() }
    }

    /// An output of each copy of an op.
    pub(super) fn of_all(&self, op: OpId, port: usize) -> Vec<Output> {
        self.copies.iter().map(|copy| (copy[op.index()], port)).collect()
    }

    /// An exchange of something that an op has in each copy: the op, what it is called, and its bytes.
    pub(super) fn exchange<T>(
        &mut self,
        (op, what, bytes): (OpId, String, u64),
        tensors: &[Output],
        exchange: impl FnOnce(&Sum<'_>, &mut Self) -> Result<T, GraphError>,
    ) -> Result<T, GraphError> {
        let sum = Sum {
            name: self.graph.name(op).map_or_else(|| format!("{op}/{what}/"), |name| format!("{name}/{what}/")),
            values: bytes,
            members: &(0..self.copies.len()).collect::<Vec<_>>(),
            tensors,
            bytes: &|bytes| bytes,
            message: &|bytes| bytes,
            pack_ops: 0.0,
            add_ops: &|bytes| bytes as f64,
        };
        exchange(&sum, self)
    }
}

impl Members for Exchange<'_, '_> {
    /// `ops` are bytes that are added. A server is no copy, and its ops may be anywhere.
    fn add(
        &mut self,
        member: usize,
        name: &str,
        op_type: &str,
        ops: f64,
        outputs: &[u64],
        inputs: &[Output],
    ) -> Result<OpId, GraphError> {
        let Self { graph, additions, copies, rewrite, near, with, after } = self;
        let draft = additions.draft(graph, *near, ops as u64, if ops > 0.0 { 2 } else { 0 });
        let draft = Draft {
            name: graph.has_names().then(|| Cow::Owned(format!("{name}/copy_{member}"))),
            op_type: draft.op_type.is_some().then(|| Cow::Owned(op_type.to_owned())),
            attributes: None,
            outputs: outputs.to_vec(),
            ..draft
        };
        let op = rewrite.add(draft);
        inputs.iter().try_for_each(|&(input, port)| rewrite.builder.add_edge(input, port, op))?;
        if let Some(copy) = copies.get(member) {
            rewrite.builder.colocate(copy[with.index()], op)?;
            after.iter().try_for_each(|waited| rewrite.builder.add_control_edge(copy[waited.index()], op))?;
        }
        Ok(op)
    }
}
