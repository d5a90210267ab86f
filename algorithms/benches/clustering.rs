//! How long B's clustering placers take for their 1000 trials.

mod instances;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use placebench_algorithms::{Algorithm, PlaceContext, Placer, placers};
use placebench_datasets::Instance;

use instances::Leveled;

fn clustering(criterion: &mut Criterion) {
    let dense = Leveled { levels: 500, width: 54, connected: true, further_parents: 3.0 };
    for (name, shape) in [("laich1", Leveled::LAICH_1), ("laich6", dense)] {
        let instance = Instance::new(shape.graph(1), instances::cluster(100, 1)).expect("all kinds are there");
        let contenders: [(&str, Box<dyn Placer>); 3] = [
            ("cluster_load", Box::new(placers::ClusterLoad::with_defaults())),
            ("cluster_comm", Box::new(placers::ClusterComm::with_defaults())),
            ("cluster_cap", Box::new(placers::ClusterCap::with_defaults())),
        ];
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10);
        for (name, placer) in &contenders {
            group.bench_function(*name, |bencher| {
                bencher.iter(|| {
                    black_box(placer.place(&instance, &PlaceContext::default()).expect("memory is unlimited"))
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, clustering);
criterion_main!(benches);
