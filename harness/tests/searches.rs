//! Searches know what executes their answers: the network model, the scheduler, the memory rule.

use std::sync::Arc;

use placebench_algorithms::period::Goal;
use placebench_algorithms::{Decision, Objective, PlaceContext, Placer, StopToken, registry};
use placebench_datasets::format::{read_cluster, read_graph};
use placebench_datasets::{
    Cluster, Device, GraphBuilder, Instance, Kind, Link, MemoryRule, OpId, OpSpec, PlacedGraph, Time, TransferOverheads,
};
use placebench_harness::execute::simulate::{NETWORK_MODELS, NetworkModel, Simulator, network_model};
use placebench_harness::execute::{EXECUTORS, ExecuteSettings, Executor, Order, OrderMode, Replay};
use placebench_harness::objective::{NamedScheduler, SimulatedObjective};
use placebench_harness::problem::{ClusterEntry, GraphEntry, Problem};
use placebench_harness::request::{CellRequest, named_scheduler, silent};
use placebench_harness::results::CellKey;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Ops in random order of what they need, some of them in groups, on three devices that hold a share of all demands, or any number
/// of bytes if there is none.
fn instance(ops: usize, share: Option<f64>, seed: u64) -> Instance {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut builder = GraphBuilder::default();
    let mut total = 0;
    for op in 0..ops {
        let (memory_bytes, output) = (random.random_range(1..20), random.random_range(1..20));
        total += memory_bytes + output;
        let spec = OpSpec { memory_bytes, ..OpSpec::cost(f64::from(random.random_range(1..10))) };
        builder.add_op(spec, &[output]);
        for _ in 0..2.min(op) {
            builder.add_edge(OpId::new(random.random_range(0..op)), 0, OpId::new(op)).unwrap();
        }
    }
    for _ in 0..ops / 6 {
        let [a, b] = [(); 2].map(|()| OpId::new(random.random_range(0..ops)));
        builder.colocate(a, b).unwrap();
    }
    let memory_bytes = share.map(|share| (total as f64 * share) as u64);
    let device = |id: usize| Device { name: format!("d{id}"), kind: Kind::Cpu, memory_bytes, speed: 1.0 + id as f64 };
    let link = |_, _| Link { rate: 4.0, latency: 0.5 };
    let cluster = Cluster::new((0..3).map(device).collect(), link).unwrap();
    Instance::with_memory_rule(builder.build().unwrap(), cluster, MemoryRule::Peak).unwrap()
}

fn schedulers(names: &[&str]) -> Vec<NamedScheduler> {
    names.iter().map(|name| named_scheduler(name).unwrap()).collect()
}

const ALL: [&str; 4] = ["fifo", "pct", "msr", "static"];

fn objective(network: &'static dyn NetworkModel, names: &[&str]) -> Arc<SimulatedObjective> {
    Arc::new(SimulatedObjective::new(network, &schedulers(names)))
}

fn place(spec: &str, instance: &Instance, objective: &Arc<SimulatedObjective>) -> Option<Decision> {
    let placer: Box<dyn Placer> = registry::placer(&spec.parse().unwrap()).unwrap();
    let objective = Arc::clone(objective) as Arc<dyn Objective>;
    placer.place(instance, &PlaceContext { objective: Some(objective), ..PlaceContext::with_seed(5) }).ok()
}

/// The makespan of a decision if it fits, whichever scheduler it names.
fn worth(decision: &Decision, instance: &Instance, objective: &SimulatedObjective) -> Option<Time> {
    let any = Decision { scheduler: None, ..decision.clone() };
    let judgement = objective.judge(instance, &any, &StopToken::default()).ok()?;
    (judgement.excess_bytes == 0).then_some(judgement.value)
}

const SEARCHES: [&str; 5] = [
    "sweep(preset=fast)",
    "improve(preset=fast)",
    "simulated_annealing(budget=40)",
    "cross_entropy(budget=60)",
    "reinforce(budget=60)",
];

