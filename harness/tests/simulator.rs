//! What the simulator promises to policies, how it fails, and large or degenerate graphs.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use placebench_algorithms::schedulers::Fifo;
use placebench_algorithms::{Plan, Policy, Scheduler, SchedulerError, SimulationState, StopToken, Task};
use placebench_datasets::{
    Cluster, DeviceId, GraphBuilder, Instance, Kind, Link, OpId, OpSpec, PlacedGraph, Placement, Time, TransferId,
};
use placebench_harness::execute::simulate::{ContentionFree, LogGp, NETWORK_MODELS, OnePort, Simulator, simulate};
use placebench_harness::execute::{ExecutionError, Executor, Order};
use placebench_harness::problem::{ClusterEntry, GraphEntry, Problem};
use proptest::prelude::*;

use crate::support::random::{PLAIN, instance, shapes};

/// Answers from what is executable on the device that asks, in the order of announcements.
type Choice = fn(&mut Vec<Task>) -> Option<Task>;

struct Chooser(Choice);

struct ChooserPolicy(Choice, Vec<Vec<Task>>);

impl Scheduler for Chooser {
    fn start<'a>(
        &self,
        placed: &'a PlacedGraph<'a>,
        _: Option<&'a Plan>,
    ) -> Result<Box<dyn Policy + 'a>, SchedulerError> {
        let devices = placed.instance().cluster().device_count();
        Ok(Box::new(ChooserPolicy(self.0, vec![Vec::new(); devices])))
    }
}

impl Policy for ChooserPolicy {
    fn ready(&mut self, device: DeviceId, task: Task, _: &SimulationState<'_>) {
        self.1[device.index()].push(task);
    }

    fn next(&mut self, device: DeviceId, _: &SimulationState<'_>) -> Option<Task> {
        (self.0)(&mut self.1[device.index()])
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Call {
    Ready(DeviceId, Task),
    Next(DeviceId, Option<Task>),
}

/// What a policy saw at one call.
#[derive(Clone, Debug)]
struct Seen {
    now: Time,
    call: Call,
    busy: Vec<bool>,
    unfinished_inputs: Vec<u32>,
}

/// Behaves as FIFO, and writes down every call.
#[derive(Default)]
struct Spy(Arc<Mutex<Vec<Seen>>>);

struct SpyPolicy<'a>(Arc<Mutex<Vec<Seen>>>, Box<dyn Policy + 'a>);

impl Scheduler for Spy {
    fn start<'a>(
        &self,
        placed: &'a PlacedGraph<'a>,
        plan: Option<&'a Plan>,
    ) -> Result<Box<dyn Policy + 'a>, SchedulerError> {
        Ok(Box::new(SpyPolicy(Arc::clone(&self.0), Fifo.start(placed, plan)?)))
    }
}

impl SpyPolicy<'_> {
    fn note(&self, call: Call, state: &SimulationState<'_>) {
        let (busy, unfinished_inputs) = (state.busy.to_vec(), state.unfinished_inputs.to_vec());
        self.0.lock().unwrap().push(Seen { now: state.now, call, busy, unfinished_inputs });
    }
}

