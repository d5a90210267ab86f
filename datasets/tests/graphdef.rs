//! GraphDef files as users have them: made by TensorFlow, written by us, and broken in every way that we could think of.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use placebench_datasets::format::graphdef::{
    Encoding, ImportReport, parse_graph_def, read_extraction, read_graph_def, write_graph_def,
};
use placebench_datasets::format::{LoopPolicy, ReadOptions, read_graph};
use placebench_datasets::{DataflowGraph, GraphBuilder, Kind, KindSet, OpId, OpSpec};
use proptest::prelude::*;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graphdef").join(name)
}

fn encoding(path: &Path) -> Encoding {
    if path.extension().is_some_and(|extension| extension == "pb") { Encoding::Binary } else { Encoding::Text }
}

fn read(path: &Path, options: &ReadOptions) -> (DataflowGraph, ImportReport) {
    read_graph_def(path, encoding(path), options).unwrap()
}

fn by_name(graph: &DataflowGraph) -> BTreeMap<String, OpId> {
    graph.op_ids().map(|op| (graph.name(op).unwrap().to_owned(), op)).collect()
}

#[test]
fn every_broken_file_is_refused_with_one_line_that_says_where_and_why() {
    let folder = fixture("bad");
    let expected = fs::read_to_string(folder.join("expected.txt")).unwrap();
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension != "txt"));
    files.sort();
    let prefix = format!("{}/", folder.display());
    let messages: Vec<String> = files
        .iter()
        .map(|path| match read_graph(path) {
            Ok(_) => format!("{} was accepted", path.display()),
            Err(error) => error.to_string().replace(&prefix, ""),
        })
        .collect();
    let (mut messages, mut expected): (Vec<_>, Vec<_>) = (messages, expected.lines().collect());
    messages.sort();
    expected.sort();
    assert_eq!(messages, expected);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = read_graph("gone.pb").unwrap_err();
    assert_eq!(error.to_string(), "gone.pb: no such file or directory");
}

#[test]
fn a_training_step_has_the_sizes_kinds_groups_and_edges_that_tensorflow_gives_it() {
    let (graph, report) = read(&fixture("model.pbtxt"), &ReadOptions::default());
    let ops = by_name(&graph);
    assert_eq!((report.nodes, report.data_edges, report.control_edges), (58, 65, 14));
    assert_eq!((report.class_colocated, report.unknown_sizes, report.dropped_edges), (29, 0, 0));
    assert_eq!((graph.op_count(), graph.edge_count(), graph.control_edge_count()), (58, 79, 14));
    assert_eq!(graph.kinds(ops["x"]), KindSet::only(Kind::Cpu));
    assert_eq!(graph.kinds(ops["w"]), KindSet::only(Kind::Gpu));
    assert_eq!(graph.kinds(ops["text"]), KindSet::only(Kind::Cpu), "text exists on the CPU alone");
    assert_eq!(graph.kinds(ops["matmul"]), KindSet::ALL);
    assert_eq!(graph.outputs(ops["split"]).map(|t| graph.tensor_bytes(t)).collect::<Vec<_>>(), [64, 64]);
    assert_eq!(graph.memory_bytes(ops["w"]), 16 * 4 * 4);
    let group = |name: &str| graph.colocation().group_of(ops[name]);
    assert!(group("w").is_some());
    for name in ["w/Assign", "w/read", "w/Adam", "w/Adam_1", "step/update_w/ApplyAdam"] {
        assert_eq!(group(name), group("w"), "{name}");
    }
    let product: Vec<_> =
        graph.predecessors(ops["mul"]).map(|edge| (edge.op, graph.port(edge.tensor.unwrap()))).collect();
    assert_eq!(product, [(ops["split"], 0), (ops["split"], 1)]);
}

#[test]
fn handles_of_variables_tie_all_that_use_them_together_unless_told_otherwise() {
    let strip = |graph: &DataflowGraph| graph.colocation().colocated_op_count();
    let (tied, report) = read(&fixture("resource.pb"), &ReadOptions::default());
    let (loose, _) = read(&fixture("resource.pb"), &ReadOptions { no_references: true, ..ReadOptions::default() });
    assert_eq!((report.nodes, report.reference_edges), (70, 27));
    assert!(strip(&tied) > strip(&loose));
    let ops = by_name(&tied);
    let group = |graph: &DataflowGraph, name: &str| graph.colocation().group_of(ops[name]);
    assert_eq!(group(&tied, "w/Read/ReadVariableOp"), group(&tied, "w"));
    assert_ne!(group(&loose, "matmul/ReadVariableOp"), group(&loose, "w"));
    assert_eq!(group(&tied, "matmul/ReadVariableOp"), group(&tied, "w"));
}

