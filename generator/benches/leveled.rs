//! Speed of the leveled generator.
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use placebench_generator::{LeveledParams, LeveledPlan, generate_leveled};

fn leveled(c: &mut Criterion) {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let laich6 = LeveledParams::preset("laich6").unwrap();
    let params = laich6.scaled(10_000_000.0 / 107_144.0);
    let mut wide = params.clone();
    wide.levels = laich6.levels;
    wide.nodes_per_level = (930, 9300);
    let mut group = c.benchmark_group("leveled");
    group.sample_size(10);
    for (name, params) in [("long", &params), ("wide", &wide)] {
        let edges = LeveledPlan::new(params, 1).unwrap().edge_count();
        group.throughput(Throughput::Elements(edges));
        group.bench_function(format!("plan/{name}"), |b| b.iter(|| black_box(LeveledPlan::new(params, 1).unwrap())));
        group.bench_function(format!("generate/{name}"), |b| {
            one.install(|| b.iter(|| black_box(generate_leveled(params, 1).unwrap())))
        });
    }
    group.finish();
}

criterion_group!(benches, leveled);
criterion_main!(benches);
