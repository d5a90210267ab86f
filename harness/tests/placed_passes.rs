//! Passes between placement and execution: what is executed, and what it is worth.

use std::sync::Arc;

use placebench_algorithms::period::Goal;
use placebench_algorithms::{StopToken, registry};
use placebench_datasets::{
    Cluster, Device, DeviceId, GraphBuilder, Instance, Kind, KindSet, Kinds, Link, MemoryRule, OpId, OpSpec,
};
use placebench_generator::Passes;
use placebench_harness::evaluate::Evaluation;
use placebench_harness::execute::simulate::{NETWORK_MODELS, NetworkModel, network_model};
use placebench_harness::execute::{EXECUTORS, ExecuteSettings};
use placebench_harness::memory::MemoryUse;
use placebench_harness::problem::{ClusterEntry, GraphEntry, Problem};
use placebench_harness::request::{Answer, CellRequest, Prepared, all_schedulers, choose_scheduler, silent};
use placebench_harness::results::CellKey;
use placebench_harness::runner::replay;
use placebench_harness::suite::{RunPlan, Suite};

/// How a cell is placed and run.
#[derive(Clone, Copy)]
struct How<'a> {
    placer: &'a str,
    scheduler: Option<&'a str>,
    network: &'static dyn NetworkModel,
    numbering: u32,
}

const HEFT: How<'_> = How {
    placer: "heft",
    scheduler: Some("pct"),
    network: &placebench_harness::execute::simulate::ContentionFree,
    numbering: 0,
};

fn answer(problem: Problem, passes: &[&str], how: How<'_>) -> Answer {
    let passes = Passes::new(passes).unwrap();
    let graph = GraphEntry { name: Some("g".to_owned()), passes, ..GraphEntry::default() };
    let placer = registry::placer(&how.placer.parse().unwrap()).unwrap();
    let chosen = choose_scheduler(how.placer, &*placer, how.scheduler, &all_schedulers().unwrap()).unwrap();
    let stop = StopToken::default();
    let memory = problem.instance.memory_rule();
    let request = CellRequest {
        key: CellKey {
            graph: graph.label(),
            placer: how.placer.to_owned(),
            scheduler: chosen.name,
            numbering: how.numbering,
            ..CellKey::default()
        },
        spec: Some(how.placer),
        memory,
        graph: &graph,
        placer: &*placer,
        schedulers: &chosen.schedulers,
        network: how.network,
        goal: Goal::Makespan,
        executor: &EXECUTORS[0],
        noise: None,
        settings: &ExecuteSettings::default(),
        notify: silent(),
    };
    Prepared::new(problem, [how.network], &stop).evaluate(&request, &stop)
}

fn named(graph: &str, cluster: &str, memory: MemoryRule) -> Problem {
    let cluster = ClusterEntry { memory, ..ClusterEntry::named(cluster).unwrap() };
    Problem::new(&GraphEntry::named(graph).unwrap(), &cluster, 0).unwrap()
}

/// `a` on the only GPU, 1000 bytes for `c` on the only CPU, which executes `x` (5000 bytes for `y`), `y`, `c`.
fn held(memory: Option<u64>) -> Problem {
    let mut builder = GraphBuilder::default();
    let mut op = |name, ops, kind, bytes, inputs: &[u32]| {
        let spec = OpSpec { name: Some(name), op_type: Some("dot"), kinds: KindSet::only(kind), ..OpSpec::cost(ops) };
        let id = builder.add_op(spec, &[bytes]);
        inputs.iter().for_each(|&input| builder.add_edge(OpId(input), 0, id).unwrap());
    };
    op("a", 10.0, Kind::Gpu, 1_000, &[]);
    op("x", 1_000.0, Kind::Cpu, 5_000, &[]);
    op("y", 1_000.0, Kind::Cpu, 4, &[1]);
    op("c", 10.0, Kind::Cpu, 4, &[0, 2]);
    let device = |name: &str, kind, memory_bytes| Device { name: name.to_owned(), kind, memory_bytes, speed: 10.0 };
    let devices = vec![device("gpu", Kind::Gpu, Some(1_000)), device("cpu", Kind::Cpu, memory)];
    let cluster = Cluster::new(devices, |_, _| Link { rate: 100.0, latency: 1.0 }).unwrap();
    let instance = Instance::with_memory_rule(builder.build().unwrap(), cluster, MemoryRule::Peak).unwrap();
    Problem { instance, kinds: Kinds::AsGiven, passes: Passes::default(), notes: Vec::new() }
}

