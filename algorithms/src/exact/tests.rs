//! Each search alone, and without a first schedule that might hide what it misses, against one that cuts nothing off.

use placebench_datasets::{DeviceId, Instance, OpId, PlacedGraph, Placement, Time, TransferId, TransferOverheads};
use proptest::prelude::*;

use super::assigning::Assigning;
use super::incumbent::Incumbent;
use super::problem::Problem;
use super::search::{Progress, Search};
use super::solve;
use super::state::{State, Step};
use crate::random_instances::{Limits, instances};
use crate::{PlaceError, StopToken, Task};

/// The least makespan of all that can be appended to a state.
fn plain(problem: &Problem, state: &State) -> Time {
    if state.done.count_ones() as usize == problem.ops {
        return state.free.iter().copied().fold(0.0, Time::max);
    }
    let mut least = f64::INFINITY;
    for op in (0..problem.ops).filter(|&op| state.is_ready(problem, op)) {
        for device in (0..problem.devices).filter(|&device| state.allows(problem, op, device)) {
            let mut child = state.clone();
            child.append(problem, Step { op, device });
            least = least.min(plain(problem, &child));
        }
    }
    least
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_search_alone_finds_what_one_without_pruning_finds(
        instance in instances(Limits { ops: 5, devices: 3, edges: 8, memory: true, exact: false })
    ) {
        let problem = Problem::new(&instance).unwrap();
        let root = State::new(&problem);
        let expected = plain(&problem, &root);

        // Bounds add in another order.
        let most = expected * (1.0 + 1e-12);
        let mut whole = Incumbent::default();
        let mut search = Search::new(&problem);
        search.begin(&root, &whole);
        // Interrupted all the time, which must make no difference.
        while search.run(&mut whole, 3) == Progress::Paused {
            prop_assert!(search.bound_left().min(whole.cutoff()) <= most);
        }
        let mut placed = Incumbent::default();
        let mut assigning = Assigning::new(&problem);
        assigning.begin(&placed);
        while assigning.run(&mut placed, 3) == Progress::Paused {
            prop_assert!(assigning.bound_left().min(placed.cutoff()) <= most);
        }
        for (name, incumbent) in [("by starts", whole), ("by placements", placed)] {
            let found = incumbent.best.map_or(f64::INFINITY, |(found, _)| found);
            let same = found == expected || (found - expected).abs() <= 1e-11 * expected;
            prop_assert!(same, "{name}: {found} instead of {expected}");
        }
    }
}

/// All sequences of the tasks of a placed graph, each task as early as it can be after those before it: the least makespan.
struct Sequences<'a> {
    placed: &'a PlacedGraph<'a>,
    /// When each op, send and receive ends, if it is scheduled.
    ends: Vec<(Task, Time)>,
    free: Vec<Time>,
    least: Time,
}

