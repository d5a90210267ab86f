//! The folder that the extractor writes: a GraphDef and, beside it, what was measured when the graph ran.
//!
//! | file | content |
//! |---|---|
//! | `graph.pb` | the GraphDef |
//! | `ops.csv` | `name,layer,cpu_seconds,gpu_seconds,memory_bytes`, a row a node; an empty field is unknown. Two more columns are optional: `operations`, what an op costs if its time on the CPU is unknown, and `bytes_moved`, what it reads and writes, which counts then, too |
//! | `tensors.csv` | `op,port,bytes`, a row an output port |
//! | `provenance.toml` | where the graph comes from, and the counts and sums of the other files |

use std::fs;
use std::path::Path;
use std::str::FromStr;

use csv::{ReaderBuilder, StringRecord};

use super::fault::Located;
use super::report::ImportReport;
use super::structure::{Structure, check_ports};
use super::{binary, import};
use crate::format::entry::{Format, GraphFile, Holds, Mark};
use crate::format::options::{ReadOption, ReadOptions};
use crate::format::{FormatError, GraphHeader};
use crate::{DataflowGraph, Kinds};
use placebench_base::parse_toml;

/// The line of the table of formats.
pub(in crate::format) static FORMAT: Format = Format {
    name: "extraction",
    mark: Mark::Folder(GRAPH_FILE),
    title: "a GraphDef with costs beside it, as the extractor writes it from TensorFlow, JAX or PyTorch",
    lacks: &[],
    options: &[ReadOption::Cycles, ReadOption::NoReferences],
    holds: Holds::Graph { read: Some(read_file), write: None },
};

/// The file that makes a folder an extraction.
const GRAPH_FILE: &str = "graph.pb";

const OPS_HEADER: [&str; 7] =
    ["name", "layer", "cpu_seconds", "gpu_seconds", "memory_bytes", "operations", "bytes_moved"];
/// The columns of [`OPS_HEADER`] that must be there.
const OPS_REQUIRED: usize = 5;
const TENSORS_HEADER: [&str; 3] = ["op", "port", "bytes"];

/// An operation is a nanosecond of the core on which graphs are traced.
const OPERATIONS_PER_SECOND: f64 = 1e9;

/// An extracted graph.
#[derive(Clone, Debug)]
pub struct Extraction {
    /// The graph with measured times in seconds; an op costs as many operations as it took nanoseconds on the traced
    /// CPU core. If that was not measured, it costs what the column `operations` says, and moves
    /// what `bytes_moved` says.
    pub graph: DataflowGraph,
    /// What the reader found.
    pub report: ImportReport,
    /// The entries of `provenance.toml`.
    pub provenance: toml::Table,
}

fn read_file(path: &Path, options: &ReadOptions) -> Result<GraphFile, FormatError> {
    let Extraction { graph, report, provenance } = read_extraction(path, options)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let header = GraphHeader { kinds: Kinds::AcceleratorsOnly, provenance, ..GraphHeader::named(name) };
    Ok(GraphFile { header, graph, report: Some(report.to_string()) })
}

/// Reads the folder that the extractor wrote for a graph.
///
/// What the tables say replaces what the GraphDef says: times and operations, resident memory, layers, sizes of
/// tensors. A node without a row keeps what the GraphDef says.
///
/// # Errors
/// As [`read_graph_def`](super::read_graph_def); and if a table is malformed, names an op or a port that the graph does
/// not have, or names one twice: file, line, fault.
pub fn read_extraction(folder: &Path, options: &ReadOptions) -> Result<Extraction, FormatError> {
    let path = folder.join(GRAPH_FILE);
    let content = fs::read(&path).map_err(|error| FormatError::io(&path, error))?;
    let parsed = binary::decode(content).map_err(Located::from);
    let mut structure = parsed.and_then(Structure::resolve).map_err(|fault| fault.in_file(&path))?;
    read_ops(&folder.join("ops.csv"), &mut structure)?;
    read_tensors(&folder.join("tensors.csv"), &mut structure)?;
    let provenance = read_provenance(&folder.join("provenance.toml"))?;
    let (graph, report) = import::build(&structure, options).map_err(|fault| fault.in_file(&path))?;
    Ok(Extraction { graph, report, provenance })
}

fn read_ops(path: &Path, structure: &mut Structure) -> Result<(), FormatError> {
    let mut seen = vec![false; structure.ops.len()];
    read_table(path, &OPS_HEADER, OPS_REQUIRED, |row| {
        let op = row.op(structure)?;
        if std::mem::replace(&mut seen[op], true) {
            return Err(format!("op '{}' has a row already: keep one", &row.record[0]));
        }
        let costs = &mut structure.ops[op].costs;
        if let Some(layer) = row.field::<String>(1)? {
            costs.layer = Some(layer);
        }
        let (on_cpu, on_gpu) = (row.seconds(2)?, row.seconds(3)?);
        for (class, time) in [("cpu", on_cpu), ("gpu", on_gpu)] {
            if let Some(seconds) = time {
                costs.times.retain(|(other, _)| other != class);
                costs.times.push((class.to_owned(), seconds));
            }
        }
        if let Some(seconds) = on_cpu {
            costs.ops = Some(seconds * OPERATIONS_PER_SECOND);
            // The trace adds up the runs of an op in a loop; estimates for the GPU are of one run.
            costs.of_step = true;
        }
        if let Some(bytes) = row.field(4)? {
            costs.memory_bytes = bytes;
        }
        let measured = costs.times.iter().any(|(class, _)| class == "cpu");
        let (operations, bytes_moved) = (row.optional(0, "operations")?, row.optional(1, "bytes")?);
        // Nanoseconds of a core are no operations: bytes would not go with them.
        if !measured {
            costs.ops = operations.or(costs.ops);
            costs.bytes_moved = bytes_moved.or(costs.bytes_moved);
        }
        Ok(())
    })
}

