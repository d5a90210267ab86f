//! On small instances no placer beats exhaustive search, which shares no code with placers, simulator or bounds.

use std::sync::Arc;

use placebench_algorithms::{OnlinePlacer, PlaceContext, PlaceError, StopToken, registry};
use placebench_datasets::{
    Cluster, DataflowGraph, Device, DeviceId, GraphBuilder, Instance, Kind, KindSet, Link, OpId, OpSpec,
};
use placebench_harness::objective::SimulatedObjective;
use placebench_harness::runner::{Yardstick, judge, judge_online};
use placebench_harness::simulator::NetworkModel;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// The least makespan of all placements and all schedules, by depth-first search over (next op to start, its device),
/// in the order of starting times. Transfers are free of contention and sends cost nothing.
struct Exhaustive<'a> {
    instance: &'a Instance,
    /// Device, start and finish of each op, once it is scheduled.
    done: Vec<Option<(DeviceId, f64)>>,
    free: Vec<f64>,
    best: f64,
}

impl<'a> Exhaustive<'a> {
    fn optimum(instance: &'a Instance) -> f64 {
        let (ops, devices) = (instance.graph().op_count(), instance.cluster().device_count());
        let mut search = Exhaustive { instance, done: vec![None; ops], free: vec![0.0; devices], best: f64::INFINITY };
        search.extend(0, 0.0, 0.0);
        search.best
    }

    fn extend(&mut self, scheduled: usize, latest_start: f64, makespan: f64) {
        if makespan >= self.best {
            return;
        }
        if scheduled == self.done.len() {
            self.best = makespan;
            return;
        }
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        for op in graph.op_ids() {
            let ready = |op: OpId| graph.predecessors(op).all(|edge| self.done[edge.op.index()].is_some());
            if self.done[op.index()].is_some() || !ready(op) {
                continue;
            }
            for device in cluster.device_ids() {
                if !self.may_run(op, device) {
                    continue;
                }
                let arrival = graph.predecessors(op).map(|edge| {
                    let (from, finish) = self.done[edge.op.index()].unwrap();
                    let link = cluster.link(from, device);
                    let bytes = edge.tensor.map_or(0, |tensor| graph.tensor_bytes(tensor));
                    if from == device { finish } else { finish + link.latency + bytes as f64 / link.rate }
                });
                let start = arrival.fold(self.free[device.index()], f64::max);
                // Every schedule is met in the order of its starting times; other orders of the same are not needed.
                if start < latest_start {
                    continue;
                }
                let speed = cluster.device(device).speed;
                let time = graph.measured_time(op, cluster.device(device).kind).unwrap_or(graph.ops(op) / speed);
                let before = self.free[device.index()];
                self.free[device.index()] = start + time;
                self.done[op.index()] = Some((device, start + time));
                self.extend(scheduled + 1, start, makespan.max(start + time));
                self.done[op.index()] = None;
                self.free[device.index()] = before;
            }
        }
    }

    fn may_run(&self, op: OpId, device: DeviceId) -> bool {
        let graph = self.instance.graph();
        let kind = self.instance.cluster().device(device).kind;
        let mates =
            graph.colocation().group_of(op).map_or(vec![op], |group| graph.colocation().members(group).to_vec());
        mates.iter().all(|&mate| {
            graph.kinds(mate).contains(kind) && self.done[mate.index()].is_none_or(|(placed, _)| placed == device)
        })
    }
}

/// A random instance: ports, control edges, groups, kinds, measured times, unequal links.
fn instance(seed: u64, most_ops: usize) -> Instance {
    let mut rng = Pcg64::seed_from_u64(seed);
    let kinds = [KindSet::ALL, KindSet::ALL, KindSet::ALL, KindSet::only(Kind::Cpu), KindSet::only(Kind::Gpu)];
    loop {
        let count = rng.random_range(1..=most_ops);
        let mut builder = GraphBuilder::default();
        for _ in 0..count {
            let measured = rng.random_bool(0.2).then(|| f64::from(rng.random_range(0..20u32)));
            let spec = OpSpec {
                kinds: kinds[rng.random_range(0..kinds.len())],
                times: [None, measured, None],
                ..OpSpec::cost(f64::from(rng.random_range(0..20u32)))
            };
            let outputs: Vec<u64> = (0..rng.random_range(1..=2)).map(|_| rng.random_range(0..40)).collect();
            builder.add_op(spec, &outputs);
        }
        for target in 1..count {
            for source in 0..target {
                let (source, target) = (OpId::new(source), OpId::new(target));
                match rng.random_range(0..10) {
                    0..3 => builder.add_edge(source, 0, target).unwrap(),
                    3 => builder.add_control_edge(source, target).unwrap(),
                    _ => {}
                }
            }
        }
        if count > 2 && rng.random_bool(0.4) {
            builder.colocate(OpId::new(0), OpId::new(rng.random_range(1..count))).unwrap();
        }
        // A group whose members need different kinds is refused; draw again.
        let Ok(graph) = builder.build() else { continue };
        return Instance::new(graph, cluster(&mut rng)).unwrap();
    }
}

