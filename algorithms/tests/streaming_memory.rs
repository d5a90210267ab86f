//! The peak of the whole process while it partitions a file that is larger. One test, since there is one peak.

#[path = "support/rmat.rs"]
mod rmat;

use placebench_algorithms::Algorithm;
use placebench_algorithms::partition::PartitionRequest;
use placebench_algorithms::partition::registry::edge_partitioner;
use placebench_algorithms::partition::streaming::{Fennel, Ldg};
use placebench_base::process::peak_rss_bytes;
use placebench_datasets::stream::{EdgeFile, RowFile, write_edges, write_rows_from_edges};

#[test]
fn a_million_edges_on_disk_are_partitioned_in_less_memory_than_they_take() {
    let folder = tempfile::TempDir::new().unwrap();
    let (edges, rows) = (folder.path().join("edges"), folder.path().join("rows"));
    let (scale, count) = (14, 1_000_000);
    write_edges(&edges, 1 << scale, rmat::rmat(scale, 1).take(count)).unwrap();
    let before = peak_rss_bytes();
    write_rows_from_edges(&rows, &mut EdgeFile::open(&edges).unwrap(), 1 << 20).unwrap();
    let request = PartitionRequest::new(32, 0.03, 1);
    let mut stream = RowFile::open(&rows).unwrap();
    assert_eq!(Ldg::with_defaults().partition_stream(&mut stream, &request).unwrap().block_of.len(), 1 << scale);
    assert_eq!(Fennel::with_defaults().partition_stream(&mut stream, &request).unwrap().block_of.len(), 1 << scale);
    for spec in ["hdrf", "dbh", "greedy", "adwise(budget=2)"] {
        let partitioner = edge_partitioner(&spec.parse().unwrap()).unwrap();
        let mut seen = 0;
        let mut sink = |_| {
            seen += 1;
            Ok(())
        };
        let cut = partitioner.partition_edges(&mut EdgeFile::open(&edges).unwrap(), &request, &mut sink).unwrap();
        assert_eq!((seen, cut.edges_of_block.iter().sum::<u64>()), (count, count as u64));
        assert!(cut.memory_bytes < 3 << 20, "{spec}: {} bytes", cut.memory_bytes);
    }
    if let (Some(before), Some(peak)) = (before, peak_rss_bytes()) {
        let grown = peak - before;
        // 8 MB of edges; code that runs for the first time counts too.
        assert!(grown < 6 << 20, "the peak grew by {grown} bytes");
    }
}
