//! Graph CSV: what is written is read back, and files written by hand mean what they say.

use std::fs;

use placebench_datasets::format::{parse_csv, read_csv, write_csv};
use placebench_datasets::{GraphBuilder, KindSet, OpId, OpSpec};
use proptest::prelude::*;

#[test]
fn a_file_written_by_hand_means_what_it_says() {
    let text = "id, inputs, ops, tensor_bytes, colocated\n0,,30,8; 16,2\n1, 0:1 ; 0,50,4,\n2,\"1;^0\",10,,\n";
    let graph = parse_csv("g.csv", text.as_bytes()).unwrap();
    let mut builder = GraphBuilder::default();
    let a = builder.add_op(OpSpec::cost(30.0), &[8, 16]);
    let b = builder.add_op(OpSpec::cost(50.0), &[4]);
    let c = builder.add_op(OpSpec::cost(10.0), &[]);
    builder.add_edge(a, 1, b).unwrap();
    builder.add_edge(a, 0, b).unwrap();
    builder.add_edge(b, 0, c).unwrap();
    builder.add_control_edge(a, c).unwrap();
    builder.colocate(a, c).unwrap();
    assert_eq!(graph, builder.build().unwrap());
    assert_eq!(graph.kinds(OpId(0)), KindSet::ALL);
}

#[test]
fn a_written_file_has_only_the_columns_that_the_graph_needs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.csv");
    let mut builder = GraphBuilder::default();
    let a = builder.add_op(OpSpec { times: &[("gpu", 2.5e-6)], ..OpSpec::cost(1e20) }, &[8]);
    let b = builder.add_op(OpSpec::cost(0.5), &[]);
    builder.add_edge(a, 0, b).unwrap();
    write_csv(&path, &builder.build().unwrap()).unwrap();
    assert_eq!(
        fs::read_to_string(path).unwrap(),
        "id,inputs,colocated,tensor_bytes,ops,memory_bytes,kinds,gpu_seconds\n0,,,8,1e20,0,ALL,2.5e-6\n1,0,,,0.5,0,ALL,\n"
    );
}

#[test]
fn a_label_that_csv_cannot_say_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g.csv");
    let mut builder = GraphBuilder::default();
    builder.add_op(OpSpec { layer: Some(""), ..OpSpec::cost(1.0) }, &[]);
    let error = write_csv(&path, &builder.build().unwrap()).unwrap_err();
    assert_eq!(error.message(), "an op has the empty text as its layer, which CSV cannot tell from none");
    assert!(!path.exists());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_graph_is_read_back_equal(graph in crate::common::graph()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("g.csv");
        write_csv(&path, &graph).unwrap();
        prop_assert_eq!(read_csv(&path).unwrap(), graph);
    }
}