#[test]
fn a_tensor_that_is_held_back_lies_on_its_sender_once_and_comes_when_it_is_needed() {
    let problem = held(Some(6_000));
    let found = answer(problem.clone(), &["delay_receives"], HEFT).evaluation.unwrap();
    let placed = found.placed(&problem.instance);
    let send = OpId(4);
    // x ends at 100; the request takes 1, the transfer 11.
    assert_eq!((found.timeline.start(send), found.timeline.finish(send)), (101.0, 101.0));
    let transfer = placed.transfers_of(send).next().unwrap();
    let moved = found.timeline.transfer(&placed, transfer);
    assert_eq!((moved.start, moved.end, found.metrics.makespan), (101.0, 112.0, 201.0));
    let memory = MemoryUse::new(&placed, &found.timeline);
    // The tensor and its copy would be 2000 on the sender.
    assert_eq!([0, 1].map(|device| memory.peak_bytes(DeviceId(device))), [1_000, 5_004]);
    // Without the pass the tensor comes at 1, and lies beside what x made.
    let before = found.executed.as_ref().unwrap().before.as_ref();
    assert!(before.is_none(), "5000 + 1000 + 4 do not fit into 6000");
    let whole = answer(held(None), &["delay_receives"], HEFT).evaluation.unwrap();
    let before = whole.executed.as_ref().unwrap().before.as_ref().unwrap();
    assert_eq!((before.makespan, before.peak_memory_bytes, whole.metrics.peak_memory_bytes), (201.0, 6_004, 5_004));
    // What was placed is what the placer said, and the row is about that.
    assert_eq!(whole.decision.placement.devices().len(), 4);
    let row = answer(held(None), &["delay_receives"], HEFT).row;
    assert_eq!((row.ops, row.passes.as_deref(), row.transfers), (4, Some("delay_receives"), Some(2)));
    // A bound of the graph before is none of what was executed.
    assert_eq!((row.gap, row.lower_bound, row.period_bound, row.bound), (None, None, None, None));
}

#[test]
fn what_is_changed_after_placement_runs_under_every_scheduler_network_and_numbering() {
    let problem = named("convnet", "gtx1080x4", MemoryRule::Unlimited);
    let passes = ["compress", "delay_receives"];
    for network in NETWORK_MODELS {
        for scheduler in registry::SCHEDULERS.iter() {
            for numbering in 0..3 {
                let how = How { scheduler: Some(&scheduler.name), network, numbering, ..HEFT };
                let answer = answer(problem.clone(), &passes, how);
                let found =
                    answer.evaluation.unwrap_or_else(|error| panic!("{} {}: {error}", network.name(), scheduler.name));
                let before = found.executed.as_ref().unwrap().before.as_ref().unwrap();
                assert!(found.metrics.traffic_bytes < before.traffic_bytes);
            }
        }
    }
}

/// How much less or more something is with passes than without.
fn ratios(graph: &str, cluster: &str, passes: &[&str], how: How<'_>) -> (f64, f64, f64) {
    let found = answer(named(graph, cluster, MemoryRule::Unlimited), passes, how).evaluation.unwrap();
    let Evaluation { metrics, executed, .. } = &found;
    let before = executed.as_ref().unwrap().before.as_ref().unwrap();
    (
        metrics.makespan / before.makespan,
        metrics.traffic_bytes as f64 / before.traffic_bytes as f64,
        metrics.peak_memory_bytes as f64 / before.peak_memory_bytes as f64,
    )
}

/// By the estimate nothing starts later; the estimate is the simulation without contention, with `pct`.
#[test]
fn receives_that_wait_need_less_memory_and_without_contention_no_time() {
    for (graph, most) in [("gpt2", 0.75), ("resnet50", 0.7), ("nmt", 0.95)] {
        let (makespan, traffic, peak) = ratios(graph, "gtx1080x4", &["delay_receives"], HEFT);
        assert!((makespan - 1.0).abs() < 0.005, "{graph}: {makespan}");
        assert_eq!(traffic, 1.0);
        assert!(peak < most, "{graph}: {peak}");
    }
    // On these the peak rose by half when all that could wait did.
    for (graph, placer) in [("vit_l", "level_slabs"), ("vit_l", "heft"), ("gpt2_xl", "level_slabs")] {
        let (makespan, _, peak) = ratios(graph, "h100x8", &["delay_receives"], How { placer, ..HEFT });
        assert!((makespan - 1.0).abs() < 0.005 && peak <= 1.001, "{graph} {placer}: {makespan}, {peak}");
    }
}

