//! The named list schedulers beside HEFT.
//!
//! Run with `cargo bench -p placebench-algorithms --bench list`. These are CPU seconds of the same calls on one thread of a
//! shared x86-64 server (release build, best of three, the chain once), since other load would have blurred wall time; in brackets the
//! ratio to HEFT:
//!
//! | placer | 10 k ops, 45 k edges, 50 devices | `laich1`: 36 k, 16 k, 100 | 100 k, 448 k, 50 | chain of 1 M, 100 |
//! |---|---|---|---|---|
//! | heft | 0.010 | 0.060 | 0.109 | 0.26 |
//! | cpop | 0.011 (1.1) | 0.106 (1.8) | 0.149 (1.4) | 0.37 |
//! | peft | 0.015 (1.6) | 0.103 (1.7) | 0.218 (2.0) | 1.33 |
//! | mcp | 0.006 (0.6) | 0.052 (0.9) | 0.118 (1.1) | 0.21 |
//! | etf | 0.036 (3.8) | 1.140 (19.1) | 0.378 (3.5) | 2.73 |
//! | dls | 0.045 (4.7) | 0.949 (15.9) | 0.607 (5.6) | 2.95 |
//! | lookahead | 0.152 (15.9) | 0.194 (3.2) | 1.606 (14.7) | 2.15 |
//! | m_topo | 0.000 | 0.004 (0.1) | 0.020 (0.2) | 0.15 |
//! | m_etf | 0.034 (3.6) | 0.213 (3.6) | 0.449 (4.1) | 2.68 |
//! | m_sct | 0.328 (34.2) | 0.531 (8.9) | 2.486 (22.8) | 7.34 |

mod instances;

use std::cell::LazyCell;
use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use placebench_algorithms::{PlaceContext, registry};
use placebench_datasets::Instance;

use instances::Leveled;

const PLACERS: [&str; 10] = ["heft", "cpop", "peft", "mcp", "etf", "dls", "lookahead", "m_topo", "m_etf", "m_sct"];

fn list(criterion: &mut Criterion) {
    let chain = Leveled { levels: 1_000_000, width: 1, connected: true, further_parents: 0.0 };
    let cases: [(&str, Leveled, usize); 4] = [
        ("leveled 10k on 50", Leveled::connected(10_000, 100), 50),
        ("laich1 36k on 100", Leveled::LAICH_1, 100),
        ("leveled 100k on 50", Leveled::connected(100_000, 500), 50),
        ("chain of 1M on 100", chain, 100),
    ];
    for (name, shape, devices) in cases {
        bench(criterion, name, || shape.instance(devices, 1), &PLACERS);
    }
    // The last op has a million inputs, which lookahead must not add up anew for each device of each of them.
    bench(criterion, "join of 1M on 16", || instances::join(1_000_000, 16, 1), &["lookahead"]);
}

fn bench(criterion: &mut Criterion, name: &str, instance: impl FnOnce() -> Instance, placers: &[&str]) {
    // Made only if a benchmark of this shape is chosen.
    let instance = LazyCell::new(instance);
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(1)).measurement_time(Duration::from_secs(1));
    for &spec in placers {
        let placer = registry::placer(&spec.parse().expect("a spec")).expect("a placer");
        group.bench_function(spec, |bencher| {
            let context = PlaceContext::default();
            bencher.iter(|| black_box(placer.place(&instance, &context).expect("unlimited memory")));
        });
    }
    group.finish();
}

criterion_group!(benches, list);
criterion_main!(benches);
