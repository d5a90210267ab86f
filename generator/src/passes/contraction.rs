//! Sets of ops become one op each.

use std::borrow::Cow;
use std::collections::BTreeSet;

use placebench_datasets::{DataflowGraph, GraphError, OpId, is_matrix_op};

use crate::pass::Passed;
use crate::rewrite::{Draft, Rewrite};

/// Which ops become one: at first each is alone.
pub(super) struct Clusters {
    parent: Vec<u32>,
}

impl Clusters {
    pub(super) fn new(op_count: usize) -> Self {
        Self { parent: (0..op_count as u32).collect() }
    }

    /// The number of an op's cluster, which is that of its first op.
    pub(super) fn of(&self, op: OpId) -> OpId {
        let mut at = op.0;
        while self.parent[at as usize] != at {
            at = self.parent[at as usize];
        }
        OpId(at)
    }

    /// Makes one cluster of two.
    pub(super) fn join(&mut self, a: OpId, b: OpId) {
        let (a, b) = (self.of(a).0, self.of(b).0);
        let (first, second) = (a.min(b), a.max(b));
        self.parent[second as usize] = first;
    }
}

/// Whether two ops may become one: they may run on the same kinds of devices, have measured times on the same classes, share a
/// group if they are in any, and neither holds a variable's memory that others refer to.
pub(super) fn may_join(graph: &DataflowGraph, a: OpId, b: OpId) -> bool {
    let times = graph.measured_times();
    let group = |op: OpId| graph.colocation().group_of(op);
    graph.kinds(a) == graph.kinds(b)
        && group(a) == group(b)
        && times.iter().all(|times| times.of(a).is_some() == times.of(b).is_some())
        && !graph.outputs_are_resident(a)
        && !graph.outputs_are_resident(b)
}

/// Makes one op of each cluster. Work, memory and bytes moved are summed, but for the `saved` bytes that a cluster does not move
/// any more; tensors that are consumed within a cluster alone are gone. An op stands where the first of its cluster stood, and
/// has the name and the layer of the last; attributes are known of an op alone.
///
/// No path between two ops of a cluster may leave it.
///
/// # Errors
/// If one does: a cycle.
///
/// # Complexity
/// O((ops + edges) · log ops).
pub(super) fn contract(
    graph: &DataflowGraph,
    clusters: &Clusters,
    saved: impl Fn(OpId) -> f64,
) -> Result<Passed, GraphError> {
    let mut members: Vec<Vec<OpId>> = vec![Vec::new(); graph.op_count()];
    for op in graph.topological_order() {
        members[clusters.of(op).index()].push(op);
    }
    let mut rewrite = Rewrite::new(graph);
    // What stands for each tensor, and for each op.
    let mut port = vec![None; graph.tensor_count()];
    let mut new = vec![OpId(0); graph.op_count()];
    for cluster in members.iter().filter(|cluster| !cluster.is_empty()) {
        let mut outputs = Vec::new();
        for tensor in cluster.iter().flat_map(|&op| graph.outputs(op)) {
            let producer = graph.producer(tensor);
            let mut takers =
                graph.successors(producer).filter(|edge| edge.tensor == Some(tensor)).map(|edge| edge.op).peekable();
            let is_alone = cluster.len() == 1 || takers.peek().is_none();
            if is_alone || takers.any(|taker| clusters.of(taker) != clusters.of(producer)) {
                port[tensor.index()] = Some(outputs.len());
                outputs.push(graph.tensor_bytes(tensor));
            }
        }
        let draft = Draft { outputs, ..joined(graph, cluster, &saved) };
        let id = rewrite.add(draft);
        cluster.iter().for_each(|op| new[op.index()] = id);
    }
    let mut known = BTreeSet::new();
    for cluster in members.iter().filter(|cluster| !cluster.is_empty()) {
        known.clear();
        for &op in cluster {
            let id = new[op.index()];
            for edge in graph.predecessors(op).filter(|edge| new[edge.op.index()] != id) {
                // What several ops of a cluster take enters it once.
                if cluster.len() > 1 && !known.insert((edge.op, edge.tensor)) {
                    continue;
                }
                let producer = new[edge.op.index()];
                match edge.tensor.map(|tensor| port[tensor.index()]) {
                    Some(Some(port)) => rewrite.builder.add_edge(producer, port, id)?,
                    // A tensor that leaves its cluster has a port.
                    Some(None) | None => rewrite.builder.add_control_edge(producer, id)?,
                }
            }
        }
    }
    rewrite.colocate(|op| [new[op.index()]])?;
    let count = members.iter().filter(|cluster| !cluster.is_empty()).count();
    rewrite.finish(format!("{} ops became {count}", graph.op_count()))
}

/// What stands for a cluster, without its outputs.
fn joined<'g>(graph: &'g DataflowGraph, cluster: &[OpId], saved: impl Fn(OpId) -> f64) -> Draft<'g> {
    let drafts: Vec<Draft<'g>> = cluster.iter().map(|&op| Draft::of(graph, op)).collect();
    let types: Vec<&str> = drafts.iter().filter_map(|draft| draft.op_type.as_deref()).collect();
    let op_type = match types.as_slice() {
        [] => None,
        // The product of matrices is what decides its speed.
        some if some.len() > MOST_TYPES => {
            let first = some.iter().find(|name| is_matrix_op(name)).unwrap_or(&some[0]);
            Some(format!("{first}+{} more", some.len() - 1))
        }
        some => Some(some.join("+")),
    };
    let mut rest = drafts.into_iter();
    let Some(mut whole) = rest.next() else { return Draft::of(graph, OpId(0)) };
    for draft in rest {
        whole.ops += draft.ops;
        whole.memory_bytes = whole.memory_bytes.saturating_add(draft.memory_bytes);
        whole.bytes_moved = whole.bytes_moved.zip(draft.bytes_moved).map(|(a, b)| a + b);
        for ((_, time), (_, more)) in whole.times.iter_mut().zip(&draft.times) {
            *time += more;
        }
        (whole.name, whole.layer, whole.attributes) = (draft.name, draft.layer, None);
        whole.from.extend(draft.from);
    }
    let saved: f64 = cluster.iter().map(|&op| saved(op)).sum();
    whole.bytes_moved = whole.bytes_moved.map(|bytes| (bytes - saved).max(0.0));
    Draft { op_type: op_type.map(Cow::Owned), ..whole }
}

/// An op made of more has a type that names one and counts the others.
const MOST_TYPES: usize = 4;
