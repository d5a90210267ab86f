//! Runs under costs that vary: the factors, the laws that every draw obeys, and what of it a row says.

use std::sync::Arc;

use placebench_algorithms::period::Goal;
use placebench_algorithms::schedulers::Fifo;
use placebench_algorithms::{PlaceContext, Plan, Scheduler, StopToken, Task, registry};
use placebench_datasets::{DeviceId, Instance, OpId, PlacedGraph, Time, Transfer};
use placebench_harness::execute::simulate::{ContentionFree, NETWORK_MODELS, NetworkModel, Noise, Simulator};
use placebench_harness::execute::{ExecutionError, Executor, Noisy, Order, order_of};
use placebench_harness::objective::SimulatedObjective;
use placebench_harness::problem::{ClusterEntry, GraphEntry, Problem};
use placebench_harness::request::named_scheduler;
use placebench_harness::validator::{Demands, validate};
use proptest::prelude::*;

use crate::support::naive;
use crate::support::random::{PLAIN, Shape, Variant, instance, shapes};

/// All that can vary.
const ALL: &str = "op=0.3,type=0.2,device=0.2,transfer=0.5,link=0.2,straggler=0.2,slowdown=3";

fn noise(text: &str) -> Noise {
    text.parse().unwrap()
}

fn drawn(network: &'static dyn NetworkModel, noise: Noise, seed: u64, draw: u32) -> Simulator {
    Simulator { draw: Some(noise.draw(seed, draw)), ..Simulator::new(network) }
}

fn noisy(network: &'static dyn NetworkModel, text: &str, seed: u64) -> Noisy {
    Noisy { simulator: Simulator::new(network), noise: noise(text), seed }
}

fn networks() -> impl Strategy<Value = &'static dyn NetworkModel> {
    prop::sample::select(NETWORK_MODELS.to_vec())
}

/// Mean and coefficient of variation.
fn moments(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, square.sqrt() / mean)
}

fn convnet() -> Problem {
    let (graph, cluster) = (GraphEntry::named("convnet").unwrap(), ClusterEntry::named("gtx1080x4").unwrap());
    Problem::new(&graph, &cluster, 0).unwrap()
}

fn transfer(source: u32, tensor: Option<u32>, from: u32, to: u32) -> Transfer {
    let tensor = tensor.map(placebench_datasets::TensorId);
    Transfer { source: OpId(source), tensor, from: DeviceId(from), to: DeviceId(to), bytes: 1, time: 1.0 }
}

#[test]
fn factors_have_mean_1_and_the_variation_that_was_asked_for() {
    let instance = convnet().instance;
    for (text, variation) in [("op=0.1", 0.1), ("op=0.5", 0.5), ("transfer=0.3", 0.3), ("device=0.2", 0.2)] {
        let noise = noise(text);
        let factor = |draw: u32| {
            let drawn = noise.draw(7, draw);
            match text.split_once('=').unwrap().0 {
                "op" => drawn.op_factor(&instance, OpId(draw % 225), DeviceId(0)),
                "device" => drawn.slowness(DeviceId(draw % 4)),
                _ => drawn.stretch(&transfer(0, Some(draw % 100), 0, 1)),
            }
        };
        let (mean, found) = moments(&(0..40_000).map(factor).collect::<Vec<_>>());
        // Five standard errors of the mean; the variation of the variation is larger, since the tail is long.
        assert!((mean - 1.0).abs() < 5.0 * variation / 200.0, "{text}: mean {mean}");
        assert!((found / variation - 1.0).abs() < 0.1, "{text}: variation {found}");
    }
    let stragglers = noise("straggler=0.1,slowdown=3");
    let factors: Vec<f64> = (0..40_000).map(|draw| stragglers.draw(0, draw).slowness(DeviceId(1))).collect();
    assert!(factors.iter().all(|&factor| factor == 1.0 || factor == 3.0));
    let share = factors.iter().filter(|&&factor| factor == 3.0).count() as f64 / 40_000.0;
    assert!((share - 0.1).abs() < 0.0075, "{share}");
}

