//! Merging ops that compute the same: an example, what is never merged, and laws on graphs drawn at random.

use placebench_datasets::{DataflowGraph, GraphBuilder, KindSet, OpId, OpSpec};
use proptest::prelude::*;

use super::integers::executed;
use super::passed;

/// An op of the examples: type, attributes, data inputs, control inputs.
type Line<'a> = (&'a str, Option<&'a str>, &'a [u32], &'a [u32]);

/// A graph of ops named 0, 1, 2, …, each with two outputs of 8 bytes; `change` may change what they are.
fn of<'a>(lines: &[Line<'a>], change: impl Fn(usize, &mut OpSpec<'a>)) -> GraphBuilder {
    let mut builder = GraphBuilder::default();
    let names: Vec<String> = (0..lines.len()).map(|op| op.to_string()).collect();
    for (at, &(op_type, attributes, data, control)) in lines.iter().enumerate() {
        let mut spec = OpSpec { op_type: Some(op_type), attributes, ..OpSpec::cost(10.0) };
        change(at, &mut spec);
        let id = builder.add_op(OpSpec { name: Some(&names[at]), ..spec }, &[8, 8]);
        data.iter().for_each(|&input| builder.add_edge(OpId(input), 0, id).unwrap());
        control.iter().for_each(|&input| builder.add_control_edge(OpId(input), id).unwrap());
    }
    builder
}

/// The names of the ops that are left.
fn left(graph: &DataflowGraph) -> Vec<String> {
    let new = passed(graph, &["cse"]).unwrap();
    new.graph.op_ids().map(|op| new.graph.name(op).unwrap().to_owned()).collect()
}

fn plain(lines: &[Line<'_>]) -> Vec<String> {
    left(&of(lines, |_, _| ()).build().unwrap())
}

const A: Option<&str> = Some("a");

#[test]
fn ops_that_compute_the_same_become_one_and_so_do_those_that_take_them() {
    let lines: [Line<'_>; 7] = [
        ("Placeholder", A, &[], &[]),
        ("MatMul", A, &[0, 0], &[]),
        ("MatMul", A, &[0, 0], &[]),
        ("Add", A, &[1, 0], &[]),
        ("Add", A, &[2, 0], &[]),
        ("Add", A, &[0, 2], &[]),
        ("Neg", None, &[3, 4, 5], &[1, 2]),
    ];
    let new = passed(&of(&lines, |_, _| ()).build().unwrap(), &["cse"]).unwrap();
    assert_eq!(new.lines, ["cse: 7 ops became 5, 20 operations and 32 bytes less are made"]);
    let graph = &new.graph;
    let origins: Vec<Vec<u32>> = graph.op_ids().map(|op| new.origin.of(op).iter().map(|old| old.0).collect()).collect();
    assert_eq!(origins, [vec![0], vec![1, 2], vec![3, 4], vec![5], vec![6]]);
    let inputs: Vec<(u32, bool)> = graph.predecessors(OpId(4)).map(|edge| (edge.op.0, edge.tensor.is_some())).collect();
    assert_eq!(inputs, [(2, true), (2, true), (3, true), (1, false)]);
    assert_eq!(graph.attributes().unwrap().get(1), A);
}

#[test]
fn what_differs_in_anything_stays() {
    let placeholder = ("Placeholder", A, &[][..], &[][..]);
    let pair = |first: Line<'static>, second: Line<'static>| plain(&[placeholder, placeholder, first, second]).len();
    let mul = ("Mul", A, &[0, 1][..], &[][..]);
    assert_eq!(pair(mul, mul), 3);
    assert_eq!(pair(mul, ("Mul", A, &[1, 0], &[])), 4, "the order of inputs");
    assert_eq!(pair(mul, ("Mul", Some("b"), &[0, 1], &[])), 4, "attributes");
    assert_eq!(pair(mul, ("Sub", A, &[0, 1], &[])), 4, "type");
    assert_eq!(pair(mul, ("Mul", A, &[0, 1], &[1])), 4, "control inputs");
    assert_eq!(pair(mul, ("Mul", A, &[0], &[1])), 4, "data, not control inputs");
    assert_eq!(pair(("Mul", None, &[0, 1], &[]), ("Mul", None, &[0, 1], &[])), 4, "no attributes");
    // A set has no order, and an input twice is one.
    assert_eq!(pair(("Mul", A, &[0], &[0, 1]), ("Mul", A, &[0], &[1, 0, 1])), 3);
    let lines = [("Placeholder", A, &[][..], &[][..]), ("Mul", A, &[0], &[]), ("Mul", A, &[0], &[])];
    let gpu = |at: usize, spec: &mut OpSpec<'_>| {
        spec.kinds = if at == 1 { "gpu".parse().unwrap() } else { KindSet::ALL };
    };
    assert_eq!(left(&of(&lines, gpu).build().unwrap()).len(), 3, "kinds of devices");
    let memory = |at: usize, spec: &mut OpSpec<'_>| spec.memory_bytes = if at > 0 { 8 } else { 0 };
    assert_eq!(left(&of(&lines, memory).build().unwrap()).len(), 3, "resident memory");
    let grouped = |with: &[u32]| {
        let mut builder = of(&lines, |_, _| ());
        with.iter().for_each(|&op| builder.colocate(OpId(0), OpId(op)).unwrap());
        left(&builder.build().unwrap()).len()
    };
    assert_eq!((grouped(&[1]), grouped(&[1, 2])), (3, 2), "colocation groups");
    // The two outputs of an op are two inputs.
    let mut builder = of(&[placeholder, ("Neg", A, &[], &[]), ("Neg", A, &[], &[])], |_, _| ());
    builder.add_edge(OpId(0), 0, OpId(1)).unwrap();
    builder.add_edge(OpId(0), 1, OpId(2)).unwrap();
    assert_eq!(left(&builder.build().unwrap()).len(), 3, "ports");
}

