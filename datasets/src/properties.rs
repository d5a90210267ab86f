//! The property sheet of a graph: its size, shape and costs in numbers.

use std::collections::BTreeMap;
use std::fmt;

use petgraph::algo::connected_components;
use serde::Serialize;

use crate::{Cluster, DataflowGraph, DeviceClass, DeviceClasses, KindSet, OpId, Time, is_matrix_op};

/// Size, shape and costs of a graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Properties {
    /// Number of ops.
    pub nodes: usize,
    /// Edges of both sorts.
    pub edges: usize,
    /// Edges that carry a tensor.
    pub data_edges: usize,
    /// Edges that carry none.
    pub control_edges: usize,
    /// Tensors, consumed or not.
    pub tensors: usize,
    /// Ops on the longest path.
    pub levels: usize,
    /// Ops on the fullest level, where an op's level is the number of ops on the longest path to it.
    pub max_width: usize,
    /// Edges / pairs of ops; none with fewer than two ops. Parallel edges may lift it above 1.
    pub density: Option<f64>,
    /// Edges / ops, as L's tables have it (§7.1); none without ops.
    pub mean_degree: Option<f64>,
    /// Standard deviation / mean of the degrees (in and out together) over all ops; none without edges.
    pub degree_cv: Option<f64>,
    /// Most edges that enter one op.
    pub max_in_degree: usize,
    /// Most edges that leave one op.
    pub max_out_degree: usize,
    /// Weakly connected components, isolated ops included.
    pub components: usize,
    /// Ops without any edge.
    pub isolated_nodes: usize,
    /// Ops in a colocation group.
    pub colocated_nodes: usize,
    /// Colocation groups.
    pub groups: usize,
    /// Number of colocation groups by their size (L Fig. 6.1).
    pub group_sizes: BTreeMap<usize, usize>,
    /// Number of ops by the kinds that they may run on.
    pub kinds: BTreeMap<KindSet, usize>,
    /// Cost of all ops, in operations.
    pub total_ops: f64,
    /// Size of all tensors, each once, in bytes.
    pub total_tensor_bytes: u128,
    /// Resident memory of all ops, in bytes.
    pub total_memory_bytes: u128,
    /// Ops that matrix units do where a device has them; see [`crate::is_matrix_op`].
    pub matrix_ops: usize,
    /// Bytes that all ops read and write; none if the graph does not say.
    pub total_bytes_moved: Option<f64>,
    /// The classes of devices that it has measured times for.
    pub measured_classes: Vec<String>,
    /// Cost of the costliest path, in operations; transfers cost nothing.
    pub critical_path_ops: f64,
    /// Total cost / cost of the costliest path: the speedup on any number of equal devices is at most this. None if
    /// all costs are 0.
    pub parallelism: Option<f64>,
    /// Communication to computation, time over time; see [`ccr`]. None without a cluster.
    pub ccr: Option<f64>,
}

impl Properties {
    /// The properties of a graph; with a cluster also the [`ccr`] on it.
    ///
    /// # Complexity
    /// O(ops + edges).
    pub fn of(graph: &DataflowGraph, cluster: Option<&Cluster>) -> Self {
        let nodes = graph.op_count();
        let edges = graph.edge_count();
        let control_edges = graph.control_edge_count();
        let degree = |op: OpId| graph.in_degree(op) + graph.out_degree(op);
        let colocation = graph.colocation();
        let mut group_sizes = BTreeMap::new();
        for (_, members) in colocation.groups() {
            *group_sizes.entry(members.len()).or_insert(0) += 1;
        }
        let mut kinds = BTreeMap::new();
        for op in graph.op_ids() {
            *kinds.entry(graph.kinds(op)).or_insert(0) += 1;
        }
        let (levels, max_width) = levels(graph);
        // Not `sum`, which is -0 for an empty list.
        let total_ops = graph.op_ids().map(|op| graph.ops(op)).fold(0.0, |sum, cost| sum + cost);
        let critical_path_ops = critical_path_ops(graph);
        Self {
            nodes,
            edges,
            data_edges: edges - control_edges,
            control_edges,
            tensors: graph.tensor_count(),
            levels,
            max_width,
            density: (nodes > 1).then(|| edges as f64 / (nodes as f64 * (nodes - 1) as f64 / 2.0)),
            mean_degree: (nodes > 0).then(|| edges as f64 / nodes as f64),
            degree_cv: coefficient_of_variation(graph.op_ids().map(|op| degree(op) as f64)),
            max_in_degree: graph.op_ids().map(|op| graph.in_degree(op)).max().unwrap_or(0),
            max_out_degree: graph.op_ids().map(|op| graph.out_degree(op)).max().unwrap_or(0),
            components: connected_components(graph),
            isolated_nodes: graph.op_ids().filter(|&op| degree(op) == 0).count(),
            colocated_nodes: colocation.colocated_op_count(),
            groups: colocation.group_count(),
            group_sizes,
            kinds,
            total_ops,
            total_tensor_bytes: graph
                .op_ids()
                .flat_map(|op| graph.outputs(op))
                .map(|tensor| u128::from(graph.tensor_bytes(tensor)))
                .sum(),
            total_memory_bytes: graph.op_ids().map(|op| u128::from(graph.memory_bytes(op))).sum(),
            matrix_ops: matrix_ops(graph),
            total_bytes_moved: graph
                .has_bytes_moved()
                .then(|| graph.op_ids().filter_map(|op| graph.bytes_moved(op)).sum()),
            measured_classes: graph.measured_times().iter().map(|times| times.class().to_owned()).collect(),
            critical_path_ops,
            parallelism: (critical_path_ops > 0.0).then(|| total_ops / critical_path_ops),
            ccr: cluster.and_then(|cluster| ccr(graph, cluster)),
        }
    }
}

