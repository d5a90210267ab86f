//! The schedulers on worked examples, MSR against its formula evaluated anew at each decision, and plans executed as planned.

use placebench_algorithms::ranks::path_computation_times;
use placebench_algorithms::{PlaceContext, Plan, Policy, Scheduler, SchedulerError, SimulationState, Task, registry};
use placebench_datasets::{
    Cluster, DeviceId, GraphBuilder, Instance, Kind, Link, OpId, OpSpec, PlacedGraph, Placement, Time, TransferId,
    TransferOverheads,
};
use placebench_harness::execute::simulate::{ContentionFree, simulate};
use placebench_harness::timeline::Timeline;
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::random::{PLAIN, Shape, instance, shapes};

fn scheduler(name: &str) -> Box<dyn Scheduler> {
    registry::scheduler(&name.parse().unwrap()).unwrap()
}

fn run(placed: &PlacedGraph<'_>, scheduler: &dyn Scheduler, plan: Option<&Plan>) -> Timeline {
    simulate(placed, scheduler, plan, &ContentionFree).unwrap()
}

fn makespan(placed: &PlacedGraph<'_>, name: &str) -> Time {
    run(placed, &*scheduler(name), None).makespan()
}

/// The placers that make a plan. That of the exact solver is executed in `tests/optimum.rs`.
fn planners() -> Vec<String> {
    let makes_plan = |name: &String| registry::placer(&name.parse().unwrap()).unwrap().makes_plan();
    registry::placer_names().into_iter().filter(|name| name != "optimal" && makes_plan(name)).collect()
}

fn placement(devices: &[u32]) -> Placement {
    Placement::new(devices.iter().copied().map(DeviceId).collect())
}

/// d0 sends one output to d1 (path behind: transfer 1, op 1) and to d2 (transfer 1, op 9). Sends take 2.
fn two_sends() -> Instance {
    let mut builder = GraphBuilder::default();
    for ops in [10.0, 10.0, 90.0] {
        builder.add_op(OpSpec::cost(ops), &[10]);
    }
    builder.add_edge(OpId(0), 0, OpId(1)).unwrap();
    builder.add_edge(OpId(0), 0, OpId(2)).unwrap();
    let cluster = Cluster::uniform(3, Kind::Cpu, 10.0, Link { rate: 10.0, latency: 0.0 }).unwrap();
    Instance::new(builder.build().unwrap(), cluster.with_send_ops(20.0).unwrap()).unwrap()
}

#[test]
fn a_plan_that_has_sends_is_executed_as_planned_and_one_that_has_them_wrong_is_refused() {
    let (instance, placement) = (two_sends(), placement(&[0, 1, 2]));
    let placed = PlacedGraph::new(&instance, &placement);
    let (op, send) = (|op| Task::Op(OpId(op)), |transfer| Task::Send(TransferId(transfer)));
    let plan = |tasks: &[Task]| Plan { tasks: tasks.to_vec(), makespan: 0.0 };
    let takes = |tasks: &[Task]| run(&placed, &*scheduler("static"), Some(&plan(tasks))).makespan();
    assert_eq!(takes(&[op(0), send(0), send(1), op(1), op(2)]), 15.0);
    assert_eq!(takes(&[op(0), send(1), send(0), op(1), op(2)]), 13.0);
    // What the plan leaves out comes as soon as the device is idle.
    assert_eq!(takes(&[op(0), send(1), op(1), op(2)]), takes(&[op(0), op(1), op(2)]));
    let message = |tasks: &[Task]| {
        let plan = plan(tasks);
        let error = scheduler("static").start(&placed, Some(&plan)).err().unwrap().to_string();
        error.trim_start_matches("the scheduler 'static' cannot execute the placer's plan: ").to_owned()
    };
    let needs = "is listed before the op whose output it moves";
    assert_eq!(message(&[send(0), op(0), op(1), op(2)]), format!("the send of transfer 0 {needs}"));
    let late = "is listed after what waits for it";
    assert_eq!(message(&[op(0), op(1), send(0), op(2)]), format!("the send of transfer 0 {late}"));
    assert_eq!(message(&[op(0), send(0), send(0), op(1), op(2)]), "the send of transfer 0 is listed twice");
    let absent = "is not in the placed graph";
    assert_eq!(message(&[op(0), send(2), op(1), op(2)]), format!("the send of transfer 2 {absent}"));
    let receive = Task::Receive(TransferId(0));
    assert_eq!(message(&[op(0), receive, op(1), op(2)]), format!("the receive of transfer 0 {absent}"));
}

