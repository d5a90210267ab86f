//! Passes on real graphs.

use placebench_datasets::{DataflowGraph, OpId, catalogue};

use super::{passed, waits_for_no_other};

fn graph(name: &str) -> DataflowGraph {
    catalogue::load(name).unwrap().1
}

fn count(graph: &DataflowGraph, op_type: &str) -> usize {
    graph.op_ids().filter(|op| graph.op_types().unwrap().get(op.index()) == Some(op_type)).count()
}

/// The extractor prunes with TensorFlow's own means.
#[test]
fn whole_graphs_pruned_to_their_training_op_are_the_training_steps() {
    for name in ["convnet", "recurrent", "dynamic_rnn"] {
        let (whole, step) = (graph(&format!("{name}_whole")), graph(name));
        let last: Vec<OpId> = step.op_ids().filter(|&op| step.out_degree(op) == 0).collect();
        let fetched: Vec<&str> = last.iter().map(|&op| step.name(op).unwrap()).collect();
        let pruned = passed(&whole, &[&format!("prune(fetch=[{}])", fetched.join(","))]).unwrap().graph;
        assert_eq!((pruned.op_count(), pruned.edge_count()), (step.op_count(), step.edge_count()), "{name}");
        let names = |graph: &DataflowGraph| {
            let mut names: Vec<String> = graph.op_ids().map(|op| graph.name(op).unwrap().to_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(names(&pruned), names(&step), "{name}");
    }
}

/// Each variable that a step trains has one gradient, and that is what is summed. ResNet's 53 normalisations update two means each by
/// those of the batch, too.
#[test]
fn micro_batches_sum_one_gradient_for_each_weight() {
    let tensorflow =
        [("convnet", 8), ("recurrent", 4), ("dynamic_rnn", 4), ("resnet50", 161 + 106), ("transformer", 201)];
    let jax =
        ["gpt2", "llama", "moe", "vit", "unet", "gpt2_xl", "llama3_8b", "mixtral_8x7b", "vit_l", "stable_diffusion"];
    let jax = jax.map(|name| (name, count(&graph(name), "parameter")));
    for (name, weights) in tensorflow.into_iter().chain(jax) {
        let new = passed(&graph(name), &["microbatch(2)"]).unwrap();
        let sums: Vec<OpId> = new.graph.op_ids().filter(|&op| new.origin.of(op).is_empty()).collect();
        assert_eq!(sums.len(), weights, "{name}: {:?}", new.lines);
    }
}

/// Activations of most training steps take more memory than all else, and most of them need not be kept.
#[test]
fn most_of_the_forward_pass_can_be_done_again() {
    for (name, least) in [("resnet50", 0.5), ("gpt2", 0.3), ("vit_l", 0.5), ("unet", 0.2), ("transformer", 0.3)] {
        let graph = graph(name);
        let new = passed(&graph, &["recompute"]).unwrap();
        let again: Vec<OpId> =
            new.graph.op_ids().filter(|&op| new.graph.name(op).unwrap().ends_with("/again")).collect();
        let work = |ops: &[OpId], of: &DataflowGraph| ops.iter().map(|&op| of.ops(op)).sum::<f64>();
        let share = work(&again, &new.graph) / work(&graph.op_ids().collect::<Vec<_>>(), &graph);
        // Of a training step a third is the forward pass.
        assert!((least / 3.0..0.5).contains(&share), "{name}: {share:.3}, {:?}", new.lines);
    }
}

/// TensorFlow's gradients are joined by control edges, and clipping takes them all.
#[test]
fn on_real_graphs_no_micro_batch_waits_for_another() {
    for entry in catalogue::entries() {
        let graph = graph(entry.name);
        let new = passed(&graph, &["microbatch(2)"]).unwrap();
        waits_for_no_other(&new.graph).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        // What is summed is not summed again.
        for op in new.graph.op_ids().filter(|&op| new.origin.of(op).is_empty()) {
            let inputs: Vec<&str> = new.graph.predecessor_ops(op).iter().filter_map(|&op| new.graph.name(op)).collect();
            assert!(inputs.iter().all(|name| name.contains("/micro_")), "{}: {inputs:?}", entry.name);
        }
    }
}

/// A pass sees what another made: weights are updated once, by sums of gradients, whichever was first.
#[test]
fn passes_follow_each_other_in_any_order() {
    let graph = graph("gpt2");
    let applied =
        ["microbatch(2)", "recompute", "replicate(2)", "shard_state(2)", "tensor_parallel(2)", "fuse", "coarsen"];
    for first in applied {
        for second in applied {
            // What is fused with a product may be no sum of parts.
            if (first, second) == ("fuse", "tensor_parallel(2)") {
                assert!(passed(&graph, &[first, second]).is_err());
                continue;
            }
            let new = passed(&graph, &[first, second]).unwrap_or_else(|error| panic!("{first}, {second}: {error}"));
            if second == "microbatch(2)" {
                waits_for_no_other(&new.graph).unwrap_or_else(|error| panic!("{first}: {error}"));
                let micro = new.graph.op_ids().filter(|&op| new.graph.name(op).unwrap().contains("/micro_"));
                let roots = micro.filter(|&op| new.graph.op_types().unwrap().get(op.index()) == Some("sqrt"));
                let roots: Vec<&str> =
                    roots.filter_map(|op| new.graph.name(op)).filter(|name| !name.contains("rsqrt")).collect();
                // Adam's roots are part of the update.
                assert!(roots.len() < 132, "{first}: {} roots are repeated", roots.len());
            }
        }
    }
}
