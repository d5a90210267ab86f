//! On small instances no placer beats exhaustive search, which shares no code with placers, simulator or bounds, and the
//! exact solver finds the same optimum.

#[path = "../../algorithms/tests/support/random.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of the algorithms")]
mod random;

use std::sync::Arc;
use std::time::Duration;

use placebench_algorithms::{OnlinePlacer, PlaceContext, PlaceError, Scheduler, StopToken, exact, registry};
use placebench_datasets::{
    Cluster, DataflowGraph, DeviceId, GraphBuilder, Instance, Kind, Link, OpId, OpSpec, TransferOverheads,
};
use placebench_harness::evaluate::{Evaluation, EvaluationError, Evaluator, Placed, Reference};
use placebench_harness::execute::simulate::{ContentionFree, NETWORK_MODELS, NetworkModel, Simulator};
use placebench_harness::objective::SimulatedObjective;
use proptest::prelude::*;

use crate::support::brief::brief;
use random::{Limits, instances};

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
                let time = self.time(op, device) + cluster.op_overheads()[device.index()];
                let before = self.free[device.index()];
                self.free[device.index()] = start + time;
                self.done[op.index()] = Some((device, start + time));
                self.extend(scheduled + 1, start, makespan.max(start + time));
                self.done[op.index()] = None;
                self.free[device.index()] = before;
            }
        }
    }

    /// What is measured; else operations at the rate of the op's sort, or bytes at that of the memory if these take longer.
    fn time(&self, op: OpId, device: DeviceId) -> f64 {
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        if let Some(measured) = graph.measured_on(cluster.class(device)).and_then(|times| times.of(op)) {
            return measured;
        }
        let roofline = cluster.roofline(device);
        let is_matrix = graph.op_types().and_then(|types| types.get(op.index())) == Some("MatMul");
        let matrix_speed = roofline.matrix_speed.filter(|_| is_matrix);
        let compute = graph.ops(op) / matrix_speed.unwrap_or(cluster.device(device).speed);
        let moved = graph.bytes_moved(op).zip(roofline.memory_bandwidth).map(|(bytes, bandwidth)| bytes / bandwidth);
        moved.map_or(compute, |moved| compute.max(moved))
    }

    fn may_run(&self, op: OpId, device: DeviceId) -> bool {
        let graph = self.instance.graph();
        let kind = self.instance.cluster().device(device).kind;
        let mates = self.mates(op);
        mates.iter().all(|&mate| {
            graph.kinds(mate).contains(kind) && self.done[mate.index()].is_none_or(|(placed, _)| placed == device)
        }) && self.has_room(&mates, device)
    }

    /// An op with all that are colocated with it.
    fn mates(&self, op: OpId) -> Vec<OpId> {
        let colocation = self.instance.graph().colocation();
        colocation.group_of(op).map_or(vec![op], |group| colocation.members(group).to_vec())
    }

    /// Whether the demands of a group and of all groups on a device stay below its memory, if the group is new there.
    fn has_room(&self, mates: &[OpId], device: DeviceId) -> bool {
        let graph = self.instance.graph();
        let Some(memory) = self.instance.cluster().device(device).memory_bytes else { return true };
        if mates.iter().any(|mate| self.done[mate.index()].is_some()) {
            return true;
        }
        let demand = |ops: &[OpId]| ops.iter().map(|&op| graph.demand_bytes(op)).sum::<u64>();
        // A group counts once, for its first member that is there, and then as a whole.
        let groups = graph.op_ids().filter(|&op| self.done[op.index()].is_some_and(|(placed, _)| placed == device));
        let groups: std::collections::BTreeSet<OpId> = groups.map(|op| self.mates(op)[0]).collect();
        let used: u64 = groups.iter().map(|&first| demand(&self.mates(first))).sum();
        demand(mates) == 0 || used + demand(mates) < memory
    }
}

/// The exact solver finds what the search finds, proves infeasibility where there is none, and its plan is executed to exactly
/// its makespan.
fn check_exact(instance: &Instance, expected: f64) -> Result<(), TestCaseError> {
    let found = match exact::solve(instance, 1_000_000, &StopToken::default()) {
        Ok(found) => found,
        Err(PlaceError::Infeasible { .. }) => {
            prop_assert!(expected == f64::INFINITY, "there is a schedule of {expected}");
            return Ok(());
        }
        Err(error) => return Err(TestCaseError::fail(error.to_string())),
    };
    prop_assert!((found.makespan - expected).abs() <= 1e-9 * expected, "{} is not {expected}", found.makespan);
    let scheduler = registry::scheduler(&"static".parse().unwrap()).unwrap();
    let reference = Reference::new(instance);
    let placed = Placed::Before { decision: found.decision.clone(), took: Duration::ZERO };
    let evaluation = evaluate(instance, &reference, &placed, Some(&*scheduler), &ContentionFree);
    let makespan = evaluation.map_err(|error| TestCaseError::fail(format!("{error:?}")))?.metrics.makespan;
    prop_assert!((makespan - found.makespan).abs() <= 1e-12 * found.makespan, "{} takes {makespan}", found.makespan);
    prop_assert_eq!(found.decision.plan.unwrap().makespan, found.makespan);
    Ok(())
}

