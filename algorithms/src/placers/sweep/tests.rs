//! What the parts of the search keep: exact path lengths, makespans that do not rise, constraints.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use placebench_datasets::{
    Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, Link, MemoryRule, OpId, OpSpec, Placement, Time,
    TransferOverheads,
};
use proptest::prelude::*;

use super::annealing::Annealing;
use super::cooling::Cooling;
use super::judge::Contention;
use super::judge::Judge;
use super::memory::Memory;
use super::passes::list_pass;
use super::ports::Ports;
use super::problem::{Caution, Problem};
use super::random::Random;
use super::schedule::Schedule;
use super::seeds::Seed;
use super::sweeps::{Noise, Sweeper};
use super::{Preset, Sweep, Without};
use crate::placers::list::{EarliestFinish, Insertion};
use crate::{Decision, Judgement, Objective, PlaceContext, PlaceError, Placer, Plan, StopToken, exact};

use crate::random_instances::{Limits, instances};

fn ops(count: u32) -> Vec<OpId> {
    (0..count).map(OpId).collect()
}

fn small(memory: bool) -> impl Strategy<Value = Instance> {
    instances(Limits { ops: 40, devices: 5, edges: 90, memory, exact: false })
}

/// Larger than the stride at which the annealing with ports keeps states.
fn wide() -> impl Strategy<Value = Instance> {
    instances(Limits { ops: 150, devices: 5, edges: 400, memory: true, exact: false })
}

/// The same where each transfer takes of the time of its sender and of its receiver, too.
fn with_ends(instance: &Instance) -> Instance {
    let overheads = |from: DeviceId, to: DeviceId| TransferOverheads {
        send: 0.25 + f64::from(from.0),
        send_per_byte: 0.125,
        receive: 0.5 * f64::from(to.0),
        receive_per_byte: 0.0625,
    };
    let cluster = instance.cluster().clone().with_transfer_overheads(overheads).unwrap();
    Instance::with_memory_rule(instance.graph().clone(), cluster, instance.memory_rule()).unwrap()
}