#[test]
fn what_varies_together_has_one_factor_and_what_does_not_has_its_own() {
    let instance = convnet().instance;
    let types = instance.graph().op_types().unwrap();
    let ops = |of: usize| instance.graph().op_ids().filter(move |op| types.number(op.index()) == Some(of));
    let (first, second) = (ops(0).next().unwrap(), ops(1).next().unwrap());
    let same = ops(0).nth(1).unwrap();
    let of_op =
        |text: &str, draw, op, device: u32| noise(text).draw(3, draw).op_factor(&instance, op, DeviceId(device));
    assert_eq!(of_op("type=0.3", 0, first, 0), of_op("type=0.3", 0, same, 1));
    assert_ne!(of_op("type=0.3", 0, first, 0), of_op("type=0.3", 0, second, 0));
    assert_ne!(of_op("type=0.3", 0, first, 0), of_op("type=0.3", 1, first, 0));
    // An op varies in the same way wherever it runs: placements meet the same draws.
    assert_eq!(of_op("op=0.3", 0, first, 0), of_op("op=0.3", 0, first, 1));
    assert_ne!(of_op("op=0.3", 0, first, 0), of_op("op=0.3", 0, same, 0));
    assert_ne!(of_op("device=0.3", 0, first, 0), of_op("device=0.3", 0, first, 1));
    assert_eq!(of_op("device=0.3", 0, first, 0), of_op("device=0.3", 0, second, 0));
    assert_eq!(of_op("transfer=0.3", 0, first, 0), 1.0);

    let moved = |text: &str, transfer: Transfer| noise(text).draw(3, 0).stretch(&transfer);
    let plain = transfer(5, Some(9), 0, 1);
    assert_ne!(moved("transfer=0.3", plain), moved("transfer=0.3", transfer(5, Some(9), 0, 2)));
    assert_ne!(moved("transfer=0.3", plain), moved("transfer=0.3", transfer(5, Some(8), 0, 1)));
    assert_ne!(moved("transfer=0.3", plain), moved("transfer=0.3", transfer(5, None, 0, 1)));
    assert_ne!(moved("transfer=0.3", transfer(5, None, 0, 1)), moved("transfer=0.3", transfer(6, None, 0, 1)));
    assert_eq!(moved("link=0.3", plain), moved("link=0.3", transfer(4, Some(2), 0, 1)));
    assert_ne!(moved("link=0.3", plain), moved("link=0.3", transfer(5, Some(9), 1, 0)));
    assert_eq!(moved("op=0.3,device=0.3,straggler=1", plain), 1.0);
}

#[test]
fn noise_reads_back_as_it_was_written() {
    for text in ["0.1", "op=0.1", "type=0.25,device=0.5", "transfer=0.1,link=0.2,straggler=0.01,slowdown=4", ALL] {
        assert_eq!(noise(text).to_string(), text);
        assert_eq!(noise(text).executor(), format!("noise({text})"));
    }
    assert_eq!(noise("op=0.3,transfer=0.3").to_string(), "0.3");
    assert_eq!(noise(" op = 0.1 , draws=7,order=replay ").to_string(), "op=0.1,draws=7,order=replay");
    for (text, expected) in [
        ("x", "'noise': 'x' is no noise: write a number, for ops and transfers, or parameter=value"),
        ("", "'noise': nothing varies: give one of op, type, device, transfer, link, straggler"),
        ("draws=9", "'noise': nothing varies"),
        ("0", "'noise': nothing varies"),
        ("-0.1", "'noise': parameter 'op' is '-0.1', but must be a number of at least 0 and at most 10"),
        ("op=nan", "'noise': parameter 'op' is 'nan'"),
        ("opp=0.1", "'noise' has no parameter 'opp': did you mean 'op'?"),
        ("op=0.1,draws=0", "'noise': parameter 'draws' is '0'"),
        ("op=0.1,order=static", "'noise': parameter 'order' is 'static', but must be dynamic or replay"),
        ("op=0.1,op=0.2", "'noise' is given the parameter 'op' twice"),
    ] {
        let message = text.parse::<Noise>().unwrap_err().to_string();
        assert!(message.starts_with(expected), "{text}: {message}");
    }
}

