//! The parts of a training step: what is done for each example, and what is done once.

use std::collections::BTreeMap;

use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};
use placebench_datasets::{DataflowGraph, Edge, GroupId, OpId, TensorId, is_matrix_op};

/// Op types of what stays from step to step: variables of TensorFlow and of the generated families, parameters and state of JAX.
const STATES: [&str; 5] = ["Variable", "VariableV2", "VarHandleOp", "parameter", "state"];

/// Op types through which examples come in: those of TensorFlow, of JAX and of the generated families.
const INPUTS: [&str; 6] = ["Placeholder", "PlaceholderWithDefault", "IteratorGetNext", "IteratorV2", "input", "Input"];

/// What types of ops begin with that change variables: those of TensorFlow, of the generated families, and JAX's fused ones.
const UPDATES: [&str; 8] =
    ["Apply", "Assign", "ResourceApply", "ResourceScatter", "ScatterAdd", "ScatterSub", "SparseApply", "Update"];

/// Ops that add up equal rows before an optimizer takes them, in TensorFlow.
const ROW_SUMS: [&str; 3] = ["Unique", "UniqueV2", "UnsortedSegmentSum"];

/// Types of the ops that make what copies add up.
const ADDED: [&str; 2] = ["Aggregate", "Reduce"];

/// Types of the ops by which copies of a step exchange tensors, as passes and families name them.
const EXCHANGES: [&str; 5] = ["Aggregate", "Gather", "Pack", "Reduce", "Split"];

/// Which ops of a graph do what in a training step. An inference has no updates.
///
/// What takes inputs, directly or through other ops, is done *for each example*, up to the gradients of the weights. The gradient of
/// a variable is the last op that every path of data from the inputs to the variable's updates goes through (the immediate
/// dominator of the updates), or the one that it is a scaled or transposed copy of. What takes inputs through gradients alone is done
/// *once* in a step, clipping by the norm of all gradients, too, as is all that takes no inputs. What stands between two ops that are
/// done for each example is one of them.
///
/// If no such op has the size of the variable, its gradients may be those of some *rows*, such as of a table: numbers of rows and, beside
/// them, their gradients. Of several parts of a batch they are no sum, but stand one behind the other. They are what the updates take, before
/// it is scaled by a number that depends on the inputs, as in clipping, and before equal rows are added up, which is part of the update.
/// The size decides: if each tensor that is taken is as large as the variable, or all together are, these are gradients to be summed, else
/// they are rows. A single tensor is summed, too: rows have numbers beside them.
///
/// # Complexity
/// O((ops + edges) · log ops), most of it for dominators (Cooper, Harvey, Kennedy: A simple, fast dominance algorithm, 2001).
pub(super) struct TrainingStep {
    takes_inputs: Vec<bool>,
    /// For each op that updates a variable, the number of the variable's group.
    group_of_update: Vec<Option<usize>>,
    /// By group of variables, the ops that make their gradients.
    gradients: BTreeMap<usize, Vec<OpId>>,
    /// Whether it is done for each example.
    is_repeated: Vec<bool>,
    /// By tensor, whether parts of a batch have rows of their own.
    is_rows: Vec<bool>,
}

