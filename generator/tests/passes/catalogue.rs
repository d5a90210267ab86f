//! Passes on real graphs.

use std::collections::BTreeMap;

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

/// Tables whose gradients are those of some rows have numbers of rows and gradients, which stand one behind the other. Clipping by the
/// norm of all gradients, and adding up equal rows, is done once.
#[test]
fn micro_batches_join_rows_of_tables() {
    for (name, sums, tables) in [("lstm_lm", 6, 1), ("nmt", 12, 2), ("two_tower_criteo", 12, 26)] {
        let (old, new) = (graph(name), passed(&graph(name), &["microbatch(m=2,sum=once)"]).unwrap());
        let added = |op: &OpId| new.origin.of(*op).is_empty();
        let is_join = |&op: &OpId| new.graph.name(op).unwrap().ends_with("/rows_0");
        let joins: Vec<OpId> = new.graph.op_ids().filter(added).filter(is_join).collect();
        assert_eq!((joins.len(), new.graph.op_ids().filter(added).count()), (2 * tables, 2 * tables + sums), "{name}");
        let types: Vec<&str> = joins.iter().filter_map(|op| new.graph.op_types().unwrap().get(op.index())).collect();
        let expected = if name == "two_tower_criteo" { "concatenate" } else { "ConcatV2" };
        assert!(types.iter().all(|op_type| *op_type == expected), "{name}: {types:?}");
        for (op, op_type) in new.graph.op_ids().filter_map(|op| Some((op, new.graph.op_types()?.get(op.index())?))) {
            let is_once = ["L2Loss", "Unique", "UnsortedSegmentSum"].contains(&op_type);
            // Gradients of what is read many times are added up in each micro-batch.
            let is_repeated = new.graph.name(op).unwrap().contains("/micro_");
            assert!(!(is_once && is_repeated), "{name}: {} is repeated", new.graph.label(op));
        }
        // What copies get of the others' rows.
        let taken =
            joins.iter().map(|&op| new.graph.outputs(op).map(|tensor| new.graph.tensor_bytes(tensor)).sum::<u64>());
        let rows: u64 = taken.sum();
        for sync in ["ring", "doubling"] {
            let copies = passed(&old, &[&format!("replicate(4,sync={sync})")]).unwrap().graph;
            let gathers = copies.op_ids().filter(|&op| copies.name(op).unwrap().contains("/rows_0/gather_"));
            let own = |op: OpId| copies.name(op).unwrap().rsplit_once("copy_").unwrap().1;
            let received = gathers.flat_map(|op| copies.predecessors(op).filter(move |edge| own(edge.op) != own(op)));
            assert_eq!(received.map(|edge| copies.edge_bytes(edge)).sum::<u64>(), 3 * rows, "{name}, {sync}");
        }
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
            // What is joined with a product may be no sum of parts.
            if ["fuse", "coarsen"].contains(&first) && second == "tensor_parallel(2)" {
                let error = passed(&graph, &[first, second]).unwrap_err().to_string();
                assert!(error.ends_with("put fuse and coarsen last"), "{error}");
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

/// TensorFlow 2.15 with `do_common_subexpression_elimination` and nothing else, on the same graphs: the ops that are gone from what it
/// executes (`python/tests_extract/test_common_subexpressions.py` asks it). On `dynamic_rnn` it merges all but 21 of these constants, which
/// wait for a branch of a conditional, and one `Fill` that has another group here.
#[test]
fn common_ops_are_merged_as_tensorflow_does() {
    let expected: [(&str, &[(&str, usize)]); 3] = [
        ("convnet", &[("Const", 19), ("ExpandDims", 1), ("Pack", 2), ("Shape", 4), ("Sub", 2)]),
        (
            "recurrent",
            &[("Const", 240), ("ExpandDims", 1), ("Fill", 1), ("FloorMod", 26), ("Pack", 2), ("Shape", 3), ("Sub", 2)],
        ),
        (
            "dynamic_rnn",
            &[
                ("Const", 179 + 21),
                ("ExpandDims", 1),
                ("FloorMod", 18),
                ("Pack", 2),
                ("Shape", 4),
                ("Sub", 2),
                ("Switch", 172),
            ],
        ),
    ];
    for (name, expected) in expected {
        let old = graph(name);
        let new = passed(&old, &["cse"]).unwrap();
        let mut gone = BTreeMap::new();
        for op in new.graph.op_ids().flat_map(|op| new.origin.of(op)[1..].to_vec()) {
            *gone.entry(old.op_types().unwrap().get(op.index()).unwrap()).or_insert(0) += 1;
        }
        assert_eq!(gone.into_iter().collect::<Vec<_>>(), expected, "{name}");
    }
}

/// The table of what `cse` makes of each graph.
#[test]
fn the_page_of_passes_says_how_many_ops_are_left() {
    let rows = catalogue::entries().iter().map(|entry| {
        let old = graph(entry.name);
        let new = passed(&old, &["cse"]).unwrap().graph;
        let sum = |graph: &DataflowGraph, of: fn(&DataflowGraph, OpId) -> f64| -> f64 {
            graph.op_ids().map(|op| of(graph, op)).sum()
        };
        let bytes = |graph: &DataflowGraph, op: OpId| -> f64 {
            graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor) as f64).sum()
        };
        let share = |of: fn(&DataflowGraph, OpId) -> f64| 100.0 * (1.0 - sum(&new, of) / sum(&old, of));
        let (work, tensors) = (share(DataflowGraph::ops), share(bytes));
        format!("| {} | {} | {} | {work:.2} % | {tensors:.2} % |\n", entry.name, old.op_count(), new.op_count())
    });
    let head = "| graph | ops | after | operations less | bytes of tensors less |\n|---|---|---|---|---|\n";
    let table = head.to_owned() + &rows.collect::<String>();
    assert!(include_str!("../../../docs/PASSES.md").contains(&table), "docs/PASSES.md lacks\n{table}");
}

/// What is done again waits for the backward pass, and copies of weights are ops with state.
#[test]
fn what_other_passes_repeat_stays_repeated() {
    let graph = passed(&graph("gpt2"), &["cse"]).unwrap().graph;
    let again = |new: &DataflowGraph| {
        new.op_ids().filter(|&op| new.name(op).unwrap().ends_with("/again")).map(|op| new.ops(op)).sum::<f64>()
    };
    let (once, both) = (passed(&graph, &["recompute"]).unwrap(), passed(&graph, &["recompute", "cse"]).unwrap());
    assert!(again(&once.graph) > 0.0);
    assert_eq!(again(&both.graph), again(&once.graph));
    let copies = passed(&graph, &["replicate(2)", "cse"]).unwrap().graph;
    assert_eq!(count(&copies, "parameter"), 2 * count(&graph, "parameter"));
}

/// Every update takes a gradient as large as its variable and the optimizer's state: all of it, or the member's part of all.
#[test]
fn updates_take_variable_state_and_gradient_of_one_size() {
    for name in ["convnet", "resnet50", "recurrent", "transformer", "lstm_lm"] {
        let graph = graph(name);
        for pass in ["tensor_parallel(2)", "shard_state(2)", "shard_state(n=3,stage=3)"] {
            let new = passed(&graph, &[pass]).unwrap().graph;
            let is_update = |&op: &OpId| {
                let op_type = new.op_types().unwrap().get(op.index()).unwrap();
                ["ApplyAdam", "ApplyGradientDescent", "ApplyMomentum"].contains(&op_type)
            };
            let updates: Vec<OpId> = new.op_ids().filter(is_update).collect();
            assert!(updates.len() >= 8, "{name}, {pass}: {}", updates.len());
            for op in updates {
                let sizes = new.predecessors(op).map(|edge| new.edge_bytes(edge)).filter(|&size| size > 64);
                // The variable comes first: only stage 3 divides it.
                let sizes: Vec<u64> = sizes.skip(usize::from(pass == "shard_state(2)")).collect();
                let (least, most) = (sizes.iter().min().unwrap_or(&0), sizes.iter().max().unwrap_or(&0));
                assert!(most - least <= 1, "{name}, {pass}: {} takes {sizes:?}", new.label(op));
            }
        }
    }
}

/// A norm of all gradients is that of all members' parts, and what depends on gradients of whole variables is whole.
#[test]
fn norms_of_divided_gradients_are_summed_over_the_members() {
    for name in ["transformer", "lstm_lm"] {
        let graph = graph(name);
        for pass in ["tensor_parallel(3)", "shard_state(3)"] {
            let new = passed(&graph, &[pass]).unwrap();
            let of_type = |op_type: &'static str| {
                let graph = &new.graph;
                graph.op_ids().filter(move |&op| graph.op_types().unwrap().get(op.index()) == Some(op_type))
            };
            let squares: Vec<OpId> = of_type("L2Loss").collect();
            for &op in &squares {
                let sizes: Vec<u64> = new.graph.outputs(op).map(|tensor| new.graph.tensor_bytes(tensor)).collect();
                assert_eq!(sizes, [4], "{name}, {pass}: {}", new.graph.label(op));
            }
            // Of each square whose op takes a part, the root on each member needs the squares of all members.
            let root = of_type("Sqrt").find(|&op| new.graph.name(op).unwrap().starts_with("global_norm")).unwrap();
            let mut needed = vec![false; new.graph.op_count()];
            let mut open = vec![root];
            while let Some(op) = open.pop() {
                if !std::mem::replace(&mut needed[op.index()], true) {
                    open.extend(new.graph.predecessor_ops(op));
                }
            }
            let taken = |op: OpId| new.graph.predecessors(op).map(|edge| new.graph.edge_bytes(edge)).sum::<u64>();
            let old = |op: OpId| {
                let op = new.origin.of(op)[0];
                graph.predecessors(op).map(|edge| graph.edge_bytes(edge)).sum::<u64>()
            };
            let parts: Vec<OpId> = squares.into_iter().filter(|&op| taken(op) < old(op)).collect();
            assert!(parts.len() >= 3 * 3, "{name}, {pass}: {}", parts.len());
            for op in parts {
                assert!(needed[op.index()], "{name}, {pass}: {} is in no norm", new.graph.label(op));
            }
        }
    }
}

