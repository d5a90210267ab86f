//! Reads the native folder.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;
use placebench_base::process::check_memory;

use super::schema::{self, HEADER_FILE, TableSchema, edges, ops, tensors};
use super::table_read::{Batch, Cells, Source, TableReader};
use crate::columns::GraphColumns;
use crate::format::header::HeaderFile;
use crate::format::sha256::sha256;
use crate::format::text::counted;
use crate::format::{FormatError, GraphHeader};
use crate::graph::{one_tensor_per_op, raw_tensor};
use crate::measured_times::{MeasuredTimes, class_of_column};
use crate::{Categories, Colocation, DataflowGraph, KindSet, NameTable, OpId, TensorId};

/// Reads a graph from a native folder.
///
/// # Errors
/// A missing or unreadable file; a header of a newer version; tables that differ from their digests or counts; ids out
/// of range or out of order; all that [`crate::GraphBuilder::build`] refuses.
///
/// # Complexity
/// O(bytes + edges · log degree). Beside the graph: one batch of rows and 8 bytes an edge.
pub fn read_native(path: impl AsRef<Path>) -> Result<(GraphHeader, DataflowGraph), FormatError> {
    let folder = path.as_ref();
    if folder.is_file() {
        return Err(
            FormatError::file(folder, "is a file, not a graph folder").remedy("name the folder that holds graph.toml")
        );
    }
    if !folder.exists() {
        return Err(FormatError::io(folder, io::ErrorKind::NotFound.into()));
    }
    let header_path = folder.join(HEADER_FILE);
    let header = std::fs::read(&header_path).map_err(|error| FormatError::io(&header_path, error))?;
    let sources = |table: &TableSchema, digest: Option<&str>| {
        let path = folder.join(table.file);
        let open = || File::open(&path).map_err(|error| FormatError::io(&path, error));
        if let Some(digest) = digest {
            check_digest(&path, open()?, digest)?;
        }
        Ok(Source::File(open()?))
    };
    read(folder, &header, sources)
}

/// The header of a native folder, without its tables.
///
/// # Errors
/// If it is missing, unreadable, or not one of this or an older version.
pub(crate) fn read_native_header(folder: &Path) -> Result<GraphHeader, FormatError> {
    let path = folder.join(HEADER_FILE);
    let header = std::fs::read(&path).map_err(|error| FormatError::io(&path, error))?;
    Ok(HeaderFile::parse(&path, &header)?.into_header())
}

/// The four files of a native folder in memory, as `include_bytes!` embeds them.
#[derive(Clone, Copy, Debug)]
pub struct NativeBytes<'a> {
    /// `graph.toml`.
    pub header: &'a [u8],
    /// `ops.parquet`.
    pub ops: &'a [u8],
    /// `tensors.parquet`.
    pub tensors: &'a [u8],
    /// `edges.parquet`.
    pub edges: &'a [u8],
}

impl NativeBytes<'_> {
    /// Reads the graph; `name` stands for the folder in messages.
    ///
    /// # Errors
    /// As [`read_native`], but for files that are missing.
    pub fn read(&self, name: impl AsRef<Path>) -> Result<(GraphHeader, DataflowGraph), FormatError> {
        let folder = name.as_ref();
        let sources = |table: &TableSchema, digest: Option<&str>| {
            let bytes = match table.file {
                file if file == schema::OPS.file => self.ops,
                file if file == schema::TENSORS.file => self.tensors,
                _ => self.edges,
            };
            if let Some(digest) = digest {
                check_digest(&folder.join(table.file), bytes, digest)?;
            }
            Ok(Source::Bytes(Bytes::copy_from_slice(bytes)))
        };
        read(folder, self.header, sources)
    }

    /// Reads the header alone, which says what the graph is and how large.
    ///
    /// # Errors
    /// If the header is not one of this or an older version.
    pub fn read_header(&self, name: impl AsRef<Path>) -> Result<GraphHeader, FormatError> {
        Ok(HeaderFile::parse(&name.as_ref().join(HEADER_FILE), self.header)?.into_header())
    }
}

