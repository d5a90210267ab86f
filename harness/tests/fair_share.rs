//! Fair sharing: worked examples, a textbook reference, and the laws that tie it to the other models.

use placebench_algorithms::schedulers::Fifo;
use placebench_datasets::{
    Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, Link, OpSpec, PlacedGraph, Placement, Time, Topology,
    TopologyLink,
};
use placebench_harness::execute::simulate::{ContentionFree, FairShare, NetworkModel, simulate};
use placebench_harness::timeline::Interval;
use placebench_harness::validator::{Records, Violation, validate};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::support::random::{PLAIN, Shape, instance, shapes};
use crate::support::water_filling;

fn devices(count: usize) -> Vec<Device> {
    let device = |id| Device { name: format!("d{id}"), kind: Kind::Cpu, memory_bytes: None, speed: 1.0 };
    (0..count).map(device).collect()
}

/// A chain of switches with links of these rates between them; devices are tied to it by fast links.
fn chain(device_switch: &[usize], rates: &[f64], latency: Time) -> Cluster {
    let n = device_switch.len();
    let mut vertices: Vec<String> = (0..n).map(|device| format!("d{device}")).collect();
    vertices.extend((0..=rates.len()).map(|switch| format!("s{switch}")));
    let link = |a, b, rate, latency| TopologyLink { a, b, link: Link { rate, latency } };
    let mut links: Vec<TopologyLink> =
        device_switch.iter().enumerate().map(|(device, &switch)| link(device, n + switch, 1000.0, latency)).collect();
    links.extend(rates.iter().enumerate().map(|(at, &rate)| link(n + at, n + at + 1, rate, 0.0)));
    Cluster::from_topology(devices(n), Topology { vertices, links }).unwrap()
}

/// When each of these transfers happens: (from, to, work before it, bytes).
fn transfers(cluster: Cluster, flows: &[(u32, u32, Time, u64)]) -> Vec<Interval> {
    let mut builder = GraphBuilder::default();
    let mut devices = Vec::new();
    for &(from, to, work, bytes) in flows {
        let producer = builder.add_op(OpSpec::cost(work), &[bytes]);
        let consumer = builder.add_op(OpSpec::cost(0.0), &[]);
        builder.add_edge(producer, 0, consumer).unwrap();
        devices.extend([DeviceId(from), DeviceId(to)]);
    }
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    let placement = Placement::new(devices);
    let placed = PlacedGraph::new(&instance, &placement);
    let network: &dyn NetworkModel = &FairShare;
    let timeline = simulate(&placed, &Fifo, None, &FairShare).unwrap();
    assert_eq!(validate(&instance, &placement, &timeline.records(&placed), network.demands()), Ok(()));
    placed.transfer_ids().map(|id| timeline.transfer(&placed, id)).collect()
}

fn ends(cluster: Cluster, flows: &[(u32, u32, Time, u64)]) -> Vec<Time> {
    transfers(cluster, flows).into_iter().map(|at| at.end).collect()
}

#[test]
fn two_equal_flows_on_one_link_take_twice_as_long() {
    // d0 and d1 send to d2 and d3 over one link of 10.
    let cluster = || chain(&[0, 0, 1, 1], &[10.0], 0.0);
    assert_eq!(ends(cluster(), &[(0, 2, 0.0, 100)]), [10.0]);
    assert_eq!(ends(cluster(), &[(0, 2, 0.0, 100), (1, 3, 0.0, 100)]), [20.0, 20.0]);
    // The other direction has the link for itself.
    assert_eq!(ends(cluster(), &[(0, 2, 0.0, 100), (3, 1, 0.0, 100)]), [10.0, 10.0]);
}

#[test]
fn a_flow_that_ends_early_gives_its_share_back() {
    // Three flows at 4 each until 5; then two at 6: 40 more take 40 / 6.
    let flows = [(0, 3, 0.0, 60), (1, 4, 0.0, 60), (2, 5, 0.0, 20)];
    let found = ends(chain(&[0, 0, 0, 1, 1, 1], &[12.0], 0.0), &flows);
    assert_eq!(found[2], 5.0);
    let expected = 5.0 + 40.0 / 6.0;
    assert!(found[..2].iter().all(|end| (end - expected).abs() < 1e-12), "{found:?}");
}