#[test]
fn pct_sends_first_what_the_longer_path_waits_for() {
    let (instance, placement) = (two_sends(), placement(&[0, 1, 2]));
    let placed = PlacedGraph::new(&instance, &placement);
    // PCT: op 1, send to d2 from 1 to 3, arrives at 4, ends at 13; FIFO sends to d1 first and ends at 15.
    assert_eq!(makespan(&placed, "pct"), 13.0);
    assert_eq!(makespan(&placed, "fifo"), 15.0);
}

/// In the spirit of L Figure 5.1, whose picture is lost: speeds 50, rate 10.
///
/// On d0: a (100 operations, 2 units) followed by c (2 units), and b (1 unit), whose output of size 10 goes to d1, where six
/// ops of 1 unit each wait for it alone.
fn wakes_a_device() -> (Instance, Placement) {
    let mut builder = GraphBuilder::default();
    let a = builder.add_op(OpSpec::cost(100.0), &[10]);
    let b = builder.add_op(OpSpec::cost(50.0), &[10]);
    let c = builder.add_op(OpSpec::cost(100.0), &[]);
    builder.add_edge(a, 0, c).unwrap();
    for _ in 0..6 {
        let waiting = builder.add_op(OpSpec::cost(50.0), &[]);
        builder.add_edge(b, 0, waiting).unwrap();
    }
    let cluster = Cluster::uniform(2, Kind::Cpu, 50.0, Link { rate: 10.0, latency: 0.0 }).unwrap();
    let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
    (instance, placement(&[0, 0, 0, 1, 1, 1, 1, 1, 1]))
}

#[test]
fn msr_wakes_an_idle_device_where_pct_follows_the_longest_path() {
    // PCT(a) = 2 + 2 = 4, PCT(b) = 1 + 1 + 1 = 3, PCT(c) = 2: a 0–2, b 2–3, c 3–5 on d0; d1 works from 4 to 10.
    // MSR: a has one successor, which becomes executable: 2 points. b has six, on another device, which become
    // executable and wake it: 6 · (1 + 1 + 1 + 5) = 48. So b 0–1, a 1–3, c 3–5; d1 works from 2 to 8.
    let (instance, placement) = wakes_a_device();
    let placed = PlacedGraph::new(&instance, &placement);
    assert_eq!(makespan(&placed, "pct"), 10.0);
    assert_eq!(makespan(&placed, "msr"), 8.0);
}

#[test]
fn static_refuses_to_run_without_a_plan_or_with_one_that_is_no_order_of_the_ops() {
    let (instance, placement) = wakes_a_device();
    let placed = PlacedGraph::new(&instance, &placement);
    let scheduler = scheduler("static");
    assert!(scheduler.needs_plan());
    assert_eq!(scheduler.start(&placed, None).err(), Some(SchedulerError::NoPlan));
    let message = |order: &[u32]| {
        let plan = Plan::of_ops(order.iter().copied().map(OpId), 14.0);
        scheduler.start(&placed, Some(&plan)).err().map(|error| error.to_string())
    };
    let prefix = "the scheduler 'static' cannot execute the placer's plan: ";
    assert_eq!(message(&[0, 1, 2, 3, 4, 5, 6, 7, 8]), None);
    assert_eq!(message(&[0, 1, 2, 3, 4, 5, 6, 7]).unwrap(), format!("{prefix}op 8 is not listed"));
    assert_eq!(message(&[0, 1, 2, 2, 3, 4, 5, 6, 7]).unwrap(), format!("{prefix}op 2 is listed twice"));
    assert_eq!(
        message(&[2, 0, 1, 3, 4, 5, 6, 7, 8]).unwrap(),
        format!("{prefix}op 2 is listed before one of its inputs")
    );
    assert_eq!(message(&[0, 1, 2, 3, 4, 5, 6, 7, 9]).unwrap(), format!("{prefix}op 9 is not in the graph"));
}

/// L Eq. 5.2 as it stands, evaluated for every ready task at every decision.
struct SlowMsr;

struct SlowRanks<'a> {
    placed: &'a PlacedGraph<'a>,
    path: Vec<f64>,
    ready: Vec<Vec<Task>>,
    running: Vec<Option<Task>>,
    executed: Vec<Task>,
}

impl Scheduler for SlowMsr {
    fn start<'a>(
        &self,
        placed: &'a PlacedGraph<'a>,
        _: Option<&'a Plan>,
    ) -> Result<Box<dyn Policy + 'a>, SchedulerError> {
        let devices = placed.instance().cluster().device_count();
        Ok(Box::new(SlowRanks {
            placed,
            path: path_computation_times(placed),
            ready: vec![Vec::new(); devices],
            running: vec![None; devices],
            executed: Vec::new(),
        }))
    }
}

