//! The vertices of a pipeline: what a device has to take as a whole.

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use placebench_datasets::{AssignmentUnits, DataflowGraph, Instance, OpId, UnitId};

/// Most vertices of a line.
const MOST_IN_LINE: usize = 512;

/// Vertices in a topological order, each of some assignment units.
pub(super) struct Stages {
    units: Vec<Vec<UnitId>>,
    /// For each vertex, the vertices before it, ascending.
    before: Vec<Vec<u32>>,
}

/// Which ops belong to the forward pass, and not to the backward pass or the update of weights: as the reader of
/// dnn-partitioning says, or TensorFlow by its names. Where neither says anything, what leads to a result is forward: an op
/// that nothing reads and that updates no weights. An update is colocated with what has the weights, another op with resident
/// memory. All ops, if nothing is forward.
///
/// # Complexity
/// O(ops + edges).
fn forward_ops(graph: &DataflowGraph, units: &AssignmentUnits) -> Vec<bool> {
    let is_backward = |op: OpId| {
        let op_type = graph.op_types().and_then(|types| types.get(op.index()));
        let is_named = |name: &str| name.starts_with("gradients/") || name.contains("/gradients/");
        op_type == Some("backward") || graph.name(op).is_some_and(is_named)
    };
    let mut forward: Vec<bool> = graph.op_ids().map(|op| !is_backward(op)).collect();
    if !forward.contains(&false) {
        let updates = |op: OpId| {
            let others = units.members(units.unit_of(op)).iter().filter(|&&member| member != op);
            others.into_iter().any(|&member| graph.memory_bytes(member) > 0)
        };
        for op in graph.topological_order().rev() {
            let mut readers = graph.successor_ops(op).iter().peekable();
            forward[op.index()] = match readers.peek() {
                None => !updates(op),
                Some(_) => readers.any(|reader| forward[reader.index()]),
            };
        }
    }
    if !forward.contains(&true) {
        forward.fill(true);
    }
    forward
}

impl Stages {
    /// A vertex for each assignment unit with forward ops, and one for those that depend on each other in a circle. A unit of
    /// backward ops alone goes with the last unit of forward ops that it reads, or else with what it follows.
    ///
    /// # Complexity
    /// O(ops + edges · log degree).
    pub(super) fn new(instance: &Instance) -> Self {
        let (graph, units) = (instance.graph(), instance.units());
        let forward = forward_ops(graph, units);
        let mut has_forward = vec![false; units.count()];
        for op in graph.op_ids().filter(|op| forward[op.index()]) {
            has_forward[units.unit_of(op).index()] = true;
        }
        let mut dependences = DiGraph::<(), ()>::with_capacity(units.count(), graph.edge_count());
        for _ in units.ids() {
            dependences.add_node(());
        }
        for (op, edge) in graph.edges().filter(|(op, edge)| forward[op.index()] && forward[edge.op.index()]) {
            let [from, to] = [op, edge.op].map(|op| NodeIndex::new(units.unit_of(op).index()));
            if from != to {
                dependences.add_edge(from, to, ());
            }
        }
        // In the order of the components, edges go backwards.
        let mut components = kosaraju_scc(&dependences);
        components.reverse();
        let mut vertex_of = vec![u32::MAX; units.count()];
        let mut members: Vec<Vec<UnitId>> = Vec::new();
        for mut component in components {
            component.retain(|node| has_forward[node.index()]);
            if component.is_empty() {
                continue;
            }
            component.iter().for_each(|node| vertex_of[node.index()] = members.len() as u32);
            let mut units: Vec<UnitId> = component.into_iter().map(|node| UnitId(node.index() as u32)).collect();
            units.sort_unstable();
            members.push(units);
        }
        // Along the order, so that what backward ops follow has its vertex already.
        for op in graph.topological_order() {
            let unit = units.unit_of(op);
            if vertex_of[unit.index()] != u32::MAX {
                continue;
            }
            let sources = || graph.predecessor_ops(op).iter();
            let vertex =
                |source: &OpId| Some(vertex_of[units.unit_of(*source).index()]).filter(|&vertex| vertex != u32::MAX);
            let home = sources().filter(|source| forward[source.index()]).filter_map(vertex).max();
            let home = home.or_else(|| sources().filter_map(vertex).min()).unwrap_or(0);
            vertex_of[unit.index()] = home;
            members[home as usize].push(unit);
        }
        let mut before = vec![Vec::new(); members.len()];
        for edge in dependences.raw_edges() {
            let [from, to] = [edge.source(), edge.target()].map(|node| vertex_of[node.index()]);
            if from != to {
                before[to as usize].push(from);
            }
        }
        for before in &mut before {
            before.sort_unstable();
            before.dedup();
        }
        Self { units: members, before }
    }

    pub(super) fn count(&self) -> usize {
        self.units.len()
    }

    /// The units of a vertex.
    pub(super) fn units(&self, vertex: usize) -> &[UnitId] {
        &self.units[vertex]
    }

    /// The vertices before a vertex, ascending.
    pub(super) fn before(&self, vertex: usize) -> &[u32] {
        &self.before[vertex]
    }

    /// The same vertices one after the other; neighbours become one where there are too many, such that each has about the same
    /// share of the work.
    pub(super) fn in_line(self, instance: &Instance, most: usize) -> Self {
        let times = instance.min_exec_times();
        let work = |units: &[UnitId]| -> f64 {
            units.iter().flat_map(|&unit| instance.units().members(unit)).map(|op| times[op.index()]).sum()
        };
        let works: Vec<f64> = self.units.iter().map(|units| work(units)).collect();
        let total: f64 = works.iter().sum();
        let count = self.units.len().min(MOST_IN_LINE).min(most.max(1));
        let mut line: Vec<Vec<UnitId>> = vec![Vec::new(); count];
        let (mut done, mut piece, left) = (0.0, 0, self.units.len());
        for (position, (units, work)) in self.units.into_iter().zip(works).enumerate() {
            // A piece ends where its share of the work does, and where each that is left needs a vertex.
            let is_full = done >= total * (piece + 1) as f64 / count as f64 || left - position < count - piece;
            if is_full && !line[piece].is_empty() && piece + 1 < count {
                piece += 1;
            }
            done += work;
            line[piece].extend(units);
        }
        line.retain(|units| !units.is_empty());
        let before = (0..line.len() as u32).map(|vertex| vertex.checked_sub(1).into_iter().collect()).collect();
        Self { units: line, before }
    }
}
