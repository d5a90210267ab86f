//! Speed of the leveled generator on one thread: graphs like L's graph 6, half of the edges long-range, 10 M edges over
//! 2.5 M ops, in memory with the adjacency both ways.
//!
//! `long` has 93 times as many levels as graph 6, `wide` 93 times as many ops in each level. What is measured is the
//! thread's processor time, since other load on a machine would otherwise count.
//!
//! Measured with `cargo bench -p placebench-generator` on one core of a server processor (AMD Zen 5) under other load:
//!
//! | | time | edges a second |
//! |---|---|---|
//! | generate/long | 185 ms | 54 M |
//! | generate/wide | 180 ms | 56 M |
//! | of that, plan/long | 27 ms | |
//! | of that, plan/wide | 14 ms | |
//! | sha256/long | 128 ms | 78 M |
//!
//! With the system's allocator, which asks the kernel for fresh pages every time, generate took 300 ms, 33 M edges a second:
//! 120 ms of it the kernel's, for 300 MB in pages of 4 KiB.
//!
//! What bounds it, by a profile of generate/wide: drawing pairs and sorting them 35 %, the transposition to out-edges 30 %, the
//! ops' weights 10 %, colocation 8 %, the rest checks and copies of whole columns. There are 1.4 draws of 64 bits an edge: one
//! for each edge, and for each op one for its kinds and three quarters for its weights. Counted in the code, about 40 bytes an
//! edge and 90 an op pass through memory; random accesses, those of colocation groups excepted, stay within 1 MiB.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use placebench_base::processor::thread_time;
use placebench_generator::{LeveledParams, LeveledPlan, generate_leveled, graph_sha256};

/// Gives freed memory out again: with the system's allocator a third of the time is the kernel's, handing out pages.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn timed<T>(iterations: u64, work: impl Fn() -> T) -> Duration {
    let mut total = Duration::ZERO;
    for _ in 0..iterations {
        let before = thread_time();
        let result = black_box(work());
        total += thread_time() - before;
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
