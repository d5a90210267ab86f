//! Builds a [`DataflowGraph`] op by op, checking what a reader or a user may get wrong.

use std::collections::BTreeMap;

use petgraph::visit::DfsPostOrder;

use crate::graph::raw_tensor;
use crate::measured_times::{MeasuredTimes, sorted};
use crate::{Categories, Colocation, DataflowGraph, GraphError, KindSet, NameTable, OpId, TensorId};

/// What is known of an op before its edges are.
#[derive(Clone, Debug, Default)]
pub struct OpSpec<'a> {
    /// Cost in operations.
    pub ops: f64,
    /// Resident memory in bytes.
    pub memory_bytes: u64,
    /// Kinds that the op may run on; the default is all.
    pub kinds: KindSet,
    /// Bytes that the op reads from and writes to its device's memory. Either all ops of a graph have them or none has.
    pub bytes_moved: Option<f64>,
    /// Measured times by class of devices, such as `("gpu", 0.5)`, in the instance's time unit.
    pub times: &'a [(&'a str, f64)],
    /// Unique name. Either all ops of a graph have one or none has.
    pub name: Option<&'a str>,
    /// Type of operation.
    pub op_type: Option<&'a str>,
    /// Layer label.
    pub layer: Option<&'a str>,
    /// A short text that is equal for two ops of one type if they compute the same function of their inputs.
    pub attributes: Option<&'a str>,
}

impl OpSpec<'_> {
    /// An op of a cost in operations, with defaults for the rest.
    pub fn cost(ops: f64) -> Self {
        Self { ops, ..Self::default() }
    }
}

/// What to do with a cycle in an imported graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CyclePolicy {
    /// Refuse the graph, naming an op on the cycle.
    #[default]
    Reject,
    /// Drop, of each cycle, the edge over which a depth-first search (sources first, then ascending ids) found it
    /// (B §4.1).
    DropLastTraversed,
}

/// Collects ops and edges, then makes a graph of them.
///
/// # Example
/// ```
/// use placebench_datasets::{GraphBuilder, OpSpec};
/// // a ──8 bytes──▶ b, and b runs after c
/// let mut builder = GraphBuilder::default();
/// let a = builder.add_op(OpSpec::cost(30.0), &[8]);
/// let b = builder.add_op(OpSpec::cost(50.0), &[]);
/// let c = builder.add_op(OpSpec::cost(10.0), &[]);
/// builder.add_edge(a, 0, b)?;
/// builder.add_control_edge(c, b)?;
/// let graph = builder.build()?;
/// assert_eq!((graph.op_count(), graph.edge_count()), (3, 2));
/// # Ok::<(), placebench_datasets::GraphError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct GraphBuilder {
    ops: Vec<f64>,
    memory_bytes: Vec<u64>,
    kinds: Vec<KindSet>,
    /// By class, the op and its time.
    times: BTreeMap<String, Vec<(OpId, f64)>>,
    /// The ops that have them, ascending, and the numbers.
    bytes_moved: Vec<(OpId, f64)>,
    tensor_offsets: Vec<u32>,
    tensor_bytes: Vec<u64>,
    tensor_producer: Vec<OpId>,
    /// Producer, raw tensor, consumer, in the order in which they were added.
    edges: Vec<(OpId, u32, OpId)>,
    colocated: Vec<(OpId, OpId)>,
    names: NameTable,
    types: Categories,
    layers: Categories,
    attributes: Categories,
    cycles: CyclePolicy,
    dropped: usize,
}

impl GraphBuilder {
    /// What [`GraphBuilder::build`] is to do with cycles; the default is to refuse them.
    pub fn cycle_policy(&mut self, policy: CyclePolicy) -> &mut Self {
        self.cycles = policy;
        self
    }

