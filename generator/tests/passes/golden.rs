//! A small graph before and after each pass, and what is refused.

use placebench_datasets::{DataflowGraph, GraphBuilder, OpId, OpSpec};

use super::passed;

/// `type(inputs) bytes` of each op, by its name.
fn told(graph: &DataflowGraph) -> Vec<String> {
    graph
        .op_ids()
        .map(|op| {
            let name = |op: OpId| graph.name(op).unwrap();
            let inputs: Vec<String> = graph
                .predecessors(op)
                .map(|edge| match edge.tensor {
                    Some(_) => name(edge.op).to_owned(),
                    None => format!("^{}", name(edge.op)),
                })
                .collect();
            let op_type = graph.op_types().and_then(|types| types.get(op.index())).unwrap();
            let bytes: Vec<String> = graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor).to_string()).collect();
            format!("{} {op_type}({}) {} [{}]", name(op), inputs.join(", "), graph.ops(op), bytes.join(" "))
        })
        .collect()
}

/// A step of one layer: y = relu(x · w), w ← w − Σ x · y, and a summary that nothing needs.
fn step() -> DataflowGraph {
    let mut builder = GraphBuilder::default();
    let mut op = |name: &str, op_type: &str, ops: f64, bytes: u64, inputs: &[OpId]| {
        let spec = OpSpec { name: Some(name), op_type: Some(op_type), ..OpSpec::cost(ops) };
        let id = builder.add_op(spec, &[bytes]);
        inputs.iter().for_each(|&input| builder.add_edge(input, 0, id).unwrap());
        id
    };
    let x = op("x", "input", 0.0, 800, &[]);
    let w = op("w", "parameter", 0.0, 400, &[]);
    let xw = op("xw", "dot_general", 40.0, 1600, &[x, w]);
    let y = op("y", "max", 4.0, 1600, &[xw]);
    let gradient = op("g", "dot_general", 40.0, 400, &[x, y]);
    let scaled = op("s", "mul", 1.0, 400, &[gradient]);
    let update = op("u", "sub", 1.0, 400, &[w, scaled]);
    let mean = op("mean", "reduce_sum", 4.0, 4, &[y]);
    op("summary", "log", 1.0, 4, &[mean]);
    builder.colocate(w, update).unwrap();
    builder.build().unwrap()
}

#[test]
fn prune_keeps_what_the_updates_or_the_fetched_ops_need() {
    let new = passed(&step(), &["prune"]).unwrap();
    assert_eq!(new.lines, ["prune: 7 of 9 ops kept"]);
    assert_eq!(
        told(&new.graph),
        [
            "x input() 0 [800]",
            "w parameter() 0 [400]",
            "xw dot_general(x, w) 40 [1600]",
            "y max(xw) 4 [1600]",
            "g dot_general(x, y) 40 [400]",
            "s mul(g) 1 [400]",
            "u sub(w, s) 1 [400]",
        ]
    );
    assert_eq!(new.graph.colocation().members(placebench_datasets::GroupId::new(0)), [OpId(1), OpId(6)]);
    let new = passed(&step(), &["prune(summary)"]).unwrap();
    assert_eq!(new.lines, ["prune(fetch=summary): 6 of 9 ops kept"]);
    let both = passed(&step(), &["prune(fetch=[mean,s])"]).unwrap();
    assert_eq!(both.graph.op_count(), 7);
}

/// What chains and elementwise ops become: in this step they are the same.
const JOINED: [&str; 6] = [
    "x input() 0 [800]",
    "w parameter() 0 [400]",
    "y dot_general+max(x, w) 44 [1600]",
    "s dot_general+mul(x, y) 41 [400]",
    "u sub(w, s) 1 [400]",
    "summary reduce_sum+log(y) 5 [4]",
];

#[test]
fn coarsen_makes_one_op_of_chains_and_of_groups_within_their_stages() {
    let new = passed(&step(), &["coarsen"]).unwrap();
    assert_eq!(new.lines, ["coarsen: 9 ops became 6"]);
    assert_eq!(told(&new.graph), JOINED);
}

#[test]
fn fuse_takes_elementwise_ops_to_the_producer_of_their_input() {
    let new = passed(&step(), &["fuse"]).unwrap();
    assert_eq!(new.lines, ["fuse: 9 ops became 6, 4008 bytes less are written and read"]);
    assert_eq!(told(&new.graph), JOINED);
}