impl SlowRanks<'_> {
    /// The tasks that an op still waits for, each once.
    fn missing(&self, op: OpId) -> Vec<Task> {
        let placed = self.placed;
        let mut tasks = Vec::new();
        for &before in placed.instance().graph().predecessor_ops(op) {
            let transfers = placed.transfers_of(before).filter(|&id| placed.remote_consumers(id).contains(&op));
            let last = |id| match (placed.has_send(id), placed.has_receive(id)) {
                (_, true) => Some(Task::Receive(id)),
                (true, false) => Some(Task::Send(id)),
                (false, false) => None,
            };
            let awaited: Vec<Task> = transfers.filter_map(last).collect();
            match awaited.is_empty() {
                true => tasks.push(Task::Op(before)),
                false => tasks.extend(awaited),
            }
        }
        tasks.sort();
        tasks.dedup();
        tasks.retain(|task| !self.executed.contains(task));
        tasks
    }

    fn rank(&self, task: Task, device: DeviceId, busy: &[bool]) -> u64 {
        let mut successors: Vec<OpId> = match task {
            Task::Op(op) => self.placed.instance().graph().successor_ops(op).to_vec(),
            Task::Send(id) | Task::Receive(id) => self.placed.remote_consumers(id).to_vec(),
        };
        successors.sort();
        successors.dedup();
        let points = |&successor: &OpId| {
            let target = self.placed.device_of(successor);
            let is_last = match self.missing(successor)[..] {
                [Task::Op(op)] => task == Task::Op(op),
                [Task::Send(id)] => [Task::Send(id), Task::Op(self.placed.transfer(id).source)].contains(&task),
                [last @ Task::Receive(id)] => {
                    [last, Task::Send(id), Task::Op(self.placed.transfer(id).source)].contains(&task)
                }
                _ => false,
            };
            let wakes = is_last && target != device && !busy[target.index()];
            1 + u64::from(target != device) + u64::from(is_last) + 5 * u64::from(wakes)
        };
        successors.iter().map(points).sum()
    }

    fn path(&self, task: Task) -> f64 {
        match task {
            Task::Op(op) => self.path[op.index()],
            Task::Send(id) | Task::Receive(id) => {
                let behind = self.placed.remote_consumers(id).iter().map(|op| self.path[op.index()]);
                let received = self.placed.receive_time(id) + behind.fold(0.0, f64::max);
                match task {
                    Task::Send(_) => self.placed.send_time(id) + self.placed.transfer(id).time + received,
                    _ => received,
                }
            }
        }
    }
}

impl Policy for SlowRanks<'_> {
    fn ready(&mut self, device: DeviceId, task: Task, _: &SimulationState<'_>) {
        self.ready[device.index()].push(task);
    }

    fn next(&mut self, device: DeviceId, state: &SimulationState<'_>) -> Option<Task> {
        for (running, _) in self.running.iter_mut().zip(state.busy).filter(|(_, busy)| !**busy) {
            self.executed.extend(running.take());
        }
        let graph = self.placed.instance().graph();
        for op in graph.op_ids() {
            let unfinished = graph.predecessor_ops(op).iter().filter(|op| !self.executed.contains(&Task::Op(**op)));
            assert_eq!(unfinished.count(), state.unfinished_inputs[op.index()] as usize);
        }
        let key = |task| (self.rank(task, device, state.busy), self.path(task));
        let better = |a: &Task, b: &Task| key(*a).partial_cmp(&key(*b)).unwrap().then(b.cmp(a));
        let best = self.ready[device.index()].iter().copied().max_by(better)?;
        self.ready[device.index()].retain(|&task| task != best);
        self.running[device.index()] = Some(best);
        Some(best)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn msr_decides_as_its_formula_evaluated_anew_at_each_decision(shape in shapes()) {
        let (instance, placement) = instance(Shape { ops: shape.ops.min(20), ..shape }, PLAIN);
        let placed = PlacedGraph::new(&instance, &placement);
        let msr = run(&placed, &*scheduler("msr"), None);
        prop_assert_eq!(msr.records(&placed), run(&placed, &SlowMsr, None).records(&placed));
    }

    #[test]
    fn plans_are_executed_as_planned(shape in shapes(), name in select(planners())) {
        // No placer plans for sends and receives that take time.
        let (instance, _) = instance(Shape { send_ops: 0.0, ..shape }, PLAIN);
        let cluster = instance.cluster().clone().with_transfer_overheads(|_, _| TransferOverheads::NONE).unwrap();
        let instance = Instance::new(instance.graph().clone(), cluster).unwrap();
        let placer = registry::placer(&name.parse().unwrap()).unwrap();
        if let Ok(decision) = placer.place(&instance, &PlaceContext::default()) {
            let (placed, plan) = (PlacedGraph::new(&instance, &decision.placement), decision.plan.unwrap());
            prop_assert_eq!(run(&placed, &*scheduler("static"), Some(&plan)).makespan(), plan.makespan);
        }
    }
}
