//! All list schedulers against an implementation that is slow and obviously right.

#[path = "../benches/instances/mod.rs"]
mod large;

use placebench_algorithms::Named;
use placebench_algorithms::placers::{Pick, Priority, Selection};
use placebench_algorithms::ranks::{Average, AverageTransfer, average_exec_times};
use placebench_datasets::{DataflowGraph, DeviceId, Instance, OpId, Time, UnitId};
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::place;
use crate::support::random::{Limits, instances};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Slot {
    device: DeviceId,
    start: Time,
    finish: Time,
}

/// A schedule in the making, with lists of slots that are searched from the front.
#[derive(Clone)]
struct State<'a> {
    instance: &'a Instance,
    insertion: bool,
    device_of_unit: Vec<Option<DeviceId>>,
    used: Vec<u64>,
    slots: Vec<Option<Slot>>,
    timelines: Vec<Vec<(Time, Time)>>,
    sequence: Vec<OpId>,
}

impl<'a> State<'a> {
    fn new(instance: &'a Instance, insertion: bool) -> Self {
        let devices = instance.cluster().device_count();
        Self {
            instance,
            insertion,
            device_of_unit: vec![None; instance.units().count()],
            used: vec![0; devices],
            slots: vec![None; instance.graph().op_count()],
            timelines: vec![Vec::new(); devices],
            sequence: Vec::new(),
        }
    }

    fn unit(&self, op: OpId) -> UnitId {
        self.instance.units().unit_of(op)
    }

    fn is_feasible(&self, op: OpId, device: DeviceId) -> bool {
        let (unit, cluster) = (self.unit(op), self.instance.cluster());
        match self.device_of_unit[unit.index()] {
            Some(fixed) => fixed == device,
            None => {
                let needed = self.instance.units().demand_bytes(unit);
                let memory = cluster.device(device).memory_bytes;
                self.instance.units().kinds(unit).contains(cluster.device(device).kind)
                    && (needed == 0 || memory.is_none_or(|memory| self.used[device.index()] + needed < memory))
            }
        }
    }

    fn feasible(&self, op: OpId) -> Vec<DeviceId> {
        self.instance.cluster().device_ids().filter(|&device| self.is_feasible(op, device)).collect()
    }

    /// Where an op would go on a device; predecessors that have no slot do not count.
    fn slot(&self, op: OpId, device: DeviceId) -> Slot {
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        let mut ready: Time = 0.0;
        for edge in graph.predecessors(op) {
            if let Some(before) = self.slots[edge.op.index()] {
                let time = cluster.transfer_time(graph.edge_bytes(edge), before.device, device);
                ready = ready.max(before.finish + time);
            }
        }
        let exec = self.instance.exec_time(op, device);
        let mut free_from: Time = 0.0;
        for &(busy_from, busy_until) in &self.timelines[device.index()] {
            if self.insertion && free_from.max(ready) + exec <= busy_from {
                break;
            }
            free_from = busy_until;
        }
        let start = free_from.max(ready);
        Slot { device, start, finish: start + exec }
    }

    fn put(&mut self, op: OpId, slot: Slot) {
        let unit = self.unit(op);
        if self.device_of_unit[unit.index()].is_none() {
            self.device_of_unit[unit.index()] = Some(slot.device);
            self.used[slot.device.index()] += self.instance.units().demand_bytes(unit);
        }
        let timeline = &mut self.timelines[slot.device.index()];
        let at = timeline.iter().position(|other| slot.finish <= other.0 && other.1 > slot.start);
        timeline.insert(at.unwrap_or(timeline.len()), (slot.start, slot.finish));
        self.slots[op.index()] = Some(slot);
        self.sequence.push(op);
    }

    fn is_ready(&self, op: OpId) -> bool {
        let placed = |before: &OpId| self.slots[before.index()].is_some();
        self.slots[op.index()].is_none() && self.instance.graph().predecessor_ops(op).iter().all(placed)
    }
}