#[test]
fn microbatch_repeats_what_takes_inputs_and_sums_gradients() {
    let new = passed(&step(), &["prune", "microbatch(2)"]).unwrap();
    assert_eq!(new.lines[1], "microbatch(m=2): 2 micro-batches of 4 ops, 1 tensors summed, 3 ops done once");
    assert_eq!(
        told(&new.graph),
        [
            "w parameter() 0 [400]",
            "s mul(g/sum_0_1) 1 [400]",
            "u sub(w, s) 1 [400]",
            "x/micro_0 input() 0 [400]",
            "xw/micro_0 dot_general(x/micro_0, w) 20 [800]",
            "y/micro_0 max(xw/micro_0) 2 [800]",
            "g/micro_0 dot_general(x/micro_0, y/micro_0) 20 [400]",
            "x/micro_1 input() 0 [400]",
            "xw/micro_1 dot_general(x/micro_1, w) 20 [800]",
            "y/micro_1 max(xw/micro_1) 2 [800]",
            "g/micro_1 dot_general(x/micro_1, y/micro_1) 20 [400]",
            "g/sum_0_1 AddN(g/micro_0, g/micro_1) 100 [400]",
        ]
    );
}

/// The activation of this layer is as large as its gradient, which is made of it and of the input.
#[test]
fn activations_of_the_size_of_a_gradient_are_divided() {
    let mut builder = GraphBuilder::default();
    let mut op = |name: &str, op_type: &str, inputs: &[OpId]| {
        let id = builder.add_op(OpSpec { name: Some(name), op_type: Some(op_type), ..OpSpec::cost(8.0) }, &[400]);
        inputs.iter().for_each(|&input| builder.add_edge(input, 0, id).unwrap());
        id
    };
    let (x, w) = (op("x", "input", &[]), op("w", "parameter", &[]));
    let y = op("y", "dot_general", &[x, w]);
    let product = op("p", "dot_general", &[x, y]);
    let gradient = op("g", "transpose", &[product]);
    let update = op("u", "sub", &[w, gradient]);
    builder.colocate(w, update).unwrap();
    let lines = told(&passed(&builder.build().unwrap(), &["microbatch(4,sum=once)"]).unwrap().graph);
    for expected in [
        "x/micro_0 input() 2 [100]",
        "y/micro_0 dot_general(x/micro_0, w) 2 [100]",
        "p/micro_0 dot_general(x/micro_0, y/micro_0) 2 [400]",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected} in {lines:#?}");
    }
}

/// A table of which a step reads some rows, and updates them: numbers of rows and their gradients.
#[test]
fn rows_of_a_table_stand_one_behind_the_other() {
    let mut builder = GraphBuilder::default();
    let mut op = |name: &str, op_type: &str, bytes: u64, inputs: &[OpId]| {
        let id = builder.add_op(OpSpec { name: Some(name), op_type: Some(op_type), ..OpSpec::cost(8.0) }, &[bytes]);
        inputs.iter().for_each(|&input| builder.add_edge(input, 0, id).unwrap());
        id
    };
    let (numbers, table) = (op("n", "input", 800, &[]), op("t", "state", 9999, &[]));
    let rows = op("r", "gather", 1600, &[table, numbers]);
    let gradient = op("g", "mul", 1600, &[rows]);
    let update = op("u", "scatter-add", 9999, &[table, numbers, gradient]);
    builder.colocate(table, update).unwrap();
    let graph = builder.build().unwrap();
    let has = |pass: &str, line: &str, expected: &[&str]| {
        let new = passed(&graph, &[pass]).unwrap();
        assert!(new.lines[0].ends_with(line), "{:?}", new.lines);
        let lines = told(&new.graph);
        for expected in expected {
            assert!(lines.iter().any(|line| line == expected), "{expected} in {lines:#?}");
        }
    };
    has(
        "microbatch(2)",
        "2 micro-batches of 3 ops, 0 tensors summed, 2 tensors of rows joined, 2 ops done once",
        &[
            "g/micro_1 mul(r/micro_1) 4 [800]",
            "n/rows_0 ConcatV2(n/micro_0, n/micro_1) 133.33333333333331 [800]",
            "u scatter-add(t, n/rows_0, g/rows_0) 8 [9999]",
        ],
    );
    has(
        "replicate(2)",
        "0 tensors summed over them, 2 tensors of rows gathered",
        &["g/rows_0/gather_0/copy_0 Gather(g/copy_1) 0 [800]"],
    );
    has(
        "replicate(4,sync=doubling)",
        "2 tensors of rows gathered",
        &[
            "g/rows_0/gather_0/copy_1 Gather(g/copy_1, g/copy_0) 0 [800]",
            "g/rows_0/gather_1/copy_3 Gather(g/rows_0/gather_0/copy_3, g/rows_0/gather_0/copy_1) 0 [1600]",
            "u/copy_3 scatter-add(t/copy_3, n/rows_0/gather_1/copy_3, g/rows_0/gather_1/copy_3) 8 [9999]",
        ],
    );
    has(
        "replicate(3,sync=tree)",
        "2 tensors of rows gathered",
        &[
            "n/rows_0/gather_1/copy_0 Gather(n/rows_0/gather_0/copy_0, n/copy_2) 0 [801]",
            "n/rows_0/pass_0/copy_1 Gather(n/rows_0/gather_1/copy_0) 0 [801]",
        ],
    );
    has(
        "replicate(2,sync=server)",
        "2 tensors of rows gathered",
        &["g/rows_0/gather/copy_2 Gather(g/copy_0, g/copy_1) 0 [1600]"],
    );
    has(
        "replicate(2,batch=each)",
        "2 tensors of rows gathered",
        &[
            "g/rows_0/gather_0/copy_0 Gather(g/copy_1) 0 [1600]",
            "u/copy_0 scatter-add(t/copy_0, n/copy_0, n/rows_0/gather_0/copy_0, g/copy_0, g/rows_0/gather_0/copy_0) 16 [9999]",
        ],
    );
    has(
        "shard_state(2)",
        "0 tensors summed, 2 tensors of rows gathered, weights gathered 1 times",
        &["g/rows_0/gather_0/copy_0 Gather(g/copy_1) 0 [800]"],
    );
}

