//! Time of the streaming partitioners on a recursive-matrix graph, from memory and from files.
//!
//! `cargo bench -p placebench-algorithms --bench streaming`. The measured figures are in `docs/STREAMING.md`.

#[path = "../tests/support/rmat.rs"]
mod rmat;

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use placebench_algorithms::Algorithm;
use placebench_algorithms::partition::registry::edge_partitioner;
use placebench_algorithms::partition::streaming::{Fennel, Ldg};
use placebench_algorithms::partition::{PartitionRequest, Partitioner};
use placebench_datasets::UndirectedGraph;
use placebench_datasets::stream::{EdgeFile, EdgeList, EdgeStream, GraphRows, RowFile, write_edges, write_rows};

const SCALE: u32 = 18;
const EDGES: usize = 2_100_000;

fn graph() -> UndirectedGraph {
    let edges = rmat::rmat_relabelled(SCALE, EDGES, 1);
    let weighted = edges.iter().map(|&(a, b)| (a, b, 1));
    UndirectedGraph::from_edges(1 << SCALE, weighted, None).expect("ids are below the number of vertices")
}

fn vertices(criterion: &mut Criterion) {
    let graph = graph();
    let folder = tempfile::TempDir::new().expect("a folder for a file");
    let path = folder.path().join("rows");
    write_rows(&path, &mut GraphRows::natural(&graph)).expect("room for 18 MB");
    let mut file = RowFile::open(&path).expect("a file of rows");
    let mut group = criterion.benchmark_group("vertex streams");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(5));
    group.throughput(Throughput::Elements(EDGES as u64));
    let (ldg, fennel) = (Ldg::with_defaults(), Fennel::with_defaults());
    for blocks in [8, 32] {
        let request = PartitionRequest::new(blocks, 0.03, 1);
        group.bench_function(format!("ldg k={blocks}"), |b| b.iter(|| black_box(ldg.partition(&graph, &request))));
        group
            .bench_function(format!("fennel k={blocks}"), |b| b.iter(|| black_box(fennel.partition(&graph, &request))));
        group.bench_function(format!("ldg k={blocks} from a file"), |b| {
            b.iter(|| black_box(ldg.partition_stream(&mut file, &request)))
        });
        group.bench_function(format!("fennel k={blocks} from a file"), |b| {
            b.iter(|| black_box(fennel.partition_stream(&mut file, &request)))
        });
    }
    group.finish();
}

fn edges(criterion: &mut Criterion) {
    let edges = rmat::shuffled(rmat::rmat_relabelled(SCALE, EDGES, 1), 2);
    let folder = tempfile::TempDir::new().expect("a folder for a file");
    let path = folder.path().join("edges");
    write_edges(&path, 1 << SCALE, edges.iter().copied()).expect("room for 17 MB");
    let mut file = EdgeFile::open(&path).expect("a file of edges");
    let mut list = EdgeList::new(1 << SCALE, &edges).expect("ids are below the number of vertices");
    let request = PartitionRequest::new(32, 0.03, 1);
    let mut group = criterion.benchmark_group("edge streams, k=32");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).measurement_time(Duration::from_secs(5));
    group.throughput(Throughput::Elements(EDGES as u64));
    for spec in ["hdrf", "dbh", "greedy", "adwise(window=1)", "adwise(budget=4)"] {
        let partitioner = spec.parse().and_then(|spec| edge_partitioner(&spec)).expect("a name of the registry");
        let run =
            |stream: &mut dyn EdgeStream| black_box(partitioner.partition_edges(stream, &request, &mut |_| Ok(())));
        group.bench_function(spec, |b| b.iter(|| run(&mut list)));
        group.bench_function(format!("{spec} from a file"), |b| b.iter(|| run(&mut file)));
    }
    group.finish();
}

criterion_group!(benches, vertices, edges);
criterion_main!(benches);