#[test]
fn a_search_names_the_scheduler_that_executes_its_answer_best() {
    let mut named = std::collections::BTreeSet::new();
    for seed in 0..6 {
        let instance = instance(30, None, seed);
        for network in NETWORK_MODELS {
            for spec in SEARCHES {
                let decision = place(spec, &instance, &objective(network, &ALL)).unwrap();
                let name = decision.scheduler.clone().unwrap();
                let with = |name: &str| worth(&decision, &instance, &objective(network, &[name]));
                let found = with(&name).unwrap();
                for other in ALL {
                    if let Some(makespan) = with(other) {
                        assert!(found <= makespan * (1.0 + 1e-9), "{spec}: {name} {found}, {other} {makespan}");
                    }
                }
                named.insert(name.to_string());
                let alone = place(spec, &instance, &objective(network, &["fifo"])).unwrap();
                assert_eq!(alone.scheduler.as_deref(), Some("fifo"), "{spec}");
            }
        }
    }
    assert!(named.len() > 2, "{named:?}");
}

/// With one scheduler, a search minimises what that makes of its answer: on the sum of some graphs it does better there than one that
/// was told another.
#[test]
fn a_search_for_a_scheduler_does_better_under_it() {
    let network = network_model("one_port").unwrap();
    for spec in ["simulated_annealing(budget=200)", "sweep(preset=fast)"] {
        let sum = |searched: &str| -> Time {
            let of_one = |seed| {
                let instance = instance(60, None, 100 + seed);
                let decision = place(spec, &instance, &objective(network, &[searched])).unwrap();
                worth(&decision, &instance, &objective(network, &["fifo"])).unwrap()
            };
            (0..12u64).map(of_one).sum()
        };
        let (own, other) = (sum("fifo"), sum("pct"));
        assert!(own < other, "{spec}: {own} for fifo, {other} for pct");
    }
}

/// Whenever any placer of the registry finds what fits, `sweep` does, and nothing worse than `heft`'s or its own starts'.
#[test]
fn where_any_placer_fits_sweep_does() {
    let (mut tight, mut hopeless) = (0, 0);
    // A time that is over before anything was tried does not end a cell without an answer.
    for (seed, spec) in (0..16).flat_map(|seed| ["sweep(preset=fast)", "sweep(time=0.001ms)"].map(|spec| (seed, spec)))
    {
        let instance = instance(14, Some(0.22 + 0.02 * (seed % 8) as f64), 200 + seed);
        let network = NETWORK_MODELS[seed as usize % 2];
        for names in [&["pct"][..], &["static"], &ALL] {
            let objective = objective(network, names);
            let sweep = place(spec, &instance, &objective);
            let sweep = sweep.and_then(|decision| worth(&decision, &instance, &objective));
            let of_placer = |name: &String| {
                let left_out = ["sweep", "improve", "optimal"].contains(&&**name);
                let found = (!left_out).then(|| place(name, &instance, &objective)).flatten()?;
                Some((name.clone(), worth(&found, &instance, &objective)?))
            };
            let others: Vec<(String, Time)> = registry::placer_names().iter().filter_map(of_placer).collect();
            match sweep {
                Some(sweep) => {
                    tight += usize::from(others.len() < 30);
                    for (name, makespan) in others {
                        let is_start = ["heft", "peft", "etf", "single_device"].contains(&&*name);
                        assert!(
                            !is_start || sweep <= makespan * (1.0 + 1e-9),
                            "{spec} {seed} {names:?} {name}: {makespan} < {sweep}"
                        );
                    }
                }
                None => {
                    hopeless += 1;
                    assert!(others.is_empty(), "{spec} {seed} {names:?}: {others:?}");
                }
            }
        }
    }
    assert!(tight > 4, "{tight} cells where few placers fit, {hopeless} where none does");
}

