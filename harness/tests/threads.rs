//! The executor `threads`: it is never earlier than what it emulates, and its runs obey the laws of order. How late it is
//! depends on what else the machine does: the tests print it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use placebench_algorithms::schedulers::Pct;
use placebench_algorithms::{Decision, StopToken};
use placebench_datasets::{Cluster, DeviceId, GraphBuilder, Instance, Kind, Link, OpSpec, Placement};
use placebench_harness::evaluate::{Evaluation, EvaluationError, Evaluator, Placed};
use placebench_harness::execute::simulate::ContentionFree;
use placebench_harness::execute::threads::Threads;
use placebench_harness::execute::{ExecuteSettings, ExecutionError, Kernel, OrderMode, Progress, RealTime, Setup};
use placebench_harness::problem::GraphEntry;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// A random graph of this many ops on devices of speed 1, each op with inputs from a few ops shortly before it, and a
/// random placement. The largest tensor takes half a mean op to move.
fn random(ops: usize, devices: usize) -> (Instance, Placement) {
    let mut random = Pcg64::seed_from_u64(42);
    let mut builder = GraphBuilder::default();
    let mut ids = Vec::new();
    for index in 0..ops {
        let cost = f64::from(random.random_range(1..20_u32)) / 10.0;
        ids.push(builder.add_op(OpSpec::cost(cost), &[1000 * random.random_range(1..=100_u64)]));
        for _ in 0..random.random_range(1..=3_u32) {
            let earliest = index.saturating_sub(4 * devices);
            if index >= devices && index > earliest {
                let from = random.random_range(earliest..index);
                builder.add_edge(ids[from], 0, ids[index]).unwrap();
            }
        }
    }
    let link = Link { rate: 200_000.0, latency: 0.1 };
    let instance =
        Instance::new(builder.build().unwrap(), Cluster::uniform(devices, Kind::Cpu, 1.0, link).unwrap()).unwrap();
    let placement = Placement::new((0..ops).map(|_| DeviceId::new(random.random_range(0..devices))).collect());
    (instance, placement)
}

fn execute(
    (instance, placement): &(Instance, Placement),
    settings: &ExecuteSettings,
    stop: &StopToken,
    notify: placebench_harness::execute::Notify,
) -> Result<Evaluation, EvaluationError> {
    let setup = Setup {
        network: &ContentionFree,
        noise: None,
        seed: 0,
        settings,
        graph: &GraphEntry::default(),
        time_unit: "EU",
        notify,
    };
    let decision = Decision::placement(placement.clone());
    let placed = Placed::Before { decision, took: Duration::ZERO };
    let evaluator = Evaluator { instance, reference: None, seed: 0, stop };
    evaluator.execute(&placed, Some(&Pct), &Threads::new(&setup))
}

#[test]
fn waiting_devices_take_at_least_as_long_as_predicted_without_contention() {
    for devices in [2, 8, 32] {
        let problem = random(40 * devices, devices);
        let settings = ExecuteSettings { warm_up: 1, repetitions: 5, ..ExecuteSettings::default() };
        let evaluation = execute(&problem, &settings, &StopToken::default(), Arc::new(|_| ())).unwrap();
        let predicted = evaluation.predictions.get("contention_free").unwrap().makespan.unwrap();
        let measurement = evaluation.timeline.measurement().unwrap();
        let (least, median) = (measurement.least() / predicted - 1.0, measurement.median() / predicted - 1.0);
        println!(
            "{devices:>2} devices: least {:+.2} %, median {:+.2} %, largest {:+.2} %; {}; {:.0} % by others",
            100.0 * least,
            100.0 * median,
            100.0 * (measurement.largest() / predicted - 1.0),
            measurement.execution,
            100.0 * measurement.other_load.unwrap_or_default()
        );
        // Rounding to nanoseconds is all that is lost.
        assert!(least >= -1e-4, "{devices} devices: {least}");
    }
}

