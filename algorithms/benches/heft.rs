//! HEFT on graphs of up to a million ops, and on shapes that punish a slow search for gaps.

mod instances;

use std::time::Duration;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use placebench_algorithms::{PlaceContext, registry};
use placebench_datasets::Instance;

use instances::{Leveled, comb};

fn heft(criterion: &mut Criterion) {
    let cases: [(&str, Instance); 5] = [
        ("laich1 36k on 100", Leveled::LAICH_1.instance(100, 1)),
        ("leveled 100k on 50", Leveled::connected(100_000, 500).instance(50, 1)),
        ("leveled 1M on 100", Leveled::connected(1_000_000, 2000).instance(100, 1)),
        (
            "chain of 1M",
            Leveled { levels: 1_000_000, width: 1, connected: true, further_parents: 0.0 }.instance(100, 1),
        ),
        ("1M around gaps too short", comb(250_000, 2)),
    ];
    let mut group = criterion.benchmark_group("heft");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(5));
    for (name, instance) in &cases {
        eprintln!("{name}: {} ops, {} edges", instance.graph().op_count(), instance.graph().edge_count());
        let placer = registry::placer(&"heft".parse().expect("a spec")).expect("a placer");
        group.bench_function(*name, |bencher| {
            bencher.iter(|| placer.place(instance, &PlaceContext::default()).expect("unlimited memory"));
        });
    }
    group.finish();
}

criterion_group!(benches, heft);
criterion_main!(benches);