/// The first with the least key.
fn least<T: Copy>(all: impl IntoIterator<Item = T>, key: impl Fn(T) -> Time) -> Option<T> {
    all.into_iter().reduce(|best, other| if key(other) < key(best) { other } else { best })
}

/// The longest path from each op to the end.
fn levels(graph: &DataflowGraph, exec: &[Time], transfer: impl Fn(u64) -> Time) -> Vec<Time> {
    let mut levels = vec![0.0; graph.op_count()];
    for op in graph.topological_order().rev() {
        let mut behind: Time = 0.0;
        for edge in graph.successors(op) {
            behind = behind.max(transfer(graph.edge_bytes(edge)) + levels[edge.op.index()]);
        }
        levels[op.index()] = exec[op.index()] + behind;
    }
    levels
}

/// The longest path from the start to each op, which adds the times of the predecessors and not of the op.
fn downward(graph: &DataflowGraph, exec: &[Time], transfer: impl Fn(u64) -> Time) -> Vec<Time> {
    let mut ranks: Vec<Time> = vec![0.0; graph.op_count()];
    for op in graph.topological_order() {
        for edge in graph.predecessors(op) {
            let before = edge.op.index();
            ranks[op.index()] = ranks[op.index()].max(ranks[before] + exec[before] + transfer(graph.edge_bytes(edge)));
        }
    }
    ranks
}

fn median_times(instance: &Instance) -> Vec<Time> {
    let (cluster, units) = (instance.cluster(), instance.units());
    let median = |op: OpId| {
        let allowed = cluster.device_ids().filter(|&device| units.kind_allows(units.unit_of(op), cluster, device));
        let mut times: Vec<Time> = allowed.map(|device| instance.exec_time(op, device)).collect();
        times.sort_by(Time::total_cmp);
        (times[(times.len() - 1) / 2] + times[times.len() / 2]) / 2.0
    };
    instance.graph().op_ids().map(median).collect()
}

/// PEFT's table, Eq. 3 as written; infinite on devices of other kinds.
fn optimistic_costs(instance: &Instance, transfer: impl Fn(u64) -> Time) -> Vec<Vec<Time>> {
    let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
    let mut costs: Vec<Vec<Time>> = vec![vec![0.0; cluster.device_count()]; graph.op_count()];
    for op in graph.topological_order().rev() {
        for p in cluster.device_ids() {
            for edge in graph.successors(op) {
                let mut best = f64::INFINITY;
                for q in cluster.device_ids() {
                    if units.kind_allows(units.unit_of(edge.op), cluster, q) {
                        let behind = instance.exec_time(edge.op, q) + costs[edge.op.index()][q.index()];
                        best = best.min(behind + if p == q { 0.0 } else { transfer(graph.edge_bytes(edge)) });
                    }
                }
                costs[op.index()][p.index()] = costs[op.index()][p.index()].max(best);
            }
        }
    }
    costs
}

#[derive(Clone, Copy, Debug)]
struct Parts {
    priority: Priority,
    pick: Pick,
    selection: Selection,
    insertion: bool,
    average: Average,
}