/// Communication to computation, as time over time: the mean over all edges of the time that a transfer of what the
/// edge carries takes, divided by the mean over all ops of the time that the op takes.
///
/// A transfer's time is the mean of latency + bytes / rate, and of the overheads at both ends, over all ordered pairs of
/// different devices (a control edge moves 0 bytes). An op's time is the mean over the devices of the kinds that it may run on; ops that may run on no
/// device of the cluster do not count. With one device, transfers take no time.
///
/// None if the graph has no edge, or the mean time of ops is 0.
///
/// # Complexity
/// O(ops + edges + devices²).
pub fn ccr(graph: &DataflowGraph, cluster: &Cluster) -> Option<f64> {
    let (constant, per_byte) = cluster.mean_transfer_overheads();
    let (latency, inverse_rate) = (cluster.mean_latency() + constant, cluster.mean_inverse_rate() + per_byte);
    let transfer = mean(graph.edges().map(|(_, edge)| latency + graph.edge_bytes(edge) as f64 * inverse_rate))?;
    let execution = mean(graph.op_ids().filter_map(mean_exec_time(graph, cluster)))?;
    (execution > 0.0).then(|| transfer / execution)
}

/// The mean time of an op over the devices that it may run on.
fn mean_exec_time(graph: &DataflowGraph, cluster: &Cluster) -> impl Fn(OpId) -> Option<Time> {
    let classes = DeviceClasses::new(graph, cluster);
    let sums = |class: &DeviceClass| {
        let devices = || class.devices.iter();
        let inverse_speeds = devices().map(|&device| 1.0 / cluster.device(device).speed).sum::<f64>();
        (devices().count() as f64, inverse_speeds, devices().map(|&device| cluster.op_overhead(device)).sum::<f64>())
    };
    let by_class: Vec<(f64, f64, Time)> = classes.all().iter().map(sums).collect();
    move |op| {
        let (mut time, mut count) = (0.0, 0.0);
        for (number, class) in classes.of_kinds(graph.kinds(op)) {
            let (devices, inverse_speeds, overhead) = by_class[number];
            time += overhead;
            time += match class.given_time(op) {
                Some(given) => given * devices,
                None => graph.ops(op) * inverse_speeds,
            };
            count += devices;
        }
        (count > 0.0).then(|| time / count)
    }
}

/// Number of levels, and of ops on the fullest.
fn levels(graph: &DataflowGraph) -> (usize, usize) {
    let mut level = vec![0u32; graph.op_count()];
    let mut widths = Vec::new();
    for op in graph.topological_order() {
        let own = graph.predecessor_ops(op).iter().map(|source| level[source.index()] + 1).max().unwrap_or(0);
        level[op.index()] = own;
        if widths.len() <= own as usize {
            widths.push(0);
        }
        widths[own as usize] += 1;
    }
    (widths.len(), widths.into_iter().max().unwrap_or(0))
}

fn matrix_ops(graph: &DataflowGraph) -> usize {
    let Some(types) = graph.op_types() else { return 0 };
    let is_matrix: Vec<bool> = types.labels().iter().map(|label| is_matrix_op(label)).collect();
    graph.op_ids().filter(|op| types.number(op.index()).is_some_and(|label| is_matrix[label])).count()
}

