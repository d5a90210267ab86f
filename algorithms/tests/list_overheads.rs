//! Plans know that sends and receives occupy devices where transfers have overheads.

use std::collections::BTreeSet;

use placebench_algorithms::{PlaceContext, Placer, bounds, registry};
use placebench_datasets::{
    Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, KindSet, Link, OpSpec, PlacedGraph, TransferOverheads,
};
use proptest::prelude::*;

use crate::support::random::{Limits, instances};

const PLACERS: [&str; 10] = ["heft", "cpop", "peft", "lookahead", "etf", "dls", "mcp", "m_topo", "m_etf", "m_sct"];

fn placer(name: &str) -> Box<dyn Placer> {
    registry::placer(&name.parse().unwrap()).unwrap()
}

/// a (1, CPU) feeds b (1, GPU); c (4, CPU) is urgent, too. Sending takes 5 of the CPU, receiving 2 of the GPU; links are free.
fn chain_beside_an_op() -> Instance {
    let mut builder = GraphBuilder::default();
    let on = |kind: Kind, cost| OpSpec { kinds: KindSet::only(kind), ..OpSpec::cost(cost) };
    let a = builder.add_op(on(Kind::Cpu, 1.0), &[8]);
    let b = builder.add_op(on(Kind::Gpu, 1.0), &[]);
    builder.add_op(on(Kind::Cpu, 4.0), &[]);
    builder.add_edge(a, 0, b).unwrap();
    let device = |kind| Device { name: format!("{kind}"), kind, memory_bytes: None, speed: 1.0 };
    let free = Link { rate: f64::INFINITY, latency: 0.0 };
    let overheads = TransferOverheads { send: 5.0, receive: 2.0, ..TransferOverheads::NONE };
    let cluster = Cluster::new([Kind::Cpu, Kind::Gpu].map(device).to_vec(), |_, _| free).unwrap();
    Instance::new(builder.build().unwrap(), cluster.with_transfer_overheads(|_, _| overheads).unwrap()).unwrap()
}

#[test]
fn a_send_waits_until_its_device_is_free_and_a_receive_comes_before_the_op() {
    let plan = placer("heft").place(&chain_beside_an_op(), &PlaceContext::default()).unwrap().plan.unwrap();
    // a 0 to 1, c 1 to 5, the send 5 to 10, the receive 10 to 12, b 12 to 13; as delays alone 1 + 7 + 1.
    assert_eq!(plan.makespan, 13.0);
}

#[test]
fn the_work_of_a_device_includes_the_transfers_that_it_cannot_avoid() {
    // The CPU has a, c and the send of a; the GPU has b and the receive.
    assert_eq!(bounds::total_work(&chain_beside_an_op()), 10.0);
}

/// Overheads of all sorts on links that are as given.
fn with_overheads(instance: &Instance, send: f64, receive: f64) -> Instance {
    let overheads = |from: DeviceId, to: DeviceId| TransferOverheads {
        send: send * f64::from(from.0 + 1),
        send_per_byte: 0.01 * send,
        receive: receive * f64::from(to.0 + 1),
        receive_per_byte: 0.02 * receive,
    };
    let cluster = instance.cluster().clone().with_transfer_overheads(overheads).unwrap();
    Instance::new(instance.graph().clone(), cluster).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn what_occupies_a_device_fits_in_the_plan(
        instance in instances(Limits::exact(9)),
        (send, receive) in (0.0..5.0_f64, 0.0..5.0_f64),
    ) {
        let instance = with_overheads(&instance, send, receive);
        let bound = bounds::best(&instance);
        for name in PLACERS {
            let Ok(decision) = placer(name).place(&instance, &PlaceContext::default()) else { continue };
            let Some(plan) = &decision.plan else { continue };
            let placed = PlacedGraph::new(&instance, &decision.placement);
            let mut busy = vec![0.0; instance.cluster().device_count()];
            for op in instance.graph().op_ids() {
                busy[placed.device_of(op).index()] += placed.exec_time(op);
            }
            for id in placed.transfer_ids() {
                busy[placed.transfer(id).from.index()] += placed.send_time(id);
                busy[placed.transfer(id).to.index()] += placed.receive_time(id);
            }
            let most = busy.iter().copied().fold(0.0, f64::max);
            prop_assert!(most <= plan.makespan * (1.0 + 1e-9), "{}: busy {} of {}", name, most, plan.makespan);
            prop_assert!(bound.value <= plan.makespan * (1.0 + 1e-9), "{}: {:?} above {}", name, bound, plan.makespan);
            let order: BTreeSet<_> = plan.ops().collect();
            prop_assert_eq!(order.len(), instance.graph().op_count());
        }
    }
}