#[test]
fn the_loops_of_tensorflow_open_at_next_iteration_and_at_nothing_else() {
    let policy = |cycles| ReadOptions { cycles: Some(cycles), ..ReadOptions::default() };
    let (opened, report) = read(&fixture("loop.pb"), &policy(LoopPolicy::NextIteration));
    assert_eq!(report.dropped_edges, 2, "one for each loop variable");
    let ops = by_name(&opened);
    let into: Vec<OpId> = opened.predecessors(ops["while/Merge"]).map(|edge| edge.op).collect();
    assert_eq!(into, [ops["while/Enter"]]);
    let (dropped, report) = read(&fixture("loop.pb"), &policy(LoopPolicy::Drop));
    assert_eq!((report.dropped_edges, dropped.edge_count()), (2, opened.edge_count()));
    let (strict, lenient) = (fixture("bad/cycle.pb"), policy(LoopPolicy::NextIteration));
    assert!(
        read_graph_def(&strict, Encoding::Binary, &lenient)
            .unwrap_err()
            .to_string()
            .contains("has a cycle through op 'a'")
    );
}

#[test]
fn text_and_binary_of_one_graph_read_alike() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, _) = read(&fixture("model.pbtxt"), &ReadOptions::default());
    let paths = ["a.pb", "a.pbtxt"].map(|name| folder.path().join(name));
    for path in &paths {
        write_graph_def(path, encoding(path), &graph).unwrap();
    }
    let options = ReadOptions { no_references: true, ..ReadOptions::default() };
    let [binary, text] = paths.map(|path| read(&path, &options));
    assert_eq!(binary, text);
    assert_eq!(binary.0, graph);
}

/// The attributes of each node of a text by its name.
fn attributes_of(text: &str) -> BTreeMap<String, Option<String>> {
    let path = Path::new("a.pbtxt");
    let (graph, _) = parse_graph_def(path, text.into(), Encoding::Text, &ReadOptions::default()).unwrap();
    let of = |op: OpId| graph.attributes().and_then(|attributes| attributes.get(op.index())).map(str::to_owned);
    by_name(&graph).into_iter().map(|(name, op)| (name, of(op))).collect()
}

#[test]
fn nodes_of_equal_public_attributes_have_equal_attributes() {
    let constant = |name: &str, value: &str, first: &str, last: &str| {
        let (dtype, value) = (
            "attr { key: 'dtype' value { type: DT_FLOAT } }",
            format!("attr {{ key: 'value' value {{ tensor {{ dtype: DT_FLOAT float_val: {value} }} }} }}"),
        );
        format!("node {{ name: '{name}' op: 'Const' {first} {value} {dtype} {last} }}\n")
    };
    let shapes = "attr { key: '_output_shapes' value { list { shape { } } } }";
    let class = "attr { key: '_class' value { list { s: 'loc:@a' } } }";
    let mut text = constant("a", "1.5", "", "") + &constant("b", "1.5", shapes, class) + &constant("c", "2.5", "", "");
    text += "node { name: 'd' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
        attr { key: 'value' value { tensor { float_val: 1.5 dtype: DT_FLOAT } } } }
        node { name: 'e' op: 'Add' attr { key: 'T' value { type: DT_FLOAT } } }
        node { name: 'f' op: 'Add' attr { key: 'T' value { type: DT_INT32 } } }
        node { name: 'g' op: 'NoOp' } node { name: 'h' op: 'Add' attr { key: '_placebench_ops' value { s: '3' } } }
        node { name: 'i' op: 'Add' attr { key: 'T' value { type: DT_FLOAT } }
            attr { key: '_placebench_attributes' value { s: 'mine' } } }";
    let of = attributes_of(&text);
    assert_eq!(of["a"].as_deref().unwrap().len(), 16);
    assert!(of["a"].as_deref().unwrap().bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!((&of["b"], &of["d"]), (&of["a"], &of["a"]), "private attributes and their order say nothing");
    assert_ne!(of["c"], of["a"], "another value");
    assert_ne!(of["e"], of["f"]);
    assert_eq!((&of["g"], &of["h"]), (&None, &None), "without a public attribute nothing is known");
    assert_eq!(of["i"].as_deref(), Some("mine"));
    let empty = |size: u32| {
        let shape = format!("tensor_shape {{ dim {{ size: {size} }} }}");
        attributes_of(&format!(
            "node {{ name: 'x' op: 'Const' attr {{ key: 'value' value {{ tensor {{ dtype: DT_FLOAT {shape} }} }} }} }}"
        ))
    };
    assert_eq!(empty(9)["x"], None, "its content was left out");
    assert!(empty(0)["x"].is_some());
}

