//! STG, the Standard Task Graph Set of Tobita and Kasahara: times and precedence, without communication.
//!
//! The first number of a file is the number of tasks. A line for each task follows: its number, its time, the number of its
//! predecessors, and these. The set brackets its graphs with two dummy tasks of time 0, the first and the last, which are
//! not counted: the reader leaves them out, the writer adds them. Lines that begin with `#` are comments.
//!
//! With unrelated processors, their number follows the number of tasks in the first line, and each task has a time for each.
//! Where the first task has one time all the same, each has one, and the number of processors is not read.

use std::io::Write;
use std::path::Path;

use super::atomic::write_file;
use super::entry::{Format, GraphFile, Holds, Mark};
use super::etc::mean;
use super::text::Number;
use super::undirected::lines::{Line, Lines};
use super::{Detail, FormatError};
use crate::{DataflowGraph, GraphBuilder, OpId, OpSpec, processor_class};

/// The line of the table of formats.
pub(super) static FORMAT: Format = Format {
    name: "stg",
    mark: Mark::Extensions(&["stg"]),
    title: "STG, of the Standard Task Graph Set",
    lacks: &[
        Detail::Title,
        Detail::Licence,
        Detail::Units,
        Detail::Provenance,
        Detail::KindRule,
        Detail::Names,
        Detail::Types,
        Detail::Layers,
        Detail::Attributes,
        Detail::Memory,
        Detail::Kinds,
        Detail::Times,
        Detail::BytesMoved,
        Detail::Colocation,
        Detail::Tensors,
        Detail::RepeatedInputs,
    ],
    options: &[],
    holds: Holds::Graph { read: Some(|path, _| read(path)), write: Some(|path, _, graph| write(path, graph)) },
};

fn read(path: &Path) -> Result<GraphFile, FormatError> {
    let mut lines = Lines::open(path)?;
    let Some(first) = lines.next_content(b"#")? else {
        return Err(FormatError::file(path, "is empty").remedy("begin with the number of tasks"));
    };
    let mut words = first.words();
    let count = first.whole(words.next().unwrap_or(b""), "the number of tasks")?;
    let processors = words.next().map(|word| first.whole(word, "the number of processors")).transpose()?;
    if let Some(more) = words.next() {
        let fault = first.fault(format!("has '{}' after the number of processors", String::from_utf8_lossy(more)));
        return Err(fault.remedy("write the number of tasks, and with a time for each processor their number"));
    }
    drop(words);
    if processors == Some(0) {
        return Err(first.fault("has 0 processors").remedy("write how many times each task has"));
    }
    let mut width = processors.unwrap_or(1);
    let mut tasks: Vec<Task> = Vec::new();
    while let Some(line) = lines.next_content(b"#")? {
        if tasks.len() as u64 == count.saturating_add(2) {
            let fault = line.fault(format!("is one line more than {count} tasks and two dummies"));
            return Err(fault.remedy("correct the number of tasks in the first line"));
        }
        if tasks.is_empty() && line.words().count() == 3 {
            width = 1;
        }
        tasks.push(Task::parse(&line, tasks.len() as u64, width)?);
    }
    let ends_early = |message: String| {
        FormatError::at_line(path, lines.number(), message).remedy("correct the number of tasks in the first line")
    };
    // Without the dummies, as some tools write it, the count is the number of lines.
    let with_dummies = tasks.len() as u64 == count.saturating_add(2);
    if !with_dummies && tasks.len() as u64 != count {
        return Err(ends_early(format!("has {} tasks, but the first line promises {count}", tasks.len())));
    }
    let is_dummy = |position: usize| with_dummies && (position == 0 || position + 1 == tasks.len());
    let takes_time = |task: &Task| task.times.iter().find(|&&time| time != 0.0).copied();
    let dummies = tasks.iter().enumerate().filter(|&(position, _)| is_dummy(position));
    if let Some((line, time)) = dummies.filter_map(|(_, task)| Some((task.line, takes_time(task)?))).next() {
        let fault = FormatError::at_line(path, line, format!("the dummy task has time {time}"));
        return Err(fault.remedy("the first and the last task of a file take no time"));
    }
    let mut builder = GraphBuilder::default();
    let classes: Vec<String> = match processors {
        Some(processors) if width == processors => (0..width as usize).map(processor_class).collect(),
        _ => Vec::new(),
    };
    for position in (0..tasks.len()).filter(|&position| !is_dummy(position)) {
        let times = &tasks[position].times;
        let by_class: Vec<(&str, f64)> = classes.iter().map(String::as_str).zip(times.iter().copied()).collect();
        builder.add_op(OpSpec { times: &by_class, ..OpSpec::cost(mean(times)) }, &[]);
    }
    let op = |position: usize| OpId::new(position - usize::from(with_dummies));
    for (position, Task { line, predecessors, .. }) in
        tasks.iter().enumerate().filter(|&(position, _)| !is_dummy(position))
    {
        for &predecessor in predecessors.iter().filter(|&&predecessor| !is_dummy(predecessor as usize)) {
            if predecessor as usize >= tasks.len() {
                let fault = FormatError::at_line(path, *line, format!("there is no task {predecessor}"));
                return Err(fault.remedy(format!("tasks are numbered from 0 to {}", tasks.len() - 1)));
            }
            let added = builder.add_control_edge(op(predecessor as usize), op(position));
            added.map_err(|error| FormatError::at_line(path, *line, error))?;
        }
    }
    let graph = builder.build().map_err(|error| FormatError::file(path, error))?;
    let unread = processors.filter(|&processors| processors != width);
    let report = unread.map(|processors| {
        format!("each task has one time: the {processors} processors of the first line are not read")
    });
    Ok(GraphFile { report, ..GraphFile::from(graph) })
}

