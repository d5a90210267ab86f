//! Loops of GraphDefs, unrolled: graphs of TensorFlow, and loops and cycles drawn at random.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use placebench_datasets::format::graphdef::{
    Encoding, ImportReport, Unrolling, parse_graph_def, read_extraction, read_graph_def,
};
use placebench_datasets::format::{LoopPolicy, ReadOptions};
use placebench_datasets::{DataflowGraph, OpId};
use proptest::prelude::*;

fn with(cycles: LoopPolicy) -> ReadOptions {
    ReadOptions { cycles: Some(cycles), ..ReadOptions::default() }
}

fn times(times: u32) -> LoopPolicy {
    LoopPolicy::Unroll(NonZeroU32::new(times).unwrap())
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/graphdef").join(name)
}

fn read(name: &str, cycles: LoopPolicy) -> (DataflowGraph, ImportReport) {
    let encoding = if name.ends_with("pb") { Encoding::Binary } else { Encoding::Text };
    read_graph_def(&fixture(name), encoding, &with(cycles)).unwrap()
}

fn parsed(text: &str, cycles: LoopPolicy) -> Result<(DataflowGraph, ImportReport), String> {
    let read = parse_graph_def(Path::new("a.pbtxt"), text.into(), Encoding::Text, &with(cycles));
    read.map_err(|error| error.to_string())
}

fn op(graph: &DataflowGraph, name: &str) -> OpId {
    graph.op_ids().find(|&op| graph.name(op) == Some(name)).unwrap_or_else(|| panic!("no op '{name}'"))
}

/// The names of what an op takes; behind a '^' where it only waits.
fn inputs(graph: &DataflowGraph, name: &str) -> Vec<String> {
    let inputs = graph.predecessors(op(graph, name));
    inputs
        .map(|edge| format!("{}{}", if edge.tensor.is_some() { "" } else { "^" }, graph.name(edge.op).unwrap()))
        .collect()
}

/// All edges by names: producer, port, consumer.
fn edges(graph: &DataflowGraph) -> Vec<(String, Option<usize>, String)> {
    let name = |op| graph.name(op).unwrap().to_owned();
    graph.edges().map(|(op, edge)| (name(op), edge.tensor.map(|tensor| graph.port(tensor)), name(edge.op))).collect()
}

/// The op of the file that a copy is of, and which run of it.
fn origin(name: &str) -> (&str, usize) {
    match name.rsplit_once("/iteration_") {
        Some((origin, run)) => (origin, run.parse().unwrap()),
        None => (name, 0),
    }
}

#[test]
fn a_loop_of_tensorflow_becomes_a_chain_of_iterations() {
    let (graph, report) = read("while.pbtxt", times(3));
    // Outside: w, zero, x, three Enter, two Exit, result. Fourteen ops are in the loop, the variable i and its test among them.
    assert_eq!(report.unrolled, Some(Unrolling { loops: 1, times: 3, ops: 14, copies: 42 }));
    assert_eq!((graph.op_count(), report.nodes, report.dropped_edges), (9 + 42, 23, 2));
    assert!(
        report.to_string().starts_with("23 nodes (14 in a loop, which became 42 ops in 3 iterations), "),
        "{report}"
    );
    for (name, expected) in [
        ("while/Merge_1", &["while/Enter_1"][..]),
        ("while/Merge_1/iteration_1", &["while/NextIteration_1"]),
        ("while/Merge_1/iteration_2", &["while/NextIteration_1/iteration_1"]),
        ("while/Switch_1/iteration_2", &["while/Merge_1/iteration_2", "while/LoopCond/iteration_2"]),
        ("while/mul", &["while/Identity_1", "while/mul/Enter"]),
        ("while/mul/iteration_2", &["while/Identity_1/iteration_2", "while/mul/Enter"]),
        ("while/Less/y/iteration_1", &["^while/Merge/iteration_1"]),
        ("while/Exit_1", &["while/Switch_1/iteration_2"]),
        ("result", &["while/Exit_1"]),
    ] {
        assert_eq!(inputs(&graph, name), expected, "{name}");
    }
    assert_eq!(graph.out_degree(op(&graph, "while/NextIteration_1/iteration_2")), 0);
    let ids: Vec<_> = ["", "/iteration_1", "/iteration_2"].map(|end| op(&graph, &format!("while/mul{end}")).0).into();
    assert_eq!(ids, [ids[0], ids[0] + 1, ids[0] + 2], "copies follow each other");
    let group = |name: &str| graph.colocation().group_of(op(&graph, name)).unwrap();
    assert_eq!(group("while/Switch/iteration_1"), group("while/Merge/iteration_1"));
    assert_ne!(group("while/Switch/iteration_1"), group("while/Merge"), "iterations may be on different devices");
}

