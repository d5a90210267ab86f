//! Parts that do not go together, graphs at the edge, and groups for which memory is short.

use placebench_algorithms::{PlaceContext, PlaceError, registry};
use placebench_datasets::{Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, Link, OpSpec};

use crate::support::place;

fn refusal(spec: &str) -> String {
    registry::placer(&spec.parse().unwrap()).err().unwrap().to_string()
}

#[test]
fn parts_that_do_not_go_together_are_refused_with_what_would() {
    let cases = [
        ("list(pick=pair,insertion=true)", "'insertion' is 'true', but must be 'false' with pick=pair"),
        ("list(pick=pair,selection=lookahead)", "'pick' is 'pair', but must be 'op' with selection=lookahead"),
        ("list(selection=dynamic_level)", "'pick' is 'op', but must be 'pair' with selection=dynamic_level"),
        ("list(selection=favourite_child)", "'pick' is 'op', but must be 'pair' with selection=favourite_child"),
        (
            "list(priority=topological,pick=pair,selection=dynamic_level)",
            "'priority' is 'topological', but must be 'upward_rank', 'optimistic_cost', 'static_level' or 'median_level'",
        ),
        ("list(priority=urgency)", "must be upward_rank, upward_downward"),
        ("list(insertion=maybe)", "must be true, false or auto"),
        ("m_sct(threshold=0.6)", "must be a number above 0 and at most 0.5"),
        ("m_sct(window=0)", "must be a whole number of at least 1"),
    ];
    for (spec, part) in cases {
        assert!(refusal(spec).contains(part), "{spec}: {}", refusal(spec));
    }
}

#[test]
fn an_empty_graph_has_an_empty_plan() {
    let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(GraphBuilder::default().build().unwrap(), cluster).unwrap();
    for entry in registry::placers() {
        let placer = registry::placer(&entry.name.parse().unwrap()).unwrap();
        if placer.makes_plan() {
            let plan = placer.place(&instance, &PlaceContext::default()).unwrap().plan.unwrap();
            assert_eq!((plan.tasks.len(), plan.makespan), (0, 0.0), "{}", entry.name);
        }
    }
}

/// Two ops of 30 bytes, apart or colocated; a fast device with so much memory, and a slow one with twice that.
fn two_ops(memory_bytes: u64, colocated: bool) -> Instance {
    let mut builder = GraphBuilder::default();
    let ops = [(); 2].map(|()| builder.add_op(OpSpec { memory_bytes: 30, ..OpSpec::cost(10.0) }, &[]));
    if colocated {
        builder.colocate(ops[0], ops[1]).unwrap();
    }
    let device = |name: &str, speed, memory| Device {
        name: name.to_owned(),
        kind: Kind::Cpu,
        memory_bytes: Some(memory),
        speed,
    };
    let devices = vec![device("fast", 10.0, memory_bytes), device("slow", 1.0, 2 * memory_bytes)];
    let cluster = Cluster::new(devices, |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
    Instance::new(builder.build().unwrap(), cluster).unwrap()
}

#[test]
fn the_memory_of_a_whole_group_is_claimed_when_its_first_member_is_placed() {
    let devices = |instance: &Instance| place("heft", instance).unwrap().placement.devices().to_vec();
    // One op of 30 bytes fits into 50 bytes on the fast device, the group of 60 does not.
    assert_eq!(devices(&two_ops(50, false)), [DeviceId(0), DeviceId(1)]);
    assert_eq!(devices(&two_ops(50, true)), [DeviceId(1), DeviceId(1)]);
    assert_eq!(devices(&two_ops(61, true)), [DeviceId(0), DeviceId(0)]);
    let error = place("heft", &two_ops(30, true)).unwrap_err();
    let PlaceError::Infeasible { unit, demand_bytes, free_bytes, .. } = &error else { panic!("{error}") };
    assert_eq!((unit.as_str(), *demand_bytes, *free_bytes), ("the group of 2 with op 0", 60, 60));
}
