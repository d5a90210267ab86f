//! From graphs and simulated runs to figures.

use placebench_datasets::{Cluster, DataflowGraph, OpId, PlacedGraph};
use placebench_harness::timeline::Timeline;

use super::executable_ops::ExecutableOps;
use super::gantt::{Gantt, GanttDevice, GanttRun, Task, TaskKind};
use super::histogram::Histogram;
use super::quantity::{Quantity, Unit};

/// What each device does when, in one run or in several with a name each. `placed` is what was executed, `time_unit` the unit
/// of its times.
///
/// # Complexity
/// O((ops + transfers) log) a run.
pub fn gantt(placed: &PlacedGraph<'_>, runs: &[(&str, &Timeline)], time_unit: &str, title: String) -> Gantt {
    let runs = runs.iter().map(|&(name, timeline)| gantt_run(placed, timeline, name.to_owned())).collect();
    Gantt { title, unit: Unit::of_time(time_unit), runs }
}

fn gantt_run(placed: &PlacedGraph<'_>, timeline: &Timeline, run: String) -> GanttRun {
    let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
    let mut tasks: Vec<Vec<Task>> = vec![Vec::new(); cluster.device_count()];
    let name = |op: OpId| graph.name(op).map_or_else(|| format!("op {op}"), ToString::to_string);
    for op in graph.op_ids() {
        let time = timeline.op(op);
        let task = Task { name: name(op), what: TaskKind::Op, start: time.start, end: time.end };
        tasks[placed.device_of(op).index()].push(task);
    }
    for (id, time) in timeline.sends() {
        let transfer = placed.transfer(id);
        let to = &cluster.device(transfer.to).name;
        let name = format!("{} to {to}", name(transfer.source));
        tasks[transfer.from.index()].push(Task { name, what: TaskKind::Send, start: time.start, end: time.end });
    }
    for (id, time) in timeline.receives() {
        let transfer = placed.transfer(id);
        let name = format!("{} from {}", name(transfer.source), cluster.device(transfer.from).name);
        tasks[transfer.to.index()].push(Task { name, what: TaskKind::Receive, start: time.start, end: time.end });
    }
    let devices = cluster.devices().iter().zip(tasks).map(|(device, mut tasks)| {
        tasks.sort_by(|a, b| a.start.total_cmp(&b.start).then(a.end.total_cmp(&b.end)));
        GanttDevice { name: device.name.to_string(), tasks }
    });
    GanttRun { name: run, makespan: timeline.makespan(), devices: devices.collect() }
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
        counted: Quantity::new("colocation groups", Unit::One),
        size: "ops in a group".into(),
        series: graphs.iter().map(|(name, graph)| (name.clone(), sizes(graph))).collect(),
    }
}
