//! Sweep: never worse than HEFT, the same on any number of threads, and an answer when told to stop.

use std::time::{Duration, Instant};

use placebench_algorithms::{PlaceContext, PlaceError, Placer, StopToken, registry};
use placebench_datasets::{Cluster, GraphBuilder, Instance, Kind, Link, OpId, OpSpec};
use proptest::prelude::*;

use crate::support::instances::{arabnejad, topcuoglu};
use crate::support::random::{Limits, instances};

fn placer(spec: &str) -> Box<dyn Placer> {
    registry::placer(&spec.parse().unwrap()).unwrap()
}

/// Layers of 20 ops, each with three inputs from the layer before, on eight CPUs.
fn layers(ops: usize) -> Instance {
    let mut builder = GraphBuilder::default();
    for op in 0..ops {
        builder.add_op(OpSpec::cost((1 + op * 7 % 11) as f64), &[(6 + op * 29 % 71) as u64]);
        for input in [3, 8, 17] {
            if op >= 40 {
                builder.add_edge(OpId::new(op / 20 * 20 - 20 + (op * 3 + input) % 20), 0, OpId::new(op)).unwrap();
            }
        }
    }
    let cluster = Cluster::uniform(8, Kind::Cpu, 1.0, Link { rate: 2.0, latency: 0.1 }).unwrap();
    Instance::new(builder.build().unwrap(), cluster).unwrap()
}

fn makespan(spec: &str, instance: &Instance) -> f64 {
    let decision = placer(spec).place(instance, &PlaceContext::with_seed(3)).unwrap();
    decision.plan.unwrap().makespan
}

#[test]
fn published_instances_are_solved_to_their_optima() {
    for preset in ["sweep(preset=fast)", "sweep", "sweep(preset=quality)"] {
        assert_eq!((makespan(preset, &topcuoglu()), makespan(preset, &arabnejad())), (73.0, 113.0), "{preset}");
    }
}

#[test]
fn it_gains_on_heft_and_more_effort_gains_more() {
    let instance = layers(600);
    let [heft, fast, default, quality] =
        ["heft", "sweep(preset=fast)", "sweep", "sweep(preset=quality)"].map(|spec| makespan(spec, &instance));
    assert!(heft > fast && fast >= default && default >= quality, "{heft} {fast} {default} {quality}");
    assert!(default < 0.95 * heft, "{default} {heft}");
}

#[test]
fn the_answer_is_the_same_on_any_number_of_threads_and_depends_on_the_seed_alone() {
    let instance = layers(400);
    let place = |threads, seed| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| placer("sweep(preset=quality)").place(&instance, &PlaceContext::with_seed(seed)).unwrap())
    };
    let first = place(1, 1);
    assert_eq!(first, place(3, 1));
    assert_ne!(first, place(3, 2));
}

#[test]
fn at_a_deadline_it_answers_with_the_best_so_far() {
    let instance = layers(20_000);
    for (spec, limit) in [("sweep(preset=quality)", Some(Duration::from_secs(2))), ("sweep(time=1s)", None)] {
        let mut context = PlaceContext::default();
        if let Some(limit) = limit {
            context.stop = StopToken::with_deadline(Instant::now() + limit);
        }
        match placer(spec).place(&instance, &context) {
            Ok(decision) => assert!(decision.plan.unwrap().makespan <= makespan("heft", &instance)),
            // A busy machine finds nothing within two seconds.
            Err(error) => assert!(limit.is_some() && error == PlaceError::Stopped, "{spec}: {error}"),
        }
    }
}

#[test]
fn a_time_that_is_none_is_refused_with_what_it_must_be() {
    for text in ["2", "s", "-1s", "0ms", "1h", "infs"] {
        let error = registry::placer(&format!("sweep(time={text})").parse().unwrap()).err().unwrap().to_string();
        assert_eq!(
            error,
            format!("'sweep': parameter 'time' is '{text}', but must be none, or a time such as 500ms, 2s or 1.5m")
        );
    }
}

#[test]
fn improve_takes_any_placer_that_decides_before_the_run() {
    for (text, is_good) in [
        ("improve", true),
        ("improve(placer=scoring(alpha=1.1,fringe=2))", true),
        ("improve(placer=hett)", false),
        ("improve(placer=dheft)", false),
        ("improve(placer=improve)", false),
        ("improve(placer=heft(average=none))", false),
    ] {
        assert_eq!(registry::placer(&text.parse().unwrap()).is_ok(), is_good, "{text}");
    }
}

#[test]
fn improve_gains_on_what_it_starts_from_and_is_the_same_on_any_number_of_threads() {
    let instance = layers(300);
    let place = |threads, spec: &str| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| placer(spec).place(&instance, &PlaceContext::with_seed(3)).unwrap())
    };
    let improved = place(1, "improve(placer=hashing)");
    assert_eq!(improved, place(3, "improve(placer=hashing)"));
    let gains = makespan("improve(placer=heft,preset=quality)", &instance) / makespan("heft", &instance);
    assert!(gains < 0.97, "{gains}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]

    #[test]
    fn its_plan_is_no_longer_than_that_of_heft(
        instance in instances(Limits { ops: 40, devices: 5, edges: 90, memory: true, exact: false }),
    ) {
        let context = PlaceContext::default();
        let decision = match placer("sweep").place(&instance, &context) {
            Err(PlaceError::Infeasible { .. }) => return Ok(()),
            decision => decision.unwrap(),
        };
        prop_assert_eq!(decision.placement.check(&instance), Ok(()));
        let plan = decision.plan.as_ref().unwrap();
        if let Ok(heft) = placer("heft").place(&instance, &context) {
            prop_assert!(plan.makespan <= heft.plan.unwrap().makespan);
        }
    }
    #[test]
    fn improve_is_never_worse_than_the_plan_it_starts_from(
        instance in instances(Limits { ops: 40, devices: 5, edges: 90, memory: true, exact: false }),
    ) {
        let context = PlaceContext::default();
        for start in ["heft", "peft", "etf", "mcp", "lookahead"] {
            let improved = placer(&format!("improve(placer={start},preset=fast)")).place(&instance, &context);
            let Ok(start) = placer(start).place(&instance, &context) else {
                prop_assert!(improved.is_err());
                continue;
            };
            let improved = improved.unwrap();
            prop_assert_eq!(improved.placement.check(&instance), Ok(()));
            prop_assert!(improved.plan.unwrap().makespan <= start.plan.unwrap().makespan * (1.0 + 1e-12));
        }
    }
}