/// What equals what is kept, and ops of two types never share a number.
#[test]
fn attributes_can_be_numbered() {
    let mut builder = GraphBuilder::default();
    for (op_type, attributes) in
        [("Add", Some("x")), ("Mul", Some("x")), ("Add", None), ("Add", Some("y")), ("Add", Some("x"))]
    {
        builder.add_op(OpSpec { op_type: Some(op_type), attributes, ..OpSpec::default() }, &[]);
    }
    let graph = builder.build().unwrap();
    let texts = |graph: &DataflowGraph| -> Vec<Option<String>> {
        let attributes = graph.attributes().unwrap();
        graph.op_ids().map(|op| attributes.get(op.index()).map(str::to_owned)).collect()
    };
    let numbered = graph.clone().with_numbered_attributes();
    let expected = [Some("0"), Some("1"), None, Some("2"), Some("0")].map(|text| text.map(str::to_owned));
    assert_eq!(texts(&numbered), expected);
    assert_eq!(texts(&numbered.clone().with_numbered_attributes()), expected);
    assert_eq!(numbered.with_attributes(graph.attributes().cloned()).unwrap(), graph);
    let bare = graph.clone().with_attributes(None).unwrap();
    assert!(bare.attributes().is_none() && bare.with_numbered_attributes().attributes().is_none());
    assert!(graph.with_attributes(Some(Default::default())).is_err(), "an entry for each op");
}

/// A function within an attribute has attributes of its own, in any order.
#[test]
fn the_order_of_attributes_within_attributes_is_none() {
    let node = |inner: [&str; 2]| {
        let [first, last] = inner.map(|name| format!("attr {{ key: '{name}' value {{ i: 1 }} }}"));
        attributes_of(&format!(
            "node {{ name: 'x' op: 'Map' attr {{ key: 'f' value {{ func {{ name: 'g' {first} {last} }} }} }} }}"
        ))
    };
    assert_eq!(node(["a", "b"]), node(["b", "a"]));
    assert_ne!(node(["a", "b"]), node(["a", "c"]));
}

#[test]
fn a_name_that_tensorflow_would_misread_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut builder = GraphBuilder::default();
    builder.add_op(OpSpec { name: Some("a:1"), ..OpSpec::default() }, &[]);
    let path = folder.path().join("a.pb");
    let error = write_graph_def(&path, Encoding::Binary, &builder.build().unwrap()).unwrap_err();
    assert_eq!(
        error.message(),
        "the op named 'a:1' cannot be written: in a GraphDef a name has no ':' and no leading '^'"
    );
    assert!(!path.exists());
}

#[test]
fn messages_may_nest_deep_and_a_million_levels_do_not_exhaust_the_stack() {
    let parse = |name: &str, content: Vec<u8>| {
        parse_graph_def(Path::new(name), content, encoding(Path::new(name)), &ReadOptions::default())
    };
    let text = |levels| {
        let (open, close) = ("attr { value { func { ".repeat(levels), "} } } ".repeat(levels));
        format!("node {{ name: 'a' {open} {close} }}").into_bytes()
    };
    assert!(parse("a.pbtxt", text(13)).is_ok());
    let error = parse("a.pbtxt", text(300_000)).unwrap_err();
    assert_eq!(error.to_string(), "a.pbtxt:1: messages are nested more than 40 deep: no GraphDef is");

    let field = |number: u8, content: &[u8]| {
        let length = [(content.len() & 0x7f) as u8 | 0x80, (content.len() >> 7) as u8];
        [&[number << 3 | 2][..], &length, content].concat()
    };
    let binary = |levels| {
        // The value of an attribute is a function, whose attribute's value is a function, …
        let value = (0..levels).fold(Vec::new(), |value, _| field(10, &field(2, &field(2, &value))));
        field(1, &[field(1, b"a"), field(5, &field(2, &value))].concat())
    };
    assert!(parse("a.pb", binary(30)).is_ok());
    assert!(parse("a.pb", binary(40)).is_err());
    // Groups, which the encoding can nest without saying how long they are.
    assert!(parse("a.pb", vec![0x0b; 1_000_000]).is_err());
}