#[test]
fn what_all_straggles_takes_so_many_times_as_long() {
    let instance = convnet().instance;
    let placement = placebench_datasets::Placement::new(vec![DeviceId(0); instance.graph().op_count()]);
    let placed = PlacedGraph::new(&instance, &placement);
    let order = Order { scheduler: &Fifo, plan: None };
    let run = |simulator: Simulator| simulator.execute(&placed, order, &StopToken::default()).unwrap().makespan();
    let plain = run(Simulator::default());
    let slow = run(drawn(&ContentionFree, noise("straggler=1,slowdown=3"), 0, 0));
    assert!((slow / plain - 3.0).abs() < 1e-9, "{}", slow / plain);
    let hardly = run(drawn(&ContentionFree, noise("op=1e-12"), 0, 0));
    assert!((hardly / plain - 1.0).abs() < 1e-9);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Another simulator gets the same times multiplied by the same factors.
    #[test]
    fn a_draw_is_what_a_naive_simulator_gives_with_these_factors(
        shape in shapes(),
        relabelled: bool,
        network in prop::sample::select(vec!["contention_free", "one_port", "loggp"]),
    ) {
        let network = NETWORK_MODELS.into_iter().find(|model| model.name() == network).unwrap();
        let (instance, placement) = instance(shape, Variant { relabelled, ..PLAIN });
        let placed = PlacedGraph::new(&instance, &placement);
        let draw = noise(ALL).draw(shape.seed, 1);
        let simulator = Simulator { draw: Some(draw), ..Simulator::new(network) };
        let order = Order { scheduler: &Fifo, plan: None };
        let timeline = simulator.execute(&placed, order, &StopToken::default()).unwrap();
        let expected = naive::simulate(&instance, &placement, network, Some(&draw));
        prop_assert_eq!(timeline.records(&placed), expected);
    }

    #[test]
    fn the_validator_accepts_every_draw_of_every_scheduler(
        shape in shapes(),
        network in networks(),
        scheduler in prop::sample::select(registry::SCHEDULERS.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>()),
    ) {
        let (instance, placement) = instance(shape, PLAIN);
        let placed = PlacedGraph::new(&instance, &placement);
        let scheduler = registry::scheduler(&scheduler.parse().unwrap()).unwrap();
        let plan = Plan::of_ops(instance.graph().topological_order(), 0.0);
        let order = Order { scheduler: &*scheduler, plan: Some(&plan) };
        let timeline = drawn(network, noise(ALL), shape.seed, 0).execute(&placed, order, &StopToken::default()).unwrap();
        let found = validate(&instance, &placement, &timeline.records(&placed), Demands::Order);
        // What is in memory at once is another matter: a draw may need more of it.
        prop_assert!(found.is_ok() || format!("{found:?}").contains("OutOfMemory"), "{:?}", found);
    }

    #[test]
    fn placers_that_decide_during_the_run_decide_anew_in_each_draw(shape in shapes(), network in networks()) {
        let (instance, _) = instance(shape, PLAIN);
        let cats = registry::placer(&"cats".parse().unwrap()).unwrap();
        let executor = noisy(network, "op=0.5,transfer=0.5,draws=5", shape.seed);
        let run = match executor.execute_online(&instance, cats.online().unwrap(), &StopToken::default()) {
            Ok(run) => run,
            // In one of the draws the rest fits nowhere.
            Err(ExecutionError::Place(_)) => return Ok(()),
            Err(other) => panic!("{other}"),
        };
        let placed = PlacedGraph::new(&instance, &run.placement);
        let found = validate(&instance, &run.placement, &run.timeline.records(&placed), Demands::Order);
        prop_assert!(found.is_ok() || format!("{found:?}").contains("OutOfMemory"), "{:?}", found);
        prop_assert_eq!(run.timeline.draws().unwrap().makespans.len(), 5);
    }
}

