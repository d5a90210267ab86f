//! STG, the Standard Task Graph Set of Tobita and Kasahara: times and precedence, without communication.
//!
//! The first number of a file is the number of tasks. A line for each task follows: its number, its time, the number of its
//! predecessors, and these. The set brackets its graphs with two dummy tasks of time 0, the first and the last, which are
//! not counted: the reader leaves them out, the writer adds them. Lines that begin with `#` are comments.

use std::io::Write;
use std::path::Path;

use super::atomic::write_file;
use super::entry::{Format, GraphFile, Holds, Mark};
use super::text::Number;
use super::undirected::lines::{Line, Lines};
use super::{Detail, FormatError};
use crate::{DataflowGraph, GraphBuilder, OpId, OpSpec};

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
        Detail::Memory,
        Detail::Kinds,
        Detail::Times,
        Detail::BytesMoved,
        Detail::Colocation,
        Detail::Tensors,
        Detail::RepeatedInputs,
    ],
    options: &[],
    holds: Holds::Graph {
        read: Some(|path, _| Ok(GraphFile::from(read(path)?))),
        write: Some(|path, _, graph| write(path, graph)),
    },
};

fn read(path: &Path) -> Result<DataflowGraph, FormatError> {
    let mut lines = Lines::open(path)?;
    let Some(first) = lines.next_content(b"#")? else {
        return Err(FormatError::file(path, "is empty").remedy("begin with the number of tasks"));
    };
    let count = first.whole(first.words().next().unwrap_or(b""), "the number of tasks")?;
    // (time, line, predecessors) of each task, dummies included.
    let mut tasks: Vec<(f64, u64, Vec<u32>)> = Vec::new();
    while let Some(line) = lines.next_content(b"#")? {
        if tasks.len() as u64 == count.saturating_add(2) {
            let fault = line.fault(format!("is one line more than {count} tasks and two dummies"));
            return Err(fault.remedy("correct the number of tasks in the first line"));
        }
        tasks.push(parse(&line, tasks.len() as u64)?);
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
    if let Some(position) = (0..tasks.len()).find(|&position| is_dummy(position) && tasks[position].0 != 0.0) {
        let fault =
            FormatError::at_line(path, tasks[position].1, format!("the dummy task has time {}", tasks[position].0));
        return Err(fault.remedy("the first and the last task of a file take no time"));
    }
    let mut builder = GraphBuilder::default();
    for position in (0..tasks.len()).filter(|&position| !is_dummy(position)) {
        builder.add_op(OpSpec::cost(tasks[position].0), &[]);
    }
    let op = |position: usize| OpId::new(position - usize::from(with_dummies));
    for (position, (_, line, predecessors)) in tasks.iter().enumerate().filter(|&(position, _)| !is_dummy(position)) {
        for &predecessor in predecessors.iter().filter(|&&predecessor| !is_dummy(predecessor as usize)) {
            if predecessor as usize >= tasks.len() {
                let fault = FormatError::at_line(path, *line, format!("there is no task {predecessor}"));
                return Err(fault.remedy(format!("tasks are numbered from 0 to {}", tasks.len() - 1)));
            }
            let added = builder.add_control_edge(op(predecessor as usize), op(position));
            added.map_err(|error| FormatError::at_line(path, *line, error))?;
        }
    }
    builder.build().map_err(|error| FormatError::file(path, error))
}

fn parse(line: &Line<'_>, due: u64) -> Result<(f64, u64, Vec<u32>), FormatError> {
    let mut words = line.words();
    let mut next = |what: &str| {
        words.next().ok_or_else(|| {
            line.fault(format!("{what} is missing")).remedy("write: task, time, number of predecessors, predecessors")
        })
    };
    let id = line.whole(next("the task")?, "the task")?;
    if id != due {
        return Err(line.fault(format!("the task is {id} where {due} is due")).remedy("number the tasks 0, 1, 2, …"));
    }
    let text = String::from_utf8_lossy(next("the time")?);
    let time = text.parse::<f64>().ok().filter(|time| time.is_finite() && *time >= 0.0);
    let time = time.ok_or_else(|| line.fault(format!("the time is '{text}'")).remedy("write a finite number ≥ 0"))?;
    let count = line.whole(next("the number of predecessors")?, "the number of predecessors")?;
    let rest = words.map(|word| match line.whole(word, "a predecessor") {
        Ok(id) => u32::try_from(id).map_err(|_| line.fault(format!("there is no task {id}")).remedy("correct it")),
        Err(error) => Err(error),
    });
    let predecessors = rest.collect::<Result<Vec<_>, _>>()?;
    if predecessors.len() as u64 != count {
        let message = format!("promises {count} predecessors, but has {}", predecessors.len());
        return Err(line.fault(message).remedy("correct the third number"));
    }
    Ok((time, line.number, predecessors))
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
