//! Replays an order: what each device executes, one task after the other.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use placebench_algorithms::{Plan, Policy, Scheduler, SchedulerError, SimulationState, StopToken, Task};
use placebench_datasets::{DeviceId, PlacedGraph};

use super::simulate::{NetworkModel, Simulator};
use super::{ExecutionError, Executor, Order};
use crate::timeline::{Interval, Timeline};

/// The tasks of each device, in the order of a timeline: by start, then by end, then topologically. No device waits for
/// ever when all devices follow it, since a task never comes before one that it needs.
///
/// # Complexity
/// O(tasks log tasks).
pub fn order_of(placed: &PlacedGraph<'_>, timeline: &Timeline) -> Vec<Vec<Task>> {
    let graph = placed.instance().graph();
    let positions = graph.topological_positions();
    let mut tasks: Vec<Vec<(Interval, u32, Task)>> = vec![Vec::new(); placed.instance().cluster().device_count()];
    for op in graph.op_ids() {
        tasks[placed.device_of(op).index()].push((timeline.op(op), positions[op.index()], Task::Op(op)));
    }
    for (id, at) in timeline.sends() {
        let transfer = placed.transfer(id);
        tasks[transfer.from.index()].push((at, positions[transfer.source.index()], Task::Send(id)));
    }
    for (id, at) in timeline.receives() {
        let transfer = placed.transfer(id);
        tasks[transfer.to.index()].push((at, positions[transfer.source.index()], Task::Receive(id)));
    }
    let sorted = |mut tasks: Vec<(Interval, u32, Task)>| {
        tasks.sort_by(|(a, a_position, a_task), (b, b_position, b_task)| {
            let by_time = a.start.total_cmp(&b.start).then(a.end.total_cmp(&b.end));
            by_time.then(a_position.cmp(b_position)).then(a_task.cmp(b_task))
        });
        tasks.into_iter().map(|(_, _, task)| task).collect()
    };
    tasks.into_iter().map(sorted).collect()
}

/// What a measured run repeats: the order of a simulation of the same placement.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// The tasks of each device in their order.
    pub tasks: Vec<Vec<Task>>,
    /// The simulation.
    pub timeline: Timeline,
}

impl Simulated {
    /// Simulates a placed graph under a network model.
    ///
    /// # Errors
    /// As the simulator.
    pub fn new(
        network: &'static dyn NetworkModel,
        placed: &PlacedGraph<'_>,
        order: Order<'_>,
        stop: &StopToken,
    ) -> Result<Self, ExecutionError> {
        let timeline = Simulator::new(network).execute(placed, order, stop)?;
        Ok(Self { tasks: order_of(placed, &timeline), timeline })
    }
}

/// A scheduler that follows a given order: an idle device waits until its next task is executable. A send that the order
/// leaves out comes first as soon as it is executable, and such a receive right before the first op that needs it: drivers
/// of frameworks work like that, and do not measure sends and receives as tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// For each device its tasks, such as [`order_of`] gives them.
    pub order: Vec<Vec<Task>>,
}

impl Replay {
    /// The order of the ops alone, as a timeline has them.
    pub fn of_ops(placed: &PlacedGraph<'_>, timeline: &Timeline) -> Self {
        let mut order = order_of(placed, timeline);
        order.iter_mut().for_each(|tasks| tasks.retain(|task| matches!(task, Task::Op(_))));
        Self { order }
    }
}

impl Scheduler for Replay {
    fn start<'a>(
        &self,
        placed: &'a PlacedGraph<'a>,
        _: Option<&'a Plan>,
    ) -> Result<Box<dyn Policy + 'a>, SchedulerError> {
        let (ops, transfers) = (placed.instance().graph().op_count(), placed.transfer_count());
        let mut following = Following {
            next: self.order.iter().map(|tasks| tasks.clone().into_iter().peekable()).collect(),
            sends: vec![VecDeque::new(); self.order.len()],
            receives: vec![BinaryHeap::new(); self.order.len()],
            done: vec![0; self.order.len()],
            position: vec![None; ops + 2 * transfers],
            is_ready: vec![false; ops + 2 * transfers],
            placed,
        };
        for tasks in &self.order {
            for (position, &task) in tasks.iter().enumerate() {
                let index = following.index(task);
                following.position[index] = Some(position);
            }
        }
        Ok(Box::new(following))
    }
}

struct Following<'a> {
    next: Vec<std::iter::Peekable<std::vec::IntoIter<Task>>>,
    /// Executable sends that the order leaves out.
    sends: Vec<VecDeque<Task>>,
    /// Such receives, with the position in the order of the first op that needs them.
    receives: Vec<BinaryHeap<Reverse<(usize, Task)>>>,
    /// How many tasks of its order a device has begun.
    done: Vec<usize>,
    /// Where a task stands in its device's order, if it does. By [`Following::index`].
    position: Vec<Option<usize>>,
    is_ready: Vec<bool>,
    placed: &'a PlacedGraph<'a>,
}

impl Following<'_> {
    /// Ops, then sends, then receives.
    fn index(&self, task: Task) -> usize {
        let ops = self.placed.instance().graph().op_count();
        match task {
            Task::Op(op) => op.index(),
            Task::Send(transfer) => ops + transfer.index(),
            Task::Receive(transfer) => ops + self.placed.transfer_count() + transfer.index(),
        }
    }
}