    /// Adds an op with one output port for each size in `outputs` (bytes). Ids count up from 0.
    pub fn add_op(&mut self, op: OpSpec<'_>, outputs: &[u64]) -> OpId {
        let id = OpId::new(self.ops.len());
        self.ops.push(op.ops);
        self.memory_bytes.push(op.memory_bytes);
        self.kinds.push(op.kinds);
        for &(class, time) in op.times {
            match self.times.get_mut(class) {
                Some(times) => times.push((id, time)),
                None => drop(self.times.insert(class.to_owned(), vec![(id, time)])),
            }
        }
        self.bytes_moved.extend(op.bytes_moved.map(|bytes| (id, bytes)));
        if self.tensor_offsets.is_empty() {
            self.tensor_offsets.push(0);
        }
        self.tensor_bytes.extend_from_slice(outputs);
        self.tensor_producer.extend(outputs.iter().map(|_| id));
        self.tensor_offsets.push(TensorId::new(self.tensor_bytes.len()).0);
        if let Some(name) = op.name {
            while self.names.len() < id.index() {
                self.names.push("");
            }
            self.names.push(name);
        }
        self.types.push(op.op_type);
        self.layers.push(op.layer);
        self.attributes.push(op.attributes);
        id
    }

    /// Number of ops so far.
    pub fn op_count(&self) -> usize {
        self.ops.len()
    }

    /// Sets the size of an output port; the port must exist.
    ///
    /// # Errors
    /// If the op or port does not exist.
    pub fn set_tensor_bytes(&mut self, op: OpId, port: usize, bytes: u64) -> Result<(), GraphError> {
        let tensor = self.tensor(op, port)?;
        self.tensor_bytes[tensor.index()] = bytes;
        Ok(())
    }

    /// Adds an edge that carries output `port` of `producer` to `consumer`.
    ///
    /// # Errors
    /// If the op or the port does not exist.
    pub fn add_edge(&mut self, producer: OpId, port: usize, consumer: OpId) -> Result<(), GraphError> {
        let tensor = self.tensor(producer, port)?;
        self.check_op(consumer)?;
        self.edges.push((producer, raw_tensor(Some(tensor)), consumer));
        Ok(())
    }

    /// Adds an edge that carries nothing: `consumer` starts after `producer`.
    ///
    /// # Errors
    /// If an op does not exist.
    pub fn add_control_edge(&mut self, producer: OpId, consumer: OpId) -> Result<(), GraphError> {
        self.check_op(producer)?;
        self.check_op(consumer)?;
        self.edges.push((producer, raw_tensor(None), consumer));
        Ok(())
    }

    /// Demands that two ops share a device.
    ///
    /// # Errors
    /// If an op does not exist.
    pub fn colocate(&mut self, a: OpId, b: OpId) -> Result<(), GraphError> {
        self.check_op(a)?;
        self.check_op(b)?;
        self.colocated.push((a, b));
        Ok(())
    }

    /// How many edges the last [`GraphBuilder::build`] dropped under [`CyclePolicy::DropLastTraversed`].
    pub fn dropped_edges(&self) -> usize {
        self.dropped
    }

    /// Makes the graph.
    ///
    /// # Errors
    /// A cycle (unless the policy drops edges), contradictory kinds in a colocation group, a negative or
    /// non-finite cost, missing or repeated names.
    ///
    /// # Complexity
    /// O(ops + edges · log degree).
    pub fn build(&mut self) -> Result<DataflowGraph, GraphError> {
        let mut builder = std::mem::take(self);
        let n = builder.ops.len();
        if n >= u32::MAX as usize || builder.edges.len() >= u32::MAX as usize {
            return Err(GraphError::TooLarge { ops: n, edges: builder.edges.len() });
        }
        check_names(&builder.names, n)?;
        if builder.tensor_offsets.is_empty() {
            builder.tensor_offsets.push(0);
        }
        let edges = std::mem::take(&mut builder.edges);
        let policy = builder.cycles;
        let mut graph = builder.assemble(&edges)?;
        match graph.find_topological_order() {
            Err(GraphError::Cycle { .. }) if policy == CyclePolicy::DropLastTraversed => {
                let kept = drop_back_edges(&graph, &edges);
                self.dropped = edges.len() - kept.len();
                graph.set_edges(&kept);
                graph.find_topological_order()?;
            }
            other => other?,
        }
        graph.check_values()?;
        Ok(graph)
    }