fn critical_path_ops(graph: &DataflowGraph) -> f64 {
    let mut finish = vec![0.0f64; graph.op_count()];
    for op in graph.topological_order() {
        let start = graph.predecessor_ops(op).iter().map(|source| finish[source.index()]).fold(0.0, f64::max);
        finish[op.index()] = start + graph.ops(op);
    }
    finish.into_iter().fold(0.0, f64::max)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u64), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f64)
}

/// Population standard deviation / mean.
fn coefficient_of_variation(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let mean_value = mean(values.clone()).filter(|&mean| mean > 0.0)?;
    let variance = mean(values.map(|value| (value - mean_value).powi(2)))?;
    Some(variance.sqrt() / mean_value)
}

impl fmt::Display for Properties {
    /// One property a line with its unit, names and values aligned. An op is a node of the graph, an operation a unit of its
    /// cost.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, value: &dyn fmt::Display| writeln!(f, "{name:<22}{value}");
        let ratio = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), significant);
        let list = |items: Vec<String>| if items.is_empty() { "-".to_owned() } else { items.join(", ") };
        line("ops", &self.nodes)?;
        line("edges", &self.edges)?;
        line("  data", &self.data_edges)?;
        line("  control", &self.control_edges)?;
        line("tensors", &self.tensors)?;
        line("levels", &self.levels)?;
        line("max width", &format!("{} ops", self.max_width))?;
        line("density", &ratio(self.density))?;
        line("mean degree", &ratio(self.mean_degree))?;
        line("degree CV", &ratio(self.degree_cv))?;
        line("max in-degree", &self.max_in_degree)?;
        line("max out-degree", &self.max_out_degree)?;
        line("components", &self.components)?;
        line("isolated ops", &self.isolated_nodes)?;
        line("colocated ops", &self.colocated_nodes)?;
        line("colocation groups", &self.groups)?;
        line(
            "  size × number",
            &list(self.group_sizes.iter().map(|(size, count)| format!("{size} × {count}")).collect()),
        )?;
        line("kinds", &list(self.kinds.iter().map(|(kinds, count)| format!("{kinds}: {count}")).collect()))?;
        line("for matrix units", &format!("{} ops", self.matrix_ops))?;
        line("measured on", &list(self.measured_classes.clone()))?;
        line("total cost", &format!("{} operations", significant(self.total_ops)))?;
        line("tensor sizes", &format!("{} bytes", self.total_tensor_bytes))?;
        line("resident memory", &format!("{} bytes", self.total_memory_bytes))?;
        line(
            "bytes moved",
            &self.total_bytes_moved.map_or_else(|| "-".to_owned(), |bytes| format!("{} bytes", significant(bytes))),
        )?;
        line("critical path", &format!("{} operations", significant(self.critical_path_ops)))?;
        line("parallelism", &ratio(self.parallelism))?;
        self.ccr.map_or(Ok(()), |ccr| line("CCR", &significant(ccr)))
    }
}