/// A line of a file.
struct Task {
    /// One, or one for each processor.
    times: Vec<f64>,
    predecessors: Vec<u32>,
    line: u64,
}

impl Task {
    fn parse(line: &Line<'_>, due: u64, width: u64) -> Result<Self, FormatError> {
        let mut words = line.words();
        let mut next = |what: &str| {
            let times = if width == 1 { "time".to_owned() } else { format!("{width} times") };
            words.next().ok_or_else(|| {
                let remedy = format!("write: task, {times}, number of predecessors, predecessors");
                line.fault(format!("{what} is missing")).remedy(remedy)
            })
        };
        let id = line.whole(next("the task")?, "the task")?;
        if id != due {
            return Err(line
                .fault(format!("the task is {id} where {due} is due"))
                .remedy("number the tasks 0, 1, 2, …"));
        }
        let mut times = Vec::new();
        for _ in 0..width {
            let text = String::from_utf8_lossy(next("the time")?);
            let time = text.parse::<f64>().ok().filter(|time| time.is_finite() && *time >= 0.0);
            let fault = || line.fault(format!("the time is '{text}'")).remedy("write a finite number ≥ 0");
            times.push(time.ok_or_else(fault)?);
        }
        let count = line.whole(next("the number of predecessors")?, "the number of predecessors")?;
        let rest = words.map(|word| match line.whole(word, "a predecessor") {
            Ok(id) => u32::try_from(id).map_err(|_| line.fault(format!("there is no task {id}")).remedy("correct it")),
            Err(error) => Err(error),
        });
        let predecessors = rest.collect::<Result<Vec<_>, _>>()?;
        if predecessors.len() as u64 != count {
            let message = format!("promises {count} predecessors, but has {}", predecessors.len());
            let remedy = match width {
                1 => "correct the third number".to_owned(),
                _ => format!("correct the number after the {width} times"),
            };
            return Err(line.fault(message).remedy(remedy));
        }
        Ok(Self { times, predecessors, line: line.number })
    }
}

fn write(path: &Path, graph: &DataflowGraph) -> Result<(), FormatError> {
    let io = |error| FormatError::io(path, error);
    let count = graph.op_count();
    write_file(path, |out| {
        writeln!(out, "{count}\n0 0 0").map_err(io)?;
        for op in graph.op_ids() {
            let mut predecessors: Vec<u32> = Vec::new();
            for source in graph.predecessor_ops(op) {
                if !predecessors.contains(&(source.0 + 1)) {
                    predecessors.push(source.0 + 1);
                }
            }
            if predecessors.is_empty() {
                predecessors.push(0);
            }
            write!(out, "{} {} {}", op.0 + 1, Number(graph.ops(op)), predecessors.len()).map_err(io)?;
            for predecessor in predecessors {
                write!(out, " {predecessor}").map_err(io)?;
            }
            writeln!(out).map_err(io)?;
        }
        let last = graph.op_ids().filter(|&op| graph.out_degree(op) == 0);
        let last: Vec<_> = last.map(|op| (op.0 + 1).to_string()).collect();
        writeln!(out, "{} 0 {} {}", count + 1, last.len(), last.join(" ")).map_err(io)
    })
}
