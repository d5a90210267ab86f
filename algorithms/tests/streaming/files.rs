//! Streams from files give what streams from memory give.

use placebench_algorithms::Algorithm;
use placebench_algorithms::partition::PartitionRequest;
use placebench_algorithms::partition::streaming::{Fennel, Ldg, StreamError};
use placebench_datasets::UndirectedGraph;
use placebench_datasets::format::FormatError;
use placebench_datasets::stream::{EdgeFile, GraphRows, RowFile, TextEdges, write_edges, write_rows, write_text_edges};
use tempfile::TempDir;

use super::{cut, cut_list, of_edges, of_vertices};
use crate::support::rmat::{rmat, rmat_distinct};

const VERTICES: u32 = 1 << 12;

#[test]
fn a_file_of_rows_gives_what_the_graph_gives_in_that_order() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("rows");
    let weighted = rmat_distinct(12, 30_000, 1).into_iter().map(|(a, b)| (a, b, u64::from(1 + (a ^ b) % 3)));
    let graph = UndirectedGraph::from_edges(
        VERTICES as usize,
        weighted,
        Some((0..u64::from(VERTICES)).map(|v| v % 4).collect()),
    );
    let graph = graph.unwrap();
    let request = PartitionRequest::new(6, 0.1, 4);
    for passes in [1, 3] {
        write_rows(&path, &mut GraphRows::natural(&graph)).unwrap();
        let mut file = RowFile::open(&path).unwrap();
        let ldg = Ldg { passes, ..Ldg::with_defaults() }.partition_stream(&mut file, &request).unwrap();
        assert!(ldg == of_vertices(&format!("ldg(passes={passes})")).partition(&graph, &request).unwrap());
        let fennel = Fennel { passes, ..Fennel::with_defaults() }.partition_stream(&mut file, &request).unwrap();
        assert!(fennel == of_vertices(&format!("fennel(passes={passes})")).partition(&graph, &request).unwrap());
    }
    let order: Vec<u32> = (0..VERTICES).rev().collect();
    write_rows(&path, &mut GraphRows::ordered(&graph, &order).unwrap()).unwrap();
    let backwards = Ldg::with_defaults().partition_stream(&mut RowFile::open(&path).unwrap(), &request).unwrap();
    let mut rows = GraphRows::ordered(&graph, &order).unwrap();
    assert!(backwards == Ldg::with_defaults().partition_stream(&mut rows, &request).unwrap());
}

#[test]
fn files_of_edges_give_what_the_list_gives() {
    let folder = TempDir::new().unwrap();
    let edges = rmat_distinct(12, 100_000, 2);
    let (binary, text) = (folder.path().join("edges"), folder.path().join("edges.txt"));
    write_edges(&binary, VERTICES, edges.iter().copied()).unwrap();
    write_text_edges(&text, edges.iter().copied()).unwrap();
    let request = PartitionRequest::new(5, 0.1, 4);
    for spec in ["hdrf", "dbh", "greedy(degrees=known)", "adwise(budget=2)", "adwise(budget=2,spotlight=3)"] {
        let (assigned, expected) = cut_list(spec, VERTICES, &edges, &request);
        for (from, found) in [
            cut(spec, &mut EdgeFile::open(&binary).unwrap(), &request),
            cut(spec, &mut TextEdges::open(&text, Some(VERTICES)).unwrap(), &request),
        ] {
            assert!(from == assigned && found.replicas == expected.replicas, "{spec}");
        }
    }
}

#[test]
fn what_is_kept_depends_on_vertices_and_window_not_on_edges() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("edges");
    let memory = |spec: &str, edges: usize, blocks: u32| {
        write_edges(&path, VERTICES, rmat(12, 3).take(edges)).unwrap();
        cut(spec, &mut EdgeFile::open(&path).unwrap(), &PartitionRequest::new(blocks, 0.1, 0)).1.memory_bytes
    };
    let stream = 1 << 20;
    let (n, k) = (u64::from(VERTICES), 100);
    for spec in ["hdrf", "dbh", "greedy(degrees=known)"] {
        let small = memory(spec, 100_000, 100);
        assert_eq!(small, memory(spec, 300_000, 100), "{spec}");
        assert!(small <= stream + n * (8 * 2 + 4) + 60 * k, "{spec}: {small} bytes");
    }
    let small = memory("adwise(window=64)", 100_000, 100);
    assert_eq!(small, memory("adwise(window=64)", 300_000, 100));
    // Lists of edges double when they grow.
    assert!(small <= stream * 3 / 2 + n * (8 * 2 + 12) + 80 * k + 2 * 80 * 64, "{small} bytes");
}

#[test]
fn a_sink_that_fails_and_a_file_that_breaks_end_the_run_with_their_error() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("edges");
    write_edges(&path, 9, [(0, 1), (1, 2), (2, 8)]).unwrap();
    for spec in ["hdrf", "adwise"] {
        let mut file = EdgeFile::open(&path).unwrap();
        let full = of_edges(spec).partition_edges(&mut file, &PartitionRequest::new(2, 1.0, 0), &mut |_| {
            Err(FormatError::file("blocks", "the disk is full"))
        });
        assert_eq!(full.unwrap_err().to_string(), "blocks: the disk is full");
        let bare = folder.path().join("bare");
        std::fs::write(&bare, [7; 16]).unwrap();
        let mut broken = EdgeFile::open_bare(&bare, 9).unwrap();
        let broken = of_edges(spec).partition_edges(&mut broken, &PartitionRequest::new(2, 1.0, 0), &mut |_| Ok(()));
        assert!(matches!(broken, Err(StreamError::File(error)) if error.message().contains("only 9 vertices")));
    }
}
