//! Writes a graph as an Arrow IPC file.

use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, Float64Array, ListArray, RecordBatch, StringArray, StructArray, UInt8Array, UInt32Array, UInt64Array,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};

use crate::format::atomic::write_file;
use crate::format::{FormatError, GraphHeader, values};
use crate::{Categories, DataflowGraph, MeasuredTimes, OpId};

/// Ops in a batch: what the writer holds in memory beside the graph.
const ROWS: usize = 1 << 16;

/// Writes a graph with its header. The same graph gives the same bytes.
pub(super) fn write(path: &Path, header: &GraphHeader, graph: &DataflowGraph) -> Result<(), FormatError> {
    let notes = values::of_header(path, header)?.into_iter().map(|(name, value)| (name, value.text()));
    let columns = columns(graph);
    let fields: Vec<Field> = columns.iter().map(Column::field).collect();
    let schema = Arc::new(Schema::new(fields).with_metadata(notes.collect::<arrow_schema::Metadata>()));
    write_file(path, |out| {
        let mut batches = || -> Result<(), ArrowError> {
            let mut writer = FileWriter::try_new(&mut *out, &schema)?;
            for first in (0..graph.op_count()).step_by(ROWS) {
                let ops = first..graph.op_count().min(first + ROWS);
                let arrays: Result<_, _> = columns.iter().map(|column| column.array(graph, ops.clone())).collect();
                writer.write(&RecordBatch::try_new(schema.clone(), arrays?)?)?;
            }
            writer.finish()?;
            writer.into_inner()?.flush()?;
            Ok(())
        };
        batches().map_err(|error| match error {
            ArrowError::IoError(_, error) => FormatError::io(path, error),
            other => FormatError::file(path, other).remedy("write a graph folder instead"),
        })
    })
}

/// A column of the file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Column<'a> {
    Ops,
    MemoryBytes,
    Kinds,
    Group,
    Seconds(&'a MeasuredTimes),
    BytesMoved,
    Name,
    OpType,
    Layer,
    Attributes,
    TensorBytes,
    Inputs,
}

/// The columns that a graph needs, and those that other programs look for in any.
fn columns(graph: &DataflowGraph) -> Vec<Column<'_>> {
    let mut columns = vec![Column::Ops, Column::MemoryBytes, Column::Kinds, Column::Group];
    columns.extend(graph.measured_times().iter().map(Column::Seconds));
    for (column, present) in [
        (Column::BytesMoved, graph.has_bytes_moved()),
        (Column::Name, graph.has_names()),
        (Column::OpType, graph.op_types().is_some()),
        (Column::Layer, graph.layers().is_some()),
        (Column::Attributes, graph.attributes().is_some()),
    ] {
        columns.extend(present.then_some(column));
    }
    columns.extend([Column::TensorBytes, Column::Inputs]);
    columns
}

/// The fields of an input.
fn input_fields() -> Fields {
    Fields::from(vec![Field::new("source", DataType::UInt32, false), Field::new("port", DataType::UInt32, true)])
}

/// The field of a list's items, named as other writers do.
fn items(content: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", content, false))
}

