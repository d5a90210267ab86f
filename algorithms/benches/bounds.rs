//! All lower bounds, with few device classes and with the most.

mod instances;

use std::time::Duration;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use placebench_algorithms::bounds;

use instances::Leveled;

fn lower_bounds(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bounds of 1M ops");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(5));
    for devices in [8, 100] {
        let instance = Leveled::connected(1_000_000, 2000).instance(devices, 1);
        group.bench_function(format!("{devices} devices"), |bencher| bencher.iter(|| bounds::all(&instance)));
    }
    group.finish();
}

criterion_group!(benches, lower_bounds);
criterion_main!(benches);