/// The makespan with ports, op by op in the order of the schedule, as simply as it can be said.
fn with_ports(problem: &Problem<'_>, schedule: &Schedule, contention: Contention) -> Time {
    let count = problem.devices;
    let (mut free, mut sends, mut receives) = (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
    let mut finish = vec![0.0; problem.ops];
    let mut copies: Vec<(u32, f64, u32, Time)> = Vec::new();
    for &op in &schedule.order {
        let to = schedule.devices[op as usize];
        let (mut start, mut spent): (Time, Time) = (free[to as usize], 0.0);
        for &(producer, bytes) in problem.forward().before.of(op as usize) {
            let (from, done) = (schedule.devices[producer as usize], finish[producer as usize]);
            let copy = copies.iter().find(|copy| (copy.0, copy.1, copy.2) == (producer, bytes, to));
            let arrival = match copy {
                _ if from == to => done,
                Some(copy) => copy.3,
                None => {
                    let (send, receive) = problem.ends(from, to, bytes);
                    let time = problem.forward().from.time(from, to, bytes) - send - receive;
                    let done = done + send;
                    free[from as usize] += send;
                    spent += receive;
                    let is_free = contention == Contention::None;
                    let (sent, received) = match is_free {
                        true => (done, done),
                        false => (done.max(sends[from as usize]), done.max(receives[to as usize])),
                    };
                    let begin = sent.max(received);
                    let arrival = if time > 0.0 || is_free { begin + time } else { done } + receive;
                    if time > 0.0 {
                        let is_shared = contention == Contention::Shared;
                        sends[from as usize] = if is_shared { sent } else { begin } + time;
                        receives[to as usize] = if is_shared { received } else { begin } + time;
                    }
                    copies.push((producer, bytes, to, arrival));
                    arrival
                }
            };
            start = start.max(arrival);
        }
        finish[op as usize] = start.max(free[to as usize] + spent) + problem.exec(op as usize, to);
        free[to as usize] = finish[op as usize];
    }
    free.into_iter().fold(0.0, Time::max)
}

/// A schedule to start from, if there is room for one.
fn start(problem: &Problem<'_>) -> Option<Schedule> {
    Seed::Appended.make(problem, &PlaceContext::default()).unwrap()
}

/// Kinds, groups and memory, and that the order is a linear extension.
fn check(instance: &Instance, schedule: &Schedule) -> Result<(), TestCaseError> {
    let placement = Placement::new(schedule.devices.iter().map(|&device| DeviceId(device)).collect());
    prop_assert_eq!(placement.check(instance), Ok(()));
    let mut is_listed = vec![false; schedule.order.len()];
    for &op in &schedule.order {
        let inputs = instance.graph().predecessor_ops(OpId(op));
        prop_assert!(inputs.iter().all(|before| is_listed[before.index()]));
        prop_assert!(!std::mem::replace(&mut is_listed[op as usize], true));
    }
    prop_assert!(is_listed.into_iter().all(|listed| listed));
    Ok(())
}

fn is_near(a: Time, b: Time) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_makespan_of_a_schedule_is_that_of_the_reversed_schedule_on_the_reversed_graph(instance in small(false)) {
        let problem = Problem::new(&instance, 1.0);
        let Some(schedule) = start(&problem) else { return Ok(()) };
        let (exact, _, _) = problem.exact_times(&schedule.devices, &schedule.order);
        prop_assert!(is_near(schedule.makespan, exact));
        let mut tails = vec![0.0; problem.ops];
        let order = schedule.order.iter().rev().copied();
        let reversed = problem.backward().finish_times(&schedule.devices, order, &mut tails);
        prop_assert!(is_near(schedule.makespan, reversed));
    }

    #[test]
    fn sweeps_without_noise_never_lengthen_a_schedule_and_every_sweep_keeps_all_constraints(
        instance in small(true), seed in any::<u64>()
    ) {
        let problem = Problem::new(&instance, 1.0);
        let Some(mut schedule) = start(&problem) else { return Ok(()) };
        let has_groups = instance.units().group_count() > 0;
        let mut sweeper = Sweeper::new(problem.ops, problem.devices);
        let mut memory = Memory::of(&problem, &schedule.devices);
        let mut noise = Noise { temperature: 0.0, random: Random::new(seed, 0) };
        for sweep in 0..6 {
            let before = schedule.makespan;
            // Noise in the last two, to come by other schedules.
            noise.temperature = if sweep < 4 { 0.0 } else { 0.1 * before };
            let is_backward = sweep % 2 == 0;
            if is_backward {
                schedule.reverse();
            }
            let way = if is_backward { problem.backward() } else { problem.forward() };
            sweeper.sweep(way, &mut schedule, &mut memory, &mut noise);
            if is_backward {
                schedule.reverse();
            }
            check(&instance, &schedule)?;
            prop_assert!(is_near(schedule.makespan, schedule.on(&problem).makespan));
            if noise.temperature == 0.0 && !has_groups {
                prop_assert!(schedule.makespan <= before * (1.0 + 1e-9), "{before} became {}", schedule.makespan);
            }
        }
    }

    #[test]
    fn a_change_with_ports_is_worth_what_the_schedule_is_from_scratch(
        instance in wide(), has_ends in any::<bool>(), seed in any::<u64>()
    ) {
        let instance = if has_ends { with_ends(&instance) } else { instance };
        let problem = Problem::new(&instance, 1.0);
        let Some(schedule) = start(&problem) else { return Ok(()) };
        for contention in [Contention::None, Contention::OneAtATime, Contention::Shared] {
            let mut annealing = Ports::new(&problem, &schedule, contention);
            prop_assert_eq!(annealing.makespan(), with_ports(&problem, &annealing.present(), contention));
            let mut random = Random::new(seed, 0);
            for _ in 0..20 {
                if let Some(evaluated) = annealing.make_one(&mut random) {
                    prop_assert_eq!(evaluated, annealing.makespan());
                    prop_assert_eq!(evaluated, with_ports(&problem, &annealing.present(), contention));
                    check(&instance, &annealing.present())?;
                }
            }
            for _ in 0..50 {
                let Some(devices) = annealing.neighbour(10, 0.05, &mut random) else { break };
                annealing.adopt(&devices);
                check(&instance, &annealing.present())?;
            }
            prop_assert_eq!(annealing.makespan(), with_ports(&problem, &annealing.present(), contention));
        }
    }

    #[test]
    fn after_every_accepted_change_finish_times_and_tails_are_what_they_are_from_scratch(
        instance in small(true), seed in any::<u64>()
    ) {
        let problem = Problem::new(&instance, 1.0);
        let Some(schedule) = start(&problem) else { return Ok(()) };
        let mut annealing = Annealing::new(&problem, &schedule);
        let mut random = Random::new(seed, 0);
        for _ in 0..60 {
            let heat = 0.05 * schedule.makespan;
            annealing.run(40, Cooling::from(heat), &mut random, &StopToken::default());
            let now = annealing.present();
            check(&instance, &now)?;
            let (finish, tails) = annealing.times();
            let (mut finish_again, mut tails_again) = (vec![0.0; problem.ops], vec![0.0; problem.ops]);
            let makespan = problem.forward().finish_times(&now.devices, now.order.iter().copied(), &mut finish_again);
            problem.backward().finish_times(&now.devices, now.order.iter().rev().copied(), &mut tails_again);
            prop_assert_eq!(now.makespan, makespan);
            prop_assert_eq!(finish, finish_again.as_slice());
            prop_assert_eq!(tails, tails_again.as_slice());
        }
        let best = annealing.finish();
        check(&instance, &best)?;
        prop_assert!(best.makespan <= schedule.makespan);
        prop_assert!(is_near(best.makespan, best.on(&problem).makespan));
    }

    #[test]
    fn every_seed_keeps_all_constraints(instance in small(true)) {
        let problem = Problem::new(&instance, 1.0);
        for seed in Seed::ALL {
            let Some(schedule) = seed.make(&problem, &PlaceContext::default()).unwrap() else { continue };
            check(&instance, &schedule)?;
        }
    }
}

