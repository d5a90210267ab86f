//! The policy of a placement that is fixed before the run: a scheduler decides which task comes next.

use placebench_algorithms::{Policy, SimulationState, Task};
use placebench_datasets::{DeviceId, OpId, PlacedGraph, Time, Transfer, TransferId};

use super::Simulator;
use super::engine::{DevicePolicy, NEVER, Run};
use crate::execute::ExecutionError;
use crate::timeline::Timeline;

/// Devices and transfers as the placed graph has them.
pub(super) struct Fixed<'a> {
    placed: &'a PlacedGraph<'a>,
    scheduler: Box<dyn Policy + 'a>,
}

impl<'a> Fixed<'a> {
    pub(super) fn new(placed: &'a PlacedGraph<'a>, scheduler: Box<dyn Policy + 'a>) -> Self {
        Self { placed, scheduler }
    }

    /// A run of a placed graph in which nothing has happened.
    pub(super) fn run(placed: &'a PlacedGraph<'a>, simulator: &Simulator) -> Run<'a> {
        let Simulator { network, record_choices, draw } = *simulator;
        let cluster = placed.instance().cluster();
        let (sends_cost, receives_cost) = (cluster.sends_cost(), cluster.receives_cost());
        let network = network.start(cluster);
        let has_contention = network.is_some();
        // Without contention and with free sends and receives, all arrivals follow from the costs and the ends of the producers.
        let tracks_arrivals = has_contention || sends_cost || receives_cost || draw.is_some();
        let mut run = Run::new(placed.instance(), network, draw, tracks_arrivals);
        if sends_cost {
            run.total += placed.transfer_ids().filter(|&id| placed.has_send(id)).count();
        }
        if receives_cost {
            run.total += placed.transfer_ids().filter(|&id| placed.has_receive(id)).count();
        }
        let tasks = run.total;
        let transfers_if = |are_recorded| if are_recorded { placed.transfer_count() } else { 0 };
        run.timeline = Timeline {
            sends: vec![None; transfers_if(sends_cost)],
            receives: vec![None; transfers_if(receives_cost)],
            transfers: vec![NEVER; transfers_if(has_contention || receives_cost || draw.is_some())],
            choices: record_choices.then(|| Vec::with_capacity(tasks)),
            ..run.timeline
        };
        run
    }

    /// The end of an op where all transfers start at the end of their producers: when the last producer of a consumer
    /// ends, all arrivals are known. Consumers look back at their producers, rather than producers ahead along their
    /// transfers, because what they read is compact. Nearly all simulations run like this, and most of their time is spent
    /// here.
    fn look_back(&self, run: &mut Run<'_>, op: OpId) {
        for &consumer in self.placed.instance().graph().successor_ops(op) {
            if run.finish_input(consumer) == 0 {
                let arrival = self.last_arrival(run, consumer);
                run.all_known(consumer, arrival);
            }
        }
    }

    /// When the last input of an op arrives, if all its producers have finished and all transfers start at once.
    fn last_arrival(&self, run: &Run<'_>, consumer: OpId) -> Time {
        let (graph, cluster) = (self.placed.instance().graph(), self.placed.instance().cluster());
        let to = self.placed.device_of(consumer);
        let arrivals = graph.predecessors(consumer).map(|edge| {
            let (from, finish) = (self.placed.device_of(edge.op), run.timeline.op_finish[edge.op.index()]);
            if from == to { finish } else { finish + cluster.transfer_time(graph.edge_bytes(edge), from, to) }
        });
        arrivals.fold(0.0, Time::max)
    }
}

impl DevicePolicy for Fixed<'_> {
    fn begin(&mut self, run: &mut Run<'_>) {
        let graph = self.placed.instance().graph();
        run.ready.extend(graph.op_ids().filter(|&op| graph.in_degree(op) == 0).map(Task::Op));
    }

    fn op_finished(&mut self, run: &mut Run<'_>, op: OpId) {
        if !run.tracks_arrivals() {
            self.look_back(run, op);
            return;
        }
        let (placed, now) = (self.placed, run.now);
        for &consumer in placed.local_consumers(op) {
            run.finish_input(consumer);
            run.deliver(consumer, now);
        }
        for transfer in placed.transfers_of(op) {
            for &consumer in placed.remote_consumers(transfer) {
                run.finish_input(consumer);
            }
            if run.timeline.sends.is_empty() || !placed.has_send(transfer) {
                run.transfer_ready(self, transfer);
            } else {
                run.ready.push(Task::Send(transfer));
            }
        }
    }

    fn give(&mut self, _: &mut Run<'_>) -> Result<bool, ExecutionError> {
        Ok(false)
    }

    #[inline]
    fn device_of(&self, op: OpId) -> DeviceId {
        self.placed.device_of(op)
    }

    #[inline]
    fn transfer(&self, id: TransferId) -> Option<&Transfer> {
        self.placed.transfers().get(id.index())
    }

    fn transfer_started(&mut self, _: TransferId, _: Time) {}

    fn transfer_arrives(&mut self, run: &mut Run<'_>, id: TransferId, time: Time) {
        for &consumer in self.placed.remote_consumers(id) {
            run.deliver(consumer, time);
        }
    }

    fn ready(&mut self, device: DeviceId, task: Task, state: &SimulationState<'_>) {
        self.scheduler.ready(device, task, state);
    }

    fn next(&mut self, device: DeviceId, state: &SimulationState<'_>) -> Option<Task> {
        self.scheduler.next(device, state)
    }
}
