//! Models by hand, with shapes and costs computed by hand; and models that are refused. `tests/consumers/test_onnx.py`
//! compares with the package `onnx`.

use std::fs;
use std::path::PathBuf;

use prost::Message;

use super::proto::{
    AttributeProto, Dimension, FunctionProto, GraphProto, ModelProto, NodeProto, Size, TensorProto, TensorShapeProto,
    TensorType, TypeProto, ValueInfoProto,
};
use crate::format::options::{DimSize, ReadOptions};
use crate::format::{GraphFile, read_graph_with};
use crate::{DataflowGraph, OpId};

const FLOAT: i32 = 1;
const INT64: i32 = 7;

fn info(name: &str, element: i32, dims: &[Size]) -> ValueInfoProto {
    let dim = dims.iter().map(|size| Dimension { size: Some(size.clone()) }).collect();
    let tensor = TensorType { elem_type: element, shape: Some(TensorShapeProto { dim }) };
    ValueInfoProto { name: name.into(), r#type: Some(TypeProto { tensor_type: Some(tensor) }) }
}

fn floats(name: &str, dims: &[i64]) -> ValueInfoProto {
    info(name, FLOAT, &dims.iter().map(|&size| Size::Value(size)).collect::<Vec<_>>())
}

fn weights(name: &str, dims: &[i64]) -> TensorProto {
    TensorProto { name: name.into(), data_type: FLOAT, dims: dims.to_vec(), ..TensorProto::default() }
}

fn list(name: &str, values: &[i64]) -> TensorProto {
    let dims = vec![values.len() as i64];
    TensorProto { name: name.into(), data_type: INT64, dims, int64_data: values.to_vec(), ..TensorProto::default() }
}

fn node(op_type: &str, input: &[&str], output: &[&str], attributes: &[(&str, &[i64])]) -> NodeProto {
    let attribute = attributes.iter().map(|(name, values)| AttributeProto {
        name: (*name).into(),
        i: values[0],
        ints: values.to_vec(),
        ..AttributeProto::default()
    });
    NodeProto {
        input: input.iter().map(|name| (*name).to_owned()).collect(),
        output: output.iter().map(|name| (*name).to_owned()).collect(),
        op_type: op_type.into(),
        attribute: attribute.collect(),
        ..NodeProto::default()
    }
}

fn model(input: Vec<ValueInfoProto>, initializer: Vec<TensorProto>, node: Vec<NodeProto>) -> ModelProto {
    let graph = GraphProto { name: "m".into(), input, initializer, node, ..GraphProto::default() };
    ModelProto { ir_version: 8, graph: Some(graph), ..ModelProto::default() }
}

fn try_read(model: &ModelProto, dims: &[(&str, u64)]) -> Result<GraphFile, String> {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("m.onnx");
    fs::write(&path, model.encode_to_vec()).unwrap();
    let dims = dims.iter().map(|&(name, size)| DimSize { name: name.into(), size }).collect();
    let options = ReadOptions { dims, ..ReadOptions::default() };
    read_graph_with(&path, &options)
        .map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
}

fn read(model: &ModelProto) -> GraphFile {
    try_read(model, &[]).unwrap()
}

/// Bytes of all outputs and the cost of the op of a name.
fn of(graph: &DataflowGraph, name: &str) -> (Vec<u64>, f64) {
    let op = graph.op_ids().find(|&op| graph.name(op) == Some(name)).unwrap_or_else(|| panic!("no op '{name}'"));
    (graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor)).collect(), graph.ops(op))
}