/// Half of the bytes go; where transfers wait for each other, time does, too.
#[test]
fn shortened_tensors_save_time_where_transfers_share_a_port() {
    let one_port = How { network: network_model("one_port").unwrap(), ..HEFT };
    for graph in ["resnet50", "nmt", "moe"] {
        let (makespan, traffic, _) = ratios(graph, "gtx1080x4", &["compress"], one_port);
        assert!((traffic - 0.5).abs() < 0.002, "{graph}: {traffic}");
        assert!(makespan < 0.75, "{graph}: {makespan}");
    }
}

/// What compress adds must fit, too: the message says which step is at fault.
#[test]
fn a_pass_that_needs_more_memory_than_there_is_is_named() {
    for (rule, fault) in [(MemoryRule::Peak, "the memory rule peak refuses the run"), (MemoryRule::Static, "memory")] {
        let run = |passes: &[&str], bytes: u64| {
            let device = |kind| Device { name: format!("{kind:?}"), kind, memory_bytes: Some(bytes), speed: 1.0 };
            let devices = vec![device(Kind::Gpu), device(Kind::Cpu)];
            let cluster = Cluster::new(devices, |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
            let mut builder = GraphBuilder::default();
            let op = |kind| OpSpec { kinds: KindSet::only(kind), ..OpSpec::cost(1.0) };
            let a = builder.add_op(op(Kind::Gpu), &[1000]);
            let b = builder.add_op(op(Kind::Cpu), &[]);
            builder.add_edge(a, 0, b).unwrap();
            let instance = Instance::with_memory_rule(builder.build().unwrap(), cluster, rule).unwrap();
            let problem = Problem { instance, kinds: Kinds::AsGiven, passes: Passes::default(), notes: Vec::new() };
            answer(problem, passes, HEFT).row
        };
        let passes = ["compress(least=1,cost=1)"];
        // The least memory with which it runs.
        let roomy = (1000..9000).find(|&bytes| run(&passes, bytes).is_ok()).unwrap();
        let row = run(&passes, roomy - 1);
        assert!(run(&[], roomy - 1).is_ok(), "{rule:?}, {roomy}");
        assert_eq!(row.status, "infeasible", "{rule:?}: {:?}", row.error);
        let text = row.error.unwrap();
        let end = "; compress(least=1,cost=1) changed what was placed: without, the placement fits";
        assert!(text.contains(fault) && text.ends_with(end), "{text}");
    }
}

#[test]
fn passes_over_a_placed_graph_need_a_placement_before_the_run() {
    let problem = named("convnet", "gtx1080x4", MemoryRule::Unlimited);
    let how = How { placer: "cats", scheduler: None, ..HEFT };
    let answer = answer(problem, &["compress", "delay_receives"], how);
    assert_eq!(answer.row.status, "error");
    assert_eq!(
        answer.row.error.as_deref(),
        Some(
            "passes over the placed graph (compress+delay_receives) need a placement before the run and a simulation: leave them \
             out, or take a placer that decides before the run"
        )
    );
}

#[test]
fn a_replayed_cell_is_what_was_executed() {
    let text = r#"
        name = "small"
        placers = ["heft", "sweep(preset=fast)", "random"]
        schedulers = ["pct", "static"]
        passes = [["microbatch(2)", "compress", "delay_receives"], ["delay_receives"]]
        numberings = 2
        [[graph]]
        catalogue = "convnet"
        [[cluster]]
        preset = "gtx1080x4"
    "#;
    let plan = Arc::new(RunPlan::new(Suite::parse(text, "small.toml").unwrap()).unwrap());
    let stop = StopToken::default();
    assert!(plan.cells.len() > 8);
    let mut grown = 0;
    for &cell in &plan.cells {
        let problem = plan.problem(&plan.groups[cell.group]).unwrap();
        let instance = problem.instance.clone();
        let request = plan.request(cell);
        let row = Prepared::new(problem, [request.network], &stop).evaluate(&request, &stop).row;
        assert!(row.is_ok(), "{:?}", row.error);
        let replayed = replay(&plan, cell, &instance, &stop).unwrap();
        assert_eq!(Some(replayed.timeline.makespan()), row.makespan, "{:?}", row.key());
        let ops = replayed.placed(&instance).instance().graph().op_count();
        grown += usize::from(ops > instance.graph().op_count());
        assert_eq!(row.ops as usize, instance.graph().op_count());
    }
    // Where all is on one device nothing is sent.
    assert!(2 * grown > plan.cells.len());
}