impl TrainingStep {
    pub(super) fn of(graph: &DataflowGraph) -> Self {
        let takes_inputs = reached(graph, &inputs(graph), false);
        let group_of_update = updates(graph, &takes_inputs);
        let Gradients { of_group: gradients, is_gradient, is_sized, adds_rows, others } =
            Gradients::of(graph, &takes_inputs, &group_of_update);
        let mut is_repeated = takes_inputs.clone();
        let is_once = |op: OpId| group_of_update[op.index()].is_some() || adds_rows[op.index()];
        for op in graph.topological_order().filter(|op| takes_inputs[op.index()]) {
            let data = || graph.predecessors(op).filter_map(|edge| Some((edge.op, edge.tensor?)));
            let before =
                |(source, tensor): (OpId, TensorId)| is_repeated[source.index()] && !is_gradient[tensor.index()];
            let is_input = !data().any(|(source, _)| takes_inputs[source.index()]);
            is_repeated[op.index()] = !is_once(op) && (is_input || data().any(before));
        }
        // What stands between two such ops, by data or by control edges, is one, too: else one part of a batch would wait for another.
        let repeated: Vec<OpId> = graph.op_ids().filter(|op| is_repeated[op.index()]).collect();
        let (after, before) = (reached(graph, &repeated, true), reaching(graph, &repeated));
        for op in graph.op_ids().filter(|&op| after[op.index()] && before[op.index()] && !is_state(graph, op)) {
            is_repeated[op.index()] |= !is_once(op);
        }
        let mut step =
            Self { takes_inputs, group_of_update, gradients, is_repeated, is_rows: vec![false; graph.tensor_count()] };
        for (group, by) in others {
            let mut taken = step.taken(graph, by);
            taken.retain(|tensor| !is_sized[tensor.index()]);
            let is_added =
                |&tensor: &TensorId| op_type(graph, graph.producer(tensor)).is_some_and(|name| ADDED.contains(&name));
            let sizes = || taken.iter().map(|&tensor| graph.tensor_bytes(tensor));
            let are_parts = sizes_of(graph, group).any(|size| size == sizes().sum::<u64>());
            let are_sums =
                are_parts || sizes().all(|bytes| is_size_of(graph, bytes, group)) || taken.iter().any(is_added);
            if taken.len() > 1 && !are_sums {
                taken.into_iter().for_each(|tensor| step.is_rows[tensor.index()] = true);
            }
        }
        step
    }

    /// The tensors that are made for each example and that some ops take: directly, or by large tensors through ops that are done once.
    fn taken(&self, graph: &DataflowGraph, by: Vec<OpId>) -> Vec<TensorId> {
        let (mut found, mut at, direct, mut ops) = (Vec::new(), 0, by.len(), by);
        while let Some(&op) = ops.get(at) {
            for edge in graph.predecessors(op).filter(|edge| self.takes_inputs(edge.op)) {
                let is_large = graph.edge_bytes(edge) > SMALL;
                match edge.tensor.filter(|_| is_large || at < direct) {
                    Some(tensor) if self.is_repeated(edge.op) && !found.contains(&tensor) => found.push(tensor),
                    Some(_) if is_large && !self.is_repeated(edge.op) && !ops.contains(&edge.op) => ops.push(edge.op),
                    _ => {}
                }
            }
            at += 1;
        }
        found
    }

    /// Whether of a tensor parts of a batch have rows of their own, which stand one behind the other where all are needed.
    pub(super) fn is_rows(&self, tensor: TensorId) -> bool {
        self.is_rows[tensor.index()]
    }

    /// Whether some op updates a variable.
    pub(super) fn has_updates(&self) -> bool {
        self.group_of_update.iter().any(Option::is_some)
    }

    /// Groups of variables that are updated from gradients.
    pub(super) fn variables(&self) -> usize {
        self.gradients.len()
    }

    /// Whether an op changes a variable in each step.
    pub(super) fn is_update(&self, op: OpId) -> bool {
        self.group_of_update[op.index()].is_some()
    }

    /// Whether data from the inputs reaches an op.
    pub(super) fn takes_inputs(&self, op: OpId) -> bool {
        self.takes_inputs[op.index()]
    }

