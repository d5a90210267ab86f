//! What each pass promises, on graphs drawn at random.

use placebench_datasets::{DataflowGraph, OpId};
use placebench_generator::{Chained, Kept, PASSES, PassEntry, PassError};
use proptest::prelude::*;

use super::integers::{Plan, executed, executed_as, plans, sizes};
use super::{passed, waits_for_no_other};

/// The work of a graph: operations, memory, bytes moved, and each class' measured times.
fn work(graph: &DataflowGraph) -> Vec<f64> {
    let sum = |cost: &dyn Fn(OpId) -> f64| graph.op_ids().map(cost).sum::<f64>();
    let times = graph.measured_times().iter().map(|times| sum(&|op| times.of(op).unwrap_or(0.0)));
    [sum(&|op| graph.ops(op)), sum(&|op| graph.memory_bytes(op) as f64)].into_iter().chain(times).collect()
}

/// Whatever a pass does, its ops may run where their old ones may, groups stay together, and each op that is there follows what its old
/// ops followed.
fn keeps_constraints(old: &DataflowGraph, new: &Chained) -> Result<(), TestCaseError> {
    let mut of_group = vec![None; old.colocation().group_count()];
    for op in new.graph.op_ids() {
        let from = new.origin.of(op);
        prop_assert!(from.iter().all(|&old_op| old.kinds(old_op) == new.graph.kinds(op)), "kinds of op {op}");
        for group in from.iter().filter_map(|&old_op| old.colocation().group_of(old_op)) {
            let first = *of_group[group.index()].get_or_insert(op);
            let together = new.graph.colocation().group_of(op);
            prop_assert!(first == op || together.is_some() && together == new.graph.colocation().group_of(first));
        }
        let sources: Vec<OpId> = new.graph.predecessors(op).flat_map(|edge| new.origin.of(edge.op).to_vec()).collect();
        for (old_op, edge) in from.iter().flat_map(|&old_op| old.predecessors(old_op).map(move |edge| (old_op, edge))) {
            // Sums come between, which have no origin.
            let through_sum = new.graph.predecessors(op).any(|edge| new.origin.of(edge.op).is_empty());
            prop_assert!(
                from.contains(&edge.op) || sources.contains(&edge.op) || through_sum,
                "op {} followed op {}",
                old_op,
                edge.op
            );
        }
    }
    Ok(())
}

fn is_update(graph: &DataflowGraph, op: OpId) -> bool {
    graph
        .op_types()
        .and_then(|types| types.get(op.index()))
        .is_some_and(|name| ["ScatterSub", "update"].contains(&name))
}