/// The ops of each device in the order in which it executes them.
fn ops_of(tasks: Vec<Vec<Task>>) -> Vec<Vec<OpId>> {
    let ops =
        |tasks: Vec<Task>| tasks.into_iter().filter_map(|task| if let Task::Op(op) = task { Some(op) } else { None });
    tasks.into_iter().map(|tasks| ops(tasks).collect()).collect()
}

#[test]
fn a_fixed_order_stays_and_another_is_decided_anew() {
    let instance = convnet().instance;
    let heft = registry::placer(&"heft".parse().unwrap()).unwrap();
    let decision = heft.place(&instance, &Default::default()).unwrap();
    let placed = PlacedGraph::new(&instance, &decision.placement);
    let run = |scheduler: &str, draw: Option<u32>| {
        let scheduler = registry::scheduler(&scheduler.parse().unwrap()).unwrap();
        let order = Order { scheduler: &*scheduler, plan: decision.plan.as_ref() };
        let simulator = match draw {
            None => Simulator::default(),
            Some(draw) => drawn(&ContentionFree, noise("op=1,transfer=1"), 0, draw),
        };
        let timeline = simulator.execute(&placed, order, &StopToken::default()).unwrap();
        ops_of(order_of(&placed, &timeline))
    };
    // Ops that take no time have no order among themselves in a timeline, but drawn costs keep them at no time.
    let timed = |orders: Vec<Vec<OpId>>| -> Vec<Vec<OpId>> {
        let is_timed = |op: &OpId| placed.exec_time(*op) > 0.0;
        orders.into_iter().map(|ops| ops.into_iter().filter(is_timed).collect()).collect()
    };
    let planned = timed(run("static", None));
    assert!((0..20).all(|draw| timed(run("static", Some(draw))) == planned));
    let scheduled = timed(run("fifo", None));
    assert!((0..20).any(|draw| timed(run("fifo", Some(draw))) != scheduled));

    // As an executor, `order=replay` makes any order a fixed one; its first draw is that of the simulator.
    let fifo: &dyn Scheduler = &Fifo;
    let order = Order { scheduler: fifo, plan: None };
    let executed = |text: &str| {
        let timeline = noisy(&ContentionFree, text, 0).execute(&placed, order, &StopToken::default()).unwrap();
        (timed(ops_of(order_of(&placed, &timeline))), timeline.draws().unwrap().clone())
    };
    let (order_kept, kept) = executed("op=1,transfer=1,draws=20,order=replay");
    let (_, anew) = executed("op=1,transfer=1,draws=20");
    assert_eq!(order_kept, scheduled);
    let first = drawn(&ContentionFree, noise("op=1,transfer=1"), 0, 0);
    let first: Time = first.execute(&placed, order, &StopToken::default()).unwrap().makespan();
    assert_eq!(anew.makespans[0], first);
    assert_eq!(kept.predicted, anew.predicted);
    assert_ne!(kept.makespans, anew.makespans);
}

#[test]
fn what_noise_cannot_do_is_refused() {
    let shape = Shape { ops: 9, devices: 2, send_ops: 0.0, whole_numbers: true, seed: 5 };
    let (untyped, placement) = instance(shape, PLAIN);
    let placed = PlacedGraph::new(&untyped, &placement);
    let order = Order { scheduler: &Fifo, plan: None };
    let stop = StopToken::default();
    let error = noisy(&ContentionFree, "op=0.1,type=0.1", 0).execute(&placed, order, &stop).unwrap_err().to_string();
    assert_eq!(error, "noise: type: the ops of this graph have no types: leave it out");
    let cats = registry::placer(&"cats".parse().unwrap()).unwrap();
    let replayed = noisy(&ContentionFree, "op=0.1,order=replay", 0);
    let error = replayed.execute_online(&convnet().instance, cats.online().unwrap(), &stop).unwrap_err().to_string();
    assert!(error.contains("order=replay keeps the order of a placement"), "{error}");
}

