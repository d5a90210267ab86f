//! The native folder: what is written is read back, and what is damaged is refused in one line.

use std::fs;
use std::path::Path;

use placebench_datasets::format::{GraphHeader, NativeBytes, Units, read_native, write_native};
use placebench_datasets::{DataflowGraph, GraphBuilder, Kind, KindSet, Kinds, OpSpec};
use proptest::prelude::*;

const FILES: [&str; 4] = ["graph.toml", "ops.parquet", "tensors.parquet", "edges.parquet"];

fn header() -> GraphHeader {
    GraphHeader {
        name: "tiny".to_owned(),
        title: "A \"quoted\"\ntitle".to_owned(),
        licence: "MIT".to_owned(),
        kinds: Kinds::AcceleratorsOnly,
        units: Units { time: "EU".to_owned(), ..Units::default() },
        provenance: toml::toml! {
            batch = 32
            source = "by hand"
            sizes = [1, 2]
            [trace]
            runs = 3
        },
    }
}

fn tiny() -> DataflowGraph {
    let mut builder = GraphBuilder::default();
    let named = |name, ops| OpSpec { name: Some(name), ..OpSpec::cost(ops) };
    let a = builder.add_op(OpSpec { kinds: KindSet::only(Kind::Gpu), ..named("a", 3.0) }, &[8, 16]);
    let b = builder.add_op(OpSpec { times: &[("cpu", 0.5)], ..named("b", 4.0) }, &[1]);
    let c = builder.add_op(named("c", 5.0), &[]);
    builder.add_edge(a, 1, c).unwrap();
    builder.add_edge(b, 0, c).unwrap();
    builder.add_edge(a, 0, c).unwrap();
    builder.add_control_edge(a, b).unwrap();
    builder.colocate(a, c).unwrap();
    builder.build().unwrap()
}

fn bytes(folder: &Path) -> Vec<Vec<u8>> {
    FILES.map(|file| fs::read(folder.join(file)).unwrap()).to_vec()
}

fn embedded(files: &[Vec<u8>]) -> NativeBytes<'_> {
    NativeBytes { header: &files[0], ops: &files[1], tensors: &files[2], edges: &files[3] }
}

#[test]
fn a_graph_and_its_header_are_read_back_equal_from_disk_and_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny");
    write_native(&path, &header(), &tiny()).unwrap();
    assert_eq!(read_native(&path).unwrap(), (header(), tiny()));
    let files = bytes(&path);
    assert_eq!(embedded(&files).read("tiny").unwrap(), (header(), tiny()));
    assert_eq!(embedded(&files).read_header("tiny").unwrap(), header());
}

#[test]
fn the_same_graph_gives_the_same_bytes_and_replaces_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny");
    let other = GraphBuilder::default().build().unwrap();
    let mut seen = Vec::new();
    for graph in [&tiny(), &other, &tiny()] {
        write_native(&path, &header(), graph).unwrap();
        seen.push(bytes(&path));
    }
    assert_eq!(seen[0], seen[2]);
    assert_ne!(seen[0], seen[1]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_graph_is_read_back_equal(graph in crate::common::graph(), name in "\\PC{0,8}") {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g");
        write_native(&path, &GraphHeader::named(&*name), &graph).unwrap();
        prop_assert_eq!(read_native(&path).unwrap(), (GraphHeader::named(name), graph));
    }
}
