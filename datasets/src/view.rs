//! Views: a dataflow graph as partitioners see it, undirected or as a hypergraph.

use std::fmt;
use std::str::FromStr;

use placebench_base::params::Named;

use crate::{
    AssignmentUnits, Cluster, DataflowGraph, DeviceClass, DeviceClasses, Hypergraph, HypergraphError, Instance, Kind,
    KindSet, Numbers, OpId, Time, UndirectedError, UndirectedGraph,
};

/// What a vertex of a view is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vertices {
    /// An op.
    #[default]
    Ops,
    /// An assignment unit: a colocation group, or an op in none.
    Units,
}

/// What a vertex of a view weighs: at least 1, so that every vertex counts for the balance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VertexWeight {
    /// Execution work. With a cluster: the mean time over the devices that the unit may run on. Without: the mean of
    /// the measured times if there are any, else operations.
    #[default]
    Work,
    /// Number of ops.
    Count,
    /// Memory that the unit demands, as [`AssignmentUnits::demand_bytes`] counts it.
    Memory,
}

/// What an edge of a view weighs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EdgeWeight {
    /// Bytes of the tensors along it. An edge that moves none, such as a control edge, is left out.
    #[default]
    Bytes,
    /// Mean time of the transfers along it over the pairs of devices that ops may run on, overheads at both ends included;
    /// needs a cluster. An edge that moves no bytes, such as a control edge, takes the latency.
    Time,
    /// Number of dataflow edges between the two, control edges included.
    Count,
}

/// Declares the names of an option's values, and how they are read and written.
macro_rules! names {
    ($type:ident, $($variant:ident = $name:literal),+) => {
        impl $type {
            /// All values with their names.
            pub const NAMES: &'static [(&'static str, Self)] = &[$(($name, Self::$variant)),+];
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$variant => $name),+ })
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let known = Self::NAMES.iter().find(|(name, _)| *name == text);
                known.map(|&(_, value)| value).ok_or_else(|| format!("write {}", [$($name),+].join(", ")))
            }
        }
    };
}

names!(Vertices, Ops = "ops", Units = "units");
names!(VertexWeight, Work = "work", Count = "count", Memory = "memory");
names!(EdgeWeight, Bytes = "bytes", Time = "time", Count = "count");

impl Named for VertexWeight {
    const NAMES: &'static [(&'static str, Self)] = Self::NAMES;
}

impl Named for EdgeWeight {
    const NAMES: &'static [(&'static str, Self)] = Self::NAMES;
}

/// What a view shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewOptions {
    /// What a vertex is.
    pub vertices: Vertices,
    /// What it weighs.
    pub vertex_weight: VertexWeight,
    /// What an edge weighs.
    pub edge_weight: EdgeWeight,
}