/// The slot of each op and the order in which they were scheduled; `None` where an op has no feasible device. Sets
/// `rounding_decides` if two pairs are equal but for rounding, so that the order of additions decides between them.
fn reference(instance: &Instance, parts: Parts, rounding_decides: &mut bool) -> Option<(Vec<Slot>, Vec<OpId>)> {
    let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
    let average = AverageTransfer::new(instance, parts.average);
    let transfer = |bytes: u64| average.time(bytes);
    let means = average_exec_times(instance, parts.average);
    let exec = if parts.priority == Priority::MedianLevel { median_times(instance) } else { means.clone() };
    let upward = levels(graph, &exec, transfer);
    let before = downward(graph, &exec, transfer);
    let costs = optimistic_costs(instance, transfer);
    let mean_cost = |op: OpId| {
        let allowed = cluster.device_ids().filter(|&device| units.kind_allows(units.unit_of(op), cluster, device));
        let row: Vec<Time> = allowed.map(|device| costs[op.index()][device.index()]).collect();
        row.iter().sum::<Time>() / row.len() as Time
    };
    let ranks: Vec<Time> = match parts.priority {
        Priority::UpwardRank | Priority::Alap => upward.clone(),
        Priority::UpwardDownward => upward.iter().zip(&before).map(|(up, down)| up + down).collect(),
        Priority::OptimisticCost => graph.op_ids().map(mean_cost).collect(),
        Priority::StaticLevel | Priority::MedianLevel => levels(graph, &exec, |_| 0.0),
        Priority::TopLevel => before.iter().map(|rank| -rank).collect(),
        Priority::Topological => vec![0.0; graph.op_count()],
    };
    let second = |op: OpId| match parts.priority {
        Priority::Alap => graph.successor_ops(op).iter().map(|after| upward[after.index()]).fold(0.0, Time::max),
        _ => 0.0,
    };
    let mut order: Vec<OpId> = graph.topological_order().collect();
    order.sort_by(|&a, &b| {
        ranks[b.index()].partial_cmp(&ranks[a.index()]).unwrap().then(second(b).total_cmp(&second(a)))
    });
    let mut extension: Vec<OpId> = Vec::new();
    while extension.len() < order.len() {
        let next = order.iter().find(|op| {
            !extension.contains(op) && graph.predecessor_ops(**op).iter().all(|before| extension.contains(before))
        });
        extension.extend(next);
    }
    let (path, processor) = critical_path(instance, &levels(graph, &means, transfer), transfer);
    let demands: Vec<u64> = units.ids().map(|unit| units.demand_bytes(unit)).collect();
    let by_speed = devices_by_speed(instance);
    let share = demands.iter().sum::<u64>() / by_speed.len() as u64 + demands.iter().max().unwrap_or(&0);
    let mut filling = 0;

    let mut state = State::new(instance, parts.insertion);
    for _ in 0..graph.op_count() {
        let ready: Vec<OpId> = order.iter().copied().filter(|&op| state.is_ready(op)).collect();
        if parts.pick == Pick::Pair {
            let addend = |op: OpId, device| match parts.selection {
                Selection::EarliestStart => 0.0,
                Selection::EarliestFinish => instance.exec_time(op, device),
                Selection::DynamicLevel => instance.exec_time(op, device) - exec[op.index()] - ranks[op.index()],
                other => panic!("{other:?} picks no pairs"),
            };
            let value = |&(op, device): &(OpId, DeviceId)| state.slot(op, device).start + addend(op, device);
            let position = |op: OpId| order.iter().position(|&other| other == op).unwrap();
            let better = |a: (OpId, DeviceId), b: (OpId, DeviceId)| {
                let by_value = value(&a).total_cmp(&value(&b)).then(position(a.0).cmp(&position(b.0)));
                let finish = |(op, device): (OpId, DeviceId)| state.slot(op, device).finish;
                if by_value.then(finish(a).total_cmp(&finish(b))).is_le() { a } else { b }
            };
            let of_device = |device: DeviceId| {
                let idle = state.timelines[device.index()].last().map_or(0.0, |slot| slot.1);
                let pairs = ready.iter().filter(|&&op| state.is_feasible(op, device)).map(|&op| (op, device));
                let (now, later): (Vec<_>, Vec<_>) = pairs.partition(|&(op, _)| state.slot(op, device).start == idle);
                // Of those that start together what is added decides, before rounding.
                let now = least(now, |(op, _)| addend(op, device));
                now.into_iter().chain(later).reduce(better)
            };
            let best = cluster.device_ids().filter_map(of_device).reduce(better)?;
            let exact = |&(op, device): &(OpId, DeviceId)| (state.slot(op, device).start, addend(op, device));
            *rounding_decides |= cluster
                .device_ids()
                .flat_map(|device| ready.iter().map(move |&op| (op, device)))
                .filter(|&(op, device)| state.is_feasible(op, device) && exact(&(op, device)) != exact(&best))
                .any(|pair| (value(&pair) - value(&best)).abs() <= 1e-12 * value(&best).abs().max(1.0));
            let (op, device) = best;
            state.put(op, state.slot(op, device));
            continue;
        }
        let op = ready[0];
        let feasible = state.feasible(op);
        let by_finish = |state: &State<'_>| least(feasible.clone(), |device| state.slot(op, device).finish);
        let device = if state.device_of_unit[units.unit_of(op).index()].is_some() {
            feasible[0]
        } else {
            match parts.selection {
                Selection::EarliestFinish => by_finish(&state)?,
                Selection::EarliestStart => {
                    let slot = |device: DeviceId| state.slot(op, device);
                    let first = least(feasible.clone(), |device| slot(device).start)?;
                    let start = slot(first).start;
                    least(feasible.into_iter().filter(|&device| slot(device).start == start), |device| {
                        slot(device).finish
                    })?
                }
                Selection::FinishPlusCost => {
                    least(feasible, |device| state.slot(op, device).finish + costs[op.index()][device.index()])?
                }
                Selection::Lookahead => {
                    let mut tried = feasible.clone();
                    tried.sort_by(|&a, &b| state.slot(op, a).finish.total_cmp(&state.slot(op, b).finish));
                    let last = |device| last_child(&state, &extension, op, device).unwrap_or(f64::INFINITY);
                    least(tried, last)?
                }
                Selection::CriticalPath if path.contains(&op) && feasible.contains(&processor) => processor,
                Selection::CriticalPath => by_finish(&state)?,
                Selection::Fill => {
                    let demand = demands[units.unit_of(op).index()];
                    let fits = |device: DeviceId| state.used[device.index()] + demand <= share;
                    while filling + 1 < by_speed.len() && !fits(by_speed[filling]) {
                        filling += 1;
                    }
                    let from_here = by_speed[filling..].iter().chain(&by_speed[..filling]).copied();
                    let in_order: Vec<DeviceId> = from_here.filter(|device| feasible.contains(device)).collect();
                    let emptiest = || least(in_order.clone(), |device| state.used[device.index()] as f64);
                    in_order.iter().copied().find(|&device| fits(device)).or_else(emptiest)?
                }
                other => panic!("{other:?} picks pairs"),
            }
        };
        state.put(op, state.slot(op, device));
    }
    Some((state.slots.into_iter().collect::<Option<_>>()?, state.sequence))
}

