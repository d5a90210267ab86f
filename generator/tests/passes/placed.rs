//! Passes over placed graphs: a small graph before and after each, and what holds on graphs and placements drawn at random.

use placebench_datasets::{
    Cluster, DataflowGraph, Device, DeviceId, GraphBuilder, Instance, Kind, Link, OpId, OpSpec, Placement, TensorId,
};
use placebench_generator::{ChangedPlacement, PassError, Passes};
use proptest::prelude::*;

use super::integers::plans;

fn changed(instance: &Instance, placement: &Placement, passes: &[&str]) -> Result<ChangedPlacement, PassError> {
    Passes::new(passes).unwrap().apply_placed(instance, placement)
}

/// Two devices for each kind, of speed 10, with links of rate 100 and latency 1.
fn cluster() -> Cluster {
    let kinds = [Kind::Cpu, Kind::Cpu, Kind::Gpu, Kind::Gpu];
    let device = |(id, kind): (usize, Kind)| Device { name: format!("d{id}"), kind, memory_bytes: None, speed: 10.0 };
    let devices = kinds.into_iter().enumerate().map(device).collect();
    Cluster::new(devices, |_, _| Link { rate: 100.0, latency: 1.0 }).unwrap()
}

/// `name on device: type(inputs) ops [outputs]` of each op behind the first `old`.
fn added(changed: &ChangedPlacement, old: usize) -> Vec<String> {
    let graph = changed.instance.graph();
    let name = |op: OpId| graph.name(op).unwrap();
    let told = |op: OpId| {
        let inputs = graph.predecessors(op).map(|edge| match edge.tensor {
            Some(_) => name(edge.op).to_owned(),
            None => format!("^{}", name(edge.op)),
        });
        let op_type = graph.op_types().and_then(|types| types.get(op.index())).unwrap();
        let bytes: Vec<u64> = graph.outputs(op).map(|tensor| graph.tensor_bytes(tensor)).collect();
        format!(
            "{} on {}: {op_type}({}) {} {bytes:?}",
            name(op),
            changed.placement.device_of(op),
            inputs.collect::<Vec<_>>().join(", "),
            graph.ops(op)
        )
    };
    graph.op_ids().skip(old).map(told).collect()
}

fn build(ops: &[(&str, &str, f64, u64, &[u32])]) -> DataflowGraph {
    let mut builder = GraphBuilder::default();
    for &(name, op_type, cost, bytes, inputs) in ops {
        let spec = OpSpec { name: Some(name), op_type: Some(op_type), ..OpSpec::cost(cost) };
        let id = builder.add_op(spec, &[bytes]);
        inputs.iter().for_each(|&input| builder.add_edge(OpId(input), 0, id).unwrap());
    }
    builder.build().unwrap()
}

fn on(graph: DataflowGraph, devices: &[u32]) -> (Instance, Placement) {
    let devices = devices.iter().map(|&device| DeviceId(device)).collect();
    (Instance::new(graph, cluster()).unwrap(), Placement::new(devices))
}

/// `a` is taken on its own device and on two others, on one of them twice; `mul` says what a byte costs: 12 / (8000 + 4000).
#[test]
fn compress_makes_the_short_tensor_once_and_the_long_one_on_each_device() {
    let ops: &[(&str, &str, f64, u64, &[u32])] = &[
        ("a", "dot", 50.0, 8_000, &[]),
        ("b", "mul", 12.0, 4_000, &[0]),
        ("c", "dot", 9.0, 4, &[0]),
        ("d", "dot", 9.0, 4, &[0]),
        ("e", "dot", 9.0, 4, &[0, 2]),
    ];
    let (instance, placement) = on(build(ops), &[0, 0, 1, 1, 2]);
    let new = changed(&instance, &placement, &["compress(16)"]).unwrap();
    assert_eq!(
        new.lines,
        ["compress(bits=16): 2 of 3 transfers of data are shortened, 8000 of 16004 bytes less are sent"]
    );
    assert_eq!(
        added(&new, 5),
        [
            "a/short_0 on 0: Cast(a) 12 [4000]",
            "a/long_0_1 on 1: Cast(a/short_0) 12 [8000]",
            "a/long_0_2 on 2: Cast(a/short_0) 12 [8000]"
        ]
    );
    let sources = |op: u32| new.instance.graph().predecessors(OpId(op)).map(|edge| edge.op.0).collect::<Vec<_>>();
    assert_eq!([1, 2, 3, 4].map(sources), [vec![0], vec![6], vec![6], vec![7, 2]]);
    let costly = changed(&instance, &placement, &["compress(8,from=32,least=1,cost=0.5)"]).unwrap();
    assert_eq!(added(&costly, 5)[3..], ["c/short_0 on 1: Cast(c) 2.5 [1]", "c/long_0_2 on 2: Cast(c/short_0) 2.5 [4]"]);
}