fn holds(entry: &PassEntry, graph: &DataflowGraph) -> Result<(), TestCaseError> {
    let new = match passed(graph, &[entry.name]) {
        Ok(new) => new,
        // A step without weights has nothing to fetch that it updates, and more such: refused in one line.
        Err(error) => {
            let is_refusal = matches!(error, PassError::Refused { pass, .. } if pass == entry.name);
            prop_assert!(is_refusal, "{}", error);
            return Ok(());
        }
    };
    prop_assert_eq!(new.origin.op_count(), new.graph.op_count());
    // Copies of a group are groups of their own.
    if !["replicate", "shard_state", "tensor_parallel"].contains(&entry.name) {
        keeps_constraints(graph, &new)?;
    }
    for kept in entry.keeps {
        match kept {
            Kept::Work => {
                for (before, after) in work(graph).into_iter().zip(work(&new.graph)) {
                    prop_assert!((before - after).abs() <= 1e-9 * before, "{before} became {after}");
                }
            }
            Kept::Bytes => {
                for op in new.graph.op_ids() {
                    let of_old = sizes(graph, new.origin.of(op));
                    prop_assert!(sizes(&new.graph, &[op]).iter().all(|bytes| of_old.contains(bytes)));
                }
            }
            Kept::Results => {
                let (before, after) = (executed(graph, 1), executed_as(graph, &new.graph, &new.origin));
                prop_assert!(after.iter().all(|(op, value)| before[op.index()] == *value));
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_pass_keeps_what_it_promises(plan in plans()) {
        let graph = plan.graph();
        for entry in PASSES.iter().filter(|entry| !entry.is_after_placement) {
            holds(entry, &graph)?;
        }
    }

    #[test]
    fn nothing_is_lost_or_doubled_where_ops_become_one(plan in plans()) {
        let graph = plan.graph();
        for pass in ["coarsen", "coarsen(groups)", "coarsen(chains)", "fuse"] {
            let new = passed(&graph, &[pass]).unwrap();
            let mut origins: Vec<OpId> = new.graph.op_ids().flat_map(|op| new.origin.of(op).to_vec()).collect();
            origins.sort_unstable();
            prop_assert_eq!(origins, graph.op_ids().collect::<Vec<_>>(), "{}", pass);
        }
    }

    #[test]
    fn micro_batches_update_weights_as_the_whole_batch_does(plan in plans(), sum in prop::sample::select(vec!["chain", "once"])) {
        let graph = plan.graph();
        let values = executed(&graph, 1);
        for m in [1, 2, 3, 4, 6, 12] {
            let new = passed(&graph, &[&format!("microbatch({m},sum={sum})")]).unwrap();
            let new_values = executed(&new.graph, m);
            let mut updates = 0;
            for op in new.graph.op_ids().filter(|&op| is_update(&new.graph, op)) {
                let [old] = new.origin.of(op) else { panic!("updates are done once") };
                prop_assert_eq!(&new_values[op.index()], &values[old.index()]);
                updates += 1;
            }
            prop_assert_eq!(updates, plan.updated());
            // Repeated work is the same in sum; additions come on top, and what is done once is done once.
            let of_old = |graph: &DataflowGraph, keep: &dyn Fn(OpId) -> bool| -> f64 {
                graph.op_ids().filter(|&op| keep(op)).map(|op| graph.ops(op)).sum()
            };
            let kept = of_old(&new.graph, &|op| !new.origin.of(op).is_empty());
            prop_assert!((kept - of_old(&graph, &|_| true)).abs() < 1e-6);
        }
    }

    #[test]
    fn copies_update_their_weights_as_one_does_with_the_whole_batch(
        plan in plans(),
        sync in prop::sample::select(vec!["doubling", "tree", "server"]),
    ) {
        let graph = plan.graph();
        let values = executed(&graph, 1);
        let has_weights = plan.updated() > 0;
        for n in [1, 2, 3, 4, 6] {
            let new = match passed(&graph, &[&format!("replicate({n},sync={sync})")]) {
                Ok(new) => new,
                Err(error) => {
                    prop_assert!(!has_weights, "{}", error);
                    continue;
                }
            };
            let new_values = executed(&new.graph, n);
            let mut updates = 0;
            for op in new.graph.op_ids().filter(|&op| is_update(&new.graph, op)) {
                let [old] = new.origin.of(op) else { panic!("an update comes from one") };
                prop_assert_eq!(&new_values[op.index()], &values[old.index()], "{} copies", n);
                updates += 1;
            }
            prop_assert_eq!(updates, n * plan.updated());
        }
    }

    #[test]
    fn no_micro_batch_waits_for_another_but_to_be_summed(plan in plans()) {
        // An op that a control edge lets wait for an update waits for all.
        let plan = Plan { control: Vec::new(), ..plan };
        let new = passed(&plan.graph(), &["microbatch(3)"]).unwrap().graph;
        waits_for_no_other(&new).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn the_same_graph_comes_out_again(plan in plans()) {
        let graph = plan.graph();
        for passes in [&["prune", "fuse"][..], &["microbatch(3)", "coarsen"]] {
            if let (Ok(a), Ok(b)) = (passed(&graph, passes), passed(&graph, passes)) {
                prop_assert_eq!(a, b);
            }
        }
    }
}