fn read(
    folder: &Path,
    header: &[u8],
    sources: impl Fn(&TableSchema, Option<&str>) -> Result<Source, FormatError>,
) -> Result<(GraphHeader, DataflowGraph), FormatError> {
    let header_path = folder.join(HEADER_FILE);
    let header = HeaderFile::parse(&header_path, header)?;
    let open = |table: &'static TableSchema, digest: Option<&String>, count: u64| {
        let reader = TableReader::open(&folder.join(table.file), sources(table, digest.map(String::as_str))?, table)?;
        if reader.row_count != count {
            let message = format!("has {}, but graph.toml counts {count}", counted(reader.row_count, "row"));
            return Err(FormatError::file(&reader.path, message).remedy("restore the folder, or correct [counts]"));
        }
        Ok(reader)
    };
    let (counts, digests) = (header.counts, header.sha256.as_ref());
    if counts.ops >= u64::from(u32::MAX) || counts.tensors >= u64::from(u32::MAX) || counts.edges >= u64::from(u32::MAX)
    {
        let message = "counts more ops, tensors or edges than 32-bit ids can tell apart";
        return Err(FormatError::file(&header_path, message).remedy("split the graph"));
    }
    let op_table = open(&schema::OPS, digests.map(|digests| &digests.ops), counts.ops)?;
    let tensor_table = open(&schema::TENSORS, digests.map(|digests| &digests.tensors), counts.tensors)?;
    let edge_table = open(&schema::EDGES, digests.map(|digests| &digests.edges), counts.edges)?;
    // A column that repeats itself takes next to no bytes in a table, however many rows it has.
    let parts = [(counts.ops, OP_BYTES), (counts.tensors, TENSOR_BYTES), (counts.edges, EDGE_BYTES)];
    let what = || format!("a graph of {} and {}", counted(counts.ops, "op"), counted(counts.edges, "edge"));
    check_memory(&parts, what).map_err(|error| FormatError::file(folder, error))?;
    let mut columns = GraphColumns::default();
    read_ops(&op_table, &mut columns)?;
    read_tensors(&tensor_table, &mut columns)?;
    read_edges(&edge_table, &mut columns)?;
    let graph = DataflowGraph::from_columns(columns).map_err(|error| FormatError::file(folder, error))?;
    Ok((header.into_header(), graph))
}

/// Bytes of an op, a tensor and an edge in a graph, without names and measured times.
const OP_BYTES: u64 = 8 + 8 + 1 + 3 * 4;
const TENSOR_BYTES: u64 = 8 + 4;
const EDGE_BYTES: u64 = 4 * 4;

/// Reserves memory for the rows of a table, for which there is room.
fn reserve<T>(column: &mut Vec<T>, table: &TableReader) {
    column.reserve_exact(table.row_count as usize);
}

fn read_ops(table: &TableReader, columns: &mut GraphColumns) -> Result<(), FormatError> {
    reserve(&mut columns.ops, table);
    reserve(&mut columns.memory_bytes, table);
    reserve(&mut columns.kinds, table);
    let mut groups = Groups::default();
    let classes: Vec<_> =
        table.columns[ops::SECONDS..].iter().filter_map(|column| class_of_column(&column.name)).collect();
    let mut times = vec![Vec::with_capacity(table.row_count as usize); classes.len()];
    let [names, types, layers, attributes] = [ops::NAME, ops::OP_TYPE, ops::LAYER, ops::ATTRIBUTES];
    table.for_each_batch(|batch| {
        let cells = &batch.columns;
        columns.ops.extend_from_slice(cells[ops::OPS].doubles());
        columns.memory_bytes.extend_from_slice(cells[ops::MEMORY_BYTES].ints());
        read_kinds(table, batch, &mut columns.kinds)?;
        groups.read(table, batch)?;
        for (times, cells) in times.iter_mut().zip(&cells[ops::SECONDS..]) {
            read_times(table, batch, cells, times)?;
        }
        if cells[ops::BYTES_MOVED].present {
            columns.bytes_moved.get_or_insert_default().extend_from_slice(cells[ops::BYTES_MOVED].doubles());
        }
        if cells[names].present {
            read_names(table, batch, columns.names.get_or_insert_default())?;
        }
        for (column, labels) in
            [(types, &mut columns.types), (layers, &mut columns.layers), (attributes, &mut columns.attributes)]
        {
            if cells[column].present {
                read_labels(table, batch, &cells[column], labels.get_or_insert_default())?;
            }
        }
        Ok(())
    })?;
    for (class, times) in classes.into_iter().zip(times) {
        columns.times.push(MeasuredTimes::new(class, times).map_err(|error| FormatError::file(&table.path, error))?);
    }
    columns.colocation = Colocation::from_pairs(columns.ops.len(), groups.pairs);
    Ok(())
}