/// Where each copy has a batch of its own, equal rows of all are added up: n times the rows that come in, and that come out.
#[test]
fn what_takes_the_rows_of_all_batches_grows_with_them() {
    let mut builder = GraphBuilder::default();
    let mut op = |name: &str, op_type: &str, bytes: u64, inputs: &[OpId]| {
        let id = builder.add_op(OpSpec { name: Some(name), op_type: Some(op_type), ..OpSpec::cost(8.0) }, &[bytes]);
        inputs.iter().for_each(|&input| builder.add_edge(input, 0, id).unwrap());
        id
    };
    let (numbers, table) = (op("n", "Placeholder", 800, &[]), op("t", "VariableV2", 9999, &[]));
    let rows = op("r", "Gather", 1600, &[table, numbers]);
    let gradient = op("g", "Mul", 1600, &[rows]);
    let unique = op("k", "Unique", 800, &[numbers]);
    let count = op("c", "Shape", 4, &[unique]);
    let sum = op("s", "UnsortedSegmentSum", 1600, &[gradient, unique, count]);
    let update = op("u", "ScatterSub", 9999, &[table, unique, sum]);
    for member in [unique, count, sum, update] {
        builder.colocate(table, member).unwrap();
    }
    let new = passed(&builder.build().unwrap(), &["replicate(3,batch=each)"]).unwrap();
    let lines = told(&new.graph);
    let of_copy = |name: &str| lines.iter().find(|line| line.starts_with(&format!("{name}/copy_1 "))).unwrap();
    for (name, end) in
        [("r", " 8 [1600]"), ("k", " 24 [2400]"), ("c", " 24 [4]"), ("s", " 24 [4800]"), ("u", " 24 [9999]")]
    {
        assert!(of_copy(name).ends_with(end), "{end} in {}", of_copy(name));
    }
}

/// Four layers y1 to y4 with weights w1 to w4, and their gradients from the last to the first.
fn deep() -> DataflowGraph {
    let mut builder = GraphBuilder::default();
    let mut op = |name: String, op_type: &str, bytes: u64, inputs: &[OpId]| {
        let spec = OpSpec { name: Some(&name), op_type: Some(op_type), ..OpSpec::cost(10.0) };
        let id = builder.add_op(spec, &[bytes]);
        inputs.iter().for_each(|&input| builder.add_edge(input, 0, id).unwrap());
        id
    };
    let x = op("x".to_owned(), "input", 800, &[]);
    let weights: Vec<OpId> = (1..=4).map(|layer| op(format!("w{layer}"), "parameter", 400, &[])).collect();
    let mut layers = vec![x];
    for (layer, &weight) in (1..).zip(&weights) {
        layers.push(op(format!("y{layer}"), "dot_general", 800, &[layers[layer - 1], weight]));
    }
    let mut error = layers[4];
    let mut updates = Vec::new();
    for layer in (1..=4).rev() {
        let weight = weights[layer - 1];
        let gradient = op(format!("g{layer}"), "dot_general", 400, &[layers[layer - 1], error]);
        updates.push((weight, op(format!("u{layer}"), "sub", 400, &[weight, gradient])));
        error = op(format!("e{layer}"), "dot_general", 800, &[error, weight]);
    }
    updates.into_iter().for_each(|(weight, update)| builder.colocate(weight, update).unwrap());
    builder.build().unwrap()
}

