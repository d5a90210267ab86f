//! The metrics of random runs against their definitions, worked out in the plainest way from the raw graph.

mod support;

use std::collections::BTreeSet;

use placebench_algorithms::bounds;
use placebench_algorithms::schedulers::Fifo;
use placebench_datasets::{DeviceId, PlacedGraph, Placement, Time};
use placebench_harness::execute::simulate::{NETWORK_MODELS, simulate};
use placebench_harness::memory::MemoryUse;
use placebench_harness::metrics::Metrics;
use proptest::prelude::*;

use support::random::{PLAIN, instance, shapes};

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn metrics_are_what_they_are_defined_to_be(shape in shapes(), network in 0..NETWORK_MODELS.len()) {
        let network = NETWORK_MODELS[network];
        let (instance, placement) = instance(shape, PLAIN);
        let (graph, cluster) = (instance.graph(), instance.cluster());
        let placed = PlacedGraph::new(&instance, &placement);
        let timeline = simulate(&placed, &Fifo, None, network).unwrap();
        let metrics = Metrics::new(&placed, &timeline, &MemoryUse::new(&placed, &timeline));
        let records = timeline.records(&placed);

        // Busy: the sum of the lengths of what each device executed.
        let mut busy = vec![0.0; cluster.device_count()];
        let mut last: Time = 0.0;
        let ops = records.ops.iter().map(|op| (op.device, op.start, op.end));
        for (device, start, end) in ops.chain(records.sends.iter().map(|send| (send.route.from, send.start, send.end))) {
            busy[device.index()] += end - start;
            last = last.max(end);
        }
        let total: Time = busy.iter().sum();
        let devices = cluster.device_count() as f64;
        let most = busy.iter().copied().fold(0.0, f64::max);
        prop_assert_eq!(metrics.makespan, last);
        prop_assert!((metrics.idle_time - (devices * last - total)).abs() <= 1e-9 * devices * last);
        prop_assert_eq!(metrics.utilization.is_some(), last > 0.0);
        prop_assert!(metrics.utilization.is_none_or(|share| close(share, total / devices / last)));
        prop_assert!(metrics.load_imbalance.is_none_or(|ratio| close(ratio, most / (total / devices))));

        // Cut: every edge between devices. Traffic: every (tensor, destination) once.
        let cut: Vec<_> =
            graph.edges().filter(|(op, edge)| placement.device_of(*op) != placement.device_of(edge.op)).collect();
        prop_assert_eq!(metrics.cut_edges, cut.len() as u64);
        prop_assert_eq!(metrics.cut_bytes, cut.iter().map(|&(_, edge)| graph.edge_bytes(edge)).sum::<u64>());
        let moved: BTreeSet<_> =
            cut.iter().map(|&(op, edge)| (op, edge.tensor, placement.device_of(edge.op))).collect();
        prop_assert_eq!(metrics.transfers, moved.len() as u64);
        let bytes = moved.iter().filter_map(|(_, tensor, _)| *tensor).map(|tensor| graph.tensor_bytes(tensor));
        prop_assert_eq!(metrics.traffic_bytes, bytes.sum::<u64>());
        prop_assert!(metrics.traffic_bytes <= metrics.cut_bytes);
        prop_assert_eq!(metrics.devices_used, placement.devices().iter().collect::<BTreeSet<_>>().len() as u64);

        // Speedup: try every device.
        let alone = |device: DeviceId| {
            let everything = Placement::new(vec![device; graph.op_count()]);
            let work = graph.op_ids().map(|op| instance.exec_time(op, device)).sum::<Time>();
            everything.check(&instance).is_ok().then_some(work)
        };
        let best = cluster.device_ids().filter_map(alone).reduce(f64::min).filter(|_| last > 0.0);
        prop_assert_eq!(metrics.speedup.is_some(), best.is_some());
        if let (Some(speedup), Some(best)) = (metrics.speedup, best) {
            prop_assert!(close(speedup, best / last) || best == 0.0);
            prop_assert!(metrics.efficiency.is_some_and(|efficiency| close(efficiency, speedup / devices)));
        }

        // No run beats a lower bound, and each bound holds alone.
        for bound in bounds::all(&instance) {
            prop_assert!(last >= bound.value * (1.0 - 1e-9), "{} < {:?}", last, bound);
        }
    }
}