    /// Whether each edge, in the order in which they were added, is one that [`CyclePolicy::DropLastTraversed`] would drop.
    pub(crate) fn closing_edges(mut self) -> Result<Vec<bool>, GraphError> {
        let edges = std::mem::take(&mut self.edges);
        if self.tensor_offsets.is_empty() {
            self.tensor_offsets.push(0);
        }
        let finished = finishing_times(&self.assemble(&edges)?);
        Ok(edges.iter().map(|edge| closes_cycle(&finished, edge)).collect())
    }

    fn assemble(self, edges: &[(OpId, u32, OpId)]) -> Result<DataflowGraph, GraphError> {
        let n = self.ops.len();
        let mut times = Vec::with_capacity(self.times.len());
        for (class, of_ops) in self.times {
            let mut column = vec![None; n];
            of_ops.into_iter().for_each(|(op, time)| column[op.index()] = Some(time));
            times.push(MeasuredTimes::new(&class, column)?);
        }
        let bytes_moved = bytes_moved(&self.bytes_moved, n)?;
        let mut graph = DataflowGraph {
            ops: self.ops,
            memory_bytes: self.memory_bytes,
            kinds: self.kinds,
            tensor_offsets: self.tensor_offsets,
            tensor_bytes: self.tensor_bytes,
            tensor_producer: self.tensor_producer,
            out_offsets: Vec::new(),
            out_targets: Vec::new(),
            out_tensors: Vec::new(),
            in_offsets: Vec::new(),
            in_sources: Vec::new(),
            in_tensors: Vec::new(),
            topological: None,
            colocation: Colocation::from_pairs(n, self.colocated),
            times: sorted(times),
            bytes_moved,
            names: (!self.names.is_empty()).then_some(self.names),
            types: (!self.types.labels().is_empty()).then_some(self.types),
            layers: (!self.layers.labels().is_empty()).then_some(self.layers),
            attributes: (!self.attributes.labels().is_empty()).then_some(self.attributes),
        };
        graph.set_edges(edges);
        Ok(graph)
    }

    fn tensor(&self, op: OpId, port: usize) -> Result<TensorId, GraphError> {
        self.check_op(op)?;
        let (start, end) = (self.tensor_offsets[op.index()], self.tensor_offsets[op.index() + 1]);
        let outputs = (end - start) as usize;
        if port >= outputs {
            let label = match self.names.len() > op.index() {
                true => format!("op '{}'", self.names.get(op.index())),
                false => format!("op {op}"),
            };
            return Err(GraphError::UnknownPort { label, port, outputs });
        }
        Ok(TensorId(start + port as u32))
    }

    fn check_op(&self, op: OpId) -> Result<(), GraphError> {
        match op.index() < self.ops.len() {
            true => Ok(()),
            false => Err(GraphError::UnknownOp { op: op.0, count: self.ops.len() }),
        }
    }
}

/// Either no op says how many bytes it moves, or each does.
fn bytes_moved(given: &[(OpId, f64)], op_count: usize) -> Result<Option<Vec<f64>>, GraphError> {
    if given.is_empty() {
        return Ok(None);
    }
    let without = (0..op_count).find(|&op| given.get(op).is_none_or(|&(other, _)| other.index() != op));
    match without {
        Some(op) => Err(GraphError::BytesMoved { op: OpId::new(op) }),
        None => Ok(Some(given.iter().map(|&(_, bytes)| bytes).collect())),
    }
}

/// Either there is no name, or each of the ops has one of its own.
pub(crate) fn check_names(names: &NameTable, op_count: usize) -> Result<(), GraphError> {
    if names.is_empty() {
        return Ok(());
    }
    let mut sorted: Vec<(&str, usize)> = (0..names.len()).map(|op| (names.get(op), op)).collect();
    sorted.sort_unstable();
    let missing = (names.len() < op_count).then_some(names.len());
    let missing = missing.or_else(|| sorted.first().filter(|(name, _)| name.is_empty()).map(|&(_, op)| op));
    if let Some(op) = missing {
        return Err(GraphError::Names { op: OpId::new(op), name: String::new() });
    }
    match sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        Some(pair) => Err(GraphError::Names { op: OpId::new(pair[1].1), name: pair[1].0.to_owned() }),
        None => Ok(()),
    }
}

