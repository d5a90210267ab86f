//! Plans and memory, in the model of the machine.

use placebench_algorithms::schedulers::Pct;
use placebench_algorithms::{Scheduler, Task, schedulers::Fifo};
use placebench_datasets::{
    Cluster, DeviceId, GraphBuilder, Instance, Kind, Link, OpId, OpSpec, PlacedGraph, Placement, SplitMix64, TransferId,
};
use placebench_execute_cuda::CudaError;
use placebench_execute_cuda::memory::{ALIGNMENT, MemoryPlan};
use placebench_execute_cuda::plan::{Action, Activity, CommandPlan, order_of};
use placebench_harness::execute::simulate::{ContentionFree, simulate};
use proptest::prelude::*;

use crate::machine::{check_apart, execute};
use crate::random::placed_instances;

fn simulated_order(placed: &PlacedGraph<'_>, scheduler: &dyn Scheduler) -> Vec<Task> {
    order_of(placed, &simulate(placed, scheduler, None, &ContentionFree).expect("a timeline"))
}

/// A random order that keeps ops behind their inputs and sends behind their ops.
fn random_order(placed: &PlacedGraph<'_>, random: &mut SplitMix64) -> Vec<Task> {
    let graph = placed.instance().graph();
    let sends_cost = placed.instance().cluster().send_ops() > 0.0;
    let mut order: Vec<Task> = Vec::new();
    loop {
        let is_in = |task| order.contains(&task);
        let sent = |op: OpId, to: OpId| {
            let serves = |id: &TransferId| placed.remote_consumers(*id).contains(&to);
            !sends_cost || placed.transfers_of(op).filter(serves).all(|id| is_in(Task::Send(id)))
        };
        let ready =
            |&op: &OpId| graph.predecessor_ops(op).iter().all(|&early| is_in(Task::Op(early)) && sent(early, op));
        let ops = graph.op_ids().filter(ready).map(Task::Op);
        let sends = placed.transfer_ids().filter(|&id| sends_cost && is_in(Task::Op(placed.transfer(id).source)));
        let next: Vec<Task> = ops.chain(sends.map(Task::Send)).filter(|&task| !is_in(task)).collect();
        if next.is_empty() {
            return order;
        }
        order.push(next[random.below(next.len())]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// However streams interleave, and on however few hardware queues, every task runs once, after all that it needs, and
    /// finds the data that it needs; and each device keeps the order.
    #[test]
    fn plans_keep_every_dependency_in_every_interleaving((instance, placement) in placed_instances(), seed: u64) {
        let placed = PlacedGraph::new(&instance, &placement);
        let mut random = SplitMix64::new(seed);
        let orders = [simulated_order(&placed, &Fifo), simulated_order(&placed, &Pct), random_order(&placed, &mut random)];
        for order in orders {
            let plan = CommandPlan::new(&placed, &order).unwrap();
            let memory = MemoryPlan::new(&placed, &order);
            check_apart(&placed, &memory, &order);
            for queues in [usize::MAX, 1, 2, 3] {
                let ended = execute(&placed, &plan, &memory, queues, |count| random.below(count)).unwrap();
                for device in instance.cluster().device_ids() {
                    let is_here = |task: &&Task| match task {
                        Task::Op(op) => placed.device_of(*op) == device,
                        Task::Send(id) => placed.transfer(*id).from == device,
                        Task::Receive(id) => placed.transfer(*id).to == device,
                    };
                    let tasks = ended.iter().filter_map(|activity| match activity {
                        Activity::Task(task) => Some(task),
                        Activity::Transfer(_) => None,
                    });
                    prop_assert!(order.iter().filter(is_here).eq(tasks.filter(is_here)));
                }
            }
        }
    }

    /// The model finds what a plan without waits does wrong: the test above can fail.
    #[test]
    fn without_its_waits_a_plan_fails_in_some_interleaving((instance, placement) in placed_instances(), seed: u64) {
        let placed = PlacedGraph::new(&instance, &placement);
        prop_assume!(placed.transfer_count() > 0);
        let order = simulated_order(&placed, &Fifo);
        let mut plan = CommandPlan::new(&placed, &order).unwrap();
        plan.commands.retain(|command| !matches!(command.action, Action::Wait(_)));
        let memory = MemoryPlan::new(&placed, &order);
        // Copy streams come last: they go first here.
        let last = execute(&placed, &plan, &memory, usize::MAX, |count| count - 1);
        let mut random = SplitMix64::new(seed);
        let any = (0..20).any(|_| execute(&placed, &plan, &memory, usize::MAX, |count| random.below(count)).is_err());
        prop_assert!(last.is_err() || any);
    }
}

/// a ──▶ b, c on another device; b also reads d, which comes later: waits that an earlier one covers are left out.
fn two_devices() -> (Instance, Placement) {
    let mut builder = GraphBuilder::default();
    let a = builder.add_op(OpSpec::cost(1.0), &[800]);
    let d = builder.add_op(OpSpec::cost(1.0), &[800]);
    let b = builder.add_op(OpSpec::cost(1.0), &[]);
    let c = builder.add_op(OpSpec::cost(1.0), &[]);
    for (from, to) in [(a, b), (d, b), (a, c)] {
        builder.add_edge(from, 0, to).expect("an edge");
    }
    let cluster = Cluster::uniform(2, Kind::Gpu, 1.0, Link { rate: 1e9, latency: 0.0 }).expect("a cluster");
    let instance = Instance::new(builder.build().expect("a graph"), cluster).expect("an instance");
    (instance, Placement::new(vec![DeviceId(0), DeviceId(0), DeviceId(1), DeviceId(1)]))
}

#[test]
fn an_op_waits_once_for_the_last_arrival_from_each_device() {
    let (instance, placement) = two_devices();
    let placed = PlacedGraph::new(&instance, &placement);
    let order: Vec<Task> = instance.graph().op_ids().map(Task::Op).collect();
    let plan = CommandPlan::new(&placed, &order).unwrap();
    let text: Vec<String> = plan.commands.iter().map(|at| format!("{} {:?}", at.stream, at.action)).collect();
    let expected = [
        "0 Run(Task(Op(op0)))",
        "0 Record(0)",
        "2 Wait(0)",
        "2 Run(Transfer(x0))",
        "2 Record(1)",
        "0 Run(Task(Op(op1)))",
        "0 Record(2)",
        "2 Wait(2)",
        "2 Run(Transfer(x1))",
        "2 Record(3)",
        // b needs both transfers, and the second ends last; c needs none that b has not waited for.
        "1 Wait(3)",
        "1 Run(Task(Op(op2)))",
        "1 Run(Task(Op(op3)))",
    ];
    assert_eq!(text, expected);
}

#[test]
fn an_order_that_does_not_fit_the_graph_is_refused() {
    let (instance, placement) = two_devices();
    let placed = PlacedGraph::new(&instance, &placement);
    let [a, d, b, c] = [0, 1, 2, 3].map(|op| Task::Op(OpId(op)));
    let send = Task::Send(TransferId(0));
    let orders = [
        (vec![b, a, d, c], "op 2 stands before its input op 0"),
        (vec![a, d, b], "op 3 is missing from it"),
        (vec![a, d, b, c, c], "op 3 stands twice in it"),
        (vec![a, send, d, b, c], "a send or receive of op 0 stands in it, but takes no time"),
    ];
    for (order, fault) in orders {
        let error = CommandPlan::new(&placed, &order).unwrap_err();
        assert_eq!(error, CudaError::Order(fault.to_owned()));
    }
    let cluster = instance.cluster().clone().with_send_ops(1.0).unwrap();
    let instance = Instance::new(instance.graph().clone(), cluster).unwrap();
    let placed = PlacedGraph::new(&instance, &placement);
    let other = Task::Send(TransferId(1));
    let orders = [
        (vec![send, a, d, b, c], "a send of op 0 stands before it"),
        (vec![a, send, send, d, b, c], "a send of op 0 stands twice in it"),
        (vec![a, send, d, b, c], "op 2 stands before the send of its input op 1"),
    ];
    for (order, fault) in orders {
        assert_eq!(CommandPlan::new(&placed, &order).unwrap_err(), CudaError::Order(fault.to_owned()));
    }
    assert!(CommandPlan::new(&placed, &[a, send, d, other, b, c]).is_ok());
}

#[test]
fn a_chain_on_one_device_needs_two_places() {
    let mut builder = GraphBuilder::default();
    let ops: Vec<OpId> = (0..10).map(|_| builder.add_op(OpSpec::cost(1.0), &[1000])).collect();
    for pair in ops.windows(2) {
        builder.add_edge(pair[0], 0, pair[1]).unwrap();
    }
    let cluster = Cluster::uniform(1, Kind::Gpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    let placement = Placement::new(vec![DeviceId(0); 10]);
    let placed = PlacedGraph::new(&instance, &placement);
    let order: Vec<Task> = ops.into_iter().map(Task::Op).collect();
    let memory = MemoryPlan::new(&placed, &order);
    assert_eq!(memory.device_bytes(), [2 * 1000_u64.div_ceil(ALIGNMENT) * ALIGNMENT]);
}
