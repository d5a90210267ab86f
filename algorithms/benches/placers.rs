//! Time to place leveled graphs like L's and larger ones.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use placebench_algorithms::{PlaceContext, Placer, placers};
use placebench_datasets::{
    BackwardParts, Cluster, Colocation, DataflowGraph, Device, Instance, Kind, KindSet, Link, OpId,
};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A leveled graph in the manner of L §6.2.
struct Shape {
    name: &'static str,
    ops: usize,
    edges: usize,
    levels: usize,
    devices: usize,
    /// Share of edges between any two levels; the others span at most `reach` levels.
    long_edges: f64,
    reach: usize,
    /// Ops in colocation groups of 2 to 9.
    colocated: usize,
}

const SHAPES: [Shape; 6] = [
    Shape {
        name: "laich1",
        ops: 36_319,
        edges: 16_076,
        levels: 300,
        devices: 100,
        long_edges: 0.5,
        reach: 20,
        colocated: 5_200,
    },
    Shape {
        name: "laich6",
        ops: 26_887,
        edges: 107_144,
        levels: 500,
        devices: 100,
        long_edges: 0.05,
        reach: 20,
        colocated: 3_000,
    },
    Shape {
        name: "medium",
        ops: 100_000,
        edges: 457_000,
        levels: 500,
        devices: 50,
        long_edges: 0.1,
        reach: 10,
        colocated: 10_000,
    },
    Shape {
        name: "chain",
        ops: 100_000,
        edges: 300_000,
        levels: 100_000,
        devices: 100,
        long_edges: 0.0,
        reach: 5,
        colocated: 0,
    },
    Shape {
        name: "wide",
        ops: 100_000,
        edges: 300_000,
        levels: 3,
        devices: 100,
        long_edges: 0.0,
        reach: 2,
        colocated: 0,
    },
    Shape {
        name: "large",
        ops: 1_000_000,
        edges: 4_500_000,
        levels: 2_000,
        devices: 100,
        long_edges: 0.1,
        reach: 10,
        colocated: 100_000,
    },
];

fn leveled(shape: &Shape) -> DataflowGraph {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let n = shape.ops;
    let level = |op: usize| op * shape.levels / n;
    let start = |level: usize| (level * n).div_ceil(shape.levels);
    let mut sources: Vec<Vec<u32>> = vec![Vec::new(); n];
    let mut edges = 0;
    while edges < shape.edges {
        let target = rng.random_range(start(1)..n);
        let first = if rng.random_bool(shape.long_edges) { 0 } else { level(target).saturating_sub(shape.reach) };
        let source = rng.random_range(start(first)..start(level(target))) as u32;
        if !sources[target].contains(&source) {
            sources[target].push(source);
            edges += 1;
        }
    }
    let mut parts = BackwardParts { in_offsets: vec![0], ..BackwardParts::default() };
    for mut before in sources {
        before.sort_unstable();
        parts.in_sources.extend(before.into_iter().map(OpId));
        parts.in_offsets.push(parts.in_sources.len() as u32);
    }
    parts.ops = (0..n).map(|_| f64::from(rng.random_range(1..=100u32))).collect();
    parts.tensor_bytes = (0..n).map(|_| rng.random_range(1..=100)).collect();
    parts.memory_bytes = (0..n).map(|_| rng.random_range(1..=100)).collect();
    parts.kinds = vec![KindSet::ALL; n];
    let mut pairs = Vec::new();
    let mut grouped = 0;
    while grouped < shape.colocated {
        let size = rng.random_range(2..10);
        let first = OpId(rng.random_range(0..n as u32));
        pairs.extend((1..size).map(|_| (first, OpId(rng.random_range(0..n as u32)))));
        grouped += size;
    }
    parts.colocation = Colocation::from_pairs(n, pairs);
    for op in 0..n {
        // 10 % CPU only and 10 % GPU only among the ops in no group.
        if parts.colocation.group_of(OpId(op as u32)).is_none() {
            parts.kinds[op] = match rng.random_range(0..10) {
                0 => KindSet::only(Kind::Cpu),
                1 => KindSet::only(Kind::Gpu),
                _ => KindSet::ALL,
            };
        }
    }
    DataflowGraph::from_backward(parts).expect("the parts fit together")
}

/// L §6.2: 60 % CPUs, speeds U[10, 100], rates U[10, 60], the faster the less memory.
fn cluster(shape: &Shape) -> Cluster {
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    let devices = (0..shape.devices)
        .map(|id| {
            let speed = rng.random_range(10.0..100.0);
            let kind = if id % 5 < 3 { Kind::Cpu } else { Kind::Gpu };
            let memory = (500 * shape.ops + 200 * shape.edges) as f64 / shape.devices as f64 * 100.0 / speed;
            Device { name: format!("d{id}"), kind, memory_bytes: Some(memory as u64), speed }
        })
        .collect();
    Cluster::new(devices, |_, _| Link { rate: rng.random_range(10.0..60.0), latency: 0.0 }).expect("a valid cluster")
}

fn bench(criterion: &mut Criterion) {
    let contenders: [(&str, Box<dyn Placer>); 6] = [
        ("batch_split", Box::new(placers::BatchSplit)),
        ("iterated_critical_path", Box::new(placers::IteratedCriticalPath)),
        ("critical_path", Box::new(placers::CriticalPath::default())),
        ("mite", Box::new(placers::Mite)),
        ("dfs", Box::new(placers::Dfs)),
        ("random", Box::new(placers::Random)),
    ];
    for shape in &SHAPES {
        let instance = Instance::new(leveled(shape), cluster(shape)).expect("all kinds are there");
        let mut group = criterion.benchmark_group(shape.name);
        group.sample_size(10).measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(100));
        for (name, placer) in &contenders {
            if shape.ops >= 1_000_000 && *name == "iterated_critical_path" {
                continue;
            }
            let placed = placer.place(&instance, &PlaceContext::default()).expect("there is memory enough");
            placed.placement.check(&instance).expect("a feasible placement");
            group.bench_function(*name, |bencher| {
                bencher.iter(|| black_box(placer.place(&instance, &PlaceContext::default())));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