fn read_kinds(table: &TableReader, batch: &Batch, kinds: &mut Vec<KindSet>) -> Result<(), FormatError> {
    for (row, &bits) in batch.columns[ops::KINDS].ints().iter().enumerate() {
        let set = u8::try_from(bits).ok().and_then(KindSet::from_bits).ok_or_else(|| {
            let message = format!("its kinds are {bits}, which has bits beyond CPU = 1, GPU = 2, TPU = 4");
            op_fault(table, batch, row, message).remedy("use their sum, or 7 for all")
        })?;
        kinds.push(set);
    }
    Ok(())
}

/// Pairs of colocated ops out of group numbers.
#[derive(Default)]
struct Groups {
    /// For each group number, its first op.
    first: Vec<Option<OpId>>,
    pairs: Vec<(OpId, OpId)>,
}

impl Groups {
    fn read(&mut self, table: &TableReader, batch: &Batch) -> Result<(), FormatError> {
        for (row, group) in batch.columns[ops::GROUP].optional_ints().enumerate() {
            let Some(group) = group else { continue };
            if group >= table.row_count {
                let message = format!("its group is {group}, but numbers of groups must be below the number of ops");
                return Err(op_fault(table, batch, row, message).remedy("number the groups 0, 1, 2, …"));
            }
            if self.first.len() <= group as usize {
                self.first.resize(group as usize + 1, None);
            }
            let op = OpId::new(batch.first_row + row);
            let first = *self.first[group as usize].get_or_insert(op);
            if first != op {
                self.pairs.push((first, op));
            }
        }
        Ok(())
    }
}

fn read_times(
    table: &TableReader,
    batch: &Batch,
    cells: &Cells,
    times: &mut Vec<Option<f64>>,
) -> Result<(), FormatError> {
    for (row, time) in cells.optional_doubles().enumerate() {
        if time.is_some_and(f64::is_nan) {
            return Err(op_fault(table, batch, row, "a measured time of it is NaN").remedy("leave the cell null"));
        }
        times.push(time);
    }
    Ok(())
}

fn read_names(table: &TableReader, batch: &Batch, names: &mut NameTable) -> Result<(), FormatError> {
    for (row, name) in batch.columns[ops::NAME].optional_texts().enumerate() {
        let name = utf8(table, batch, row, name)?.unwrap_or_default();
        if names.text_len() + name.len() > u32::MAX as usize {
            return Err(FormatError::file(&table.path, "its names exceed 4 GiB").remedy("leave the column out"));
        }
        names.push(name);
    }
    Ok(())
}

fn read_labels(table: &TableReader, batch: &Batch, cells: &Cells, labels: &mut Categories) -> Result<(), FormatError> {
    for (row, label) in cells.optional_texts().enumerate() {
        labels.push(utf8(table, batch, row, label)?);
    }
    Ok(())
}

fn utf8<'a>(
    table: &TableReader,
    batch: &Batch,
    row: usize,
    text: Option<&'a [u8]>,
) -> Result<Option<&'a str>, FormatError> {
    text.map(std::str::from_utf8)
        .transpose()
        .map_err(|_| op_fault(table, batch, row, "its name or label is not UTF-8").remedy("write text as UTF-8"))
}

fn op_fault(table: &TableReader, batch: &Batch, row: usize, message: impl std::fmt::Display) -> FormatError {
    FormatError::item(&table.path, format!("op {}", batch.first_row + row), message)
}

fn read_tensors(table: &TableReader, columns: &mut GraphColumns) -> Result<(), FormatError> {
    let n = columns.ops.len();
    reserve(&mut columns.tensor_bytes, table);
    columns.tensor_offsets.reserve_exact(n + 1);
    columns.tensor_offsets.push(0);
    // The producer that the rows have come to, and how many ports it has so far.
    let (mut current, mut ports) = (0, 0);
    let mut end = 0u32;
    table.for_each_batch(|batch| {
        let [producers, port_numbers] = [tensors::PRODUCER, tensors::PORT].map(|column| batch.columns[column].ints());
        for (row, (&producer, &port)) in producers.iter().zip(port_numbers).enumerate() {
            let fault =
                |message: String| FormatError::item(&table.path, format!("tensor {}", batch.first_row + row), message);
            if producer >= n as u64 {
                let message = format!("its producer is {producer}, but the graph has {}", counted(n as u64, "op"));
                return Err(fault(message).remedy("ids count from 0"));
            }
            if producer < current {
                let message = format!("its producer is {producer}, after one of op {current}");
                return Err(fault(message).remedy("sort the rows by producer and port"));
            }
            while current < producer {
                columns.tensor_offsets.push(end);
                (current, ports) = (current + 1, 0);
            }
            if port != ports {
                let message = format!("its port is {port} where {ports} is due");
                return Err(fault(message).remedy("number the ports of each op 0, 1, 2, …"));
            }
            (end, ports) = (end + 1, ports + 1);
        }
        columns.tensor_bytes.extend_from_slice(batch.columns[tensors::BYTES].ints());
        Ok(())
    })?;
    columns.tensor_offsets.resize(n + 1, end);
    Ok(())
}

