//! The memory that the documentation of a graph promises, on one of 20 M edges. One test, since it looks at the peak of the
//! whole process.

use placebench_base::process::peak_rss_bytes;
use placebench_datasets::{BackwardParts, Colocation, DataflowGraph, GraphBuilder, KindSet, OpId, OpSpec};

/// Ops that read up to `degree` others, anywhere before them; sources of each op ascend.
fn random_parts(ops: u32, degree: u32) -> BackwardParts {
    let mut parts = BackwardParts {
        ops: vec![1.0; ops as usize],
        memory_bytes: vec![1; ops as usize],
        kinds: vec![KindSet::ALL; ops as usize],
        tensor_bytes: vec![4; ops as usize],
        in_offsets: Vec::with_capacity(ops as usize + 1),
        in_sources: Vec::with_capacity(ops as usize * degree as usize),
        colocation: Colocation::default(),
    };
    parts.in_offsets.push(0);
    let mut state = 1u64;
    for op in 0..ops {
        let first = parts.in_sources.len();
        for _ in 0..degree.min(op) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            parts.in_sources.push(OpId((((state >> 32) * u64::from(op)) >> 32) as u32));
        }
        parts.in_sources[first..].sort_unstable();
        parts.in_offsets.push(parts.in_sources.len() as u32);
    }
    parts
}

#[test]
fn twenty_million_edges_take_the_memory_that_is_documented() {
    // What names, labels and groups add, on a small graph.
    let mut builder = GraphBuilder::default();
    for name in ["ab", "cd", "ef"] {
        builder.add_op(OpSpec { name: Some(name), ..OpSpec::cost(1.0) }, &[8]);
    }
    builder.colocate(OpId(0), OpId(2)).unwrap();
    let small = builder.build().unwrap();
    let (offsets, group_offsets) = (3 * 4, 2 * 4);
    assert_eq!(small.heap_bytes(), 3 * 41 + offsets + (3 * 4 + 6) + (3 * 4 + 2 * 4 + group_offsets));

    let (ops, degree) = (4_000_000, 5);
    let before = peak_rss_bytes();
    let graph = DataflowGraph::from_backward(random_parts(ops, degree)).unwrap();
    let peak = peak_rss_bytes();
    let (ops, edges) = (graph.op_count(), graph.edge_count());
    assert_eq!(edges, 20_000_000 - 15);
    assert_eq!(graph.heap_bytes(), 16 * edges + 41 * ops + offsets);
    if let (Some(before), Some(peak)) = (before, peak) {
        let built = peak - before;
        println!("graph {} MB, peak while built {} MB", graph.heap_bytes() / 1_000_000, built / 1_000_000);
        // Scratch: 2 bytes an edge and some blocks.
        assert!(built < (graph.heap_bytes() + 6 * edges) as u64, "peak {built} for a graph of {}", graph.heap_bytes());
    }
}