#[test]
fn a_loop_in_a_loop_is_unrolled_in_each_copy_of_the_outer_one() {
    let (graph, report) = read("nested.pb", times(3));
    // In the outer loop alone: 14 of its own, and 4 Enter and 2 Exit of the inner one. In both: 15.
    let expected = Unrolling { loops: 2, times: 3, ops: 34, copies: 19 * 3 + 15 * 9 };
    assert_eq!(report.unrolled, Some(expected));
    assert!(report.to_string().contains("(34 in 2 loops, which became 192 ops, with 3 iterations of each loop)"));
    let inner = |op: &str, run: &str| format!("outer/inner/{op}{run}");
    for (name, expected) in [
        // The first iteration of the second round takes what enters.
        (inner("Merge_1", "/iteration_3"), vec![inner("Enter_1", "/iteration_1")]),
        (inner("Merge_1", "/iteration_4"), vec![inner("NextIteration_1", "/iteration_3")]),
        (inner("Exit_1", "/iteration_1"), vec![inner("Switch_1", "/iteration_5")]),
        (inner("Exit_1", ""), vec![inner("Switch_1", "/iteration_2")]),
        (inner("mul", "/iteration_7"), vec![inner("Identity_1", "/iteration_7"), inner("mul/Enter_1", "/iteration_2")]),
        (inner("mul/Enter_1", "/iteration_2"), vec![inner("mul/Enter", "")]),
        (inner("add", "/iteration_5"), vec![inner("add/Enter", "/iteration_1"), inner("add/y", "/iteration_5")]),
        ("outer/Merge_1/iteration_1".into(), vec!["outer/NextIteration_1".into()]),
        ("outer/NextIteration_1/iteration_1".into(), vec![inner("Exit_1", "/iteration_1")]),
        ("outer/Exit_1".into(), vec!["outer/Switch_1/iteration_2".into()]),
    ] {
        assert_eq!(inputs(&graph, &name), expected, "{name}");
    }
}

#[test]
fn a_gradient_pops_in_each_iteration_what_the_loop_has_pushed_on_the_stack() {
    let (graph, report) = read("gradient.pb", times(4));
    assert_eq!(report.unrolled.map(|unrolled| unrolled.loops), Some(2));
    let base = "gradients/while/mul_grad/Mul_1/";
    let stack = graph.colocation().group_of(op(&graph, &format!("{base}f_acc"))).unwrap();
    for run in ["", "/iteration_1", "/iteration_3"] {
        let (push, pop) = (format!("{base}StackPushV2{run}"), format!("{base}StackPopV2{run}"));
        let pushed = [format!("{base}Enter"), format!("while/Identity_1{run}"), format!("^gradients/Add{run}")];
        assert_eq!(inputs(&graph, &push), pushed);
        assert_eq!(inputs(&graph, &pop), [format!("{base}StackPopV2/Enter"), format!("^gradients/Sub{run}")]);
        for name in [push, pop] {
            assert_eq!(graph.colocation().group_of(op(&graph, &name)), Some(stack), "a stack is on one device: {name}");
        }
    }
    // The number of iterations, counted forwards, is where the backward loop begins.
    assert_eq!(inputs(&graph, "gradients/b_count_1"), ["gradients/f_count_2"]);
    assert_eq!(inputs(&graph, "gradients/f_count_2"), ["gradients/Switch/iteration_3"]);
    let sum = "gradients/while/mul/Enter_grad/";
    assert_eq!(inputs(&graph, &format!("{sum}b_acc_2/iteration_3")), [format!("{sum}NextIteration/iteration_2")]);
}

#[test]
fn one_iteration_is_what_opening_leaves() {
    for name in ["loop.pb", "while.pbtxt", "nested.pb", "gradient.pb", "model.pbtxt"] {
        let ((graph, mut report), expected) = (read(name, times(1)), read(name, LoopPolicy::NextIteration));
        assert!(report.unrolled.take().is_some());
        assert_eq!((graph, report), expected, "{name}");
    }
}

#[test]
fn a_file_without_loops_is_as_it_was() {
    let ((graph, mut report), expected) = (read("model.pbtxt", times(8)), read("model.pbtxt", LoopPolicy::Reject));
    assert!(report.to_string().contains("58 nodes (no loop to unroll), "), "{report}");
    report.unrolled = None;
    assert_eq!((graph, report), expected);
}

