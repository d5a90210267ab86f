//! Throughput of the simulator on one thread.
//!
//! The graph is a leveled DAG of 1 M ops in 1,000 levels and 4.5 M edges, with L's parameters (ops and tensors U\[1, 100\],
//! speeds U\[10, 100\], rates U\[10, 60\]), on 100 devices. Three placements: `random` (4.35 M transfers) and `strips`
//! (each level cut into 100 ranges; 4.35 M), in which nearly all edges cross devices, and `blocks` (10 levels a device;
//! 0.27 M).
//!
//! Measured in milliseconds of CPU time of the thread, least of 7 runs, release build, on one core of an AMD EPYC whose
//! other cores were busy (criterion's wall times were up to twice that there):
//!
//! | | random | strips | blocks |
//! |---|---|---|---|
//! | send/receive insertion | 145 | 144 | 32 |
//! | preparation of PCT (part of each PCT run below) | 24 | 22 | 14 |
//! | simulation, `contention_free`, PCT | 307 | 267 | 194 |
//! | insertion and simulation, `contention_free`, PCT | 457 | 439 | 255 |
//! | simulation, `contention_free`, FIFO | 241 | 226 | 117 |
//! | simulation, `one_port`, PCT | 829 | 796 | 197 |
//! | simulation, `one_port`, FIFO | 854 | 788 | 125 |
//! | records for the validator | 82 | 83 | 2 |
//! | validation | 415 | 384 | 89 |
//! | memory peaks | 411 | 402 | 90 |
//! | metrics | 19 | 22 | 16 |
//!
//! `fair_share` on 100 devices at random places (least wall time of 10 runs, on two cores with ten other jobs): 1.6 M
//! transfers/s in an idle network, 990 k transfers/s in a busy one, 107 k transfers/s in one with thousands of flows at
//! once, which all share. There each begin or end changes the rates at most of the 200 ports, which takes some 60,000
//! instructions.
//!
//! Thus PCT under `contention_free` simulates 3.3–5.2 M ops/s, and 2.2–3.9 M ops/s with insertion and preparation.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use placebench_algorithms::Scheduler;
use placebench_algorithms::ranks::path_computation_times;
use placebench_algorithms::schedulers::{Fifo, Pct};
use placebench_datasets::{
    BackwardParts, Cluster, DataflowGraph, Device, DeviceId, Instance, Kind, KindSet, Link, OpId, PlacedGraph,
    Placement,
};
use placebench_harness::execute::Executor;
use placebench_harness::execute::simulate::{ContentionFree, FairShare, NetworkModel, OnePort, Simulator, simulate};
use placebench_harness::memory::MemoryUse;
use placebench_harness::validator::validate;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

const LEVELS: usize = 1_000;
const WIDTH: usize = 1_000;
const DEVICES: usize = 100;

fn leveled(rng: &mut Pcg64, levels: usize) -> DataflowGraph {
    let n = levels * WIDTH;
    let mut in_offsets = vec![0u32];
    let mut in_sources: Vec<OpId> = Vec::new();
    for op in 0..n {
        let level = op / WIDTH;
        if level > 0 {
            // Up to three levels back, 4 or 5 inputs.
            let first = level.saturating_sub(3) * WIDTH;
            let begin = in_sources.len();
            let degree = rng.random_range(4..=5);
            in_sources.extend((0..degree).map(|_| OpId::new(rng.random_range(first..level * WIDTH))));
            in_sources[begin..].sort_unstable();
        }
        in_offsets.push(in_sources.len() as u32);
    }
    DataflowGraph::from_backward(BackwardParts {
        ops: (0..n).map(|_| rng.random_range(1.0..100.0)).collect(),
        memory_bytes: vec![0; n],
        kinds: vec![KindSet::ALL; n],
        tensor_bytes: (0..n).map(|_| rng.random_range(1..=100)).collect(),
        in_offsets,
        in_sources,
        ..BackwardParts::default()
    })
    .expect("sources precede targets")
}

