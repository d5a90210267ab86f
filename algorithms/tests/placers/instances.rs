//! Small random instances that have everything: kinds, groups, layers, several tensors an op, parallel and control edges, full
//! devices, equal speeds, ops that cost nothing, measured times, ids that are no topological order.
//!
//! Sizes and costs are small integers, rates powers of two and measured times quarters, so that every sum is exact and a
//! literal implementation may add in another order.

use placebench_datasets::{Cluster, Device, GraphBuilder, Instance, Kind, KindSet, Link, OpId, OpSpec};
use proptest::collection::vec;
use proptest::prelude::*;

#[derive(Clone, Debug)]
struct RawOp {
    ops: u32,
    memory_bytes: u64,
    kinds: u8,
    outputs: Vec<u64>,
    gpu_quarters: Option<u32>,
    layer: Option<usize>,
}

const LAYERS: [&str; 3] = ["embedding", "lstm", "softmax"];

#[derive(Clone, Debug)]
struct RawGraph {
    ops: Vec<RawOp>,
    /// One end, the other, the producer's port; a port beyond the last makes a control edge.
    edges: Vec<(u32, u32, usize)>,
    colocated: Vec<(u32, u32)>,
    /// Whether edges lead from higher to lower ids.
    falling: bool,
}

#[derive(Clone, Debug)]
struct RawCluster {
    /// Kind, speed, memory.
    devices: Vec<(Kind, f64, Option<u64>)>,
    rates: Vec<f64>,
}

fn raw_op() -> impl Strategy<Value = RawOp> {
    let kinds = prop_oneof![5 => Just(7u8), 1 => 1u8..8];
    let outputs = vec(prop_oneof![1 => Just(0u64), 5 => 1u64..12], 0..3);
    let gpu_quarters = proptest::option::weighted(0.1, 0u32..20);
    let layer = proptest::option::weighted(0.7, 0..LAYERS.len());
    (0u32..7, 0u64..6, kinds, outputs, gpu_quarters, layer).prop_map(
        |(ops, memory_bytes, kinds, outputs, gpu_quarters, layer)| RawOp {
            ops,
            memory_bytes,
            kinds,
            outputs,
            gpu_quarters,
            layer,
        },
    )
}

fn raw_graph(most_ops: usize) -> impl Strategy<Value = RawGraph> {
    vec(raw_op(), 1..=most_ops).prop_flat_map(|ops| {
        let n = ops.len() as u32;
        let edges = vec((0..n, 0..n, 0usize..4), 0..(3 * n as usize));
        let colocated = vec((0..n, 0..n), 0..4);
        (Just(ops), edges, colocated, any::<bool>()).prop_map(|(ops, edges, colocated, falling)| RawGraph {
            ops,
            edges,
            colocated,
            falling,
        })
    })
}

fn raw_cluster() -> impl Strategy<Value = RawCluster> {
    let kind = prop_oneof![3 => Just(Kind::Cpu), 2 => Just(Kind::Gpu), 1 => Just(Kind::Tpu)];
    let speed = prop_oneof![Just(1.0), Just(2.0), Just(2.0), Just(3.0), Just(5.0)];
    let device = (kind, speed, proptest::option::weighted(0.5, 0u64..120));
    let rate = prop_oneof![Just(1.0), Just(2.0), Just(4.0), Just(8.0)];
    (vec(device, 1..5), vec(rate, 16)).prop_map(|(devices, rates)| RawCluster { devices, rates })
}

/// An instance of up to `most_ops` ops on up to four devices.
pub(crate) fn instance(most_ops: usize) -> impl Strategy<Value = Instance> {
    (raw_graph(most_ops), raw_cluster())
        .prop_filter_map("kinds contradict, or no device suits", |(graph, cluster)| build(&graph, &cluster))
}

fn build(graph: &RawGraph, cluster: &RawCluster) -> Option<Instance> {
    let mut builder = GraphBuilder::default();
    for op in &graph.ops {
        let spec = OpSpec {
            memory_bytes: op.memory_bytes,
            kinds: KindSet::from_bits(op.kinds)?,
            times: [None, op.gpu_quarters.map(|quarters| f64::from(quarters) / 4.0), None],
            layer: op.layer.map(|layer| LAYERS[layer]),
            ..OpSpec::cost(f64::from(op.ops))
        };
        builder.add_op(spec, &op.outputs);
    }
    for &(a, b, port) in graph.edges.iter().filter(|(a, b, _)| a != b) {
        let (low, high) = (OpId(a.min(b)), OpId(a.max(b)));
        let (producer, consumer) = if graph.falling { (high, low) } else { (low, high) };
        if port < graph.ops[producer.index()].outputs.len() {
            builder.add_edge(producer, port, consumer).ok()?;
        } else {
            builder.add_control_edge(producer, consumer).ok()?;
        }
    }
    for &(a, b) in &graph.colocated {
        builder.colocate(OpId(a), OpId(b)).ok()?;
    }
    let device = |(id, &(kind, speed, memory_bytes))| Device { name: format!("d{id}"), kind, memory_bytes, speed };
    let devices = cluster.devices.iter().enumerate().map(device).collect();
    let link = |from: usize, to: usize| Link { rate: cluster.rates[4 * from + to], latency: 0.0 };
    let cluster = Cluster::new(devices, |from, to| link(from.index(), to.index())).ok()?;
    Instance::new(builder.build().ok()?, cluster).ok()
}