#[test]
fn a_run_with_little_to_do_has_few_surprises() {
    let shape = Shape { ops: 1, devices: 2, send_ops: 0.0, whole_numbers: true, seed: 5 };
    let (instance, placement) = instance(shape, PLAIN);
    let placed = PlacedGraph::new(&instance, &placement);
    let order = Order { scheduler: &Fifo, plan: None };
    let executor = noisy(&ContentionFree, "op=0.1,draws=1", 0);
    let draws = executor.execute(&placed, order, &StopToken::default()).unwrap().draws().unwrap().clone();
    assert_eq!((draws.least(), draws.halves()), (draws.largest(), None));
    assert_eq!(draws.percentile_95(), draws.makespans[0]);
}

/// What is predicted for the answer of a placer, and its mean makespan under noise of 30 %.
fn predicted_and_mean(instance: &Instance, placer: &str) -> (Time, Time) {
    let schedulers = ["pct", "static", "fifo"].map(|name| named_scheduler(name).unwrap());
    let objective = Arc::new(SimulatedObjective::new(&ContentionFree, &schedulers));
    let context = PlaceContext { objective: Some(Arc::clone(&objective) as _), ..PlaceContext::default() };
    let decision = registry::placer(&placer.parse().unwrap()).unwrap().place(instance, &context).unwrap();
    let placed = PlacedGraph::new(instance, &decision.placement);
    let order = Order { scheduler: objective.scheduler_of(&decision), plan: decision.plan.as_ref() };
    let timeline = noisy(&ContentionFree, "0.3", 1).execute(&placed, order, &StopToken::default()).unwrap();
    let draws = timeline.draws().unwrap();
    (draws.predicted, draws.mean())
}

#[test]
fn a_robust_sweep_plans_for_the_mean_and_not_for_what_is_predicted() {
    let leveled = "leveled(levels=10,nodes_per_level=[5,15],level_edges.probability=0.2,level_edges.limit=2,\
                   costs.ops=uniform(1000,100000),costs.tensor_bytes=uniform(1000,100000))";
    let graph = GraphEntry { ccr: Some(5.0), ..GraphEntry::named(leveled).unwrap() };
    let instance = Problem::new(&graph, &ClusterEntry::named("tiny3").unwrap(), 3).unwrap().instance;
    let (predicted, mean) = predicted_and_mean(&instance, "sweep");
    let (robustly_predicted, robust_mean) = predicted_and_mean(&instance, "sweep(robust=0.3)");
    assert!(robust_mean < 0.99 * mean, "{robust_mean} {mean}");
    assert!(predicted <= robustly_predicted, "{predicted} {robustly_predicted}");
    assert_eq!(predicted_and_mean(&instance, "sweep(robust=0)"), (predicted, mean));
    // Small graphs, which are solved, too.
    let small = GraphEntry::named("leveled(levels=4,nodes_per_level=[3,5])").unwrap();
    let small = Problem::new(&small, &ClusterEntry::named("tiny3").unwrap(), 1).unwrap().instance;
    let [plain, robust] = ["sweep", "sweep(robust=0.3)"].map(|placer| predicted_and_mean(&small, placer));
    assert!(robust.1 <= 1.03 * plain.1, "{robust:?} {plain:?}");
}

#[test]
fn a_sweep_that_cannot_be_robust_says_so() {
    let instance = convnet().instance;
    let sweep = registry::placer(&"sweep(robust=0.1)".parse().unwrap()).unwrap();
    let alone = sweep.place(&instance, &PlaceContext::default()).unwrap_err().to_string();
    assert!(alone.contains("robust=0.1: nothing here draws makespans of costs that vary: leave it out"), "{alone}");
    let period = SimulatedObjective::new(&ContentionFree, &[]).minimising(Goal::Period);
    let context = PlaceContext { objective: Some(Arc::new(period)), ..PlaceContext::default() };
    assert_eq!(sweep.place(&instance, &context).unwrap_err().to_string(), alone);
}