#[test]
fn a_scheduler_that_decides_during_the_run_gives_a_valid_run_that_is_not_shorter() {
    let (instance, placement) = random(200, 4);
    for send_ops in [0.0, 0.2] {
        let cluster = instance.cluster().clone().with_send_ops(send_ops).unwrap();
        let problem = (Instance::new(instance.graph().clone(), cluster).unwrap(), placement.clone());
        let settings = ExecuteSettings {
            order: OrderMode::Dynamic,
            repetitions: 3,
            mean_op: RealTime { seconds: 1e-3 },
            ..ExecuteSettings::default()
        };
        let evaluation = execute(&problem, &settings, &StopToken::default(), Arc::new(|_| ())).unwrap();
        let measurement = evaluation.timeline.measurement().unwrap();
        let error =
            evaluation.predictions.get("contention_free").unwrap().makespan.unwrap() / measurement.least() - 1.0;
        println!("sends of {send_ops}: {error}");
        assert!(error < 0.05, "{error}");
    }
}

#[test]
fn real_kernels_run_where_they_may() {
    let problem = random(40, 2);
    let settings = ExecuteSettings {
        kernel: Kernel::Compute,
        oversubscribe: true,
        repetitions: 1,
        mean_op: RealTime { seconds: 1e-3 },
        ..ExecuteSettings::default()
    };
    let evaluation = execute(&problem, &settings, &StopToken::default(), Arc::new(|_| ())).unwrap();
    let error = evaluation.predictions.get("contention_free").unwrap().error.unwrap();
    assert!(error.is_finite(), "{error}");
    let many = random(10, 600);
    let refused =
        execute(&many, &ExecuteSettings { oversubscribe: false, ..settings }, &StopToken::default(), Arc::new(|_| ()));
    assert!(refused.unwrap_err().to_string().contains("needs an idle core a device"));
}

#[test]
fn tensors_that_do_not_fit_into_memory_are_refused_before_any_is_made() {
    let mut builder = GraphBuilder::default();
    let a = builder.add_op(OpSpec::cost(1.0), &[1 << 60]);
    let b = builder.add_op(OpSpec::cost(1.0), &[]);
    builder.add_edge(a, 0, b).unwrap();
    let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, Link { rate: 1e30, latency: 0.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    let placement = Placement::new(vec![DeviceId(0), DeviceId(1)]);
    let error = execute(&(instance, placement), &ExecuteSettings::default(), &StopToken::default(), Arc::new(|_| ()));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("the transfers need") && error.contains("are available: use a smaller graph"), "{error}");
}

#[test]
fn it_says_in_advance_how_long_it_takes_and_stops_when_asked() {
    let problem = random(100, 2);
    let settings = ExecuteSettings { repetitions: 10_000, ..ExecuteSettings::default() };
    let (said, stop) = (Arc::new(Mutex::new(Vec::new())), StopToken::default());
    let (hears, stops) = (Arc::clone(&said), stop.clone());
    let notify = Arc::new(move |progress| {
        hears.lock().unwrap().push(progress);
        if progress == Progress::Run {
            stops.stop();
        }
    });
    let error = execute(&problem, &settings, &stop, notify).unwrap_err();
    assert!(error.is_stop(), "{error}");
    assert!(
        matches!(error, EvaluationError::Execution(ExecutionError::Interrupted { done: 1, runs: 10_002, .. })),
        "{error}"
    );
    let said = said.lock().unwrap();
    assert!(
        matches!(said[..], [Progress::Begin { runs: 10_002, seconds: Some(seconds) }, Progress::Run] if seconds > 100.0)
    );
}

#[test]
fn a_graph_without_ops_without_costs_or_with_idle_devices_is_executed_too() {
    let link = Link { rate: 1.0, latency: 0.0 };
    let settings = ExecuteSettings { repetitions: 1, warm_up: 1, ..ExecuteSettings::default() };
    for ops in [0, 3] {
        let mut builder = GraphBuilder::default();
        for _ in 0..ops {
            builder.add_op(OpSpec::cost(0.0), &[0]);
        }
        let cluster = Cluster::uniform(3, Kind::Cpu, 1.0, link).unwrap();
        let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
        let problem = (instance, Placement::new(vec![DeviceId(1); ops]));
        let evaluation = execute(&problem, &settings, &StopToken::default(), Arc::new(|_| ())).unwrap();
        assert!(evaluation.metrics.makespan < 1.0);
    }
}
