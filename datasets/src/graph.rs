//! The dataflow graph: ops, the tensors they produce, and the edges that carry them, in flat arrays.

use std::collections::HashMap;

use petgraph::algo::{kosaraju_scc, toposort};

use crate::measured_times::{MeasuredTimes, sorted};
use crate::transpose::out_edges;
use crate::{Categories, Colocation, EdgeId, GraphError, KindSet, NameTable, OpId, OpSpec, TensorId};

/// Stored in place of a tensor id by an edge that carries none.
const CONTROL: u32 = u32::MAX;

/// A directed acyclic dataflow graph (L §2.2) in compressed sparse rows, both directions.
///
/// An op has a cost in operations, resident memory, the device kinds it may run on, and output ports ([`TensorId`]).
/// An edge names the tensor that it carries, so that many edges can carry one tensor; a control edge carries none.
/// Isolated ops and parallel edges are legal. A graph is immutable, and acyclic by construction.
///
/// # Memory
/// 16 bytes an edge (target and tensor forward, source and tensor backward), 29 bytes an op and 12 bytes a tensor. So
/// an op with one output takes 41 bytes, and 100 M edges over 20 M such ops take 2.4 GB. Optional columns add, for each
/// op: 4 bytes if the ids are not a topological order, 4 to 8 for colocation, 8 for the measured times of each class
/// of devices, 8 for the bytes moved, 4 for op types, 4 for layers, 4 for attributes, 4 and the text for names.
#[derive(Clone, Debug, PartialEq)]
pub struct DataflowGraph {
    pub(crate) ops: Vec<f64>,
    pub(crate) memory_bytes: Vec<u64>,
    pub(crate) kinds: Vec<KindSet>,
    pub(crate) tensor_offsets: Vec<u32>,
    pub(crate) tensor_bytes: Vec<u64>,
    pub(crate) tensor_producer: Vec<OpId>,
    pub(crate) out_offsets: Vec<u32>,
    pub(crate) out_targets: Vec<OpId>,
    pub(crate) out_tensors: Vec<u32>,
    pub(crate) in_offsets: Vec<u32>,
    pub(crate) in_sources: Vec<OpId>,
    pub(crate) in_tensors: Vec<u32>,
    /// `None`: ascending ids are a topological order.
    pub(crate) topological: Option<Vec<OpId>>,
    pub(crate) colocation: Colocation,
    /// Ascending by class, none of them without a time.
    pub(crate) times: Vec<MeasuredTimes>,
    pub(crate) bytes_moved: Option<Vec<f64>>,
    pub(crate) names: Option<NameTable>,
    pub(crate) types: Option<Categories>,
    pub(crate) layers: Option<Categories>,
    pub(crate) attributes: Option<Categories>,
}

/// One edge as seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The op at the other end.
    pub op: OpId,
    /// What the edge carries; `None` for a control edge.
    pub tensor: Option<TensorId>,
}

/// The columns of a graph whose ids are a topological order and whose edges are known by target: the fast way in for
/// generators, which make edges level by level. One tensor an op, numbered as its producer (L: all out-edges of an op
/// have the same weight).
#[derive(Clone, Debug, Default)]
pub struct BackwardParts {
    /// Cost of each op in operations.
    pub ops: Vec<f64>,
    /// Resident memory of each op in bytes.
    pub memory_bytes: Vec<u64>,
    /// Kinds that each op may run on.
    pub kinds: Vec<KindSet>,
    /// Size of each op's output in bytes.
    pub tensor_bytes: Vec<u64>,
    /// `op_count + 1` offsets into `in_sources`.
    pub in_offsets: Vec<u32>,
    /// For each op in turn, the producers of its inputs, ascending, each smaller than the op itself.
    pub in_sources: Vec<OpId>,
    /// Colocation groups.
    pub colocation: Colocation,
}

impl DataflowGraph {
    /// Number of ops.
    #[inline]
    pub fn op_count(&self) -> usize {
        self.ops.len()
    }

