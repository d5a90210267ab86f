//! Writes the native folder, whole or row by row.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use super::schema::{EDGES, HEADER_FILE, OPS, TENSORS, edges, ops, seconds, tensors};
use super::table_write::TableWriter;
use crate::format::atomic::PartialFolder;
use crate::format::header::{Counts, Digests, HeaderFile};
use crate::format::text::counted;
use crate::format::{FormatError, GraphHeader};
use crate::{DataflowGraph, GroupId, MeasuredTimes, OpId, OpSpec};

/// Rows in a row group: what a writer holds in memory, 8 to 24 bytes each.
const GROUP_ROWS: usize = 1 << 20;

/// The optional columns of a graph, which a [`NativeWriter`] must know beforehand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeColumns {
    /// The classes of devices with measured times, ascending.
    pub classes: Vec<String>,
    /// Whether ops say how many bytes they move.
    pub bytes_moved: bool,
    /// Whether ops have names.
    pub names: bool,
    /// Whether ops have types.
    pub types: bool,
    /// Whether ops have layers.
    pub layers: bool,
    /// Whether ops have attributes.
    pub attributes: bool,
}

impl NativeColumns {
    fn of(graph: &DataflowGraph) -> Self {
        Self {
            classes: graph.measured_times().iter().map(MeasuredTimes::class).map(str::to_owned).collect(),
            bytes_moved: graph.has_bytes_moved(),
            names: graph.has_names(),
            types: graph.op_types().is_some(),
            layers: graph.layers().is_some(),
            attributes: graph.attributes().is_some(),
        }
    }
}

/// Writes a graph to a native folder.
///
/// The folder appears complete or not at all; a graph folder that is there already is replaced. The same graph gives
/// the same bytes.
///
/// # Errors
/// If the folder cannot be written, or a file or a folder that is no graph folder is there.
///
/// # Complexity
/// O(ops + edges); one row group in memory.
pub fn write_native(path: impl AsRef<Path>, header: &GraphHeader, graph: &DataflowGraph) -> Result<(), FormatError> {
    let mut writer = NativeWriter::create(path, NativeColumns::of(graph))?;
    // With one tensor for each op, the producer of an edge, which may be anywhere in memory, need not be looked up.
    let only_port = graph.has_one_tensor_per_op().then_some(0);
    let (mut outputs, mut times) = (Vec::new(), Vec::new());
    for op in graph.op_ids() {
        outputs.clear();
        outputs.extend(graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor)));
        writer.push_op(&graph.spec(op, &mut times), graph.colocation().group_of(op), &outputs)?;
        for edge in graph.predecessors(op) {
            writer.push_edge(
                edge.op,
                edge.tensor.map(|tensor| only_port.unwrap_or_else(|| graph.port_of(edge.op, tensor))),
                op,
            )?;
        }
    }
    writer.finish(header)
}

/// Writes a native folder op by op and edge by edge, in bounded memory: for graphs that do not fit into memory.
///
/// The folder appears, complete, when [`NativeWriter::finish`] returns. A writer that is dropped before leaves no
/// files.
///
/// # Example
/// ```
/// use placebench_datasets::format::{GraphHeader, NativeColumns, NativeWriter, read_native};
/// use placebench_datasets::{OpId, OpSpec};
/// # let folder = std::env::temp_dir().join(format!("placebench-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// let mut writer = NativeWriter::create(folder.join("pair"), NativeColumns::default())?;
/// let a = writer.push_op(&OpSpec::cost(3.0), None, &[8])?;
/// let b = writer.push_op(&OpSpec::cost(4.0), None, &[])?;
/// writer.push_edge(a, Some(0), b)?;
/// writer.finish(&GraphHeader::named("pair"))?;
/// let (header, graph) = read_native(folder.join("pair"))?;
/// assert_eq!((header.name.as_str(), graph.edge_count()), ("pair", 1));
/// # std::fs::remove_dir_all(folder).unwrap();
/// # Ok::<(), placebench_datasets::format::FormatError>(())
/// ```
pub struct NativeWriter {
    // The writers close their files before the folder goes.
    ops: TableWriter,
    tensors: TableWriter,
    edges: TableWriter,
    columns: NativeColumns,
    folder: PartialFolder,
    /// The target of the last edge, and whether that was a control edge.
    last: Option<(OpId, bool)>,
    /// The largest op that an edge names.
    largest: Option<OpId>,
}