/// Graphs that few placers fit, with who fits them. In another order of its ops a device holds other bytes at once, so that a plan
/// is worth what its placement is not.
#[test]
fn what_another_placer_fits_sweep_places_no_worse_when_memory_is_short() {
    for (file, network, names, goal, other) in [
        ("large", "one_port", &["static"][..], Goal::Period, "cpop"),
        ("10008", "fair_share", &["static"], Goal::Period, "sweep"),
        ("11014", "accelerator_io", &["static"], Goal::Period, "sweep(preset=fast)"),
        ("11019", "accelerator_io", &["static"], Goal::Period, "cpop"),
        ("11026", "one_port", &["static"], Goal::Period, "m_etf"),
        ("11026", "one_port", &ALL, Goal::Period, "m_etf"),
        ("11036", "one_port", &["static"], Goal::Period, "m_topo"),
        ("11036", "one_port", &ALL, Goal::Period, "m_topo"),
        ("11039", "accelerator_io", &["static"], Goal::Period, "mcp"),
        ("outtree", "contention_free", &["msr"], Goal::Makespan, "cross_entropy"),
    ] {
        let path = format!("{}/tests/data/tight/{file}", env!("CARGO_MANIFEST_DIR"));
        let (_, graph) = read_graph(format!("{path}.csv")).unwrap();
        let cluster = read_cluster(format!("{path}.toml")).unwrap();
        let instance = Instance::with_memory_rule(graph, cluster, MemoryRule::Peak).unwrap();
        let objective = SimulatedObjective::new(network_model(network).unwrap(), &schedulers(names)).minimising(goal);
        let objective = Arc::new(objective);
        let found = |spec: &str| worth(&place(spec, &instance, &objective)?, &instance, &objective);
        let other_worth = found(other).unwrap();
        for spec in ["sweep(preset=fast)", "sweep"] {
            let own = found(spec).unwrap_or_else(|| panic!("{spec} fits {file} {network} {names:?} not, {other} does"));
            // The presets agree that something fits, not on what.
            let is_no_worse = own <= other_worth * (1.0 + 1e-9) || other.starts_with("sweep");
            assert!(is_no_worse, "{spec} {file} {network} {names:?}: {own}, {other}: {other_worth}");
        }
    }
}

/// Where anything fits, a time that is over at once, before the network is probed even, leaves what is known at once, not what a
/// preset finds in seconds.
#[test]
fn a_time_that_is_over_at_once_ends_with_what_is_known_at_once() {
    let made = |graph: &str, cluster: &str| {
        let (graph, cluster) = (GraphEntry::named(graph).unwrap(), ClusterEntry::named(cluster).unwrap());
        Problem::new(&graph, &cluster, 1).unwrap().instance
    };
    let tiles = made("cholesky(tiles=12)", "gtx1080x4");
    // Another scheduler than `static` executes HEFT's placement better.
    let dense = made("erdos_renyi(nodes=1000,probability=0.005,ccr=2)", "laich7");
    for (instance, goal) in [(instance(120, None, 9), Goal::Period), (tiles, Goal::Makespan), (dense, Goal::Makespan)] {
        let objective = SimulatedObjective::new(network_model("one_port").unwrap(), &schedulers(&ALL));
        let objective = Arc::new(objective.minimising(goal));
        let found = |spec: &str| place(spec, &instance, &objective).unwrap();
        let [known, patient] = ["sweep(time=0.000001ms)", "sweep"].map(found);
        let [known_worth, patient] = [&known, &patient].map(|found| worth(found, &instance, &objective).unwrap());
        assert!(known_worth > patient, "{goal}: {known_worth}, {patient}");
        if goal == Goal::Makespan {
            assert_eq!(known.placement, found("heft").placement);
            assert!(known.scheduler.is_some());
            let named: Time = objective.judge(&instance, &known, &StopToken::default()).unwrap().value;
            assert!(named <= known_worth, "{named} with the scheduler that it names, {known_worth} with the best");
        }
    }
}

