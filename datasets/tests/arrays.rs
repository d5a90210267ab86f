//! The arrays that a graph consists of.

use placebench_datasets::{GraphBuilder, OpId, OpSpec};

#[test]
fn the_arrays_say_what_the_graph_says_op_by_op() {
    let mut builder = GraphBuilder::default();
    let a = builder.add_op(OpSpec { memory_bytes: 7, ..OpSpec::cost(3.0) }, &[8, 9]);
    let b = builder.add_op(OpSpec::cost(5.0), &[]);
    let c = builder.add_op(OpSpec::cost(4.0), &[1]);
    builder.add_edge(a, 1, b).unwrap();
    builder.add_edge(a, 0, c).unwrap();
    builder.add_control_edge(c, b).unwrap();
    let graph = builder.build().unwrap();
    assert_eq!((graph.all_ops(), graph.all_memory_bytes()), (&[3.0, 5.0, 4.0][..], &[7, 0, 0][..]));
    assert_eq!((graph.all_tensor_bytes(), graph.all_producers()), (&[8, 9, 1][..], &[OpId(0), OpId(0), OpId(2)][..]));
    let rows = graph.out_offsets().windows(2).map(|row| &graph.out_targets()[row[0] as usize..row[1] as usize]);
    assert!(rows.eq(graph.op_ids().map(|op| graph.successor_ops(op))));
}