    /// For each op whether it is of the forward pass: done for each example, and before the gradients of all weights. A variable that no
    /// op takes which is done for each example, such as a moving mean, is no weight.
    ///
    /// # Complexity
    /// O(variables · (ops + edges)).
    pub(super) fn forward(&self, graph: &DataflowGraph) -> Vec<bool> {
        let is_trained = |group: usize| {
            let members = graph.colocation().members(GroupId::new(group)).iter();
            let values = members.filter(|&&op| !self.takes_inputs(op));
            let mut takers = values.flat_map(|&op| graph.successors(op)).filter(|edge| edge.tensor.is_some());
            takers.any(|edge| self.is_repeated(edge.op))
        };
        let trained = || self.gradients.iter().filter(|&(&group, _)| is_trained(group));
        let (mut met, mut seen) = (vec![0; graph.op_count()], vec![0; graph.op_count()]);
        for (call, (_, gradients)) in (1..).zip(trained()) {
            let before = behind(graph, gradients.clone(), (&mut seen, call), |op| !self.is_repeated(op));
            before.into_iter().for_each(|op| met[op.index()] += 1);
        }
        let count = trained().count();
        graph.op_ids().map(|op| self.is_repeated(op) && met[op.index()] == count).collect()
    }

    /// What a variable is before the step: itself, and what is done to it once, such as reading or transposing.
    pub(super) fn values(&self, graph: &DataflowGraph, state: OpId) -> Vec<OpId> {
        let (mut found, mut at) = (vec![state], 0);
        while let Some(&op) = found.get(at) {
            for edge in graph.successors(op).filter(|edge| edge.tensor.is_some()) {
                if !self.takes_inputs(edge.op) && !self.is_update(edge.op) && !found.contains(&edge.op) {
                    found.push(edge.op);
                }
            }
            at += 1;
        }
        found
    }

    /// What is done once with the gradient of a group's variables, up to their updates. Numbers, such as a norm of all gradients, are
    /// no way to it.
    pub(super) fn after_gradient(&self, graph: &DataflowGraph, group: GroupId) -> Vec<OpId> {
        let members = graph.colocation().members(group).iter().copied();
        let mut found: Vec<OpId> = members.filter(|&op| self.is_update(op)).collect();
        // The largest: the optimizer's numbers may be in the group, too.
        let variable = sizes_of(graph, group.index()).max();
        let is_way = |edge: &Edge| {
            let bytes = graph.edge_bytes(*edge);
            edge.tensor.is_some() && (bytes > SMALL || Some(bytes) == variable)
        };
        let mut at = 0;
        while let Some(&op) = found.get(at) {
            for edge in graph.predecessors(op).filter(is_way) {
                if self.takes_inputs(edge.op) && !self.is_repeated(edge.op) && !found.contains(&edge.op) {
                    found.push(edge.op);
                }
            }
            at += 1;
        }
        found
    }

    /// Whether what an op does is done for each example.
    pub(super) fn is_repeated(&self, op: OpId) -> bool {
        self.is_repeated[op.index()]
    }
}

/// Whether an op is something that stays from step to step.
pub(super) fn is_state(graph: &DataflowGraph, op: OpId) -> bool {
    op_type(graph, op).is_some_and(|op_type| STATES.contains(&op_type))
}

/// The type of an op, if the graph has types.
pub(super) fn op_type(graph: &DataflowGraph, op: OpId) -> Option<&str> {
    graph.op_types()?.get(op.index())
}

/// The ops through which examples come in. In graphs of families that leave them out, these are the ops that take variables and
/// nothing else.
fn inputs(graph: &DataflowGraph) -> Vec<OpId> {
    let is_input = |op: &OpId| op_type(graph, *op).is_some_and(|op_type| INPUTS.contains(&op_type));
    let named: Vec<OpId> = graph.op_ids().filter(is_input).collect();
    if !named.is_empty() {
        return named;
    }
    let takes_states = |&op: &OpId| {
        let sources = graph.predecessor_ops(op);
        !sources.is_empty() && sources.iter().all(|&source| is_state(graph, source))
    };
    graph.op_ids().filter(takes_states).collect()
}