impl NativeWriter {
    /// Starts a folder that will appear at `path`.
    ///
    /// # Errors
    /// If nothing can be written beside `path`, or a file or a folder that is no graph folder is there.
    pub fn create(path: impl AsRef<Path>, columns: NativeColumns) -> Result<Self, FormatError> {
        Self::with_group_rows(path.as_ref(), columns, GROUP_ROWS)
    }

    pub(super) fn with_group_rows(path: &Path, columns: NativeColumns, rows: usize) -> Result<Self, FormatError> {
        let folder = PartialFolder::create(path, is_replaceable)?;
        let of_ops = |position: usize| OPS.columns[position].clone();
        let mut op_columns: Vec<_> = [ops::OPS, ops::MEMORY_BYTES, ops::KINDS, ops::GROUP].map(of_ops).into();
        op_columns.extend(columns.classes.iter().map(|class| seconds(class)));
        for (position, present) in [
            (ops::BYTES_MOVED, columns.bytes_moved),
            (ops::NAME, columns.names),
            (ops::OP_TYPE, columns.types),
            (ops::LAYER, columns.layers),
            (ops::ATTRIBUTES, columns.attributes),
        ] {
            op_columns.extend(present.then(|| of_ops(position)));
        }
        Ok(Self {
            ops: TableWriter::create(&folder, OPS.file, op_columns, rows)?,
            tensors: TableWriter::create(&folder, TENSORS.file, TENSORS.columns.to_vec(), rows)?,
            edges: TableWriter::create(&folder, EDGES.file, EDGES.columns.to_vec(), rows)?,
            columns,
            folder,
            last: None,
            largest: None,
        })
    }

    /// Appends an op with one output port for each size in `outputs` (bytes). Ids count up from 0. Ops of one `group`
    /// are colocated; its number must be below the number of ops in the end.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn push_op(&mut self, op: &OpSpec<'_>, group: Option<GroupId>, outputs: &[u64]) -> Result<OpId, FormatError> {
        let id = OpId(u32::try_from(self.ops.row_count).map_err(|_| self.too_many("ops"))?);
        let cells = &mut self.ops.cells;
        cells[ops::OPS].push_f64(op.ops);
        cells[ops::MEMORY_BYTES].push_u64(op.memory_bytes);
        cells[ops::KINDS].push_u32(op.kinds.bits().into());
        cells[ops::GROUP].push_optional_u32(group.map(|group| group.0));
        let columns = &self.columns;
        let mut rest = cells[ops::GROUP + 1..].iter_mut();
        for (class, cells) in columns.classes.iter().zip(&mut rest) {
            let time = op.times.iter().rev().find(|(of, _)| of == class);
            cells.push_optional_f64(time.map(|&(_, time)| time));
        }
        // Absent columns shift those that follow.
        if columns.bytes_moved
            && let Some(cells) = rest.next()
        {
            cells.push_f64(op.bytes_moved.unwrap_or(0.0));
        }
        for (text, present) in [
            (op.name, columns.names),
            (op.op_type, columns.types),
            (op.layer, columns.layers),
            (op.attributes, columns.attributes),
        ] {
            if present && let Some(cells) = rest.next() {
                cells.push_optional_text(text);
            }
        }
        self.ops.end_row()?;
        for (port, &bytes) in outputs.iter().enumerate() {
            let cells = &mut self.tensors.cells;
            cells[tensors::PRODUCER].push_u32(id.0);
            cells[tensors::PORT].push_u32(port as u32);
            cells[tensors::BYTES].push_u64(bytes);
            self.tensors.end_row()?;
        }
        Ok(id)
    }

    /// Appends an edge that carries output `port` of `source`, or nothing (a control edge). Targets ascend; a target's
    /// edges come in the order of its inputs, control edges last. The ops themselves may be pushed later.
    ///
    /// # Errors
    /// If edges come in another order, or the file cannot be written.
    pub fn push_edge(&mut self, source: OpId, port: Option<usize>, target: OpId) -> Result<(), FormatError> {
        if self.last.is_some_and(|last| (target, port.is_none()) < last) {
            let message = format!("edge {} comes too late", self.edges.row_count);
            return Err(self.fault(message).remedy("sort edges by target, each target's control edges last"));
        }
        let port = port.map(u32::try_from).transpose().map_err(|_| self.too_many("output ports"))?;
        self.last = Some((target, port.is_none()));
        self.largest = self.largest.max(Some(source.max(target)));
        let cells = &mut self.edges.cells;
        cells[edges::SOURCE].push_u32(source.0);
        cells[edges::PORT].push_optional_u32(port);
        cells[edges::TARGET].push_u32(target.0);
        self.edges.end_row()
    }

    /// Writes the header and puts the folder in its place.
    ///
    /// # Errors
    /// If an edge names an op that was never pushed, or the folder cannot be written.
    pub fn finish(self, header: &GraphHeader) -> Result<(), FormatError> {
        let counts = Counts { ops: self.ops.row_count, tensors: self.tensors.row_count, edges: self.edges.row_count };
        if let Some(op) = self.largest.filter(|op| u64::from(op.0) >= counts.ops) {
            let message = format!("an edge names op {op}, but there came {}", counted(counts.ops, "op"));
            return Err(self.fault(message).remedy("push every op"));
        }
        let digests = Digests { ops: self.ops.finish()?, tensors: self.tensors.finish()?, edges: self.edges.finish()? };
        let shown = self.folder.target().join(HEADER_FILE);
        let text = HeaderFile::new(header, counts, digests).to_toml(&shown)?;
        File::create(self.folder.path().join(HEADER_FILE))
            .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
            .map_err(|error| FormatError::io(&shown, error))?;
        self.folder.commit()
    }

    fn fault(&self, message: String) -> FormatError {
        FormatError::file(self.edges.path(), message)
    }

    fn too_many(&self, what: &str) -> FormatError {
        self.fault(format!("more {what} than 32-bit ids can count")).remedy("split the graph")
    }
}