fn read_edges(table: &TableReader, columns: &mut GraphColumns) -> Result<(), FormatError> {
    let n = columns.ops.len() as u64;
    reserve(&mut columns.in_sources, table);
    reserve(&mut columns.in_tensors, table);
    let one_tensor_per_op = one_tensor_per_op(&columns.tensor_offsets);
    let mut state = EdgeState { target: 0, after_control: false, one_tensor_per_op };
    columns.in_offsets.reserve_exact(n as usize + 1);
    columns.in_offsets.push(0);
    table.for_each_batch(|batch| {
        let [sources, targets] = [edges::SOURCE, edges::TARGET].map(|column| batch.columns[column].ints());
        let ports = batch.columns[edges::PORT].optional_ints();
        for (row, ((&source, &target), port)) in sources.iter().zip(targets).zip(ports).enumerate() {
            let tensor = state.accept(n, columns, source, target, port).map_err(|(message, remedy)| {
                FormatError::item(&table.path, format!("edge {}", batch.first_row + row), message).remedy(remedy)
            })?;
            columns.in_sources.push(OpId(source as u32));
            columns.in_tensors.push(raw_tensor(tensor));
        }
        Ok(())
    })?;
    let end = columns.in_sources.len() as u32;
    columns.in_offsets.resize(n as usize + 1, end);
    Ok(())
}

/// Where the rows of the edge table have come to.
struct EdgeState {
    target: u64,
    after_control: bool,
    /// Whether each op has one tensor of its own number. Then the source of each edge, which may be anywhere in memory,
    /// need not be looked up.
    one_tensor_per_op: bool,
}

impl EdgeState {
    /// Checks an edge and closes the rows of the targets before its own.
    #[inline]
    fn accept(
        &mut self,
        n: u64,
        columns: &mut GraphColumns,
        source: u64,
        target: u64,
        port: Option<u64>,
    ) -> Result<Option<TensorId>, (String, &'static str)> {
        for (end, op) in [("source", source), ("target", target)] {
            if op >= n {
                return Err((format!("its {end} is {op}, but the graph has {}", counted(n, "op")), "ids count from 0"));
            }
        }
        if target < self.target {
            let message = format!("its target is {target}, after one of op {}", self.target);
            return Err((message, "sort the rows by target, keeping the order of each target's inputs"));
        }
        if target > self.target {
            columns.in_offsets.resize(target as usize + 1, columns.in_sources.len() as u32);
            *self = Self { target, after_control: false, ..*self };
        }
        let Some(port) = port else {
            self.after_control = true;
            return Ok(None);
        };
        if self.after_control {
            let message = format!("it carries a tensor to op {target} after a control edge");
            return Err((message, "put each target's control edges last"));
        }
        let (start, end) = match self.one_tensor_per_op {
            true => (source as u32, source as u32 + 1),
            false => (columns.tensor_offsets[source as usize], columns.tensor_offsets[source as usize + 1]),
        };
        if port >= u64::from(end - start) {
            let outputs = counted(u64::from(end - start), "output");
            return Err((
                format!("it carries output {port} of op {source}, which has {outputs}"),
                "ports count from 0",
            ));
        }
        Ok(Some(TensorId(start + port as u32)))
    }
}

fn check_digest(path: &Path, content: impl Read, expected: &str) -> Result<(), FormatError> {
    match sha256(content).map_err(|error| FormatError::io(path, error))? == expected {
        true => Ok(()),
        false => {
            let message = format!("differs from its SHA-256 in {HEADER_FILE}");
            Err(FormatError::file(path, message).remedy("restore it, or remove [sha256] if the change is meant"))
        }
    }
}