#[test]
fn what_was_traced_in_all_iterations_is_divided_among_them() {
    let folder = tempfile::tempdir().unwrap();
    fs::copy(fixture("nested.pb"), folder.path().join("graph.pb")).unwrap();
    let rows = "outer/add,,9e-6,2e-6,0\nouter/inner/mul,,9e-6,2e-6,0\nw,,9e-6,2e-6,64\n";
    let header = "name,layer,cpu_seconds,gpu_seconds,memory_bytes\n";
    fs::write(folder.path().join("ops.csv"), format!("{header}{rows}")).unwrap();
    fs::write(folder.path().join("tensors.csv"), "op,port,bytes\nouter/inner/mul,0,64\n").unwrap();
    fs::write(folder.path().join("provenance.toml"), "").unwrap();
    let graph = read_extraction(folder.path(), &with(times(3))).unwrap().graph;
    let of = |name: &str| {
        let op = op(&graph, name);
        let time = |class| graph.measured_on(class).unwrap().of(op).unwrap();
        (graph.ops(op), time("cpu"), time("gpu"))
    };
    // The trace adds up what runs in a step; estimates for the GPU are of one run.
    assert_eq!(of("w"), (9000.0, 9e-6, 2e-6));
    assert_eq!(of("outer/add/iteration_2"), (3000.0, 9e-6 / 3.0, 2e-6));
    assert_eq!(of("outer/inner/mul/iteration_8"), (1000.0, 9e-6 / 9.0, 2e-6));
    let made = graph.outputs(op(&graph, "outer/inner/mul/iteration_8"));
    assert_eq!(
        made.map(|tensor| graph.tensor_bytes(tensor)).collect::<Vec<_>>(),
        [64],
        "each makes a tensor of its own"
    );
}

/// `a → b → c → a`, with `x` outside, from which `b` takes, and `y` that takes from `c`.
const CYCLE: &str = "node { name: 'x' op: 'Const' } node { name: 'a' op: 'Add' input: 'c' }
    node { name: 'b' op: 'Add' input: 'a' input: 'x' attr { key: '_placebench_memory_bytes' value { s: '8' } } }
    node { name: 'c' op: 'Add' input: 'b' attr { key: '_placebench_ops' value { s: '6' } } }
    node { name: 'y' op: 'Add' input: 'c' }";

#[test]
fn other_cycles_are_closed_by_the_edges_that_a_search_drops() {
    let (graph, report) = parsed(CYCLE, times(3)).unwrap();
    assert_eq!(report.unrolled, Some(Unrolling { loops: 1, times: 3, ops: 3, copies: 9 }));
    // The search begins at x: a → b is the edge that it meets last.
    let expected: [(&str, &[&str]); 6] = [
        ("b", &["x"]),
        ("c", &["b"]),
        ("a", &["c"]),
        ("b/iteration_1", &["a", "x"]),
        ("b/iteration_2", &["a/iteration_1", "x"]),
        ("y", &["c/iteration_2"]),
    ];
    for (name, expected) in expected {
        assert_eq!(inputs(&graph, name), expected, "{name}");
    }
    assert_eq!(parsed(CYCLE, times(1)).unwrap().0, parsed(CYCLE, LoopPolicy::Drop).unwrap().0);
}

#[test]
fn resident_memory_counts_once_and_on_one_device() {
    let (graph, _) = parsed(CYCLE, times(3)).unwrap();
    let copies = ["b", "b/iteration_1", "b/iteration_2"].map(|name| op(&graph, name));
    assert_eq!(copies.map(|copy| graph.memory_bytes(copy)), [8, 0, 0]);
    let group = graph.colocation().group_of(copies[0]).unwrap();
    assert_eq!(graph.colocation().members(group), copies);
    assert_eq!(graph.ops(op(&graph, "c/iteration_1")), 6.0, "what a GraphDef says is of one run");
}