fn evaluate(
    instance: &Instance,
    reference: &Reference,
    placed: &Placed<'_>,
    scheduler: Option<&dyn Scheduler>,
    network: &'static dyn NetworkModel,
) -> Result<Evaluation, EvaluationError> {
    let evaluator = Evaluator { instance, reference: Some(reference), seed: 0, stop: &StopToken::default() };
    evaluator.execute(placed, scheduler, &Simulator::new(network))
}

fn check(instance: &Instance) -> Result<(), TestCaseError> {
    let optimum = Exhaustive::optimum(instance);
    check_exact(instance, optimum)?;
    check_placers(instance, optimum)
}

/// No bound is above an optimum, and no placer is below it.
fn check_placers(instance: &Instance, optimum: f64) -> Result<(), TestCaseError> {
    let reference = Reference::new(instance);
    prop_assert!(reference.bound.value <= optimum * (1.0 + 1e-9), "{:?} exceeds {optimum}", reference.bound);
    for entry in registry::placers() {
        let (name, placer) = (&entry.name, brief(entry));
        if let Some(online) = placer.online() {
            check_online(name, instance, online, optimum, &reference)?;
            continue;
        }
        let objective = Arc::new(SimulatedObjective::new(&ContentionFree, &[]));
        let context = PlaceContext { objective: Some(objective), ..PlaceContext::with_seed(7) };
        let decision = match placer.place(instance, &context) {
            Ok(decision) => decision,
            Err(error @ PlaceError::Infeasible { .. }) => {
                return Err(TestCaseError::fail(format!("{name}: {error}, though memory is unlimited")));
            }
            // Expert placement goes by layer labels, and some of these graphs have none.
            Err(PlaceError::Unsupported(_)) if name == "expert" => continue,
            Err(error) => return Err(TestCaseError::fail(format!("{name}: {error}"))),
        };
        prop_assert_eq!(&placer.place(instance, &context).unwrap(), &decision);
        let has_plan = decision.plan.is_some();
        let placed = Placed::Before { decision, took: Duration::ZERO };
        for scheduler_entry in registry::SCHEDULERS.iter() {
            let scheduler = registry::scheduler(&scheduler_entry.name.parse().unwrap()).unwrap();
            if scheduler.needs_plan() && !has_plan {
                continue;
            }
            for network in NETWORK_MODELS {
                let evaluated = evaluate(instance, &reference, &placed, Some(&*scheduler), network);
                let name = format!("{name} + {} under {network}", scheduler_entry.name);
                let evaluation = evaluated.map_err(|error| TestCaseError::fail(format!("{name}: {error:?}")))?;
                let makespan = evaluation.metrics.makespan;
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
    reference: &Reference,
) -> Result<(), TestCaseError> {
    for network in NETWORK_MODELS {
        let evaluated = evaluate(instance, reference, &Placed::During(placer), None, network);
        let evaluation =
            evaluated.map_err(|error| TestCaseError::fail(format!("{name} under {network}: {error:?}")))?;
        let makespan = evaluation.metrics.makespan;
        prop_assert!(makespan >= optimum * (1.0 - 1e-9), "{name} takes {makespan}, the optimum is {optimum}");
    }
    Ok(())
}

/// Random instances of up to `ops` ops on up to three devices.
fn limits(ops: usize, memory: bool) -> Limits {
    Limits { ops, devices: 3, edges: 2 * ops, memory, exact: false }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn no_placer_beats_exhaustive_search_on_up_to_six_ops(instance in instances(limits(6, false))) {
        check(&instance)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn no_placer_beats_exhaustive_search_on_up_to_eight_ops(instance in instances(limits(8, false))) {
        check(&instance)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(6000) })]

    #[test]
    fn the_exact_solver_finds_the_optimum_of_every_sort_of_small_instance(instance in instances(limits(6, true))) {
        check_exact(&instance, Exhaustive::optimum(&instance))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn the_exact_solver_finds_the_optimum_of_up_to_eight_ops(instance in instances(limits(8, true))) {
        check_exact(&instance, Exhaustive::optimum(&instance))?;
    }
}

/// An instance whose sends and receives take time.
fn with_ends(instance: &Instance, send_ops: f64, send: f64, receive: f64) -> Instance {
    let overheads = |from: DeviceId, to: DeviceId| TransferOverheads {
        send: send * f64::from(from.0 + 1),
        send_per_byte: 0.1 * send,
        receive: receive * f64::from(to.0 + 1),
        receive_per_byte: 0.2 * receive,
    };
    let cluster = instance.cluster().clone().with_send_ops(send_ops).unwrap();
    Instance::new(instance.graph().clone(), cluster.with_transfer_overheads(overheads).unwrap()).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(150) })]

    /// A unit test of the exact solver compares it with all placements and sequences.
    #[test]
    fn no_placer_beats_the_optimum_where_sends_and_receives_take_time(
        instance in instances(limits(5, false)),
        (send_ops, send, receive) in (0..2, 0..3, 0..3),
    ) {
        let instance = with_ends(&instance, f64::from(send_ops), f64::from(send), f64::from(receive));
        let optimum = exact::solve(&instance, 1_000_000, &StopToken::default()).unwrap().makespan;
        check_exact(&instance, optimum)?;
        check_placers(&instance, optimum)?;
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
