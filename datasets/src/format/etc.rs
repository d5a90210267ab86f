//! Tasks with a matrix of expected times to compute (ETC), task by processor, and edges with the time of their transfer.
//!
//! ```text
//! #critical
//! 0.0
//! #tasks
//! 0: 14, 16, 9
//! 1: 13, 19, 18
//! #edges
//! 0: 0, 1, 18
//! ```
//!
//! Each line has its number, counted from 0. A task's line has its time on each processor, an edge's its source, its target and
//! what a transfer between two processors takes. The number after `#critical` is the authors' own and is not read.
//!
//! The same file is read as a graph and as a cluster. Sizes here are whole bytes: a file with a broken transfer time counts in
//! millions of bytes, in graph and cluster alike, so that times stay what they are, up to the rounding of a millionth.
//!
//! Source: A. Santiago et al.: GRASP and iterated local search-based cellular processing algorithm for precedence-constraint
//! task list scheduling on heterogeneous systems. Applied Sciences 10(21), 2020, 7500; `SchedulingInstances` on GitHub.

use std::path::Path;

use super::entry::{Format, GraphFile, Holds, Mark};
use super::undirected::lines::{Line, Lines};
use super::{FormatError, GraphHeader};
use crate::{Cluster, GraphBuilder, Link, OpId, OpSpec, processor_class};

/// The line of the table of formats for graphs.
pub(super) static GRAPH: Format = Format {
    name: "etc",
    mark: Mark::Extensions(&["dag"]),
    title: "tasks with a time on each processor (ETC), and edges",
    lacks: &[],
    options: &[],
    holds: Holds::Graph { read: Some(|path, _| read(path)), write: None },
};

/// The line of the table of formats for clusters.
pub(super) static CLUSTER: Format = Format {
    name: "etc_processors",
    mark: Mark::Extensions(&["dag"]),
    title: "the processors of a file of tasks with a time on each",
    lacks: &[],
    options: &[],
    holds: Holds::Cluster { read: read_cluster, write: None },
};

/// Bytes of one unit of size in a file with broken transfer times.
const MILLION: f64 = 1e6;

/// What a file says.
struct File {
    /// A row for each task, all of one length.
    times: Vec<Vec<f64>>,
    /// Source, target and transfer time of each edge, and the line where it stands.
    edges: Vec<(usize, usize, f64, u64)>,
}

impl File {
    fn parse(path: &Path) -> Result<Self, FormatError> {
        let mut lines = Lines::open(path)?;
        let mut file = Self { times: Vec::new(), edges: Vec::new() };
        let mut part = Part::Before;
        while let Some(line) = lines.next_content(b"")? {
            match (&part, line.text) {
                (_, b"#critical") => part = Part::Before,
                (_, b"#tasks") => part = Part::Tasks,
                (_, b"#edges") => part = Part::Edges,
                (_, [b'#', ..]) => {
                    let fault = line.fault(format!("has '{}'", String::from_utf8_lossy(line.text)));
                    return Err(fault.remedy("the parts of a file are #critical, #tasks and #edges"));
                }
                (Part::Before, _) => {}
                (Part::Tasks, _) => {
                    let times = numbers(&line, file.times.len())?;
                    let width = file.times.first().map_or(times.len(), Vec::len);
                    if times.len() != width || width == 0 {
                        let fault = line.fault(format!("has {} times where {} are due", times.len(), width.max(1)));
                        return Err(fault.remedy("give each task one time for each processor"));
                    }
                    file.times.push(times);
                }
                (Part::Edges, _) => {
                    let numbers = numbers(&line, file.edges.len())?;
                    let task = |number: f64| {
                        (number.fract() == 0.0 && number < file.times.len() as f64).then_some(number as usize)
                    };
                    match numbers[..] {
                        [source, target, time] => match (task(source), task(target)) {
                            (Some(source), Some(target)) => file.edges.push((source, target, time, line.number)),
                            (found, _) => {
                                let missing = if found.is_none() { source } else { target };
                                let fault = line.fault(format!("there is no task {missing}"));
                                return Err(
                                    fault.remedy("an edge joins two tasks of the part #tasks, which comes first")
                                );
                            }
                        },
                        _ => {
                            let fault = line.fault(format!("has {} numbers after the colon", numbers.len()));
                            return Err(fault.remedy("write: number: source, target, transfer time"));
                        }
                    }
                }
            }
        }
        if file.times.is_empty() {
            let fault = FormatError::file(path, "has no tasks");
            return Err(fault.remedy("add a line '#tasks', and a line for each task: number: time, time, …"));
        }
        Ok(file)
    }