    /// Number of edges, control edges included.
    #[inline]
    pub fn edge_count(&self) -> usize {
        self.out_targets.len()
    }

    /// Number of control edges.
    pub fn control_edge_count(&self) -> usize {
        self.out_tensors.iter().filter(|&&tensor| tensor == CONTROL).count()
    }

    /// Number of tensors (output ports), consumed or not.
    #[inline]
    pub fn tensor_count(&self) -> usize {
        self.tensor_bytes.len()
    }

    /// All ops, ascending.
    pub fn op_ids(&self) -> impl DoubleEndedIterator<Item = OpId> + ExactSizeIterator + Clone + use<> {
        (0..self.op_count() as u32).map(OpId)
    }

    /// The cost of an op, in operations (L: #ops).
    #[inline]
    pub fn ops(&self, op: OpId) -> f64 {
        self.ops[op.index()]
    }

    /// The memory that an op occupies on its device for the whole run (a variable's value, say).
    #[inline]
    pub fn memory_bytes(&self, op: OpId) -> u64 {
        self.memory_bytes[op.index()]
    }

    /// The device kinds that an op may run on.
    #[inline]
    pub fn kinds(&self, op: OpId) -> KindSet {
        self.kinds[op.index()]
    }

    /// The measured times, one for each class of devices on which some op was measured, ascending by class. On a device
    /// of that class they replace `ops / speed`.
    #[inline]
    pub fn measured_times(&self) -> &[MeasuredTimes] {
        &self.times
    }

    /// The measured times on devices of a class, if some op was measured there.
    pub fn measured_on(&self, class: &str) -> Option<&MeasuredTimes> {
        let at = self.times.binary_search_by(|times| times.class().cmp(class));
        at.ok().map(|at| &self.times[at])
    }

    /// Bytes that an op reads from and writes to the memory of its device while it runs; `None` if the graph does not say.
    /// A device whose memory has a bandwidth takes at least `bytes_moved / bandwidth` for it.
    #[inline]
    pub fn bytes_moved(&self, op: OpId) -> Option<f64> {
        self.bytes_moved.as_ref().map(|bytes| bytes[op.index()])
    }

    /// Whether the graph says how many bytes its ops move.
    pub fn has_bytes_moved(&self) -> bool {
        self.bytes_moved.is_some()
    }

    /// The output ports of an op, in port order.
    #[inline]
    pub fn outputs(&self, op: OpId) -> impl ExactSizeIterator<Item = TensorId> + use<> {
        (self.tensor_offsets[op.index()]..self.tensor_offsets[op.index() + 1]).map(TensorId)
    }

    /// The tensor at an op's output port, if the op has that port.
    pub fn output(&self, op: OpId, port: usize) -> Option<TensorId> {
        self.outputs(op).nth(port)
    }

    /// The size of a tensor.
    #[inline]
    pub fn tensor_bytes(&self, tensor: TensorId) -> u64 {
        self.tensor_bytes[tensor.index()]
    }

    /// The bytes that an edge moves if its ends are on different devices: 0 for a control edge.
    #[inline]
    pub fn edge_bytes(&self, edge: Edge) -> u64 {
        edge.tensor.map_or(0, |tensor| self.tensor_bytes(tensor))
    }

    /// The op that produces a tensor.
    #[inline]
    pub fn producer(&self, tensor: TensorId) -> OpId {
        self.tensor_producer[tensor.index()]
    }

    /// The output port of its producer that a tensor is.
    pub fn port(&self, tensor: TensorId) -> usize {
        self.port_of(self.producer(tensor), tensor)
    }

    /// Whether each op has one tensor, of the op's own number, as generated graphs have.
    pub(crate) fn has_one_tensor_per_op(&self) -> bool {
        one_tensor_per_op(&self.tensor_offsets)
    }

