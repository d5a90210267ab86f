//! WfFormat 1.5 and 1.6, the workflow format of WfCommons.
//!
//! | in the file | in the graph |
//! |---|---|
//! | a task's `opName`, else its id | name; ids that count 0, 1, 2, … are no names |
//! | `category`, else `command.program`, else `name` if it is not the id | op type |
//! | `runtimeInSeconds` | cost in operations: a device of speed 1 is the machine of the trace |
//! | an output file | a tensor |
//! | an input file | an edge from the task that writes it |
//! | a parent whose files the task does not read | a control edge |
//!
//! Files that no task writes are input from outside: they are left out, and the report says how many.
//!
//! Written is 1.6, the only version that WfCommons 1.6 takes. Its ids have letters, digits and `_.#:/-` only. Where a name
//! has more, all ids are numbers, and the names are in the additional field `opName`.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use serde::Deserialize;
use serde_json::Number;

use super::atomic::write_file;
use super::entry::{Format, GraphFile, Holds, Mark};
use super::json::{amount, number, quoted};
use super::text::counted;
use super::{Detail, FormatError, GraphHeader, Units, compressed, json};
use crate::{DataflowGraph, GraphBuilder, OpId, OpSpec};

/// The line of the table of formats.
pub(super) static FORMAT: Format = Format {
    name: "wfformat",
    mark: Mark::Json(&["wf.json"], &["workflow"]),
    title: "WfFormat 1.6, of WfCommons; 1.5 is read, too",
    lacks: &[
        Detail::Licence,
        Detail::Units,
        Detail::Provenance,
        Detail::KindRule,
        Detail::Layers,
        Detail::Attributes,
        Detail::Memory,
        Detail::Kinds,
        Detail::Times,
        Detail::BytesMoved,
        Detail::Colocation,
        Detail::RepeatedInputs,
    ],
    options: &[],
    holds: Holds::Graph { read: Some(|path, _| read(path)), write: Some(write) },
};

/// Instants that the format asks for. A graph has none, and the same graph gives the same bytes.
const INSTANT: &str = "1970-01-01T00:00:00+00:00";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: String,
    schema_version: String,
    workflow: Workflow,
}

#[derive(Deserialize)]
struct Workflow {
    specification: Specification,
    execution: Option<Execution>,
}