impl Policy for SpyPolicy<'_> {
    fn ready(&mut self, device: DeviceId, task: Task, state: &SimulationState<'_>) {
        self.note(Call::Ready(device, task), state);
        self.1.ready(device, task, state);
    }

    fn next(&mut self, device: DeviceId, state: &SimulationState<'_>) -> Option<Task> {
        let task = self.1.next(device, state);
        self.note(Call::Next(device, task), state);
        task
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn policies_are_called_as_promised(shape in shapes(), network in 0..NETWORK_MODELS.len()) {
        let network = NETWORK_MODELS[network];
        let (instance, placement) = instance(shape, PLAIN);
        let placed = PlacedGraph::new(&instance, &placement);
        let spy = Spy::default();
        let timeline = simulate(&placed, &spy, None, network).unwrap();
        let seen = spy.0.lock().unwrap().clone();

        let mut announced: Vec<Task> = Vec::new();
        let mut started: Vec<Task> = Vec::new();
        for (position, Seen { now, call, busy, unfinished_inputs }) in seen.iter().enumerate() {
            let before = position.checked_sub(1).map(|position| &seen[position]);
            prop_assert!(before.is_none_or(|before| before.now <= *now), "time runs backwards");
            for op in instance.graph().op_ids() {
                // An op that ends now at a later decision of this instant has not finished yet.
                let is_finished = |producer: &OpId| {
                    started.contains(&Task::Op(*producer)) && timeline.finish(*producer) <= *now
                };
                let producers = instance.graph().predecessor_ops(op);
                let unfinished = producers.iter().filter(|producer| !is_finished(producer)).count();
                let zero_length = producers.iter().any(|&producer| timeline.start(producer) == timeline.finish(producer));
                prop_assert!(zero_length || unfinished_inputs[op.index()] as usize == unfinished);
            }
            match call {
                Call::Ready(device, task) => {
                    prop_assert!(!announced.contains(task), "{:?} announced twice", task);
                    announced.push(*task);
                    let home = match *task {
                        Task::Op(op) => placed.device_of(op),
                        Task::Send(transfer) => placed.transfer(transfer).from,
                        Task::Receive(transfer) => placed.transfer(transfer).to,
                    };
                    prop_assert_eq!(home, *device);
                    if let Some(Seen { now: then, call: Call::Ready(_, previous), .. }) = before {
                        prop_assert!(then < now || previous < task, "announced out of order");
                    }
                }
                Call::Next(device, task) => {
                    prop_assert!(!busy[device.index()], "a busy device is asked");
                    if let Some(Seen { now: then, call: Call::Next(previous, _), .. }) = before {
                        // A later round of the same instant begins anew, but only if something took no time.
                        let zero_length = started.iter().any(|task| match *task {
                            Task::Op(op) => timeline.op(op).start == *now && timeline.op(op).end == *now,
                            Task::Send(id) => timeline.send(id).is_some_and(|send| send.end == *now),
                            Task::Receive(id) => timeline.receive(id).is_some_and(|receive| receive.end == *now),
                        });
                        prop_assert!(then < now || previous < device || zero_length, "asked out of order");
                    }
                    let task = task.expect("a device with nothing executable is not asked");
                    prop_assert!(announced.contains(&task) && !started.contains(&task));
                    started.push(task);
                }
            }
        }
        prop_assert_eq!(announced.len() as u64, timeline.decisions());
        prop_assert_eq!(started.len() as u64, timeline.decisions());
    }
}

fn cluster(devices: usize) -> Cluster {
    Cluster::uniform(devices, Kind::Cpu, 10.0, Link { rate: 10.0, latency: 0.0 }).unwrap()
}

/// a and b on d0, c on d1 after a.
fn three_ops() -> (Instance, Placement) {
    let mut builder = GraphBuilder::default();
    let a = builder.add_op(OpSpec { name: Some("a"), ..OpSpec::cost(10.0) }, &[10]);
    builder.add_op(OpSpec { name: Some("b"), ..OpSpec::cost(10.0) }, &[]);
    let c = builder.add_op(OpSpec { name: Some("c"), ..OpSpec::cost(10.0) }, &[]);
    builder.add_edge(a, 0, c).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster(2)).unwrap();
    (instance, Placement::new([0, 0, 1].map(DeviceId).to_vec()))
}

fn error_of(choice: Choice) -> ExecutionError {
    let (instance, placement) = three_ops();
    let placed = PlacedGraph::new(&instance, &placement);
    simulate(&placed, &Chooser(choice), None, &ContentionFree).unwrap_err()
}

#[test]
fn a_scheduler_that_never_decides_is_an_error_and_no_endless_loop() {
    let error = error_of(|_| None);
    assert_eq!(
        error.to_string(),
        "the scheduler came to a standstill at 0: 0 of 3 tasks were executed, and device 'd0' stays idle though 2 task(s) \
         are executable there; its order contradicts the graph"
    );
}

#[test]
fn a_scheduler_that_stops_half_way_is_an_error() {
    // Waits on each device for a second task, which never comes to d1.
    let error = error_of(|tasks| (tasks.len() > 1).then(|| tasks.remove(0)));
    assert!(matches!(error, ExecutionError::Standstill { finished: 1, total: 3, waiting: 1, .. }), "{error:?}");
}

#[test]
fn idling_until_something_else_becomes_ready_is_allowed() {
    // d1 waits until both of its ops are ready, then takes the later one first.
    let mut builder = GraphBuilder::default();
    let a = builder.add_op(OpSpec::cost(10.0), &[10]);
    let b = builder.add_op(OpSpec::cost(10.0), &[]);
    let c = builder.add_op(OpSpec::cost(10.0), &[]);
    builder.add_edge(a, 0, c).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster(2)).unwrap();
    let placement = Placement::new([0, 1, 1].map(DeviceId).to_vec());
    let placed = PlacedGraph::new(&instance, &placement);
    let waits: Choice = |tasks| match tasks[..] {
        [Task::Op(OpId(1))] => None,
        _ => tasks.pop(),
    };
    // After c has run, b is alone again, and nothing becomes ready any more.
    let error = simulate(&placed, &Chooser(waits), None, &ContentionFree).unwrap_err();
    assert!(matches!(error, ExecutionError::Standstill { time: 3.0, finished: 2, .. }), "{error:?}");
    let takes_last: Choice = |tasks| tasks.pop();
    let timeline = simulate(&placed, &Chooser(takes_last), None, &ContentionFree).unwrap();
    assert_eq!((timeline.start(b), timeline.start(c)), (0.0, 2.0));
}

