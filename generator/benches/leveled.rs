//! Speed of the leveled generator on one thread: graphs like L's graph 6, half of the edges long-range, 10 M edges over
//! 2.5 M ops, in memory with the adjacency both ways.
//!
//! `long` has 93 times as many levels as graph 6, `wide` 93 times as many ops in each level. What is measured is the
//! thread's CPU time, where the system tells it, since other load on a machine would otherwise count.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use placebench_generator::{LeveledParams, LeveledPlan, generate_leveled, graph_sha256};

/// Gives freed memory out again: with the system's allocator a third of the time is the kernel's, handing out pages.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// CPU time of the calling thread on Linux; elsewhere the time since `start`.
fn thread_time(start: Instant) -> Duration {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse().ok())
        .map_or_else(|| start.elapsed(), Duration::from_nanos)
}

fn timed<T>(iterations: u64, work: impl Fn() -> T) -> Duration {
    let start = Instant::now();
    let mut total = Duration::ZERO;
    for _ in 0..iterations {
        let before = thread_time(start);
        let result = black_box(work());
        total += thread_time(start) - before;
        drop(result);
    }
    total
}

fn leveled(c: &mut Criterion) {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool of one thread");
    let graph6 = LeveledParams::preset("laich6").expect("a preset");
    let long = graph6.scaled(10_000_000.0 / 107_144.0);
    let wide = LeveledParams { levels: graph6.levels, nodes_per_level: (930, 9300), ..long.clone() };
    let mut group = c.benchmark_group("leveled");
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    for (name, params) in [("long", &long), ("wide", &wide)] {
        let edges = LeveledPlan::new(params, 1).expect("legal parameters").edge_count();
        group.throughput(Throughput::Elements(edges));
        group.bench_function(format!("plan/{name}"), |b| {
            b.iter_custom(|iterations| one.install(|| timed(iterations, || LeveledPlan::new(params, 1))));
        });
        group.bench_function(format!("generate/{name}"), |b| {
            b.iter_custom(|iterations| one.install(|| timed(iterations, || generate_leveled(params, 1))));
        });
    }
    let graph = generate_leveled(&long, 1).expect("legal parameters").graph;
    group.bench_function("sha256/long", |b| {
        b.iter_custom(|iterations| one.install(|| timed(iterations, || graph_sha256(&graph))));
    });
    group.finish();
}

criterion_group!(benches, leveled);
criterion_main!(benches);