#[derive(Deserialize)]
struct Specification {
    tasks: Vec<Task>,
    #[serde(default)]
    files: Vec<DataFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    id: String,
    name: String,
    category: Option<String>,
    op_name: Option<String>,
    #[serde(default)]
    parents: Vec<String>,
    #[serde(default)]
    input_files: Vec<String>,
    #[serde(default)]
    output_files: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DataFile {
    id: String,
    size_in_bytes: u64,
}

#[derive(Deserialize)]
struct Execution {
    tasks: Vec<Executed>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Executed {
    id: String,
    runtime_in_seconds: Number,
    category: Option<String>,
    command: Option<Command>,
}

#[derive(Deserialize)]
struct Command {
    program: Option<String>,
}

fn read(path: &Path) -> Result<GraphFile, FormatError> {
    let file: File = json::parse(path, &compressed::read_text(path)?)?;
    let fault = |task: &str, message: String| FormatError::item(path, format!("task '{task}'"), message);
    if !["1.5", "1.6"].contains(&file.schema_version.as_str()) {
        let message = format!("the version of the schema is '{}'", file.schema_version);
        return Err(FormatError::item(path, "schemaVersion", message).remedy("convert it to 1.6 with WfCommons"));
    }
    let Workflow { specification: Specification { tasks, files }, execution } = file.workflow;
    let sizes: HashMap<&str, u64> = files.iter().map(|file| (file.id.as_str(), file.size_in_bytes)).collect();
    let executed = execution.map(|execution| execution.tasks).unwrap_or_default();
    let executed: HashMap<&str, &Executed> = executed.iter().map(|task| (task.id.as_str(), task)).collect();
    let numbered = tasks.iter().enumerate().all(|(position, task)| task.id == position.to_string());
    let mut builder = GraphBuilder::default();
    let mut ops: HashMap<&str, OpId> = HashMap::with_capacity(tasks.len());
    let mut writers: HashMap<&str, (OpId, usize)> = HashMap::new();
    for task in &tasks {
        let run = executed
            .get(task.id.as_str())
            .ok_or_else(|| fault(&task.id, "has no runtime".into()).remedy("add it to workflow.execution.tasks"))?;
        let cost = amount(&run.runtime_in_seconds);
        let program = run.command.as_ref().and_then(|command| command.program.as_deref());
        let category = run.category.as_deref().or(task.category.as_deref()).or(program);
        let outputs = task.output_files.iter().map(|file| {
            sizes.get(file.as_str()).copied().ok_or_else(|| {
                fault(&task.id, format!("writes the file '{file}', which has no size"))
                    .remedy("add it to workflow.specification.files")
            })
        });
        let spec = OpSpec {
            ops: cost.map_err(|message| fault(&task.id, format!("its runtimeInSeconds {message}")))?,
            name: task.op_name.as_deref().or((!numbered).then_some(task.id.as_str())),
            op_type: category.or((task.name != task.id).then_some(task.name.as_str())),
            ..OpSpec::default()
        };
        let op = builder.add_op(spec, &outputs.collect::<Result<Vec<_>, _>>()?);
        if ops.insert(&task.id, op).is_some() {
            return Err(fault(&task.id, "comes twice".into()).remedy("give every task an id of its own"));
        }
        for (port, file) in task.output_files.iter().enumerate() {
            if let Some((other, _)) = writers.insert(file, (op, port)) {
                let message = format!("writes the file '{file}', as task '{}' does", tasks[other.index()].id);
                return Err(fault(&task.id, message).remedy("give every file one writer"));
            }
        }
    }
    let mut outside = 0;
    for task in &tasks {
        let op = ops[task.id.as_str()];
        let mut sources = Vec::new();
        for file in &task.input_files {
            match writers.get(file.as_str()) {
                // A task that updates a file in place.
                Some(&(source, _)) if source == op => {}
                Some(&(source, port)) => {
                    builder.add_edge(source, port, op).map_err(|error| fault(&task.id, error.to_string()))?;
                    sources.push(source);
                }
                None => outside += 1,
            }
        }
        for parent in &task.parents {
            let Some(&source) = ops.get(parent.as_str()) else {
                let message = format!("its parent '{parent}' does not exist");
                return Err(fault(&task.id, message).remedy("add the task, or drop the parent"));
            };
            if !sources.contains(&source) {
                builder.add_control_edge(source, op).map_err(|error| fault(&task.id, error.to_string()))?;
                sources.push(source);
            }
        }
    }
    let graph = builder.build().map_err(|error| FormatError::file(path, error))?;
    let header = GraphHeader {
        name: file.name,
        title: file.description,
        // What our own files mean, and the same number on a device of speed 1.
        units: Units::default(),
        ..GraphHeader::default()
    };
    let inputs = counted(outside, "input");
    let report = (outside > 0).then(|| format!("left out: {inputs} from files that no task writes"));
    Ok(GraphFile { header, graph, report })
}

fn write(path: &Path, header: &GraphHeader, graph: &DataflowGraph) -> Result<(), FormatError> {
    let io = |error| FormatError::io(path, error);
    let names_are_ids = graph.op_ids().all(|op| graph.name(op).is_none_or(is_id));
    let id = |op: OpId| match graph.name(op).filter(|_| names_are_ids) {
        Some(name) => quoted(name),
        None => quoted(&op.to_string()),
    };
    let file = |tensor: crate::TensorId| format!("\"tensor{tensor}\"");
    let list = |items: Vec<String>| format!("[{}]", items.join(", "));
    let op_type = |op: OpId| graph.op_types().and_then(|types| types.get(op.index()));
    let description = match header.title.as_str() {
        "" => String::new(),
        title => format!("\"description\": {}, ", quoted(title)),
    };
    write_file(path, |out| {
        writeln!(
            out,
            "{{\"name\": {}, {description}\"createdAt\": \"{INSTANT}\", \"schemaVersion\": \"1.6\",\n\"workflow\": {{\"specification\": {{\"tasks\": [",
            // Neither may be empty.
            quoted(if header.name.is_empty() { "graph" } else { &header.name }),
        )
        .map_err(io)?;
        for op in graph.op_ids() {
            let mut parents: Vec<OpId> = Vec::new();
            let mut inputs = Vec::new();
            for edge in graph.predecessors(op) {
                if !parents.contains(&edge.op) {
                    parents.push(edge.op);
                }
                if let Some(name) = edge.tensor.map(file).filter(|name| !inputs.contains(name)) {
                    inputs.push(name);
                }
            }
            let mut children: Vec<OpId> = graph.successor_ops(op).to_vec();
            children.sort_unstable();
            children.dedup();
            let comma = if op.index() + 1 == graph.op_count() { "" } else { "," };
            let name = match graph.name(op).filter(|_| !names_are_ids) {
                Some(name) => format!(", \"opName\": {}", quoted(name)),
                None => String::new(),
            };
            writeln!(
                out,
                "{{\"name\": {}, \"id\": {}{name}, \"parents\": {}, \"children\": {}, \"inputFiles\": {}, \"outputFiles\": {}}}{comma}",
                op_type(op).map_or_else(|| id(op), quoted),
                id(op),
                list(parents.into_iter().map(id).collect()),
                list(children.into_iter().map(id).collect()),
                list(inputs),
                list(graph.outputs(op).map(file).collect())
            )
            .map_err(io)?;
        }
        writeln!(out, "],\n\"files\": [").map_err(io)?;
        for op in graph.op_ids() {
            for tensor in graph.outputs(op) {
                let comma = if tensor.index() + 1 == graph.tensor_count() { "" } else { "," };
                let bytes = graph.tensor_bytes(tensor);
                writeln!(out, "{{\"id\": {}, \"sizeInBytes\": {bytes}}}{comma}", file(tensor)).map_err(io)?;
            }
        }
        let span: f64 = graph.op_ids().map(|op| graph.ops(op)).sum();
        let span = if span.is_finite() { span } else { f64::MAX };
        writeln!(
            out,
            "]}},\n\"execution\": {{\"makespanInSeconds\": {}, \"executedAt\": \"{INSTANT}\", \"tasks\": [",
            number(span)
        )
        .map_err(io)?;
        for op in graph.op_ids() {
            let comma = if op.index() + 1 == graph.op_count() { "" } else { "," };
            let command = op_type(op).map_or_else(String::new, |program| {
                format!(", \"command\": {{\"program\": {}, \"arguments\": []}}", quoted(program))
            });
            let cost = number(graph.ops(op));
            writeln!(out, "{{\"id\": {}, \"runtimeInSeconds\": {cost}{command}}}{comma}", id(op)).map_err(io)?;
        }
        writeln!(out, "]}}}}}}").map_err(io)
    })
}

/// Whether a text may be the id of a task.
fn is_id(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.#:/-".contains(c))
}
