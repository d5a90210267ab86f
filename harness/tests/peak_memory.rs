//! The memory rule `peak`: placers that know how much memory there is find placements that fit.

use placebench_algorithms::schedulers::Pct;
use placebench_algorithms::{PlaceError, StopToken, registry};
use placebench_datasets::{
    Cluster, DataflowGraph, Device, GraphBuilder, Instance, Kind, Link, MemoryRule, OpId, OpSpec,
};
use placebench_harness::evaluate::{Evaluation, EvaluationError, Evaluator};
use placebench_harness::execute::simulate::{ContentionFree, Simulator};
use placebench_harness::results::Status;

/// A training step of `layers` layers, forward and backward, on two equal devices. A forward op has 10 bytes, which the
/// backward op of its layer needs too, a backward op 1 byte. A transfer takes as long as an op, so that one device is best.
fn training(layers: usize, memory_bytes: u64) -> Instance {
    let mut builder = GraphBuilder::default();
    for op in 0..2 * layers {
        builder.add_op(OpSpec::cost(1.0), &[if op < layers { 10 } else { 1 }]);
    }
    let mut add = |from: usize, to: usize| builder.add_edge(OpId::new(from), 0, OpId::new(to)).unwrap();
    (1..2 * layers).for_each(|op| add(op - 1, op));
    (0..layers - 1).for_each(|layer| add(layer, 2 * layers - 1 - layer));
    instance(builder.build().unwrap(), memory_bytes)
}

/// On two equal devices.
fn instance(graph: DataflowGraph, memory_bytes: u64) -> Instance {
    let device =
        |id: usize| Device { name: format!("d{id}"), kind: Kind::Gpu, memory_bytes: Some(memory_bytes), speed: 1.0 };
    let cluster = Cluster::new((0..2).map(device).collect(), |_, _| Link { rate: 10.0, latency: 0.0 }).unwrap();
    Instance::with_memory_rule(graph, cluster, MemoryRule::Peak).unwrap()
}

fn evaluate(placer: &str, instance: &Instance) -> Result<Evaluation, EvaluationError> {
    let stop = StopToken::default();
    let evaluator = Evaluator { instance, reference: None, seed: 1, stop: &stop };
    let placer = registry::placer(&placer.parse().unwrap()).unwrap();
    let placed = evaluator.place(&*placer, &ContentionFree)?;
    evaluator.execute(&placed, Some(&Pct), &Simulator::new(&ContentionFree))
}

const SEARCHES: [&str; 3] = ["simulated_annealing", "cross_entropy", "reinforce"];

#[test]
fn searches_find_placements_that_fit_though_the_fastest_does_not() {
    // One device needs 4 · 10 bytes for the forward ops, and more.
    let instance = training(4, 35);
    let refused = evaluate("single_device", &instance).unwrap_err();
    assert_eq!(refused.status(), Status::Infeasible, "{refused}");
    for name in SEARCHES {
        let found =
            evaluate(&format!("{name}(budget=200)"), &instance).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(found.metrics.peak_memory_bytes <= 35, "{name}");
    }
    // With enough memory it is the fastest.
    for name in SEARCHES {
        assert_eq!(evaluate(&format!("{name}(budget=200)"), &training(4, 45)).unwrap().metrics.makespan, 8.0, "{name}");
    }
}

#[test]
fn a_search_that_finds_nothing_that_fits_is_refused_with_what_is_missing() {
    for name in SEARCHES {
        let error = evaluate(&format!("{name}(budget=50)"), &training(4, 15)).unwrap_err();
        assert!(matches!(error, EvaluationError::OutOfMemory { memory_bytes: 15, .. }), "{name}: {error}");
    }
}

/// A chain of ops with 30 bytes of resident memory each, on two equal devices: one device is best.
fn parameters(ops: usize, memory_bytes: u64) -> Instance {
    let mut builder = GraphBuilder::default();
    for _ in 0..ops {
        builder.add_op(OpSpec { memory_bytes: 30, ..OpSpec::cost(1.0) }, &[1]);
    }
    (1..ops).for_each(|op| builder.add_edge(OpId::new(op - 1), 0, OpId::new(op)).unwrap());
    instance(builder.build().unwrap(), memory_bytes)
}

#[test]
fn memory_constrained_placers_see_what_devices_hold_at_once() {
    let instance = parameters(4, 70);
    for name in ["etf", "heft"] {
        assert_eq!(evaluate(name, &instance).unwrap_err().status(), Status::Infeasible, "{name}");
    }
    for name in ["m_topo", "m_etf", "m_sct"] {
        let found = evaluate(name, &instance).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((found.metrics.peak_memory_bytes, found.metrics.devices_used), (62, 2), "{name}");
    }
}

#[test]
fn a_memory_constrained_placer_that_finds_no_room_says_which_rule_it_kept() {
    let error = evaluate("m_etf", &parameters(5, 70)).unwrap_err();
    assert!(matches!(error, EvaluationError::Place { error: PlaceError::Infeasible { .. }, .. }), "{error}");
    let message = error.to_string();
    assert!(
        message.contains("memory rule peak") && message.contains(" B, and") && message.contains("unlimited"),
        "{message}"
    );
}