/// A number with four significant digits or all digits before the point.
fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = value.abs().log10().floor() as i32;
    match digits {
        -4..16 => {
            let text = format!("{value:.*}", usize::try_from(3 - digits).unwrap_or(0));
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
        }
        _ => format!("{value:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, GraphBuilder, Kind, Link, OpSpec};

    /// ```text
    /// 0 ──▶ 1 ──▶ 3      5 alone
    /// 0 ──▶ 2 ──▶ 3 ··▶ 4 (control)
    /// ```
    fn graph() -> DataflowGraph {
        let mut builder = GraphBuilder::default();
        for (op, cost) in [2.0, 3.0, 5.0, 7.0, 0.0, 11.0].into_iter().enumerate() {
            let kinds = if op == 5 { KindSet::only(Kind::Gpu) } else { KindSet::ALL };
            let outputs: &[u64] = if op == 0 { &[10, 20] } else { &[40] };
            builder.add_op(OpSpec { memory_bytes: 100, kinds, ..OpSpec::cost(cost) }, outputs);
        }
        for (source, port, target) in [(0, 0, 1), (0, 1, 2), (1, 0, 3), (2, 0, 3)] {
            builder.add_edge(OpId(source), port, OpId(target)).unwrap();
        }
        builder.add_control_edge(OpId(3), OpId(4)).unwrap();
        builder.colocate(OpId(0), OpId(4)).unwrap();
        builder.build().unwrap()
    }

    #[test]
    fn every_property_has_the_value_worked_out_by_hand() {
        let properties = Properties::of(&graph(), None);
        let expected = Properties {
            nodes: 6,
            edges: 5,
            data_edges: 4,
            control_edges: 1,
            tensors: 7,
            levels: 4,
            // Level 0: ops 0 and 5; level 1: ops 1 and 2.
            max_width: 2,
            density: Some(5.0 / 15.0),
            mean_degree: Some(5.0 / 6.0),
            // Degrees 2, 2, 2, 3, 1, 0: mean 10/6, mean of squares 22/6, so variance 132/36 - 100/36 = 32/36.
            degree_cv: properties.degree_cv,
            max_in_degree: 2,
            max_out_degree: 2,
            components: 2,
            isolated_nodes: 1,
            colocated_nodes: 2,
            groups: 1,
            group_sizes: BTreeMap::from([(2, 1)]),
            kinds: BTreeMap::from([(KindSet::only(Kind::Gpu), 1), (KindSet::ALL, 5)]),
            total_ops: 28.0,
            total_tensor_bytes: 10 + 20 + 5 * 40,
            total_memory_bytes: 600,
            matrix_ops: 0,
            total_bytes_moved: None,
            measured_classes: Vec::new(),
            // 0, 2, 3, 4.
            critical_path_ops: 14.0,
            parallelism: Some(2.0),
            ccr: None,
        };
        assert_eq!(properties, expected);
        assert!((properties.degree_cv.unwrap() - (32.0f64 / 36.0).sqrt() / (10.0 / 6.0)).abs() < 1e-12);
    }

    #[test]
    fn ccr_is_mean_transfer_time_over_mean_execution_time() {
        let device = |name: &str, kind, speed| Device { name: name.to_owned(), kind, memory_bytes: None, speed };
        let devices = vec![device("cpu", Kind::Cpu, 1.0), device("gpu", Kind::Gpu, 4.0)];
        let rate = |from: crate::DeviceId| Link { rate: if from.0 == 0 { 10.0 } else { 5.0 }, latency: 0.5 };
        let cluster = Cluster::new(devices, |from, _| rate(from)).unwrap();
        // Bytes 10, 20, 40, 40 and 0, and a mean inverse rate of 0.15: mean 22 · 0.15 + 0.5.
        let transfer = 22.0 * 0.15 + 0.5;
        // Mean inverse speed 0.625 for ops 0 to 4 (together 17), 0.25 for op 5 (11).
        let execution = (17.0 * 0.625 + 11.0 * 0.25) / 6.0;
        let found = Properties::of(&graph(), Some(&cluster)).ccr.unwrap();
        assert!((found - transfer / execution).abs() < 1e-12, "{found}");
    }

    #[test]
    fn measured_times_and_missing_kinds_count_as_documented() {
        let mut builder = GraphBuilder::default();
        let a = builder.add_op(OpSpec { times: &[("cpu", 6.0)], ..OpSpec::cost(100.0) }, &[30]);
        let b = builder.add_op(OpSpec { kinds: KindSet::only(Kind::Tpu), ..OpSpec::cost(9.0) }, &[]);
        builder.add_edge(a, 0, b).unwrap();
        let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, Link { rate: 10.0, latency: 0.0 }).unwrap();
        assert_eq!(ccr(&builder.build().unwrap(), &cluster), Some(0.5));
    }

    #[test]
    fn the_empty_graph_has_no_ratios() {
        let graph = GraphBuilder::default().build().unwrap();
        let cluster = Cluster::uniform(1, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
        let properties = Properties::of(&graph, Some(&cluster));
        assert_eq!((properties.levels, properties.max_width, properties.components), (0, 0, 0));
        let ratios =
            [properties.density, properties.mean_degree, properties.degree_cv, properties.parallelism, properties.ccr];
        assert_eq!(ratios, [None; 5]);
    }

    #[test]
    fn the_sheet_is_aligned_and_short() {
        let sheet = Properties::of(&graph(), None).to_string();
        let line = |name: &str| sheet.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
        assert_eq!(line("mean degree"), "mean degree           0.8333");
        assert_eq!(line("  size"), "  size × number       2 × 1");
        assert_eq!(line("total cost"), "total cost            28 operations");
        assert_eq!(line("tensor sizes"), "tensor sizes          230 bytes");
        assert_eq!(line("kinds"), "kinds                 GPU: 1, ALL: 5");
        assert_eq!(
            [0.0, 28.0, 123456.0, 0.00012347, 1.5e17].map(significant),
            ["0", "28", "123456", "0.0001235", "1.500e17"]
        );
    }
}