#[test]
fn ops_without_duration_are_not_put_into_early_gaps() {
    // 0 (10) runs on device 0 from the start. 1 takes no time: put before 0, it would keep 2 (10), its successor, there.
    let mut builder = GraphBuilder::default();
    for cost in [10.0, 0.0, 10.0] {
        builder.add_op(OpSpec::cost(cost), &[100]);
    }
    builder.add_edge(OpId(1), 0, OpId(2)).unwrap();
    let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    let problem = Problem::new(&instance, 1.0);
    let schedule = list_pass(problem.forward(), &ops(3), Insertion::Timed, EarliestFinish).unwrap();
    assert_eq!((schedule.devices, schedule.makespan), (vec![0, 1, 1], 10.0));
}

#[test]
fn the_search_comes_within_two_percent_of_proven_optima_in_the_mean() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut sum, mut count) = (0.0, 0.0);
    for _ in 0..60 {
        let limits = Limits { ops: 12, devices: 3, edges: 24, memory: false, exact: false };
        let instance = instances(limits).new_tree(&mut runner).unwrap().current();
        let Ok(optimum) = exact::solve(&instance, 50_000, &StopToken::default()) else { continue };
        let problem = Problem::new(&instance, 1.0);
        let context = PlaceContext::default();
        let search =
            super::Search { problem: &problem, context: &context, effort: super::Preset::Default.effort(), bound: 0.0 };
        let best = search.run(Vec::new(), None).unwrap()[0].makespan;
        assert!(best >= optimum.makespan * (1.0 - 1e-9));
        if optimum.makespan > 0.0 {
            (sum, count) = (sum + best / optimum.makespan, count + 1.0);
        }
    }
    assert!(count > 40.0 && sum / count < 1.02, "{sum} {count}");
}