fn read_tensors(path: &Path, structure: &mut Structure) -> Result<(), FormatError> {
    let mut seen: Vec<Vec<bool>> = vec![Vec::new(); structure.ops.len()];
    let mut ports = 0;
    read_table(path, &TENSORS_HEADER, TENSORS_HEADER.len(), |row| {
        let op = row.op(structure)?;
        let port: u32 = row.field(1)?.ok_or("the port is missing: expected a number from 0")?;
        let bytes: u64 = row.field(2)?.ok_or("the size is missing: expected a number of bytes")?;
        let name = &row.record[0];
        ports += (u64::from(port) + 1).saturating_sub(seen[op].len() as u64);
        check_ports(ports).map_err(|error| error.to_string())?;
        structure.ops[op].reach(port).map_err(|reason| format!("'{name}:{port}' {reason}"))?;
        let index = port as usize;
        if seen[op].len() <= index {
            seen[op].resize(index + 1, false);
        }
        if std::mem::replace(&mut seen[op][index], true) {
            return Err(format!("'{name}:{port}' has a row already: keep one"));
        }
        structure.ops[op].outputs[index] = Some(bytes);
        Ok(())
    })
}

fn read_provenance(path: &Path) -> Result<toml::Table, FormatError> {
    let text = fs::read_to_string(path).map_err(|error| FormatError::io(path, error))?;
    parse_toml(&text).map_err(|fault| FormatError::toml(path, fault))
}

/// Reads a table with a fixed header, row by row. The header's columns after the `required` ones may be left out.
fn read_table(
    path: &Path,
    header: &[&'static str],
    required: usize,
    mut take: impl FnMut(Row<'_>) -> Result<(), String>,
) -> Result<(), FormatError> {
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_path(path).map_err(|error| {
        let text = error.to_string();
        match error.into_kind() {
            csv::ErrorKind::Io(error) => FormatError::io(path, error),
            _ => FormatError::file(path, text),
        }
    })?;
    let mut record = StringRecord::new();
    let mut first = true;
    let mut header = header;
    loop {
        let line = reader.position().line();
        let more = reader.read_record(&mut record).map_err(|error| match error.into_kind() {
            csv::ErrorKind::Io(error) => FormatError::io(path, error),
            csv::ErrorKind::Utf8 { .. } => FormatError::at_line(path, line, "the text is not UTF-8"),
            _ => FormatError::at_line(path, line, "this is no CSV"),
        })?;
        let line = record.position().map_or(line, csv::Position::line);
        if std::mem::take(&mut first) {
            let columns = record.len().clamp(required, header.len());
            if record.iter().ne(header[..columns].iter().copied()) {
                let message = format!("the first line must be '{}'", header[..required].join(","));
                return Err(FormatError::at_line(path, 1, message));
            }
            header = &header[..columns];
        } else if !more {
            return Ok(());
        } else if record.len() != header.len() {
            let message = format!("{} fields where {} belong: {}", record.len(), header.len(), header.join(","));
            return Err(FormatError::at_line(path, line, message));
        } else {
            take(Row { record: &record, header }).map_err(|message| FormatError::at_line(path, line, message))?;
        }
    }
}

/// A row of a table, as long as its header.
struct Row<'a> {
    record: &'a StringRecord,
    header: &'a [&'static str],
}

impl Row<'_> {
    /// The op that the first field names.
    fn op(&self, structure: &Structure) -> Result<usize, String> {
        let name = &self.record[0];
        structure.find(name).ok_or_else(|| format!("op '{name}' is not in graph.pb: extract both anew"))
    }

    /// A field, `None` if it is empty.
    fn field<T: FromStr>(&self, column: usize) -> Result<Option<T>, String> {
        let text = &self.record[column];
        if text.is_empty() {
            return Ok(None);
        }
        text.parse()
            .map(Some)
            .map_err(|_| format!("column '{}' holds '{text}': expected a number", self.header[column]))
    }

    /// A field with a time in seconds.
    fn seconds(&self, column: usize) -> Result<Option<f64>, String> {
        self.amount(column, "seconds")
    }

    /// A column of [`OPS_HEADER`] that may be left out: the first, the second, …
    fn optional(&self, number: usize, unit: &str) -> Result<Option<f64>, String> {
        let column = OPS_REQUIRED + number;
        if self.header.len() > column { self.amount(column, unit) } else { Ok(None) }
    }

    fn amount(&self, column: usize, unit: &str) -> Result<Option<f64>, String> {
        match self.field::<f64>(column)? {
            Some(amount) if !(amount.is_finite() && amount >= 0.0) => Err(format!(
                "column '{}' holds '{}': expected {unit}, at least 0",
                self.header[column], &self.record[column]
            )),
            amount => Ok(amount),
        }
    }
}