#[test]
fn recompute_makes_activations_again_when_the_backward_pass_comes_to_them() {
    let new = passed(&deep(), &["recompute"]).unwrap();
    let lines = told(&new.graph);
    let of = |name: &str| lines.iter().find(|line| line.starts_with(&format!("{name} "))).cloned().unwrap_or_default();
    assert_eq!(
        new.lines,
        [
            "recompute: 1 ops are done again, 20 % of the work of the forward pass; 80 % of the bytes that it leaves stay"
        ]
    );
    // x, y1 | y2, y3 | y4: y2 leaves no segment, and is done again as soon as e4 is there, with which g3 takes it.
    assert_eq!(of("y2/again"), "y2/again dot_general(y1, w2, ^e4) 10 [800]");
    assert_eq!(of("g3"), "g3 dot_general(y2/again, e4) 10 [400]");
    assert_eq!(of("y3"), "y3 dot_general(y2, w3) 10 [800]");
    assert_eq!(of("g2"), "g2 dot_general(y1, e3) 10 [400]");
    let all = passed(&deep(), &["recompute(0)"]).unwrap();
    assert_eq!(all.graph.op_ids().filter(|&op| all.graph.name(op).unwrap().ends_with("/again")).count(), 2);
}

#[test]
fn replicate_sums_gradients_over_copies() {
    let new = passed(&step(), &["prune", "replicate(2,sync=tree)"]).unwrap();
    assert_eq!(new.lines[1], "replicate(n=2,sync=tree): 2 copies of 7 ops, 1 tensors summed over them");
    let lines = told(&new.graph);
    for expected in [
        "g/copy_0 dot_general(x/copy_0, y/copy_0) 20 [400]",
        "g/0/pack/copy_0 Pack(g/copy_0) 0 [400 400]",
        "g/0/reduce_0/copy_0 Reduce(g/0/pack/copy_0, g/0/pack/copy_1) 100 [400]",
        "g/0/gather_0/copy_1 Gather(g/0/reduce_0/copy_0) 0 [400]",
        "s/copy_0 mul(g/0/reduce_0/copy_0) 1 [400]",
        "s/copy_1 mul(g/0/gather_0/copy_1) 1 [400]",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected} in {lines:#?}");
    }
}

#[test]
fn tensor_parallel_divides_the_product_with_the_weights() {
    let new = passed(&step(), &["prune", "tensor_parallel(2,sync=server)"]).unwrap();
    let lines = told(&new.graph);
    for expected in [
        "w/copy_0 parameter() 0 [200]",
        "xw/copy_0 dot_general(x/copy_0, w/copy_0) 20 [1600]",
        "xw/0/aggregate/copy_2 Aggregate(xw/0/pack/copy_0, xw/0/pack/copy_1) 800 [1600]",
        "y/copy_1 max(xw/0/aggregate/copy_2) 4 [1600]",
        "g/copy_1 dot_general(x/copy_1, y/copy_1) 20 [200]",
        "u/copy_1 sub(w/copy_1, s/copy_1) 0.5 [200]",
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected} in {lines:#?}");
    }
}

#[test]
fn what_a_pass_cannot_do_is_one_line() {
    let mut builder = GraphBuilder::default();
    builder.add_op(OpSpec { name: Some("a"), ..OpSpec::cost(1.0) }, &[1]);
    let bare = builder.build().unwrap();
    let refused = |pass: &str| passed(&bare, &[pass]).unwrap_err().to_string();
    assert_eq!(refused("prune(b)"), "pass 'prune': the graph has no op 'b' to fetch: use one of a");
    assert!(refused("prune").starts_with("pass 'prune': no op updates a variable"), "{}", refused("prune"));
    assert!(refused("fuse").starts_with("pass 'fuse': the ops of the graph have no types"), "{}", refused("fuse"));
    assert!(refused("microbatch").starts_with("pass 'microbatch': no op takes inputs"), "{}", refused("microbatch"));
}
