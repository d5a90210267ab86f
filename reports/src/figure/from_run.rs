//! From graphs and simulated runs to figures.

use std::collections::BTreeMap;

use placebench_algorithms::bounds;
use placebench_algorithms::period::busy_times;
use placebench_datasets::{Categories, Cluster, DataflowGraph, OpId, PlacedGraph, TransferId};
use placebench_harness::execute::simulate::NetworkModel;
use placebench_harness::steady_state::SteadyState;
use placebench_harness::timeline::Timeline;

use super::executable_ops::ExecutableOps;
use super::gantt::{Gantt, GanttDevice, GanttRun, Moved, Task, TaskKind};
use super::histogram::Histogram;
use super::load::{Load, LoadedDevice};
use super::quantity::{Quantity, Unit};

/// What each device does when, in one run or in several with a name each. `placed` is what was executed, `time_unit` the unit
/// of its times.
///
/// # Complexity
/// O((ops + transfers) log) a run.
pub fn gantt(placed: &PlacedGraph<'_>, runs: &[(&str, &Timeline)], time_unit: &str, title: String) -> Gantt {
    let runs = runs.iter().map(|&(name, timeline)| gantt_run(placed, timeline, name.to_owned())).collect();
    let graph = placed.instance().graph();
    let grouped_by = grouping(graph).map(|(name, _)| name.to_owned());
    Gantt { title, unit: Unit::of_time(time_unit), grouped_by, runs }
}

/// What ops are grouped by, if they differ in it: their layers, or else their types.
fn grouping(graph: &DataflowGraph) -> Option<(&'static str, &Categories)> {
    let differ = |labels: &&Categories| labels.labels().len() > 1;
    let layers = graph.layers().filter(differ).map(|layers| ("layer", layers));
    layers.or_else(|| graph.op_types().filter(differ).map(|types| ("op type", types)))
}

fn gantt_run(placed: &PlacedGraph<'_>, timeline: &Timeline, run: String) -> GanttRun {
    let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
    let mut tasks: Vec<Vec<Task>> = vec![Vec::new(); cluster.device_count()];
    let name = |op: OpId| graph.name(op).map_or_else(|| format!("op {op}"), ToString::to_string);
    let groups = grouping(graph);
    for op in graph.op_ids() {
        let time = timeline.op(op);
        let group = groups.and_then(|(_, labels)| labels.get(op.index())).unwrap_or_default().to_owned();
        let task = Task { name: name(op), what: TaskKind::Op, group, start: time.start, end: time.end };
        tasks[placed.device_of(op).index()].push(task);
    }
    for (id, time) in timeline.sends() {
        let transfer = placed.transfer(id);
        let to = &cluster.device(transfer.to).name;
        let name = format!("{} to {to}", name(transfer.source));
        tasks[transfer.from.index()].push(Task {
            name,
            what: TaskKind::Send,
            group: String::new(),
            start: time.start,
            end: time.end,
        });
    }
    for (id, time) in timeline.receives() {
        let transfer = placed.transfer(id);
        let name = format!("{} from {}", name(transfer.source), cluster.device(transfer.from).name);
        tasks[transfer.to.index()].push(Task {
            name,
            what: TaskKind::Receive,
            group: String::new(),
            start: time.start,
            end: time.end,
        });
    }
    let devices = cluster.devices().iter().zip(tasks).map(|(device, mut tasks)| {
        tasks.sort_by(|a, b| a.start.total_cmp(&b.start).then(a.end.total_cmp(&b.end)));
        GanttDevice { name: device.name.to_string(), tasks }
    });
    let moved = |id: TransferId| {
        let (transfer, time) = (placed.transfer(id), timeline.transfer(placed, id));
        let (from, to) = (transfer.from.index(), transfer.to.index());
        Moved { name: name(transfer.source), from, to, start: time.start, end: time.end }
    };
    let transfers = (0..placed.transfer_count()).map(|index| moved(TransferId::new(index))).collect();
    GanttRun { name: run, makespan: timeline.makespan(), devices: devices.collect(), transfers }
}

