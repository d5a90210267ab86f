//! Random instances with placements.

use placebench_datasets::{Cluster, DeviceId, GraphBuilder, Instance, Kind, Link, OpId, OpSpec, Placement};
use proptest::prelude::*;

/// Up to 24 ops with up to 3 outputs each, on up to 4 GPUs; some edges are parallel or control edges, some ops and links take
/// no time, and in half of the clusters sends cost something.
pub(crate) fn placed_instances() -> impl Strategy<Value = (Instance, Placement)> {
    let op = (prop::sample::select(vec![0.0, 1.0, 2.0, 5.0]), prop::collection::vec(0_u64..2000, 0..3), 0_u64..500);
    let ops = prop::collection::vec(op, 1..24);
    let edges = prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0_usize..4), 0..60);
    let places = prop::collection::vec(0_u32..4, 24);
    (ops, edges, 1_u32..=4, places, any::<bool>()).prop_map(|(ops, edges, devices, places, sends_cost)| {
        let mut builder = GraphBuilder::default();
        for (cost, outputs, memory_bytes) in &ops {
            builder.add_op(OpSpec { memory_bytes: *memory_bytes, ..OpSpec::cost(*cost) }, outputs);
        }
        for (a, b, port) in edges {
            let (a, b) = (a.index(ops.len()), b.index(ops.len()));
            if a < b {
                let (producer, consumer) = (OpId::new(a), OpId::new(b));
                let edge = if port < ops[a].1.len() {
                    builder.add_edge(producer, port, consumer)
                } else {
                    builder.add_control_edge(producer, consumer)
                };
                edge.expect("ports exist");
            }
        }
        let link = Link { rate: 1000.0, latency: 0.5 };
        let cluster = Cluster::uniform(devices as usize, Kind::Gpu, 1.0, link).expect("a cluster");
        let cluster = cluster.with_send_ops(if sends_cost { 0.25 } else { 0.0 }).expect("a cluster");
        let placement = (0..ops.len()).map(|op| DeviceId(places[op] % devices)).collect();
        (Instance::new(builder.build().expect("a graph"), cluster).expect("an instance"), Placement::new(placement))
    })
}
