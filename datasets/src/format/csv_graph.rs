//! Graphs as CSV, one row an op, after L §3.1.1: for people, spreadsheets and scripts.
//!
//! ```text
//! id,inputs,colocated,tensor_bytes,ops,memory_bytes,kinds,name,type,layer,cpu_seconds,h100_seconds
//! 0,,,8;16,30,0,ALL,split,Split,,,
//! 1,0:1;0,,4,50,64,GPU,w,MatMul,encoder,,0.002
//! 2,1;^0,1,,10,0,CPU|GPU,sum,Add,encoder,,
//! ```
//!
//! | column | content |
//! |---|---|
//! | `id` | 0, 1, 2, … in the order of rows |
//! | `inputs` | what the op reads, in order, separated by `;`: `5` or `5:0` the first output of op 5, `5:2` its third, `^5` nothing (a control edge) |
//! | `colocated` | ops that must be on the same device, separated by `;`; closed transitively |
//! | `tensor_bytes` | size of each output port, separated by `;` |
//! | `ops` | cost in operations |
//! | `memory_bytes` | resident memory (L: RAM demand); 0 if left out |
//! | `kinds` | device constraint: `ALL`, `CPU`, `GPU`, `TPU`, or several joined by `\|`; `ALL` if left out |
//! | `name`, `type`, `layer` | text; a name for every op or for none |
//! | `attributes` | text: ops of one type with the same text compute the same function of their inputs |
//! | `bytes_moved` | bytes that the op reads from and writes to its device's memory; for every op or for none |
//! | `cpu_seconds`, `h100_seconds`, … | measured times, which replace `ops` on devices of that class |
//!
//! Columns come in any order; all but the first five may be left out. Where L's files list outgoing edges too, these
//! follow from the incoming ones here.

use std::borrow::Cow;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use csv::StringRecord;

use super::atomic::write_file;
use super::csv_rows::{CsvRow, CsvRows, csv_error};
use super::entry::{Format, GraphFile, Holds, Mark};
use super::text::{Number, counted};
use super::{Detail, FormatError, compressed};
use crate::measured_times::class_of_column;
use crate::{Categories, DataflowGraph, GraphBuilder, GraphError, KindSet, OpId, OpSpec};

/// The line of the table of formats.
pub(super) static FORMAT: Format = Format {
    name: "csv",
    mark: Mark::Extensions(&["csv"]),
    title: "a row for each op",
    lacks: &[Detail::Title, Detail::Licence, Detail::Units, Detail::Provenance, Detail::KindRule],
    options: &[],
    holds: Holds::Graph {
        read: Some(|path, _| Ok(GraphFile::from(read_csv(path)?))),
        write: Some(|path, _, graph| write_csv(path, graph)),
    },
};

const COLUMNS: [&str; 12] = [
    "id",
    "inputs",
    "colocated",
    "tensor_bytes",
    "ops",
    "memory_bytes",
    "kinds",
    "name",
    "type",
    "layer",
    "attributes",
    "bytes_moved",
];

/// How many of [`COLUMNS`] must be there.
const REQUIRED: usize = 5;

/// Reads a graph from CSV; the columns are described [here](self).
///
/// # Errors
/// The first line that is wrong; all that [`GraphBuilder::build`] refuses, with the line of the op where there is one.
///
/// # Complexity
/// O(bytes); the edges twice in memory for a while.
pub fn read_csv(path: impl AsRef<Path>) -> Result<DataflowGraph, FormatError> {
    let path = path.as_ref();
    parse_csv(path, BufReader::new(compressed::open(path)?))
}

/// Reads a graph from CSV text; `path` stands for the file in messages.
///
/// # Errors
/// As [`read_csv`].
pub fn parse_csv(path: impl AsRef<Path>, text: impl Read) -> Result<DataflowGraph, FormatError> {
    let path = path.as_ref();
    let mut rows = CsvRows::open(path, text, &COLUMNS, REQUIRED, |name| class_of_column(name).is_some())?;
    let header = rows.header().to_vec();
    let timed: Vec<(&str, &str)> =
        header.iter().filter_map(|column| Some((class_of_column(column)?, column.as_str()))).collect();
    let mut times = Vec::with_capacity(timed.len());
    let mut builder = GraphBuilder::default();
    let mut links = Links::default();
    let mut lines = Vec::new();
    let mut record = StringRecord::new();
    while let Some(row) = rows.next(&mut record)? {
        let op = lines.len();
        row.check_id(op)?;
        lines.push(row.line as u32);
        let outputs: Vec<u64> =
            row.list("tensor_bytes").map(|size| row.parse("tensor_bytes", size)).collect::<Result<_, _>>()?;
        times.clear();
        for &(class, column) in &timed {
            times.extend(row.value(column)?.map(|time| (class, time)));
        }
        let spec = OpSpec {
            ops: row.required("ops", "a number")?,
            memory_bytes: row.value("memory_bytes")?.unwrap_or(0),
            kinds: row.value("kinds")?.unwrap_or(KindSet::ALL),
            bytes_moved: row.value("bytes_moved")?,
            times: &times,
            name: row.text("name"),
            op_type: row.text("type"),
            layer: row.text("layer"),
            attributes: row.text("attributes"),
        };
        let op = builder.add_op(spec, &outputs);
        links.read(&row, op)?;
    }
    let fault = |op: OpId, message: String| match lines.get(op.index()) {
        Some(&line) => FormatError::at_line(path, line.into(), message),
        None => FormatError::file(path, message),
    };
    if lines.is_empty() {
        return Err(FormatError::at_line(path, 1, "no row follows the header").remedy("add a row for each op"));
    }
    links.add_to(&mut builder).map_err(|(op, message)| fault(op, message))?;
    builder.build().map_err(|error| match error.op() {
        Some(op) => fault(op, error.to_string()),
        None => FormatError::file(path, error),
    })
}

