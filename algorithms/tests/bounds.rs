//! Lower bounds on instances with known values, and against what HEFT finds. That none exceeds the optimum of small instances
//! is tested where exhaustive search is: `harness/tests/optimum.rs`.

use placebench_algorithms::bounds::{self, OptimisticCosts};
use placebench_datasets::{Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, KindSet, Link, OpId, OpSpec, Time};
use proptest::prelude::*;

use crate::support::instances::{arabnejad, from_text, topcuoglu};
use crate::support::place;
use crate::support::random::{Limits, instances};

fn value(instance: &Instance, name: &str) -> Time {
    bounds::all(instance).into_iter().find(|bound| bound.name == name).unwrap().value
}

#[test]
fn the_published_instances_have_the_known_bounds() {
    assert_eq!(value(&topcuoglu(), "critical_path"), 41.0);
    assert_eq!(value(&topcuoglu(), "optimistic_cost"), 54.0);
    assert_eq!(value(&arabnejad(), "critical_path"), 75.0);
    assert_eq!(value(&arabnejad(), "optimistic_cost"), 86.0);
    assert_eq!(bounds::slr_denominator(&topcuoglu()), 41.0);
}

#[test]
fn the_first_row_of_pefts_table_is_the_published_one() {
    let instance = arabnejad();
    let costs = OptimisticCosts::new(&instance);
    // The published table leaves out the op's own time.
    let row = instance
        .cluster()
        .device_ids()
        .map(|device| costs.on(OpId(0), device).unwrap() - instance.exec_time(OpId(0), device));
    assert_eq!(row.collect::<Vec<_>>(), [64.0, 68.0, 86.0]);
}

#[test]
fn the_schedule_length_ratio_is_that_of_an_independent_implementation() {
    let instance = from_text(include_str!("data/l1k-het.txt"));
    let makespan = place("heft", &instance).unwrap().plan.unwrap().makespan;
    assert_eq!(format!("{:.2}", makespan / bounds::slr_denominator(&instance)), "2.60");
}

