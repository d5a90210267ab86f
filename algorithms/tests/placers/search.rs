//! Searches: they keep to their budget, answer the best that they saw, and find optima of small instances.

use std::sync::Arc;

use placebench_algorithms::{PlaceContext, PlaceError, registry};
use placebench_datasets::{
    Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, KindSet, Link, OpId, OpSpec, Placement, Time,
};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::objective::TopologicalOrder;
use crate::support::random::{Limits, instances};

const SEARCHES: [&str; 3] = ["reinforce", "cross_entropy", "simulated_annealing"];

fn search(spec: &str, instance: &Instance, seed: u64) -> (Result<Placement, PlaceError>, Arc<TopologicalOrder>) {
    let objective = Arc::new(TopologicalOrder::default());
    let context = PlaceContext { objective: Some(Arc::clone(&objective) as _), ..PlaceContext::with_seed(seed) };
    let placer = registry::placer(&spec.parse().unwrap()).unwrap();
    (placer.place(instance, &context).map(|decision| decision.placement), objective)
}

/// Ops with edges from earlier ones, a pair of colocated ops, one that needs a CPU; two GPUs and a CPU.
fn random_instance(seed: u64, ops: usize) -> Instance {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut builder = GraphBuilder::default();
    for op in 0..ops {
        let kinds = if op == 3 { KindSet::only(Kind::Cpu) } else { KindSet::ALL };
        let spec = OpSpec { kinds, ..OpSpec::cost(f64::from(random.random_range(1..20u32))) };
        builder.add_op(spec, &[random.random_range(1..12)]);
    }
    for target in 1..ops {
        let source = random.random_range(target.saturating_sub(3) as u32..target as u32);
        builder.add_edge(OpId(source), 0, OpId::new(target)).unwrap();
    }
    builder.colocate(OpId(0), OpId(2)).unwrap();
    let device = |(name, kind, speed): (&str, Kind, f64)| Device { name: name.into(), kind, memory_bytes: None, speed };
    let devices = [("cpu", Kind::Cpu, 1.0), ("gpu0", Kind::Gpu, 2.0), ("gpu1", Kind::Gpu, 2.0)].map(device);
    let cluster = Cluster::new(devices.to_vec(), |_, _| Link { rate: 2.0, latency: 0.0 }).unwrap();
    Instance::new(builder.build().unwrap(), cluster).unwrap()
}

/// The least makespan of all feasible placements.
fn optimum(instance: &Instance) -> Time {
    let (units, cluster) = (instance.units(), instance.cluster());
    let devices = cluster.device_count();
    let mut best = Time::INFINITY;
    for mut code in 0..devices.pow(units.count() as u32) {
        let mut of_op = vec![DeviceId(0); instance.graph().op_count()];
        for unit in units.ids() {
            units.members(unit).iter().for_each(|op| of_op[op.index()] = DeviceId::new(code % devices));
            code /= devices;
        }
        let placement = Placement::new(of_op);
        if placement.check(instance).is_ok() {
            best = best.min(TopologicalOrder::evaluate(instance, &placement));
        }
    }
    best
}

#[test]
fn small_instances_are_solved_to_the_optimum_or_nearly() {
    for name in SEARCHES {
        let mut worst: Time = 1.0;
        let mut optimal = 0;
        for seed in 0..20 {
            let instance = random_instance(seed, 8);
            let (placement, _) = search(name, &instance, seed);
            let found = TopologicalOrder::evaluate(&instance, &placement.unwrap());
            let ratio = found / optimum(&instance);
            worst = worst.max(ratio);
            optimal += usize::from(ratio <= 1.0 + 1e-12);
        }
        assert!(worst <= 1.1 && optimal >= 15, "{name}: {optimal} of 20 are optimal, the worst is {worst} times it");
    }
}

#[test]
fn every_search_spends_exactly_its_budget_and_answers_the_best_that_it_saw() {
    let instance = random_instance(5, 40);
    for name in SEARCHES {
        for budget in [1, 2, 57, 300] {
            let (placement, objective) = search(&format!("{name}(budget={budget})"), &instance, 1);
            assert_eq!(objective.asked(), budget, "{name}");
            let found = TopologicalOrder::evaluate(&instance, &placement.unwrap());
            assert_eq!(found, objective.least(), "{name} with a budget of {budget}");
        }
    }
}

#[test]
fn searches_have_the_same_default_budget() {
    let instance = random_instance(5, 30);
    for name in SEARCHES {
        assert_eq!(search(name, &instance, 1).1.asked(), 1000, "{name}");
    }
}

#[test]
fn threads_make_no_difference() {
    let instance = random_instance(6, 60);
    for name in SEARCHES {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| search(&format!("{name}(budget=200)"), &instance, 9).0.unwrap())
        };
        let first = on(1);
        assert_eq!((&first, &first), (&on(2), &on(5)), "{name}");
    }
}

#[test]
fn the_seed_decides_and_more_budget_never_hurts() {
    let instance = random_instance(7, 60);
    for name in SEARCHES {
        let makespan = |spec: String, seed| search(&spec, &instance, seed).1.least();
        let short = format!("{name}(budget=40)");
        assert!((0..9).any(|seed| makespan(short.clone(), seed) != makespan(short.clone(), 9)), "{name}");
        let start = TopologicalOrder::evaluate(&instance, &search("single_device", &instance, 0).0.unwrap());
        assert!(makespan(format!("{name}(budget=500)"), 3) < start, "{name} improves on its start");
    }
}

#[test]
fn a_coarser_grouping_still_places_every_op() {
    let instance = random_instance(8, 60);
    for name in SEARCHES {
        let (placement, objective) = search(&format!("{name}(budget=100,groups=7)"), &instance, 2);
        assert_eq!((placement.unwrap().check(&instance), objective.asked()), (Ok(()), 100), "{name}");
    }
}

#[test]
fn without_an_objective_the_error_says_what_is_missing() {
    let instance = random_instance(1, 8);
    for name in SEARCHES {
        let placer = registry::placer(&name.parse().unwrap()).unwrap();
        assert!(placer.needs_objective());
        match placer.place(&instance, &PlaceContext::default()) {
            Err(PlaceError::Unsupported(reason)) => {
                assert!(reason.starts_with(name) && reason.contains("PlaceContext::objective"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The objective asserts that each placement it gets is feasible.
    #[test]
    fn only_feasible_placements_are_simulated_and_the_best_is_returned(instance in instances(Limits::exact(12)), seed: u64) {
        for name in SEARCHES {
            let (placement, objective) = search(&format!("{name}(budget=40,groups=5)"), &instance, seed);
            prop_assert!(objective.asked() <= 40);
            match placement {
                Ok(placement) => {
                    prop_assert_eq!(TopologicalOrder::evaluate(&instance, &placement), objective.least());
                }
                Err(error) => prop_assert!(matches!(error, PlaceError::Infeasible { .. }), "{}", error),
            }
        }
    }
}