impl DataflowGraph {
    /// Lays out both directions. Forward rows ascend by (tensor, consumer), control edges last because of their mark;
    /// backward rows keep the order of the inputs, control edges last.
    fn set_edges(&mut self, edges: &[(OpId, u32, OpId)]) {
        let n = self.op_count();
        let control = raw_tensor(None);
        let mut out_offsets = vec![0u32; n + 1];
        let mut in_offsets = vec![0u32; n + 1];
        for &(source, _, target) in edges {
            out_offsets[source.index() + 1] += 1;
            in_offsets[target.index() + 1] += 1;
        }
        for op in 0..n {
            out_offsets[op + 1] += out_offsets[op];
            in_offsets[op + 1] += in_offsets[op];
        }
        let mut out_cursor = out_offsets[..n].to_vec();
        let mut in_cursor = in_offsets[..n].to_vec();
        let mut forward = vec![(0u32, OpId(0)); edges.len()];
        let mut in_sources = vec![OpId(0); edges.len()];
        let mut in_tensors = vec![0u32; edges.len()];
        for want_control in [false, true] {
            for &(source, tensor, target) in edges.iter().filter(|edge| (edge.1 == control) == want_control) {
                let out = &mut out_cursor[source.index()];
                forward[*out as usize] = (tensor, target);
                *out += 1;
                let slot = &mut in_cursor[target.index()];
                in_sources[*slot as usize] = source;
                in_tensors[*slot as usize] = tensor;
                *slot += 1;
            }
        }
        for op in 0..n {
            forward[out_offsets[op] as usize..out_offsets[op + 1] as usize].sort_unstable();
        }
        self.out_targets = forward.iter().map(|edge| edge.1).collect();
        self.out_tensors = forward.iter().map(|edge| edge.0).collect();
        self.out_offsets = out_offsets;
        self.in_offsets = in_offsets;
        self.in_sources = in_sources;
        self.in_tensors = in_tensors;
    }
}

/// The edges that are left when a depth-first search drops each edge that closes a cycle.
fn drop_back_edges(graph: &DataflowGraph, edges: &[(OpId, u32, OpId)]) -> Vec<(OpId, u32, OpId)> {
    let finished = finishing_times(graph);
    let mut kept = edges.to_vec();
    kept.retain(|edge| !closes_cycle(&finished, edge));
    kept
}

/// In a depth-first post-order an edge closes a cycle exactly if its target does not finish before its source.
fn closes_cycle(finished: &[u32], &(source, _, target): &(OpId, u32, OpId)) -> bool {
    finished[target.index()] >= finished[source.index()]
}