#[test]
fn a_small_convolutional_network_has_the_sizes_and_costs_of_a_pencil() {
    let nodes = vec![
        node("Conv", &["x", "w", "b"], &["c"], &[("pads", &[1, 1, 1, 1]), ("strides", &[2, 2])]),
        node("Relu", &["c"], &["r"], &[]),
        node("MaxPool", &["r"], &["p"], &[("kernel_shape", &[3, 3]), ("strides", &[2, 2])]),
        node("GlobalAveragePool", &["p"], &["g"], &[]),
        node("Flatten", &["g"], &["f"], &[]),
        node("Gemm", &["f", "v", "u"], &["y"], &[("transB", &[1])]),
    ];
    let initializers =
        vec![weights("w", &[8, 3, 3, 3]), weights("b", &[8]), weights("v", &[10, 8]), weights("u", &[10])];
    let GraphFile { header, graph, report } = read(&model(vec![floats("x", &[2, 3, 32, 32])], initializers, nodes));
    assert_eq!(header.name, "m");
    assert_eq!(report.unwrap(), "4 initializers of 1256 bytes");
    // 2 images, 8 channels of 16 × 16; 27 products and their sums for each, and a bias.
    assert_eq!(of(&graph, "c"), (vec![4 * 2 * 8 * 256], (2.0 * 27.0 + 1.0) * 4096.0));
    assert_eq!(of(&graph, "r"), (vec![16_384], 4096.0));
    assert_eq!(of(&graph, "p"), (vec![4 * 2 * 8 * 49], 9.0 * 784.0));
    assert_eq!(of(&graph, "g"), (vec![64], 784.0));
    assert_eq!(of(&graph, "f"), (vec![64], 0.0));
    assert_eq!(of(&graph, "y"), (vec![80], (2.0 * 8.0 + 1.0) * 20.0));
    // Inputs and initializers come first, and weights are resident.
    let types: Vec<_> = graph.op_ids().filter_map(|op| graph.op_types().unwrap().get(op.index())).collect();
    assert_eq!(types[..3], ["Input", "Initializer", "Initializer"]);
    assert_eq!((graph.memory_bytes(OpId(0)), graph.memory_bytes(OpId(1)), graph.ops(OpId(1))), (0, 864, 0.0));
    assert!(graph.outputs_are_resident(OpId(1)));
    assert_eq!((graph.op_count(), graph.edge_count()), (11, 10));
}

#[test]
fn attention_with_a_named_batch_takes_its_shapes_from_shapes() {
    let nodes = vec![
        node("MatMul", &["x", "w"], &["q"], &[]),
        // [batch, 6, 8] becomes [batch, 6, 2, 4], by the batch that the value has when it runs.
        node("Shape", &["x"], &["s"], &[]),
        node("Gather", &["s", "zero"], &["b"], &[("axis", &[0])]),
        node("Unsqueeze", &["b", "axis"], &["b1"], &[]),
        node("Concat", &["b1", "tail"], &["to"], &[("axis", &[0])]),
        node("Reshape", &["q", "to"], &["h"], &[]),
        node("Transpose", &["h"], &["k"], &[("perm", &[0, 2, 3, 1])]),
        node("Transpose", &["h"], &["t"], &[("perm", &[0, 2, 1, 3])]),
        node("MatMul", &["t", "k"], &["a"], &[]),
        node("Softmax", &["a"], &["o"], &[]),
        node("LayerNormalization", &["o", "scale"], &["n", "", "d"], &[("axis", &[-1])]),
    ];
    let zero = TensorProto { dims: Vec::new(), ..list("zero", &[0]) };
    let initializers =
        vec![weights("w", &[8, 8]), zero, list("axis", &[0]), list("tail", &[6, 2, -1]), weights("scale", &[6])];
    let input = info("x", FLOAT, &[Size::Name("batch".into()), Size::Value(6), Size::Value(8)]);
    let attention = model(vec![input], initializers, nodes);
    let graph = try_read(&attention, &[("batch", 3)]).unwrap().graph;
    assert_eq!(of(&graph, "q"), (vec![4 * 3 * 48], 2.0 * 8.0 * 144.0));
    assert_eq!((of(&graph, "s"), of(&graph, "b").0, of(&graph, "to").0), ((vec![24], 0.0), vec![8], vec![32]));
    assert_eq!(of(&graph, "h"), (vec![576], 0.0));
    assert_eq!(of(&graph, "k"), (vec![576], 144.0));
    assert_eq!(of(&graph, "a"), (vec![4 * 3 * 2 * 36], 2.0 * 4.0 * 216.0));
    assert_eq!(of(&graph, "o"), (vec![864], 5.0 * 216.0));
    assert_eq!(of(&graph, "n"), (vec![864, 0, 4 * 36], 7.0 * 216.0), "an output that is left out has no size");
    let fault = |dims: &[(&str, u64)]| try_read(&attention, dims).unwrap_err();
    let unknown = "m.onnx: input 'x': the size of dimension 'batch' is not known: say it, as in 'placebench convert --dim batch=1'";
    assert_eq!(fault(&[]), unknown);
    assert_eq!(fault(&[("batch", 3), ("bach", 4)]), "m.onnx: there is no dimension 'bach': did you mean 'batch'?");
}