#[test]
fn colocation_holds_in_an_iteration_and_with_what_is_outside_in_all() {
    let class = |name: &str| format!("attr {{ key: '_class' value {{ list {{ s: 'loc:@{name}' }} }} }}");
    let text = CYCLE.replace("input: 'c' }", &format!("input: 'c' {} }}", class("b")));
    let text = text.replace("'_placebench_memory_bytes' value { s: '8' }", "'_placebench_ops' value { s: '1' }");
    // Now a and y are colocated with b: all copies of b with y, each a with its b.
    let (graph, _) = parsed(&text, times(2)).unwrap();
    let group = |name: &str| graph.colocation().group_of(op(&graph, name));
    for name in ["a", "b", "a/iteration_1", "b/iteration_1"] {
        assert_eq!(group(name), group("y"), "{name}");
    }
    let text = text.replace(&format!("input: 'c' {} }}", class("b")), "input: 'c' }");
    let text = text.replace("op: 'Const' }", &format!("op: 'Const' {} }}", class("x"))).replace("s: '6'", "s: '7'");
    let (graph, _) =
        parsed(&text.replace("s: '7' } } }", &format!("s: '7' }} }} {} }}", class("b"))), times(2)).unwrap();
    let group = |name: &str| graph.colocation().group_of(op(&graph, name)).unwrap();
    assert_eq!(group("c"), group("b"));
    assert_eq!(group("c/iteration_1"), group("b/iteration_1"));
    assert_ne!(group("c"), group("c/iteration_1"));
}

#[test]
fn a_name_that_the_file_has_is_not_given_again() {
    let text = CYCLE.replace("'y'", "'c/iteration_1'") + " node { name: 'c/iteration_1_' op: 'Const' }";
    let (graph, _) = parsed(&text, times(2)).unwrap();
    assert_eq!(inputs(&graph, "c/iteration_1"), ["c/iteration_1__"]);
}

#[test]
fn an_error_in_a_copy_names_the_line_of_its_node() {
    let kinds = |kind: &str| format!("attr {{ key: '_placebench_kinds' value {{ s: '{kind}' }} }}");
    let class = "attr { key: '_class' value { list { s: 'loc:@b' } } }";
    let text = CYCLE.replace("input: 'x' attr", &format!("input: 'x' {} attr", kinds("CPU")));
    let text = text.replace("input: 'b' attr", &format!("input: 'b' {} {class} attr", kinds("GPU")));
    let error = parsed(&text, times(2)).unwrap_err();
    assert!(error.starts_with("a.pbtxt:3: ") || error.starts_with("a.pbtxt:2: "), "{error}");
}

#[test]
fn too_many_iterations_are_refused_before_they_are_made() {
    let options = with(times(u32::MAX));
    let error = read_graph_def(&fixture("nested.pb"), Encoding::Binary, &options).unwrap_err().to_string();
    assert!(error.contains("ops, with loops unrolled 4294967295 times, takes about "), "{error}");
    assert!(error.contains("of memory, and ") && !error.contains('\n'), "{error}");
}

#[test]
fn a_policy_that_does_not_exist_is_refused_with_those_that_do() {
    for text in ["unroll(8)", " unroll( 8 ) "] {
        assert_eq!(text.parse(), Ok(times(8)), "{text}");
    }
    for wrong in
        ["unroll(0)", "unroll(x)", "unrol(3)", "unroll", "unroll()", "unroll(3", "unroll(-1)", "unroll(4294967296)"]
    {
        let expected = format!(
            "unknown cycle policy '{wrong}': expected reject, next_iteration, drop or unroll(N), where N is a number of iterations \
             from 1"
        );
        assert_eq!(wrong.parse::<LoopPolicy>(), Err(expected));
    }
}

/// A loop as `tf.while_loop` makes it. The numbers choose among the values that are there.
#[derive(Clone, Debug)]
struct WhileLoop {
    /// Where each variable begins, and what it becomes.
    variables: Vec<[usize; 2]>,
    /// What each op of the body takes, and for what it waits.
    body: Vec<[usize; 3]>,
    /// A value from outside that does not change.
    invariant: Option<usize>,
    inner: Vec<WhileLoop>,
}

fn while_loops() -> impl Strategy<Value = WhileLoop> {
    let parts = || {
        let variables = proptest::collection::vec(any::<[usize; 2]>(), 1..4);
        (variables, proptest::collection::vec(any::<[usize; 3]>(), 0..5), any::<Option<usize>>())
    };
    let innermost =
        parts().prop_map(|(variables, body, invariant)| WhileLoop { variables, body, invariant, inner: vec![] });
    innermost.prop_recursive(3, 6, 2, move |inner| {
        (parts(), proptest::collection::vec(inner, 0..3)).prop_map(|((variables, body, invariant), inner)| WhileLoop {
            variables,
            body,
            invariant,
            inner,
        })
    })
}