/// The ops that are reached from some, themselves included: over edges that carry data, or over all.
fn reached(graph: &DataflowGraph, from: &[OpId], by_control: bool) -> Vec<bool> {
    let mut reached = vec![false; graph.op_count()];
    let mut open = from.to_vec();
    while let Some(op) = open.pop() {
        if !std::mem::replace(&mut reached[op.index()], true) {
            open.extend(graph.successors(op).filter(|edge| by_control || edge.tensor.is_some()).map(|edge| edge.op));
        }
    }
    reached
}

/// The ops from which some are reached, themselves included, over edges of any sort.
fn reaching(graph: &DataflowGraph, from: &[OpId]) -> Vec<bool> {
    let mut reaching = vec![false; graph.op_count()];
    let mut open = from.to_vec();
    while let Some(op) = open.pop() {
        if !std::mem::replace(&mut reaching[op.index()], true) {
            open.extend(graph.predecessor_ops(op));
        }
    }
    reaching
}

/// Whether an op changes a variable, as its type says.
pub(super) fn is_update_type(graph: &DataflowGraph, op: OpId) -> bool {
    op_type(graph, op).is_some_and(|name| name == "fused_adam" || UPDATES.iter().any(|prefix| name.starts_with(prefix)))
}

/// For each op that updates a variable, the number of the variable's group. Updates are on the variable's device and wait for what
/// takes inputs. In some groups types say which ops these are. In the others an op is no update if data from it gets to an update of
/// another group: an op that reads a row of a table is on the table's device, too.
fn updates(graph: &DataflowGraph, takes_inputs: &[bool]) -> Vec<Option<usize>> {
    let starts: Vec<OpId> = graph.op_ids().filter(|op| takes_inputs[op.index()]).collect();
    let waits = reached(graph, &starts, true);
    let says_so = |op: OpId| is_update_type(graph, op);
    // By op, the group if it may be an update, and whether the type says so.
    let mut may_be: Vec<Option<(usize, bool)>> = vec![None; graph.op_count()];
    for (group, members) in graph.colocation().groups() {
        let exchanges = |op: OpId| op_type(graph, op).is_some_and(|name| EXCHANGES.contains(&name));
        let waiting =
            || members.iter().copied().filter(|&op| waits[op.index()] && !is_state(graph, op) && !exchanges(op));
        if members.iter().any(|&op| is_state(graph, op)) {
            let typed = waiting().any(says_so);
            for op in waiting().filter(|&op| !typed || says_so(op)) {
                may_be[op.index()] = Some((group.index(), typed));
            }
        }
    }
    let order: Vec<OpId> = graph.topological_order().collect();
    let mut gets_to = vec![Reach::None; graph.op_count()];
    let mut group_of = vec![None; graph.op_count()];
    for &op in order.iter().rev() {
        let data = graph.successors(op).filter(|edge| edge.tensor.is_some());
        let behind = data.map(|edge| gets_to[edge.op.index()]).fold(Reach::None, Reach::and);
        let own = may_be[op.index()];
        group_of[op.index()] = own.filter(|&(group, typed)| typed || behind.is_at_most(group)).map(|(group, _)| group);
        gets_to[op.index()] = own.map_or(behind, |(group, _)| behind.and(Reach::One(group)));
    }
    group_of
}

/// The groups whose updates an op gets to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    None,
    One(usize),
    Several,
}

impl Reach {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, reach) | (reach, Self::None) => reach,
            (a, b) if a == b => a,
            _ => Self::Several,
        }
    }

    fn is_at_most(self, group: usize) -> bool {
        matches!(self, Self::None) || self == Self::One(group)
    }
}

/// The gradients of all variables.
struct Gradients {
    /// By group of variables, the ops that make them.
    of_group: BTreeMap<usize, Vec<OpId>>,
    /// By tensor, whether it is one.
    is_gradient: Vec<bool>,
    /// By tensor, whether it is one of the size of its variable.
    is_sized: Vec<bool>,
    /// By op, whether it adds up equal rows for an update.
    adds_rows: Vec<bool>,
    /// Groups whose gradients have another size, with what updates them and adds up equal rows.
    others: Vec<(usize, Vec<OpId>)>,
}