/// Why there is no view.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ViewError {
    /// Some ops have measured times, and another has operations only.
    #[error(
        "{op} has operations and others have measured times, which only a cluster relates: name one, or weigh vertices by \
         count or memory"
    )]
    MixedWork {
        /// The op without a measured time.
        op: String,
    },
    /// Transfer times need a cluster.
    #[error("edges weighed by transfer time need a cluster: name one, or weigh edges by bytes")]
    NoCluster,
    /// Weights add up to too much.
    #[error("{0}")]
    Undirected(#[from] UndirectedError),
    /// Tensors weigh too much, or there are too many.
    #[error("{0}")]
    Hypergraph(#[from] HypergraphError),
}

/// The undirected graph of an instance, and which vertex each op is.
///
/// Vertices are numbered in topological order; a unit takes the position of its first op. So a partitioner that splits
/// the vertices by number splits the graph along the dataflow. All edges between two vertices, in either direction,
/// become one with the sum of their weights: a cut by [`EdgeWeight::Bytes`] is the bytes on all edges between blocks.
/// Edges within a unit are left out. Weights are whole numbers. Bytes, counts and, without a cluster, whole operations that
/// add up to less than 2^53 stay as they are. Times are scaled to a total of about 2^32 and rounded, to at least 1, so that
/// the unit in which they are given does not matter.
#[derive(Clone, Debug)]
pub struct View {
    graph: UndirectedGraph,
    vertex_of_op: Vec<u32>,
    keeps_order: bool,
    edge_weight: EdgeWeight,
    /// What a transfer takes for itself, and for a byte, if edges weigh that.
    transfer: Option<(Time, Time)>,
}

impl View {
    /// The view of a graph alone.
    ///
    /// # Errors
    /// [`ViewError`], if a weight needs a cluster or weights overflow.
    ///
    /// # Complexity
    /// O(ops + edges · log degree).
    pub fn of_graph(graph: &DataflowGraph, options: ViewOptions) -> Result<Self, ViewError> {
        match options.vertices {
            Vertices::Ops => Self::new(graph, None, None, options),
            Vertices::Units => Self::new(graph, None, Some(&AssignmentUnits::new(graph)), options),
        }
    }

    /// The view of an instance, whose cluster turns operations and bytes into times.
    ///
    /// # Errors
    /// [`ViewError::Undirected`] if weights overflow.
    ///
    /// # Complexity
    /// O(ops · kinds + edges · log degree).
    pub fn of_instance(instance: &Instance, options: ViewOptions) -> Result<Self, ViewError> {
        let units = (options.vertices == Vertices::Units).then(|| instance.units());
        Self::new(instance.graph(), Some(instance.cluster()), units, options)
    }

    fn new(
        graph: &DataflowGraph,
        cluster: Option<&Cluster>,
        units: Option<&AssignmentUnits>,
        options: ViewOptions,
    ) -> Result<Self, ViewError> {
        let (vertex_of_op, vertices) = match units {
            None => (graph.topological_positions(), graph.op_count()),
            Some(units) => number_units(graph, units),
        };
        let kinds = |op: OpId| units.map_or_else(|| graph.kinds(op), |units| units.kinds(units.unit_of(op)));
        let weights = match options.vertex_weight {
            VertexWeight::Work => {
                let mut work = vec![0.0; vertices];
                let of_op = work_of_ops(graph, cluster, kinds)?;
                for op in graph.op_ids() {
                    work[vertex_of_op[op.index()] as usize] += of_op[op.index()];
                }
                whole_numbers(&work, cluster.is_none())
            }
            VertexWeight::Count => sums(graph, &vertex_of_op, vertices, |_| 1),
            VertexWeight::Memory => sums(graph, &vertex_of_op, vertices, |op| graph.demand_bytes(op)),
        };
        let weights = weights.into_iter().map(|weight| weight.max(1)).collect();
        let pair = |source: OpId, edge: crate::Edge| (vertex_of_op[source.index()], vertex_of_op[edge.op.index()]);
        let mut edges: Vec<(u32, u32, u64)> = Vec::with_capacity(graph.edge_count());
        let mut transfer = None;
        match options.edge_weight {
            EdgeWeight::Bytes => {
                edges.extend(graph.edges().filter_map(|(source, edge)| {
                    let ((a, b), bytes) = (pair(source, edge), graph.edge_bytes(edge));
                    (a != b && bytes > 0).then_some((a, b, bytes))
                }));
            }
            EdgeWeight::Count => {
                edges.extend(graph.edges().map(|(source, edge)| (pair(source, edge), 1)).map(|((a, b), n)| (a, b, n)));
            }
            EdgeWeight::Time => {
                let cluster = cluster.ok_or(ViewError::NoCluster)?;
                let kinds = graph.op_ids().map(kinds).reduce(KindSet::union).unwrap_or(KindSet::ALL);
                let (latency, per_byte) = mean_transfer(cluster, kinds);
                transfer = Some((latency, per_byte));
                let time = |edge| latency + graph.edge_bytes(edge) as f64 * per_byte;
                let times: Vec<f64> = graph.edges().map(|(_, edge)| time(edge)).collect();
                let weights = whole_numbers(&times, false);
                edges.extend(graph.edges().zip(weights).filter_map(|((source, edge), weight)| {
                    let (a, b) = pair(source, edge);
                    (a != b && weight > 0).then_some((a, b, weight))
                }));
            }
        }
        let has_all_edges =
            || options.edge_weight != EdgeWeight::Bytes || graph.edges().all(|(_, edge)| graph.edge_bytes(edge) > 0);
        let keeps_order = options.vertices == Vertices::Ops && has_all_edges();
        let graph = UndirectedGraph::from_edges(vertices, edges.iter().copied(), Some(weights))?;
        Ok(Self { graph, vertex_of_op, keeps_order, edge_weight: options.edge_weight, transfer })
    }

    /// The undirected graph.
    pub fn graph(&self) -> &UndirectedGraph {
        &self.graph
    }

    /// Whether every edge of the dataflow graph is an edge of the view that leads to a vertex of a higher number. Not so if edges
    /// without bytes are left out, or if vertices are units, whose ops may be before and behind those of another.
    pub fn keeps_order(&self) -> bool {
        self.keeps_order
    }

    /// The vertex of an op.
    #[inline]
    pub fn vertex_of(&self, op: OpId) -> u32 {
        self.vertex_of_op[op.index()]
    }

    /// The block of each op, from that of each vertex.
    pub fn blocks_of_ops(&self, block_of_vertex: &[u32]) -> Vec<u32> {
        self.vertex_of_op.iter().map(|&vertex| block_of_vertex[vertex as usize]).collect()
    }

    /// The block of each vertex, from that of each op.
    ///
    /// # Errors
    /// Two ops of one vertex that are in different blocks.
    pub fn blocks_of_vertices(&self, block_of_op: &[u32]) -> Result<Vec<u32>, (OpId, OpId)> {
        let mut first: Vec<Option<OpId>> = vec![None; self.graph.vertex_count()];
        let mut blocks = vec![0; self.graph.vertex_count()];
        for (op, (&vertex, &block)) in self.vertex_of_op.iter().zip(block_of_op).enumerate() {
            match first[vertex as usize] {
                None => {
                    first[vertex as usize] = Some(OpId::new(op));
                    blocks[vertex as usize] = block;
                }
                Some(other) if blocks[vertex as usize] != block => return Err((other, OpId::new(op))),
                Some(_) => {}
            }
        }
        Ok(blocks)
    }

    /// The hypergraph in which a tensor is a net of its producer and its consumers, weighing its bytes. The vertices
    /// are those of the view. Tensors without bytes and nets within one vertex are left out.
    ///
    /// A tensor is sent once to each device that needs it. So the bytes moved between blocks are the sum of net weight
    /// · (blocks of the net − 1). An undirected cut counts each consumer instead (B §3, Fig. 3.1).
    ///
    /// # Errors
    /// If the weights add up to more than 64 bits hold.
    ///
    /// # Complexity
    /// O(ops + edges · log degree).
    pub fn hypergraph(&self, graph: &DataflowGraph) -> Result<Hypergraph, HypergraphError> {
        self.tensors(graph, <[u64]>::to_vec)
    }

    /// The same hypergraph with tensors that weigh what the view's edges weigh: bytes, the mean time of one transfer,
    /// or 1. Times are scaled to a total of about 2^32.
    ///
    /// # Errors
    /// If the weights add up to more than 64 bits hold.
    ///
    /// # Complexity
    /// O(ops + edges · log degree).
    pub fn nets(&self, graph: &DataflowGraph) -> Result<Hypergraph, HypergraphError> {
        self.tensors(graph, |bytes| match (self.edge_weight, self.transfer) {
            (EdgeWeight::Count, _) => vec![1; bytes.len()],
            (EdgeWeight::Time, Some((latency, per_byte))) => {
                let times: Vec<f64> = bytes.iter().map(|&bytes| latency + bytes as f64 * per_byte).collect();
                whole_numbers(&times, false)
            }
            _ => bytes.to_vec(),
        })
    }

    /// A net for each tensor with bytes and pins in several vertices; `weigh` turns the bytes of all into weights.
    fn tensors(
        &self,
        graph: &DataflowGraph,
        weigh: impl FnOnce(&[u64]) -> Vec<u64>,
    ) -> Result<Hypergraph, HypergraphError> {
        let (mut offsets, mut pins, mut weights) = (vec![0u64], Vec::new(), Vec::new());
        for op in graph.op_ids() {
            let own = self.vertex_of(op);
            let mut edges = graph.successors(op).peekable();
            for tensor in graph.outputs(op) {
                let first = pins.len();
                pins.push(own);
                while let Some(edge) = edges.next_if(|edge| edge.tensor == Some(tensor)) {
                    pins.push(self.vertex_of(edge.op));
                }
                let bytes = graph.tensor_bytes(tensor);
                if bytes == 0 || pins[first..].iter().all(|&pin| pin == own) {
                    pins.truncate(first);
                    continue;
                }
                offsets.push(pins.len() as u64);
                weights.push(bytes);
            }
        }
        let vertex_weights = self.graph.vertex_weights().map(Numbers::to_vec);
        Hypergraph::from_nets(self.graph.vertex_count(), offsets, pins, Some(weigh(&weights)), vertex_weights)
    }
}

/// Numbers units by the topological position of their first op.
fn number_units(graph: &DataflowGraph, units: &AssignmentUnits) -> (Vec<u32>, usize) {
    let mut number: Vec<Option<u32>> = vec![None; units.count()];
    let mut next = 0;
    let mut vertex_of_op = vec![0; graph.op_count()];
    for op in graph.topological_order() {
        let number = number[units.unit_of(op).index()].get_or_insert_with(|| {
            next += 1;
            next - 1
        });
        vertex_of_op[op.index()] = *number;
    }
    (vertex_of_op, units.count())
}

fn sums(graph: &DataflowGraph, vertex_of_op: &[u32], vertices: usize, of_op: impl Fn(OpId) -> u64) -> Vec<u64> {
    let mut sums = vec![0u64; vertices];
    for op in graph.op_ids() {
        let sum = &mut sums[vertex_of_op[op.index()] as usize];
        *sum = sum.saturating_add(of_op(op));
    }
    sums
}

/// The work of each op: see [`VertexWeight::Work`].
fn work_of_ops(
    graph: &DataflowGraph,
    cluster: Option<&Cluster>,
    kinds: impl Fn(OpId) -> KindSet,
) -> Result<Vec<f64>, ViewError> {
    if let Some(cluster) = cluster {
        let classes = DeviceClasses::new(graph, cluster);
        // For each class: the number of its devices, and the sums of the times that an operation takes on them and of what
        // they add to an op.
        let sums = |class: &DeviceClass| {
            class.devices.iter().fold((0.0, 0.0, 0.0), |(count, inverse_speed, overhead), &device| {
                let speed = cluster.device(device).speed;
                (count + 1.0, inverse_speed + 1.0 / speed, overhead + cluster.op_overhead(device))
            })
        };
        let devices: Vec<(f64, f64, Time)> = classes.all().iter().map(sums).collect();
        let mean = |op: OpId| {
            let (mut time, mut count) = (0.0, 0.0);
            for (number, class) in classes.of_kinds(kinds(op)) {
                let (of_class, inverse_speed, overhead) = devices[number];
                count += of_class;
                time += overhead
                    + match class.given_time(op) {
                        Some(given) => given * of_class,
                        None => graph.ops(op) * inverse_speed,
                    };
            }
            if count > 0.0 { time / count } else { 0.0 }
        };
        return Ok(graph.op_ids().map(mean).collect());
    }
    let measured = |op: OpId| {
        let may_run = |class: &str| {
            let kind = Kind::ALL.into_iter().find(|&kind| kind.class() == class);
            kind.is_none_or(|kind| kinds(op).contains(kind))
        };
        let measured = graph.measured_times().iter().filter(|times| may_run(times.class()));
        let times = measured.filter_map(|times| times.of(op));
        let (sum, count) = times.fold((0.0, 0u32), |(sum, count), time| (sum + time, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    };
    if graph.measured_times().is_empty() {
        return Ok(graph.op_ids().map(|op| graph.ops(op)).collect());
    }
    let work = |op: OpId| match measured(op) {
        Some(time) => Ok(time),
        None if graph.ops(op) == 0.0 => Ok(0.0),
        None => Err(ViewError::MixedWork { op: graph.label(op) }),
    };
    graph.op_ids().map(work).collect()
}

/// What a transfer between two different devices of these kinds takes on the mean, overheads at both ends included: for
/// itself, and for a byte. Nothing with fewer than two devices.
fn mean_transfer(cluster: &Cluster, kinds: KindSet) -> (Time, Time) {
    let usable = || cluster.device_ids().filter(|&device| kinds.contains(cluster.device(device).kind));
    let pairs = usable().flat_map(|from| usable().map(move |to| (from, to))).filter(|(from, to)| from != to);
    let (mut latency, mut per_byte, mut count) = (0.0, 0.0, 0.0);
    for (from, to) in pairs {
        let (link, ends) = (cluster.link(from, to), cluster.transfer_overheads(from, to));
        latency += link.latency + ends.send + ends.receive;
        per_byte += 1.0 / link.rate + ends.send_per_byte + ends.receive_per_byte;
        count += 1.0;
    }
    if count > 0.0 { (latency / count, per_byte / count) } else { (0.0, 0.0) }
}

/// Weights as whole numbers, scaled to a total of about 2^32. With `keep_whole` they stay as they are if they are whole.
fn whole_numbers(values: &[f64], keep_whole: bool) -> Vec<u64> {
    const EXACT: f64 = (1u64 << 53) as f64;
    const TOTAL: f64 = (1u64 << 32) as f64;
    let sum: f64 = values.iter().sum();
    if keep_whole && sum < EXACT && values.iter().all(|value| value.fract() == 0.0) {
        return values.iter().map(|&value| value as u64).collect();
    }
    let largest = values.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 {
        return vec![0; values.len()];
    }
    // Divide by the largest first, so that no sum overflows.
    let shares: f64 = values.iter().map(|value| value / largest).sum();
    let scaled = |&value: &f64| (value / largest / shares * TOTAL).round() as u64;
    values.iter().map(|value| scaled(value).max(u64::from(*value > 0.0))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, DeviceId, GraphBuilder, Link, OpSpec};

    /// op1(3) ─8 B▶ op0(5) ─2 B▶ op2(0), op0 ─2 B▶ op3(1), op1 ─8 B▶ op3, op1 ⇢ op2 (control); op0 and op3 colocated.
    /// The topological order is 1, 0, 2, 3.
    fn graph(scale: f64) -> DataflowGraph {
        let mut builder = GraphBuilder::default();
        let ops = [(5.0, 2), (3.0, 8), (0.0, 0), (1.0, 0)].map(|(cost, bytes)| {
            let spec = OpSpec { memory_bytes: 10, ..OpSpec::cost(cost * scale) };
            builder.add_op(spec, &[bytes])
        });
        for (producer, consumer) in [(1, 0), (0, 2), (0, 3), (1, 3)] {
            builder.add_edge(ops[producer], 0, ops[consumer]).unwrap();
        }
        builder.add_control_edge(ops[1], ops[2]).unwrap();
        builder.colocate(ops[0], ops[3]).unwrap();
        builder.build().unwrap()
    }

    fn view(options: ViewOptions) -> View {
        View::of_graph(&graph(1.0), options).unwrap()
    }

    #[test]
    fn ops_are_numbered_in_topological_order_and_weigh_operations() {
        let view = view(ViewOptions::default());
        let order: Vec<u32> = (0..4).map(|op| view.vertex_of(OpId(op))).collect();
        assert_eq!(order[..2], [1, 0]);
        let weights: Vec<u64> = order.iter().map(|&vertex| view.graph().vertex_weight(vertex)).collect();
        assert_eq!(weights, [5, 3, 1, 1], "what costs nothing weighs 1");
        assert_eq!((view.graph().edge_count(), view.graph().total_edge_weight()), (4, 8 + 2 + 2 + 8));
    }

    #[test]
    fn units_gather_their_ops_and_swallow_their_edges() {
        let units = ViewOptions { vertices: Vertices::Units, ..ViewOptions::default() };
        let units = view(units);
        let graph = units.graph();
        assert_eq!(graph.edges().collect::<Vec<_>>(), [(0, 1, 16), (1, 2, 2)]);
        assert_eq!(graph.vertex_weights(), Some(Numbers::Wide(&[3, 6, 1])));
        assert_eq!(units.blocks_of_ops(&[0, 1, 2]), [1, 0, 2, 1]);
        assert_eq!(units.blocks_of_vertices(&[1, 0, 2, 1]), Ok(vec![0, 1, 2]));
        assert_eq!(units.blocks_of_vertices(&[1, 0, 2, 0]), Err((OpId(0), OpId(3))));
    }

    #[test]
    fn a_tensor_is_one_net_with_all_its_consumers() {
        let view = view(ViewOptions::default());
        let nets = view.hypergraph(&graph(1.0)).unwrap();
        assert_eq!((nets.net_count(), nets.pin_count()), (2, 6));
        assert_eq!((nets.net_weight(0), nets.net_weight(1)), (2, 8));
        let units = ViewOptions { vertices: Vertices::Units, ..ViewOptions::default() };
        let units = View::of_graph(&graph(1.0), units).unwrap().hypergraph(&graph(1.0)).unwrap();
        assert_eq!([units.pins(0), units.pins(1)], [&[1, 2], &[0, 1]]);
    }

    #[test]
    fn other_weights_are_counts_memory_and_times() {
        let options = |vertex_weight, edge_weight| ViewOptions { vertex_weight, edge_weight, ..ViewOptions::default() };
        let counted = view(options(VertexWeight::Count, EdgeWeight::Count));
        assert_eq!((counted.graph().total_vertex_weight(), counted.graph().total_edge_weight()), (4, 5));
        // Each op demands 10, its outputs and its distinct inputs.
        let memory = view(options(VertexWeight::Memory, EdgeWeight::Bytes));
        let of = |op: u32| memory.graph().vertex_weight(memory.vertex_of(OpId(op)));
        assert_eq!([of(0), of(1), of(2), of(3)], [20, 18, 12, 20]);
        let timed = options(VertexWeight::Work, EdgeWeight::Time);
        assert_eq!(View::of_graph(&graph(1.0), timed).unwrap_err(), ViewError::NoCluster);
        let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, Link { rate: 2.0, latency: 3.0 }).unwrap();
        let instance = Instance::new(graph(1.0), cluster).unwrap();
        let timed = View::of_instance(&instance, timed).unwrap();
        // 3 + 8 / 2 twice, 3 + 2 / 2 twice, and 3 for the control edge: 25 in all.
        let edge = |producer: u32, consumer: u32| {
            let ends = [producer, consumer].map(|op| timed.vertex_of(OpId(op)));
            let found = timed.graph().edges().find(|&(a, b, _)| [a, b] == ends || [b, a] == ends);
            (found.unwrap().2 as f64 * 25.0 / 2f64.powi(32)).round()
        };
        assert_eq!([edge(1, 0), edge(0, 2), edge(1, 3), edge(1, 2)], [7.0, 4.0, 7.0, 3.0]);
        // As nets, the tensors of 2 and 8 bytes weigh 4 and 7 of 11, or 1 each.
        let weights = |nets: Hypergraph| (0..2).map(|net| nets.net_weight(net)).collect::<Vec<u64>>();
        let times = weights(timed.nets(instance.graph()).unwrap());
        let shares = times.iter().map(|&time| (time as f64 * 11.0 / 2f64.powi(32)).round()).collect::<Vec<f64>>();
        assert_eq!((shares, weights(timed.hypergraph(instance.graph()).unwrap())), (vec![4.0, 7.0], vec![2, 8]));
        assert_eq!(weights(counted.nets(instance.graph()).unwrap()), [1, 1]);
    }

    #[test]
    fn times_weigh_the_same_in_every_unit_and_without_devices_that_no_op_may_run_on() {
        let weights = |scale: f64, tpu: bool| {
            let mut kinds = vec![Kind::Cpu, Kind::Cpu];
            kinds.extend(tpu.then_some(Kind::Tpu));
            let device = |(id, kind): (usize, Kind)| Device {
                name: format!("d{id}"),
                kind,
                memory_bytes: None,
                speed: 1.0 / scale,
            };
            let link = |from: DeviceId, to: DeviceId| match from.max(to).index() {
                2 => Link { rate: 1e-9, latency: 1e9 },
                _ => Link { rate: 2.0 / scale, latency: 3.0 * scale },
            };
            let cluster = Cluster::new(kinds.into_iter().enumerate().map(device).collect(), link).unwrap();
            let on_cpus = graph(1.0).with_kinds(vec![KindSet::only(Kind::Cpu); 4]).unwrap();
            let instance = Instance::new(on_cpus, cluster).unwrap();
            let options =
                ViewOptions { vertices: Vertices::Units, edge_weight: EdgeWeight::Time, ..ViewOptions::default() };
            let view = View::of_instance(&instance, options).unwrap();
            (view.graph().vertex_weights().map(Numbers::to_vec), view.graph().edges().collect::<Vec<_>>())
        };
        assert_eq!(weights(1.0, false), weights(1024.0, false));
        assert_eq!(weights(1.0, false), weights(0.1 * 0.1, false));
        assert_eq!(weights(1.0, false), weights(1.0, true));
    }

    #[test]
    fn fractions_are_scaled_and_keep_their_ratios() {
        let view = View::of_graph(&graph(0.1), ViewOptions::default()).unwrap();
        let of = |op: u32| view.graph().vertex_weight(view.vertex_of(OpId(op))) as f64;
        assert!((of(0) / of(1) - 5.0 / 3.0).abs() < 1e-8 && of(2) == 1.0);
        assert!((view.graph().total_vertex_weight() as f64 / 2f64.powi(32) - 1.0).abs() < 1e-8);
        assert_eq!(whole_numbers(&[f64::MAX, f64::MAX], true), [1 << 31, 1 << 31]);
        assert_eq!(whole_numbers(&[0.0, 0.0], false), [0, 0]);
    }

    #[test]
    fn operations_and_measured_times_do_not_mix_without_a_cluster() {
        let mut builder = GraphBuilder::default();
        builder.add_op(OpSpec { times: &[("cpu", 2.0), ("gpu", 4.0)], ..OpSpec::cost(9.0) }, &[]);
        let timed = builder.build().unwrap();
        assert_eq!(View::of_graph(&timed, ViewOptions::default()).unwrap().graph().vertex_weight(0), 3);
        builder.add_op(OpSpec { times: &[("cpu", 2.0), ("gpu", 4.0)], ..OpSpec::cost(9.0) }, &[]);
        builder.add_op(OpSpec::cost(9.0), &[]);
        let mixed = builder.build().unwrap();
        let error = View::of_graph(&mixed, ViewOptions::default()).unwrap_err();
        assert!(matches!(error, ViewError::MixedWork { .. }), "{error}");
    }
}