#[test]
fn what_a_pass_over_a_placed_graph_cannot_do_is_refused_in_one_line() {
    let (instance, placement) = on(build(&[("a", "dot", 1.0, 8_000, &[]), ("b", "dot", 1.0, 4, &[0])]), &[0, 1]);
    let refused = |passes: &[&str]| changed(&instance, &placement, passes).unwrap_err().to_string();
    assert_eq!(
        refused(&["compress"]),
        "pass 'compress': the graph has no elementwise ops that would tell what a conversion costs: give the operations for \
         each byte that it reads or writes, as in 'compress(bits=16,cost=0.25)'"
    );
    // Where nothing would be shortened nothing has to be known.
    let together = Placement::new(vec![DeviceId(0); 2]);
    assert_eq!(changed(&instance, &together, &["compress"]).unwrap().instance.graph(), instance.graph());
    let graph = instance.graph().clone();
    assert_eq!(
        Passes::new(["prune", "delay_receives"]).unwrap().apply(graph).unwrap_err().to_string(),
        "pass 'delay_receives' changes a graph that is placed: give it to 'place' or to a suite"
    );
    for wrong in ["compress(32)", "compress(0)", "compress(cost=0)", "delay_receives(-1)"] {
        assert!(Passes::new([wrong]).is_err(), "{wrong}");
    }
}

/// On device 1 there are 2 · 100 time units of work before `c` needs what `a` made at 1: a request takes 1, the transfer 11.
#[test]
fn a_receive_waits_for_the_last_op_that_leaves_time_for_it() {
    let ops: &[(&str, &str, f64, u64, &[u32])] = &[
        ("a", "dot", 10.0, 1_000, &[]),
        ("x", "dot", 1_000.0, 5_000, &[]),
        ("y", "dot", 1_000.0, 4, &[1]),
        ("c", "dot", 10.0, 4, &[0, 2]),
    ];
    let (instance, placement) = on(build(ops), &[0, 1, 1, 1]);
    let new = changed(&instance, &placement, &["delay_receives"]).unwrap();
    assert_eq!(new.lines, ["delay_receives: 1 of 1 transfers of data are held back"]);
    assert_eq!(added(&new, 4), ["a/send_0_1 on 0: _Send(a, ^x) 0 [1000]"]);
    assert_eq!(new.instance.graph().predecessors(OpId(3)).map(|edge| edge.op.0).collect::<Vec<_>>(), [4, 2]);
    // A transfer that takes longer than y may not wait for x.
    let none = changed(&instance, &placement, &["delay_receives(ahead=10)"]).unwrap();
    assert_eq!(none.lines, ["delay_receives(ahead=10): 0 of 1 transfers of data are held back"]);
    assert_eq!(none.instance.graph(), instance.graph());
}

/// What `a` makes, 9000 bytes, would lie beside what `b` makes, 3000, on their own device: 12000 there in place of 9000 here.
#[test]
fn nothing_is_held_back_where_the_peak_would_only_move_to_the_sender() {
    let ops: &[(&str, &str, f64, u64, &[u32])] = &[
        ("a", "dot", 10.0, 9_000, &[]),
        ("b", "dot", 1_000.0, 3_000, &[0]),
        ("x", "dot", 2_000.0, 4, &[]),
        ("y", "dot", 2_000.0, 4, &[2]),
        ("c", "dot", 10.0, 4, &[0, 3]),
    ];
    let (instance, placement) = on(build(ops), &[0, 0, 1, 1, 1]);
    let new = changed(&instance, &placement, &["delay_receives"]).unwrap();
    assert_eq!(new.lines, ["delay_receives: 0 of 1 transfers of data are held back"]);
}