/// The only output of an operator for inputs of shapes, as a shape of bytes; whole lists are constant.
fn bytes_of(node: NodeProto, inputs: &[&[i64]], lists: &[TensorProto]) -> Result<Vec<u64>, String> {
    let inputs = inputs.iter().zip(["x", "y", "z"]).map(|(dims, name)| floats(name, dims)).collect();
    let name = node.output.iter().find(|output| !output.is_empty()).unwrap().clone();
    try_read(&model(inputs, lists.to_vec(), vec![node]), &[]).map(|file| of(&file.graph, &name).0)
}

type Case = (NodeProto, &'static [&'static [i64]], Vec<TensorProto>, &'static [u64]);

/// Nodes, the shapes of their inputs, constant inputs, and the bytes of their outputs.
fn cases() -> Vec<Case> {
    vec![
        (node("Add", &["x", "y"], &["o"], &[]), &[&[4, 1, 3], &[5, 1]], vec![], &[4 * 60]),
        (node("Equal", &["x", "y"], &["o"], &[]), &[&[7], &[1]], vec![], &[7]),
        (node("Where", &["c", "x", "y"], &["o"], &[]), &[&[2, 1], &[1, 3]], vec![list("c", &[1])], &[24]),
        (node("MatMul", &["x", "y"], &["o"], &[]), &[&[5, 2, 3], &[3]], vec![], &[40]),
        (
            node("Slice", &["x", "s", "e", "a", "t"], &["o"], &[]),
            &[&[20, 10, 5]],
            vec![list("s", &[0, 20]), list("e", &[3, -1000]), list("a", &[1, 0]), list("t", &[2, -3])],
            &[4 * 7 * 2 * 5],
        ),
        (node("Split", &["x"], &["o", "p", "q"], &[("axis", &[1])]), &[&[2, 7]], vec![], &[24, 24, 8]),
        (
            node("ReduceMean", &["x", "a"], &["o"], &[("keepdims", &[0])]),
            &[&[2, 3, 4]],
            vec![list("a", &[-1, 0])],
            &[12],
        ),
        (node("ArgMax", &["x"], &["o"], &[("axis", &[1])]), &[&[2, 3]], vec![], &[16]),
        (node("Squeeze", &["x"], &["o"], &[("axes", &[0, 2])]), &[&[1, 3, 1, 1]], vec![], &[12]),
        (node("Expand", &["x", "s"], &["o"], &[]), &[&[3, 1]], vec![list("s", &[2, 1, 6])], &[144]),
        (node("Tile", &["x", "r"], &["o"], &[]), &[&[2, 3]], vec![list("r", &[2, 4])], &[4 * 48]),
        (node("Pad", &["x", "p"], &["o"], &[]), &[&[2, 3]], vec![list("p", &[0, 1, 1, -2])], &[24]),
        (node("TopK", &["x", "k"], &["o", "i"], &[]), &[&[4, 9]], vec![list("k", &[2])], &[32, 64]),
        (node("GatherND", &["x", "i"], &["o"], &[]), &[&[2, 3, 4]], vec![list("i", &[1, 2])], &[16]),
        (node("DepthToSpace", &["x"], &["o"], &[("blocksize", &[2])]), &[&[1, 8, 2, 3]], vec![], &[192]),
        (
            node(
                "ConvTranspose",
                &["x", "y"],
                &["o"],
                &[("strides", &[2]), ("output_padding", &[1]), ("pads", &[1, 1])],
            ),
            &[&[1, 4, 5], &[4, 6, 3]],
            vec![],
            &[4 * 6 * 10],
        ),
        (
            node("AveragePool", &["x"], &["o"], &[("kernel_shape", &[2]), ("strides", &[2]), ("ceil_mode", &[1])]),
            &[&[1, 1, 5]],
            vec![],
            &[12],
        ),
        (
            node("Range", &["a", "b", "d"], &["o"], &[]),
            &[],
            vec![list("a", &[3]), list("b", &[10]), list("d", &[2])],
            &[32],
        ),
        (node("ConstantOfShape", &["s"], &["o"], &[]), &[], vec![list("s", &[4, 5])], &[80]),
        (node("Cast", &["x"], &["o"], &[("to", &[10])]), &[&[5]], vec![], &[10]),
        (node("OneHot", &["x", "d", "y"], &["o"], &[]), &[&[6], &[2]], vec![list("d", &[10])], &[240]),
    ]
}

