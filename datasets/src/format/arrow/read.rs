//! Reads a graph from an Arrow IPC file.

use std::collections::HashMap;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{Array, Float64Array, RecordBatch, UInt64Array};
use arrow_schema::DataType;
use placebench_base::did_you_mean;
use placebench_base::process::check_memory;

use super::cells::{Lists, real, texts, whole};
use super::container::Container;
use super::{OPTIONAL, REQUIRED};
use crate::format::FormatError;
use crate::format::entry::GraphFile;
use crate::format::text::counted;
use crate::format::values::{Values, header_of};
use crate::measured_times::class_of_column;
use crate::{GraphBuilder, KindSet, OpId, OpSpec};

/// Reads a graph. All of the file is in memory meanwhile.
pub(super) fn read(path: &Path) -> Result<GraphFile, FormatError> {
    let file = Container::open(path)?;
    let names = names(file.schema.fields());
    let others: Vec<&str> = names.iter().copied().filter(|name| class_of_column(name).is_none()).collect();
    check_columns(path, "column", REQUIRED.iter().chain(&OPTIONAL), &REQUIRED, &others)?;
    let notes = file.schema.metadata().iter().map(|(key, value)| (key.clone(), value.clone()));
    let header = header_of(path, &Values(notes.collect()))?;
    let mut rows = Rows::default();
    file.for_each_batch(|batch| rows.take(&Batch { path, batch, first_row: rows.builder.op_count() }))?;
    Ok(GraphFile { header, graph: rows.graph(path)?, report: None })
}

fn names(fields: &arrow_schema::Fields) -> Vec<&str> {
    fields.iter().map(|field| field.name().as_str()).collect()
}

/// Bytes of a row while it is read: its numbers, where its texts are, and its op in the graph.
const ROW_BYTES: u64 = 160;

/// Refuses columns, or fields of a struct, that are unknown, missing or there twice.
fn check_columns<'a>(
    path: &Path,
    what: &str,
    known: impl Iterator<Item = &'a &'static str> + Clone,
    required: &[&'static str],
    found: &[&str],
) -> Result<(), FormatError> {
    let item = |name: &str, message: &str| FormatError::item(path, format!("{what} '{name}'"), message);
    for (position, name) in found.iter().enumerate() {
        if !known.clone().any(|known| known == name) {
            let known = known.copied();
            return Err(item(name, "is not part of the format").remedy(did_you_mean(name, known)));
        }
        if found[..position].contains(name) {
            return Err(item(name, "comes twice").remedy("leave one out"));
        }
    }
    match required.iter().find(|name| !found.contains(name)) {
        Some(name) => Err(item(name, "is missing").remedy("add it")),
        None => Ok(()),
    }
}

/// Some rows of the file.
struct Batch<'a> {
    path: &'a Path,
    batch: &'a RecordBatch,
    first_row: usize,
}

impl<'a> Batch<'a> {
    fn fault(&self, column: &str, message: impl std::fmt::Display) -> FormatError {
        FormatError::item(self.path, format!("column '{column}'"), message)
    }

