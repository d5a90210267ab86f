//! A small simulator without contention: slow, and written for these tests alone.

use placebench_algorithms::{Plan, Policy, Scheduler, SimulationState, Task, registry};
use placebench_datasets::{DeviceId, OpId, PlacedGraph, Time, TransferId};

/// What happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Start, device and task, in the order in which tasks started.
    pub started: Vec<(Time, DeviceId, Task)>,
    pub makespan: Time,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    End(DeviceId, Task),
    Arrival(TransferId),
}

struct Simulation<'a> {
    placed: &'a PlacedGraph<'a>,
    now: Time,
    events: Vec<(Time, Event)>,
    unfinished_inputs: Vec<u32>,
    /// Edges whose tensor is not on the consumer's device yet.
    absent_inputs: Vec<usize>,
    busy: Vec<bool>,
    ready: Vec<Task>,
}

impl Simulation<'_> {
    fn arrive(&mut self, consumers: &[OpId]) {
        for &op in consumers {
            self.absent_inputs[op.index()] -= 1;
            if self.absent_inputs[op.index()] == 0 {
                self.ready.push(Task::Op(op));
            }
        }
    }

    fn handle(&mut self, event: Event) {
        let placed = self.placed;
        let transfer = |id: TransferId| (self.now + placed.transfer(id).time, Event::Arrival(id));
        match event {
            Event::Arrival(id) if placed.has_receive(id) => self.ready.push(Task::Receive(id)),
            Event::Arrival(id) => self.arrive(placed.remote_consumers(id)),
            Event::End(device, task) => {
                self.busy[device.index()] = false;
                match task {
                    Task::Send(id) => self.events.push(transfer(id)),
                    Task::Receive(id) => self.arrive(placed.remote_consumers(id)),
                    Task::Op(op) => {
                        for id in placed.transfers_of(op) {
                            match placed.has_send(id) {
                                true => self.ready.push(Task::Send(id)),
                                false => self.events.push(transfer(id)),
                            }
                        }
                        for &successor in placed.instance().graph().successor_ops(op) {
                            self.unfinished_inputs[successor.index()] -= 1;
                        }
                        self.arrive(placed.local_consumers(op));
                    }
                }
            }
        }
    }

    fn device(&self, task: Task) -> DeviceId {
        match task {
            Task::Op(op) => self.placed.device_of(op),
            Task::Send(id) => self.placed.transfer(id).from,
            Task::Receive(id) => self.placed.transfer(id).to,
        }
    }

    fn duration(&self, task: Task) -> Time {
        match task {
            Task::Op(op) => self.placed.exec_time(op),
            Task::Send(id) => self.placed.send_time(id),
            Task::Receive(id) => self.placed.receive_time(id),
        }
    }
}

/// Runs a placed graph under the scheduler of that name.
pub fn simulate(placed: &PlacedGraph<'_>, scheduler: &str, plan: Option<&Plan>) -> Run {
    simulate_with(placed, &*registry::scheduler(&scheduler.parse().unwrap()).unwrap(), plan)
}

/// Runs a placed graph under a scheduler; every task must run.
pub fn simulate_with(placed: &PlacedGraph<'_>, scheduler: &dyn Scheduler, plan: Option<&Plan>) -> Run {
    let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
    let mut policy: Box<dyn Policy + '_> = scheduler.start(placed, plan).unwrap();
    let mut simulation = Simulation {
        placed,
        now: 0.0,
        events: Vec::new(),
        unfinished_inputs: graph.op_ids().map(|op| graph.in_degree(op) as u32).collect(),
        absent_inputs: graph.op_ids().map(|op| graph.in_degree(op)).collect(),
        busy: vec![false; cluster.device_count()],
        ready: graph.op_ids().filter(|&op| graph.in_degree(op) == 0).map(Task::Op).collect(),
    };
    let mut run = Run { started: Vec::new(), makespan: 0.0 };
    loop {
        // All that happens at this instant, then all announcements, then one decision for each idle device.
        while let Some(position) = simulation.events.iter().position(|&(time, _)| time == simulation.now) {
            let (_, event) = simulation.events.swap_remove(position);
            simulation.handle(event);
        }
        let mut ready = std::mem::take(&mut simulation.ready);
        ready.sort_unstable();
        let now = simulation.now;
        for task in ready {
            let state =
                SimulationState { now, unfinished_inputs: &simulation.unfinished_inputs, busy: &simulation.busy };
            policy.ready(simulation.device(task), task, &state);
        }
        for device in cluster.device_ids() {
            if simulation.busy[device.index()] {
                continue;
            }
            let state =
                SimulationState { now, unfinished_inputs: &simulation.unfinished_inputs, busy: &simulation.busy };
            if let Some(task) = policy.next(device, &state) {
                assert_eq!(simulation.device(task), device);
                simulation.busy[device.index()] = true;
                run.started.push((now, device, task));
                let end = now + simulation.duration(task);
                run.makespan = run.makespan.max(end);
                simulation.events.push((end, Event::End(device, task)));
            }
        }
        match simulation.events.iter().map(|&(time, _)| time).reduce(f64::min) {
            Some(next) => simulation.now = next,
            None => break,
        }
    }
    let ops = run.started.iter().filter(|(_, _, task)| matches!(task, Task::Op(_))).count();
    assert_eq!(ops, graph.op_count(), "every op runs");
    run
}
