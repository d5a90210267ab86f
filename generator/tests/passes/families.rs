//! What passes make of a step is what the families of training steps make by hand.

use std::hash::{DefaultHasher, Hash, Hasher};

use placebench_datasets::{DataflowGraph, OpId};
use placebench_generator::GraphParams;

use super::passed;

fn graph(text: &str) -> DataflowGraph {
    GraphParams::preset(text).unwrap().unwrap().generate(0).unwrap()
}

fn op_type(graph: &DataflowGraph, op: OpId) -> &str {
    graph.op_types().and_then(|types| types.get(op.index())).unwrap()
}

fn hashed(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What is at the other ends of an op's edges, with the bytes between; sums are looked through.
fn ends(graph: &DataflowGraph, op: OpId, forward: bool) -> Vec<(OpId, u64)> {
    let edges: Vec<_> = if forward { graph.successors(op).collect() } else { graph.predecessors(op).collect() };
    let mut ends = Vec::new();
    for edge in edges {
        match op_type(graph, edge.op) {
            "AddN" => ends.extend(ends_of_sum(graph, edge.op, forward, graph.edge_bytes(edge))),
            _ => ends.push((edge.op, graph.edge_bytes(edge))),
        }
    }
    ends
}

fn ends_of_sum(graph: &DataflowGraph, sum: OpId, forward: bool, bytes: u64) -> Vec<(OpId, u64)> {
    ends(graph, sum, forward).into_iter().map(|(op, _)| (op, bytes)).collect()
}

/// A graph up to names and numbers: for each op what it is, and what all before and after it is.
fn shape(graph: &DataflowGraph, own: &dyn Fn(OpId) -> u64, with_bytes: bool) -> Vec<u64> {
    let order: Vec<OpId> = graph.topological_order().collect();
    let mut sides = [vec![0; graph.op_count()], vec![0; graph.op_count()]];
    for (side, seen) in sides.iter_mut().enumerate() {
        let walk: Vec<OpId> = if side == 0 { order.clone() } else { order.iter().rev().copied().collect() };
        for op in walk {
            let mut around: Vec<(u64, u64)> = ends(graph, op, side == 1)
                .into_iter()
                .map(|(other, bytes)| (seen[other.index()], if with_bytes { bytes } else { 0 }))
                .collect();
            around.sort_unstable();
            seen[op.index()] = hashed((own(op), around));
        }
    }
    let kept = graph.op_ids().filter(|&op| op_type(graph, op) != "AddN");
    let mut shape: Vec<u64> = kept.map(|op| hashed((sides[0][op.index()], sides[1][op.index()]))).collect();
    shape.sort_unstable();
    shape
}

/// Type, costs and outputs of an op.
fn all_of(graph: &DataflowGraph) -> impl Fn(OpId) -> u64 + '_ {
    |op| {
        let outputs: Vec<u64> = graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor)).collect();
        hashed((op_type(graph, op), graph.ops(op).to_bits(), graph.memory_bytes(op), outputs))
    }
}

fn group_sizes(graph: &DataflowGraph) -> Vec<usize> {
    let mut sizes: Vec<usize> = graph.colocation().groups().map(|(_, members)| members.len()).collect();
    sizes.sort_unstable();
    sizes
}

#[test]
fn copies_of_one_worker_are_the_workers_of_data_parallel_training() {
    for detail in ["step", "layer"] {
        let one = graph(&format!("training_steps(workers=1,detail={detail},reduce_ops=1)"));
        for (sync, family) in
            [("ring", "ring_all_reduce"), ("doubling", "recursive_doubling"), ("server", "parameter_server")]
        {
            for n in [2, 3, 4, 5] {
                let by_hand = graph(&format!("training_steps(workers={n},sync={family},detail={detail},reduce_ops=1)"));
                let new = passed(&one, &[&format!("replicate({n},sync={sync},batch=each)")]).unwrap().graph;
                let what = format!("{n} copies by {sync}, {detail}");
                assert_eq!((new.op_count(), new.edge_count()), (by_hand.op_count(), by_hand.edge_count()), "{what}");
                // Chunks of a ring are whole bytes here and whole values there.
                let exact = sync != "ring"
                    || one
                        .op_ids()
                        .flat_map(|op| one.outputs(op))
                        .all(|tensor| one.tensor_bytes(tensor) % (4 * n) == 0);
                let (a, b) = match exact {
                    true => (shape(&new, &all_of(&new), true), shape(&by_hand, &all_of(&by_hand), true)),
                    false => {
                        let types = |graph: &DataflowGraph| shape(graph, &|op| hashed(op_type(graph, op)), false);
                        (types(&new), types(&by_hand))
                    }
                };
                assert_eq!(a, b, "{what}");
                if sync != "server" {
                    assert_eq!(group_sizes(&new), group_sizes(&by_hand), "{what}");
                }
            }
        }
    }
}