/// A folder like the extractor's, small enough to read: x → y → z, y with a second output.
fn extraction(ops: &str, tensors: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let node = |name: &str, op: &str, input: &str| {
        let mut bytes = Vec::new();
        for (tag, value) in [(0x0a, name), (0x12, op), (0x1a, input)].into_iter().filter(|(_, value)| !value.is_empty())
        {
            bytes.extend([tag, value.len() as u8]);
            bytes.extend(value.bytes());
        }
        [vec![0x0a, bytes.len() as u8], bytes].concat()
    };
    let graph = [node("x", "Placeholder", ""), node("y", "Split", "x"), node("z", "NoOp", "^y")].concat();
    fs::write(folder.path().join("graph.pb"), graph).unwrap();
    fs::write(folder.path().join("ops.csv"), format!("name,layer,cpu_seconds,gpu_seconds,memory_bytes\n{ops}"))
        .unwrap();
    fs::write(folder.path().join("tensors.csv"), format!("op,port,bytes\n{tensors}")).unwrap();
    fs::write(folder.path().join("provenance.toml"), "name = \"tiny\"\n").unwrap();
    folder
}

#[test]
fn costs_sizes_and_layers_come_from_the_tables_beside_the_graph() {
    let folder = extraction("x,input,1e-06,,64\n\"y\",,0.002,3e-4,0\nz,,,,\n", "x,0,8\ny,0,4\ny,1,5\n");
    let extraction = read_extraction(folder.path(), &ReadOptions::default()).unwrap();
    let graph = &extraction.graph;
    let (x, y, z) = (OpId(0), OpId(1), OpId(2));
    assert_eq!((graph.ops(x), graph.ops(y), graph.ops(z)), (1000.0, 2e6, 0.0));
    let times = |class| [x, y, z].map(|op| graph.measured_on(class).unwrap().of(op));
    assert_eq!(times("cpu"), [Some(1e-6), Some(0.002), None]);
    assert_eq!(times("gpu"), [None, Some(3e-4), None]);
    assert_eq!(graph.measured_times().len(), 2);
    assert_eq!((graph.memory_bytes(x), graph.demand_bytes(y)), (64, 8 + 4 + 5));
    assert_eq!(graph.layers().unwrap().get(0), Some("input"));
    assert_eq!(extraction.provenance["name"].as_str(), Some("tiny"));
    assert_eq!((extraction.report.unknown_costs, extraction.report.unknown_sizes), (1, 0));
}

#[test]
fn operations_count_where_the_time_on_the_cpu_is_unknown() {
    let read = |rows: &str| {
        let folder = extraction("", "x,0,8\ny,0,4\ny,1,5\n");
        let header = "name,layer,cpu_seconds,gpu_seconds,memory_bytes,operations";
        fs::write(folder.path().join("ops.csv"), format!("{header}\n{rows}")).unwrap();
        let read = read_extraction(folder.path(), &ReadOptions::default());
        read.map(|extraction| extraction.graph).map_err(|error| error.to_string())
    };
    let graph = read("x,,,1e-6,0,70\ny,,2e-6,,0,90\nz,,,,,\n").unwrap();
    assert_eq!([0, 1, 2].map(|op| graph.ops(OpId(op))), [70.0, 2000.0, 0.0]);
    let message = read("x,,,,0,-1\n").unwrap_err();
    assert!(
        message.ends_with("ops.csv:2: column 'operations' holds '-1': expected operations, at least 0"),
        "{message}"
    );
    assert!(read("x,,,,0\n").unwrap_err().contains("5 fields where 6 belong"));
}