    /// A column, decoded; None if the file does not have it.
    fn column<T>(
        &self,
        name: &str,
        decode: impl FnOnce(&'a dyn Array) -> Result<T, String>,
    ) -> Result<Option<T>, FormatError> {
        let column = self.batch.column_by_name(name);
        column.map(|column| decode(column).map_err(|message| self.fault(name, message))).transpose()
    }

    /// A column that may not be left out.
    fn required<T>(
        &self,
        name: &str,
        decode: impl FnOnce(&'a dyn Array) -> Result<T, String>,
    ) -> Result<T, FormatError> {
        self.column(name, decode)?.ok_or_else(|| self.fault(name, "is missing").remedy("add it"))
    }

    /// Refuses nulls in a column that has a value for each op.
    fn complete(&self, name: &str, cells: &dyn Array) -> Result<(), FormatError> {
        match (0..cells.len()).find(|&row| cells.is_null(row)) {
            Some(row) => {
                let message = format!("is null in row {}", self.first_row + row);
                Err(self.fault(name, message).remedy("give it a value"))
            }
            None => Ok(()),
        }
    }

    /// Refuses nulls among the items of lists.
    fn complete_items(&self, name: &str, items: &dyn Array) -> Result<(), FormatError> {
        match items.null_count() {
            0 => Ok(()),
            _ => Err(self.fault(name, "has a null within a list").remedy("give it a value")),
        }
    }

    fn op_fault(&self, row: usize, message: String) -> FormatError {
        FormatError::item(self.path, format!("op {}", self.first_row + row), message)
    }
}

/// What the ops of a batch read.
struct Inputs {
    lists: Lists,
    sources: UInt64Array,
    /// Null for a control edge.
    ports: UInt64Array,
}

impl Inputs {
    fn of(batch: &Batch<'_>) -> Result<Self, FormatError> {
        let lists = batch.required("inputs", Lists::of)?;
        batch.complete_items("inputs", &lists.items)?;
        let DataType::Struct(fields) = lists.items.data_type() else {
            let message = format!("holds lists of {}", lists.items.data_type());
            return Err(batch.fault("inputs", message).remedy("write lists of structs with 'source' and 'port'"));
        };
        const FIELDS: [&str; 2] = ["source", "port"];
        check_columns(batch.path, "field of 'inputs'", FIELDS.iter(), &FIELDS, &names(fields))?;
        let structs = lists.items.as_struct();
        let field = |name: &str| match structs.column_by_name(name) {
            Some(column) => whole(column).map_err(|message| batch.fault(&format!("inputs.{name}"), message)),
            None => Err(batch.fault(&format!("inputs.{name}"), "is missing")),
        };
        let (sources, ports) = (field("source")?, field("port")?);
        batch.complete_items("inputs", &sources)?;
        Ok(Self { lists, sources, ports })
    }
}

/// An edge: producer, port unless it is a control edge, consumer.
type Edge = (OpId, Option<u32>, OpId);

/// The graph so far.
#[derive(Default)]
struct Rows {
    builder: GraphBuilder,
    /// Edges may name ops of later rows.
    edges: Vec<Edge>,
    /// The first op of each group.
    groups: HashMap<u64, OpId>,
    tensors: usize,
}

impl Rows {
    fn take(&mut self, batch: &Batch<'_>) -> Result<(), FormatError> {
        // A column of nulls has no bytes, whatever its number of rows.
        let rows = batch.batch.num_rows();
        check_memory(&[(rows as u64, ROW_BYTES)], || format!("a batch of {}", counted(rows as u64, "row")))
            .map_err(|error| FormatError::file(batch.path, error))?;
        let ops = batch.required("ops", real)?;
        batch.complete("ops", &ops)?;
        let memory_bytes = batch.column("memory_bytes", whole)?;
        let kinds = batch.column("kinds", whole)?;
        for (name, cells) in [("memory_bytes", &memory_bytes), ("kinds", &kinds)] {
            cells.as_ref().map_or(Ok(()), |cells| batch.complete(name, cells))?;
        }
        let groups = batch.column("group", whole)?;
        let bytes_moved = batch.column("bytes_moved", real)?;
        bytes_moved.as_ref().map_or(Ok(()), |cells| batch.complete("bytes_moved", cells))?;
        let schema = batch.batch.schema_ref();
        let timed = schema.fields().iter().filter_map(|field| Some((class_of_column(field.name())?, field.name())));
        let timed: Vec<(&str, Option<Float64Array>)> =
            timed.map(|(class, name)| Ok((class, batch.column(name, real)?))).collect::<Result<_, FormatError>>()?;
        let mut times = Vec::with_capacity(timed.len());
        let [names, types, layers, attributes] =
            ["name", "op_type", "layer", "attributes"].map(|name| batch.column(name, texts));
        let (names, types, layers, attributes) = (names?, types?, layers?, attributes?);
        let outputs = batch.required("tensor_bytes", Lists::of)?;
        let sizes = whole(&outputs.items).map_err(|message| batch.fault("tensor_bytes", message))?;
        batch.complete_items("tensor_bytes", &sizes)?;
        let inputs = Inputs::of(batch)?;

        self.tensors += sizes.len();
        if self.builder.op_count().max(self.tensors).max(self.edges.len()) + ops.len() >= u32::MAX as usize {
            let message = "it has more ops, tensors or edges than 32-bit ids can tell apart";
            return Err(FormatError::file(batch.path, message).remedy("split the graph"));
        }
        for row in 0..ops.len() {
            times.clear();
            times.extend(timed.iter().filter_map(|(class, cells)| Some((*class, time_of(cells, row)?))));
            let spec = OpSpec {
                ops: ops.value(row),
                memory_bytes: memory_bytes.as_ref().map_or(0, |bytes| bytes.value(row)),
                kinds: kinds.as_ref().map_or(Ok(KindSet::ALL), |kinds| kind_set(batch, row, kinds.value(row)))?,
                bytes_moved: bytes_moved.as_ref().map(|bytes| bytes.value(row)),
                times: &times,
                name: text_of(&names, row),
                op_type: text_of(&types, row),
                layer: text_of(&layers, row),
                attributes: text_of(&attributes, row),
            };
            let op = self.builder.add_op(spec, &sizes.values()[outputs.row(row)]);
            if let Some(group) = groups.as_ref().filter(|groups| groups.is_valid(row)) {
                let first = *self.groups.entry(group.value(row)).or_insert(op);
                self.builder.colocate(first, op).map_err(|error| batch.op_fault(row, error.to_string()))?;
            }
            for input in inputs.lists.row(row) {
                let number = |what: &str, value: u64| {
                    let message = || format!("the {what} of an input is {value}, which no graph has");
                    u32::try_from(value).map_err(|_| batch.op_fault(row, message()).remedy("count from 0"))
                };
                let source = OpId(number("source", inputs.sources.value(input))?);
                let port = inputs.ports.is_valid(input).then(|| number("port", inputs.ports.value(input)));
                self.edges.push((source, port.transpose()?, op));
            }
        }
        Ok(())
    }

    fn graph(mut self, path: &Path) -> Result<crate::DataflowGraph, FormatError> {
        for (source, port, op) in self.edges {
            let added = match port {
                Some(port) => self.builder.add_edge(source, port as usize, op),
                None => self.builder.add_control_edge(source, op),
            };
            added.map_err(|error| {
                FormatError::item(path, format!("op {op}"), format!("one of its inputs: {error}"))
                    .remedy("ops and ports count from 0")
            })?;
        }
        self.builder.build().map_err(|error| FormatError::file(path, error))
    }
}

fn time_of(times: &Option<Float64Array>, row: usize) -> Option<f64> {
    times.as_ref().filter(|times| times.is_valid(row)).map(|times| times.value(row))
}

fn text_of<'a>(texts: &Option<Vec<Option<&'a str>>>, row: usize) -> Option<&'a str> {
    texts.as_ref().and_then(|texts| texts[row])
}

fn kind_set(batch: &Batch<'_>, row: usize, bits: u64) -> Result<KindSet, FormatError> {
    u8::try_from(bits).ok().and_then(KindSet::from_bits).ok_or_else(|| {
        let message = format!("its kinds are {bits}, which has bits beyond CPU = 1, GPU = 2, TPU = 4");
        batch.op_fault(row, message).remedy("use their sum, or 7 for all")
    })
}