#[test]
fn a_flow_that_begins_later_takes_its_share_from_then_on() {
    // Alone at 10 until 4; together at 5: 60 bytes each are left at 4, the first ends at 16, the second with it.
    assert_eq!(ends(chain(&[0, 0, 1, 1], &[10.0], 0.0), &[(0, 2, 0.0, 100), (1, 3, 4.0, 60)]), [16.0, 16.0]);
}

/// The parking lot of textbooks: a long flow over three links, a short one on each. The second link is the tightest: 3 each.
/// On the others the short flow gets the rest.
#[test]
fn four_flows_on_three_links_get_their_max_min_fair_rates() {
    let cluster = chain(&[0, 3, 0, 1, 1, 2, 2, 3], &[10.0, 6.0, 8.0], 0.0);
    // Bytes in the ratio of the rates 3, 7, 3, 5, so that all end together.
    let flows = [(0, 1, 0.0, 30), (2, 3, 0.0, 70), (4, 5, 0.0, 30), (6, 7, 0.0, 50)];
    assert_eq!(ends(cluster, &flows), [10.0; 4]);
}

#[test]
fn a_flow_takes_no_share_during_its_latency_and_its_pair_bounds_its_rate() {
    // Two latencies of 1: the second flow begins at 2 with the first, though its device could send more.
    let found = transfers(chain(&[0, 0, 1, 1], &[10.0], 1.0), &[(0, 2, 0.0, 100), (1, 3, 1.0, 100)]);
    // The first alone from 2 to 3 (10 bytes), then 5 each: its 90 take until 21; the second has 10 left, alone.
    assert_eq!(found, [Interval { start: 0.0, end: 21.0 }, Interval { start: 1.0, end: 22.0 }]);
    // Without a topology: ports of the fastest pair, 30. A slow pair (10) leaves the rest to the other.
    let rate = |from: DeviceId, to: DeviceId| if (from.0, to.0) == (0, 1) { 10.0 } else { 30.0 };
    let cluster = Cluster::new(devices(3), |from, to| Link { rate: rate(from, to), latency: 0.0 }).unwrap();
    assert_eq!(ends(cluster, &[(0, 1, 0.0, 100), (0, 2, 0.0, 200)]), [10.0, 10.0]);
}

#[test]
fn empty_transfers_and_infinite_rates_take_no_share() {
    let infinite = Link { rate: f64::INFINITY, latency: 2.0 };
    let cluster = Cluster::new(devices(2), |_, _| infinite).unwrap();
    assert_eq!(ends(cluster, &[(0, 1, 0.0, 100), (0, 1, 0.0, 0)]), [2.0, 2.0]);
    assert_eq!(ends(chain(&[0, 1], &[10.0], 0.0), &[(0, 1, 0.0, 0), (0, 1, 0.0, 100)]), [0.0, 10.0]);
}

#[test]
fn fifty_thousand_flows_between_the_same_devices_share_evenly() {
    // d0 sends all of them to d1 at once over a link of 10; they have 1 to 50,000 bytes.
    let count = 50_000u64;
    let flows: Vec<(u32, u32, Time, u64)> = (1..=count).map(|bytes| (0, 1, 0.0, bytes)).collect();
    let found = ends(chain(&[0, 1], &[10.0], 0.0), &flows);
    // When the flow of b bytes ends, the shorter ones have moved all, and it and each longer one b.
    for bytes in [1, 2, 1000, count] {
        let moved = bytes * (bytes - 1) / 2 + (count - bytes + 1) * bytes;
        let expected = moved as f64 / 10.0;
        let end = found[bytes as usize - 1];
        assert!((end - expected).abs() <= 1e-9 * expected, "{bytes} bytes end at {end}, not {expected}");
    }
}

