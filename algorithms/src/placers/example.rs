//! Small graphs and clusters for the golden tests.

use placebench_datasets::{Cluster, DataflowGraph, Device, GraphBuilder, Kind, Link, OpId, OpSpec};

use crate::Decision;

/// Ops of the given costs; `(producer, consumer, bytes)` edges, one output an op, whose size is the last one named.
pub(super) fn graph(costs: &[f64], edges: &[(u32, u32, u64)], colocated: &[(u32, u32)]) -> DataflowGraph {
    let specs: Vec<OpSpec<'_>> = costs.iter().map(|&ops| OpSpec::cost(ops)).collect();
    graph_of(&specs, edges, colocated)
}

/// As [`graph`], with whole specs.
pub(super) fn graph_of(specs: &[OpSpec<'_>], edges: &[(u32, u32, u64)], colocated: &[(u32, u32)]) -> DataflowGraph {
    let mut builder = GraphBuilder::default();
    for spec in specs {
        builder.add_op(spec.clone(), &[0]);
    }
    for &(producer, consumer, bytes) in edges {
        builder.add_edge(OpId(producer), 0, OpId(consumer)).unwrap();
        builder.set_tensor_bytes(OpId(producer), 0, bytes).unwrap();
    }
    for &(a, b) in colocated {
        builder.colocate(OpId(a), OpId(b)).unwrap();
    }
    builder.build().unwrap()
}

/// CPUs of the given speeds with unlimited memory, all pairs at one rate and without latency.
pub(super) fn cluster(speeds: &[f64], rate: f64) -> Cluster {
    let devices: Vec<_> = speeds.iter().map(|&speed| (speed, None)).collect();
    cluster_with_memory(&devices, rate)
}

/// CPUs of the given speeds and memories, all pairs at one rate and without latency.
pub(super) fn cluster_with_memory(devices: &[(f64, Option<u64>)], rate: f64) -> Cluster {
    let device =
        |(index, &(speed, memory_bytes))| Device { name: format!("d{index}"), kind: Kind::Cpu, memory_bytes, speed };
    let devices = devices.iter().enumerate().map(device).collect();
    Cluster::new(devices, |_, _| Link { rate, latency: 0.0 }).unwrap()
}

/// Devices of the given kinds and speeds with unlimited memory, all pairs at rate 1 and without latency.
pub(super) fn cluster_of_kinds(devices: &[(Kind, f64)]) -> Cluster {
    let device = |(index, &(kind, speed))| Device { name: format!("d{index}"), kind, memory_bytes: None, speed };
    let devices = devices.iter().enumerate().map(device).collect();
    Cluster::new(devices, |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap()
}

/// The devices of a decision as plain numbers.
pub(super) fn devices(decision: &Decision) -> Vec<u32> {
    decision.placement.devices().iter().map(|device| device.0).collect()
}