/// The text of a file, and how many loops each node is in.
#[derive(Default)]
struct Made {
    nodes: Vec<String>,
    depths: BTreeMap<String, u32>,
}

impl Made {
    fn node(&mut self, depth: u32, name: String, op: &str, inputs: &[&str], rest: &str) -> String {
        let mut node = format!("node {{ name: '{name}' op: '{op}'");
        for input in inputs {
            let _ = write!(node, " input: '{input}'");
        }
        self.nodes.push(format!("{node} {rest} }}\n"));
        self.depths.insert(name.clone(), depth);
        name
    }

    /// Adds a loop at the end of `values`, those of a body with so many loops around it; answers with what leaves it.
    fn add(&mut self, depth: u32, path: &str, values: &[String], of: &WhileLoop) -> Vec<String> {
        let frame = format!("attr {{ key: 'frame_name' value {{ s: '{path}' }} }}");
        let pick = |values: &[String], number: usize| values[number % values.len()].clone();
        let (inside, mut own) = (depth + 1, Vec::new());
        for (number, [begin, _]) in of.variables.iter().enumerate() {
            let enter = self.node(depth, format!("{path}/Enter{number}"), "Enter", &[&pick(values, *begin)], &frame);
            let next = format!("{path}/NextIteration{number}");
            self.node(inside, format!("{path}/Merge{number}"), "Merge", &[&enter, &next], "");
        }
        let test = self.node(inside, format!("{path}/LoopCond"), "LoopCond", &[&format!("{path}/Merge0")], "");
        for number in 0..of.variables.len() {
            let merge = format!("{path}/Merge{number}");
            let switch = self.node(inside, format!("{path}/Switch{number}"), "Switch", &[&merge, &test], "");
            own.push(self.node(inside, format!("{path}/Identity{number}"), "Identity", &[&format!("{switch}:1")], ""));
        }
        if let Some(begin) = of.invariant {
            let constant = format!("{frame} attr {{ key: 'is_constant' value {{ b: true }} }}");
            own.push(self.node(depth, format!("{path}/Constant"), "Enter", &[&pick(values, begin)], &constant));
        }
        for (number, [a, b, waits]) in of.body.iter().enumerate() {
            let (a, b, waits) = (pick(&own, *a), pick(&own, *b), format!("^{}", pick(&own, *waits)));
            let name = format!("{path}/Add{number}");
            let inner = of.inner.get(number);
            own.push(self.node(inside, name, "Add", &[&a, &b, &waits], ""));
            if let Some(inner) = inner {
                own.extend(self.add(inside, &format!("{path}/{number}"), &own.clone(), inner));
            }
        }
        for (number, [_, end]) in of.variables.iter().enumerate() {
            self.node(inside, format!("{path}/NextIteration{number}"), "NextIteration", &[&pick(&own, *end)], "");
        }
        let exits = 0..of.variables.len();
        exits
            .map(|n| self.node(depth, format!("{path}/Exit{n}"), "Exit", &[&format!("{path}/Switch{n}")], ""))
            .collect()
    }

    fn of(loops: &[WhileLoop], reversed: bool) -> Self {
        let mut made = Self::default();
        let mut values =
            vec![made.node(0, "one".into(), "Const", &[], ""), made.node(0, "two".into(), "Const", &[], "")];
        for (number, while_loop) in loops.iter().enumerate() {
            values.extend(made.add(0, &format!("loop{number}"), &values.clone(), while_loop));
        }
        if reversed {
            made.nodes.reverse();
        }
        made
    }
}

/// Which ops data reaches from some ops, without ops that are left out.
fn reached(graph: &DataflowGraph, from: Vec<OpId>, without: impl Fn(OpId) -> bool) -> Vec<bool> {
    let mut reached = vec![false; graph.op_count()];
    let mut stack = from;
    while let Some(op) = stack.pop() {
        if !without(op) && !std::mem::replace(&mut reached[op.index()], true) {
            stack.extend(graph.successors(op).filter(|edge| edge.tensor.is_some()).map(|edge| edge.op));
        }
    }
    reached
}

