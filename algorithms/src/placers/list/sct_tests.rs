//! The schedule of m-SCT, given the favourite children, against one that looks at all pairs in every step; and what the
//! linear program must say where its optimum is known.

use placebench_datasets::{Cluster, GraphBuilder, Kind, Link, OpSpec, Placement};
use proptest::prelude::*;

use super::*;
use crate::StopToken;
use crate::placers::FavouriteChildren;
use crate::random_instances::{Limits, instances};
use crate::ranks::Average;

fn defaults() -> FavouriteChildren {
    FavouriteChildren::params(&mut crate::Params::none()).unwrap()
}

fn find(instance: &Instance) -> Vec<Option<OpId>> {
    defaults().find(instance, Average::Time, &StopToken::default()).unwrap()
}

/// Device, start and finish of each op.
struct Slow<'a> {
    instance: &'a Instance,
    slots: Vec<Option<(DeviceId, Time, Time)>>,
    device_of_unit: Vec<Option<DeviceId>>,
    used: Vec<u64>,
    idle_from: Vec<Time>,
    last: Vec<Option<OpId>>,
}

impl Slow<'_> {
    fn may_take(&self, op: OpId, device: DeviceId) -> bool {
        let (cluster, units) = (self.instance.cluster(), self.instance.units());
        let unit = units.unit_of(op);
        let needed = units.demand_bytes(unit);
        match self.device_of_unit[unit.index()] {
            Some(fixed) => fixed == device,
            None => {
                let memory = cluster.device(device).memory_bytes;
                units.kind_allows(unit, cluster, device)
                    && (needed == 0 || memory.is_none_or(|memory| self.used[device.index()] + needed < memory))
            }
        }
    }

    fn inputs(&self, op: OpId, device: DeviceId) -> Time {
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        let arrivals = graph.predecessors(op).map(|edge| {
            let (from, _, finish) = self.slots[edge.op.index()].unwrap();
            finish + cluster.transfer_time(graph.edge_bytes(edge), from, device)
        });
        arrivals.fold(0.0, Time::max)
    }

    fn start(&self, op: OpId, device: DeviceId) -> Time {
        self.inputs(op, device).max(self.idle_from[device.index()])
    }

    /// When the inputs of an op are on all devices on which its unit may be.
    fn urgent(&self, op: OpId) -> Time {
        let (cluster, units) = (self.instance.cluster(), self.instance.units());
        let unit = units.unit_of(op);
        let allowed = cluster.device_ids().filter(|&device| match self.device_of_unit[unit.index()] {
            Some(fixed) => fixed == device,
            None => units.kind_allows(unit, cluster, device),
        });
        allowed.map(|device| self.inputs(op, device)).fold(0.0, Time::max)
    }

    fn run(mut self, child: &[Option<OpId>]) -> Option<Vec<DeviceId>> {
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        let urgent_at_first_sight = &mut vec![None; graph.op_count()];
        for _ in 0..graph.op_count() {
            let placed = |op: &OpId| self.slots[op.index()].is_some();
            let ready: Vec<OpId> = graph
                .topological_order()
                .filter(|op| !placed(op) && graph.predecessor_ops(*op).iter().all(placed))
                .collect();
            for &op in &ready {
                urgent_at_first_sight[op.index()].get_or_insert_with(|| self.urgent(op));
            }
            let mut best: Option<(Time, bool, usize, Time, DeviceId)> = None;
            for device in cluster.device_ids() {
                let wish = self.last[device.index()].and_then(|last| child[last.index()]).filter(|wish| {
                    let earlier = |other: DeviceId| {
                        self.may_take(*wish, other) && self.start(*wish, other) < self.start(*wish, device)
                    };
                    ready.contains(wish) && self.may_take(*wish, device) && !cluster.device_ids().any(earlier)
                });
                for (position, &op) in ready.iter().enumerate().filter(|(_, op)| self.may_take(**op, device)) {
                    let favourite = wish == Some(op);
                    let value = match wish {
                        Some(_) if !favourite => {
                            urgent_at_first_sight[op.index()].unwrap_or(0.0).max(self.idle_from[device.index()])
                        }
                        _ => self.start(op, device),
                    };
                    let finish = value + self.instance.exec_time(op, device);
                    let pair = (value, !favourite, position, finish, device);
                    if best.is_none_or(|best| pair.partial_cmp(&best).unwrap().is_lt()) {
                        best = Some(pair);
                    }
                }
            }
            let (_, _, position, _, device) = best?;
            let op = ready[position];
            let start = self.start(op, device);
            let finish = start + self.instance.exec_time(op, device);
            let unit = self.instance.units().unit_of(op);
            if self.device_of_unit[unit.index()].is_none() {
                self.device_of_unit[unit.index()] = Some(device);
                self.used[device.index()] += self.instance.units().demand_bytes(unit);
            }
            self.slots[op.index()] = Some((device, start, finish));
            self.idle_from[device.index()] = finish;
            self.last[device.index()] = Some(op);
        }
        self.slots.iter().map(|slot| slot.map(|(device, _, _)| device)).collect()
    }
}