/// When a depth-first search finishes each op: sources first, then ascending ids.
fn finishing_times(graph: &DataflowGraph) -> Vec<u32> {
    let mut finished = vec![u32::MAX; graph.op_count()];
    let mut clock = 0;
    let mut search = DfsPostOrder::empty(graph);
    let sources = graph.op_ids().filter(|&op| graph.in_degree(op) == 0);
    for root in sources.chain(graph.op_ids()) {
        search.move_to(root);
        while let Some(op) = search.next(graph) {
            finished[op.index()] = clock;
            clock += 1;
        }
    }
    finished
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn chain(n: u32) -> GraphBuilder {
        let mut builder = GraphBuilder::default();
        for _ in 0..n {
            builder.add_op(OpSpec::cost(1.0), &[4]);
        }
        for op in 1..n {
            builder.add_edge(OpId(op - 1), 0, OpId(op)).unwrap();
        }
        builder
    }

    #[test]
    fn a_cycle_is_refused_by_default_and_its_last_edge_dropped_on_request() {
        let mut cyclic = chain(3);
        cyclic.add_edge(OpId(2), 0, OpId(0)).unwrap();
        let mut lenient = cyclic.clone();
        assert!(matches!(cyclic.build(), Err(GraphError::Cycle { .. })));
        lenient.cycle_policy(CyclePolicy::DropLastTraversed);
        let graph = lenient.build().unwrap();
        assert_eq!(lenient.dropped_edges(), 1);
        assert_eq!(graph.edges().map(|(source, edge)| (source.0, edge.op.0)).collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    }

    #[test]
    fn a_self_loop_is_a_cycle() {
        let mut builder = chain(1);
        builder.add_edge(OpId(0), 0, OpId(0)).unwrap();
        assert!(matches!(builder.clone().build(), Err(GraphError::Cycle { .. })));
        builder.cycle_policy(CyclePolicy::DropLastTraversed);
        assert_eq!(builder.build().unwrap().edge_count(), 0);
    }

    #[test]
    fn contradictory_kinds_name_both_ops() {
        let mut builder = GraphBuilder::default();
        let gpu = builder.add_op(OpSpec { kinds: KindSet::only(Kind::Gpu), name: Some("w"), ..OpSpec::cost(1.0) }, &[]);
        let cpu =
            builder.add_op(OpSpec { kinds: KindSet::only(Kind::Cpu), name: Some("w/read"), ..OpSpec::cost(1.0) }, &[]);
        builder.colocate(gpu, cpu).unwrap();
        let message = builder.build().unwrap_err().to_string();
        assert_eq!(message, "op 'w' is colocated with op 'w/read', but the first needs GPU and the second CPU");
    }

    #[test]
    fn forward_rows_group_consumers_of_a_tensor_and_backward_rows_keep_input_order() {
        let mut builder = GraphBuilder::default();
        let split = builder.add_op(OpSpec::cost(1.0), &[8, 16]);
        let a = builder.add_op(OpSpec::cost(1.0), &[1]);
        let b = builder.add_op(OpSpec::cost(1.0), &[]);
        builder.add_control_edge(split, b).unwrap();
        builder.add_edge(split, 1, b).unwrap();
        builder.add_edge(split, 0, b).unwrap();
        builder.add_edge(split, 1, a).unwrap();
        builder.add_edge(a, 0, b).unwrap();
        let graph = builder.build().unwrap();
        let row: Vec<_> = graph.successors(split).map(|edge| (edge.tensor.map(|t| t.0), edge.op.0)).collect();
        assert_eq!(row, [(Some(0), 2), (Some(1), 1), (Some(1), 2), (None, 2)]);
        let inputs: Vec<_> = graph.predecessors(b).map(|edge| edge.tensor.map(|t| t.0)).collect();
        assert_eq!(inputs, [Some(1), Some(0), Some(2), None]);
        assert_eq!(graph.demand_bytes(b), 16 + 8 + 1);
        assert_eq!((graph.producer(TensorId(1)), graph.port(TensorId(1))), (split, 1));
    }

    #[test]
    fn names_must_be_complete_and_unique() {
        let named = |name| OpSpec { name, ..OpSpec::cost(0.0) };
        let mut builder = GraphBuilder::default();
        builder.add_op(named(Some("x")), &[]);
        builder.add_op(named(Some("x")), &[]);
        assert!(builder.build().unwrap_err().to_string().contains("'x'"));
        builder.add_op(named(None), &[]);
        builder.add_op(named(Some("x")), &[]);
        assert!(matches!(builder.build(), Err(GraphError::Names { .. })));
    }

    #[test]
    fn a_nan_cost_or_time_is_refused() {
        for spec in
            [OpSpec::cost(f64::NAN), OpSpec::cost(-1.0), OpSpec { times: &[("cpu", f64::NAN)], ..OpSpec::cost(0.0) }]
        {
            let mut builder = GraphBuilder::default();
            builder.add_op(spec, &[]);
            assert!(matches!(builder.build(), Err(GraphError::BadCost { .. })));
        }
    }

    #[test]
    fn a_chain_of_a_million_ops_needs_no_recursion() {
        let mut builder = GraphBuilder::default();
        let n = 1_000_000;
        for _ in 0..n {
            builder.add_op(OpSpec::cost(1.0), &[1]);
        }
        // Backwards, so that ids are not a topological order.
        for op in 1..n {
            builder.add_edge(OpId(op), 0, OpId(op - 1)).unwrap();
        }
        let graph = builder.build().unwrap();
        assert_eq!(graph.topological_order().next(), Some(OpId(n - 1)));
    }
}
