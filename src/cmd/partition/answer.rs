//! What `partition` answers for programs.

use placebench::algorithms::partition::{Partition, PartitionRequest, quality};
use placebench::base::process::peak_rss_bytes;
use serde::Serialize;

use super::input::{Input, Seen};

/// A partition in figures; what does not apply is null.
#[derive(Default, Serialize)]
pub(super) struct Answer {
    pub(super) graph: String,
    pub(super) nodes: u64,
    pub(super) edges: u64,
    pub(super) nets: Option<usize>,
    pub(super) pins: Option<usize>,
    /// None of a partition that was read.
    pub(super) algorithm: Option<String>,
    pub(super) blocks: u32,
    pub(super) epsilon: f64,
    pub(super) seed: u64,
    pub(super) cut: Option<u64>,
    pub(super) total_edge_weight: Option<u64>,
    pub(super) volume: Option<u64>,
    pub(super) traffic: Option<u64>,
    pub(super) connectivity: Option<u64>,
    pub(super) cut_nets: Option<u64>,
    /// A cut net once for each block that it is in.
    pub(super) external_degrees: Option<u64>,
    pub(super) acyclic: Option<bool>,
    pub(super) replication_factor: Option<f64>,
    pub(super) least_block_weight: Option<u64>,
    pub(super) largest_block_weight: Option<u64>,
    pub(super) imbalance: Option<f64>,
    pub(super) capacity: Option<u64>,
    pub(super) feasible: Option<bool>,
    pub(super) least_block_edges: Option<u64>,
    pub(super) largest_block_edges: Option<u64>,
    pub(super) edge_imbalance: Option<f64>,
    pub(super) replica_imbalance: Option<f64>,
    pub(super) read_seconds: Option<f64>,
    pub(super) seconds: Option<f64>,
    pub(super) processor_seconds: Option<f64>,
    pub(super) peak_rss_bytes: Option<u64>,
    pub(super) files: Vec<String>,
}

impl Answer {
    /// A partition of the vertices of a graph in memory.
    pub(super) fn of(input: &Input, partition: &Partition, request: &PartitionRequest) -> Self {
        let graph = input.graph();
        let weights = quality::block_weights(graph, partition);
        let (least, largest) = (weights.iter().min().copied(), weights.iter().max().copied());
        let capacity = request.capacity(0, graph.total_vertex_weight());
        let connectivity = input.nets.as_ref().map(|nets| quality::connectivity(nets, partition));
        let of_hypergraph = input.nets.as_ref().filter(|_| matches!(input.seen, Seen::Undirected(_)));
        let of_dataflow = match &input.seen {
            Seen::Dataflow(dataflow, view) => Some((dataflow, view)),
            Seen::Undirected(_) => None,
        };
        Self {
            graph: input.name.clone(),
            nodes: graph.vertex_count() as u64,
            edges: graph.edge_count() as u64,
            nets: of_hypergraph.map(|nets| nets.net_count()),
            pins: of_hypergraph.map(|nets| nets.pin_count()),
            blocks: partition.blocks,
            epsilon: request.epsilon,
            seed: request.seed,
            cut: Some(quality::edge_cut(graph, partition)),
            total_edge_weight: Some(graph.total_edge_weight()),
            volume: Some(quality::communication_volume(graph, partition)),
            traffic: connectivity.filter(|_| of_dataflow.is_some()),
            connectivity: connectivity.filter(|_| of_dataflow.is_none()),
            cut_nets: of_hypergraph.map(|nets| quality::cut_nets(nets, partition)),
            external_degrees: of_hypergraph
                .zip(connectivity)
                .map(|(nets, connectivity)| connectivity.saturating_add(quality::cut_nets(nets, partition))),
            acyclic: of_dataflow.map(|(dataflow, view)| {
                quality::is_acyclic(dataflow, &view.blocks_of_ops(&partition.block_of), partition.blocks)
            }),
            least_block_weight: least,
            largest_block_weight: largest,
            imbalance: Some(quality::imbalance(graph, partition)),
            capacity: Some(capacity),
            feasible: Some(largest.is_none_or(|largest| largest <= capacity)),
            peak_rss_bytes: peak_rss_bytes(),
            ..Self::default()
        }
    }
}
