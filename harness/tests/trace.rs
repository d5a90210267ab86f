//! The Chrome trace: valid JSON that says what the timeline says.

use std::collections::BTreeMap;

use placebench_algorithms::schedulers::Fifo;
use placebench_datasets::{Cluster, DeviceId, GraphBuilder, Instance, Kind, Link, OpSpec, PlacedGraph, Placement};
use placebench_harness::execute::simulate::{ContentionFree, NETWORK_MODELS, OnePort, simulate};
use placebench_harness::timeline::Timeline;
use placebench_harness::trace::write_chrome_trace;
use proptest::prelude::*;
use serde_json::Value;

use crate::support::random::{PLAIN, instance, shapes};

fn events(timeline: &Timeline, placed: &PlacedGraph<'_>) -> Vec<Value> {
    let mut text = Vec::new();
    write_chrome_trace(timeline, placed, &mut text).unwrap();
    let trace: Value = serde_json::from_slice(&text).unwrap();
    trace["traceEvents"].as_array().unwrap().clone()
}

#[test]
fn names_survive_escaping_and_times_are_microseconds() {
    let mut builder = GraphBuilder::default();
    let strange = "scope/\"quoted\"\\\n\u{1}é";
    let a = builder.add_op(
        OpSpec { ops: 3.0, name: Some(strange), op_type: Some("Mat\"Mul"), layer: Some("l\\1"), ..OpSpec::default() },
        &[8],
    );
    let b = builder.add_op(OpSpec { ops: 2.0, name: Some("b"), ..OpSpec::default() }, &[]);
    builder.add_edge(a, 0, b).unwrap();
    let cluster = Cluster::uniform(2, Kind::Gpu, 2.0, Link { rate: 4.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    let placement = Placement::new(vec![DeviceId(0), DeviceId(1)]);
    let placed = PlacedGraph::new(&instance, &placement);
    let timeline = simulate(&placed, &Fifo, None, &ContentionFree).unwrap();
    let events = events(&timeline, &placed);
    let find = |category: &str, pid: u64| {
        events
            .iter()
            .find(|event| event["cat"] == category && event["pid"] == pid)
            .unwrap_or_else(|| panic!("{category}"))
    };
    let op = find("op", 0);
    assert_eq!(
        (&op["name"], &op["args"]["type"], &op["args"]["layer"]),
        (&strange.into(), &"Mat\"Mul".into(), &"l\\1".into())
    );
    assert_eq!((op["ts"].as_f64(), op["dur"].as_f64()), (Some(0.0), Some(1_500_000.0)));
    let transfer = find("transfer", 0);
    assert_eq!(transfer["name"], format!("{strange}:0 → d1"));
    assert_eq!((transfer["ts"].as_f64(), transfer["dur"].as_f64()), (Some(1_500_000.0), Some(2_000_000.0)));
    assert_eq!((&transfer["args"]["bytes"], &transfer["args"]["to"]), (&8.into(), &"d1".into()));
    let named = |kind: &str| events.iter().filter(|event| event["name"] == kind).count();
    assert_eq!((named("process_name"), named("thread_name")), (2, 3));
}

#[test]
fn a_graph_without_ops_gives_a_trace_without_events_of_ops() {
    let cluster = Cluster::uniform(1, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(GraphBuilder::default().build().unwrap(), cluster).unwrap();
    let placement = Placement::new(Vec::new());
    let placed = PlacedGraph::new(&instance, &placement);
    let timeline = simulate(&placed, &Fifo, None, &OnePort).unwrap();
    assert_eq!(timeline.makespan(), 0.0);
    assert!(events(&timeline, &placed).iter().all(|event| event["ph"] == "M"));
}

#[test]
fn a_writer_that_fails_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let cluster = Cluster::uniform(1, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(GraphBuilder::default().build().unwrap(), cluster).unwrap();
    let placement = Placement::new(Vec::new());
    let placed = PlacedGraph::new(&instance, &placement);
    let timeline = simulate(&placed, &Fifo, None, &OnePort).unwrap();
    let error = write_chrome_trace(&timeline, &placed, &mut Full).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_op_send_and_transfer_is_there_once_and_no_thread_does_two_things_at_once(
        shape in shapes(),
        network in 0..NETWORK_MODELS.len(),
    ) {
        let network = NETWORK_MODELS[network];
        let (instance, placement) = instance(shape, PLAIN);
        let placed = PlacedGraph::new(&instance, &placement);
        let timeline = simulate(&placed, &Fifo, None, network).unwrap();
        let events = events(&timeline, &placed);
        let count = |category: &str| events.iter().filter(|event| event["cat"] == category).count();
        prop_assert_eq!(count("op"), shape.ops);
        prop_assert_eq!(count("transfer"), placed.transfer_count());
        prop_assert_eq!(count("send"), placed.transfer_ids().filter(|&id| placed.send_time(id) > 0.0).count());
        prop_assert_eq!(count("receive"), placed.transfer_ids().filter(|&id| placed.receive_time(id) > 0.0).count());

        let mut threads: BTreeMap<(u64, u64), Vec<(f64, f64)>> = BTreeMap::new();
        for event in events.iter().filter(|event| event["ph"] == "X") {
            let thread = (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap());
            let (start, length) = (event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap());
            threads.entry(thread).or_default().push((start, start + length));
        }
        for ((_, tid), spans) in &mut threads {
            prop_assert!(network.name() != "one_port" || *tid <= 1, "under one_port a device needs one thread for transfers");
            spans.sort_by(|a, b| a.partial_cmp(b).unwrap());
            for pair in spans.windows(2) {
                prop_assert!(pair[1].0 >= pair[0].1 - 1e-3, "{:?}", pair);
            }
        }
        let named: Vec<(u64, u64)> = events
            .iter()
            .filter(|event| event["name"] == "thread_name")
            .map(|event| (event["pid"].as_u64().unwrap(), event["tid"].as_u64().unwrap()))
            .collect();
        prop_assert!(threads.keys().all(|thread| named.contains(thread)));
    }
}