/// How long one sample of a run that was simulated under `network` keeps each device and each part of the network busy.
///
/// # Complexity
/// O(ops · log + transfers · parts that one uses), and that of [`SteadyState::new`].
pub fn load(
    placed: &PlacedGraph<'_>,
    timeline: &Timeline,
    network: &dyn NetworkModel,
    time_unit: &str,
    title: String,
) -> Load {
    let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
    let occupancy = network.occupancy(cluster);
    let busy = busy_times(placed, &*occupancy);
    let (of_devices, of_network) = busy.split_at(cluster.device_count());
    let steady = SteadyState::new(placed, timeline, busy.iter().copied().fold(0.0, f64::max));
    let (grouped_by, labels) = grouping(graph).map_or(("ops", None), |(name, labels)| (name, Some(labels)));
    let label = |op: OpId| labels.and_then(|labels| labels.get(op.index()));
    let order = in_order(graph, label);
    let number: BTreeMap<Option<&str>, usize> = order.iter().copied().zip(0..).collect();
    let none = if labels.is_some() { "none" } else { "all" };
    let groups = order.iter().map(|label| label.unwrap_or(none).to_owned()).collect();
    let mut times: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); cluster.device_count()];
    for op in graph.op_ids() {
        *times[placed.device_of(op).index()].entry(number[&label(op)]).or_default() += placed.exec_time(op);
    }
    let devices = cluster.device_ids().zip(times).map(|(device, times)| {
        let ops: f64 = times.values().sum();
        let beside = of_devices[device.index()] - ops;
        LoadedDevice {
            name: cluster.device(device).name.clone(),
            // What rounding leaves is no transfer.
            transfers: if beside > 1e-9 * ops { beside } else { 0.0 },
            ops: times.into_iter().collect(),
            held_bytes: steady.memory.peak_bytes(device),
            memory_bytes: placed.instance().peak_limit(device),
        }
    });
    let devices = devices.collect();
    let parts = of_network.iter().enumerate().filter(|(_, time)| **time > 0.0);
    let mut shared: Vec<(String, f64)> =
        parts.map(|(part, &time)| (occupancy.name(cluster.device_count() + part), time)).collect();
    shared.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (unit, bound) = (Unit::of_time(time_unit), bounds::period(placed.instance()).value);
    Load { title, unit, grouped_by: grouped_by.to_owned(), groups, devices, shared, period: steady.period, bound }
}

/// The groups of ops in the order in which a run comes to them: by the least number of ops before one of theirs that reads
/// something. Parameters and inputs, which read nothing, are there from the start, and say nothing of the order.
fn in_order<'a>(graph: &'a DataflowGraph, label: impl Fn(OpId) -> Option<&'a str>) -> Vec<Option<&'a str>> {
    let mut level = vec![0u32; graph.op_count()];
    let mut first: BTreeMap<Option<&str>, (u32, usize)> = BTreeMap::new();
    for (position, op) in graph.topological_order().enumerate() {
        let before = graph.predecessor_ops(op).iter().map(|source| level[source.index()] + 1).max();
        level[op.index()] = before.unwrap_or(0);
        let own = (before.unwrap_or(u32::MAX), position);
        let known = first.entry(label(op)).or_insert(own);
        *known = own.min(*known);
    }
    let mut groups: Vec<_> = first.into_iter().collect();
    // What belongs to no group comes last.
    groups.sort_by_key(|&(label, first)| (label.is_none(), first));
    groups.into_iter().map(|(label, _)| label).collect()
}

/// Executable ops on each device before each of its decisions; `None` if the run did not record them
/// ([`Simulator::record_choices`](placebench_harness::execute::simulate::Simulator::record_choices)), or was online.
///
/// # Complexity
/// O(decisions + devices).
pub fn executable_ops(cluster: &Cluster, timeline: &Timeline, title: String) -> Option<ExecutableOps> {
    let mut devices: Vec<(String, Vec<u32>)> =
        cluster.devices().iter().map(|device| (device.name.to_string(), Vec::new())).collect();
    for choice in timeline.choices()? {
        devices[choice.device.index()].1.push(choice.executable);
    }
    devices.retain(|(_, choices)| !choices.is_empty());
    (!devices.is_empty()).then_some(ExecutableOps { title, devices })
}

/// Sizes of the colocation groups of graphs with these names.
///
/// # Complexity
/// O(groups).
pub fn colocation_histogram(graphs: &[(String, &DataflowGraph)], title: String) -> Histogram {
    let sizes = |graph: &DataflowGraph| graph.colocation().groups().map(|(_, members)| members.len() as u64).collect();
    Histogram {
        title,
        counted: Quantity::new("colocation groups", Unit::Count),
        size: "ops in a group".into(),
        series: graphs.iter().map(|(name, graph)| (name.clone(), sizes(graph))).collect(),
    }
}