/// Whether a writer may replace what stands at a path: a graph folder or an empty one.
fn is_replaceable(path: &Path) -> bool {
    path.join(HEADER_FILE).is_file() || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::read_native;

    fn entries(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_graph_of_many_row_groups_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("chain");
        let classes = vec!["gpu".to_owned()];
        let columns = NativeColumns { names: true, classes, ..NativeColumns::default() };
        let mut writer = NativeWriter::with_group_rows(&path, columns, 1000).unwrap();
        // More ops than a reader takes at a time.
        let n = 300_000u32;
        for op in 0..n {
            let name = format!("op{op}");
            let times = [("gpu", f64::from(op))];
            let times = if op % 3 == 0 { &times[..] } else { &[] };
            let spec = OpSpec { name: Some(&name), times, ..OpSpec::cost(f64::from(op)) };
            let id = writer.push_op(&spec, (op % 1000 < 2).then_some(GroupId(op / 1000)), &[u64::from(op)]).unwrap();
            if op > 0 {
                writer.push_edge(OpId(op - 1), (op % 5 > 0).then_some(0), id).unwrap();
            }
        }
        writer.finish(&GraphHeader::named("chain")).unwrap();
        let (_, graph) = read_native(&path).unwrap();
        assert_eq!((graph.op_count(), graph.edge_count()), (n as usize, n as usize - 1));
        assert_eq!((graph.control_edge_count(), graph.colocation().group_count()), (59_999, 300));
        let last = OpId(n - 1);
        assert_eq!((graph.name(last), graph.ops(last)), (Some("op299999"), 299_999.0));
        let times = graph.measured_on("gpu").unwrap();
        assert_eq!((times.of(OpId(299_997)), times.of(last)), (Some(299_997.0), None));
        assert_eq!(graph.predecessor_ops(last), [OpId(n - 2)]);
    }

    #[test]
    fn an_unfinished_writer_leaves_nothing_and_faults_name_the_file_to_be() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g");
        let shown = |error: FormatError| error.to_string().replace(&format!("{}/", folder.path().display()), "");
        let mut writer = NativeWriter::create(&path, NativeColumns::default()).unwrap();
        writer.push_op(&OpSpec::cost(1.0), None, &[8]).unwrap();
        writer.push_edge(OpId(0), Some(0), OpId(2)).unwrap();
        assert_eq!(
            shown(writer.push_edge(OpId(0), Some(0), OpId(1)).unwrap_err()),
            "g/edges.parquet: edge 1 comes too late: sort edges by target, each target's control edges last"
        );
        assert_eq!(
            shown(writer.finish(&GraphHeader::default()).unwrap_err()),
            "g/edges.parquet: an edge names op 2, but there came 1 op: push every op"
        );
        assert_eq!(entries(folder.path()), 0);
        let error = NativeWriter::create(folder.path().join("no/g"), NativeColumns::default()).map(|_| ()).unwrap_err();
        assert_eq!(shown(error), "no/g: no such file or directory");
    }
}
