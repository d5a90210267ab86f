//! Time to place leveled graphs like L's, and larger ones.
//!
//! Measured with `cargo bench -p placebench-algorithms --bench placers` (release build, one thread of a shared x86-64
//! server; means of 10 runs, which other load on the server may have lengthened by half):
//!
//! | graph | ops | edges | devices | batch_split | iterated_critical_path | critical_path | mite | dfs | random |
//! |---|---|---|---|---|---|---|---|---|---|
//! | laich1 | 36,319 | 16,076 | 100 | 1.2 ms | 6.0 ms | 3.8 ms | 39 ms | 27 ms | 9.8 ms |
//! | laich6 | 26,887 | 107,144 | 100 | 1.3 ms | 284 ms | 3.4 ms | 37 ms | 29 ms | 8.1 ms |
//! | medium | 100,000 | 457,000 | 50 | 5.8 ms | 5.6 s | 10 ms | 112 ms | 127 ms | 25 ms |
//! | chain | 100,000 | 300,000 | 100 | 7.2 ms | 155 ms | 116 ms | 201 ms | 155 ms | 44 ms |
//! | wide | 100,000 | 300,000 | 100 | 9.5 ms | 497 ms | 17 ms | 272 ms | 227 ms | 31 ms |
//! | large | 1,000,000 | 4,500,000 | 100 | 132 ms | (690 s) | 131 ms | 2.9 s | 3.1 s | 443 ms |
//!
//! Iterated critical path computed source ranks again 2.0 M times on laich6, 0.3 M on wide, 0.5 M on chain, 16.8 M on
//! medium and 646 M on large: 19, 1, 2, 37 and 143 times an edge. It is not linear on wide and deep graphs, and its time on
//! large is that of a single run at half a core, so that it is left out here.

use std::cell::LazyCell;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use placebench_algorithms::{Algorithm, PlaceContext, Placer, placers};
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
        ("critical_path", Box::new(placers::CriticalPath::with_defaults())),
        ("mite", Box::new(placers::Mite)),
        ("dfs", Box::new(placers::Dfs)),
        ("random", Box::new(placers::Random)),
    ];
    for shape in &SHAPES {
        // Made only if a benchmark of this shape is chosen.
        let instance = LazyCell::new(|| Instance::new(leveled(shape), cluster(shape)).expect("all kinds are there"));
        let mut group = criterion.benchmark_group(shape.name);
        group.sample_size(10).measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(100));
        for (name, placer) in &contenders {
            if shape.ops >= 1_000_000 && *name == "iterated_critical_path" {
                continue;
            }
            group.bench_function(*name, |bencher| {
                let place = || placer.place(&instance, &PlaceContext::default()).expect("there is memory enough");
                place().placement.check(&instance).expect("a feasible placement");
                bencher.iter(|| black_box(place()));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