#[test]
fn a_small_graph_is_placed_no_worse_by_who_tries_more_and_than_by_other_searches() {
    for (seed, share, network, names) in [
        (0, None, "one_port", &ALL[..]),
        (1, Some(0.5), "loggp", &["pct"]),
        (3, Some(0.5), "contention_free", &["fifo"]),
    ] {
        let instance = instance(18, share, seed);
        for goal in [Goal::Makespan, Goal::Period] {
            let objective = SimulatedObjective::new(network_model(network).unwrap(), &schedulers(names));
            let objective = Arc::new(objective.minimising(goal));
            let specs = ["simulated_annealing", "cross_entropy", "sweep(preset=fast)", "sweep"];
            let found = specs.map(|spec| {
                let worth = place(spec, &instance, &objective).and_then(|found| worth(&found, &instance, &objective));
                worth.unwrap_or(Time::INFINITY)
            });
            let [annealed, entropy, fast, default] = found.map(|worth| worth * (1.0 + 1e-12));
            assert!(fast <= annealed.min(entropy) && default <= fast, "{seed} {network} {goal}: {found:?}");
        }
    }
}

/// Where the model is exact, more effort is never worse on graphs of any size: what less effort finds takes part, with the scheduler
/// that executes it best.
#[test]
fn more_effort_is_never_worse_where_the_model_is_exact() {
    let cluster = ClusterEntry::named("laich7").unwrap();
    let mut better = 0;
    for graph in [
        "tensor_parallel(workers=6,layers=1,ccr=2)",
        "cholesky(tiles=12,ccr=1)",
        "series_parallel(nodes=300,ccr=2)",
        "layered(nodes=400,layers=20,colocated=100)",
        "pipeline(stages=4,micro_batches=4,schedule=free,layers=1,ccr=1)",
    ] {
        for (seed, names) in [(1, &ALL[..]), (2, &["static"])] {
            let made = Problem::new(&GraphEntry::named(graph).unwrap(), &cluster, seed).unwrap().instance;
            let (graph_made, cluster_made) = (made.graph().clone(), made.cluster().clone());
            let instance = Instance::with_memory_rule(graph_made, cluster_made, MemoryRule::Unlimited).unwrap();
            let objective = objective(network_model("contention_free").unwrap(), names);
            let found =
                |spec: &str| worth(&place(spec, &instance, &objective).unwrap(), &instance, &objective).unwrap();
            let [fast, default] = ["sweep(preset=fast)", "sweep"].map(found);
            assert!(default <= fast, "{graph} {names:?}: {fast}, {default}");
            better += usize::from(default < fast);
        }
    }
    assert!(better > 4, "more effort is better on {better} of 10");
}

/// Where the simulation judges, the search begins with what annealing over groups finds: so it is no worse, and mostly better. On
/// most of these graphs, which have too many units for searches to be asked as they are on small ones, it would be worse without.
#[test]
fn where_the_simulation_judges_sweep_is_no_worse_than_the_search_over_groups_that_it_begins_with() {
    let cluster = ClusterEntry::named("laich7").unwrap();
    let (mut better, mut all) = (0, 0);
    for (graph, seed) in
        [("layered(nodes=300,layers=20,colocated=60)", 2), ("layered(nodes=300,layers=10,colocated=150)", 3)]
    {
        let made = Problem::new(&GraphEntry::named(graph).unwrap(), &cluster, seed).unwrap().instance;
        let (graph_made, free) = (made.graph().clone(), made.cluster().clone());
        let overheads =
            |_, _| TransferOverheads { send: 0.1, send_per_byte: 0.02, receive: 0.2, receive_per_byte: 0.01 };
        let costly = free.clone().with_transfer_overheads(overheads).unwrap();
        for (cluster, network, scheduler) in
            [(&free, "one_port", "pct"), (&free, "fair_share", "fifo"), (&costly, "contention_free", "pct")]
        {
            let instance =
                Instance::with_memory_rule(graph_made.clone(), cluster.clone(), MemoryRule::Unlimited).unwrap();
            let objective = objective(network_model(network).unwrap(), &[scheduler]);
            let found =
                |spec: &str| worth(&place(spec, &instance, &objective).unwrap(), &instance, &objective).unwrap();
            let [annealed, sweep] = ["simulated_annealing", "sweep"].map(found);
            assert!(sweep <= annealed, "{graph} {network} {scheduler}: {annealed}, {sweep}");
            better += usize::from(sweep < annealed);
            all += 1;
        }
    }
    assert!(better > all / 2, "better on {better} of {all}");
}