/// Edges and colocations, which may name ops of later rows.
#[derive(Default)]
struct Links {
    /// Source, port (none: a control edge) and target.
    edges: Vec<(OpId, Option<u32>, OpId)>,
    colocated: Vec<(OpId, OpId)>,
}

impl Links {
    fn read(&mut self, row: &CsvRow<'_>, op: OpId) -> Result<(), FormatError> {
        for input in row.list("inputs") {
            let (source, port) = match (input.strip_prefix('^'), input.split_once(':')) {
                (Some(source), _) => (source, None),
                (None, Some((source, port))) => (source, Some(row.parse("inputs", port.trim())?)),
                (None, None) => (input, Some(0)),
            };
            self.edges.push((OpId(row.parse("inputs", source.trim())?), port, op));
        }
        for other in row.list("colocated") {
            self.colocated.push((op, OpId(row.parse("colocated", other)?)));
        }
        Ok(())
    }

    /// Adds all to a builder that has all ops; an error comes with the op whose row is wrong.
    fn add_to(self, builder: &mut GraphBuilder) -> Result<(), (OpId, String)> {
        let count = builder.op_count();
        let unknown = |op: OpId, verb: &str, other: OpId| {
            (op, format!("op {op} {verb} op {other}, but the graph has {}", counted(count as u64, "op")))
        };
        for (source, port, target) in self.edges {
            let added = match port {
                Some(port) => builder.add_edge(source, port as usize, target),
                None => builder.add_control_edge(source, target),
            };
            added.map_err(|error| match error {
                GraphError::UnknownOp { .. } => unknown(target, "reads", source),
                other => (target, other.to_string()),
            })?;
        }
        for (op, other) in self.colocated {
            builder.colocate(op, other).map_err(|_| unknown(op, "is colocated with", other))?;
        }
        Ok(())
    }
}

/// Writes a graph as CSV; columns that would be empty are left out.
///
/// # Errors
/// If the file cannot be written, or a type, layer or attributes are the empty text, which in CSV looks like none.
///
/// # Complexity
/// O(ops + edges).
pub fn write_csv(path: impl AsRef<Path>, graph: &DataflowGraph) -> Result<(), FormatError> {
    let path = path.as_ref();
    for (column, labels) in [("type", graph.op_types()), ("layer", graph.layers()), ("attributes", graph.attributes())]
    {
        if labels.is_some_and(|labels| labels.labels().iter().any(String::is_empty)) {
            let message = format!("an op has the empty text as its {column}, which CSV cannot tell from none");
            return Err(FormatError::file(path, message).remedy("write a graph folder instead"));
        }
    }
    write_file(path, |out| write_rows(out, graph).map_err(|error| csv_error(path, error)))
}

/// Those of [`COLUMNS`] that a graph needs, and its measured times.
fn columns(graph: &DataflowGraph) -> Vec<Cow<'static, str>> {
    let needed = |column: &str| match column {
        "name" => graph.has_names(),
        "type" => graph.op_types().is_some(),
        "layer" => graph.layers().is_some(),
        "attributes" => graph.attributes().is_some(),
        "bytes_moved" => graph.has_bytes_moved(),
        _ => true,
    };
    let seconds = graph.measured_times().iter().map(|times| Cow::Owned(times.column()));
    COLUMNS.into_iter().filter(|column| needed(column)).map(Cow::Borrowed).chain(seconds).collect()
}

fn write_rows(out: impl Write, graph: &DataflowGraph) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(out);
    let columns = columns(graph);
    writer.write_record(columns.iter().map(|column| column.as_bytes()))?;
    let mut cells = Vec::new();
    for op in graph.op_ids() {
        cells.clear();
        cells.extend(columns.iter().map(|column| cell(graph, op, column)));
        writer.write_record(&cells)?;
    }
    Ok(writer.flush()?)
}

fn cell(graph: &DataflowGraph, op: OpId, column: &str) -> String {
    let label = |labels: Option<&Categories>| labels.and_then(|labels| labels.get(op.index())).unwrap_or("").to_owned();
    match column {
        "id" => op.to_string(),
        "inputs" => {
            let input = |edge: crate::Edge| match edge.tensor.map(|tensor| graph.port(tensor)) {
                None => format!("^{}", edge.op),
                Some(0) => edge.op.to_string(),
                Some(port) => format!("{}:{port}", edge.op),
            };
            join(graph.predecessors(op).map(input))
        }
        "colocated" => {
            let first = graph.colocation().group_of(op).map(|group| graph.colocation().members(group)[0]);
            first.filter(|&first| first != op).map_or_else(String::new, |first| first.to_string())
        }
        "tensor_bytes" => join(graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor).to_string())),
        "ops" => Number(graph.ops(op)).to_string(),
        "memory_bytes" => graph.memory_bytes(op).to_string(),
        "kinds" => graph.kinds(op).to_string(),
        "name" => graph.name(op).unwrap_or("").to_owned(),
        "type" => label(graph.op_types()),
        "layer" => label(graph.layers()),
        "attributes" => label(graph.attributes()),
        "bytes_moved" => graph.bytes_moved(op).map_or_else(String::new, |bytes| Number(bytes).to_string()),
        seconds => {
            let times = class_of_column(seconds).and_then(|class| graph.measured_on(class));
            let time = times.and_then(|times| times.of(op));
            time.map_or_else(String::new, |time| Number(time).to_string())
        }
    }
}

fn join(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(";")
}
