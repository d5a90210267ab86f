//! HEFT where kinds, colocation and memory leave it less choice.

mod support;

use placebench_algorithms::{PlaceContext, PlaceError, registry};
use placebench_datasets::{Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, Link, OpSpec};

use support::place;

/// A fast device with so much memory, and a slow one with twice that.
fn cluster(memory_bytes: u64) -> Cluster {
    let device = |name: &str, speed, memory| Device {
        name: name.to_owned(),
        kind: Kind::Cpu,
        memory_bytes: Some(memory),
        speed,
    };
    let devices = vec![device("fast", 10.0, memory_bytes), device("slow", 1.0, 2 * memory_bytes)];
    Cluster::new(devices, |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap()
}

fn instance(memory_bytes: u64, colocated: bool) -> Instance {
    let mut builder = GraphBuilder::default();
    let ops = [(); 2].map(|()| builder.add_op(OpSpec { memory_bytes: 30, ..OpSpec::cost(10.0) }, &[]));
    if colocated {
        builder.colocate(ops[0], ops[1]).unwrap();
    }
    Instance::new(builder.build().unwrap(), cluster(memory_bytes)).unwrap()
}

#[test]
fn the_memory_of_a_whole_group_is_claimed_when_its_first_member_is_placed() {
    let devices = |instance: &Instance| place("heft", instance).unwrap().placement.devices().to_vec();
    // One op of 30 bytes fits into 50 bytes on the fast device, the group of 60 does not.
    assert_eq!(devices(&instance(50, false)), [DeviceId(0), DeviceId(1)]);
    assert_eq!(devices(&instance(50, true)), [DeviceId(1), DeviceId(1)]);
    assert_eq!(devices(&instance(61, true)), [DeviceId(0), DeviceId(0)]);
}

#[test]
fn an_op_that_fits_nowhere_is_named() {
    let error = place("heft", &instance(30, true)).unwrap_err();
    let PlaceError::Infeasible { unit, demand_bytes, free_bytes, .. } = &error else { panic!("{error}") };
    assert_eq!((unit.as_str(), *demand_bytes, *free_bytes), ("the group of 2 with op 0", 60, 60));
}

#[test]
fn the_plan_of_a_graph_without_ops_is_empty() {
    let instance = Instance::new(GraphBuilder::default().build().unwrap(), cluster(1)).unwrap();
    let plan = place("heft", &instance).unwrap().plan.unwrap();
    assert_eq!((plan.order.len(), plan.makespan), (0, 0.0));
}

#[test]
fn it_stops_when_asked() {
    let context = PlaceContext::default();
    context.stop.stop();
    let placer = registry::placer(&"heft".parse().unwrap()).unwrap();
    assert_eq!(placer.place(&instance(61, false), &context), Err(PlaceError::Stopped));
}