/// Parameters of an inference are in no group.
#[test]
fn products_of_an_inference_are_divided() {
    let graph = graph("llama_inference");
    let new = passed(&graph, &["tensor_parallel(2)"]).unwrap();
    // The answer is a sum, too, though nothing takes it.
    let line = "57 products with 57 variables divided among 2 members, 57 sums";
    assert!(new.lines[0].ends_with(line), "{:?}", new.lines);
}

/// In TensorFlow's graphs names tell the backward pass.
#[test]
fn recompute_keeps_no_more_than_its_budget() {
    for name in ["resnet50", "transformer"] {
        let graph = graph(name);
        let kept = |graph: &DataflowGraph| -> u64 {
            let is_later = |op: OpId| {
                let name = graph.name(op).unwrap();
                name.starts_with("gradients") || name.ends_with("/again")
            };
            let mut takes_inputs = vec![false; graph.op_count()];
            for op in graph.topological_order() {
                let op_type = graph.op_types().unwrap().get(op.index()).unwrap();
                takes_inputs[op.index()] = ["Placeholder", "IteratorGetNext"].contains(&op_type)
                    || graph.predecessor_ops(op).iter().any(|source| takes_inputs[source.index()]);
            }
            let activations = graph.op_ids().filter(|&op| !is_later(op) && takes_inputs[op.index()]);
            let tensors = activations.flat_map(|op| {
                graph.outputs(op).filter(move |&tensor| {
                    graph.successors(op).any(|edge| edge.tensor == Some(tensor) && is_later(edge.op))
                })
            });
            tensors.map(|tensor| graph.tensor_bytes(tensor)).filter(|&bytes| bytes > 64).sum()
        };
        let before = kept(&graph) as f64;
        let mut last = f64::INFINITY;
        for budget in [0.7, 0.5, 0.3] {
            let new = passed(&graph, &[&format!("recompute({budget})")]).unwrap();
            let share = kept(&new.graph) as f64 / before;
            // What the names of ops call forward is a little more than what the gradients need.
            assert!(share < budget + 0.05 && share < last, "{name}: {share} of {budget}, {:?}", new.lines);
            last = share;
        }
    }
}

