//! Online runs, worked out by hand.

use placebench_algorithms::{OnlinePlacer, OnlinePolicy, OnlineState, PlaceContext, PlaceError, StopToken, registry};
use placebench_datasets::{
    Cluster, DataflowGraph, Device, DeviceId, GraphBuilder, Instance, Kind, KindSet, Link, OpId, OpSpec, PlacedGraph,
};
use placebench_harness::execute::simulate::{ContentionFree, NetworkModel, OnePort, Simulator};
use placebench_harness::execute::{ExecutionError, Executor, OnlineRun};
use placebench_harness::memory::MemoryUse;
use placebench_harness::metrics::Metrics;
use placebench_harness::trace::write_chrome_trace;
use placebench_harness::validator::validate;

/// CPUs of these speeds and memories; every pair has rate 1 and no latency.
fn cluster(devices: &[(f64, Option<u64>)]) -> Cluster {
    let device = |(id, &(speed, memory_bytes))| Device { name: format!("d{id}"), kind: Kind::Cpu, memory_bytes, speed };
    let devices = devices.iter().enumerate().map(device).collect();
    Cluster::new(devices, |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap()
}

/// Ops with these costs and sizes of their outputs in bytes; edges carry the outputs.
fn graph(ops: &[(f64, u64)], edges: &[(u32, u32)], colocated: &[(u32, u32)]) -> DataflowGraph {
    let mut builder = GraphBuilder::default();
    for &(cost, bytes) in ops {
        builder.add_op(OpSpec::cost(cost), &[bytes]);
    }
    for &(source, target) in edges {
        builder.add_edge(OpId(source), 0, OpId(target)).unwrap();
    }
    for &(a, b) in colocated {
        builder.colocate(OpId(a), OpId(b)).unwrap();
    }
    builder.build().unwrap()
}

fn run_under(
    placer: &str,
    instance: &Instance,
    network: &'static dyn NetworkModel,
) -> Result<OnlineRun, ExecutionError> {
    let placer = registry::placer(&placer.parse().unwrap()).unwrap();
    let run = Simulator::new(network).execute_online(instance, placer.online().unwrap(), &StopToken::default())?;
    let placed = PlacedGraph::new(instance, &run.placement);
    assert_eq!(validate(instance, &run.placement, &run.timeline.records(&placed), network.demands()), Ok(()));
    Ok(run)
}

/// Device, start and finish of each op, in whole numbers.
fn rows(run: &OnlineRun) -> Vec<(u32, u32, u32)> {
    let ops = (0..run.placement.devices().len()).map(OpId::new);
    ops.map(|op| (run.placement.device_of(op).0, run.timeline.start(op) as u32, run.timeline.finish(op) as u32))
        .collect()
}

fn run(placer: &str, instance: &Instance) -> Vec<(u32, u32, u32)> {
    rows(&run_under(placer, instance, &ContentionFree).unwrap())
}

/// 0 ─▶ 2 ─▶ 3 ─▶ 4 of 4 operations each, 1 ─▶ 5 of 4 and 24 operations, all outputs empty; d0 slow (1), d1 fast (2).
fn long_and_heavy() -> Instance {
    let ops = [4.0, 4.0, 4.0, 4.0, 4.0, 24.0].map(|cost| (cost, 0));
    Instance::new(graph(&ops, &[(0, 2), (2, 3), (3, 4), (1, 5)], &[]), cluster(&[(1.0, None), (2.0, None)])).unwrap()
}

#[test]
fn cats_sends_the_path_of_most_ops_to_the_fast_device() {
    // Bottom levels: 0, 2, 3, 4 have 4, 3, 2, 1; 1 has 2, 5 has 1. At 0 op 0 is critical and goes to d1; op 1 is not and
    // goes to d0. At 2 op 2 continues the path, at 4 op 3 does. At 4 op 1 ends too: op 5 (1) is below op 3 (2), so d0 takes it.
    let expected = [(1, 0, 2), (0, 0, 4), (1, 2, 4), (1, 4, 6), (1, 6, 8), (0, 4, 28)];
    assert_eq!(run("cats", &long_and_heavy()), expected);
}

#[test]
fn cpath_sends_the_path_of_most_time_to_the_fast_device() {
    // Averages are 3/4 of the operations: 1 and 5 have bottom costs 21 and 18, the chain 12, 9, 6, 3. Op 1 is critical and runs
    // on d1 until 2, op 5 after it until 14. d0 executes the chain.
    let expected = [(0, 0, 4), (1, 0, 2), (0, 4, 8), (0, 8, 12), (0, 12, 16), (1, 2, 14)];
    assert_eq!(run("cpath", &long_and_heavy()), expected);
}

#[test]
fn hybrid_recognises_critical_ops_by_number_and_orders_them_by_time() {
    // With a device for the critical ops and one for the others nothing has to be ordered: as cats.
    assert_eq!(run("hybrid", &long_and_heavy()), run("cats", &long_and_heavy()));
    let ops = [(1.0, 0), (1.0, 0), (1.0, 0), (9.0, 0)];
    let instance = Instance::new(graph(&ops, &[(0, 2), (1, 3)], &[]), cluster(&[(1.0, None)])).unwrap();
    // One device. Bottom levels 2 2 1 1, bottom costs 2 10 1 9; 0 and 1 are critical from the start. cats takes them by id; at
    // 1 op 2 is no successor of op 1, the last critical one, and waits behind it; at 2 op 3 is and comes first.
    assert_eq!(run("cats", &instance), [(0, 0, 1), (0, 1, 2), (0, 11, 12), (0, 2, 11)]);
    // hybrid takes op 1 (10); then op 3, which continues its path (9), before op 0 (2).
    assert_eq!(run("hybrid", &instance), [(0, 10, 11), (0, 0, 1), (0, 11, 12), (0, 1, 10)]);
}

#[test]
fn dheft_takes_the_device_of_the_earliest_finish_with_inputs_on_their_way() {
    // 0 (2 operations, 6 bytes) feeds 1 (8) and 2 (8). On d1 (2): 0 until 1. At 1: op 1 would finish on d1 at 5, on d0 at
    // 1 + 6 + 8 = 15. Op 2: on d1 at 9, on d0 at 15. All stay.
    let ops = [(2.0, 6), (8.0, 0), (8.0, 0)];
    let instance = Instance::new(graph(&ops, &[(0, 1), (0, 2)], &[]), cluster(&[(1.0, None), (2.0, None)])).unwrap();
    assert_eq!(run("dheft", &instance), [(1, 0, 1), (1, 1, 5), (1, 5, 9)]);
    // With equal devices (1) and 3 bytes: 0 on d0 until 2; op 1 there until 10. Op 2: on d0 at 18, on d1 at 2 + 3 + 8 = 13.
    let ops = [(2.0, 3), (8.0, 0), (8.0, 0)];
    let instance = Instance::new(graph(&ops, &[(0, 1), (0, 2)], &[]), cluster(&[(1.0, None), (1.0, None)])).unwrap();
    assert_eq!(run("dheft", &instance), [(0, 0, 2), (0, 2, 10), (1, 5, 13)]);
}

#[test]
fn a_tensor_is_sent_when_the_device_is_chosen_and_only_once() {
    // Two equal devices; 0 (1, 4 bytes) and 1 (6) run first. 2, 3 and 4 need 0; 4 is bound to op 1 by colocation, to d1.
    let ops = [(1.0, 4), (6.0, 0), (9.0, 0), (9.0, 0), (9.0, 0)];
    let edges = [(0, 2), (0, 3), (0, 4)];
    let instance = Instance::new(graph(&ops, &edges, &[(1, 4)]), cluster(&[(1.0, None), (1.0, None)])).unwrap();
    let found = run_under("cats", &instance, &ContentionFree).unwrap();
    let placed = PlacedGraph::new(&instance, &found.placement);
    // Op 0 ends at 1 on d0, which takes op 2. d1 is busy until 6, and only then takes op 4 and asks for the tensor: it
    // arrives at 10. At 10 d0 takes op 3.
    assert_eq!(rows(&found), [(0, 0, 1), (1, 0, 6), (0, 1, 10), (0, 10, 19), (1, 10, 19)]);
    assert_eq!(placed.transfer_count(), 1);
    let moved = found.timeline.transfer(&placed, placed.transfers_of(OpId(0)).next().unwrap());
    assert_eq!((moved.start, moved.end), (6.0, 10.0));
    let memory = MemoryUse::new(&placed, &found.timeline);
    assert_eq!(memory.peaks(), [4, 4]);
    let metrics = Metrics::new(&placed, &found.timeline, &memory, Some(&ContentionFree));
    assert_eq!((metrics.makespan, metrics.traffic_bytes, metrics.executable_mean), (19.0, 4, None));
    let mut trace = Vec::new();
    write_chrome_trace(&found.timeline, &placed, &mut trace).unwrap();
    assert!(serde_json::from_slice::<serde_json::Value>(&trace).is_ok());
}

#[test]
fn sends_that_cost_something_come_before_the_ops_that_wait() {
    // Ops 0 and 1 on d0 and d1 until 2; op 2 needs both and goes to d0 (colocated with 0): d1 sends for 3 from 2 to 5, and the
    // 4 bytes arrive at 9.
    let ops = [(2.0, 0), (2.0, 4), (1.0, 0)];
    let cluster = cluster(&[(1.0, None), (1.0, None)]).with_send_ops(3.0).unwrap();
    let instance = Instance::new(graph(&ops, &[(0, 2), (1, 2)], &[(0, 2)]), cluster).unwrap();
    for placer in ["cats", "dheft"] {
        assert_eq!(run(placer, &instance), [(0, 0, 2), (1, 0, 2), (0, 9, 10)], "{placer}");
    }
}

#[test]
fn under_one_port_transfers_wait_for_each_other() {
    // Ops 0 and 1 end at 1 on d0 and d1; op 3 (with 2, on d2) needs both tensors of 4 bytes: they arrive one after the other.
    let ops = [(1.0, 4), (1.0, 4), (1.0, 0), (1.0, 0)];
    let instance = Instance::new(graph(&ops, &[(0, 3), (1, 3)], &[(2, 3)]), cluster(&[(1.0, None); 3])).unwrap();
    let one_port = run_under("dheft", &instance, &OnePort).unwrap();
    assert_eq!(rows(&one_port)[3], (2, 9, 10));
    assert_eq!(run("dheft", &instance)[3], (2, 5, 6));
}

#[test]
fn memory_decides_where_no_other_device_has_room_and_otherwise_the_error_says_so() {
    // Two ops of 1 and 5 bytes (their outputs) on a fast device of 5 bytes and a slow one: the second fits only on d1.
    let place = |slow_bytes| {
        let graph = graph(&[(4.0, 1), (4.0, 5)], &[], &[]);
        Instance::new(graph, cluster(&[(2.0, Some(5)), (1.0, Some(slow_bytes))])).unwrap()
    };
    for placer in ["cats", "cpath", "hybrid", "dheft"] {
        assert_eq!(run(placer, &place(6))[1].0, 1, "{placer}");
        let failed = run_under(placer, &place(5), &ContentionFree);
        assert!(matches!(failed, Err(ExecutionError::Place(PlaceError::Infeasible { .. }))), "{placer}: {failed:?}");
    }
}

#[test]
fn kinds_decide_who_is_fast() {
    // The GPU of speed 1 is fast by measured times; the op that needs a CPU goes to the CPU.
    let mut builder = GraphBuilder::default();
    builder.add_op(OpSpec { times: &[("gpu", 1.0)], ..OpSpec::cost(8.0) }, &[]);
    builder.add_op(OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(8.0) }, &[]);
    let device = |name: &str, kind, speed| Device { name: name.into(), kind, memory_bytes: None, speed };
    let devices = vec![device("cpu", Kind::Cpu, 4.0), device("gpu", Kind::Gpu, 1.0)];
    let cluster = Cluster::new(devices, |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    for placer in ["cats", "cpath", "hybrid", "dheft"] {
        assert_eq!(run(placer, &instance), [(1, 0, 1), (0, 0, 2)], "{placer}");
    }
}

#[test]
fn slow_devices_take_critical_ops_only_if_they_may_steal_them() {
    // Three equal ops are all critical: the fast device (2) executes them one by one, or the slow one helps.
    let instance = Instance::new(graph(&[(4.0, 0); 3], &[], &[]), cluster(&[(1.0, None), (2.0, None)])).unwrap();
    assert_eq!(run("cats", &instance), [(1, 0, 2), (1, 2, 4), (1, 4, 6)]);
    assert_eq!(run("cats(steal=both)", &instance), [(1, 0, 2), (0, 0, 4), (1, 2, 4)]);
}

#[test]
fn a_chain_of_a_hundred_thousand_ops_and_a_star_are_no_problem_and_a_stop_is_heeded() {
    let n = 100_000u32;
    let chain: Vec<(u32, u32)> = (1..n).map(|op| (op - 1, op)).collect();
    let star: Vec<(u32, u32)> = (1..n).map(|op| (0, op)).collect();
    for edges in [chain, star] {
        let graph = graph(&vec![(1.0, 1); n as usize], &edges, &[]);
        let instance = Instance::new(graph, cluster(&[(1.0, None), (2.0, None)])).unwrap();
        for placer in ["cats", "cpath", "hybrid", "dheft"] {
            run(placer, &instance);
            let stop = StopToken::default();
            stop.stop();
            let placer = registry::placer(&placer.parse().unwrap()).unwrap();
            let stopped = Simulator::default().execute_online(&instance, placer.online().unwrap(), &stop);
            assert!(matches!(stopped, Err(ExecutionError::Stopped { finished: 0, .. })));
        }
    }
}

#[test]
fn before_the_run_there_is_no_placement() {
    for name in ["cats", "cpath", "hybrid", "dheft"] {
        let placer = registry::placer(&name.parse().unwrap()).unwrap();
        let answer = placer.place(&long_and_heavy(), &PlaceContext::default());
        assert!(matches!(answer, Err(PlaceError::Unsupported(reason)) if reason.starts_with(name)));
    }
}

/// Gives fixed answers, whatever the state.
struct Stubborn(Vec<(OpId, DeviceId)>);

impl OnlinePlacer for Stubborn {
    fn start<'a>(&self, _: &'a Instance) -> Box<dyn OnlinePolicy + 'a> {
        Box::new(Stubborn(self.0.clone()))
    }
}

impl OnlinePolicy for Stubborn {
    fn ready(&mut self, _: &[OpId], _: &dyn OnlineState) {}

    fn next(&mut self, _: &dyn OnlineState) -> Option<(OpId, DeviceId)> {
        self.0.pop()
    }
}

#[test]
fn a_policy_that_is_wrong_is_told_why() {
    let instance = long_and_heavy();
    let failure = |choices: &[(u32, u32)]| {
        let choices = choices.iter().rev().map(|&(op, device)| (OpId(op), DeviceId(device))).collect();
        let run = Simulator::default().execute_online(&instance, &Stubborn(choices), &StopToken::default());
        run.unwrap_err().to_string()
    };
    assert_eq!(failure(&[(2, 0)]), "at 0 the placer gave op 2 to device 'd0', but it is not ready");
    assert_eq!(
        failure(&[(0, 0), (0, 1)]),
        "at 0 the placer gave op 0 to device 'd1', but it was given to a device before"
    );
    assert_eq!(failure(&[(9, 0)]), "at 0 the placer gave op 9 to device 'd0', but there is no such op or device");
    assert_eq!(
        failure(&[(0, 0)]),
        "the placer came to a standstill at 4: op 1 is ready, and 5 op(s) were given to no device"
    );
}