#[test]
fn a_task_that_is_not_executable_is_refused_with_its_name() {
    let error = error_of(|_| Some(Task::Op(OpId(2))));
    let message = "at 0 the scheduler told device 'd0' to execute op 'c', which is not executable there";
    assert_eq!(error.to_string(), message);
    for task in [
        Task::Op(OpId(3)),
        Task::Op(OpId(u32::MAX)),
        Task::Send(TransferId(0)),
        Task::Send(TransferId(9)),
        Task::Receive(TransferId(0)),
    ] {
        let choice: Choice = match task {
            Task::Op(OpId(3)) => |_| Some(Task::Op(OpId(3))),
            Task::Op(_) => |_| Some(Task::Op(OpId(u32::MAX))),
            Task::Send(TransferId(0)) => |_| Some(Task::Send(TransferId(0))),
            Task::Send(_) => |_| Some(Task::Send(TransferId(9))),
            Task::Receive(_) => |_| Some(Task::Receive(TransferId(0))),
        };
        assert!(matches!(error_of(choice), ExecutionError::NotExecutable { .. }), "{task:?}");
    }
}

#[test]
fn a_task_is_not_executed_twice() {
    let error = error_of(|tasks| tasks.first().copied());
    let message = "at 1 the scheduler told device 'd0' to execute op 'a', which is not executable there";
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_task_whose_input_is_on_its_way_is_not_executable_under_any_network() {
    // d1 has b to execute, but names c, whose input arrives at 2.
    let mut builder = GraphBuilder::default();
    let a = builder.add_op(OpSpec::cost(10.0), &[10]);
    builder.add_op(OpSpec::cost(15.0), &[]);
    let c = builder.add_op(OpSpec::cost(10.0), &[]);
    builder.add_op(OpSpec::cost(10.0), &[]);
    builder.add_edge(a, 0, c).unwrap();
    let placement = Placement::new([0, 1, 1, 1].map(DeviceId).to_vec());
    for send_ops in [0.0, 1.0] {
        let cluster = cluster(2).with_send_ops(send_ops).unwrap();
        let instance = Instance::new(builder.clone().build().unwrap(), cluster).unwrap();
        let placed = PlacedGraph::new(&instance, &placement);
        for network in NETWORK_MODELS {
            let choice: Choice = |tasks| match tasks.first() {
                Some(Task::Op(OpId(3))) => Some(Task::Op(OpId(2))),
                _ => Some(tasks.remove(0)),
            };
            let error = simulate(&placed, &Chooser(choice), None, network).unwrap_err();
            assert!(matches!(error, ExecutionError::NotExecutable { time: 1.5, .. }), "{error:?}");
        }
    }
}

#[test]
fn times_that_would_leave_the_range_of_floats_make_no_instance() {
    let instance = |cost: f64, rate: f64| {
        let mut builder = GraphBuilder::default();
        builder.add_op(OpSpec::cost(cost), &[]);
        let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, Link { rate, latency: 0.0 }).unwrap();
        Instance::new(builder.build().unwrap(), cluster).map(drop).map_err(|error| error.to_string())
    };
    assert!(instance(f64::MAX, 1.0).unwrap_err().starts_with("the cost of op 0 is 1.7976931348623157e308: "));
    assert!(instance(1.0, f64::MIN_POSITIVE).unwrap_err().starts_with("the rate from 'd0' to 'd1' is 2.2"));
    assert_eq!(instance(1e70, 1e-70), Ok(()));
}

/// A chain of ops that alternates between two devices, or stays on one.
fn chain(ops: usize, ops_each: f64, devices: u32) -> (Instance, Placement) {
    let mut builder = GraphBuilder::default();
    let mut previous: Option<OpId> = None;
    for _ in 0..ops {
        let op = builder.add_op(OpSpec::cost(ops_each), &[10]);
        if let Some(previous) = previous {
            builder.add_edge(previous, 0, op).unwrap();
        }
        previous = Some(op);
    }
    let instance = Instance::new(builder.build().unwrap(), cluster(2)).unwrap();
    (instance, Placement::new((0..ops as u32).map(|op| DeviceId(op % devices)).collect()))
}

