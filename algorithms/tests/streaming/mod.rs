//! Streaming partitioners: laws, definitions written a second time, streams from files.

mod adwise;
mod definitions;
mod files;
mod laws;

use placebench_algorithms::partition::registry::{self, edge_partitioner};
use placebench_algorithms::partition::streaming::{AssignedEdge, EdgePartitioner, VertexCut};
use placebench_algorithms::partition::{PartitionRequest, Partitioner};
use placebench_datasets::stream::{EdgeList, EdgeStream};

fn of_edges(spec: &str) -> Box<dyn EdgePartitioner> {
    edge_partitioner(&spec.parse().unwrap()).unwrap()
}

fn of_vertices(spec: &str) -> Box<dyn Partitioner> {
    registry::partitioner(&spec.parse().unwrap()).unwrap()
}

/// All edges in the order of their assignment, and the cut.
fn cut(spec: &str, stream: &mut dyn EdgeStream, request: &PartitionRequest) -> (Vec<AssignedEdge>, VertexCut) {
    let mut assigned = Vec::new();
    let mut sink = |edge| {
        assigned.push(edge);
        Ok(())
    };
    let cut = of_edges(spec).partition_edges(stream, request, &mut sink).unwrap();
    (assigned, cut)
}

fn cut_list(
    spec: &str,
    vertices: u32,
    edges: &[(u32, u32)],
    request: &PartitionRequest,
) -> (Vec<AssignedEdge>, VertexCut) {
    cut(spec, &mut EdgeList::new(vertices, edges).unwrap(), request)
}
