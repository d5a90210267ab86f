//! Training steps on several devices: their critical paths and their traffic.

use std::collections::BTreeSet;

use placebench_datasets::{DataflowGraph, OpId, Properties};

use super::{class, graph, ops_of};

/// Bytes that move if each op is where its layer label says: a tensor once to each place.
fn traffic(graph: &DataflowGraph) -> u64 {
    let place = |op: OpId| graph.layers().and_then(|layers| layers.number(op.index()));
    let moves: BTreeSet<_> = graph
        .edges()
        .filter(|(source, edge)| place(*source) != place(edge.op))
        .filter_map(|(_, edge)| Some((edge.tensor?, place(edge.op))))
        .collect();
    moves.into_iter().map(|(tensor, _)| graph.tensor_bytes(tensor)).sum()
}

/// The critical path of a schedule is the bubble's formula, whatever the schedule, and longer than without one only on few
/// devices: without control edges it is one micro-batch through all stages.
#[test]
fn a_pipeline_has_the_bubble_of_its_formula() {
    for (stages, batches) in [(1, 1), (1, 5), (4, 1), (4, 2), (4, 8), (5, 3), (3, 20)] {
        for schedule in ["gpipe", "1f1b", "free"] {
            let graph = graph(&format!("pipeline(stages={stages},micro_batches={batches},schedule={schedule})"), 0);
            assert_eq!(graph.op_count(), stages * (2 * batches + 2));
            let forward = ops_of(&graph, &["Forward"]) / (stages * batches) as f64;
            let update = ops_of(&graph, &["Update"]) / stages as f64;
            let passes = if schedule == "free" { stages } else { batches + stages - 1 };
            let expected = passes as f64 * 3.0 * forward + update;
            let found = Properties::of(&graph, None).critical_path_ops;
            assert!((found / expected - 1.0).abs() < 1e-12, "{stages} {batches} {schedule}: {found} for {expected}");
            assert_eq!(graph.colocation().group_count(), stages);
            // An activation and a gradient of each micro-batch at each border.
            let bytes = 4 * 4 * 128 * 512;
            assert_eq!(traffic(&graph), (2 * batches * (stages - 1) * bytes) as u64);
        }
    }
}

/// One forward, one backward keeps at most as many activations as there are stages from here to the end.
#[test]
fn one_forward_one_backward_holds_few_activations() {
    let (stages, batches) = (4usize, 9usize);
    for (schedule, most) in [("gpipe", [9, 9, 9, 9]), ("1f1b", [4, 3, 2, 1])] {
        let graph = graph(&format!("pipeline(stages={stages},micro_batches={batches},schedule={schedule})"), 0);
        for (stage, most) in most.into_iter().enumerate() {
            let label = format!("stage_{stage}");
            let is_here = |op: OpId| graph.layers().unwrap().get(op.index()) == Some(&label);
            // Control edges chain the passes of a stage: follow the chain.
            let chained = |op: OpId| graph.successors(op).find(|edge| edge.tensor.is_none()).map(|edge| edge.op);
            let first = graph.op_ids().find(|&op| is_here(op) && class(&graph, op) == "Forward").unwrap();
            let order: Vec<OpId> = std::iter::successors(Some(first), |&op| chained(op)).collect();
            assert_eq!(order.len(), 2 * batches);
            let (mut held, mut peak) = (0, 0);
            for op in order {
                if class(&graph, op) == "Forward" {
                    held += 1
                } else {
                    held -= 1
                }
                peak = peak.max(held);
            }
            assert_eq!((held, peak), (0, most), "{schedule}, stage {stage}");
        }
    }
}

#[test]
fn tensor_parallel_workers_share_the_work_and_exchange_what_rings_exchange() {
    let (batch, sequence, model) = (4u64, 128u64, 512u64);
    let products = ["Attention", "FeedForward", "AttentionGradient", "FeedForwardGradient"];
    for (workers, layers) in [(1u64, 1u64), (2, 1), (3, 2), (8, 3)] {
        let graph = graph(&format!("tensor_parallel(workers={workers},layers={layers})"), 0);
        let values = batch * sequence * model;
        let ring = if workers == 1 { 0 } else { workers * (2 * workers - 1) };
        assert_eq!(graph.op_count() as u64, workers + layers * (8 * workers + 4 * ring));
        assert_eq!(traffic(&graph), layers * 4 * 2 * (workers - 1) * 4 * values);
        // 72bsd²(1 + s/6d) forward and backward (Narayanan et al. 2021), whatever the number of workers.
        let (v, s, d) = (values as f64, sequence as f64, model as f64);
        let expected = layers as f64 * 72.0 * v * d * (1.0 + s / (6.0 * d));
        assert!((ops_of(&graph, &products) / expected - 1.0).abs() < 1e-12);
        assert_eq!(ops_of(&graph, &["Reduce"]), (layers * 4 * (workers - 1) * values) as f64);
        assert_eq!(graph.colocation().group_count() as u64, workers);
        // Every worker waits for every other: the first sum of a layer depends on all inputs.
        let inputs = graph.op_ids().take(workers as usize);
        let mut reached = vec![BTreeSet::new(); graph.op_count()];
        for op in inputs.clone() {
            reached[op.index()].insert(op);
        }
        for op in graph.op_ids() {
            for &source in graph.predecessor_ops(op) {
                let known: Vec<OpId> = reached[source.index()].iter().copied().collect();
                reached[op.index()].extend(known);
            }
        }
        let last = graph.op_ids().rev().find(|&op| class(&graph, op).ends_with("Gradient")).unwrap();
        assert_eq!(reached[last.index()].len(), inputs.len());
    }
}