/// The instance with a random tree of switches instead of its links.
fn with_topology(instance: &Instance, seed: u64) -> Instance {
    let mut rng = Pcg64::seed_from_u64(seed);
    let cluster = instance.cluster();
    let (n, switches) = (cluster.device_count(), rng.random_range(1..4usize));
    let mut vertices: Vec<String> = cluster.devices().iter().map(|device| device.name.clone()).collect();
    vertices.extend((0..switches).map(|switch| format!("s{switch}")));
    let latency = if rng.random_bool(0.5) { 0.5 } else { 0.0 };
    let mut links = Vec::new();
    for a in 0..n + switches {
        // Devices hang on switches, and each switch on an earlier one.
        let first_free = if a < n { switches } else { a - n };
        if first_free > 0 {
            let link = Link { rate: f64::from(rng.random_range(1..=4u32)), latency };
            links.push(TopologyLink { a, b: n + rng.random_range(0..first_free), link });
        }
    }
    let wired = Cluster::from_topology(cluster.devices().to_vec(), Topology { vertices, links }).unwrap();
    Instance::new(instance.graph().clone(), wired.with_costs_of(cluster)).unwrap()
}

fn run(shape: Shape, topology: bool) -> (Instance, Placement, Records) {
    let (mut instance, placement) = instance(shape, PLAIN);
    if topology {
        instance = with_topology(&instance, shape.seed);
    }
    let placed = PlacedGraph::new(&instance, &placement);
    let records = simulate(&placed, &Fifo, None, &FairShare).unwrap().records(&placed);
    (instance, placement, records)
}

/// Transfers that nothing orders but the times of their producers, far more than pairs of devices, so that many flow at the
/// same time between the same two and over the same links.
fn crowd(seed: u64, whole_numbers: bool, topology: bool) -> (Instance, Placement, Records) {
    let mut rng = Pcg64::seed_from_u64(seed);
    let n = rng.random_range(2..10u32);
    let span: f64 = [1.0, 10.0, 100.0][rng.random_range(0..3)];
    let rates: Vec<f64> = (0..n * n)
        .map(|_| if whole_numbers { f64::from(rng.random_range(1..=3u32)) } else { rng.random_range(1.0..3.0) })
        .collect();
    let latency = if rng.random_bool(0.3) { 1.0 } else { 0.0 };
    let rate = |from: DeviceId, to: DeviceId| rates[from.index() * n as usize + to.index()];
    let cluster = Cluster::new(devices(n as usize), |from, to| Link { rate: rate(from, to), latency }).unwrap();
    let mut builder = GraphBuilder::default();
    let mut device_of = Vec::new();
    for _ in 0..rng.random_range(1..60) {
        let delay = rng.random_range(0.0..span / 10.0);
        let delay = if whole_numbers { delay.floor() } else { delay };
        let producer = builder.add_op(OpSpec::cost(delay), &[rng.random_range(1..20)]);
        let consumer = builder.add_op(OpSpec::cost(0.0), &[]);
        builder.add_edge(producer, 0, consumer).unwrap();
        let from = rng.random_range(0..n);
        device_of.extend([DeviceId(from), DeviceId((from + rng.random_range(1..n)) % n)]);
    }
    let mut instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    if topology {
        instance = with_topology(&instance, seed);
    }
    let placement = Placement::new(device_of);
    let placed = PlacedGraph::new(&instance, &placement);
    let records = simulate(&placed, &Fifo, None, &FairShare).unwrap().records(&placed);
    (instance, placement, records)
}