#[test]
fn bytes_moved_count_beside_operations() {
    let read = |rows: &str| {
        let folder = extraction("", "x,0,8\ny,0,4\ny,1,5\n");
        let header = "name,layer,cpu_seconds,gpu_seconds,memory_bytes,operations,bytes_moved";
        fs::write(folder.path().join("ops.csv"), format!("{header}\n{rows}")).unwrap();
        read_extraction(folder.path(), &ReadOptions::default()).map(|extraction| extraction.graph)
    };
    let graph = read("x,,,,0,70,8\ny,,,,0,90,16\nz,,,,,0,0\n").unwrap();
    assert_eq!([0, 1, 2].map(|op| graph.bytes_moved(OpId(op))), [Some(8.0), Some(16.0), Some(0.0)]);
    // Nanoseconds of a core go with no bytes.
    let graph = read("x,,1e-6,,0,70,8\ny,,2e-6,,0,90,16\nz,,0,,,0,0\n").unwrap();
    assert_eq!((graph.ops(OpId(0)), graph.bytes_moved(OpId(0))), (1000.0, None));
    assert!(
        read("x,,,,0,70,-8\n").unwrap_err().to_string().contains("column 'bytes_moved' holds '-8': expected bytes")
    );
}

#[test]
fn a_table_that_does_not_fit_the_graph_is_refused_with_file_and_line() {
    let row = "x,,0,0,0\n";
    for (ops, tensors, expected) in [
        ("x,,0,0,0\nw,,0,0,0\n", "", "ops.csv:3: op 'w' is not in graph.pb: extract both anew"),
        ("x,,0,0,0\nx,,0,0,0\n", "", "ops.csv:3: op 'x' has a row already: keep one"),
        ("x,,0\n", "", "ops.csv:2: 3 fields where 5 belong: name,layer,cpu_seconds,gpu_seconds,memory_bytes"),
        ("x,,fast,0,0\n", "", "ops.csv:2: column 'cpu_seconds' holds 'fast': expected a number"),
        ("x,,0,-1,0\n", "", "ops.csv:2: column 'gpu_seconds' holds '-1': expected seconds, at least 0"),
        ("x,,NaN,0,0\n", "", "ops.csv:2: column 'cpu_seconds' holds 'NaN': expected seconds, at least 0"),
        ("x,,0,0,1.5\n", "", "ops.csv:2: column 'memory_bytes' holds '1.5': expected a number"),
        (row, "v,0,1\n", "tensors.csv:2: op 'v' is not in graph.pb: extract both anew"),
        (row, "y,0,1\nz,0,1\n", "tensors.csv:3: 'z:0' is an output that its producer does not have"),
        (row, "x,1,1\n", "tensors.csv:2: 'x:1' is an output that its producer does not have"),
        (row, "y,,1\n", "tensors.csv:2: the port is missing: expected a number from 0"),
        (row, "y,1,-3\n", "tensors.csv:2: column 'bytes' holds '-3': expected a number"),
        (row, "y,1,3\ny,1,3\n", "tensors.csv:3: 'y:1' has a row already: keep one"),
    ] {
        let folder = extraction(ops, tensors);
        let error = read_extraction(folder.path(), &ReadOptions::default()).unwrap_err().to_string();
        assert_eq!(error.replace(&format!("{}/", folder.path().display()), ""), expected);
    }
}

#[test]
fn a_table_with_another_header_and_a_folder_without_a_table_are_refused() {
    let folder = extraction("", "");
    fs::write(folder.path().join("ops.csv"), "name,seconds\n").unwrap();
    let message = |folder: &Path| read_extraction(folder, &ReadOptions::default()).unwrap_err().to_string();
    let place = |file: &str| folder.path().join(file).display().to_string();
    let expected = "1: the first line must be 'name,layer,cpu_seconds,gpu_seconds,memory_bytes'";
    assert_eq!(message(folder.path()), format!("{}:{expected}", place("ops.csv")));
    fs::remove_file(folder.path().join("ops.csv")).unwrap();
    assert_eq!(message(folder.path()), format!("{}: no such file or directory", place("ops.csv")));
}