    /// The output port of `producer` that one of its tensors is.
    #[inline]
    pub(crate) fn port_of(&self, producer: OpId, tensor: TensorId) -> usize {
        (tensor.0 - self.tensor_offsets[producer.index()]) as usize
    }

    /// Edges leaving an op: control edges last, otherwise ascending by tensor, then by consumer.
    #[inline]
    pub fn successors(&self, op: OpId) -> impl ExactSizeIterator<Item = Edge> + '_ {
        let range = self.out_offsets[op.index()] as usize..self.out_offsets[op.index() + 1] as usize;
        edges(&self.out_targets[range.clone()], &self.out_tensors[range])
    }

    /// Edges entering an op: control edges last, otherwise in the order of the op's inputs as they were added.
    #[inline]
    pub fn predecessors(&self, op: OpId) -> impl ExactSizeIterator<Item = Edge> + '_ {
        let range = self.in_offsets[op.index()] as usize..self.in_offsets[op.index() + 1] as usize;
        edges(&self.in_sources[range.clone()], &self.in_tensors[range])
    }

    /// The consumers of an op, one entry an edge, in the order of [`DataflowGraph::successors`].
    #[inline]
    pub fn successor_ops(&self, op: OpId) -> &[OpId] {
        &self.out_targets[self.out_offsets[op.index()] as usize..self.out_offsets[op.index() + 1] as usize]
    }

    /// The ops that an op waits for, one entry an edge, in the order of [`DataflowGraph::predecessors`].
    #[inline]
    pub fn predecessor_ops(&self, op: OpId) -> &[OpId] {
        &self.in_sources[self.in_offsets[op.index()] as usize..self.in_offsets[op.index() + 1] as usize]
    }

    /// Number of edges leaving an op.
    #[inline]
    pub fn out_degree(&self, op: OpId) -> usize {
        (self.out_offsets[op.index() + 1] - self.out_offsets[op.index()]) as usize
    }

    /// Number of edges entering an op.
    #[inline]
    pub fn in_degree(&self, op: OpId) -> usize {
        (self.in_offsets[op.index() + 1] - self.in_offsets[op.index()]) as usize
    }

    /// All edges in the order of their ids: producer, and the edge as its producer sees it.
    pub fn edges(&self) -> impl Iterator<Item = (OpId, Edge)> + '_ {
        self.op_ids().flat_map(|op| self.successors(op).map(move |edge| (op, edge)))
    }

    /// The edge of an id, as its producer sees it.
    pub fn edge(&self, edge: EdgeId) -> Edge {
        Edge { op: self.out_targets[edge.index()], tensor: tensor(self.out_tensors[edge.index()]) }
    }

    /// The ops in a fixed topological order: ascending ids where those are one, else petgraph's order.
    pub fn topological_order(&self) -> impl DoubleEndedIterator<Item = OpId> + ExactSizeIterator + '_ {
        let order = self.topological.as_deref();
        (0..self.op_count()).map(move |position| order.map_or(OpId(position as u32), |order| order[position]))
    }

    /// For each op, its position in [`DataflowGraph::topological_order`].
    pub fn topological_positions(&self) -> Vec<u32> {
        let mut positions = vec![0; self.op_count()];
        for (position, op) in self.topological_order().enumerate() {
            positions[op.index()] = position as u32;
        }
        positions
    }

    /// The colocation groups.
    #[inline]
    pub fn colocation(&self) -> &Colocation {
        &self.colocation
    }

    /// The name of an op, if the graph has names.
    pub fn name(&self, op: OpId) -> Option<&str> {
        self.names.as_ref().map(|names| names.get(op.index()))
    }

    /// What is known of an op but for its edges and outputs. Its measured times are put into `times`.
    pub(crate) fn spec<'a: 'b, 'b>(&'a self, op: OpId, times: &'b mut Vec<(&'a str, f64)>) -> OpSpec<'b> {
        times.clear();
        times.extend(self.times.iter().filter_map(|times| Some((times.class(), times.of(op)?))));
        OpSpec {
            ops: self.ops(op),
            memory_bytes: self.memory_bytes(op),
            bytes_moved: self.bytes_moved(op),
            kinds: self.kinds(op),
            times,
            name: self.name(op),
            op_type: self.op_types().and_then(|types| types.get(op.index())),
            layer: self.layers().and_then(|layers| layers.get(op.index())),
            attributes: self.attributes().and_then(|attributes| attributes.get(op.index())),
        }
    }

    /// Whether ops have names.
    pub fn has_names(&self) -> bool {
        self.names.is_some()
    }

    /// The name of an op, or its id: for messages.
    pub fn label(&self, op: OpId) -> String {
        self.name(op).map_or_else(|| format!("op {op}"), |name| format!("op '{name}'"))
    }

    /// The op types (`MatMul`, …), if the graph has them.
    pub fn op_types(&self) -> Option<&Categories> {
        self.types.as_ref()
    }

    /// Whether the outputs of an op are its resident memory itself, and take no memory of their own on its device: those of
    /// TensorFlow's variables, which hand out references, of ONNX' initializers, and of the parameters and the state of steps in
    /// JAX. Where costs were drawn, the output of a variable has another size than its resident memory, and is no reference to it.
    pub fn outputs_are_resident(&self, op: OpId) -> bool {
        let op_type = self.types.as_ref().and_then(|types| types.get(op.index()));
        matches!(op_type, Some("Variable" | "VariableV2" | "Initializer" | "parameter" | "state"))
            && self.outputs(op).all(|tensor| self.tensor_bytes(tensor) == self.memory_bytes(op))
    }

    /// The type of ops whose output is their input, so that it takes no memory of its own: they send a tensor when it may go. They
    /// take no time, and do not wait for their device.
    pub const FORWARDING_TYPE: &'static str = "_Send";

    /// Whether the output of an op is its input: whether it is of the type [`DataflowGraph::FORWARDING_TYPE`].
    pub fn forwards(&self, op: OpId) -> bool {
        self.types.as_ref().and_then(|types| types.get(op.index())) == Some(Self::FORWARDING_TYPE)
    }

    /// Whether the graph has ops whose output is their input.
    pub fn has_forwarding_ops(&self) -> bool {
        self.types.as_ref().is_some_and(|types| types.labels().iter().any(|label| label == Self::FORWARDING_TYPE))
    }

    /// The layer labels, if the graph has them.
    pub fn layers(&self) -> Option<&Categories> {
        self.layers.as_ref()
    }

    /// The attributes of ops, if the graph has them. Two ops of one type with equal attributes compute the same function of
    /// their inputs; of an op without attributes that is not known. What the text says is up to whoever wrote the graph: often
    /// a number or a digest. Attributes of two graphs need not mean the same.
    pub fn attributes(&self) -> Option<&Categories> {
        self.attributes.as_ref()
    }

    /// The same graph with other attributes, or without any.
    ///
    /// # Errors
    /// If there is not an entry for each op.
    pub fn with_attributes(mut self, attributes: Option<Categories>) -> Result<Self, GraphError> {
        if attributes.as_ref().is_some_and(|attributes| attributes.len() != self.op_count()) {
            return Err(GraphError::ColumnLengths);
        }
        self.attributes = attributes.filter(|attributes| !attributes.labels().is_empty());
        Ok(self)
    }

    /// The same graph whose attributes are numbers: the pairs of a type and attributes are numbered 0, 1, 2, … as they come. Numbers
    /// take less room in a file than digests do, but those of two graphs do not compare.
    #[must_use]
    pub fn with_numbered_attributes(mut self) -> Self {
        if let Some(given) = self.attributes.take() {
            let mut numbers = HashMap::new();
            let mut numbered = Categories::default();
            for op in 0..self.op_count() {
                let op_type = self.types.as_ref().and_then(|types| types.number(op));
                let next = numbers.len();
                let number = given.number(op).map(|attributes| *numbers.entry((op_type, attributes)).or_insert(next));
                numbered.push(number.map(|number| number.to_string()).as_deref());
            }
            self.attributes = Some(numbered);
        }
        self
    }

    /// The memory that placing an op claims on its device (L §4.1, size_est): resident memory, its output tensors and
    /// its input tensors; a tensor that enters by several edges counts once.
    pub fn demand_bytes(&self, op: OpId) -> u64 {
        let outputs = self.outputs(op).map(|tensor| self.tensor_bytes(tensor)).fold(0, u64::saturating_add);
        let range = self.in_offsets[op.index()] as usize..self.in_offsets[op.index() + 1] as usize;
        let inputs = &self.in_tensors[range];
        let mut total = self.memory_bytes(op).saturating_add(outputs);
        if inputs.len() <= 32 {
            for (position, &tensor) in inputs.iter().enumerate() {
                if tensor != CONTROL && !inputs[..position].contains(&tensor) {
                    total = total.saturating_add(self.tensor_bytes[tensor as usize]);
                }
            }
        } else {
            let mut distinct: Vec<u32> = inputs.iter().copied().filter(|&tensor| tensor != CONTROL).collect();
            distinct.sort_unstable();
            distinct.dedup();
            for tensor in distinct {
                total = total.saturating_add(self.tensor_bytes[tensor as usize]);
            }
        }
        total
    }

    /// Bytes that the graph's arrays occupy: what the section on memory says, and the offsets' last entries.
    pub fn heap_bytes(&self) -> usize {
        let ops = self.ops.len() * (8 + 8 + 1)
            + (self.tensor_offsets.len() + self.out_offsets.len() + self.in_offsets.len()) * 4;
        let tensors = self.tensor_bytes.len() * 12;
        let edges = self.out_targets.len() * 16;
        let order = self.topological.as_ref().map_or(0, |order| order.len() * 4);
        let columns = self.times.len() + usize::from(self.has_bytes_moved());
        let times = columns * self.ops.len() * 8;
        let names = self.names.as_ref().map_or(0, NameTable::heap_bytes);
        let labels: usize =
            [&self.types, &self.layers, &self.attributes].into_iter().flatten().map(Categories::heap_bytes).sum();
        ops + tensors + edges + order + times + self.colocation.heap_bytes() + names + labels
    }

    /// Makes a graph from edges grouped by target. See [`BackwardParts`].
    ///
    /// # Errors
    /// If the columns have different lengths, an offset runs backwards, a source is not smaller than its target, or a
    /// colocation group's kinds contradict.
    ///
    /// # Complexity
    /// O(ops + edges), three passes over the edges that stay in cache whatever the size of the graph.
    pub fn from_backward(parts: BackwardParts) -> Result<Self, GraphError> {
        let n = parts.ops.len();
        let edge_count = parts.in_sources.len();
        let lengths = [parts.memory_bytes.len(), parts.kinds.len(), parts.tensor_bytes.len()];
        if lengths.iter().any(|&length| length != n) || parts.in_offsets.len() != n + 1 {
            return Err(GraphError::ColumnLengths);
        }
        if n >= CONTROL as usize || edge_count >= CONTROL as usize {
            return Err(GraphError::TooLarge { ops: n, edges: edge_count });
        }
        if parts.in_offsets[0] != 0 || parts.in_offsets[n] as usize != edge_count {
            return Err(GraphError::ColumnLengths);
        }
        if parts.in_offsets.windows(2).any(|range| range[0] > range[1]) {
            return Err(GraphError::ColumnLengths);
        }
        let (out_offsets, out_targets) = out_edges(&parts.in_offsets, &parts.in_sources)
            .map_err(|edge| GraphError::NotTopological { producer: edge.source, target: edge.target })?;
        let out_tensors = tensors_named_as_ops(&out_offsets);
        let in_tensors = parts.in_sources.iter().map(|source| source.0).collect();
        let graph = Self {
            ops: parts.ops,
            memory_bytes: parts.memory_bytes,
            kinds: parts.kinds,
            tensor_offsets: (0..=n as u32).collect(),
            tensor_bytes: parts.tensor_bytes,
            tensor_producer: (0..n as u32).map(OpId).collect(),
            out_offsets,
            out_targets,
            out_tensors,
            in_offsets: parts.in_offsets,
            in_sources: parts.in_sources,
            in_tensors,
            topological: None,
            colocation: parts.colocation,
            times: Vec::new(),
            bytes_moved: None,
            names: None,
            types: None,
            layers: None,
            attributes: None,
        };
        graph.check_values()?;
        Ok(graph)
    }

    /// The same structure, constraints and labels with other costs: what suites use to put L's random weights on a
    /// real graph. Measured times and bytes moved are dropped. `tensor_bytes` has one entry a tensor.
    ///
    /// # Errors
    /// If a column has the wrong length or a cost is not a finite number ≥ 0.
    pub fn with_costs(
        &self,
        ops: Vec<f64>,
        memory_bytes: Vec<u64>,
        tensor_bytes: Vec<u64>,
    ) -> Result<Self, GraphError> {
        if ops.len() != self.op_count()
            || memory_bytes.len() != self.op_count()
            || tensor_bytes.len() != self.tensor_count()
        {
            return Err(GraphError::ColumnLengths);
        }
        let graph = Self { ops, memory_bytes, tensor_bytes, times: Vec::new(), bytes_moved: None, ..self.clone() };
        graph.check_values()?;
        Ok(graph)
    }

    /// The same graph with other tensor sizes, measured times and all else kept. `tensor_bytes` has one entry a tensor.
    ///
    /// # Errors
    /// If the column has the wrong length.
    pub fn with_tensor_bytes(&self, tensor_bytes: Vec<u64>) -> Result<Self, GraphError> {
        if tensor_bytes.len() != self.tensor_count() {
            return Err(GraphError::ColumnLengths);
        }
        Ok(Self { tensor_bytes, ..self.clone() })
    }

    /// The same graph with other kind constraints. Groups' constraints must not contradict.
    ///
    /// # Errors
    /// If the column has the wrong length, a set is empty, or a group's kinds contradict.
    pub fn with_kinds(&self, kinds: Vec<KindSet>) -> Result<Self, GraphError> {
        if kinds.len() != self.op_count() {
            return Err(GraphError::ColumnLengths);
        }
        let graph = Self { kinds, ..self.clone() };
        graph.check_values()?;
        Ok(graph)
    }

    /// The same graph with other measured times on one class of devices: `None` for ops that take `ops / speed` there.
    ///
    /// # Errors
    /// If the column has the wrong length, a time is not a finite number ≥ 0, or the class has no name of lower-case letters,
    /// digits and `_`.
    pub fn with_measured_times(&self, class: &str, times: Vec<Option<f64>>) -> Result<Self, GraphError> {
        if times.len() != self.op_count() {
            return Err(GraphError::ColumnLengths);
        }
        let mut graph = self.clone();
        let others = graph.times.into_iter().filter(|others| others.class() != class);
        graph.times = sorted(others.chain([MeasuredTimes::new(class, times)?]));
        graph.check_values()?;
        Ok(graph)
    }

    /// The same graph with other bytes that its ops move, one number an op, or with none.
    ///
    /// # Errors
    /// If the column has the wrong length, or a number is not finite and ≥ 0.
    pub fn with_bytes_moved(&self, bytes_moved: Option<Vec<f64>>) -> Result<Self, GraphError> {
        if bytes_moved.as_ref().is_some_and(|bytes| bytes.len() != self.op_count()) {
            return Err(GraphError::ColumnLengths);
        }
        let graph = Self { bytes_moved, ..self.clone() };
        graph.check_values()?;
        Ok(graph)
    }

    pub(crate) fn find_topological_order(&mut self) -> Result<(), GraphError> {
        let sorted_by_id = self.op_ids().all(|op| self.predecessor_ops(op).iter().all(|&source| source < op));
        if sorted_by_id {
            self.topological = None;
            return Ok(());
        }
        let order = toposort(&*self, None).map_err(|cycle| {
            // Any op on the cycle that was met, but of its strongly connected component the one that comes first in the
            // graph, so that the message does not depend on the order of the search.
            let met = cycle.node_id();
            let component = kosaraju_scc(&*self).into_iter().find(|component| component.contains(&met));
            let op = component.and_then(|component| component.into_iter().min()).unwrap_or(met);
            GraphError::Cycle { op, label: self.label(op) }
        })?;
        self.topological = Some(order);
        Ok(())
    }

    pub(crate) fn check_values(&self) -> Result<(), GraphError> {
        for op in self.op_ids() {
            let cost = self.ops(op);
            if !(cost.is_finite() && cost >= 0.0) {
                return Err(GraphError::BadCost { op, label: self.label(op), cost });
            }
            if self.kinds(op).is_empty() {
                return Err(GraphError::NoKind { op, label: self.label(op) });
            }
            let times = self.times.iter().filter_map(|times| times.of(op));
            if let Some(cost) = times.chain(self.bytes_moved(op)).find(|cost| !(cost.is_finite() && *cost >= 0.0)) {
                return Err(GraphError::BadCost { op, label: self.label(op), cost });
            }
        }
        for (_, members) in self.colocation.groups() {
            let mut common = KindSet::ALL;
            for (position, &op) in members.iter().enumerate() {
                common = common.intersection(self.kinds(op));
                if common.is_empty() {
                    let other = members[..position]
                        .iter()
                        .copied()
                        .find(|&other| self.kinds(other).intersection(self.kinds(op)).is_empty())
                        .unwrap_or(members[0]);
                    return Err(GraphError::ContradictoryKinds {
                        first: other,
                        first_label: self.label(other),
                        first_kinds: self.kinds(other),
                        second: op,
                        second_label: self.label(op),
                        second_kinds: self.kinds(op),
                    });
                }
            }
        }
        Ok(())
    }
}

