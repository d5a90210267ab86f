//! Arrow IPC files: what pyarrow and Polars write is read, and what is damaged or senseless is refused in one line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int64Array, ListArray, NullArray, RecordBatch, StringArray,
    StructArray, UInt32Array, UInt64Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

use placebench_datasets::format::{FormatError, GraphFile, GraphHeader, ReadOptions, read_graph_with, write_graph};
use placebench_datasets::{DataflowGraph, GraphBuilder, Kind, KindSet, OpId, OpSpec};

fn read(path: &Path) -> Result<GraphFile, FormatError> {
    read_graph_with(path, &ReadOptions::default())
}

/// Three ops: what the files in `tests/arrow` hold, which pyarrow 26 and Polars 2 for Python wrote.
fn tiny() -> DataflowGraph {
    let mut builder = GraphBuilder::default();
    let gpu = KindSet::only(Kind::Gpu);
    let split = OpSpec { name: Some("split"), op_type: Some("Split"), ..OpSpec::cost(3.0) };
    builder.add_op(split, &[8, 16]);
    builder.add_op(OpSpec { name: Some("w"), kinds: gpu, times: &[("gpu", 0.25)], ..OpSpec::cost(5.0) }, &[4]);
    let kinds = gpu.union(KindSet::only(Kind::Cpu));
    builder.add_op(OpSpec { name: Some("sum"), op_type: Some("Add"), kinds, ..OpSpec::cost(0.5) }, &[]);
    builder.colocate(OpId(1), OpId(2)).unwrap();
    builder.add_edge(OpId(0), 1, OpId(1)).unwrap();
    builder.add_edge(OpId(0), 0, OpId(1)).unwrap();
    builder.add_edge(OpId(1), 0, OpId(2)).unwrap();
    builder.add_control_edge(OpId(0), OpId(2)).unwrap();
    builder.build().unwrap()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/arrow").join(name)
}

#[test]
fn files_of_pyarrow_and_polars_are_read_whatever_their_types_and_compression() {
    for name in ["pyarrow_lz4.feather", "pyarrow_zstd.feather", "polars.arrow"] {
        let file = read(&fixture(name)).unwrap();
        assert!(file.graph == tiny(), "{name}: {:?}", file.graph);
        if name.starts_with("pyarrow") {
            assert_eq!((file.header.name.as_str(), file.header.units.ops.as_str()), ("tiny", "flops"));
        }
    }
}

#[test]
fn a_graph_of_many_batches_comes_back_and_has_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let [path, again] = ["g.arrow", "again.arrow"].map(|name| folder.path().join(name));
    let mut builder = GraphBuilder::default();
    let n = 150_000u32;
    for op in 0..n {
        let (name, layer) = (format!("op{op}"), (op % 7 == 0).then_some("a"));
        builder.add_op(OpSpec { name: Some(&name), layer, ..OpSpec::cost(f64::from(op)) }, &[u64::MAX - u64::from(op)]);
    }
    for op in 1..n {
        builder.add_edge(OpId(op / 3), 0, OpId(op)).unwrap();
        if op % 5 == 0 {
            builder.add_control_edge(OpId(op - 1), OpId(op)).unwrap();
        }
    }
    let graph = builder.build().unwrap();
    write_graph(&path, &GraphHeader::named("g"), &graph).unwrap();
    let file = read(&path).unwrap();
    assert!(file.graph == graph);
    write_graph(&again, &file.header, &file.graph).unwrap();
    assert!(std::fs::read(path).unwrap() == std::fs::read(again).unwrap());
}

/// The columns of two ops: the second reads the first.
fn good() -> Vec<(&'static str, ArrayRef)> {
    vec![
        ("ops", Arc::new(Float64Array::from(vec![1.0, 2.0]))),
        ("tensor_bytes", lists(vec![Some(8)], &[1, 0])),
        ("inputs", inputs(vec![Some(0)], vec![Some(0)])),
    ]
}

fn lists(items: Vec<Option<i64>>, lengths: &[usize]) -> ArrayRef {
    list_of(Arc::new(Int64Array::from(items)), lengths)
}