/// Graphs with everything that a graph can hold; edges go up, or down if `flip`, so that ids are not always topological.
fn graphs() -> impl Strategy<Value = DataflowGraph> {
    let kinds = (1u8..8).prop_map(|bits| KindSet::from_bits(bits).unwrap());
    let label = proptest::option::of("[a-z]{1,3}");
    let op_type = proptest::option::of(prop_oneof![
        Just("MatMul"),
        Just("Assert"),
        Just("Equal"),
        Just("VarHandleOp"),
        Just("Const"),
        Just("NoOp")
    ]);
    let time = proptest::option::of(0.0..1e3f64);
    let op = (0.0..1e12f64, any::<u64>(), kinds, [time.clone(), time.clone(), time], op_type, label.clone(), label);
    let outputs = proptest::collection::vec(0..=i64::MAX as u64, 0..4);
    let ops = proptest::collection::vec((op, outputs), 1..12);
    let edges = proptest::collection::vec((0usize..12, 0usize..12, 0usize..5), 0..30);
    let pairs = proptest::collection::vec((0usize..12, 0usize..12), 0..4);
    (ops, edges, pairs, any::<[bool; 2]>()).prop_filter_map("kinds contradict", |(ops, edges, pairs, [named, flip])| {
        let mut builder = GraphBuilder::default();
        for (id, ((cost, memory_bytes, kinds, times, op_type, layer, attributes), outputs)) in ops.iter().enumerate() {
            // A file has names in any case: unnamed ops come back named like this.
            let name = if named { format!("scope/{id}-\"ö\\") } else { format!("op_{id}") };
            let (name, layer) = (Some(name.as_str()), layer.as_deref());
            let classes = ["cpu", "gpu", "npu1"].into_iter().zip(times);
            let times: Vec<_> = classes.filter_map(|(class, time)| Some((class, (*time)?))).collect();
            let spec = OpSpec {
                ops: *cost,
                memory_bytes: *memory_bytes,
                kinds: *kinds,
                bytes_moved: flip.then_some(*cost),
                times: &times,
                name,
                op_type: *op_type,
                layer,
                attributes: attributes.as_deref(),
            };
            builder.add_op(spec, outputs);
        }
        let id = |index: usize| OpId::new(index % ops.len());
        for (a, b, port) in edges {
            let (low, high) = (id(a).min(id(b)), id(a).max(id(b)));
            let (source, target) = if flip { (high, low) } else { (low, high) };
            if source != target && builder.add_edge(source, port, target).is_err() {
                builder.add_control_edge(source, target).unwrap();
            }
        }
        for (a, b) in pairs {
            builder.colocate(id(a), id(b)).unwrap();
        }
        builder.build().ok()
    })
}

proptest! {
    #[test]
    fn a_graph_comes_back_whole_from_a_file(graph in graphs()) {
        let folder = tempfile::tempdir().unwrap();
        let options = ReadOptions { no_references: true, ..ReadOptions::default() };
        for name in ["a.pb", "a.pbtxt"] {
            let path = folder.path().join(name);
            write_graph_def(&path, encoding(&path), &graph).unwrap();
            let first = fs::read(&path).unwrap();
            let (read, report) = read(&path, &options);
            prop_assert_eq!(&read, &graph);
            prop_assert_eq!((report.unknown_sizes, report.unknown_costs), (0, 0));
            write_graph_def(&path, encoding(&path), &read).unwrap();
            prop_assert_eq!(fs::read(&path).unwrap(), first);
        }
    }

    #[test]
    fn flipped_bytes_never_panic(
        file in prop_oneof![Just("loop.pb"), Just("nested.pb"), Just("gradient.pb"), Just("resource.pb"), Just("model.pbtxt")],
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut content = fs::read(fixture(file)).unwrap();
        for (index, byte) in changes {
            let at = index.index(content.len());
            content[at] = byte;
        }
        if let Some(cut) = cut {
            content.truncate(cut.index(content.len()));
        }
        let unroll = LoopPolicy::Unroll(NonZeroU32::new(3).unwrap());
        for cycles in [LoopPolicy::Reject, LoopPolicy::NextIteration, LoopPolicy::Drop, unroll] {
            let options = ReadOptions { cycles: Some(cycles), ..ReadOptions::default() };
            if let Err(error) = parse_graph_def(Path::new(file), content.clone(), encoding(Path::new(file)), &options) {
                prop_assert!(!error.to_string().contains('\n'));
            }
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text in "(node|attr|key|value|list|input|name|[{}<>:;,#'\"\\\\\n \\[\\]0-9a-f.-]){0,60}") {
        let _ = parse_graph_def(Path::new("a.pbtxt"), text.into_bytes(), Encoding::Text, &ReadOptions::default());
    }
}
