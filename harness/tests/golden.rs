//! Worked examples of L. Laich, *Graph Partitioning and Scheduling for Distributed Dataflow Computation*, University of
//! Stuttgart 2017.

use placebench_algorithms::schedulers::Fifo;
use placebench_algorithms::{Plan, registry};
use placebench_datasets::{
    Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, Link, OpId, OpSpec, PlacedGraph, Placement, TransferId,
    TransferOverheads,
};
use placebench_harness::execute::simulate::{ContentionFree, LogGp, NETWORK_MODELS, OnePort, simulate};
use placebench_harness::memory::MemoryUse;
use placebench_harness::timeline::Interval;

fn devices(speeds: &[f64]) -> Vec<Device> {
    let device = |(index, &speed)| Device { name: format!("d{index}"), kind: Kind::Cpu, memory_bytes: None, speed };
    speeds.iter().enumerate().map(device).collect()
}

fn placement(devices: &[u32]) -> Placement {
    Placement::new(devices.iter().map(|&device| DeviceId(device)).collect())
}

/// L Fig. 2.3: n0 → n1 on d0; n1 feeds n2 → n3 on d1 and n4 → n5 on d2.
fn figure_2_3() -> (Instance, Placement) {
    let mut builder = GraphBuilder::default();
    let ops = [30.0, 50.0, 60.0, 30.0, 40.0, 80.0];
    let n: Vec<OpId> = ops.into_iter().map(|ops| builder.add_op(OpSpec::cost(ops), &[50])).collect();
    for (producer, consumer) in [(0, 1), (1, 2), (2, 3), (1, 4), (4, 5)] {
        builder.add_edge(n[producer], 0, n[consumer]).unwrap();
    }
    let rate = |from: DeviceId, to: DeviceId| match (from.0.min(to.0), from.0.max(to.0)) {
        (0, 1) => 25.0,
        _ => 50.0,
    };
    let cluster =
        Cluster::new(devices(&[10.0, 30.0, 40.0]), |from, to| Link { rate: rate(from, to), latency: 0.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster.with_send_ops(10.0).unwrap()).unwrap();
    (instance, placement(&[0, 0, 1, 1, 2, 2]))
}

#[test]
fn figure_2_4_finishes_at_14_with_sends_that_occupy_their_sender() {
    let (instance, placement) = figure_2_3();
    let placed = PlacedGraph::new(&instance, &placement);
    let timeline = simulate(&placed, &Fifo, None, &ContentionFree).unwrap();
    assert_eq!(timeline.makespan(), 14.0);
    let (to_d1, to_d2) = {
        let mut transfers = placed.transfers_of(OpId(1));
        (transfers.next().unwrap(), transfers.next().unwrap())
    };
    let interval = |start, end| Interval { start, end };
    assert_eq!(timeline.op(OpId(0)), interval(0.0, 3.0));
    assert_eq!(timeline.op(OpId(1)), interval(3.0, 8.0));
    // n6 and n8 are the sends, n7 and n9 the receives.
    assert_eq!(timeline.send(to_d1), Some(interval(8.0, 9.0)));
    assert_eq!(timeline.transfer(&placed, to_d1), interval(9.0, 11.0));
    assert_eq!(timeline.send(to_d2), Some(interval(9.0, 10.0)));
    assert_eq!(timeline.transfer(&placed, to_d2), interval(10.0, 11.0));
    assert_eq!(timeline.op(OpId(2)), interval(11.0, 13.0));
    assert_eq!(timeline.op(OpId(3)), interval(13.0, 14.0));
    assert_eq!(timeline.op(OpId(4)), interval(11.0, 12.0));
    assert_eq!(timeline.op(OpId(5)), interval(12.0, 14.0));
}

#[test]
fn every_scheduler_takes_14_for_the_order_of_table_2_1() {
    let (instance, placement) = figure_2_3();
    let placed = PlacedGraph::new(&instance, &placement);
    let plan = Plan::of_ops((0..6).map(OpId), 14.0);
    for entry in registry::SCHEDULERS.iter() {
        let scheduler = registry::scheduler(&entry.name.parse().unwrap()).unwrap();
        let timeline = simulate(&placed, &*scheduler, Some(&plan), &ContentionFree).unwrap();
        let sends: Vec<Interval> = timeline.sends().map(|(_, interval)| interval).collect();
        assert_eq!(timeline.makespan(), 14.0, "{}", entry.name);
        assert_eq!(sends, [(8.0, 9.0), (9.0, 10.0)].map(|(start, end)| Interval { start, end }), "{}", entry.name);
    }
}

#[test]
fn figure_2_4_under_one_port_delays_the_second_transfer() {
    let (instance, placement) = figure_2_3();
    let placed = PlacedGraph::new(&instance, &placement);
    let timeline = simulate(&placed, &Fifo, None, &OnePort).unwrap();
    let to_d2 = placed.transfers_of(OpId(1)).nth(1).unwrap();
    // d0 sends to d1 from 9 to 11.
    assert_eq!(timeline.transfer(&placed, to_d2), Interval { start: 11.0, end: 12.0 });
    assert_eq!(timeline.makespan(), 15.0);
}

#[test]
fn the_memory_of_figure_2_4_follows_tensors_from_device_to_device() {
    let (instance, placement) = figure_2_3();
    let placed = PlacedGraph::new(&instance, &placement);
    let timeline = simulate(&placed, &Fifo, None, &ContentionFree).unwrap();
    // Everywhere an op's input and its output, 50 bytes each; never more.
    assert_eq!(MemoryUse::new(&placed, &timeline).peaks(), [100, 100, 100]);
}

/// L Fig. 3.2, of the text: speeds and rates are 1; nodes 1 and 2 on device 0 take 40 and their data arrives at device 1
/// at 50; node 7 on device 2 takes 50 and its data arrives at 80; node 5 ends at 110 if it starts at 80.
#[test]
fn in_figure_3_2_an_early_arrival_is_executed_before_a_later_one_that_was_simulated_first() {
    let mut builder = GraphBuilder::default();
    let n1 = builder.add_op(OpSpec::cost(15.0), &[10]);
    let n2 = builder.add_op(OpSpec::cost(25.0), &[10]);
    let n3 = builder.add_op(OpSpec::cost(20.0), &[]);
    let n5 = builder.add_op(OpSpec::cost(30.0), &[]);
    let n7 = builder.add_op(OpSpec::cost(50.0), &[30]);
    for (producer, consumer) in [(n1, n2), (n2, n3), (n7, n5)] {
        builder.add_edge(producer, 0, consumer).unwrap();
    }
    let cluster = Cluster::uniform(3, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    let placement = placement(&[0, 0, 1, 1, 2]);
    let placed = PlacedGraph::new(&instance, &placement);
    for network in NETWORK_MODELS {
        let timeline = simulate(&placed, &Fifo, None, network).unwrap();
        assert_eq!((timeline.start(n3), timeline.finish(n3)), (50.0, 70.0));
        assert_eq!((timeline.start(n5), timeline.finish(n5)), (80.0, 110.0));
    }
}

/// L Fig. 2.2: node 8 on device 3 has the consumers 4 and 9 on device 4, and its 50 bytes are moved once.
#[test]
fn as_in_figure_2_2_a_tensor_with_two_consumers_on_a_device_is_moved_once() {
    let mut builder = GraphBuilder::default();
    let n8 = builder.add_op(OpSpec::cost(10.0), &[50]);
    let n4 = builder.add_op(OpSpec::cost(10.0), &[]);
    let n9 = builder.add_op(OpSpec::cost(10.0), &[]);
    builder.add_edge(n8, 0, n4).unwrap();
    builder.add_edge(n8, 0, n9).unwrap();
    let cluster = Cluster::uniform(5, Kind::Cpu, 10.0, Link { rate: 50.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    let placement = placement(&[3, 4, 4]);
    let placed = PlacedGraph::new(&instance, &placement);
    assert_eq!((placed.transfer_count(), placed.traffic_bytes()), (1, 50));
    let timeline = simulate(&placed, &Fifo, None, &OnePort).unwrap();
    assert_eq!((timeline.start(n4), timeline.start(n9), timeline.makespan()), (2.0, 3.0, 4.0));
    assert_eq!(MemoryUse::new(&placed, &timeline).peaks(), [0, 0, 0, 50, 50]);
}

/// An op of 3 on d0 sends 50 bytes to an op of 6 on d1 over a link of latency 2 and 0.04 a byte, with an overhead of
/// 1 + 0.01 a byte on d0 and 0.5 on d1.
#[test]
fn a_transfer_keeps_its_sender_and_then_its_receiver_busy_under_every_network() {
    let mut alone = GraphBuilder::default();
    let a = alone.add_op(OpSpec::cost(30.0), &[50]);
    let b = alone.add_op(OpSpec::cost(60.0), &[]);
    alone.add_edge(a, 0, b).unwrap();
    let mut among_others = alone.clone();
    let c = among_others.add_op(OpSpec::cost(10.0), &[]);
    among_others.add_edge(a, 0, c).unwrap();
    let d = among_others.add_op(OpSpec::cost(97.5), &[]);
    let cluster = Cluster::new(devices(&[10.0, 10.0]), |_, _| Link { rate: 25.0, latency: 2.0 }).unwrap();
    let overheads = TransferOverheads { send: 1.0, send_per_byte: 0.01, receive: 0.5, receive_per_byte: 0.0 };
    let cluster = cluster.with_transfer_overheads(|_, _| overheads).unwrap();
    let interval = |start, end| Interval { start, end };
    let id = TransferId(0);
    let (alone, among_others) = (alone.build().unwrap(), among_others.build().unwrap());
    for network in NETWORK_MODELS {
        let instance = Instance::new(alone.clone(), cluster.clone()).unwrap();
        let placement_alone = placement(&[0, 1]);
        let placed = PlacedGraph::new(&instance, &placement_alone);
        let timeline = simulate(&placed, &Fifo, None, network).unwrap();
        assert_eq!(timeline.send(id), Some(interval(3.0, 4.5)), "{network}");
        assert_eq!(timeline.transfer(&placed, id), interval(4.5, 8.5), "{network}");
        assert_eq!(timeline.receive(id), Some(interval(8.5, 9.0)), "{network}");
        assert_eq!((timeline.op(b), timeline.makespan()), (interval(9.0, 15.0), 15.0), "{network}");

        // Send and receive wait for their devices: c on d0, which comes before the send at 3, and d on d1 until 9.75.
        let instance = Instance::new(among_others.clone(), cluster.clone()).unwrap();
        let placement = placement(&[0, 1, 0, 1]);
        let placed = PlacedGraph::new(&instance, &placement);
        let timeline = simulate(&placed, &Fifo, None, network).unwrap();
        assert_eq!((timeline.op(c), timeline.op(d)), (interval(3.0, 4.0), interval(0.0, 9.75)), "{network}");
        assert_eq!(timeline.send(id), Some(interval(4.0, 5.5)), "{network}");
        assert_eq!(timeline.transfer(&placed, id), interval(5.5, 9.5), "{network}");
        assert_eq!(timeline.receive(id), Some(interval(9.75, 10.25)), "{network}");
        assert_eq!((timeline.op(b), timeline.makespan()), (interval(10.25, 16.25), 16.25), "{network}");
        assert_eq!(timeline.busy_times(&placed), [3.0 + 1.0 + 1.5, 9.75 + 6.0 + 0.5]);
    }
}

/// Three ops of no time on d0 send 100, 50 and 0 bytes to d1, and one on d2 sends 100, at rate 10 with latency 3.
#[test]
fn under_loggp_an_interface_injects_and_takes_in_one_message_at_a_time_and_latency_keeps_none_busy() {
    let mut builder = GraphBuilder::default();
    let sources = [100, 50, 0, 100].map(|bytes| builder.add_op(OpSpec::cost(0.0), &[bytes]));
    let sinks = sources.map(|source| {
        let sink = builder.add_op(OpSpec::cost(1.0), &[]);
        builder.add_edge(source, 0, sink).unwrap();
        sink
    });
    let cluster = Cluster::new(devices(&[1.0, 1.0, 1.0]), |_, _| Link { rate: 10.0, latency: 3.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    let run = |placement: &Placement, network| {
        let placed = PlacedGraph::new(&instance, placement);
        let timeline = simulate(&placed, &Fifo, None, network).unwrap();
        sinks.map(|sink| {
            placed.transfer_ids().find(|&id| placed.remote_consumers(id) == [sink]).map(|id| {
                let Interval { start, end } = timeline.transfer(&placed, id);
                (start, end)
            })
        })
    };
    // To one receiver: the second message follows 10 after the first, the third, of no bytes, 5 after the second. The first
    // bytes from d2 arrive with those of the first, which has the lower id: they wait until 13. The second arrives at 13,
    // behind it.
    let to_one = run(&placement(&[0, 0, 0, 2, 1, 1, 1, 1]), &LogGp);
    assert_eq!(to_one, [Some((0.0, 13.0)), Some((10.0, 28.0)), Some((15.0, 28.0)), Some((0.0, 23.0))]);
    // To receivers of their own: injected one after the other, and nothing waits at the other end.
    let to_two = run(&placement(&[0, 0, 0, 2, 1, 2, 1, 2]), &LogGp);
    assert_eq!(to_two, [Some((0.0, 13.0)), Some((10.0, 18.0)), Some((15.0, 18.0)), None]);
    // The ports of one_port are held for the latency too.
    let with_ports = run(&placement(&[0, 0, 0, 2, 1, 2, 1, 2]), &OnePort);
    assert_eq!(with_ports, [Some((0.0, 13.0)), Some((13.0, 21.0)), Some((21.0, 24.0)), None]);
}