#[test]
fn the_largest_bound_is_the_best_and_carries_its_name() {
    // Two ops of one group, 5 units each on the only fast device, next to each other in no path.
    let mut builder = GraphBuilder::default();
    let a = builder.add_op(OpSpec::cost(50.0), &[]);
    let b = builder.add_op(OpSpec::cost(50.0), &[]);
    builder.colocate(a, b).unwrap();
    let graph = builder.build().unwrap();
    let cluster = Cluster::uniform(4, Kind::Cpu, 10.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    let best = bounds::best(&Instance::new(graph, cluster).unwrap());
    assert_eq!((best.value, best.name), (10.0, "colocated_work"));
}

/// One op, `wide` ops after it, one op after those: 1, 5 each, 1 unit of time. Each transfer takes `bytes`.
fn fork_join(wide: u32, bytes: u64, together: bool) -> Instance {
    let mut builder = GraphBuilder::default();
    let fork = builder.add_op(OpSpec::cost(1.0), &[bytes]);
    let middle: Vec<OpId> = (0..wide).map(|_| builder.add_op(OpSpec::cost(5.0), &[bytes])).collect();
    let join = builder.add_op(OpSpec::cost(1.0), &[]);
    for &op in &middle {
        builder.add_edge(fork, 0, op).unwrap();
        builder.add_edge(op, 0, join).unwrap();
    }
    if together {
        middle.windows(2).for_each(|pair| builder.colocate(pair[0], pair[1]).unwrap());
    }
    let cluster = Cluster::uniform(4, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    Instance::new(builder.build().unwrap(), cluster).unwrap()
}

#[test]
fn ops_whose_transfers_come_too_late_share_a_device() {
    let bound = |wide, bytes, together| value(&fork_join(wide, bytes, together), "forced_together");
    // On one device: 1 + 2 · 5 + 1.
    assert_eq!(bound(2, 100, false), 12.0);
    assert_eq!(value(&fork_join(2, 100, false), "optimistic_cost"), 7.0);
    // One of the two may come from elsewhere, at 1 + 5 + 1 at the earliest.
    assert_eq!(bound(2, 1, false), 8.0);
    // Of three, two are on the device of the join, or a transfer of 4 comes at 10.
    assert_eq!(bound(3, 4, false), 11.0);
    // A group: 15 on one device, after the fork and before the join.
    assert_eq!(bound(3, 1, true), 17.0);
    assert_eq!(bound(0, 1, false), 1.0);
}

#[test]
fn what_only_another_kind_can_do_is_never_taken_to_be_together() {
    // GPU, CPU, GPU: two transfers of 100, whatever shares a device.
    let mut builder = GraphBuilder::default();
    let gpu = OpSpec { kinds: KindSet::only(Kind::Gpu), ..OpSpec::cost(1.0) };
    let cpu = OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(1.0) };
    let (a, b) = (builder.add_op(gpu.clone(), &[100]), builder.add_op(cpu, &[100]));
    let c = builder.add_op(gpu, &[]);
    builder.add_edge(a, 0, b).unwrap();
    builder.add_edge(b, 0, c).unwrap();
    let devices =
        [Kind::Gpu, Kind::Cpu].map(|kind| Device { name: format!("{kind:?}"), kind, memory_bytes: None, speed: 1.0 });
    let link = Link { rate: 1.0, latency: 0.0 };
    let cluster = Cluster::new(devices.to_vec(), |_, _| link).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    assert_eq!(value(&instance, "forced_together"), 203.0);
}

#[test]
fn an_empty_graph_takes_no_time() {
    let cluster = Cluster::uniform(2, Kind::Cpu, 10.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(GraphBuilder::default().build().unwrap(), cluster).unwrap();
    assert_eq!(bounds::best(&instance).value, 0.0);
}

#[test]
fn a_transfer_between_kinds_counts_at_the_best_rate_of_all_pairs() {
    // A CPU op, then a GPU op: 10 bytes at rate 5 from one of six CPUs, at rate 1 from the others.
    let mut builder = GraphBuilder::default();
    let cpu = builder.add_op(OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(1.0) }, &[10]);
    let gpu = builder.add_op(OpSpec { kinds: KindSet::only(Kind::Gpu), ..OpSpec::cost(1.0) }, &[]);
    builder.add_edge(cpu, 0, gpu).unwrap();
    let graph = builder.build().unwrap();
    for gpus in [1, 6] {
        let device = |id| Device {
            name: format!("d{id}"),
            kind: if id < 6 { Kind::Cpu } else { Kind::Gpu },
            memory_bytes: None,
            speed: 1.0,
        };
        let link = |from: DeviceId, _| Link { rate: if from.0 == 3 { 5.0 } else { 1.0 }, latency: 0.5 };
        let cluster = Cluster::new((0..6 + gpus).map(device).collect(), link).unwrap();
        let instance = Instance::new(graph.clone(), cluster).unwrap();
        assert_eq!(value(&instance, "optimistic_cost"), 1.0 + 0.5 + 2.0 + 1.0);
    }
}

#[test]
fn colocated_ops_do_not_each_count_on_the_kind_that_suits_them() {
    let mut builder = GraphBuilder::default();
    let a = builder.add_op(OpSpec { times: &[("cpu", 1.0), ("gpu", 10.0)], ..OpSpec::default() }, &[0]);
    let b = builder.add_op(OpSpec { times: &[("cpu", 10.0), ("gpu", 1.0)], ..OpSpec::default() }, &[]);
    builder.add_edge(a, 0, b).unwrap();
    let apart = builder.clone().build().unwrap();
    builder.colocate(a, b).unwrap();
    let together = builder.build().unwrap();
    let device = |kind: Kind| Device { name: kind.to_string(), kind, memory_bytes: None, speed: 1.0 };
    let link = Link { rate: 1.0, latency: 0.0 };
    let cluster = Cluster::new(vec![device(Kind::Cpu), device(Kind::Gpu)], |_, _| link).unwrap();
    assert_eq!(value(&Instance::new(apart, cluster.clone()).unwrap(), "optimistic_cost"), 2.0);
    assert_eq!(value(&Instance::new(together, cluster).unwrap(), "optimistic_cost"), 11.0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn no_bound_exceeds_what_heft_finds_on_clusters_with_many_devices_of_a_kind(
        instance in instances(Limits { ops: 40, devices: 12, edges: 60, memory: false, exact: false })
    ) {
        let makespan = place("heft", &instance).unwrap().plan.unwrap().makespan;
        for bound in bounds::all(&instance) {
            prop_assert!(bound.value <= makespan * (1.0 + 1e-12), "{bound:?} exceeds {makespan}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_bound_exceeds_what_a_search_finds(
        instance in instances(Limits { ops: 20, devices: 4, edges: 40, memory: false, exact: false })
    ) {
        for placer in ["single_device", "etf", "sweep(preset=fast)"] {
            let Some(plan) = place(placer, &instance).unwrap().plan else { continue };
            for bound in bounds::all(&instance) {
                prop_assert!(bound.value <= plan.makespan * (1.0 + 1e-12), "{bound:?} exceeds {} of {placer}", plan.makespan);
            }
        }
    }
}
