//! Random graphs and clusters for the tests of formats.

pub(crate) mod tables;

use placebench_datasets::{DataflowGraph, GraphBuilder, KindSet, OpId, OpSpec};
use proptest::prelude::*;

/// A cost that may be any finite number ≥ 0, small or huge, round or not.
fn cost() -> impl Strategy<Value = f64> {
    prop_oneof![
        (0u32..1000).prop_map(f64::from),
        0.0..1.0,
        any::<f64>().prop_filter_map("finite", |x| { x.is_finite().then(|| x.abs()) })
    ]
}

fn label() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z/_0-9]{1,12}", "[\",;|:^# \\n\\r\\t\\PC]{1,8}"]
}

#[derive(Clone, Debug)]
struct RandomOp {
    ops: f64,
    memory_bytes: u64,
    kinds: u8,
    group: Option<u8>,
    bytes_moved: f64,
    times: Vec<(&'static str, f64)>,
    op_type: Option<String>,
    layer: Option<String>,
    attributes: Option<String>,
    outputs: Vec<u64>,
}

/// Classes of devices: those of the kinds, and others.
const CLASSES: [&str; 5] = ["cpu", "gpu", "tpu", "h100_sxm", "a"];

prop_compose! {
    fn op(times: bool)(
        ops in cost(),
        memory_bytes in any::<u64>(),
        kinds in 1u8..8,
        group in proptest::option::weighted(0.3, 0u8..4),
        bytes_moved in cost(),
        times in proptest::array::uniform5(proptest::option::weighted(if times { 0.5 } else { 0.01 }, cost())),
        op_type in proptest::option::of(prop_oneof!["MatMul", "Add", label()]),
        layer in proptest::option::weighted(0.2, label()),
        attributes in proptest::option::weighted(0.2, label()),
        outputs in proptest::collection::vec(any::<u64>(), 0..4),
    ) -> RandomOp {
        // Members of a group have the CPU in common.
        let kinds = if group.is_some() { kinds | 1 } else { kinds };
        let times = CLASSES.into_iter().zip(times).filter_map(|(class, time)| Some((class, time?))).collect();
        RandomOp { ops, memory_bytes, kinds, group, bytes_moved, times, op_type, layer, attributes, outputs }
    }
}

prop_compose! {
    /// A graph with ports, control and parallel edges, groups, isolated ops; ids in no topological order;
    /// perhaps without names, types or times.
    pub(crate) fn graph()(has_times in any::<bool>())(
        mut ops in proptest::collection::vec(op(has_times), 1..16),
        // One tensor an op and ids in topological order, as generators make them; at 2 without control edges too.
        plain in 0..3,
        names in any::<bool>(),
        [types, moves] in any::<[bool; 2]>(),
        edges in proptest::collection::vec((any::<usize>(), any::<usize>(), any::<usize>(), any::<bool>()), 0..40),
        name in label(),
        order in any::<u64>(),
    ) -> DataflowGraph {
        let mut builder = GraphBuilder::default();
        let n = ops.len();
        if plain > 0 {
            ops.iter_mut().for_each(|op| op.outputs = vec![op.memory_bytes]);
        }
        let mut first_of_group = [None; 4];
        for (position, op) in ops.iter().enumerate() {
            let name = format!("{name}{position}");
            let id = builder.add_op(
                OpSpec {
                    ops: op.ops,
                    memory_bytes: op.memory_bytes,
                    kinds: KindSet::from_bits(op.kinds).unwrap(),
                    bytes_moved: moves.then_some(op.bytes_moved),
                    times: &op.times,
                    name: names.then_some(name.as_str()),
                    op_type: op.op_type.as_deref().filter(|_| types),
                    layer: op.layer.as_deref().filter(|_| types),
                    attributes: op.attributes.as_deref().filter(|_| types),
                },
                &op.outputs,
            );
            if let Some(group) = op.group {
                let first = *first_of_group[usize::from(group)].get_or_insert(id);
                builder.colocate(first, id).unwrap();
            }
        }
        // A fixed order of ops that is not that of their ids.
        let mut by_rank: Vec<usize> = (0..n).collect();
        if plain == 0 {
            by_rank.sort_by_key(|&op| (op as u64 + 1).wrapping_mul(order | 1) % 1009);
        }
        for (a, b, port, control) in edges.into_iter().filter(|_| n > 1) {
            let (a, b) = (a % n, b % n);
            if a == b {
                continue;
            }
            let (source, target) = (by_rank[a.min(b)], by_rank[a.max(b)]);
            let outputs = ops[source].outputs.len();
            let (source, target) = (OpId::new(source), OpId::new(target));
            match control && plain < 2 || outputs == 0 {
                true => builder.add_control_edge(source, target).unwrap(),
                false => builder.add_edge(source, port % outputs, target).unwrap(),
            }
        }
        builder.build().unwrap()
    }
}