impl Gradients {
    fn of(graph: &DataflowGraph, takes_inputs: &[bool], group_of: &[Option<usize>]) -> Self {
        let (count, tensors) = (graph.op_count(), graph.tensor_count());
        let root = count + graph.colocation().group_count();
        // All updates of a variable are one vertex.
        let vertex = |op: OpId| group_of[op.index()].map_or(op.index(), |group| count + group);
        let mut flow: DiGraph<(), ()> = DiGraph::with_capacity(root + 1, graph.edge_count());
        for _ in 0..=root {
            flow.add_node(());
        }
        let mut add = |from: usize, to: usize| {
            flow.add_edge(NodeIndex::new(from), NodeIndex::new(to), ());
        };
        let mut updates: BTreeMap<usize, Vec<OpId>> = BTreeMap::new();
        for op in graph.op_ids().filter(|op| takes_inputs[op.index()]) {
            group_of[op.index()].into_iter().for_each(|group| updates.entry(group).or_default().push(op));
            let data = graph.predecessors(op).filter(|edge| edge.tensor.is_some()).map(|edge| edge.op);
            let sources: Vec<OpId> = data.filter(|source| takes_inputs[source.index()]).collect();
            if sources.is_empty() {
                add(root, vertex(op));
            }
            // What takes an updated variable comes after its gradient.
            let before = sources.into_iter().filter(|source| group_of[source.index()].is_none());
            before.for_each(|source| add(source.index(), vertex(op)));
        }
        let dominators = simple_fast(&flow, NodeIndex::new(root));
        let (is_gradient, is_sized) = (vec![false; tensors], vec![false; tensors]);
        let mut found = Self {
            of_group: BTreeMap::new(),
            is_gradient,
            is_sized,
            adds_rows: vec![false; count],
            others: Vec::new(),
        };
        let mut seen = vec![0; count];
        for (call, (group, updates)) in (1..).zip(updates) {
            let last = dominators.immediate_dominator(NodeIndex::new(count + group)).map(NodeIndex::index);
            let last = last.filter(|&op| op < count).map(OpId::new).filter(|&op| is_sized_as(graph, op, group));
            let Some(last) = last else {
                found.add_others(graph, takes_inputs, group, updates);
                continue;
            };
            let first = first_of_size(graph, last, takes_inputs, group);
            let is_before = |op: OpId| !takes_inputs[op.index()] || op == first;
            behind(graph, updates.clone(), (&mut seen, call), is_before);
            let after = |op: OpId| seen[op.index()] == call || group_of[op.index()] == Some(group);
            for edge in graph.successors(first).filter(|edge| after(edge.op)) {
                if let Some(tensor) = edge.tensor.filter(|_| is_size_of(graph, graph.edge_bytes(edge), group)) {
                    found.is_gradient[tensor.index()] = true;
                    found.is_sized[tensor.index()] = true;
                }
            }
            found.of_group.insert(group, vec![first]);
        }
        found
    }