/// Restarts: what more time would do, as more generations, which do not depend on the machine.
#[test]
fn more_work_never_makes_a_schedule_longer_and_often_shorter() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut gains = 0;
    for ops in (0..20).map(|graph: usize| 20 + graph.pow(2) * 13) {
        let limits = Limits { ops, devices: 5, edges: 3 * ops, memory: false, exact: false };
        let instance = instances(limits).new_tree(&mut runner).unwrap().current();
        let problem = Problem::new(&instance, 1.0);
        let context = PlaceContext::default();
        let makespan = |generations| {
            let effort = super::Effort { generations, rounds: 1, annealing: 0.2, ..Preset::Fast.effort() };
            let search = super::Search { problem: &problem, context: &context, effort, bound: 0.0 };
            search.run(Vec::new(), None).unwrap()[0].makespan
        };
        let [half, three, thirty] = [1, 4, 16].map(makespan);
        assert!(thirty <= three && three <= half, "{ops} ops: {half} {three} {thirty}");
        gains += usize::from(thirty < half);
    }
    assert!(gains > 5, "{gains} of 20 graphs");
}

/// Judges by the device of the first op; a graph of two transfers takes as long as it says.
#[derive(Debug)]
struct Fake {
    two_transfers: Time,
    by_device: [Option<Time>; 2],
}

impl Objective for Fake {
    fn judge(&self, instance: &Instance, decision: &Decision, _: &StopToken) -> Result<Judgement, PlaceError> {
        if instance.graph().op_count() == 3 {
            return Ok(Judgement::fits(self.two_transfers));
        }
        let refused = || PlaceError::Unsupported("it does not fit".to_owned());
        self.by_device[decision.placement.device_of(OpId(0)).index()].map(Judgement::fits).ok_or_else(refused)
    }
}