fn slow_placement(instance: &Instance) -> Option<Placement> {
    let devices = instance.cluster().device_count();
    let slow = Slow {
        instance,
        slots: vec![None; instance.graph().op_count()],
        device_of_unit: vec![None; instance.units().count()],
        used: vec![0; devices],
        idle_from: vec![0.0; devices],
        last: vec![None; devices],
    };
    slow.run(&find(instance)).map(Placement::new)
}

fn m_sct(instance: &Instance) -> Option<Placement> {
    let placer = crate::registry::placer(&"m_sct".parse().unwrap()).unwrap();
    placer.place(instance, &PlaceContext::default()).ok().map(|decision| decision.placement)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn devices_wait_for_favourite_children_as_in_a_search_of_all_pairs(
        instance in instances(Limits { ops: 16, devices: 4, edges: 30, memory: true, exact: false })
    ) {
        prop_assert_eq!(m_sct(&instance), slow_placement(&instance));
    }

    #[test]
    fn a_favourite_child_is_a_successor_and_that_of_one_op(
        instance in instances(Limits { ops: 40, devices: 3, edges: 80, memory: false, exact: false })
    ) {
        let mut seen = vec![false; instance.graph().op_count()];
        for (op, child) in find(&instance).iter().enumerate() {
            if let Some(child) = child {
                prop_assert!(instance.graph().successor_ops(OpId::new(op)).contains(child));
                prop_assert!(!std::mem::replace(&mut seen[child.index()], true));
            }
        }
    }
}

/// Ops of those costs, and edges with those bytes, on two devices of speed 1 and rate 1.
fn instance(costs: &[f64], edges: &[(u32, u32, u64)]) -> Instance {
    let mut builder = GraphBuilder::default();
    for (op, &cost) in costs.iter().enumerate() {
        let outputs: Vec<u64> = edges.iter().filter(|edge| edge.0 as usize == op).map(|edge| edge.2).collect();
        builder.add_op(OpSpec::cost(cost), &outputs);
    }
    for (at, &(from, to, _)) in edges.iter().enumerate() {
        let port = edges[..at].iter().filter(|edge| edge.0 == from).count();
        builder.add_edge(OpId(from), port, OpId(to)).unwrap();
    }
    let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    Instance::new(builder.build().unwrap(), cluster).unwrap()
}

#[test]
fn every_op_of_a_chain_keeps_its_successor() {
    let chain = instance(&[1.0; 4], &[(0, 1, 5), (1, 2, 5), (2, 3, 5)]);
    assert_eq!(find(&chain), [Some(OpId(1)), Some(OpId(2)), Some(OpId(3)), None]);
}

#[test]
fn of_two_successors_the_one_before_the_longer_path_is_the_favourite() {
    // 0 leads to 1 of 10 and to 2 of 2; if 1 moves the end is at 1 + 4 + 10, if 2 moves at 1 + 10.
    let fork = instance(&[1.0, 10.0, 2.0], &[(0, 1, 4), (0, 2, 4)]);
    assert_eq!(find(&fork), [Some(OpId(1)), None, None]);
    let join = instance(&[2.0, 10.0, 1.0], &[(0, 2, 4), (1, 2, 4)]);
    assert_eq!(find(&join), [None, Some(OpId(2)), None]);
}

#[test]
fn windows_cut_favourites_only_at_their_ends() {
    let chain = instance(&[1.0; 6], &[(0, 1, 5), (1, 2, 5), (2, 3, 5), (3, 4, 5), (4, 5, 5)]);
    let windows = FavouriteChildren { window: 2, ..defaults() };
    let found = windows.find(&chain, Average::Time, &StopToken::default()).unwrap();
    assert_eq!(found, [Some(OpId(1)), Some(OpId(2)), None, Some(OpId(4)), Some(OpId(5)), None]);
}

#[test]
fn favourite_children_are_the_same_however_long_ops_are() {
    // A diamond whose one side takes fifty times as long to cut: cutting its edges by 1/51 makes both sides equally late.
    let diamond = [(0, 1, 50), (0, 2, 1), (1, 3, 50), (2, 3, 1)];
    for time in [1e-6, 1.0, 1e3, 1e8, 1e11, 1e13] {
        assert_eq!(
            find(&instance(&[time; 4], &diamond)),
            [Some(OpId(1)), Some(OpId(3)), None, None],
            "ops take {time}"
        );
    }
    // Where paths differ by far more than transfers take, the longer one has the favourites.
    let lengths = [1e11, 3e11, 2e11, 1e11];
    assert_eq!(find(&instance(&lengths, &diamond))[0], Some(OpId(1)));
}

#[test]
fn a_program_that_takes_too_long_ends_when_it_is_time() {
    let next = |op: u32, step: u32| (op, (op / 40 + 1) * 40 + (op * 7 + step * 11) % 40, u64::from(1 + op % 9));
    let edges: Vec<(u32, u32, u64)> = (0..4_000).flat_map(|op| (1..4).map(move |step| next(op, step))).collect();
    let large = instance(&vec![1.0; 4_040], &edges);
    let whole = FavouriteChildren { window: usize::MAX, ..defaults() };
    let stop = StopToken::with_deadline(std::time::Instant::now() + std::time::Duration::from_millis(200));
    assert_eq!(whole.find(&large, Average::Time, &stop), Err(PlaceError::Stopped));
}