impl Sequences<'_> {
    fn end(&self, task: Task) -> Option<Time> {
        self.ends.iter().find(|(done, _)| *done == task).map(|(_, end)| *end)
    }

    /// When what a transfer moves is there.
    fn arrival(&self, transfer: TransferId) -> Option<Time> {
        if self.placed.has_receive(transfer) {
            return self.end(Task::Receive(transfer));
        }
        Some(self.sent(transfer)? + self.placed.transfer(transfer).time)
    }

    fn sent(&self, transfer: TransferId) -> Option<Time> {
        match self.placed.has_send(transfer) {
            true => self.end(Task::Send(transfer)),
            false => self.end(Task::Op(self.placed.transfer(transfer).source)),
        }
    }

    /// When a task's inputs are there, its device, and its time; `None` if not all of what it needs is scheduled.
    fn ready(&self, task: Task) -> Option<(Time, DeviceId, Time)> {
        let placed = self.placed;
        match task {
            Task::Op(op) => {
                let graph = placed.instance().graph();
                let mut ready = 0.0;
                for &before in graph.predecessor_ops(op) {
                    if placed.device_of(before) == placed.device_of(op) {
                        ready = f64::max(ready, self.end(Task::Op(before))?);
                    }
                }
                for transfer in placed.transfer_ids().filter(|&id| placed.remote_consumers(id).contains(&op)) {
                    ready = f64::max(ready, self.arrival(transfer)?);
                }
                Some((ready, placed.device_of(op), placed.exec_time(op)))
            }
            Task::Send(id) => {
                let transfer = placed.transfer(id);
                Some((self.end(Task::Op(transfer.source))?, transfer.from, placed.send_time(id)))
            }
            Task::Receive(id) => {
                let transfer = placed.transfer(id);
                Some((self.sent(id)? + transfer.time, transfer.to, placed.receive_time(id)))
            }
        }
    }

    fn search(&mut self, left: &mut Vec<Task>) {
        if left.is_empty() {
            self.least = self.least.min(self.free.iter().copied().fold(0.0, Time::max));
            return;
        }
        for at in 0..left.len() {
            let task = left[at];
            let Some((ready, device, time)) = self.ready(task) else { continue };
            let free = self.free[device.index()];
            let end = ready.max(free) + time;
            if end >= self.least {
                continue;
            }
            left.remove(at);
            self.free[device.index()] = end;
            self.ends.push((task, end));
            self.search(left);
            self.ends.pop();
            self.free[device.index()] = free;
            left.insert(at, task);
        }
    }
}

/// The least makespan of all placements and sequences; infinite if there is no placement.
fn plain_with_ends(instance: &Instance) -> Time {
    let (ops, devices) = (instance.graph().op_count(), instance.cluster().device_count());
    let mut least = f64::INFINITY;
    for number in 0..devices.pow(ops as u32) {
        let device = |op: usize| DeviceId::new(number / devices.pow(op as u32) % devices);
        let placement = Placement::new((0..ops).map(device).collect());
        if placement.check(instance).is_err() {
            continue;
        }
        let placed = PlacedGraph::new(instance, &placement);
        let mut tasks: Vec<Task> = (0..ops).map(|op| Task::Op(OpId::new(op))).collect();
        tasks.extend(placed.transfer_ids().filter(|&id| placed.has_send(id)).map(Task::Send));
        tasks.extend(placed.transfer_ids().filter(|&id| placed.has_receive(id)).map(Task::Receive));
        let mut sequences = Sequences { placed: &placed, ends: Vec::new(), free: vec![0.0; devices], least };
        sequences.search(&mut tasks);
        least = sequences.least;
    }
    least
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sends_and_receives_that_take_time_are_in_the_optimum(
        instance in instances(Limits { ops: 4, devices: 3, edges: 4, memory: true, exact: false }),
        (send_ops, send, receive) in (0..2, 0..3, 0..3),
    ) {
        let overheads = |from: DeviceId, to: DeviceId| TransferOverheads {
            send: f64::from(send) * f64::from(from.0 + 1),
            send_per_byte: 0.1 * f64::from(send),
            receive: f64::from(receive) * f64::from(to.0 + 1),
            receive_per_byte: 0.2 * f64::from(receive),
        };
        let cluster = instance.cluster().clone().with_send_ops(f64::from(send_ops)).unwrap();
        let cluster = cluster.with_transfer_overheads(overheads).unwrap();
        let instance = Instance::new(instance.graph().clone(), cluster).unwrap();
        let expected = plain_with_ends(&instance);
        match solve(&instance, 1_000_000, &StopToken::default()) {
            Ok(optimum) => {
                prop_assert!((optimum.makespan - expected).abs() <= 1e-11 * expected, "{} for {expected}", optimum.makespan);
                prop_assert!(optimum.decision.placement.check(&instance).is_ok());
            }
            Err(PlaceError::Infeasible { .. }) => prop_assert_eq!(expected, f64::INFINITY),
            Err(error) => prop_assert!(false, "{error}"),
        }
    }
}
