//! Pipelines: published optima, and the best of all contiguous splits of small graphs.

use std::path::Path;
use std::sync::Arc;

use placebench_algorithms::period::{Goal, Occupancy};
use placebench_algorithms::{Decision, Judgement, Objective, PlaceContext, PlaceError, StopToken, registry};
use placebench_datasets::format::read_graph;
use placebench_datasets::{
    Cluster, DataflowGraph, Device, DeviceId, GraphBuilder, Instance, Kind, Link, MemoryRule, OpId, OpSpec, Placement,
    Time,
};
use proptest::prelude::*;

/// A unit of time moves this many bytes between an accelerator and the host.
const RATE: f64 = (1u64 << 30) as f64;

fn cluster(accelerators: usize, cpus: usize, memory_bytes: Option<u64>) -> Cluster {
    let accelerator = |number| Device { name: format!("gpu{number}"), kind: Kind::Gpu, memory_bytes, speed: 1.0 };
    let cpu = |number| Device { name: format!("cpu{number}"), kind: Kind::Cpu, memory_bytes: None, speed: 1.0 };
    let devices = (0..accelerators).map(accelerator).chain((0..cpus).map(cpu)).collect();
    let is_gpu = |device: DeviceId| device.index() < accelerators;
    Cluster::new(devices, |from, to| match (is_gpu(from), is_gpu(to)) {
        (true, true) => Link { rate: RATE / 2.0, latency: 0.0 },
        (false, false) => Link { rate: RATE * 1e6, latency: 0.0 },
        _ => Link { rate: RATE, latency: 0.0 },
    })
    .unwrap()
}

fn graph(name: &str) -> DataflowGraph {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format!("{name}.dnn.json"));
    read_graph(path).unwrap().1
}

fn place(spec: &str, instance: &Instance) -> Placement {
    registry::placer(&spec.parse().unwrap()).unwrap().place(instance, &PlaceContext::default()).unwrap().placement
}

/// The largest load of a device by the rule of Tarnawski et al.: times of ops, and on accelerators each output that leaves
/// and each foreign output that comes in, once.
fn largest_load(instance: &Instance, placement: &Placement) -> Time {
    let graph = instance.graph();
    let load = |device: DeviceId| {
        let here = |op: OpId| placement.device_of(op) == device;
        let work: Time = graph.op_ids().filter(|&op| here(op)).map(|op| instance.exec_time(op, device)).sum();
        if instance.cluster().device(device).kind == Kind::Cpu {
            return work;
        }
        let crosses = |op: OpId, tensor| {
            graph.successors(op).filter(|edge| edge.tensor == Some(tensor)).any(|edge| here(op) != here(edge.op))
        };
        let reads = |op: OpId, tensor| graph.successors(op).any(|edge| edge.tensor == Some(tensor) && here(edge.op));
        let moved = graph.op_ids().flat_map(|op| graph.outputs(op).map(move |tensor| (op, tensor)));
        let moved = moved.filter(|&(op, tensor)| if here(op) { crosses(op, tensor) } else { reads(op, tensor) });
        work + moved.map(|(_, tensor)| graph.tensor_bytes(tensor) as f64 / RATE).sum::<Time>()
    };
    instance.cluster().device_ids().map(load).fold(0.0, Time::max)
}

fn rounded(value: Time) -> Time {
    (value * 1e4).round() / 1e4
}

/// The rule of Tarnawski et al. for a search.
struct Io(usize);

impl Occupancy for Io {
    fn parts(&self) -> usize {
        self.0
    }

    fn output(&self, from: DeviceId, bytes: u64, take: &mut dyn FnMut(usize, Time)) {
        // The last device is the CPU.
        if from.index() + 1 < self.0 {
            take(from.index(), bytes as f64 / RATE);
        }
    }

    fn transfer(&self, _: DeviceId, to: DeviceId, bytes: u64, take: &mut dyn FnMut(usize, Time)) {
        self.output(to, bytes, take);
    }
}

#[derive(Debug)]
struct LargestLoad;

impl Objective for LargestLoad {
    fn judge(&self, instance: &Instance, decision: &Decision, _: &StopToken) -> Result<Judgement, PlaceError> {
        Ok(Judgement::fits(largest_load(instance, &decision.placement)))
    }