/// `faster`: how many times faster links are than L's.
fn cluster(rng: &mut Pcg64, faster: f64) -> Cluster {
    let devices = (0..DEVICES)
        .map(|device| Device {
            name: format!("d{device}"),
            kind: Kind::Cpu,
            memory_bytes: None,
            speed: rng.random_range(10.0..100.0),
        })
        .collect();
    Cluster::new(devices, |_, _| Link { rate: faster * rng.random_range(10.0..60.0), latency: 0.0 })
        .expect("a valid cluster")
}

fn benches(criterion: &mut Criterion) {
    let mut rng = Pcg64::seed_from_u64(1);
    let instance = Instance::new(leveled(&mut rng, LEVELS), cluster(&mut rng, 1.0)).expect("a valid instance");
    let graph = instance.graph();
    // Far apart: nearly every edge crosses devices. Close: 100 vertical strips of each level, as a partitioner makes.
    let random = Placement::new(graph.op_ids().map(|_| DeviceId::new(rng.random_range(0..DEVICES))).collect());
    let strips = Placement::new(graph.op_ids().map(|op| DeviceId::new(op.index() % WIDTH * DEVICES / WIDTH)).collect());
    let blocks =
        Placement::new(graph.op_ids().map(|op| DeviceId::new(op.index() / WIDTH * DEVICES / LEVELS)).collect());
    for (name, placement) in [("random", &random), ("strips", &strips), ("blocks", &blocks)] {
        let placed = PlacedGraph::new(&instance, placement);
        println!("{name}: {} edges, {} transfers", graph.edge_count(), placed.transfer_count());
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10).throughput(Throughput::Elements(graph.op_count() as u64));
        group.bench_function("placed_graph", |bencher| {
            bencher.iter(|| PlacedGraph::new(&instance, black_box(placement)))
        });
        group.bench_function("pct_preparation", |bencher| bencher.iter(|| path_computation_times(black_box(&placed))));
        for (label, scheduler) in [("pct", &Pct as &dyn Scheduler), ("fifo", &Fifo)] {
            for network in [&ContentionFree as &'static dyn NetworkModel, &OnePort] {
                group.bench_function(format!("simulate/{network}/{label}"), |bencher| {
                    bencher.iter(|| simulate(black_box(&placed), scheduler, None, network).expect("a full run"))
                });
            }
        }
        group.bench_function("total/contention_free/pct", |bencher| {
            bencher.iter(|| {
                let placed = PlacedGraph::new(&instance, black_box(placement));
                simulate(&placed, &Pct, None, &ContentionFree).expect("a full run").makespan()
            })
        });
        let timeline = simulate(&placed, &Pct, None, &ContentionFree).expect("a full run");
        let records = timeline.records(&placed);
        group.bench_function("validate", |bencher| {
            let demands = Simulator::default().demands();
            bencher.iter(|| validate(&instance, placement, black_box(&records), demands).expect("a valid run"))
        });
        group.bench_function("memory", |bencher| bencher.iter(|| MemoryUse::new(black_box(&placed), &timeline)));
    }
}

/// Fair sharing on 100 devices: 100,000 ops at random places, with networks that are idle, busy and overloaded.
fn fair_share(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("fair_share");
    for (name, faster) in [("idle", 100.0), ("busy", 10.0), ("overloaded", 1.0)] {
        let mut rng = Pcg64::seed_from_u64(1);
        let levels = if faster == 1.0 { 3 } else { 100 };
        let graph = leveled(&mut rng, levels);
        let instance = Instance::new(graph, cluster(&mut rng, faster)).expect("a valid instance");
        let ops = instance.graph().op_ids();
        let placement = Placement::new(ops.map(|_| DeviceId::new(rng.random_range(0..DEVICES))).collect());
        let placed = PlacedGraph::new(&instance, &placement);
        group.sample_size(10).throughput(Throughput::Elements(placed.transfer_count() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| simulate(black_box(&placed), &Fifo, None, &FairShare).expect("a full run").makespan())
        });
    }
}

criterion_group!(simulator, benches, fair_share);
criterion_main!(simulator);