proptest! {
    #[test]
    fn loops_keep_their_laws(
        loops in proptest::collection::vec(while_loops(), 1..3), n in 1u32..4, reversed in any::<bool>()
    ) {
        let made = Made::of(&loops, reversed);
        let text = made.nodes.concat();
        let (graph, report) = parsed(&text, times(n)).unwrap();
        let (opened, _) = parsed(&text, LoopPolicy::NextIteration).unwrap();
        let n = n as usize;
        let runs = |origin: &str| n.pow(made.depths[origin]);
        // Each op of a loop is there once for each run, each other op once.
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for op in graph.op_ids() {
            *counts.entry(origin(graph.name(op).unwrap()).0).or_default() += 1;
        }
        prop_assert_eq!(counts.len(), made.depths.len());
        for (name, count) in counts {
            prop_assert_eq!(count, runs(name), "{}", name);
        }
        let unrolled = report.unrolled.unwrap();
        prop_assert_eq!(unrolled.ops, made.depths.values().filter(|&&depth| depth > 0).count());
        prop_assert_eq!(graph.op_count(), made.depths.len() - unrolled.ops + unrolled.copies);
        // Copies made one again are the opened graph, but for the edges between iterations.
        let between = |edge: &(String, Option<usize>, String)| edge.0.contains("/Next") && edge.2.contains("/Merge");
        let merged: BTreeSet<_> = edges(&graph)
            .into_iter()
            .map(|(from, port, to)| (origin(&from).0.to_owned(), port, origin(&to).0.to_owned()))
            .filter(|edge| !between(edge))
            .collect();
        prop_assert_eq!(merged, edges(&opened).into_iter().collect::<BTreeSet<_>>());
        if n == 1 {
            prop_assert_eq!(&graph, &opened);
        }
        // What enters a variable passes each iteration before it leaves.
        for number in 0..loops.len() {
            let path = format!("loop{number}/");
            let at = |kind: &str| -> Vec<OpId> {
                let begins = format!("{path}{kind}");
                graph.op_ids().filter(|&op| graph.name(op).unwrap().starts_with(&begins)).collect()
            };
            for iteration in 0..n {
                let in_iteration = |op: OpId| {
                    let (name, run) = origin(graph.name(op).unwrap());
                    let depth = made.depths[name];
                    name.starts_with(&path) && depth > 0 && run / n.pow(depth - 1) == iteration
                };
                let reached = reached(&graph, at("Enter"), in_iteration);
                prop_assert!(at("Exit").iter().all(|exit| !reached[exit.index()]));
            }
        }
        // Ops that stand in the same iterations take from one another there.
        for (from, _, to) in edges(&graph) {
            let ((from, from_run), (to, to_run)) = (origin(&from), origin(&to));
            let (a, b) = (from.rsplit_once('/').unwrap_or_default().0, to.rsplit_once('/').unwrap_or_default().0);
            if a == b && made.depths[from] == made.depths[to] && !from.contains("/Next") {
                prop_assert_eq!(from_run, to_run, "{} {}", from, to);
            }
        }
    }

    #[test]
    fn any_cyclic_file_becomes_a_graph(
        ops in proptest::collection::vec((0usize..7, 0u8..3, proptest::collection::vec((0usize..15, 0u32..3), 0..4)), 1..15),
        n in 1u32..3,
        with_loops in any::<bool>(),
    ) {
        let types = ["Add", "Merge", "NextIteration", "Enter", "Exit", "Switch", "Source"];
        let mut text = String::new();
        for (number, (op, frame, inputs)) in ops.iter().enumerate() {
            let op = if with_loops { types[*op] } else { types[*op / 6 * 6] };
            let _ = write!(text, "node {{ name: 'n{number}' op: '{op}'");
            for (source, port) in inputs.iter().filter(|_| op != "Source") {
                let input = format!("n{}", source % ops.len());
                let _ = match port {
                    2 => write!(text, " input: '^{input}'"),
                    port => write!(text, " input: '{input}:{port}'"),
                };
            }
            if op == "Enter" && *frame > 0 {
                let _ = write!(text, " attr {{ key: 'frame_name' value {{ s: '{frame}' }} }}");
            }
            text.push_str(" }\n");
        }
        // Frames that contradict each other may lie in each other as often as there are ops.
        match parsed(&text, times(n)) {
            Err(error) => prop_assert!(error.contains("of memory, and "), "{}", error),
            Ok((graph, report)) => {
                let unrolled = report.unrolled.unwrap();
                prop_assert_eq!(graph.op_count(), ops.len() - unrolled.ops + unrolled.copies);
                let (dropped, _) = parsed(&text, LoopPolicy::Drop).unwrap();
                if n == 1 && !with_loops {
                    prop_assert_eq!(&graph, &dropped);
                }
                if unrolled.loops == 0 {
                    prop_assert_eq!(&graph, &dropped);
                }
            }
        }
    }
}