#[test]
fn a_tensor_that_gets_no_shorter_goes_as_it_is() {
    let (instance, placement) = on(build(&[("a", "dot", 1.0, 1, &[]), ("b", "dot", 1.0, 4, &[0])]), &[0, 1]);
    let new = changed(&instance, &placement, &["compress(16,least=0,cost=1)"]).unwrap();
    assert_eq!(new.instance.graph(), instance.graph());
    assert!(new.lines[0].contains("0 of 1 transfers of data are shortened, 0 of 1 bytes less"), "{}", new.lines[0]);
}

/// The tensor that an old op takes in the new graph, through the ops that a pass added.
fn resolved(graph: &DataflowGraph, old_count: usize, mut tensor: TensorId) -> TensorId {
    while graph.producer(tensor).index() >= old_count {
        let taken: Vec<TensorId> = graph.predecessors(graph.producer(tensor)).filter_map(|edge| edge.tensor).collect();
        assert_eq!(taken.len(), 1, "an op that was added hands on one tensor");
        tensor = taken[0];
    }
    tensor
}

proptest! {
    /// Old ops keep numbers, costs and devices, and take what they took, at last.
    #[test]
    fn passes_over_placed_graphs_keep_what_was_placed(
        plan in plans(),
        draws in prop::collection::vec(0usize..4, 64),
        passes in prop::sample::select(vec![
            vec!["compress(16,least=0,cost=0.1)"],
            vec!["delay_receives"],
            vec!["delay_receives(0)"],
            vec!["compress(8,cost=0.1)", "delay_receives(0.5)"],
            vec!["delay_receives(0)", "compress(8,least=1,cost=0.1)"],
        ]),
    ) {
        let instance = Instance::new(plan.graph(), cluster()).unwrap();
        let (graph, units) = (instance.graph(), instance.units());
        let mut devices = vec![DeviceId(0); graph.op_count()];
        for unit in units.ids() {
            let usable: Vec<DeviceId> = instance
                .cluster()
                .device_ids()
                .filter(|&device| units.kind_allows(unit, instance.cluster(), device))
                .collect();
            let device = usable[draws[unit.index() % draws.len()] % usable.len()];
            units.members(unit).iter().for_each(|op| devices[op.index()] = device);
        }
        let placement = Placement::new(devices);
        let new = changed(&instance, &placement, &passes).unwrap();
        let made = new.instance.graph();
        prop_assert_eq!(&new.placement.devices()[..graph.op_count()], placement.devices());
        new.placement.check(&new.instance).unwrap();
        for op in graph.op_ids() {
            prop_assert_eq!((made.ops(op), made.memory_bytes(op), made.name(op)), (graph.ops(op), graph.memory_bytes(op), graph.name(op)));
            for class in ["cpu", "gpu"] {
                let time = |graph: &DataflowGraph| graph.measured_on(class).and_then(|times| times.of(op));
                prop_assert_eq!(time(made), time(graph));
            }
            let tensors = |graph: &DataflowGraph| -> Vec<Option<(OpId, usize)>> {
                let of = |tensor| resolved(graph, instance.graph().op_count(), tensor);
                let named = |tensor: TensorId| (graph.producer(tensor), graph.port(tensor));
                graph.predecessors(op).map(|edge| edge.tensor.map(of).map(named)).collect()
            };
            prop_assert_eq!(tensors(made), tensors(graph), "what op {} takes", op);
        }
        // No tensor is made longer, and what only waits stays as long as it was.
        let sent = |instance: &Instance, placement: &Placement| {
            placebench_datasets::PlacedGraph::new(instance, placement).traffic_bytes()
        };
        let (before, after) = (sent(&instance, &placement), sent(&new.instance, &new.placement));
        match passes.iter().any(|pass| pass.starts_with("compress")) {
            true => prop_assert!(after <= before && (before == 0 || passes[0] != "compress(16,least=0,cost=0.1)" || after <= before.div_ceil(2) + 64)),
            false => prop_assert_eq!(after, before),
        }
        let again = changed(&instance, &placement, &passes).unwrap();
        prop_assert_eq!(again.instance.graph(), made);
    }
}
