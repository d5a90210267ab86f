//! The metrics of random runs against their definitions, worked out in the plainest way from the raw graph.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use placebench_algorithms::schedulers::{Fifo, Pct};
use placebench_algorithms::{Decision, StopToken, bounds};
use placebench_datasets::{
    Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, KindSet, Link, MemoryRule, OpId, OpSpec, PlacedGraph,
    Placement, Time, Transfer,
};
use placebench_harness::evaluate::{Evaluation, EvaluationError, Evaluator, Placed, Reference};
use placebench_harness::execute::simulate::{
    ContentionFree, NETWORK_MODELS, NetworkModel, OnePort, Simulator, simulate,
};
use placebench_harness::memory::MemoryUse;
use placebench_harness::metrics::Metrics;
use placebench_harness::results::Status;
use proptest::prelude::*;

use crate::support::random::{PLAIN, instance, shapes};

/// That many independent copies of an instance's graph, each placed as the first.
fn copies(instance: &Instance, placement: &Placement, count: usize) -> (Instance, Placement) {
    let graph = instance.graph();
    let mut builder = GraphBuilder::default();
    for copy in 0..count {
        for op in graph.op_ids() {
            let measured = graph.measured_times().iter();
            let times: Vec<_> = measured.filter_map(|times| Some((times.class(), times.of(op)?))).collect();
            let spec = OpSpec { times: &times, kinds: graph.kinds(op), ..OpSpec::cost(graph.ops(op)) };
            let outputs: Vec<u64> = graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor)).collect();
            builder.add_op(spec, &outputs);
        }
        let of_copy = |op: OpId| OpId::new(copy * graph.op_count() + op.index());
        for (op, edge) in graph.edges() {
            match edge.tensor {
                Some(tensor) => builder.add_edge(of_copy(op), graph.port(tensor), of_copy(edge.op)).unwrap(),
                None => builder.add_control_edge(of_copy(op), of_copy(edge.op)).unwrap(),
            }
        }
    }
    let instance = Instance::new(builder.build().unwrap(), instance.shared_cluster()).unwrap();
    (instance, Placement::new(placement.devices().repeat(count)))
}

/// The period of a placement, and the makespan of so many runs of it at once.
fn period_and_makespan(of: &(Instance, Placement), count: usize, network: &'static dyn NetworkModel) -> (Time, Time) {
    let (instance, placement) = of;
    let run = |instance: &Instance, placement: &Placement| {
        let placed = PlacedGraph::new(instance, placement);
        let timeline = simulate(&placed, &Fifo, None, network).unwrap();
        Metrics::new(&placed, &timeline, &MemoryUse::new(&placed, &timeline), Some(network))
    };
    let (many, places) = copies(instance, placement, count);
    (run(instance, placement).period.unwrap(), run(&many, &places).makespan)
}

