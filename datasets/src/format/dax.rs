//! DAX, the XML of workflows that Pegasus wrote up to version 4 and SimGrid reads.
//!
//! | in the file | in the graph |
//! |---|---|
//! | a job's id | name; ids that count ID00000, ID00001, … or 0, 1, … are no names |
//! | `name`, if it is not the id | op type |
//! | `runtime` | cost in operations: a device of speed 1 is the machine of the trace |
//! | a file that the job writes | a tensor |
//! | a file that the job reads | an edge from the job that writes it |
//! | a parent whose files the job does not read | a control edge |
//!
//! Files that no job writes are input from outside: they are left out, and the report says how many.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use super::atomic::write_file;
use super::entry::{Format, GraphFile, Holds, Mark};
use super::text::{Number, counted};
use super::{Detail, FormatError, GraphHeader, compressed, xml};
use crate::{DataflowGraph, GraphBuilder, OpId, OpSpec};

/// The line of the table of formats.
pub(super) static FORMAT: Format = Format {
    name: "dax",
    mark: Mark::Extensions(&["dax"]),
    title: "DAX, of Pegasus and SimGrid",
    lacks: &[
        Detail::Title,
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

type Element<'a, 'b> = roxmltree::Node<'a, 'b>;

fn read(path: &Path) -> Result<GraphFile, FormatError> {
    let text = compressed::read_text(path)?;
    let document = xml::parse(path, &text)?;
    let root = document.root_element();
    if root.tag_name().name() != "adag" {
        let fault = xml::fault(path, root, format!("the outermost element is <{}>", root.tag_name().name()));
        return Err(fault.remedy("a DAX file has <adag>"));
    }
    let jobs: Vec<Element<'_, '_>> = children(root, "job").collect();
    let ids = jobs.iter().map(|&job| xml::required(path, job, "id")).collect::<Result<Vec<_>, _>>()?;
    let is_numbered = |form: fn(usize) -> String| ids.iter().enumerate().all(|(at, id)| *id == form(at));
    let numbered = is_numbered(unnamed) || is_numbered(|at| at.to_string());
    let mut builder = GraphBuilder::default();
    let mut ops: HashMap<&str, OpId> = HashMap::with_capacity(jobs.len());
    let mut writers: HashMap<&str, (OpId, usize)> = HashMap::new();
    for (&job, &id) in jobs.iter().zip(&ids) {
        let runtime = xml::required(path, job, "runtime")?;
        let cost = runtime.parse().ok().filter(|cost: &f64| cost.is_finite() && *cost >= 0.0);
        let cost = cost.ok_or_else(|| {
            xml::fault(path, job, format!("the runtime is '{runtime}'")).remedy("write a finite number ≥ 0")
        })?;
        let mut outputs = Vec::new();
        let written: Vec<_> = uses(job, "output").collect();
        for &file in &written {
            outputs.push(size(path, file)?);
        }
        let spec = OpSpec {
            ops: cost,
            name: (!numbered).then_some(id),
            op_type: job.attribute("name").filter(|name| *name != id),
            ..OpSpec::default()
        };
        let op = builder.add_op(spec, &outputs);
        if ops.insert(id, op).is_some() {
            return Err(
                xml::fault(path, job, format!("job '{id}' comes twice")).remedy("give every job an id of its own")
            );
        }
        for (port, &file) in written.iter().enumerate() {
            if let Some((other, _)) = writers.insert(file_name(path, file)?, (op, port)) {
                let message =
                    format!("the file '{}' is written by job '{}', too", file_name(path, file)?, ids[other.index()]);
                return Err(xml::fault(path, file, message).remedy("give every file one writer"));
            }
        }
    }
    let mut outside = 0;
    // The producers that each job reads from.
    let mut sources: Vec<Vec<OpId>> = vec![Vec::new(); jobs.len()];
    for (position, &job) in jobs.iter().enumerate() {
        let op = OpId::new(position);
        for file in uses(job, "input") {
            match writers.get(file_name(path, file)?) {
                // A job that updates a file in place.
                Some(&(source, _)) if source == op => {}
                Some(&(source, port)) => {
                    builder.add_edge(source, port, op).map_err(|error| xml::fault(path, file, error))?;
                    sources[position].push(source);
                }
                None => outside += 1,
            }
        }
    }
    let find = |element: Element<'_, '_>| {
        let id = xml::required(path, element, "ref")?;
        ops.get(id).copied().ok_or_else(|| {
            xml::fault(path, element, format!("there is no job '{id}'")).remedy("add the job, or drop the dependency")
        })
    };
    for child in children(root, "child") {
        let op = find(child)?;
        for parent in children(child, "parent") {
            let source = find(parent)?;
            if !sources[op.index()].contains(&source) {
                builder.add_control_edge(source, op).map_err(|error| xml::fault(path, parent, error))?;
                sources[op.index()].push(source);
            }
        }
    }
    let graph = builder.build().map_err(|error| FormatError::file(path, error))?;
    let report =
        (outside > 0).then(|| format!("left out: {} from files that no job writes", counted(outside, "input")));
    Ok(GraphFile { report, ..GraphFile::from(graph) })
}

/// The id of a job without a name.
fn unnamed(position: usize) -> String {
    format!("ID{position:05}")
}

fn children<'a, 'b>(of: Element<'a, 'b>, name: &'static str) -> impl Iterator<Item = Element<'a, 'b>> {
    of.children().filter(move |child| child.tag_name().name() == name)
}

/// The files that a job reads, `input`, or writes, `output`; `inout` is both.
fn uses<'a, 'b>(job: Element<'a, 'b>, link: &'static str) -> impl Iterator<Item = Element<'a, 'b>> {
    children(job, "uses").filter(move |file| file.attribute("link").is_some_and(|own| own == link || own == "inout"))
}

/// The name of a file: `file`, or `name` since DAX 3.2.
fn file_name<'a>(path: &Path, file: Element<'a, '_>) -> Result<&'a str, FormatError> {
    file.attribute("file").map_or_else(|| xml::required(path, file, "name"), Ok)
}

/// The size of a file that is written.
fn size(path: &Path, file: Element<'_, '_>) -> Result<u64, FormatError> {
    let text = xml::required(path, file, "size")?;
    text.parse().map_err(|_| xml::fault(path, file, format!("the size is '{text}'")).remedy("write whole bytes"))
}

fn write(path: &Path, header: &GraphHeader, graph: &DataflowGraph) -> Result<(), FormatError> {
    let io = |error| FormatError::io(path, error);
    let id = |op: OpId| match graph.name(op) {
        Some(name) => xml::escaped(path, name),
        None => Ok(unnamed(op.index())),
    };
    let op_type = |op: OpId| graph.op_types().and_then(|types| types.get(op.index()));
    let (jobs, name) = (graph.op_count(), xml::escaped(path, &header.name)?);
    write_file(path, |out| {
        writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>").map_err(io)?;
        writeln!(
            out,
            "<adag xmlns=\"http://pegasus.isi.edu/schema/DAX\" version=\"2.1\" count=\"1\" index=\"0\" name=\"{name}\" jobCount=\"{jobs}\">"
        )
        .map_err(io)?;
        for op in graph.op_ids() {
            let id = id(op)?;
            let name = op_type(op).map_or_else(|| Ok(id.clone()), |name| xml::escaped(path, name))?;
            let runtime = Number(graph.ops(op));
            writeln!(out, "<job id=\"{id}\" name=\"{name}\" runtime=\"{runtime}\">").map_err(io)?;
            let mut inputs: Vec<_> = Vec::new();
            for edge in graph.predecessors(op) {
                inputs.extend(edge.tensor.filter(|tensor| !inputs.contains(tensor)));
            }
            let outputs = graph.outputs(op).map(|tensor| (tensor, "output"));
            for (tensor, link) in inputs.into_iter().map(|tensor| (tensor, "input")).chain(outputs) {
                let size = graph.tensor_bytes(tensor);
                writeln!(out, "<uses file=\"tensor{tensor}\" link=\"{link}\" size=\"{size}\"/>").map_err(io)?;
            }
            writeln!(out, "</job>").map_err(io)?;
        }
        for op in graph.op_ids().filter(|&op| graph.in_degree(op) > 0) {
            writeln!(out, "<child ref=\"{}\">", id(op)?).map_err(io)?;
            let mut parents: Vec<OpId> = Vec::new();
            for &parent in graph.predecessor_ops(op) {
                if !parents.contains(&parent) {
                    parents.push(parent);
                    writeln!(out, "<parent ref=\"{}\"/>", id(parent)?).map_err(io)?;
                }
            }
            writeln!(out, "</child>").map_err(io)?;
        }
        writeln!(out, "</adag>").map_err(io)
    })
}