/// Drivers of frameworks are told the order of the ops alone. What they then make of it is what a search for them minimises.
#[test]
fn a_search_for_devices_that_receive_when_an_op_needs_it_minimises_what_they_take() {
    let overheads = |_, _| TransferOverheads { send: 1.0, send_per_byte: 0.1, receive: 1.5, receive_per_byte: 0.1 };
    let (mut differ, mut gained) = (0, 0);
    for seed in 0..6 {
        let plain = instance(70, None, seed);
        let cluster = plain.cluster().clone().with_transfer_overheads(overheads).unwrap();
        let instance = Instance::with_memory_rule(plain.graph().clone(), cluster, MemoryRule::Unlimited).unwrap();
        let network = network_model("loggp").unwrap();
        let simulated = objective(network, &["pct"]);
        let replayed = Arc::new(SimulatedObjective::new(network, &schedulers(&["pct"])).replaying_ops());
        let takes = |decision: &Decision| {
            let placed = PlacedGraph::new(&instance, &decision.placement);
            let (simulator, stop) = (Simulator::new(network), StopToken::default());
            let pct = simulated.scheduler_of(decision);
            let timeline = simulator.execute(&placed, Order { scheduler: pct, plan: None }, &stop).unwrap();
            let replay = Replay::of_ops(&placed, &timeline);
            let again = simulator.execute(&placed, Order { scheduler: &replay, plan: None }, &stop).unwrap();
            (timeline.makespan(), again.makespan())
        };
        let [other, own] = [&simulated, &replayed].map(|objective| place("sweep", &instance, objective).unwrap());
        for decision in [&other, &own] {
            assert_eq!(worth(decision, &instance, &replayed), Some(takes(decision).1));
        }
        differ += usize::from(takes(&other).0 != takes(&other).1);
        gained += usize::from(takes(&own).1 < takes(&other).1);
        assert!(takes(&own).1 <= takes(&other).1 * 1.02, "{seed}: {:?}, {:?}", takes(&own), takes(&other));
    }
    assert!(differ > 3 && gained > 1, "{differ} differ, {gained} gained");
}

/// In a cell, the executor says what searches minimise.
#[test]
fn cells_of_frameworks_that_repeat_the_order_search_for_the_replay_and_others_do_not() {
    let overheads = |_, _| TransferOverheads { send: 1.0, send_per_byte: 0.1, receive: 1.5, receive_per_byte: 0.1 };
    let plain = instance(70, None, 1);
    let cluster = plain.cluster().clone().with_transfer_overheads(overheads).unwrap();
    let instance = Instance::with_memory_rule(plain.graph().clone(), cluster, MemoryRule::Unlimited).unwrap();
    let network = network_model("loggp").unwrap();
    let (simulated, pct) = (SimulatedObjective::new(network, &schedulers(&["pct"])), schedulers(&["pct"]));
    let replayed = SimulatedObjective::new(network, &pct).replaying_ops();
    let [simulated, replayed] = [simulated, replayed].map(|own| place("sweep", &instance, &Arc::new(own)).unwrap());
    assert_ne!(simulated.placement, replayed.placement);
    let placer = registry::placer(&"sweep".parse().unwrap()).unwrap();
    let graph = GraphEntry::named("convnet").unwrap();
    for (executor, order, is_replayed) in [
        ("simulate", OrderMode::Replay, false),
        ("threads", OrderMode::Replay, false),
        ("jax", OrderMode::Replay, true),
        ("torch", OrderMode::Replay, true),
        ("tensorflow", OrderMode::Replay, true),
        ("jax", OrderMode::Dynamic, false),
    ] {
        let request = CellRequest {
            key: CellKey { seed: 5, ..CellKey::default() },
            spec: Some("sweep"),
            memory: MemoryRule::Unlimited,
            graph: &graph,
            placer: &*placer,
            schedulers: &pct,
            network,
            goal: Goal::Makespan,
            executor: EXECUTORS.iter().find(|entry| entry.name == executor).unwrap(),
            noise: None,
            settings: &ExecuteSettings { order, ..ExecuteSettings::default() },
            notify: silent(),
        };
        let placed = request.place(&instance, &StopToken::default()).unwrap();
        let expected = if is_replayed { &replayed } else { &simulated };
        assert_eq!(placed.decision().unwrap().placement, expected.placement, "{executor} {order:?}");
    }
}