/// The devices that some op may run on, by how much longer than the fastest devices they need for what they may run; after all
/// others those that need more than ten times as long, or may run less than a tenth of the ops.
fn devices_by_speed(instance: &Instance) -> Vec<DeviceId> {
    let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
    let allowed =
        |device: DeviceId| graph.op_ids().filter(move |&op| units.kind_allows(units.unit_of(op), cluster, device));
    // Units, not ops, are what the fastest device is chosen for.
    let unit_time = |unit: UnitId, device| units.members(unit).iter().map(|&op| instance.exec_time(op, device)).sum();
    let least = |unit: UnitId| {
        let on = cluster.device_ids().filter(|&device| units.kind_allows(unit, cluster, device));
        on.map(|device| unit_time(unit, device)).fold(f64::INFINITY, Time::min)
    };
    let slowness = |device: DeviceId| {
        let here: Vec<UnitId> = units.ids().filter(|&unit| units.kind_allows(unit, cluster, device)).collect();
        let time: Time = here.iter().map(|&unit| unit_time(unit, device)).sum();
        let fastest: Time = here.iter().map(|&unit| least(unit)).sum();
        let ratio = if fastest > 0.0 { time / fastest } else { 1.0 };
        // What differs by rounding alone is equal.
        (ratio * 1e9).round()
    };
    let mut devices: Vec<DeviceId> = cluster.device_ids().filter(|&device| allowed(device).next().is_some()).collect();
    let is_worker =
        |&device: &DeviceId| slowness(device) <= 10.0 * 1e9 && 10 * allowed(device).count() >= graph.op_count();
    let any = devices.iter().any(is_worker);
    devices.sort_by_key(|device| (any && !is_worker(device), slowness(*device) as u64));
    devices
}