fn cluster(rng: &mut Pcg64) -> Cluster {
    let count = rng.random_range(2..=3);
    let device = |number: usize, speed: u32| Device {
        name: format!("d{number}"),
        kind: if number == 1 { Kind::Gpu } else { Kind::Cpu },
        memory_bytes: None,
        speed: f64::from(speed),
    };
    let devices = (0..count).map(|number| device(number, rng.random_range(1..=4))).collect();
    let mut links = Vec::new();
    for _ in 0..count * count {
        links.push(Link { rate: f64::from(rng.random_range(1..=8u32)), latency: f64::from(rng.random_range(0..3u32)) });
    }
    Cluster::new(devices, |from, to| links[from.index() * count + to.index()]).unwrap()
}

fn check(seed: u64, most_ops: usize) -> Result<(), TestCaseError> {
    let instance = instance(seed, most_ops);
    let optimum = Exhaustive::optimum(&instance);
    let yardstick = Yardstick::new(&instance);
    prop_assert!(yardstick.bound.value <= optimum * (1.0 + 1e-9), "{:?} exceeds {optimum}", yardstick.bound);
    for name in registry::placer_names() {
        let mut placer = registry::placer(&name.parse().unwrap()).unwrap();
        if let Some(online) = placer.online() {
            check_online(&name, &instance, online, optimum, &yardstick)?;
            continue;
        }
        if placer.needs_objective() {
            placer = registry::placer(&format!("{name}(budget=20)").parse().unwrap()).unwrap();
        }
        let objective = Arc::new(SimulatedObjective { network: NetworkModel::ContentionFree });
        let context = PlaceContext { objective: Some(objective), ..PlaceContext::with_seed(seed) };
        let decision = match placer.place(&instance, &context) {
            Ok(decision) => decision,
            Err(error @ PlaceError::Infeasible { .. }) => {
                return Err(TestCaseError::fail(format!("{name}: {error}, though memory is unlimited")));
            }
            // Expert placement goes by layer labels, and these graphs have none.
            Err(PlaceError::Unsupported(_)) if name == "expert" => continue,
            Err(error) => return Err(TestCaseError::fail(format!("{name}: {error}"))),
        };
        prop_assert_eq!(&placer.place(&instance, &context).unwrap(), &decision);
        for scheduler_entry in registry::SCHEDULERS {
            let scheduler = registry::scheduler(&scheduler_entry.name.parse().unwrap()).unwrap();
            if scheduler.needs_plan() && decision.plan.is_none() {
                continue;
            }
            for network in [NetworkModel::ContentionFree, NetworkModel::OnePort] {
                let judged = judge(&instance, &decision, &*scheduler, network, &yardstick, &StopToken::default());
                let name = format!("{name} + {} under {network}", scheduler_entry.name);
                let judgement = judged.map_err(|error| TestCaseError::fail(format!("{name}: {error:?}")))?;
                let makespan = judgement.metrics.makespan;
                prop_assert!(makespan >= optimum * (1.0 - 1e-9), "{name} takes {makespan}, the optimum is {optimum}");
            }
        }
    }
    Ok(())
}

fn check_online(
    name: &str,
    instance: &Instance,
    placer: &dyn OnlinePlacer,
    optimum: f64,
    yardstick: &Yardstick,
) -> Result<(), TestCaseError> {
    for network in [NetworkModel::ContentionFree, NetworkModel::OnePort] {
        let judged = judge_online(instance, placer, network, yardstick, &StopToken::default());
        let (_, judgement) =
            judged.map_err(|error| TestCaseError::fail(format!("{name} under {network}: {error:?}")))?;
        let makespan = judgement.metrics.makespan;
        prop_assert!(makespan >= optimum * (1.0 - 1e-9), "{name} takes {makespan}, the optimum is {optimum}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn no_placer_beats_exhaustive_search_on_up_to_six_ops(seed: u64) {
        check(seed, 6)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn no_placer_beats_exhaustive_search_on_up_to_eight_ops(seed: u64) {
        check(seed, 8)?;
    }
}

/// The search itself, on an instance that can be followed by hand: two independent ops of 6 and a third of 2 that needs
/// one of them; two equal devices of speed 1, and a transfer of 3.
#[test]
fn exhaustive_search_finds_the_optimum_worked_out_by_hand() {
    let mut builder = GraphBuilder::default();
    let a = builder.add_op(OpSpec::cost(6.0), &[3]);
    builder.add_op(OpSpec::cost(6.0), &[]);
    let c = builder.add_op(OpSpec::cost(2.0), &[]);
    builder.add_edge(a, 0, c).unwrap();
    let graph: DataflowGraph = builder.build().unwrap();
    let link = Link { rate: 1.0, latency: 0.0 };
    let instance = Instance::new(graph, Cluster::uniform(2, Kind::Cpu, 1.0, link).unwrap()).unwrap();
    // Each device takes an op of 6; c follows a at home and ends at 8.
    assert_eq!(Exhaustive::optimum(&instance), 8.0);
}