    /// Without an op of the variable's size that all paths go through, as with gradients of some rows alone, whatever the updates take is
    /// their gradient, before it is scaled and before equal rows are added up.
    fn add_others(&mut self, graph: &DataflowGraph, takes_inputs: &[bool], group: usize, updates: Vec<OpId>) {
        let members = graph.colocation().members(GroupId::new(group));
        let is_own = |op: OpId| graph.colocation().group_of(op).is_some_and(|own| own.index() == group);
        let adds_rows = |&op: &OpId| {
            let by_type = takes_inputs[op.index()] && op_type(graph, op).is_some_and(|name| ROW_SUMS.contains(&name));
            let reached = || reached(graph, &[op], false);
            by_type && reached().into_iter().enumerate().all(|(op, reached)| !reached || is_own(OpId::new(op)))
        };
        let sums: Vec<OpId> = members.iter().copied().filter(adds_rows).collect();
        sums.iter().for_each(|&op| self.adds_rows[op.index()] = true);
        let after_sums = reached(graph, &sums, false);
        let mut by = updates;
        by.extend(sums);
        let (mut made, mut at, mut ops) = (Vec::new(), 0, by.clone());
        while let Some(&op) = ops.get(at) {
            let data = graph.predecessors(op).filter(|edge| edge.tensor.is_some() && takes_inputs[edge.op.index()]);
            for source in data.map(|edge| edge.op).filter(|source| !by.contains(source)) {
                if !after_sums[source.index()] {
                    let unscaled = unscaled(graph, source, takes_inputs);
                    unscaled
                        .and_then(|edge| edge.tensor)
                        .into_iter()
                        .for_each(|tensor| self.is_gradient[tensor.index()] = true);
                    made.push(unscaled.map_or(source, |edge| edge.op));
                } else if !ops.contains(&source) {
                    ops.push(source);
                }
            }
            at += 1;
        }
        self.of_group.insert(group, made);
        self.others.push((group, by));
    }
}

/// What the last op of a chain is a copy of, before the first time that it is scaled by a number that depends on the inputs. Each op of a
/// chain takes data of one op, as large as its own output, that nothing else takes.
fn unscaled(graph: &DataflowGraph, mut op: OpId, takes_inputs: &[bool]) -> Option<Edge> {
    let mut found = None;
    loop {
        let mut sources = graph.predecessors(op).filter(|edge| edge.tensor.is_some() && takes_inputs[edge.op.index()]);
        let edge = match (scaled(graph, op, takes_inputs), sources.next(), sources.next()) {
            (Some(edge), _, _) => *found.insert(edge),
            (None, Some(edge), None)
                if Some(graph.edge_bytes(edge)) == size(graph, op) && graph.out_degree(edge.op) == 1 =>
            {
                edge
            }
            _ => return found,
        };
        op = edge.op;
    }
}

/// The first op of the longest chain that ends with `op`. Each op of a chain takes data of one op that depends on the inputs, as large
/// as its own output, and either nothing else takes that, or the op takes the variable, too. So a scaled or transposed gradient leads
/// to the gradient, and the difference between a moving mean and the mean of a batch leads to the mean of the batch.
fn first_of_size(graph: &DataflowGraph, mut op: OpId, takes_inputs: &[bool], group: usize) -> OpId {
    let is_own = |&other: &OpId| {
        let own = graph.colocation().group_of(other).is_some_and(|own| own.index() == group);
        own && !takes_inputs[other.index()]
    };
    loop {
        let data = graph.predecessors(op).filter(|edge| edge.tensor.is_some());
        let mut sources = data.filter(|edge| takes_inputs[edge.op.index()]);
        op = match (scaled(graph, op, takes_inputs), sources.next(), sources.next()) {
            (Some(edge), _, _) => edge.op,
            (None, Some(edge), None) if Some(graph.edge_bytes(edge)) == size(graph, op) => {
                if graph.out_degree(edge.op) > 1 && !graph.predecessor_ops(op).iter().any(is_own) {
                    return op;
                }
                edge.op
            }
            _ => return op,
        }
    }
}

/// The largest output of an op.
fn size(graph: &DataflowGraph, op: OpId) -> Option<u64> {
    graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor)).max()
}

/// What an op multiplies by a number that depends on the inputs, such as a norm: of what it takes one tensor is as large as its output,
/// and the others are small.
fn scaled(graph: &DataflowGraph, op: OpId, takes_inputs: &[bool]) -> Option<Edge> {
    let data = graph.predecessors(op).filter(|edge| edge.tensor.is_some() && takes_inputs[edge.op.index()]);
    let (small, large): (Vec<Edge>, Vec<Edge>) = data.partition(|&edge| graph.edge_bytes(edge) <= SMALL);
    match large.as_slice() {
        &[edge] if !small.is_empty() && Some(graph.edge_bytes(edge)) == size(graph, op) => Some(edge),
        _ => None,
    }
}

