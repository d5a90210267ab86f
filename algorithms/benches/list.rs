//! The named list schedulers beside HEFT.

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
        ("10k on 50", Leveled::connected(10_000, 100), 50),
        ("laich1 36k on 100", Leveled::LAICH_1, 100),
        ("leveled 100k on 50", Leveled::connected(100_000, 500), 50),
        ("chain of 1M on 100", chain, 100),
    ];
    for (name, shape, devices) in cases {
        // Made only if a benchmark of this shape is chosen.
        let instance: LazyCell<Instance, _> = LazyCell::new(|| shape.instance(devices, 1));
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10).sampling_mode(SamplingMode::Flat);
        group.warm_up_time(Duration::from_millis(1)).measurement_time(Duration::from_secs(1));
        for spec in PLACERS {
            let placer = registry::placer(&spec.parse().expect("a spec")).expect("a placer");
            group.bench_function(spec, |bencher| {
                let context = PlaceContext::default();
                bencher.iter(|| black_box(placer.place(&instance, &context).expect("unlimited memory")));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, list);
criterion_main!(benches);
