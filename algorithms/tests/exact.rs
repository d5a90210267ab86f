//! The exact solver: instances whose optimum is known, and what it refuses.

use placebench_algorithms::{PlaceContext, PlaceError, StopToken, exact, registry};
use placebench_datasets::{Cluster, Device, GraphBuilder, Instance, Kind, KindSet, Link, OpId, OpSpec};

use crate::support::instances::{arabnejad, topcuoglu};

const ENOUGH: u64 = 1_000_000;

fn optimum(instance: &Instance) -> f64 {
    exact::solve(instance, ENOUGH, &StopToken::default()).unwrap().makespan
}

fn refusal(instance: &Instance, most_nodes: u64) -> PlaceError {
    exact::solve(instance, most_nodes, &StopToken::default()).unwrap_err()
}

fn on_equal_devices(builder: &mut GraphBuilder, devices: usize) -> Instance {
    let link = Link { rate: 1.0, latency: 0.0 };
    Instance::new(builder.build().unwrap(), Cluster::uniform(devices, Kind::Cpu, 1.0, link).unwrap()).unwrap()
}

#[test]
fn the_optima_of_the_published_instances_are_proven() {
    assert_eq!(optimum(&topcuoglu()), 73.0);
    assert_eq!(optimum(&arabnejad()), 113.0);
}

#[test]
fn ops_that_all_are_alike_are_spread_evenly_in_no_time() {
    let mut builder = GraphBuilder::default();
    for _ in 0..40 {
        builder.add_op(OpSpec::cost(7.0), &[1]);
    }
    let found = exact::solve(&on_equal_devices(&mut builder, 3), 1000, &StopToken::default()).unwrap();
    assert_eq!(found.makespan, 14.0 * 7.0);
}

/// A source of 1, eight ops of 4 that need its 3 bytes, a sink of 1 that needs a byte of each. On three devices: three ops
/// on the source's until 13, three on another from 4 to 16, where the sink follows at once, two on the third. On four: three
/// ops on the source's until 13, and the sink there, for which the others arrive at 13.
#[test]
fn a_fork_and_join_has_the_optimum_worked_out_by_hand() {
    let on_devices = |devices| {
        let mut builder = GraphBuilder::default();
        let source = builder.add_op(OpSpec::cost(1.0), &[3]);
        let middle: Vec<OpId> = (0..8).map(|_| builder.add_op(OpSpec::cost(4.0), &[1])).collect();
        let sink = builder.add_op(OpSpec::cost(1.0), &[]);
        for &op in &middle {
            builder.add_edge(source, 0, op).unwrap();
            builder.add_edge(op, 0, sink).unwrap();
        }
        optimum(&on_equal_devices(&mut builder, devices))
    };
    assert_eq!((on_devices(3), on_devices(4)), (17.0, 14.0));
}

#[test]
fn memory_that_no_placement_respects_is_infeasible_and_memory_that_one_does_is_not() {
    let with_memory = |memory_bytes: u64| {
        let mut builder = GraphBuilder::default();
        for _ in 0..4 {
            builder.add_op(OpSpec { memory_bytes: 10, ..OpSpec::cost(1.0) }, &[]);
        }
        let device = |number| Device {
            name: format!("d{number}"),
            kind: Kind::Cpu,
            memory_bytes: Some(memory_bytes),
            speed: f64::from(number) + 1.0,
        };
        let cluster = Cluster::new((0..2).map(device).collect(), |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
        Instance::new(builder.build().unwrap(), cluster).unwrap()
    };
    // Demands have to stay below the memory.
    assert!(matches!(refusal(&with_memory(20), ENOUGH), PlaceError::Infeasible { .. }));
    assert_eq!(optimum(&with_memory(21)), 2.0);
    // Three on the device that is twice as fast.
    assert_eq!(optimum(&with_memory(31)), 1.5);
}

#[test]
fn what_the_search_cannot_do_is_refused_with_the_reason() {
    // A chain of 33 ops that cross over each time, with 32 sends.
    let mut builder = GraphBuilder::default();
    let kinds = [Kind::Cpu, Kind::Gpu];
    for op in 0..33u32 {
        builder.add_op(OpSpec { kinds: KindSet::only(kinds[op as usize % 2]), ..OpSpec::cost(1.0) }, &[1]);
        if op > 0 {
            builder.add_edge(OpId(op - 1), 0, OpId(op)).unwrap();
        }
    }
    let device = |kind| Device { name: format!("{kind}"), kind, memory_bytes: None, speed: 1.0 };
    let cluster = Cluster::new(kinds.map(device).to_vec(), |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
    let chain = builder.build().unwrap();
    let sends = Instance::new(chain.clone(), cluster.clone().with_send_ops(1.0).unwrap()).unwrap();
    let error = refusal(&sends, ENOUGH).to_string();
    assert!(error.contains("up to 64 ops, sends and receives, and a placement has 65"), "{error}");
    assert_eq!(optimum(&Instance::new(chain, cluster).unwrap()), 33.0 + 32.0);
    let mut builder = GraphBuilder::default();
    for _ in 0..65 {
        builder.add_op(OpSpec::cost(1.0), &[]);
    }
    let error = refusal(&on_equal_devices(&mut builder, 2), ENOUGH);
    assert!(matches!(&error, PlaceError::Unsupported(text) if text.contains("up to 64 ops")), "{error}");
}

#[test]
fn an_optimum_that_is_not_proven_within_the_nodes_is_no_answer() {
    // The seven costs have no even split, which takes a while to prove.
    let mut builder = GraphBuilder::default();
    for cost in [97.0, 89.0, 83.0, 79.0, 73.0, 71.0, 67.0, 61.0, 59.0, 53.0, 47.0] {
        builder.add_op(OpSpec::cost(cost), &[]);
    }
    let instance = on_equal_devices(&mut builder, 3);
    let text = refusal(&instance, 10).to_string();
    assert!(text.contains("within 10 nodes: best makespan 26") && text.contains("lower bound 25"), "{text}");
    assert!(!text.contains('\n'));
    let proven = optimum(&instance);
    assert!((260.0..270.0).contains(&proven), "{proven}");
}

#[test]
fn a_search_that_is_told_to_stop_stops() {
    let stop = StopToken::default();
    stop.stop();
    assert_eq!(exact::solve(&topcuoglu(), ENOUGH, &stop), Err(PlaceError::Stopped));
}

#[test]
fn the_placer_has_a_plan_and_takes_its_limit_by_name() {
    let place =
        |spec: &str| registry::placer(&spec.parse().unwrap()).unwrap().place(&arabnejad(), &PlaceContext::default());
    let decision = place("optimal").unwrap();
    let plan = decision.plan.unwrap();
    assert_eq!((plan.makespan, plan.tasks.len()), (113.0, 10));
    assert!(place("optimal(nodes=1)").unwrap_err().to_string().contains("raise the parameter nodes"));
    assert!(registry::placer(&"optimal(nodes=0)".parse().unwrap()).is_err());
}

#[test]
fn an_empty_graph_and_ops_that_take_no_time_have_the_makespan_zero() {
    assert_eq!(optimum(&on_equal_devices(&mut GraphBuilder::default(), 2)), 0.0);
    let mut builder = GraphBuilder::default();
    for op in 0..10u32 {
        builder.add_op(OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(0.0) }, &[5]);
        if op > 0 {
            builder.add_edge(OpId((op - 1) / 2), 0, OpId(op)).unwrap();
        }
    }
    assert_eq!(optimum(&on_equal_devices(&mut builder, 3)), 0.0);
}