/// A pipeline, a stage a device, with these operations and output bytes; devices of speed 1.
fn pipeline(stages: &[(f64, u64)], rate: f64) -> (Instance, Placement) {
    let mut builder = GraphBuilder::default();
    let ops: Vec<_> = stages.iter().map(|&(ops, bytes)| builder.add_op(OpSpec::cost(ops), &[bytes])).collect();
    ops.windows(2).for_each(|pair| builder.add_edge(pair[0], 0, pair[1]).unwrap());
    let cluster = Cluster::uniform(stages.len(), Kind::Cpu, 1.0, Link { rate, latency: 0.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    (instance, Placement::new((0..stages.len()).map(DeviceId::new).collect()))
}

/// Once the first samples are through, each further one takes as long as what is busiest: the second device, or what the
/// tensors of the first device share.
#[test]
fn a_pipeline_takes_its_period_for_each_further_sample() {
    for network in NETWORK_MODELS {
        let shared = if ["contention_free", "accelerator_io"].contains(&network.name()) { 1.0 } else { 8.0 };
        let by_device = (pipeline(&[(1.0, 8), (3.0, 4), (2.0, 0)], 8.0), 3.0);
        let by_network = (pipeline(&[(1.0, 8), (0.0, 0)], 1.0), shared);
        for (pipeline, expected) in [by_device, by_network] {
            let (period, twenty) = period_and_makespan(&pipeline, 20, network);
            let (_, thirty) = period_and_makespan(&pipeline, 30, network);
            assert_eq!(period, expected, "{network}");
            assert!(close(thirty - twenty, 10.0 * period), "{network}: {twenty}, {thirty}");
        }
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// How long one run keeps the busiest port or link busy that transfers share.
fn shared(placed: &PlacedGraph<'_>, network: &str) -> Time {
    let cluster = placed.instance().cluster();
    let mut busy: BTreeMap<(&str, usize), Time> = BTreeMap::new();
    for transfer in placed.transfers() {
        let (from, to) = (transfer.from, transfer.to);
        let gap = transfer.bytes as f64 / cluster.link(from, to).rate;
        let ends = [("out", from.index()), ("in", to.index())];
        let parts: Vec<((&str, usize), Time)> = match network {
            "one_port" => ends.map(|end| (end, transfer.time)).to_vec(),
            "loggp" => ends.map(|end| (end, gap)).to_vec(),
            "fair_share" => {
                let links = cluster.shared_links();
                let time = |link: usize| transfer.bytes as f64 / links.capacity(link);
                links.route(from, to).iter().map(|&link| (("link", link as usize), time(link as usize))).collect()
            }
            _ => Vec::new(),
        };
        parts.into_iter().for_each(|(part, time)| *busy.entry(part).or_default() += time);
    }
    busy.into_values().fold(0.0, Time::max)
}

/// The most that a device is busy where accelerators send each output once, and take in each that they read once.
fn with_io(placed: &PlacedGraph<'_>, busy: &[Time]) -> Time {
    let cluster = placed.instance().cluster();
    let load = |device: DeviceId| {
        let fastest =
            cluster.device_ids().filter(|&other| other != device).map(|other| cluster.link(device, other).rate);
        let rate = fastest.fold(0.0, f64::max);
        let transfers = placed.transfers().iter();
        let outputs = |end: fn(&Transfer) -> DeviceId| -> u64 {
            let here = transfers.clone().filter(|transfer| end(transfer) == device);
            let outputs: BTreeSet<_> = here.map(|transfer| (transfer.tensor, transfer.bytes)).collect();
            outputs.into_iter().map(|(_, bytes)| bytes).sum()
        };
        let bytes = outputs(|transfer| transfer.from) + outputs(|transfer| transfer.to);
        let is_accelerator = cluster.device(device).kind != Kind::Cpu;
        busy[device.index()] + if is_accelerator && rate > 0.0 { bytes as f64 / rate } else { 0.0 }
    };
    cluster.device_ids().map(load).fold(0.0, Time::max)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_samples_follow_each_other_faster_than_the_period(shape in shapes(), network in 0..NETWORK_MODELS.len()) {
        let network = NETWORK_MODELS[network];
        // Its runs do not wait for what its period counts.
        prop_assume!(network.name() != "accelerator_io");
        let (period, makespan) = period_and_makespan(&instance(shape, PLAIN), 8, network);
        prop_assert!(8.0 * period <= makespan * (1.0 + 1e-12), "{}: 8 · {} > {}", network, period, makespan);
    }
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
        let metrics = Metrics::new(&placed, &timeline, &MemoryUse::new(&placed, &timeline), Some(network));
        let records = timeline.records(&placed);

        // Busy: the sum of the lengths of what each device executed.
        let mut busy = vec![0.0; cluster.device_count()];
        let mut last: Time = 0.0;
        let ops = records.ops.iter().map(|op| (op.device, op.start, op.end));
        let sends = records.sends.iter().map(|send| (send.route.from, send.start, send.end));
        let receives = records.receives.iter().map(|receive| (receive.route.to, receive.start, receive.end));
        for (device, start, end) in ops.chain(sends).chain(receives) {
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

        // Period: what a run keeps busy most, of devices and of what transfers share. It is not below its bound.
        let period = metrics.period.unwrap();
        let expected = match network.name() {
            "accelerator_io" => with_io(&placed, &busy),
            name => shared(&placed, name).max(most),
        };
        prop_assert!(close(period, expected), "{period} {expected}");
        prop_assert!(bounds::period(&instance).value <= period * (1.0 + 1e-12));

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

        // Speedup: against everything on the device where that takes least time, if one may run all ops.
        let alone = |device: DeviceId| {
            let everything = Placement::new(vec![device; graph.op_count()]);
            let work = graph.op_ids().map(|op| instance.exec_time(op, device)).sum::<Time>();
            everything.check(&instance).is_ok().then_some(work)
        };
        let stop = StopToken::default();
        let simulator = Simulator::new(network);
        let reference = Reference::new(&instance).with_single_device(&instance, &simulator, &stop);
        let evaluator = Evaluator { instance: &instance, reference: Some(&reference), seed: 0, stop: &stop };
        let before = Placed::Before { decision: Decision::placement(placement.clone()), took: Duration::ZERO };
        let evaluation = evaluator.execute(&before, Some(&Fifo), &simulator).unwrap();
        prop_assert_eq!(evaluation.speedup.is_some(), reference.single_device.is_some() && last > 0.0);
        if let Some(speedup) = evaluation.speedup {
            prop_assert!(close(speedup * last, reference.single_device.unwrap()));
            let usable = cluster.device_ids().filter(|&device| {
                instance.units().ids().any(|unit| instance.units().kind_allows(unit, cluster, device))
            });
            prop_assert!(evaluation.efficiency.is_some_and(|share| close(share * usable.count() as f64, speedup)));
        }
        if cluster.device_ids().all(|device| alone(device).is_some()) {
            let least = cluster.device_ids().filter_map(alone).fold(f64::INFINITY, f64::min);
            prop_assert!(close(reference.single_device.unwrap(), least), "{:?} {}", reference.single_device, least);
        }

        // No run beats a lower bound, and each bound holds alone.
        for bound in bounds::all(&instance) {
            prop_assert!(last >= bound.value * (1.0 - 1e-9), "{} < {:?}", last, bound);
        }
    }
}

/// The devices of [`training`]: two CPUs of speed 1, two GPUs of speed 10, a TPU that no op may use; rate 10.
fn training_cluster(memory_bytes: Option<u64>) -> Cluster {
    let kinds = [(Kind::Cpu, 1.0), (Kind::Cpu, 1.0), (Kind::Gpu, 10.0), (Kind::Gpu, 10.0), (Kind::Tpu, 99.0)];
    let device = |(id, (kind, speed))| Device { name: format!("d{id}"), kind, memory_bytes, speed };
    let devices = kinds.into_iter().enumerate().map(device).collect();
    Cluster::new(devices, |_, _| Link { rate: 10.0, latency: 0.0 }).unwrap()
}

/// `read` (2 operations, CPU only) feeds `left` and `right` (100 each) 20 bytes; both feed `sum` (50) 10 bytes each.
fn training(memory_bytes: Option<u64>, rule: MemoryRule) -> Instance {
    let mut builder = GraphBuilder::default();
    let gpu = KindSet::only(Kind::Gpu);
    let read = builder.add_op(OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(2.0) }, &[20]);
    let left = builder.add_op(OpSpec { kinds: gpu, ..OpSpec::cost(100.0) }, &[10]);
    let right = builder.add_op(OpSpec { kinds: gpu, ..OpSpec::cost(100.0) }, &[10]);
    let sum = builder.add_op(OpSpec { kinds: gpu, ..OpSpec::cost(50.0) }, &[]);
    for (producer, consumer) in [(read, left), (read, right), (left, sum), (right, sum)] {
        builder.add_edge(producer, 0, consumer).unwrap();
    }
    Instance::with_memory_rule(builder.build().unwrap(), training_cluster(memory_bytes), rule).unwrap()
}

/// The placement `devices`, evaluated with the single device as reference under a network model.
fn evaluate(
    instance: &Instance,
    devices: [u32; 4],
    network: &'static dyn NetworkModel,
) -> Result<Evaluation, EvaluationError> {
    let (stop, simulator) = (StopToken::default(), Simulator::new(network));
    let reference = Reference::new(instance).with_single_device(instance, &simulator, &stop);
    let evaluator = Evaluator { instance, reference: Some(&reference), seed: 0, stop: &stop };
    let decision = Decision::placement(Placement::new(devices.map(DeviceId).to_vec()));
    evaluator.execute(&Placed::Before { decision, took: Duration::ZERO }, Some(&Pct), &simulator)
}

#[test]
fn speedup_is_over_the_single_device_with_its_strays_and_efficiency_counts_usable_devices() {
    // single_device puts `read` on d0, 0-2; the tensor reaches d2 at 4; left 4-14, right 14-24, sum 24-29.
    let single = evaluate(&training(None, MemoryRule::Static), [0, 2, 2, 2], &ContentionFree).unwrap();
    assert_eq!((single.metrics.makespan, single.speedup), (29.0, Some(1.0)));
    // Two GPUs: left and right 4-14, right's tensor reaches d2 at 15, sum 15-20. Four devices are usable, the TPU is not.
    let both = evaluate(&training(None, MemoryRule::Static), [0, 2, 3, 2], &ContentionFree).unwrap();
    assert_eq!((both.metrics.makespan, both.speedup, both.efficiency), (20.0, Some(1.45), Some(1.45 / 4.0)));
    // One port: the second GPU gets its tensor at 6, right 6-16, sum 17-22; the single device is as fast as before.
    let one_port = evaluate(&training(None, MemoryRule::Static), [0, 2, 3, 2], &OnePort).unwrap();
    assert_eq!((one_port.metrics.makespan, one_port.speedup), (22.0, Some(29.0 / 22.0)));
}

#[test]
fn a_variable_that_hands_out_a_reference_is_in_memory_once() {
    // A variable of 100 bytes, its gradient of 100, and the update that writes into it. Of another type the first op would
    // hold 100 bytes and have an output of 100 more.
    let peak = |op_type: &'static str| {
        let mut builder = GraphBuilder::default();
        let spec = OpSpec { memory_bytes: 100, op_type: Some(op_type), ..OpSpec::cost(1.0) };
        let variable = builder.add_op(spec, &[100]);
        let gradient = builder.add_op(OpSpec::cost(1.0), &[100]);
        let update = builder.add_op(OpSpec::cost(1.0), &[]);
        for (producer, consumer) in [(variable, gradient), (variable, update), (gradient, update)] {
            builder.add_edge(producer, 0, consumer).unwrap();
        }
        let instance = Instance::new(builder.build().unwrap(), training_cluster(None)).unwrap();
        let (stop, simulator) = (StopToken::default(), Simulator::new(&ContentionFree));
        let evaluator = Evaluator { instance: &instance, reference: None, seed: 0, stop: &stop };
        let run = |devices: [u32; 3]| {
            let decision = Decision::placement(Placement::new(devices.map(DeviceId).to_vec()));
            let placed = Placed::Before { decision, took: Duration::ZERO };
            evaluator.execute(&placed, Some(&Pct), &simulator).unwrap().metrics.peak_memory_bytes
        };
        // On one device; and with the gradient on another, which holds a copy of the variable and the gradient.
        [run([2, 2, 2]), run([2, 3, 2])]
    };
    assert_eq!(peak("VariableV2"), [200, 200]);
    assert_eq!(peak("MatMul"), [300, 300]);
}

#[test]
fn what_the_single_device_cannot_hold_has_no_speedup() {
    // Demands of left, right and sum: 30 + 30 + 20, not below 80.
    let both = evaluate(&training(Some(80), MemoryRule::Static), [0, 2, 3, 2], &ContentionFree).unwrap();
    assert_eq!((both.speedup, both.efficiency), (None, None));
    let single = evaluate(&training(Some(81), MemoryRule::Static), [0, 2, 3, 2], &ContentionFree).unwrap();
    assert_eq!(single.speedup, Some(1.45));
}

#[test]
fn the_rule_peak_accepts_what_fits_at_every_instant_and_refuses_a_byte_less() {
    // On d2: 20 bytes from read stay until right has started at 14, left's 10 from 4 until sum has started, right's 10 from
    // 14: 40 bytes at 14. The demand of all three is 80.
    let place = |memory: u64, rule| evaluate(&training(Some(memory), rule), [0, 2, 2, 2], &ContentionFree);
    let fits = place(40, MemoryRule::Peak).unwrap();
    assert_eq!((fits.metrics.peak_memory_bytes, fits.speedup), (40, Some(1.0)));
    let error = place(39, MemoryRule::Peak).unwrap_err();
    let expected = EvaluationError::OutOfMemory {
        time: 14.0,
        time_unit: "EU".to_owned(),
        device: "d2".to_owned(),
        bytes: 40,
        memory_bytes: 39,
    };
    assert_eq!((&error, error.status()), (&expected, Status::Infeasible));
    let message = error.to_string();
    assert!(
        message.contains("memory rule peak")
            && message.contains("held 40.0 B at 14.0 EU, more than its memory of 39.0 B")
            && message.contains("choose the rule unlimited"),
        "{message}"
    );
    let error = place(80, MemoryRule::Static).unwrap_err();
    assert_eq!(error.status(), Status::Invalid, "a placer knew the static rule: {error}");
    assert!(error.to_string().contains("memory rule static"), "{error}");
    assert_eq!(place(1, MemoryRule::Unlimited).unwrap().metrics.makespan, 29.0);
}