/// A pipeline of one micro-batch, divided, is the pipeline of several that is free to choose its order; the sum of gradients is an op
/// here and part of the update there.
#[test]
fn a_divided_batch_is_a_pipeline_without_a_schedule() {
    for (stages, m) in [(1, 2), (3, 4), (4, 8)] {
        let one = graph(&format!("pipeline(stages={stages},micro_batches=1,schedule=free)"));
        let by_hand = graph(&format!("pipeline(stages={stages},micro_batches={m},schedule=free)"));
        let new = passed(&one, &[&format!("microbatch({m},sum=once)")]).unwrap().graph;
        let types = |graph: &DataflowGraph| shape(graph, &|op| hashed(op_type(graph, op)), false);
        assert_eq!(types(&new), types(&by_hand), "{stages} stages, {m} micro-batches");
        let work = |graph: &DataflowGraph, name: &str| -> f64 {
            graph.op_ids().filter(|&op| op_type(graph, op) == name).map(|op| graph.ops(op)).sum()
        };
        for name in ["Forward", "Backward"] {
            assert!((work(&new, name) * f64::from(m) / work(&by_hand, name) - 1.0).abs() < 1e-12, "{name}");
        }
    }
}

/// Divided among workers, the graph of one worker is that of several. By hand, the input's gradient is summed, too, which nothing takes,
/// and a worker keeps the part of its sum with the others.
#[test]
fn products_divided_among_members_are_tensor_parallel_training() {
    for (n, layers) in [(2, 1), (3, 2), (4, 1)] {
        let sizes = format!("layers={layers},model=192,sequence=24");
        let one = graph(&format!("tensor_parallel(workers=1,{sizes})"));
        let by_hand = graph(&format!("tensor_parallel(workers={n},{sizes})"));
        let new = passed(&one, &[&format!("tensor_parallel({n})")]).unwrap().graph;
        let sum = n + 2 * n * (n - 1);
        assert_eq!(new.op_count() + sum, by_hand.op_count(), "{n} workers");
        let counts = |graph: &DataflowGraph, name: &str| {
            let ops = graph.op_ids().filter(|&op| op_type(graph, op) == name);
            let bytes = |op: OpId| graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor)).sum::<u64>();
            ops.map(|op| (graph.ops(op).round(), graph.memory_bytes(op), bytes(op))).collect::<Vec<_>>()
        };
        for name in
            ["Input", "Variable", "Attention", "FeedForward", "AttentionGradient", "FeedForwardGradient", "Update"]
        {
            let (mut a, mut b) = (counts(&new, name), counts(&by_hand, name));
            a.sort_by(|a, b| a.partial_cmp(b).unwrap());
            b.sort_by(|a, b| a.partial_cmp(b).unwrap());
            assert_eq!(a, b, "{name}, {n} workers");
        }
        assert_eq!(counts(&new, "Reduce").len() + n * (n - 1), counts(&by_hand, "Reduce").len());
    }
}

/// What moves between copies, each on a device of its own: every tensor once to each other copy that takes it.
fn moved(graph: &DataflowGraph) -> u64 {
    let copy = |op: OpId| graph.name(op).unwrap().rsplit_once("copy_").unwrap().1.to_owned();
    let mut bytes = 0;
    for op in graph.op_ids() {
        for tensor in graph.outputs(op) {
            let takers = graph.successors(op).filter(|edge| edge.tensor == Some(tensor)).map(|edge| copy(edge.op));
            let others: std::collections::BTreeSet<String> = takers.filter(|other| *other != copy(op)).collect();
            bytes += others.len() as u64 * graph.tensor_bytes(tensor);
        }
    }
    bytes
}

/// Rajbhandari et al. 2020, §7: stages 1 and 2 move what an all-reduce of the gradients does, stage 3 half as much again; and the state
/// of a copy is divided by the number of copies, with stage 3 the weights, too.
#[test]
fn divided_state_moves_and_holds_what_its_authors_say() {
    for name in ["vit_l", "llama3_8b", "gpt2"] {
        let graph = placebench_datasets::catalogue::load(name).unwrap().1;
        let memory = |graph: &DataflowGraph, op_type: &str| -> u64 {
            let of_type = graph.op_ids().filter(|&op| self::op_type(graph, op) == op_type);
            of_type.map(|op| graph.memory_bytes(op)).sum()
        };
        let (weights, state) = (memory(&graph, "parameter"), memory(&graph, "state"));
        for n in [2, 4] {
            let all_reduced = moved(&passed(&graph, &[&format!("replicate({n})")]).unwrap().graph);
            assert!((all_reduced as f64 / (2 * (n - 1) * weights) as f64 - 1.0).abs() < 0.01, "{name}: {all_reduced}");
            for (stage, share) in [(1, 1.0), (2, 1.0), (3, 1.5)] {
                let new = passed(&graph, &[&format!("shard_state({n},stage={stage})")]).unwrap().graph;
                let ratio = moved(&new) as f64 / all_reduced as f64;
                // Tables of embeddings are gathered for the forward pass alone.
                assert!((ratio / share - 1.0).abs() < 0.04, "{name}, stage {stage}, {n} copies: {ratio}");
                let parts = if stage == 3 { 1 } else { n };
                let (new_weights, new_state) = (memory(&new, "parameter"), memory(&new, "state"));
                assert!((new_weights as f64 / (parts * weights) as f64 - 1.0).abs() < 1e-3, "{name}, stage {stage}");
                assert!(
                    (new_state as f64 / state as f64 - 1.0).abs() < 1e-3,
                    "{name}, stage {stage}: {new_state} of {state}"
                );
            }
        }
    }
}
