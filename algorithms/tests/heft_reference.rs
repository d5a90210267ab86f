//! HEFT against an implementation that is slow and obviously right.

mod support;

use placebench_algorithms::ranks::{Average, AverageTransfer, average_exec_times, upward_ranks};
use placebench_datasets::{DeviceId, Instance, OpId, PlacedGraph, Time};
use proptest::prelude::*;

use support::place;
use support::random::{Limits, instances};
use support::simulator::simulate;

/// Device, start and finish of each op; `None` where an op has no feasible device.
fn reference(instance: &Instance, average: Average) -> Option<Vec<(DeviceId, Time, Time)>> {
    let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
    let ranks = upward_ranks(graph, &average_exec_times(instance, average), AverageTransfer::new(instance, average));
    let mut order: Vec<OpId> = graph.topological_order().collect();
    order.sort_by(|a, b| ranks[b.index()].total_cmp(&ranks[a.index()]));

    let mut unit_device: Vec<Option<DeviceId>> = vec![None; units.count()];
    let mut used = vec![0u64; cluster.device_count()];
    let mut slots: Vec<Option<(DeviceId, Time, Time)>> = vec![None; graph.op_count()];
    let mut timelines: Vec<Vec<(Time, Time)>> = vec![Vec::new(); cluster.device_count()];
    for op in order {
        let unit = units.unit_of(op);
        let mut best: Option<(DeviceId, Time, Time, usize)> = None;
        for device in cluster.device_ids() {
            let feasible = match unit_device[unit.index()] {
                Some(fixed) => fixed == device,
                None => {
                    let needed = units.demand_bytes(unit);
                    let memory = cluster.device(device).memory_bytes;
                    units.kinds(unit).contains(cluster.device(device).kind)
                        && (needed == 0 || memory.is_none_or(|memory| used[device.index()] + needed < memory))
                }
            };
            if !feasible {
                continue;
            }
            let mut ready: Time = 0.0;
            for edge in graph.predecessors(op) {
                let (from, _, finish) = slots[edge.op.index()].unwrap();
                ready = ready.max(finish + cluster.transfer_time(graph.edge_bytes(edge), from, device));
            }
            let exec = instance.exec_time(op, device);
            let timeline = &timelines[device.index()];
            let (mut start, mut position) = (ready, timeline.len());
            let mut free_from: Time = 0.0;
            for (index, &(busy_from, busy_until)) in timeline.iter().enumerate() {
                if free_from.max(ready) + exec <= busy_from {
                    position = index;
                    break;
                }
                free_from = busy_until;
            }
            start = start.max(free_from);
            if best.is_none_or(|(_, _, finish, _)| start + exec < finish) {
                best = Some((device, start, start + exec, position));
            }
        }
        let (device, start, finish, position) = best?;
        if unit_device[unit.index()].is_none() {
            unit_device[unit.index()] = Some(device);
            used[device.index()] += units.demand_bytes(unit);
        }
        timelines[device.index()].insert(position, (start, finish));
        slots[op.index()] = Some((device, start, finish));
    }
    slots.into_iter().collect()
}

fn agrees(instance: &Instance, average: Average, spec: &str) -> Result<(), TestCaseError> {
    let expected = reference(instance, average);
    let found = place(spec, instance).ok();
    prop_assert_eq!(expected.is_some(), found.is_some());
    let (Some(expected), Some(found)) = (expected, found) else { return Ok(()) };
    let devices: Vec<DeviceId> = expected.iter().map(|slot| slot.0).collect();
    prop_assert_eq!(found.placement.devices(), &devices[..]);
    prop_assert_eq!(found.placement.check(instance), Ok(()));
    let plan = found.plan.unwrap();
    prop_assert_eq!(plan.makespan, expected.iter().map(|slot| slot.2).fold(0.0, f64::max));

    let graph = instance.graph();
    let mut order: Vec<OpId> = graph.topological_order().collect();
    order.sort_by(|a, b| {
        let (a, b) = (expected[a.index()], expected[b.index()]);
        a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2))
    });
    prop_assert_eq!(&plan.order, &order);
    let mut position = vec![0; graph.op_count()];
    plan.order.iter().enumerate().for_each(|(at, op)| position[op.index()] = at);
    prop_assert!(graph.edges().all(|(source, edge)| position[source.index()] < position[edge.op.index()]));

    let placed = PlacedGraph::new(instance, &found.placement);
    let run = simulate(&placed, "static", Some(&plan));
    prop_assert_eq!(run.makespan, plan.makespan);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn small_instances_with_all_constraints_are_scheduled_as_by_the_reference(
        instance in instances(Limits { ops: 14, devices: 4, edges: 24, memory: true })
    ) {
        agrees(&instance, Average::Time, "heft")?;
        agrees(&instance, Average::Speed, "heft(average=speed)")?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn larger_instances_fill_many_gaps_as_the_reference_does(
        instance in instances(Limits { ops: 400, devices: 5, edges: 300, memory: false })
    ) {
        agrees(&instance, Average::Time, "heft")?;
    }
}
