//! Samples that follow each other: the period is checked against a count of what all samples in flight hold.

use placebench_algorithms::period::period;
use placebench_algorithms::schedulers::Fifo;
use placebench_datasets::{
    Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, Link, MemoryRule, OpSpec, PlacedGraph, Placement, Time,
};
use placebench_harness::execute::simulate::{ContentionFree, NETWORK_MODELS, NetworkModel, simulate};
use placebench_harness::memory::MemoryUse;
use placebench_harness::steady_state::SteadyState;
use placebench_harness::timeline::Timeline;
use proptest::prelude::*;

use crate::properties::with_memory;
use crate::support::random::{PLAIN, instance, shapes};

/// What is in memory from when until when, by device: as [`MemoryUse`] defines it, from the records of a run.
fn stays(placed: &PlacedGraph<'_>, timeline: &Timeline) -> Vec<(DeviceId, u64, Time, Time)> {
    let graph = placed.instance().graph();
    let mut found = Vec::new();
    for op in graph.op_ids() {
        let here = placed.device_of(op);
        for tensor in graph.outputs(op) {
            let bytes = graph.tensor_bytes(tensor);
            let readers: Vec<_> =
                graph.successors(op).filter(|edge| edge.tensor == Some(tensor)).map(|edge| edge.op).collect();
            let mut until = timeline.finish(op);
            for device in placed.instance().cluster().device_ids() {
                let there = readers.iter().copied().filter(|&reader| placed.device_of(reader) == device);
                let last = there.map(|reader| timeline.start(reader)).fold(0.0, Time::max);
                let moved = placed
                    .transfers_of(op)
                    .find(|&id| placed.transfer(id).tensor == Some(tensor) && placed.transfer(id).to == device);
                if let Some(moved) = moved.map(|id| timeline.transfer(placed, id)) {
                    until = until.max(moved.end);
                    found.push((device, bytes, moved.start, moved.end.max(last)));
                } else if device == here {
                    until = until.max(last);
                }
            }
            if !graph.outputs_are_resident(op) {
                found.push((here, bytes, timeline.start(op), until));
            }
        }
    }
    found
}

/// The most that each device holds when a sample starts at each multiple of the period, counted sample by sample where stays
/// begin. Stays are longer by this share of the period.
fn held(placed: &PlacedGraph<'_>, timeline: &Timeline, period: Time, longer: f64) -> Vec<u64> {
    let (graph, makespan) = (placed.instance().graph(), timeline.makespan());
    let stays = stays(placed, timeline);
    let samples = (makespan / period).ceil() as i64 + 1;
    let longer = longer * period;
    let on = |device: DeviceId| {
        let stays: Vec<_> = stays.iter().filter(|stay| stay.0 == device).collect();
        let resident: u64 =
            graph.op_ids().filter(|&op| placed.device_of(op) == device).map(|op| graph.memory_bytes(op)).sum();
        let at = |instant: Time| -> u64 {
            let overlaps = |from: Time, until: Time| {
                (-samples..=samples).filter(move |&sample| {
                    let shift = sample as f64 * period;
                    from + shift <= instant && instant <= until + shift + longer
                })
            };
            stays.iter().map(|&&(_, bytes, from, until)| bytes * overlaps(from, until).count() as u64).sum()
        };
        resident + stays.iter().map(|stay| at(stay.2)).max().unwrap_or(0)
    };
    placed.instance().cluster().device_ids().map(on).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_in_flight_fits_at_the_period(shape in shapes(), network in 0..NETWORK_MODELS.len(), room in 0.0..3.0f64) {
        let network = NETWORK_MODELS[network];
        let (instance, placement) = instance(shape, PLAIN);
        let run = |instance: &Instance| {
            let placed = PlacedGraph::new(instance, &placement);
            simulate(&placed, &Fifo, None, network).unwrap()
        };
        // Each device has what one run needs and some room.
        let peaks = MemoryUse::new(&PlacedGraph::new(&instance, &placement), &run(&instance));
        let limits: Vec<u64> = peaks.peaks().iter().map(|&peak| (peak as f64 * (1.0 + room)) as u64).collect();
        let limited = with_memory(&instance, |device| Some(limits[device.index()]));
        let instance = Instance::with_memory_rule(limited.shared_graph(), limited.shared_cluster(), MemoryRule::Peak).unwrap();
        let (placed, timeline) = (PlacedGraph::new(&instance, &placement), run(&instance));
        let busy = period(&placed, &*network.occupancy(instance.cluster()));
        prop_assume!(busy > 0.0);
        let SteadyState { period, memory, short_of_memory } = SteadyState::new(&placed, &timeline, busy);
        prop_assert_eq!(short_of_memory.is_some(), period > busy * (1.0 + 1e-9));
        prop_assert!(busy <= period && period <= timeline.makespan().max(busy));
        prop_assert!(memory.peaks().iter().zip(&limits).all(|(peak, limit)| peak <= limit), "{memory:?} {limits:?}");
        if period < timeline.makespan() {
            // Stays that touch by rounding alone may count or not.
            let held = held(&placed, &timeline, period, -1e-6);
            prop_assert!(held.iter().zip(memory.peaks()).all(|(held, told)| held <= told), "{held:?} {memory:?}");
        }
        // Only memory makes it longer than what is busy.
        let fits = |period: Time| held(&placed, &timeline, period, 1e-6).iter().zip(&limits).all(|(held, limit)| held <= limit);
        prop_assert!(period == busy || !fits(busy), "{busy} {period}");
    }
}

/// Two stages of 1 and 3, whose tensor of 100 bytes stays from the start of the first to the start of the second and beyond.
#[test]
fn a_device_with_room_for_fewer_samples_takes_longer_from_one_to_the_next() {
    let mut builder = GraphBuilder::default();
    let ops = [1.0, 1.0, 1.0, 1.0].map(|ops| builder.add_op(OpSpec::cost(ops), &[100]));
    // The first op's output is read again by the last, as an activation is by the backward pass.
    for (from, to) in [(0, 1), (1, 2), (2, 3), (0, 3)] {
        builder.add_edge(ops[from], 0, ops[to]).unwrap();
    }
    let graph = builder.build().unwrap();
    let period_with = |memory_bytes: u64| {
        let device = |name: &str| Device {
            memory_bytes: Some(memory_bytes),
            name: name.to_owned(),
            kind: Kind::Gpu,
            speed: 1.0,
        };
        let fast = Link { rate: f64::INFINITY, latency: 0.0 };
        let cluster = Cluster::new(vec![device("a"), device("b"), device("c")], |_, _| fast).unwrap();
        let instance = Instance::with_memory_rule(graph.clone(), cluster, MemoryRule::Peak).unwrap();
        let placement = Placement::new([0, 1, 2, 0].map(DeviceId).to_vec());
        let placed = PlacedGraph::new(&instance, &placement);
        let timeline = simulate(&placed, &Fifo, None, &ContentionFree).unwrap();
        SteadyState::new(&placed, &timeline, period(&placed, &*ContentionFree.occupancy(instance.cluster()))).period
    };
    // Device a is busy for 2. Its activation stays from 0 to 3, c's output is there from 3, and a's last output to 4: at a period
    // of 2 it holds two activations in half of the time, and two more tensors when the last op starts. Just above 3, the next
    // sample begins when the activation is gone.
    let close = |a: Time, b: Time| (a - b).abs() < 1e-4;
    assert_eq!(period_with(400), 2.0);
    assert!(close(period_with(350), 3.0) && close(period_with(300), 3.0), "{} {}", period_with(350), period_with(300));
}