/// When the last successor finishes if the op goes to `device`; `None` if one of them finds no room.
fn last_child(state: &State<'_>, order: &[OpId], op: OpId, device: DeviceId) -> Option<Time> {
    let mut trial = state.clone();
    let slot = trial.slot(op, device);
    trial.put(op, slot);
    let successors = state.instance.graph().successor_ops(op);
    let mut last = slot.finish;
    for &after in order.iter().filter(|after| successors.contains(after)) {
        let best = least(trial.feasible(after), |device| trial.slot(after, device).finish)?;
        let slot = trial.slot(after, best);
        trial.put(after, slot);
        last = last.max(slot.finish);
    }
    Some(last)
}

/// The ops of the critical path and its device.
fn critical_path(instance: &Instance, upward: &[Time], transfer: impl Fn(u64) -> Time) -> (Vec<OpId>, DeviceId) {
    let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
    let mut path: Vec<(OpId, Time)> = Vec::new();
    let sources = graph.op_ids().filter(|&op| graph.in_degree(op) == 0);
    let mut next = least(sources, |op| -upward[op.index()]).map(|op| (op, 0.0));
    while let Some((op, arriving)) = next {
        path.push((op, arriving));
        let edge = least(graph.successors(op), |edge| -(transfer(graph.edge_bytes(edge)) + upward[edge.op.index()]));
        next = edge.map(|edge| (edge.op, transfer(graph.edge_bytes(edge))));
    }
    let length = |device: DeviceId| {
        let here = |op: OpId| units.kind_allows(units.unit_of(op), cluster, device);
        let mut length = 0.0;
        for (at, &(op, arriving)) in path.iter().enumerate() {
            if at > 0 && !(here(op) && here(path[at - 1].0)) {
                length += arriving;
            }
            length += if here(op) { instance.exec_time(op, device) } else { instance.min_exec_time(op) };
        }
        length
    };
    // A device that no op may run on takes no path.
    let is_usable = |&device: &DeviceId| units.ids().any(|unit| units.kind_allows(unit, cluster, device));
    let processor = least(cluster.device_ids().filter(is_usable), length).unwrap();
    (path.into_iter().map(|(op, _)| op).collect(), processor)
}

fn spec(parts: Parts) -> String {
    format!(
        "list(priority={},pick={},selection={},insertion={},average={})",
        parts.priority.name(),
        parts.pick.name(),
        parts.selection.name(),
        parts.insertion,
        parts.average.name(),
    )
}

fn agrees(instance: &Instance, parts: Parts) -> Result<(), TestCaseError> {
    let mut rounding_decides = false;
    let expected = reference(instance, parts, &mut rounding_decides);
    let found = place(&spec(parts), instance).ok();
    // EarliestStart and EarliestFinish add at most once, as the placer does; levels are sums of several.
    if rounding_decides && parts.selection == Selection::DynamicLevel {
        return found.map_or(Ok(()), |found| keeps_the_laws(instance, &found));
    }
    prop_assert_eq!(expected.is_some(), found.is_some());
    let (Some((expected, sequence)), Some(found)) = (expected, found) else { return Ok(()) };
    let devices: Vec<DeviceId> = expected.iter().map(|slot| slot.device).collect();
    prop_assert_eq!(found.placement.devices(), &devices[..]);
    prop_assert_eq!(found.placement.check(instance), Ok(()));
    let plan = found.plan.as_ref().unwrap();
    prop_assert_eq!(plan.makespan, expected.iter().map(|slot| slot.finish).fold(0.0, f64::max));
    let mut order = match parts.insertion {
        true => instance.graph().topological_order().collect(),
        false => sequence,
    };
    order.sort_by(|a, b| {
        let (a, b) = (expected[a.index()], expected[b.index()]);
        a.start.total_cmp(&b.start).then(a.finish.total_cmp(&b.finish))
    });
    prop_assert_eq!(plan.ops().collect::<Vec<_>>(), order);
    keeps_the_laws(instance, &found)
}