    fn goal(&self) -> Goal {
        Goal::Period
    }

    fn occupancy<'c>(&self, cluster: &'c Cluster) -> Option<Box<dyn Occupancy + 'c>> {
        Some(Box::new(Io(cluster.device_count())))
    }
}

/// What the authors' local search finds as the best of ten runs: not contiguous, so below the optima of contiguous splits.
#[test]
fn without_contiguity_sweep_finds_what_the_published_local_search_finds_or_less() {
    for (name, accelerators, published) in [("bert24_training", 6, 39.9432), ("bert_l-3_inference", 3, 27.5741)] {
        let instance = Instance::new(graph(name), cluster(accelerators, 1, None)).unwrap();
        let context = PlaceContext { objective: Some(Arc::new(LargestLoad)), ..PlaceContext::with_seed(1) };
        let found = registry::placer(&"sweep".parse().unwrap()).unwrap().place(&instance, &context).unwrap();
        assert_eq!(found.placement.check(&instance), Ok(()));
        let load = largest_load(&instance, &found.placement);
        assert!(rounded(load) <= published, "{name}: {load}");
    }
}

/// The optima that the authors' program finds: 6 accelerators and a CPU, and 3 and a CPU.
#[test]
fn the_dynamic_program_finds_the_published_optima_of_contiguous_splits() {
    for (name, accelerators, optimum) in [("bert24_training", 6, 41.7458), ("bert_l-3_inference", 3, 27.9186)] {
        let instance = Instance::new(graph(name), cluster(accelerators, 1, None)).unwrap();
        let placement = place("pipeline_dp", &instance);
        assert_eq!(placement.check(&instance), Ok(()));
        assert_eq!(rounded(largest_load(&instance, &placement)), optimum, "{name}");
        let line = place("pipedream", &instance);
        assert!(largest_load(&instance, &line) >= optimum - 1e-4, "{name}");
        // With few ideals allowed the graph is a line.
        assert_eq!(place("pipeline_dp(ideals=10)", &instance), line);
    }
}

#[test]
fn parts_hold_what_devices_have_memory_for() {
    let limit = 629_145_600;
    let instance =
        Instance::with_memory_rule(graph("bert_l-3_inference"), cluster(3, 1, Some(limit)), MemoryRule::Peak);
    let instance = instance.unwrap();
    let placement = place("pipeline_dp", &instance);
    for device in instance.cluster().device_ids().take(3) {
        let here = instance.graph().op_ids().filter(|&op| placement.device_of(op) == device);
        assert!(here.map(|op| instance.graph().memory_bytes(op)).sum::<u64>() <= limit);
    }
    assert!(largest_load(&instance, &placement) > 27.92);
}

/// A backward op is with its forward op where they are colocated, and with the last forward op that it reads where not.
#[test]
fn backward_ops_go_with_their_forward_ops() {
    let mut builder = GraphBuilder::default();
    let op = |name| OpSpec { name: Some(name), ..OpSpec::cost(10.0) };
    let forward = ["a", "b", "c", "d"].map(|name| builder.add_op(op(name), &[1]));
    let backward =
        ["gradients/d", "gradients/c", "gradients/b", "gradients/a"].map(|name| builder.add_op(op(name), &[1]));
    for pair in forward.windows(2).chain(backward.windows(2)) {
        builder.add_edge(pair[0], 0, pair[1]).unwrap();
    }
    for (forward, backward) in forward.into_iter().zip(backward.into_iter().rev()) {
        builder.add_edge(forward, 0, backward).unwrap();
    }
    let instance = Instance::new(builder.build().unwrap(), cluster(2, 0, None)).unwrap();
    let devices: Vec<u32> = place("pipeline_dp", &instance).devices().iter().map(|device| device.0).collect();
    assert_eq!(devices, [0, 0, 1, 1, 1, 1, 0, 0]);
}

