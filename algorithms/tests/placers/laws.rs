//! What every placer of the registry keeps, whatever the instance.

use std::sync::Arc;

use placebench_algorithms::{PlaceContext, PlaceError, Spec, registry};
use placebench_datasets::{BackwardParts, Cluster, Colocation, DataflowGraph, Instance, Kind, KindSet, Link, OpId};
use proptest::prelude::*;

use crate::instances::instance;
use crate::objective::TopologicalOrder;

/// Placers that take a chain of a million ops in seconds and honour the stop token.
const FAST: [&str; 26] = [
    "heft",
    "cpop",
    "peft",
    "lookahead",
    "etf",
    "dls",
    "mcp",
    "m_topo",
    "m_etf",
    "m_sct",
    "batch_split",
    "iterated_critical_path",
    "critical_path",
    "mite",
    "dfs",
    "single_device",
    "random",
    "reinforce(budget=3)",
    "cross_entropy(budget=3)",
    "simulated_annealing(budget=3)",
    "task_parallel",
    "scoring",
    "whitepaper_greedy",
    "tensorflow_default",
    "cola",
    "hashing_blocks",
];

/// A context with what searches need.
fn context(seed: u64) -> PlaceContext {
    PlaceContext { objective: Some(Arc::new(TopologicalOrder::default())), ..PlaceContext::with_seed(seed) }
}

/// Placers for graphs with layer labels, which the random ones do not have.
const NEEDS_LABELS: [&str; 1] = ["expert"];

fn for_each_placer(check: impl Fn(&str, &dyn Fn(&Instance, &PlaceContext) -> Result<Vec<u32>, PlaceError>)) {
    for name in registry::placer_names() {
        let mut spec = Spec { name: name.clone(), params: Vec::new() };
        let placer = registry::placer(&spec).expect("the defaults are valid");
        let placer = if placer.needs_objective() {
            spec.params.push(("budget".to_owned(), "30".to_owned()));
            registry::placer(&spec).expect("every search has a budget")
        } else {
            placer
        };
        // What decides during the run is tested where there is a simulator.
        if placer.online().is_some() || NEEDS_LABELS.contains(&name.as_str()) {
            continue;
        }
        check(&name, &|instance, context| {
            let decision = placer.place(instance, context)?;
            decision.placement.check(instance).unwrap_or_else(|error| panic!("{name}: {error}"));
            Ok(decision.placement.devices().iter().map(|device| device.0).collect())
        });
    }
}

/// Ops 0 ─▶ 1 ─▶ 2 … on two equal CPUs.
fn chain(n: usize) -> Instance {
    let parts = BackwardParts {
        ops: vec![1.0; n],
        memory_bytes: vec![1; n],
        kinds: vec![KindSet::ALL; n],
        tensor_bytes: vec![1; n],
        in_offsets: (0..=n).map(|op| op.saturating_sub(1) as u32).collect(),
        in_sources: (1..n).map(|op| OpId::new(op - 1)).collect(),
        colocation: Colocation::default(),
    };
    let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    Instance::new(DataflowGraph::from_backward(parts).unwrap(), cluster).unwrap()
}

#[test]
fn a_chain_of_a_million_ops_overflows_no_stack_and_an_empty_graph_is_placed_too() {
    for n in [0, 1_000_000] {
        let instance = chain(n);
        for name in FAST {
            let placer = registry::placer(&name.parse().unwrap()).unwrap();
            let decision = placer.place(&instance, &context(0)).unwrap();
            assert_eq!(decision.placement.check(&instance), Ok(()), "{name}");
        }
    }
}

#[test]
fn a_placer_that_is_told_to_stop_stops() {
    let instance = chain(10);
    let context = context(0);
    context.stop.stop();
    for name in FAST {
        let placer = registry::placer(&name.parse().unwrap()).unwrap();
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
    fn a_placement_keeps_kinds_groups_and_memory_or_the_error_is_infeasible(instance in instance(12)) {
        for_each_placer(|name, place| {
            if let Err(error) = place(&instance, &context(0)) {
                assert!(matches!(error, PlaceError::Infeasible { .. }), "{name}: {error}");
                let limited = instance.cluster().devices().iter().any(|device| device.memory_bytes.is_some());
                assert!(limited, "{name} fails though memory is unlimited: {error}");
            }
        });
    }

    #[test]
    fn the_same_seed_gives_the_same_placement(instance in instance(12), seed in any::<u64>()) {
        for_each_placer(|name, place| {
            let (first, second) = (context(seed), context(seed));
            assert_eq!(place(&instance, &first), place(&instance, &second), "{name}");
        });
    }

    #[test]
    fn a_single_device_gets_all_that_it_may_run(instance in instance(12)) {
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