impl Policy for Following<'_> {
    fn ready(&mut self, device: DeviceId, task: Task, _: &SimulationState<'_>) {
        let index = self.index(task);
        self.is_ready[index] = true;
        match task {
            _ if self.position[index].is_some() => {}
            Task::Receive(transfer) => {
                let consumers = self.placed.remote_consumers(transfer).iter();
                let needed = consumers.filter_map(|op| self.position[op.index()]).min().unwrap_or_default();
                self.receives[device.index()].push(Reverse((needed, task)));
            }
            Task::Op(_) | Task::Send(_) => self.sends[device.index()].push_back(task),
        }
    }

    fn next(&mut self, device: DeviceId, _: &SimulationState<'_>) -> Option<Task> {
        let at = device.index();
        if let Some(task) = self.sends[at].pop_front() {
            return Some(task);
        }
        if self.receives[at].peek().is_some_and(|Reverse((needed, _))| *needed <= self.done[at]) {
            return self.receives[at].pop().map(|Reverse((_, task))| task);
        }
        let task = *self.next[at].peek()?;
        if !self.is_ready[self.index(task)] {
            return None;
        }
        self.done[at] += 1;
        self.next[at].next()
    }
}

#[cfg(test)]
mod tests {
    use placebench_algorithms::schedulers::{Fifo, Pct};
    use placebench_datasets::{
        Cluster, Device, GraphBuilder, Instance, Kind, Link, OpSpec, Placement, TransferOverheads,
    };

    use super::*;
    use crate::execute::simulate::{ContentionFree, NETWORK_MODELS, simulate};
    use crate::problem::{ClusterEntry, GraphEntry, Problem};

    /// `early` sends to `late`. On the device of `late`, `first` and `second` come before it: a receive between them would delay
    /// `second`.
    #[test]
    fn what_the_order_leaves_out_is_sent_at_once_and_received_when_it_is_needed() {
        let mut graph = GraphBuilder::default();
        let [early, busy, first, second, late] =
            [1.0, 5.0, 2.0, 2.0, 1.0].map(|cost| graph.add_op(OpSpec::cost(cost), &[8]));
        graph.add_edge(early, 0, late).unwrap();
        let device = |id: usize| Device { name: format!("d{id}"), kind: Kind::Cpu, memory_bytes: None, speed: 1.0 };
        let overheads = TransferOverheads { send: 0.5, receive: 0.25, ..TransferOverheads::NONE };
        let cluster = Cluster::new(vec![device(0), device(1)], |_, _| Link { rate: 32.0, latency: 0.0 }).unwrap();
        let cluster = cluster.with_transfer_overheads(|_, _| overheads).unwrap();
        let instance = Instance::new(graph.build().unwrap(), cluster).unwrap();
        let placement = Placement::new([0, 0, 1, 1, 1].map(DeviceId::new).to_vec());
        let placed = PlacedGraph::new(&instance, &placement);
        let order = [vec![early, busy], vec![first, second, late]];
        let replay = Replay { order: order.map(|ops| ops.into_iter().map(Task::Op).collect()).to_vec() };
        let order = Order { scheduler: &replay, plan: None };
        let timeline = Simulator::new(&ContentionFree).execute(&placed, order, &StopToken::default()).unwrap();
        let starts = [early, busy, first, second, late].map(|op| timeline.op(op).start);
        assert_eq!(starts, [0.0, 1.5, 0.0, 2.0, 4.25]);
        assert_eq!(timeline.receives().map(|(_, at)| (at.start, at.end)).collect::<Vec<_>>(), [(4.0, 4.25)]);
    }

    #[test]
    fn a_replayed_timeline_is_the_one_that_gave_the_order_and_near_it_where_transfers_wait() {
        let graph = GraphEntry::named("convnet").unwrap();
        for (send_ops, receive) in [(0.0, 0.0), (1000.0, 0.0), (0.0, 1e-6), (1000.0, 1e-6)] {
            let cluster = ClusterEntry { send_ops: Some(send_ops), ..ClusterEntry::named("gtx1080x4").unwrap() };
            let instance = Problem::new(&graph, &cluster, 0).unwrap().instance;
            let overheads = TransferOverheads { receive, ..TransferOverheads::NONE };
            let cluster = instance.cluster().clone().with_transfer_overheads(|_, _| overheads).unwrap();
            let instance = Instance::new(instance.graph().clone(), cluster).unwrap();
            let devices = instance.cluster().device_count();
            let placement =
                Placement::new(instance.graph().op_ids().map(|op| DeviceId::new(op.index() % devices)).collect());
            let placed = PlacedGraph::new(&instance, &placement);
            for network in NETWORK_MODELS {
                for scheduler in [&Fifo as &dyn Scheduler, &Pct] {
                    let simulated = simulate(&placed, scheduler, None, network).unwrap();
                    let replay = Replay { order: order_of(&placed, &simulated) };
                    let order = Order { scheduler: &replay, plan: None };
                    let replayed = Simulator::new(network).execute(&placed, order, &StopToken::default()).unwrap();
                    // Sends and receives that nobody measured are left out of the order.
                    let ops_alone = |tasks: &Vec<Task>| -> Vec<Task> {
                        tasks.iter().copied().filter(|task| matches!(task, Task::Op(_))).collect()
                    };
                    let replay = Replay { order: replay.order.iter().map(ops_alone).collect() };
                    let order = Order { scheduler: &replay, plan: None };
                    let without = Simulator::new(network).execute(&placed, order, &StopToken::default()).unwrap();
                    assert!((0.5..2.0).contains(&(without.makespan() / simulated.makespan())), "{network}");
                    // Tasks that take no time have no order among themselves in a timeline. Where transfers wait for
                    // each other, that can change who waits.
                    if network.name() != ContentionFree.name() {
                        let ratio = replayed.makespan() / simulated.makespan();
                        assert!((0.99..1.01).contains(&ratio), "{network}: {ratio}");
                        continue;
                    }
                    assert_eq!(replayed.makespan(), simulated.makespan(), "{network}");
                    assert!(instance.graph().op_ids().all(|op| replayed.op(op) == simulated.op(op)));
                }
            }
        }
    }
}