/// A reader of a GraphDef gives an op the ports that others read.
#[test]
fn the_op_that_stays_has_the_outputs_of_all() {
    let mut builder = GraphBuilder::default();
    let spec = |op_type| OpSpec { op_type: Some(op_type), attributes: A, ..OpSpec::cost(1.0) };
    let first = builder.add_op(spec("Split"), &[0]);
    let second = builder.add_op(spec("Split"), &[8, 16]);
    let end = builder.add_op(spec("Add"), &[]);
    builder.add_edge(first, 0, end).unwrap();
    builder.add_edge(second, 1, end).unwrap();
    let new = passed(&builder.build().unwrap(), &["cse"]).unwrap().graph;
    let outputs: Vec<u64> = new.outputs(OpId(0)).map(|tensor| new.tensor_bytes(tensor)).collect();
    let inputs: Vec<usize> = new.predecessors(OpId(1)).map(|edge| new.port(edge.tensor.unwrap())).collect();
    assert_eq!((new.op_count(), outputs, inputs), (2, vec![8, 16], vec![0, 1]));
}

#[test]
fn ops_with_state_are_never_merged_and_constants_are() {
    let types = [
        "Variable",
        "VariableV2",
        "VarHandleOp",
        "ReadVariableOp",
        "Assign",
        "AssignAddVariableOp",
        "ApplyAdam",
        "ResourceApplyAdam",
        "ScatterAdd",
        "ResourceScatterUpdate",
        "RandomUniform",
        "RandomStandardNormal",
        "TruncatedNormal",
        "Multinomial",
        "QueueDequeueV2",
        "IteratorGetNext",
        "TensorDataset",
        "Placeholder",
        "PyFunc",
        "Print",
        "Assert",
        "StackPopV2",
        "TensorArrayV3",
        "TensorArrayReadV3",
        "Barrier",
        "TextLineReaderV2",
        "Merge",
        "Enter",
        "Exit",
        "NextIteration",
        "LoopCond",
        "NoOp",
        "While",
        "StatefulPartitionedCall",
        "input",
        "parameter",
        "state",
        "_Arg",
        "Input",
        "io_callback",
        "debug_callback",
        "get",
        "swap",
        "addupdate",
        "custom_call",
        "Dropout",
        "Bernoulli",
    ];
    for op_type in types {
        assert_eq!(plain(&[(op_type, A, &[], &[]), (op_type, A, &[], &[])]).len(), 2, "{op_type}");
    }
    let functions = [
        "Const",
        "constant",
        "MatMul",
        "BroadcastGradientArgs",
        "ArgMax",
        "StatelessRandomUniformV2",
        "Identity",
        "random_bits",
        "scan",
        "TensorListStack",
        "CompositeTensorVariantToComponents",
        "Shape",
        "Pack",
        "Switch",
    ];
    for op_type in functions {
        assert_eq!(plain(&[(op_type, A, &[], &[]), (op_type, A, &[], &[])]).len(), 1, "{op_type}");
    }
    let resident = |_: usize, spec: &mut OpSpec<'_>| spec.memory_bytes = 16;
    let constants = of(&[("Const", A, &[], &[]), ("Const", A, &[], &[])], resident).build().unwrap();
    let new = passed(&constants, &["cse"]).unwrap().graph;
    assert_eq!((new.op_count(), new.memory_bytes(OpId(0))), (1, 16));
}

#[test]
fn a_graph_without_attributes_is_refused_with_the_remedy() {
    let bare = of(&[("Add", None, &[], &[])], |_, _| ()).build().unwrap();
    let refused = passed(&bare, &["cse"]).unwrap_err().to_string();
    assert_eq!(
        refused,
        "pass 'cse': the ops of the graph have no types or no attributes, which say what they compute: read the GraphDef that \
         TensorFlow wrote, or extract the graph anew"
    );
}