/// Partitioners balance loads and cut little, which is what the period asks for: on graphs too large for all placers to be asked,
/// the search begins with them.
#[test]
fn no_partition_has_a_shorter_period_than_what_the_search_finds() {
    let (graph, cluster) = (GraphEntry::named("vit_l").unwrap(), ClusterEntry::named("h100x8x4").unwrap());
    let instance = Problem::new(&graph, &cluster, 0).unwrap().instance;
    let objective = SimulatedObjective::new(network_model("fair_share").unwrap(), &schedulers(&["pct"]));
    let objective = Arc::new(objective.minimising(Goal::Period));
    let period = |spec: &str| worth(&place(spec, &instance, &objective).unwrap(), &instance, &objective).unwrap();
    let found = period("sweep(preset=fast)");
    for spec in ["multilevel", "multilevel(epsilon=0.3)", "metis", "fiduccia_mattheyses"] {
        let of_partition = period(spec);
        assert!(found <= of_partition, "{spec}: {of_partition} < {found}");
    }
}

/// Nothing but the plan's own scheduler may execute what is found for the period, and a time may be over at once.
#[test]
fn a_search_for_the_period_names_a_scheduler_and_plans_for_it() {
    for (names, spec) in
        [(&["static"][..], "sweep"), (&["static"], "improve"), (&ALL, "sweep(time=100ms)"), (&ALL, "improve(time=1ms)")]
    {
        let instance = instance(20, Some(0.6), 3);
        let objective = SimulatedObjective::new(network_model("one_port").unwrap(), &schedulers(names));
        let objective = Arc::new(objective.minimising(Goal::Period));
        let found = place(spec, &instance, &objective).unwrap();
        assert!(found.scheduler.is_some() && found.plan.is_some(), "{spec}");
        assert!(worth(&found, &instance, &objective).is_some(), "{spec}");
    }
}

#[test]
fn improve_answers_with_its_start_where_its_time_is_over_at_once() {
    let instance = instance(20, None, 7);
    let objective = objective(NETWORK_MODELS[0], &["pct"]);
    let [start, improved] =
        ["mite", "improve(placer=mite,time=0.001ms)"].map(|spec| place(spec, &instance, &objective));
    let [start, improved] = [start, improved].map(|found| worth(&found.unwrap(), &instance, &objective).unwrap());
    assert!(improved <= start * (1.0 + 1e-9), "{improved} {start}");
}

#[test]
fn improve_says_what_is_wrong_with_the_placer_that_it_is_to_improve() {
    for (spec, fault) in [
        ("improve(placer=nope)", "nope"),
        ("improve(placer=heft(average=x))", "parameter 'average' is 'x'"),
        ("improve(placer=improve)", "'improve' does not improve itself"),
        ("improve(placer=dheft)", "'dheft' decides online"),
    ] {
        let error = registry::placer(&spec.parse().unwrap()).err().unwrap().to_string();
        let begin = "'improve': parameter 'placer' is ";
        assert!(error.starts_with(begin) && error.contains(fault), "{spec}: {error}");
    }
}