impl Column<'_> {
    fn field(&self) -> Field {
        let (name, content, nullable) = match self {
            Self::Ops => ("ops", DataType::Float64, false),
            Self::MemoryBytes => ("memory_bytes", DataType::UInt64, false),
            Self::Kinds => ("kinds", DataType::UInt8, false),
            Self::Group => ("group", DataType::UInt32, true),
            Self::Seconds(times) => return Field::new(times.column(), DataType::Float64, true),
            Self::BytesMoved => ("bytes_moved", DataType::Float64, false),
            Self::Name => ("name", DataType::Utf8, false),
            Self::OpType => ("op_type", DataType::Utf8, true),
            Self::Layer => ("layer", DataType::Utf8, true),
            Self::Attributes => ("attributes", DataType::Utf8, true),
            Self::TensorBytes => ("tensor_bytes", DataType::List(items(DataType::UInt64)), false),
            Self::Inputs => ("inputs", DataType::List(items(DataType::Struct(input_fields()))), false),
        };
        Field::new(name, content, nullable)
    }

    fn array(self, graph: &DataflowGraph, range: Range<usize>) -> Result<ArrayRef, ArrowError> {
        let ops = || range.clone().map(OpId::new);
        Ok(match self {
            Self::Ops => Arc::new(Float64Array::from_iter_values(ops().map(|op| graph.ops(op)))),
            Self::MemoryBytes => Arc::new(UInt64Array::from_iter_values(ops().map(|op| graph.memory_bytes(op)))),
            Self::Kinds => Arc::new(UInt8Array::from_iter_values(ops().map(|op| graph.kinds(op).bits()))),
            Self::Group => {
                let groups = ops().map(|op| graph.colocation().group_of(op).map(|group| group.0));
                Arc::new(UInt32Array::from_iter(groups))
            }
            Self::Seconds(times) => Arc::new(Float64Array::from_iter(ops().map(|op| times.of(op)))),
            Self::BytesMoved => Arc::new(Float64Array::from_iter(ops().map(|op| graph.bytes_moved(op)))),
            Self::Name => texts(ops().map(|op| graph.name(op)))?,
            Self::OpType => labels(graph.op_types(), ops())?,
            Self::Layer => labels(graph.layers(), ops())?,
            Self::Attributes => labels(graph.attributes(), ops())?,
            Self::TensorBytes => {
                let ends = offsets(ops().map(|op| graph.outputs(op).count()))?;
                let sizes = ops().flat_map(|op| graph.outputs(op)).map(|tensor| graph.tensor_bytes(tensor));
                let sizes = Arc::new(UInt64Array::from_iter_values(sizes));
                Arc::new(ListArray::try_new(items(DataType::UInt64), ends, sizes, None)?)
            }
            Self::Inputs => {
                let ends = offsets(ops().map(|op| graph.predecessor_ops(op).len()))?;
                let edges = || ops().flat_map(|op| graph.predecessors(op));
                let sources = UInt32Array::from_iter_values(edges().map(|edge| edge.op.0));
                let ports = edges().map(|edge| edge.tensor.map(|tensor| graph.port_of(edge.op, tensor) as u32));
                let fields: Vec<ArrayRef> = vec![Arc::new(sources), Arc::new(UInt32Array::from_iter(ports))];
                let inputs = Arc::new(StructArray::try_new(input_fields(), fields, None)?);
                Arc::new(ListArray::try_new(items(DataType::Struct(input_fields())), ends, inputs, None)?)
            }
        })
    }
}

/// Where each list or text ends.
fn offsets(lengths: impl Iterator<Item = usize>) -> Result<OffsetBuffer<i32>, ArrowError> {
    let mut ends = vec![0i32];
    let mut end = 0;
    for length in lengths {
        end += length;
        ends.push(i32::try_from(end).map_err(|_| {
            ArrowError::InvalidArgumentError(format!("{ROWS} ops have more text, tensors or edges than 2^31"))
        })?);
    }
    Ok(OffsetBuffer::new(ScalarBuffer::from(ends)))
}

fn labels(labels: Option<&Categories>, ops: impl Iterator<Item = OpId> + Clone) -> Result<ArrayRef, ArrowError> {
    texts(ops.map(|op| labels.and_then(|labels| labels.get(op.index()))))
}

fn texts<'a>(texts: impl Iterator<Item = Option<&'a str>> + Clone) -> Result<ArrayRef, ArrowError> {
    let ends = offsets(texts.clone().map(|text| text.map_or(0, str::len)))?;
    let content: String = texts.clone().flatten().collect();
    let nulls = NullBuffer::from_iter(texts.map(|text| text.is_some()));
    let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
    Ok(Arc::new(StringArray::try_new(ends, Buffer::from_vec(content.into_bytes()), nulls)?))
}