fn list_of(items: ArrayRef, lengths: &[usize]) -> ArrayRef {
    let field = arrow_schema::Field::new("item", items.data_type().clone(), true);
    let offsets = arrow_buffer::OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(Arc::new(field), offsets, items, None))
}

/// The inputs of the second op.
fn inputs(sources: Vec<Option<u64>>, ports: Vec<Option<i64>>) -> ArrayRef {
    let count = sources.len();
    let fields: Vec<(&str, ArrayRef)> =
        vec![("source", Arc::new(UInt64Array::from(sources))), ("port", Arc::new(Int64Array::from(ports)))];
    list_of(Arc::new(StructArray::from(RecordBatch::try_from_iter(fields).unwrap())), &[0, count])
}

fn save(path: &Path, columns: Vec<(&str, ArrayRef)>, compression: Option<CompressionType>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
    let mut file = FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
    file.write(&batch).unwrap();
    file.finish().unwrap();
    std::fs::write(path, file.into_inner().unwrap()).unwrap();
}

/// The error of a file with these columns.
fn fault(columns: Vec<(&str, ArrayRef)>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.arrow");
    save(&path, columns, None);
    read(&path).map(|_| ()).unwrap_err().to_string().replace(&format!("{}/", folder.path().display()), "")
}

/// [`good`] with another column, or without one.
fn with(name: &'static str, column: Option<ArrayRef>) -> Vec<(&'static str, ArrayRef)> {
    let mut columns = good();
    columns.retain(|(known, _)| *known != name);
    columns.extend(column.map(|column| (name, column)));
    columns
}

#[test]
fn a_column_of_nulls_takes_no_bytes_and_is_not_believed() {
    let nulls = || Arc::new(NullArray::new(1 << 40)) as ArrayRef;
    let said = fault(vec![("ops", nulls()), ("tensor_bytes", nulls()), ("inputs", nulls())]);
    assert!(said.starts_with("g.arrow: a batch of 1099511627776 rows takes about 176 TB of memory, and "), "{said}");
}

#[test]
fn what_is_wrong_in_a_column_is_said_in_one_line() {
    let texts = |texts: Vec<Option<&str>>| Some(Arc::new(StringArray::from(texts)) as ArrayRef);
    let ints = |ints: Vec<Option<i64>>| Some(Arc::new(Int64Array::from(ints)) as ArrayRef);
    let plain: ArrayRef = Arc::new(StructArray::from(vec![(
        Arc::new(arrow_schema::Field::new("source", arrow_schema::DataType::UInt32, false)),
        Arc::new(UInt32Array::from(vec![0])) as ArrayRef,
    )]));
    for (columns, expected) in [
        (with("op", ints(vec![Some(1), Some(2)])), "column 'op': is not part of the format: did you mean 'ops'?"),
        (with("inputs", None), "column 'inputs': is missing: add it"),
        (
            with("ops", ints(vec![Some(1), Some(2)])),
            "column 'ops': holds Int64 where floating-point numbers are expected",
        ),
        (
            with("ops", Some(Arc::new(Float64Array::from(vec![Some(1.0), None])))),
            "column 'ops': is null in row 1: give it a value",
        ),
        (with("ops", Some(Arc::new(Float64Array::from(vec![1.0, -2.0])))), "op 1 costs -2"),
        (with("memory_bytes", ints(vec![Some(1), Some(-2)])), "column 'memory_bytes': holds -2, which is negative"),
        (with("memory_bytes", ints(vec![None, Some(2)])), "column 'memory_bytes': is null in row 0: give it a value"),
        (with("kinds", ints(vec![Some(7), Some(9)])), "op 1: its kinds are 9, which has bits beyond CPU = 1"),
        (with("name", texts(vec![Some("a"), Some("a")])), "either every op has a name of its own or none has ('a')"),
        (with("name", texts(vec![Some("a"), None])), "either every op has a name of its own or none has"),
        (with("layer", ints(vec![None, None])), "column 'layer': holds Int64 where texts are expected"),
        (
            with("tensor_bytes", ints(vec![Some(1), None])),
            "column 'tensor_bytes': holds Int64 where lists are expected",
        ),
        (with("tensor_bytes", Some(lists(vec![None], &[1, 0]))), "column 'tensor_bytes': has a null within a list"),
        (with("inputs", Some(lists(vec![Some(0)], &[0, 1]))), "write lists of structs with 'source' and 'port'"),
        (with("inputs", Some(list_of(plain, &[0, 1]))), "field of 'inputs' 'port': is missing: add it"),
        (
            with("inputs", Some(inputs(vec![Some(7)], vec![Some(0)]))),
            "op 1: one of its inputs: edge names op 7, but there are only 2 ops: ops and ports count from 0",
        ),
        (with("inputs", Some(inputs(vec![Some(0)], vec![Some(3)]))), "edge names output 3 of op 0, which has 1"),
        (
            with("inputs", Some(inputs(vec![Some(1 << 40)], vec![Some(3)]))),
            "op 1: the source of an input is 1099511627776",
        ),
        (with("inputs", Some(inputs(vec![None], vec![Some(3)]))), "column 'inputs': has a null within a list"),
        (with("inputs", Some(inputs(vec![Some(1)], vec![None]))), "the graph has a cycle through op 1"),
    ] {
        let message = fault(columns);
        assert!(message.starts_with("g.arrow: ") && message.contains(expected), "{message}\n   lacks   {expected}");
    }
}