#[test]
fn updates_that_are_colocated_with_no_variable_are_not_repeated() {
    let graph = graph("convnet");
    let mut builder = placebench_datasets::GraphBuilder::default();
    for op in graph.op_ids() {
        let op_type = graph.op_types().and_then(|types| types.get(op.index()));
        let spec = placebench_datasets::OpSpec {
            name: graph.name(op),
            op_type,
            ..placebench_datasets::OpSpec::cost(graph.ops(op))
        };
        let sizes: Vec<u64> = graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor)).collect();
        builder.add_op(spec, &sizes);
    }
    for op in graph.op_ids() {
        for edge in graph.predecessors(op) {
            match edge.tensor {
                Some(tensor) => builder.add_edge(edge.op, graph.port(tensor), op).unwrap(),
                None => builder.add_control_edge(edge.op, op).unwrap(),
            }
        }
    }
    let error = passed(&builder.build().unwrap(), &["microbatch(4)"]).unwrap_err().to_string();
    assert!(error.contains("updates a variable, as its type says, but is colocated with none"), "{error}");
}

/// The powers of Adam's factors are in the group of a divided weight.
#[test]
fn numbers_of_the_optimizer_are_not_divided() {
    let graph = graph("recurrent");
    for pass in ["tensor_parallel(2)", "shard_state(2)"] {
        let new = passed(&graph, &[pass]).unwrap();
        let powers = new.graph.op_ids().filter(|&op| new.graph.name(op).unwrap().starts_with("beta1_power"));
        let powers: Vec<OpId> = powers.filter(|&op| !new.origin.of(op).is_empty()).collect();
        assert!(powers.len() >= 4, "{pass}");
        for op in powers {
            let old = new.origin.of(op)[0];
            let sizes = |graph: &DataflowGraph, op: OpId| -> Vec<u64> {
                graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor)).collect()
            };
            assert_eq!(sizes(&new.graph, op), sizes(&graph, old), "{pass}: {}", new.graph.label(op));
            assert_eq!(new.graph.ops(op), graph.ops(old), "{pass}: {}", new.graph.label(op));
        }
    }
}
