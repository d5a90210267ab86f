//! Every placer ends soon after its time limit, whatever the graph. Only a clock can tell, so this is no part of `cargo
//! test`: run it alone on an idle machine with
//! `cargo test --release --workspace --test all time_limits -- --ignored --nocapture`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use placebench_algorithms::{Decision, Judgement, Objective, PlaceContext, PlaceError, Spec, StopToken, registry};
use placebench_datasets::{Cluster, Device, GraphBuilder, Instance, Kind, Link, OpId, OpSpec};

/// Eight CPUs and eight GPUs of different speeds.
fn cluster() -> Cluster {
    let device = |id: usize| Device {
        name: format!("d{id}"),
        kind: if id < 8 { Kind::Cpu } else { Kind::Gpu },
        memory_bytes: None,
        speed: (1 + id) as f64,
    };
    Cluster::new((0..16).map(device).collect(), |_, _| Link { rate: 10.0, latency: 0.1 }).unwrap()
}

fn instance(ops: usize, edges: impl Iterator<Item = (usize, usize)>) -> Instance {
    let mut builder = GraphBuilder::default();
    for op in 0..ops {
        let layer = if op < ops / 2 { "first" } else { "second" };
        builder.add_op(OpSpec { memory_bytes: 1, layer: Some(layer), ..OpSpec::cost((1 + op % 7) as f64) }, &[8]);
    }
    edges.for_each(|(from, to)| builder.add_edge(OpId::new(from), 0, OpId::new(to)).unwrap());
    Instance::new(builder.build().unwrap(), cluster()).unwrap()
}

fn shapes(ops: usize) -> [(&'static str, Instance); 4] {
    [
        ("join", instance(ops, (0..ops - 1).map(|op| (op, ops - 1)))),
        ("fork", instance(ops, (1..ops).map(|op| (0, op)))),
        ("chain", instance(ops, (1..ops).map(|op| (op - 1, op)))),
        ("lattice", instance(ops, (0..ops - 400).flat_map(|op| [(op, op + 100), (op, op + 101), (op, op + 399)]))),
    ]
}

/// Takes no time: what a search does beside simulating. A graph of two transfers takes as long as if they shared a link, so that
/// placers do what they do for such networks, too.
#[derive(Debug)]
struct Constant;

impl Objective for Constant {
    fn judge(&self, instance: &Instance, _: &Decision, stop: &StopToken) -> Result<Judgement, PlaceError> {
        let is_two_transfers = instance.graph().op_count() == 3;
        stop.check().map(|()| Judgement::fits(if is_two_transfers { 5000.0 } else { 1.0 }))
    }
}

#[test]
#[ignore = "measures time"]
fn every_placer_ends_within_half_a_second_of_its_time_limit() {
    let limit = Duration::from_secs(1);
    let mut late = Vec::new();
    for (shape, instance) in shapes(100_000) {
        for entry in registry::placers() {
            let placer = entry.make(&Spec { name: entry.name.clone(), params: Vec::new() }).unwrap();
            if placer.online().is_some() {
                continue;
            }
            let started = Instant::now();
            let context = PlaceContext {
                stop: StopToken::with_deadline(started + limit),
                objective: Some(Arc::new(Constant)),
                ..PlaceContext::default()
            };
            let outcome = placer.place(&instance, &context).map(|_| ());
            let took = started.elapsed();
            if took > limit / 2 {
                println!("{shape:8} {:24} {:6.2} s {outcome:?}", entry.name, took.as_secs_f64());
            }
            if took > limit + Duration::from_millis(500) {
                late.push(format!("{} on a {shape}: {:.2} s", entry.name, took.as_secs_f64()));
            }
        }
    }
    assert!(late.is_empty(), "{}", late.join("\n"));
}