/// The order is a linear extension.
fn keeps_the_laws(instance: &Instance, found: &placebench_algorithms::Decision) -> Result<(), TestCaseError> {
    let (graph, plan) = (instance.graph(), found.plan.as_ref().unwrap());
    let mut position = vec![0; graph.op_count()];
    plan.ops().enumerate().for_each(|(at, op)| position[op.index()] = at);
    prop_assert!(graph.edges().all(|(source, edge)| position[source.index()] < position[edge.op.index()]));
    Ok(())
}

fn parts() -> impl Strategy<Value = Parts> {
    let priority = || select(Priority::NAMES.iter().map(|&(_, value)| value).collect::<Vec<_>>());
    let average = || select(vec![Average::Time, Average::Speed]);
    let ops = select(vec![
        Selection::EarliestFinish,
        Selection::EarliestStart,
        Selection::FinishPlusCost,
        Selection::Lookahead,
        Selection::Lookahead,
        Selection::CriticalPath,
        Selection::Fill,
    ]);
    let levels =
        select(vec![Priority::UpwardRank, Priority::OptimisticCost, Priority::StaticLevel, Priority::MedianLevel]);
    let pairs = select(vec![Selection::EarliestFinish, Selection::EarliestStart]);
    prop_oneof![
        6 => (priority(), ops, any::<bool>(), average()).prop_map(|(priority, selection, insertion, average)| {
            Parts { priority, pick: Pick::Op, selection, insertion, average }
        }),
        2 => (priority(), pairs, average()).prop_map(|(priority, selection, average)| {
            Parts { priority, pick: Pick::Pair, selection, insertion: false, average }
        }),
        1 => (levels, average()).prop_map(|(priority, average)| {
            let selection = Selection::DynamicLevel;
            Parts { priority, pick: Pick::Pair, selection, insertion: false, average }
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6000, ..ProptestConfig::default() })]

    #[test]
    fn every_combination_schedules_small_instances_with_all_constraints_as_the_reference_does(
        instance in instances(Limits { ops: 14, devices: 4, edges: 24, memory: true, exact: false }),
        parts in parts(),
    ) {
        agrees(&instance, parts)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_combination_schedules_larger_instances_as_the_reference_does(
        instance in instances(Limits { ops: 120, devices: 5, edges: 150, memory: false, exact: false }),
        parts in parts(),
    ) {
        agrees(&instance, parts)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 50, ..ProptestConfig::default() })]

    #[test]
    fn heft_fills_many_gaps_as_the_reference_does(
        instance in instances(Limits { ops: 400, devices: 5, edges: 300, memory: false, exact: false })
    ) {
        let (priority, selection) = (Priority::UpwardRank, Selection::EarliestFinish);
        agrees(&instance, Parts { priority, pick: Pick::Op, selection, insertion: true, average: Average::Time })?;
    }
}

/// At a size where the search for gaps, the queues and the narrow numbers of the placer all work as they do on large graphs.
#[test]
fn heft_schedules_thousands_of_ops_as_the_reference_does() {
    let shape = large::Leveled { levels: 100, width: 25, connected: true, further_parents: 3.1 };
    let parts = Parts {
        priority: Priority::UpwardRank,
        pick: Pick::Op,
        selection: Selection::EarliestFinish,
        insertion: true,
        average: Average::Time,
    };
    agrees(&shape.instance(25, 1), parts).unwrap();
}