    /// Bytes for a transfer time of 1, and bytes that processors exchange in a time unit.
    fn scale(&self) -> f64 {
        let is_whole = |&(_, _, time, _): &(usize, usize, f64, u64)| time.fract() == 0.0 && time < 9e15;
        if self.edges.iter().all(is_whole) { 1.0 } else { MILLION }
    }
}

/// Where in a file a line stands.
enum Part {
    /// Before the tasks: the line says nothing that is read.
    Before,
    Tasks,
    Edges,
}

/// The numbers after `due:`, all finite and ≥ 0.
fn numbers(line: &Line<'_>, due: usize) -> Result<Vec<f64>, FormatError> {
    let text = String::from_utf8_lossy(line.text);
    let Some((number, rest)) = text.split_once(':') else {
        return Err(line.fault("has no colon").remedy("write: number: number, number, …"));
    };
    if number.trim().parse() != Ok(due) {
        return Err(line
            .fault(format!("is number {} where {due} is due", number.trim()))
            .remedy("count from 0: 0, 1, 2, …"));
    }
    let number = |text: &str| {
        let value = text.trim().parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        value.ok_or_else(|| line.fault(format!("has '{}'", text.trim())).remedy("write a finite number ≥ 0"))
    };
    rest.split(',').map(number).collect()
}

fn read(path: &Path) -> Result<GraphFile, FormatError> {
    let file = File::parse(path)?;
    let scale = file.scale();
    let classes: Vec<String> = (0..file.times[0].len()).map(processor_class).collect();
    let mut sizes: Vec<Vec<u64>> = vec![Vec::new(); file.times.len()];
    let mut ports = Vec::with_capacity(file.edges.len());
    for &(source, _, time, _) in &file.edges {
        ports.push(sizes[source].len());
        sizes[source].push((time * scale).round() as u64);
    }
    let mut builder = GraphBuilder::default();
    for (times, sizes) in file.times.iter().zip(&sizes) {
        let named: Vec<(&str, f64)> = classes.iter().map(String::as_str).zip(times.iter().copied()).collect();
        builder.add_op(OpSpec { times: &named, ..OpSpec::cost(mean(times)) }, sizes);
    }
    for (&(source, target, _, line), port) in file.edges.iter().zip(ports) {
        let added = builder.add_edge(OpId::new(source), port, OpId::new(target));
        added.map_err(|error| FormatError::at_line(path, line, error))?;
    }
    let graph = builder.build().map_err(|error| FormatError::file(path, error))?;
    let report = (scale != 1.0).then(|| {
        "transfer times are broken numbers: 1 is read as 1,000,000 bytes, as in the cluster of the same file".to_owned()
    });
    Ok(GraphFile { header: GraphHeader::default(), graph, report })
}

/// The cost of a task that has a time on each processor: the mean, which counts where no time is given.
pub(super) fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len() as f64
}

fn read_cluster(path: &Path) -> Result<Cluster, FormatError> {
    let file = File::parse(path)?;
    let link = Link { rate: file.scale(), latency: 0.0 };
    Cluster::unrelated(file.times[0].len(), link).map_err(|error| FormatError::file(path, error))
}