#[test]
fn a_chain_of_a_million_ops_works() {
    let (instance, placement) = chain(1_000_000, 10.0, 2);
    let placed = PlacedGraph::new(&instance, &placement);
    for network in NETWORK_MODELS {
        let timeline = simulate(&placed, &Fifo, None, network).unwrap();
        assert_eq!(timeline.makespan(), 1_999_999.0);
    }
}

#[test]
fn a_graph_in_which_nothing_takes_time_ends_at_0() {
    let (instance, placement) = chain(10_000, 0.0, 1);
    let placed = PlacedGraph::new(&instance, &placement);
    for network in NETWORK_MODELS {
        assert_eq!(simulate(&placed, &Fifo, None, network).unwrap().makespan(), 0.0);
    }
}

#[test]
fn a_run_stops_when_it_is_told_to_or_its_deadline_passes() {
    let (instance, placement) = chain(100_000, 0.0, 1);
    let placed = PlacedGraph::new(&instance, &placement);
    let asked = StopToken::default();
    asked.stop();
    for stop in [asked, StopToken::with_deadline(Instant::now())] {
        let order = Order { scheduler: &Fifo, plan: None };
        let error = Simulator::default().execute(&placed, order, &stop).unwrap_err();
        assert_eq!(error.to_string(), "stopped at simulated time 0, after 0 of 100000 tasks");
    }
}

#[test]
fn a_run_that_is_told_to_stop_while_it_goes_on_stops_soon() {
    /// Asks for a stop at its thousandth decision.
    struct Stopper(StopToken);
    struct StopperPolicy<'a>(StopToken, usize, Box<dyn Policy + 'a>);
    impl Scheduler for Stopper {
        fn start<'a>(
            &self,
            placed: &'a PlacedGraph<'a>,
            plan: Option<&'a Plan>,
        ) -> Result<Box<dyn Policy + 'a>, SchedulerError> {
            Ok(Box::new(StopperPolicy(self.0.clone(), 0, Fifo.start(placed, plan)?)))
        }
    }
    impl Policy for StopperPolicy<'_> {
        fn ready(&mut self, device: DeviceId, task: Task, state: &SimulationState<'_>) {
            self.2.ready(device, task, state);
        }
        fn next(&mut self, device: DeviceId, state: &SimulationState<'_>) -> Option<Task> {
            self.1 += 1;
            if self.1 == 1000 {
                self.0.stop();
            }
            self.2.next(device, state)
        }
    }
    let (instance, placement) = chain(100_000, 10.0, 1);
    let placed = PlacedGraph::new(&instance, &placement);
    let stop = StopToken::default();
    let order = Order { scheduler: &Stopper(stop.clone()), plan: None };
    match Simulator::default().execute(&placed, order, &stop).unwrap_err() {
        ExecutionError::Stopped { finished, total, .. } => assert!(finished < 10_000 && total == 100_000),
        other => panic!("{other:?}"),
    }
}

/// Under one_port a transfer waits for its own two ports only, and of those that can go the one that waited longest goes.
#[test]
fn under_one_port_a_busy_receiver_does_not_hold_up_transfers_to_others() {
    // d0: a (0–1) sends 20 bytes to d2. d1: b (0–1), then c (1–2), send 20 to d2, then d (2–3) sends 10 to d3.
    let mut builder = GraphBuilder::default();
    let [a, b, c, d] = [20, 20, 20, 10].map(|bytes| builder.add_op(OpSpec::cost(10.0), &[bytes]));
    let at_d2 = builder.add_op(OpSpec::cost(10.0), &[]);
    let at_d3 = builder.add_op(OpSpec::cost(10.0), &[]);
    for producer in [a, b, c] {
        builder.add_edge(producer, 0, at_d2).unwrap();
    }
    builder.add_edge(d, 0, at_d3).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster(4)).unwrap();
    let placement = Placement::new([0, 1, 1, 1, 2, 3].map(DeviceId).to_vec());
    let placed = PlacedGraph::new(&instance, &placement);
    let timeline = simulate(&placed, &Fifo, None, &OnePort).unwrap();
    let start = |source| timeline.transfer(&placed, placed.transfers_of(source).next().unwrap()).start;
    // a and b are ready at 1: the lower id goes first, and b waits for d2. d is ready at 3, when a has freed d2: b, ready
    // longer, takes the port of d1; then c and d compete for it, and c has waited longer.
    assert_eq!([start(a), start(b), start(c), start(d)], [1.0, 3.0, 5.0, 7.0]);
    // With a sending for longer, d2 is still busy at 3, and d does not wait behind b and c.
    let slower = instance.graph().with_costs(vec![10.0; 6], vec![0; 6], vec![30, 20, 20, 10]);
    let instance = Instance::new(slower.unwrap(), cluster(4)).unwrap();
    let placed = PlacedGraph::new(&instance, &placement);
    let timeline = simulate(&placed, &Fifo, None, &OnePort).unwrap();
    let start = |source| timeline.transfer(&placed, placed.transfers_of(source).next().unwrap()).start;
    assert_eq!([start(a), start(b), start(c), start(d)], [1.0, 4.0, 6.0, 3.0]);
}

