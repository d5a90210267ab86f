//! What the parts of the search keep: exact path lengths, makespans that do not rise, constraints.

use placebench_datasets::{Cluster, DeviceId, GraphBuilder, Instance, Kind, Link, OpId, OpSpec, Placement, Time};
use proptest::prelude::*;

use super::annealing::Annealing;
use super::passes::{Guide, informed_pass, list_pass};
use super::problem::Problem;
use super::random::Random;
use super::schedule::Schedule;
use super::seeds::Seed;
use super::sweep::Sweeper;
use crate::{PlaceContext, StopToken, exact};

#[path = "../../../tests/support/random.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests of the crate's public face")]
mod random_instances;

use random_instances::{Limits, instances};

fn small(memory: bool) -> impl Strategy<Value = Instance> {
    instances(Limits { ops: 40, devices: 5, edges: 90, memory })
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
        let mut memory = problem.memory_of(&schedule.devices);
        let mut random = Random::new(seed, 0);
        for sweep in 0..6 {
            let before = schedule.makespan;
            // Noise in the last two, to come by other schedules.
            let temperature = if sweep < 4 { 0.0 } else { 0.1 * before };
            let is_backward = sweep % 2 == 0;
            if is_backward {
                schedule.reverse();
            }
            let way = if is_backward { problem.backward() } else { problem.forward() };
            sweeper.sweep(way, &mut schedule, &mut memory, temperature, &mut random);
            if is_backward {
                schedule.reverse();
            }
            check(&instance, &schedule)?;
            prop_assert!(is_near(schedule.makespan, schedule.on(&problem).makespan));
            if temperature == 0.0 && !has_groups {
                prop_assert!(schedule.makespan <= before * (1.0 + 1e-9), "{before} became {}", schedule.makespan);
            }
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
            annealing.run(40, heat, heat / 2.0, &mut random, &StopToken::default());
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
    fn list_passes_in_both_directions_keep_all_constraints(instance in small(true)) {
        let problem = Problem::new(&instance, 1.0);
        for seed in Seed::ALL {
            let Some(schedule) = seed.make(&problem, &PlaceContext::default()).unwrap() else { continue };
            check(&instance, &schedule)?;
            let mut reversed = schedule.clone();
            reversed.reverse();
            if let Some(mut next) = informed_pass(problem.backward(), &reversed) {
                next.reverse();
                check(&instance, &next)?;
                prop_assert!(is_near(next.makespan, next.on(&problem).makespan));
            }
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
    let schedule = list_pass(problem.forward(), &[0, 1, 2], &Guide::None, true).unwrap();
    assert_eq!((schedule.devices, schedule.makespan), (vec![0, 1, 1], 10.0));
}

#[test]
fn the_search_comes_within_two_percent_of_proven_optima_in_the_mean() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let (mut sum, mut count) = (0.0, 0.0);
    for _ in 0..60 {
        let limits = Limits { ops: 12, devices: 3, edges: 24, memory: false };
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