#[inline]
fn tensor(raw: u32) -> Option<TensorId> {
    (raw != CONTROL).then_some(TensorId(raw))
}

pub(crate) fn raw_tensor(tensor: Option<TensorId>) -> u32 {
    tensor.map_or(CONTROL, |tensor| tensor.0)
}

/// Whether offsets of tensors give each op one, of the op's own number.
pub(crate) fn one_tensor_per_op(tensor_offsets: &[u32]) -> bool {
    tensor_offsets.iter().enumerate().all(|(op, &offset)| op == offset as usize)
}

/// The tensors of forward rows where each op has one, of the op's own number.
pub(crate) fn tensors_named_as_ops(out_offsets: &[u32]) -> Vec<u32> {
    let mut out_tensors = vec![0u32; out_offsets[out_offsets.len() - 1] as usize];
    for (op, row) in out_offsets.windows(2).enumerate() {
        let (start, end) = (row[0] as usize, row[1] as usize);
        // Writing eight is faster than a loop over the few that are needed. Later rows overwrite the excess.
        match out_tensors.get_mut(start..start + 8) {
            Some(eight) if end <= start + 8 => eight.fill(op as u32),
            _ => out_tensors[start..end].fill(op as u32),
        }
    }
    out_tensors
}

#[inline]
fn edges<'a>(ops: &'a [OpId], tensors: &'a [u32]) -> impl ExactSizeIterator<Item = Edge> + 'a {
    ops.iter().zip(tensors).map(|(&op, &raw)| Edge { op, tensor: tensor(raw) })
}