/// The device that is chosen for one op of 1 that the plan finishes at 1 on device 0 and at 2 on device 1.
fn judged(objective: Fake, memory_rule: MemoryRule) -> u32 {
    let mut builder = GraphBuilder::default();
    builder.add_op(OpSpec::cost(1.0), &[]);
    let device = |id: usize| Device { name: format!("d{id}"), kind: Kind::Cpu, memory_bytes: Some(100), speed: 1.0 };
    let cluster = Cluster::new((0..2).map(device).collect(), |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::with_memory_rule(builder.build().unwrap(), cluster, memory_rule).unwrap();
    let context = PlaceContext { objective: Some(Arc::new(objective)), ..PlaceContext::default() };
    let decision = |device: u32| Decision {
        plan: Some(Plan::of_ops([OpId(0)], f64::from(device) + 1.0)),
        ..Decision::placement(Placement::new(vec![DeviceId(device)]))
    };
    let judge = Judge::new(&instance, &context).unwrap();
    let ranked = judge.rank(&instance, vec![decision(0), decision(1)]);
    ranked[0].1.placement.device_of(OpId(0)).0
}

#[test]
fn the_objective_decides_where_transfers_hold_each_other_up_and_else_the_plan() {
    let by_device = [Some(9.0), Some(8.0)];
    assert_eq!(judged(Fake { two_transfers: 1002.0, by_device }, MemoryRule::Static), 0);
    assert_eq!(judged(Fake { two_transfers: 2002.0, by_device }, MemoryRule::Static), 1);
}

#[test]
fn what_the_objective_refuses_comes_last_under_the_memory_rule_peak() {
    let by_device = [None, Some(8.0)];
    assert_eq!(judged(Fake { two_transfers: 1002.0, by_device }, MemoryRule::Peak), 1);
    assert_eq!(judged(Fake { two_transfers: 1002.0, by_device }, MemoryRule::Static), 0);
    assert_eq!(judged(Fake { two_transfers: 1002.0, by_device: [None, None] }, MemoryRule::Peak), 0);
}

/// Transfers share what there is, and a placement takes 100, and 1 for each op that is not on the device of its parity.
#[derive(Debug, Default)]
struct Parity {
    judged: AtomicUsize,
}

impl Objective for Parity {
    fn judge(&self, instance: &Instance, decision: &Decision, _: &StopToken) -> Result<Judgement, PlaceError> {
        if instance.graph().op_count() == 3 {
            return Ok(Judgement::fits(1e6));
        }
        self.judged.fetch_add(1, Ordering::Relaxed);
        let is_off = |op: &OpId| decision.placement.device_of(*op).index() != op.index() % 2;
        Ok(Judgement::fits(100.0 + instance.graph().op_ids().skip(1).filter(is_off).count() as Time))
    }
}

/// An op of 100 and 39 of next to nothing, wherever they are, on some devices.
fn one_long_op(devices: usize) -> Instance {
    let mut builder = GraphBuilder::default();
    for op in 0..40 {
        builder.add_op(OpSpec::cost(if op == 0 { 100.0 } else { 0.01 }), &[]);
    }
    let cluster = Cluster::uniform(devices, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    Instance::new(builder.build().unwrap(), cluster).unwrap()
}

#[test]
fn the_last_annealing_finds_what_the_objective_alone_knows() {
    let anneal = |devices: usize| {
        let instance = one_long_op(devices);
        let context = PlaceContext { objective: Some(Arc::new(Parity::default())), ..PlaceContext::default() };
        let judge = Judge::new(&instance, &context).unwrap();
        let problem = Problem::new(&instance, 1.0);
        let start = super::decision(&problem, &Schedule::of_devices(&problem, vec![0; 40]));
        let start = judge.rank(&instance, vec![start]).remove(0);
        let mut random = Random::new(1, 1);
        let best = super::judged::anneal(&problem, &context, &judge, &start, 2_000, &mut random);
        (start.0.makespan, best.map(|(rank, decision)| (rank.makespan, decision.placement.check(&instance).is_ok())))
    };
    assert_eq!(anneal(2), (120.0, Some((100.0, true))));
    // There is nothing to change.
    assert_eq!(anneal(1), (120.0, None));
}

#[test]
fn where_transfers_hold_each_other_up_the_time_that_is_given_is_used() {
    let judged = |time: Option<Duration>| {
        let objective = Arc::new(Parity::default());
        let context = PlaceContext { objective: Some(objective.clone()), ..PlaceContext::default() };
        let sweep = Sweep { preset: Preset::Fast, time, without: Without::Nothing, goal: None, robust: 0.0 };
        sweep.place(&one_long_op(2), &context).unwrap();
        objective.judged.load(Ordering::Relaxed)
    };
    let (without, with) = (judged(None), judged(Some(Duration::from_millis(1500))));
    assert!(with > 2 * without, "{with} judgements, {without} without a time");
}

/// 21 bytes on two devices that hold at most 11 each.
#[test]
fn where_list_schedules_find_no_room_units_are_packed_by_size() {
    let mut builder = GraphBuilder::default();
    for memory_bytes in [2, 4, 4, 4, 5, 2] {
        builder.add_op(OpSpec { memory_bytes, ..OpSpec::cost(1.0) }, &[]);
    }
    let device = |id: usize| Device { name: format!("d{id}"), kind: Kind::Cpu, memory_bytes: Some(12), speed: 1.0 };
    let cluster = Cluster::new((0..2).map(device).collect(), |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    let packed = super::seeds::packed(&Problem::new(&instance, 1.0)).unwrap();
    check(&instance, &packed).unwrap();
}

/// Groups of three ops that begin with one that takes no time: finishing first says nothing about where the group ends.
#[test]
fn groups_are_spread_by_what_all_their_ops_take() {
    let mut builder = GraphBuilder::default();
    for group in 0..4 {
        for cost in [0.0, 5.0, 5.0] {
            builder.add_op(OpSpec::cost(cost), &[]);
        }
        builder.colocate(OpId(3 * group), OpId(3 * group + 1)).unwrap();
        builder.colocate(OpId(3 * group), OpId(3 * group + 2)).unwrap();
    }
    let cluster = Cluster::uniform(4, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    let problem = Problem::new(&instance, 1.0);
    let schedule = Seed::Grouped.make(&problem, &PlaceContext::default()).unwrap().unwrap();
    assert_eq!(schedule.makespan, 10.0);
}

/// What all ops of a device hold together must fit on device 0; an op takes its cost over the device's speed.
#[derive(Debug)]
struct SumOnFirst;

impl Objective for SumOnFirst {
    fn judge(&self, instance: &Instance, decision: &Decision, _: &StopToken) -> Result<Judgement, PlaceError> {
        if instance.graph().op_count() == 3 {
            return Ok(Judgement::fits(1002.0));
        }
        let on = |device: u32| decision.placement.devices().iter().filter(|found| found.0 == device).count() as u64;
        let makespan = (on(0) as Time).max(10.0 * on(1) as Time);
        Ok(Judgement { excess_bytes: (30 * on(0)).saturating_sub(100), ..Judgement::fits(makespan) })
    }
}

/// Ten ops of 1 and 30 bytes on a device of 100 bytes and one that is ten times as slow, with room for all.
#[test]
fn what_another_placer_fits_in_does_not_end_the_search_for_what_fits() {
    let mut builder = GraphBuilder::default();
    for _ in 0..10 {
        builder.add_op(OpSpec { memory_bytes: 30, ..OpSpec::cost(1.0) }, &[]);
    }
    let device = |name: &str, memory, speed| Device {
        name: name.to_owned(),
        kind: Kind::Cpu,
        memory_bytes: Some(memory),
        speed,
    };
    let devices = vec![device("fast", 100, 1.0), device("slow", 1000, 0.1)];
    let cluster = Cluster::new(devices, |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::with_memory_rule(builder.build().unwrap(), cluster, MemoryRule::Peak).unwrap();
    let context = PlaceContext { objective: Some(Arc::new(SumOnFirst)), ..PlaceContext::default() };
    // A time that is given is not for the model alone: what it finds without limits does not fit.
    for time in [None, Some(Duration::from_secs(1))] {
        let sweep = Sweep { preset: Preset::Fast, time, without: Without::Groups, goal: None, robust: 0.0 };
        let decision = sweep.place(&instance, &context).unwrap();
        // All on the slow device would take 100.
        let judgement = SumOnFirst.judge(&instance, &decision, &StopToken::default()).unwrap();
        assert_eq!((judgement.excess_bytes, judgement.value), (0, 70.0), "{time:?}");
    }
}

/// Two schedulers; the one that follows plans takes as long as the plan says, the other one half of that.
#[derive(Debug)]
struct Halves(Vec<Arc<str>>);

impl Objective for Halves {
    fn judge(&self, instance: &Instance, decision: &Decision, stop: &StopToken) -> Result<Judgement, PlaceError> {
        stop.check()?;
        if instance.graph().op_count() == 3 {
            return Ok(Judgement::fits(1002.0));
        }
        let planned = decision.plan.as_ref().unwrap().makespan;
        Ok(match decision.scheduler.as_deref() {
            Some("static") => Judgement { scheduler: 1, ..Judgement::fits(planned) },
            _ => Judgement::fits(planned / 2.0),
        })
    }

    fn schedulers(&self) -> &[Arc<str>] {
        &self.0
    }
}

#[test]
fn a_plan_is_executed_by_what_executes_it_best_and_by_its_own_scheduler_where_nothing_was_judged() {
    let context = |stop: StopToken| PlaceContext {
        objective: Some(Arc::new(Halves(vec!["pct".into(), "static".into()]))),
        stop,
        ..PlaceContext::default()
    };
    let instance = one_long_op(2);
    let problem = Problem::new(&instance, 1.0);
    let decisions = [vec![0; 40], vec![1; 40]].map(|devices| Schedule::of_devices(&problem, devices));
    let spread = Schedule::of_devices(&problem, (0..40).map(|op| u32::from(op > 0)).collect());
    let decisions: Vec<Decision> =
        decisions.iter().chain([&spread]).map(|schedule| super::decision(&problem, schedule)).collect();
    let name = |decision: &Decision| decision.scheduler.as_deref().map(str::to_owned);
    let stop = StopToken::default();
    let running = context(stop.clone());
    let judge = Judge::new(&instance, &running).unwrap();
    let ranked = judge.rank(&instance, decisions.clone());
    assert_eq!((ranked[0].0.makespan, name(&ranked[0].1)), (100.0, Some("static".to_owned())));
    let (rank, settled) = judge.settle(&instance, decisions.iter().cloned()).unwrap();
    assert_eq!((rank.makespan, name(&settled)), (50.0, Some("pct".to_owned())));
    stop.stop();
    assert!(judge.settle(&instance, decisions.iter().cloned()).is_none());
    let refusing = Judge { can_refuse: true, ..judge };
    let late = refusing.rank(&instance, decisions);
    assert_eq!((late[0].1.placement.devices()[1], name(&late[0].1)), (DeviceId(1), Some("static".to_owned())));
}

/// Four ops of 30 bytes on two devices of 100: under the rule `peak` nothing limits the search but what it is told to.
#[test]
fn a_cautious_problem_keeps_the_sum_of_demands_below_what_the_rule_peak_allows() {
    let mut builder = GraphBuilder::default();
    for _ in 0..4 {
        builder.add_op(OpSpec { memory_bytes: 30, ..OpSpec::cost(1.0) }, &[]);
    }
    let device = |id: usize| Device { name: format!("d{id}"), kind: Kind::Cpu, memory_bytes: Some(100), speed: 1.0 };
    let cluster = Cluster::new((0..2).map(device).collect(), |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::with_memory_rule(builder.build().unwrap(), cluster, MemoryRule::Peak).unwrap();
    let holds = |problem: &Problem<'_>, devices: &[u32]| Memory::of(problem, devices).is_within_limits(problem);
    assert!(holds(&Problem::new(&instance, 1.0), &[0; 4]));
    for caution in [Caution::Estimate, Caution::Sum] {
        let problem = Problem::new(&instance, 1.0).cautious(caution);
        assert!(!holds(&problem, &[0; 4]) && holds(&problem, &[0, 0, 0, 1]), "{caution:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// At each start the device was free for the op no earlier: every op starts when its inputs are there or when the op before it
    /// on its device ends.
    #[test]
    fn dispatching_leaves_no_device_idle_while_an_op_is_ready(instance in small(false)) {
        let problem = Problem::new(&instance, 1.0);
        let Some(start) = start(&problem) else { return Ok(()) };
        let schedule = Schedule::of_devices(&problem, start.devices);
        check(&instance, &schedule)?;
        let (_, starts, finish) = problem.exact_times(&schedule.devices, &schedule.order);
        for (at, &op) in schedule.order.iter().enumerate() {
            let (op, device) = (op as usize, schedule.devices[op as usize]);
            let arrival = problem.forward().before.of(op).iter().map(|&(before, bytes)| {
                let before = before as usize;
                finish[before] + problem.forward().from.time(schedule.devices[before], device, bytes)
            }).fold(0.0, Time::max);
            // Nothing runs on the device between the arrival and the start but ops that began before, or with a longer tail.
            let busy: Time = schedule.order[..at].iter().filter(|&&other| schedule.devices[other as usize] == device)
                .map(|&other| (finish[other as usize].min(starts[op]) - starts[other as usize].max(arrival)).max(0.0)).sum();
            prop_assert!(busy >= starts[op] - arrival - 1e-6 * (1.0 + starts[op]), "{} {}", busy, starts[op] - arrival);
        }
    }
}
