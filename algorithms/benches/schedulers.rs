//! A whole simulated run under each scheduler, where ready queues are long.

mod instances;
mod simulation;

use std::time::Duration;

use criterion::{Criterion, SamplingMode, criterion_group, criterion_main};
use placebench_algorithms::{PlaceContext, registry};
use placebench_datasets::PlacedGraph;

use instances::Leveled;

fn schedulers(criterion: &mut Criterion) {
    let cases = [("laich1 36k", Leveled::LAICH_1), ("leveled 100k", Leveled::connected(100_000, 500))];
    for (name, shape) in cases {
        for devices in [7, 100] {
            let mut group = criterion.benchmark_group(format!("{name} on {devices}"));
            group.sample_size(10).sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(3));
            let instance = shape.instance(devices, 1);
            for placer in ["hashing", "heft"] {
                let found = registry::placer(&placer.parse().expect("a spec")).expect("a placer");
                let decision = found.place(&instance, &PlaceContext::default()).expect("unlimited memory");
                let placed = PlacedGraph::new(&instance, &decision.placement);
                for entry in registry::SCHEDULERS.iter() {
                    let scheduler = registry::scheduler(&entry.name.parse().expect("a spec")).expect("a scheduler");
                    if scheduler.needs_plan() && decision.plan.is_none() {
                        continue;
                    }
                    group.bench_function(format!("{placer} {}", entry.name), |bencher| {
                        bencher.iter(|| simulation::makespan(&placed, &*scheduler, decision.plan.as_ref()));
                    });
                }
            }
            group.finish();
        }
    }
}

criterion_group!(benches, schedulers);
criterion_main!(benches);