/// A step as JAX traces it: nothing is named a gradient, but only the loss is read by nobody and holds no weight.
#[test]
fn without_names_what_does_not_lead_to_the_loss_is_backward() {
    let mut builder = GraphBuilder::default();
    let op = || OpSpec::cost(10.0);
    let weights = [0, 1].map(|_| builder.add_op(OpSpec { memory_bytes: 8, ..OpSpec::cost(0.0) }, &[8]));
    let forward = [0, 1].map(|_| builder.add_op(op(), &[1]));
    let loss = builder.add_op(OpSpec::cost(0.0), &[]);
    let backward = [0, 1].map(|_| builder.add_op(op(), &[1]));
    let updates = [0, 1].map(|_| builder.add_op(op(), &[]));
    for (from, to) in [
        (weights[0], forward[0]),
        (weights[1], forward[1]),
        (forward[0], forward[1]),
        (forward[1], loss),
        (forward[1], backward[1]),
        (backward[1], backward[0]),
        (forward[0], backward[0]),
        (backward[0], updates[0]),
        (backward[1], updates[1]),
    ] {
        builder.add_edge(from, 0, to).unwrap();
    }
    for layer in [0, 1] {
        builder.colocate(weights[layer], updates[layer]).unwrap();
    }
    let instance = Instance::new(builder.build().unwrap(), cluster(2, 0, None)).unwrap();
    let devices: Vec<u32> = place("pipeline_dp", &instance).devices().iter().map(|device| device.0).collect();
    assert_eq!(devices, [0, 1, 0, 1, 1, 0, 1, 0, 1]);
}

/// A small graph: costs, and for each pair of ops the bytes of an edge, if there is one.
fn small() -> impl Strategy<Value = (DataflowGraph, usize)> {
    let ops = proptest::collection::vec((0u32..9, 0u32..5), 1..7);
    let edges = proptest::collection::vec((any::<u8>(), any::<u8>()), 0..10);
    (ops, edges, 1usize..4).prop_map(|(ops, edges, devices)| {
        let mut builder = GraphBuilder::default();
        for &(cost, bytes) in &ops {
            let times = [("gpu", f64::from(cost)), ("cpu", f64::from(cost) * 3.0)];
            // What an op itself keeps says nothing of whether it is of the backward pass.
            let memory_bytes = u64::from(cost % 2);
            builder.add_op(OpSpec { times: &times, memory_bytes, ..OpSpec::cost(1.0) }, &[u64::from(bytes) << 30]);
        }
        for (a, b) in edges {
            let (a, b) = (usize::from(a) % ops.len(), usize::from(b) % ops.len());
            if a != b {
                builder.add_edge(OpId::new(a.min(b)), 0, OpId::new(a.max(b))).unwrap();
            }
        }
        (builder.build().unwrap(), devices)
    })
}

/// Whether parts can follow each other: the graph of devices, an edge for each that crosses, has no circle.
fn is_contiguous(instance: &Instance, placement: &Placement) -> bool {
    let count = instance.cluster().device_count();
    let mut reach = vec![vec![false; count]; count];
    for (op, edge) in instance.graph().edges() {
        let (from, to) = (placement.device_of(op).index(), placement.device_of(edge.op).index());
        reach[from][to] |= from != to;
    }
    for through in 0..count {
        for from in 0..count {
            for to in 0..count {
                reach[from][to] |= reach[from][through] && reach[through][to];
            }
        }
    }
    (0..count).all(|device| !reach[device][device])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_contiguous_split_of_a_small_graph_is_better((graph, accelerators) in small()) {
        let instance = Instance::new(graph, cluster(accelerators, 1, None)).unwrap();
        let found = place("pipeline_dp", &instance);
        prop_assert!(is_contiguous(&instance, &found));
        let (ops, devices) = (instance.graph().op_count(), instance.cluster().device_count());
        let all = (0..devices.pow(ops as u32)).map(|number| {
            let device = |op: usize| DeviceId::new(number / devices.pow(op as u32) % devices);
            Placement::new((0..ops).map(device).collect())
        });
        let best = all.filter(|placement| is_contiguous(&instance, placement));
        let best = best.map(|placement| largest_load(&instance, &placement)).fold(f64::INFINITY, Time::min);
        prop_assert!((largest_load(&instance, &found) - best).abs() < 1e-9, "{} {best}", largest_load(&instance, &found));
    }
}