/// A graph of few types and few inputs, so that many ops compute the same.
fn graphs() -> impl Strategy<Value = DataflowGraph> {
    let index = any::<prop::sample::Index>;
    let op = (0..4usize, prop::collection::vec(index(), 1..3), prop::option::weighted(0.1, index()), 0..12u8);
    (prop::collection::vec(op, 2..40), any::<bool>()).prop_map(|(ops, grouped)| {
        let mut builder = GraphBuilder::default();
        let add = |builder: &mut GraphBuilder, op_type: &str, rare: u8| {
            let name = builder.op_count().to_string();
            let spec = OpSpec {
                name: Some(&name),
                op_type: Some(op_type),
                attributes: (rare != 1).then_some("all"),
                kinds: if rare == 2 { "gpu".parse().unwrap() } else { KindSet::ALL },
                ..OpSpec::cost(1.0)
            };
            builder.add_op(spec, &[100])
        };
        for op_type in ["input", "parameter", "parameter"] {
            add(&mut builder, op_type, 0);
        }
        for (op_type, inputs, control, rare) in ops {
            // Half of what is there, so that ops have the same inputs often.
            let count = builder.op_count().div_ceil(2).max(3);
            let id = add(&mut builder, ["mul", "matmul", "add", "reduce_sum"][op_type], rare);
            for input in inputs {
                builder.add_edge(OpId::new(input.index(count)), 0, id).unwrap();
            }
            if let Some(control) = control {
                builder.add_control_edge(OpId::new(control.index(count)), id).unwrap();
            }
            if grouped && rare > 8 {
                builder.colocate(OpId(1 + u32::from(rare % 2)), id).unwrap();
            }
        }
        builder.build().unwrap()
    })
}

/// Whether two ops are equal in all that the rule names, where `same` tells which inputs are equal.
fn are_equal(graph: &DataflowGraph, a: OpId, b: OpId, same: impl Fn(OpId) -> OpId) -> bool {
    let of = |op: OpId| {
        let label = |labels: &placebench_datasets::Categories| labels.get(op.index()).map(str::to_owned);
        let data = graph.predecessors(op).filter(|edge| edge.tensor.is_some()).map(|edge| same(edge.op));
        let control = graph.predecessors(op).filter(|edge| edge.tensor.is_none()).map(|edge| same(edge.op));
        let control: std::collections::BTreeSet<OpId> = control.collect();
        let labels = (label(graph.op_types().unwrap()), label(graph.attributes().unwrap()));
        let place = (graph.kinds(op), graph.colocation().group_of(op));
        (labels, place, data.collect::<Vec<_>>(), control)
    };
    let is_function = |op: OpId| {
        let op_type = graph.op_types().unwrap().get(op.index()).unwrap();
        !["input", "parameter"].contains(&op_type) && graph.attributes().unwrap().get(op.index()).is_some()
    };
    is_function(a) && is_function(b) && of(a) == of(b)
}

proptest! {
    /// Every op that is gone computes what the one that stands for it does, in the old graph and in the new one; and no two that are
    /// left are equal.
    #[test]
    fn what_is_merged_computes_the_same_and_all_that_does_is_merged(graph in graphs()) {
        let new = passed(&graph, &["cse"]).unwrap();
        let (before, after) = (executed(&graph, 1), executed(&new.graph, 1));
        let mut first = vec![OpId(0); graph.op_count()];
        for op in new.graph.op_ids() {
            for &old in new.origin.of(op) {
                prop_assert_eq!(&before[old.index()], &after[op.index()], "op {}", old);
                first[old.index()] = new.origin.of(op)[0];
            }
        }
        let all: Vec<OpId> = graph.op_ids().collect();
        for (at, &a) in all.iter().enumerate() {
            for &b in &all[..at] {
                let is_one = first[a.index()] == first[b.index()];
                prop_assert_eq!(is_one, are_equal(&graph, a, b, |op| first[op.index()]), "ops {} and {}", b, a);
            }
        }
        prop_assert_eq!(new.origin.op_count(), new.graph.op_count());
        prop_assert_eq!(new.graph.op_ids().map(|op| new.origin.of(op).len()).sum::<usize>(), graph.op_count());
    }

    #[test]
    fn a_second_time_changes_nothing(graph in graphs()) {
        let once = passed(&graph, &["cse"]).unwrap().graph;
        let twice = passed(&once, &["cse"]).unwrap();
        prop_assert_eq!(&twice.graph, &once);
        let ops = once.op_count();
        prop_assert_eq!(&twice.lines[0], &format!("cse: {ops} ops became {ops}, 0 operations and 0 bytes less are made"));
    }
}