/// Whether an op has an output of as many bytes as a variable of a group.
fn is_sized_as(graph: &DataflowGraph, op: OpId, group: usize) -> bool {
    graph.outputs(op).any(|tensor| is_size_of(graph, graph.tensor_bytes(tensor), group))
}

/// Whether a variable of a group has this number of bytes, or as many values in another precision.
pub(super) fn is_size_of(graph: &DataflowGraph, bytes: u64, group: usize) -> bool {
    sizes_of(graph, group).any(|size| size == bytes || size == 2 * bytes || 2 * size == bytes)
}

/// The sizes of a group's variables.
fn sizes_of(graph: &DataflowGraph, group: usize) -> impl Iterator<Item = u64> {
    let states = graph.colocation().members(GroupId::new(group)).iter().filter(|&&member| is_state(graph, member));
    states.flat_map(|&state| graph.outputs(state)).map(|tensor| graph.tensor_bytes(tensor))
}

/// The ops whose data some ops take, directly or through others, back to those that come before.
///
/// `seen` says of each op in which call it was found last: numbers of calls ascend.
fn behind(
    graph: &DataflowGraph,
    last: Vec<OpId>,
    (seen, call): (&mut [u32], u32),
    is_before: impl Fn(OpId) -> bool,
) -> Vec<OpId> {
    let (mut found, mut open) = (Vec::new(), last);
    while let Some(op) = open.pop() {
        for edge in graph.predecessors(op).filter(|edge| edge.tensor.is_some() && !is_before(edge.op)) {
            if std::mem::replace(&mut seen[edge.op.index()], call) != call {
                found.push(edge.op);
                open.push(edge.op);
            }
        }
    }
    found
}

/// Tensors of at most this number of bytes are numbers or shapes, whose size does not depend on the batch.
pub(super) const SMALL: u64 = 64;

/// Whether an op makes numbers of at most 8 bytes alone, such as a count of steps or a power of Adam's, which nobody divides.
pub(super) fn makes_numbers(graph: &DataflowGraph, op: OpId) -> bool {
    let is_number = |bytes: u64| bytes <= NUMBER;
    graph.outputs(op).len() > 0
        && graph.outputs(op).all(|tensor| is_number(graph.tensor_bytes(tensor)))
        && is_number(graph.memory_bytes(op))
}

/// Bytes of a number.
pub(super) const NUMBER: u64 = 8;

/// Whether the size of a tensor does not depend on the batch: gradients, what merely becomes one, and what is small.
pub(super) fn undivided(graph: &DataflowGraph, step: &TrainingStep) -> Vec<bool> {
    let mut whole = vec![false; graph.tensor_count()];
    let order: Vec<OpId> = graph.topological_order().collect();
    for &op in order.iter().rev().filter(|&&op| step.is_repeated(op)) {
        for tensor in graph.outputs(op) {
            let bytes = graph.tensor_bytes(tensor);
            let takers = || graph.successors(op).filter(move |edge| edge.tensor == Some(tensor)).map(|edge| edge.op);
            // Its only use is to become a gradient of the same size. A product with another tensor may have that size by chance.
            let passes_on = |taker: OpId| {
                !op_type(graph, taker).is_some_and(is_matrix_op)
                    && graph.outputs(taker).len() > 0
                    && graph.outputs(taker).all(|output| whole[output.index()] && graph.tensor_bytes(output) == bytes)
            };
            let is_gradient = takers().any(|taker| !step.is_repeated(taker)) && !step.is_rows(tensor);
            let becomes_gradient = takers().next().is_some() && takers().all(passes_on);
            whole[tensor.index()] = bytes <= SMALL || is_gradient || becomes_gradient;
        }
    }
    whole
}