#[test]
fn operators_make_the_shapes_of_the_specification() {
    for (node, inputs, lists, expected) in cases() {
        let name = node.op_type.clone();
        assert_eq!(bytes_of(node, inputs, &lists).as_deref(), Ok(expected), "{name}");
    }
}

#[test]
fn a_value_that_decides_a_shape_is_followed() {
    // 24 / 5 = 4, · -1 + 10 = 6, and the last of [4, 6] that is at least 5.
    let nodes = vec![
        node("Size", &["x"], &["n"], &[]),
        node("Div", &["n", "five"], &["q"], &[]),
        node("Neg", &["q"], &["m"], &[]),
        node("Add", &["m", "ten"], &["six"], &[]),
        node("Concat", &["q", "six"], &["both"], &[("axis", &[0])]),
        node("Slice", &["both", "one", "ten"], &["last"], &[]),
        node("GreaterOrEqual", &["last", "five"], &["is"], &[]),
        node("Where", &["is", "last", "one"], &["to"], &[]),
        node("ConstantOfShape", &["to"], &["o"], &[]),
    ];
    let lists = vec![list("five", &[5]), list("ten", &[10]), list("one", &[1])];
    let file = read(&model(vec![floats("x", &[2, 12])], lists, nodes));
    assert_eq!(of(&file.graph, "o").0, [24]);
}

#[test]
fn what_no_operator_says_is_declared_or_refused() {
    let mut custom = model(vec![floats("x", &[4])], vec![], vec![node("Fancy", &["x"], &["o"], &[])]);
    custom.graph.as_mut().unwrap().node[0].domain = "com.example".into();
    let expected = "m.onnx: node 'o' (Fancy): the shape of 'o' cannot be inferred: the operator is not known in the domain \
                    'com.example': run onnx.shape_inference.infer_shapes on it, or fold its constants";
    assert_eq!(try_read(&custom, &[]).unwrap_err(), expected);
    custom.graph.as_mut().unwrap().output.push(floats("o", &[6]));
    let file = read(&custom);
    assert_eq!(of(&file.graph, "o"), (vec![24], 6.0));
    assert_eq!(file.report.unwrap(), "operators without a cost model, at 1 operation an element written: Fancy (1)");
    // By data: the dimension has a name, and the user may say its size.
    let mut by_data = model(vec![floats("x", &[4])], vec![], vec![node("NonZero", &["x"], &["o"], &[])]);
    by_data.graph.as_mut().unwrap().output.push(info("o", INT64, &[Size::Value(1), Size::Name("found".into())]));
    let fault = try_read(&by_data, &[]).unwrap_err();
    assert!(
        fault.ends_with("its dimension 'found' has no size: say it, as in 'placebench convert --dim found=1'"),
        "{fault}"
    );
    assert_eq!(of(&try_read(&by_data, &[("found", 3)]).unwrap().graph, "o").0, [24]);
    // A declared shape that is wrong does not count, and is counted.
    let mut stale = model(vec![floats("x", &[4])], vec![], vec![node("Relu", &["x"], &["o"], &[])]);
    stale.graph.as_mut().unwrap().output.push(floats("o", &[1]));
    let file = read(&stale);
    assert_eq!(
        (of(&file.graph, "o").0, file.report.unwrap()),
        (vec![16], "1 shape declared otherwise than inferred: the inferred shape counts".into())
    );
}