fn bytes(instance: &Instance, records: &Records) -> Vec<f64> {
    let size = |tensor| instance.graph().tensor_bytes(tensor) as f64;
    records.transfers.iter().map(|record| record.route.tensor.map_or(0.0, size)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_transfer_ends_when_water_filling_says(shape in shapes(), topology: bool) {
        let (instance, _, records) = run(shape, topology);
        let expected = water_filling::ends(instance.cluster(), &records.transfers, &bytes(&instance, &records));
        for (record, expected) in records.transfers.iter().zip(expected) {
            prop_assert!((record.end - expected).abs() <= 1e-9 * expected.max(1.0), "{:?} ends at {}", record, expected);
        }
    }

    #[test]
    fn the_validator_accepts_every_run_over_a_topology(shape in shapes()) {
        let (instance, placement, records) = run(shape, true);
        let network: &dyn NetworkModel = &FairShare;
        prop_assert_eq!(validate(&instance, &placement, &records, network.demands()), Ok(()));
    }

    /// Ports that are as fast as all their pairs together are never short.
    #[test]
    fn where_no_link_is_shared_it_is_contention_free_bit_for_bit(shape in shapes()) {
        let (instance, placement) = instance(shape, PLAIN);
        // A star of one pair of vertices for each ordered pair of devices: every pair has a link of its own.
        let (cluster, n) = (instance.cluster(), instance.cluster().device_count());
        let mut vertices: Vec<String> = cluster.devices().iter().map(|device| device.name.clone()).collect();
        let mut links = Vec::new();
        for a in 0..n {
            for b in a + 1..n {
                links.push(TopologyLink { a, b, link: cluster.link(DeviceId::new(a), DeviceId::new(b)) });
            }
        }
        vertices.truncate(n);
        let wired = Cluster::from_topology(cluster.devices().to_vec(), Topology { vertices, links }).unwrap();
        let wired = wired.with_costs_of(cluster);
        let instance = Instance::new(instance.graph().clone(), wired).unwrap();
        let placed = PlacedGraph::new(&instance, &placement);
        let timeline = |network| simulate(&placed, &Fifo, None, network).unwrap();
        let (fair, free) = (timeline(&FairShare), timeline(&ContentionFree));
        let overlap = overlap(&fair.records(&placed));
        prop_assert!(overlap || fair.records(&placed) == free.records(&placed));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_transfer_of_a_crowd_ends_when_water_filling_says(seed: u64, whole_numbers: bool, topology: bool) {
        let (instance, placement, records) = crowd(seed, whole_numbers, topology);
        let expected = water_filling::ends(instance.cluster(), &records.transfers, &bytes(&instance, &records));
        for (record, expected) in records.transfers.iter().zip(expected) {
            prop_assert!((record.end - expected).abs() <= 1e-9 * expected.max(1.0), "{:?} ends at {}", record, expected);
        }
        let network: &dyn NetworkModel = &FairShare;
        prop_assert_eq!(validate(&instance, &placement, &records, network.demands()), Ok(()));
    }
}

/// Whether two transfers between the same devices, in the same direction, overlap.
fn overlap(records: &Records) -> bool {
    let moved = &records.transfers;
    moved.iter().enumerate().any(|(index, a)| {
        let is_same_pair = |b: &&placebench_harness::validator::RouteRecord| {
            (a.route.from, a.route.to) == (b.route.from, b.route.to) && a.start < b.end && b.start < a.end
        };
        moved[index + 1..].iter().any(|b| is_same_pair(&b))
    })
}

/// Two flows of 100 bytes over a link of 10, from 0 to 20.
fn two_flows() -> (Instance, Placement, Records) {
    let mut builder = GraphBuilder::default();
    for _ in 0..2 {
        let producer = builder.add_op(OpSpec::cost(0.0), &[100]);
        let consumer = builder.add_op(OpSpec::cost(0.0), &[]);
        builder.add_edge(producer, 0, consumer).unwrap();
    }
    let instance = Instance::new(builder.build().unwrap(), chain(&[0, 0, 1, 1], &[10.0], 0.0)).unwrap();
    let placement = Placement::new([0, 2, 1, 3].map(DeviceId).to_vec());
    let placed = PlacedGraph::new(&instance, &placement);
    let records = simulate(&placed, &Fifo, None, &FairShare).unwrap().records(&placed);
    (instance, placement, records)
}

#[test]
fn a_link_that_carries_more_than_it_can_is_found() {
    let (instance, placement, mut records) = two_flows();
    let network: &dyn NetworkModel = &FairShare;
    records.transfers[1].end = 15.0;
    assert_eq!(validate(&instance, &placement, &records, network.demands()), Ok(()), "100 bytes by 15, 200 by 20");
    records.transfers[0].end = 19.0;
    let violation = validate(&instance, &placement, &records, network.demands()).unwrap_err();
    assert!(matches!(violation, Violation::LinkOverload { .. }));
    let message = "from 0 to 19 the link from 's0' to 's1' carried 200 bytes, but it can carry only 190";
    assert!(violation.to_string().starts_with(message), "{violation}");
}

#[test]
fn a_transfer_that_is_faster_than_its_pair_is_found() {
    let (instance, placement, mut records) = two_flows();
    let network: &dyn NetworkModel = &FairShare;
    records.transfers[1].end = 9.0;
    let violation = validate(&instance, &placement, &records, network.demands()).unwrap_err();
    assert!(matches!(violation, Violation::WrongDuration { .. }), "{violation}");
}