#[test]
fn columns_without_any_value_count_as_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.arrow");
    let empty = StringArray::from(Vec::<&str>::new());
    let keys = arrow_array::Int32Array::from(vec![None, None]);
    let categories = DictionaryArray::<Int32Type>::new(keys, Arc::new(empty));
    let mut columns = with("layer", Some(Arc::new(NullArray::new(2))));
    columns.push(("op_type", Arc::new(categories)));
    save(&path, columns, None);
    let graph = read(&path).unwrap().graph;
    save(&path, good(), None);
    assert!(graph == read(&path).unwrap().graph);
    assert_eq!((graph.op_count(), graph.kinds(OpId(0)), graph.layers().is_some()), (2, KindSet::ALL, false));
}

#[test]
fn damaged_files_and_streams_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.arrow");
    let message = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        read(&path).map(|_| ()).unwrap_err().to_string().replace(&format!("{}/", folder.path().display()), "")
    };
    let batch = RecordBatch::try_from_iter(good()).unwrap();
    let mut stream = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    stream.write(&batch).unwrap();
    stream.finish().unwrap();
    let remedy = "restore it, or write it again in the file format, not as a stream";
    for bytes in [&stream.into_inner().unwrap()[..], b"", b"ARROW1"] {
        let message = message(bytes);
        assert!(
            message.starts_with("g.arrow: is no readable Arrow IPC file (") && message.ends_with(remedy),
            "{message}"
        );
    }
    save(&path, good(), None);
    let bytes = std::fs::read(&path).unwrap();
    for end in (0..bytes.len()).step_by(7) {
        assert!(message(&bytes[..end]).contains("is no readable Arrow IPC file"), "{end}");
    }
}

#[test]
fn a_compressed_buffer_cannot_claim_more_than_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.arrow");
    for compression in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let many = 100_000;
        let columns = vec![
            ("ops", Arc::new(Float64Array::from(vec![1.0; many])) as ArrayRef),
            ("tensor_bytes", lists(Vec::new(), &vec![0; many])),
            ("inputs", {
                let none: Vec<(&str, ArrayRef)> = vec![
                    ("source", Arc::new(UInt64Array::from(Vec::<u64>::new()))),
                    ("port", Arc::new(UInt64Array::from(Vec::<u64>::new()))),
                ];
                let none = StructArray::from(RecordBatch::try_from_iter(none).unwrap());
                list_of(Arc::new(none), &vec![0; many])
            }),
        ];
        save(&path, columns, Some(compression));
        assert_eq!(read(&path).unwrap().graph.op_count(), many, "equal numbers compress well, and are read");
        let mut bytes = std::fs::read(&path).unwrap();
        let claim = (many as u64 * 8).to_le_bytes();
        let at = bytes.windows(8).position(|window| window == claim).unwrap();
        bytes[at..at + 8].copy_from_slice(&(1u64 << 60).to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
        let message = read(&path).map(|_| ()).unwrap_err().to_string();
        assert!(message.contains("bytes claims to hold 1152921504606846976"), "{message}");
    }
}