#[test]
fn nodes_without_names_are_called_as_what_they_make() {
    let mut both = vec![node("Relu", &["x"], &["a"], &[]), node("Relu", &["a"], &["b"], &[])];
    both[0].name = "first".into();
    let names = |nodes: &[NodeProto]| {
        let graph = read(&model(vec![floats("x", &[1])], vec![], nodes.to_vec())).graph;
        graph.op_ids().map(|op| graph.name(op).unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&both), ["x", "a", "b"], "one has no name");
    both[1].name = "second".into();
    assert_eq!(names(&both), ["x", "first", "second"]);
    both[1].name = "x".into();
    assert_eq!(names(&both), ["x", "a", "b"], "an input has the name");
}

#[test]
fn a_model_that_is_malformed_is_refused_in_one_line() {
    let x = || vec![floats("x", &[2, 3])];
    let relu = |input: &str, output: &str| node("Relu", &[input], &[output], &[]);
    let of_nodes = |nodes: Vec<NodeProto>| model(x(), vec![], nodes);
    let mut branch = relu("x", "o");
    branch.op_type = "If".into();
    branch.attribute.push(AttributeProto {
        name: "then_branch".into(),
        g: Some(Vec::new().into()),
        ..AttributeProto::default()
    });
    let mut called = of_nodes(vec![relu("x", "o")]);
    called.functions.push(FunctionProto { name: "Relu".into(), domain: String::new() });
    let long = TensorProto { raw_data: vec![0; 5].into(), ..weights("w", &[2]) };
    let sequence = ValueInfoProto { name: "x".into(), r#type: Some(TypeProto { tensor_type: None }) };
    for (model, expected) in [
        (ModelProto { ir_version: 8, ..ModelProto::default() }, "m.onnx: the model has no graph"),
        (of_nodes(vec![]), ""),
        (of_nodes(vec![relu("gone", "o")]), "node 'o' (Relu): reads 'gone', which no node, initializer or input makes"),
        (
            of_nodes(vec![relu("b", "a"), relu("x", "b")]),
            "node 'a' (Relu): reads 'b', which node 'b' (Relu) makes later",
        ),
        (of_nodes(vec![relu("x", "x")]), "node 'x' (Relu): makes the value 'x', which is there already"),
        (of_nodes(vec![branch]), "node 'o' (If): has a subgraph"),
        (called, "node 'o' (Relu): calls a function of the model"),
        (model(vec![sequence], vec![], vec![]), "input 'x': has no shape, or is no tensor"),
        (model(x(), vec![long], vec![]), "initializer 'w': has 5 bytes of data, but its shape [2] says 8"),
        (
            model(x(), vec![weights("w", &[-1])], vec![]),
            "initializer 'w': has the shape [-1], with a negative dimension",
        ),
        (model(vec![info("s", 8, &[])], vec![], vec![]), "input 's': has elements of type 8, whose size is unknown"),
        (model(vec![floats("x", &[i64::MAX, i64::MAX])], vec![], vec![]), "2^64 bytes or more"),
        (
            of_nodes(vec![node("MatMul", &["x", "x"], &["o"], &[])]),
            "has inputs of shapes that do not fit: [2, 3], [2, 3]",
        ),
        (of_nodes(vec![node("Transpose", &["x"], &["o"], &[("perm", &[0, 0])])]), "has an axis twice: [0, 0]"),
        (of_nodes(vec![node("Squeeze", &["x"], &["o"], &[("axes", &[5])])]), "has the axis 5, but the rank is 2"),
        (of_nodes(vec![node("Reshape", &["x", "x"], &["o"], &[])]), "its 'shape', the value 'x', is not constant"),
        (of_nodes(vec![node("Add", &[], &["o"], &[])]), "node 'o' (Add): has no input 0"),
    ] {
        match try_read(&model, &[]) {
            Ok(_) => assert_eq!(expected, "", "was read"),
            Err(message) => {
                assert!(!expected.is_empty() && message.contains(expected), "{message}\n   lacks {expected}")
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    for (content, expected) in [(&b""[..], "the file is empty"), (b"\xff\xff\xff", "this is no ONNX model")] {
        let path = folder.path().join("m.onnx");
        fs::write(&path, content).unwrap();
        let message = read_graph_with(&path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_model_of_this_suite_that_was_changed_is_refused_in_one_line() {
    let text = |name: &str, value: &str| AttributeProto {
        name: name.into(),
        s: value.as_bytes().to_vec().into(),
        r#type: AttributeProto::STRING,
        ..AttributeProto::default()
    };
    let own = |op: NodeProto, attributes: Vec<AttributeProto>| {
        let node = NodeProto { attribute: attributes, domain: "placebench".into(), ..op };
        ModelProto { producer_name: "placebench".into(), ..model(vec![], vec![], vec![node]) }
    };
    let op = || node("Op", &[], &["t0"], &[]);
    let whole = own(op(), vec![text("id", "0"), text("ops", "3"), text("outputs", "8")]);
    assert_eq!(read(&whole).graph.ops(OpId(0)), 3.0);
    let number = AttributeProto { name: "ops".into(), i: 3, r#type: 2, ..AttributeProto::default() };
    for (model, expected) in [
        (own(op(), vec![text("id", "0"), number]), "m.onnx: node 0 (Op): attribute 'ops' is no text"),
        (own(op(), vec![text("ops", "3")]), "m.onnx: node 0 (Op): its 'id' is ''"),
        (own(op(), vec![text("id", "0"), text("ops", "x")]), "m.onnx: node '0': ops is 'x': write a number"),
        (own(node("Op", &["t7"], &["t0"], &[]), vec![text("id", "0")]), "reads 't7', which no node before it makes"),
        (own(node("Op", &[], &["t0", "t0"], &[]), vec![text("id", "0")]), "makes 't0', which is there already"),
    ] {
        let message = try_read(&model, &[]).unwrap_err();
        assert!(message.contains(expected), "{message}\n   lacks {expected}");
    }
    let dim = try_read(&whole, &[("batch", 2)]).unwrap_err();
    assert_eq!(dim, "m.onnx: there is no dimension 'batch': all sizes are known: leave out --dim");
}

#[test]
fn a_model_cut_anywhere_is_refused_or_read_but_never_crashes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.onnx");
    let try_bytes = |content: &[u8]| {
        fs::write(&path, content).unwrap();
        if let Err(error) = read_graph_with(&path, &ReadOptions::default()) {
            assert!(!error.to_string().contains('\n'));
        }
    };
    for (node, inputs, lists, _) in cases() {
        let inputs = inputs.iter().zip(["x", "y", "z"]).map(|(dims, name)| floats(name, dims)).collect();
        let whole = model(inputs, lists, vec![node]).encode_to_vec();
        for place in 0..whole.len() {
            try_bytes(&whole[..place]);
            for flip in [0x55, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[place] ^= flip;
                try_bytes(&changed);
            }
        }
        // Numbers at their ends, where arithmetic may overflow.
        for extreme in [i64::MIN, i64::MIN + 1, -2, i64::MAX] {
            let mut model = ModelProto::decode(&whole[..]).unwrap();
            let graph = model.graph.as_mut().unwrap();
            graph.node[0].attribute.iter_mut().for_each(|attribute| {
                attribute.i = extreme;
                attribute.ints.fill(extreme);
            });
            try_bytes(&model.encode_to_vec());
            let mut model = ModelProto::decode(&whole[..]).unwrap();
            let graph = model.graph.as_mut().unwrap();
            graph.initializer.iter_mut().for_each(|list| list.int64_data.fill(extreme));
            try_bytes(&model.encode_to_vec());
        }
    }
}