/// A transfer that takes no time holds its ports for no time: who waits behind it is next, not who came later.
#[test]
fn under_one_port_a_transfer_of_no_time_lets_no_younger_one_overtake_those_behind_it() {
    // d0: a (0–1) has two outputs: 0 bytes for d1, which take no time, and 20 for d2. d3: b (0–1) sends 20 to d2.
    let mut builder = GraphBuilder::default();
    let a = builder.add_op(OpSpec::cost(10.0), &[0, 20]);
    let b = builder.add_op(OpSpec::cost(10.0), &[20]);
    for (producer, port) in [(a, 0), (a, 1), (b, 0)] {
        let consumer = builder.add_op(OpSpec::cost(10.0), &[]);
        builder.add_edge(producer, port, consumer).unwrap();
    }
    let instance = Instance::new(builder.build().unwrap(), cluster(4)).unwrap();
    let placement = Placement::new([0, 3, 1, 2, 2].map(DeviceId).to_vec());
    let placed = PlacedGraph::new(&instance, &placement);
    let timeline = simulate(&placed, &Fifo, None, &OnePort).unwrap();
    let starts: Vec<Time> = placed.transfer_ids().map(|id| timeline.transfer(&placed, id).start).collect();
    // All three are ready at 1, in the order of ids. The first ends at 1, so the second finds both its ports free.
    assert_eq!(starts, [1.0, 1.0, 3.0]);
    assert_eq!(timeline.makespan(), 6.0);
}

/// An op that takes no time starts and ends within an instant. What it makes executable there comes after what was executable
/// before, whatever the ids.
#[test]
fn fifo_takes_the_rounds_of_an_instant_in_order_and_ids_within_a_round() {
    // On d0: op 0 after op 2, and ops 1 and 3. On d1: op 2, of no time, whose output of 0 bytes arrives at once.
    let mut builder = GraphBuilder::default();
    for cost in [10.0, 10.0, 0.0, 10.0] {
        builder.add_op(OpSpec::cost(cost), &[0]);
    }
    builder.add_edge(OpId(2), 0, OpId(0)).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster(2)).unwrap();
    let placement = Placement::new([0, 0, 1, 0].map(DeviceId).to_vec());
    let placed = PlacedGraph::new(&instance, &placement);
    for network in NETWORK_MODELS {
        let timeline = simulate(&placed, &Fifo, None, network).unwrap();
        assert_eq!([0, 1, 2, 3].map(|op| timeline.start(OpId(op))), [2.0, 0.0, 0.0, 1.0], "{network}");
    }
}

/// Two messages come to one interface at 35.5. The one of the lower id is caused by what happens at that instant, the other
/// was there before; if ids decided, the makespan would be 80.
#[test]
fn under_loggp_a_message_that_another_one_causes_at_the_same_instant_waits_behind_it() {
    let file =
        |end: &str| Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(format!("loggp_tie.{end}")));
    let graph = GraphEntry { file: file("csv"), ..GraphEntry::default() };
    let cluster = ClusterEntry { file: file("toml"), ..ClusterEntry::default() };
    let instance = Problem::new(&graph, &cluster, 0).unwrap().instance;
    let devices = std::fs::read_to_string(file("placement").unwrap()).unwrap();
    let device = |name: &str| instance.cluster().device_ids().find(|&id| instance.cluster().device(id).name == name);
    let placement = Placement::new(devices.lines().map(|name| device(name).unwrap()).collect());
    let placed = PlacedGraph::new(&instance, &placement);
    let timeline = simulate(&placed, &Fifo, None, &LogGp).unwrap();
    assert_eq!(timeline.makespan(), 80.75);
}
