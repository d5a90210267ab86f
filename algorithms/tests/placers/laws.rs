//! What every placer of the registry keeps, whatever the instance.

use std::sync::Arc;

use placebench_algorithms::{PlaceContext, PlaceError, Placer, Spec, registry};
use placebench_datasets::{Cluster, GraphBuilder, Instance, Kind, Link, OpId, OpSpec};
use proptest::prelude::*;

use super::objective::TopologicalOrder;
use crate::support::random::{Limits, instances};

/// Placers that a chain of a million ops is too much for: they try a thousand contractions, or search for the optimum.
const FOR_SMALL_GRAPHS: [&str; 4] = ["cluster_load", "cluster_comm", "cluster_cap", "optimal"];

/// A context with what searches need.
fn context(seed: u64) -> PlaceContext {
    PlaceContext { objective: Some(Arc::new(TopologicalOrder::default())), ..PlaceContext::with_seed(seed) }
}

/// Every placer that there is, with few evaluations if it searches. Those that decide during the run are tested where there
/// is a simulator.
fn placers(evaluations: u32) -> Vec<(&'static str, Box<dyn Placer>)> {
    let made = registry::placers().map(|entry| {
        let mut spec = Spec { name: entry.name.clone(), params: Vec::new() };
        if entry.make(&spec).expect("the defaults are valid").needs_objective() {
            spec.params.push(("budget".to_owned(), evaluations.to_string()));
        }
        (entry.name.as_str(), entry.make(&spec).expect("every search has a budget"))
    });
    made.filter(|(_, placer)| placer.online().is_none()).collect()
}

fn for_each_placer(check: impl Fn(&str, &dyn Fn(&Instance, &PlaceContext) -> Result<Vec<u32>, PlaceError>)) {
    for (name, placer) in placers(30) {
        check(name, &|instance, context| {
            let decision = placer.place(instance, context)?;
            decision.placement.check(instance).unwrap_or_else(|error| panic!("{name}: {error}"));
            Ok(decision.placement.devices().iter().map(|device| device.0).collect())
        });
    }
}

/// Ops 0 ─▶ 1 ─▶ 2 …, all of one layer, on two equal CPUs.
fn chain(n: usize) -> Instance {
    let mut builder = GraphBuilder::default();
    for op in 0..n {
        builder.add_op(OpSpec { memory_bytes: 1, layer: Some("only"), ..OpSpec::cost(1.0) }, &[1]);
        if op > 0 {
            builder.add_edge(OpId::new(op - 1), 0, OpId::new(op)).unwrap();
        }
    }
    let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    Instance::new(builder.build().unwrap(), cluster).unwrap()
}

/// Whether a placer may refuse: some go by layer labels, and there are none.
fn lacks_labels(instance: &Instance, error: &PlaceError) -> bool {
    let has_labels = instance.graph().layers().is_some_and(|layers| !layers.labels().is_empty());
    matches!(error, PlaceError::Unsupported(_)) && !has_labels
}

#[test]
fn a_chain_of_a_million_ops_overflows_no_stack_and_an_empty_graph_is_placed_too() {
    let partitioners: Vec<&str> = registry::BLOCK_PLACERS.iter().map(|entry| entry.name.as_str()).collect();
    for n in [0, 1_000_000] {
        let instance = chain(n);
        for (name, placer) in placers(3) {
            // Partitioners are tested on large graphs by themselves: one is enough for what they share as placers.
            let is_other_partitioner = partitioners.contains(&name) && name != "hashing_blocks";
            if n > 0 && (FOR_SMALL_GRAPHS.contains(&name) || is_other_partitioner) {
                continue;
            }
            match placer.place(&instance, &context(0)) {
                Ok(decision) => assert_eq!(decision.placement.check(&instance), Ok(()), "{name}"),
                Err(error) => assert!(lacks_labels(&instance, &error), "{name}: {error}"),
            }
        }
    }
}

#[test]
fn a_placer_that_is_told_to_stop_stops() {
    let instance = chain(10);
    let context = context(0);
    context.stop.stop();
    for (name, placer) in placers(3) {
        assert_eq!(placer.place(&instance, &context), Err(PlaceError::Stopped), "{name}");
    }
}

#[test]
fn clustering_is_the_same_on_any_number_of_threads() {
    let instance = chain(60);
    for name in ["cluster_load(trials=50)", "cluster_comm(trials=50,supernodes=2)", "cluster_cap(trials=50)"] {
        let placer = registry::placer(&name.parse().unwrap()).unwrap();
        let place = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| placer.place(&instance, &PlaceContext::with_seed(7)).unwrap())
        };
        assert_eq!(place(1), place(3), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_placement_keeps_kinds_groups_and_memory_or_the_error_is_infeasible(instance in instances(Limits::exact(12))) {
        for_each_placer(|name, place| {
            if let Err(error) = place(&instance, &context(0))
                && !lacks_labels(&instance, &error)
            {
                assert!(matches!(error, PlaceError::Infeasible { .. }), "{name}: {error}");
                let limited = instance.cluster().devices().iter().any(|device| device.memory_bytes.is_some());
                assert!(limited, "{name} fails though memory is unlimited: {error}");
            }
        });
    }

    #[test]
    fn the_same_seed_gives_the_same_placement(instance in instances(Limits::exact(12)), seed in any::<u64>()) {
        for_each_placer(|name, place| {
            let (first, second) = (context(seed), context(seed));
            assert_eq!(place(&instance, &first), place(&instance, &second), "{name}");
        });
    }

    #[test]
    fn a_single_device_gets_all_that_it_may_run(instance in instances(Limits::exact(12))) {
        let placer = registry::placer(&"single_device".parse().unwrap()).unwrap();
        if let Ok(decision) = placer.place(&instance, &PlaceContext::default()) {
            let (cluster, units) = (instance.cluster(), instance.units());
            let mut homes = cluster.device_ids().filter(|&home| {
                instance.graph().op_ids().all(|op| {
                    decision.placement.device_of(op) == home || !units.kind_allows(units.unit_of(op), cluster, home)
                })
            });
            prop_assert!(homes.next().is_some());
        }
    }
}
