//! What to issue to the streams of the GPUs so that a placed graph runs in a given order. Nothing here calls CUDA.

use placebench_algorithms::Task;
use placebench_datasets::{DeviceId, OpId, PlacedGraph, TransferId};
use placebench_harness::timeline::Timeline;

use crate::CudaError;

/// What takes time: on a device, or between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// An op or a send op, on its device.
    Task(Task),
    /// The bytes of a transfer, from one device to another.
    Transfer(TransferId),
}

/// What a stream is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Ops and send ops of a device.
    Compute(DeviceId),
    /// Transfers from one device to another. They have a stream of their own, so that a transfer overlaps with ops.
    Copy {
        /// Sender; the stream lives on its GPU.
        from: DeviceId,
        /// Receiver.
        to: DeviceId,
    },
}

impl Stream {
    /// The device on whose GPU the stream lives, and whose clock times it.
    pub fn device(self) -> DeviceId {
        match self {
            Self::Compute(device) => device,
            Self::Copy { from, .. } => from,
        }
    }
}

/// What is issued to a stream. A stream executes its commands one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Execute a task, or move the bytes of a transfer.
    Run(Activity),
    /// Record an event: it happens when all earlier commands of the stream have ended. Each event is recorded once.
    Record(u32),
    /// Do not go on before an event has happened. It was recorded by an earlier command: CUDA ignores a wait for an event
    /// that nobody has recorded yet.
    Wait(u32),
}

/// A command for one stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Index into [`CommandPlan::streams`].
    pub stream: usize,
    /// What to do.
    pub action: Action,
}

/// Commands for all streams, in the order in which the host issues them.
///
/// The order is a linear extension of the graph, and what a command waits for was issued before it. So the host never has
/// to wait for a device, and streams that share a hardware queue, or a host that has to wait for room in one, cannot come
/// to a standstill.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandPlan {
    /// The streams: the compute stream of each device in the order of their ids, then copy streams in order of first use.
    pub streams: Vec<Stream>,
    /// The commands.
    pub commands: Vec<Command>,
    /// How many events there are: `0..events`.
    pub events: u32,
}

/// The ops and send ops of a run in the order in which they started: what a measured run repeats.
///
/// # Ties
/// What ends first comes first, then the order of the graph, ops before the sends of their outputs.
///
/// # Complexity
/// O(T log T) for T ops and send ops.
pub fn order_of(placed: &PlacedGraph<'_>, timeline: &Timeline) -> Vec<Task> {
    let positions = placed.instance().graph().topological_positions();
    let ops = placed.instance().graph().op_ids().map(|op| {
        let at = timeline.op(op);
        (at.start, at.end, positions[op.index()], 0, Task::Op(op))
    });
    let sends = timeline.sends().map(|(id, at)| {
        let source = placed.transfer(id).source;
        (at.start, at.end, positions[source.index()], 1 + id.0, Task::Send(id))
    });
    let mut keyed: Vec<_> = ops.chain(sends).collect();
    keyed
        .sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)).then(a.3.cmp(&b.3)));
    keyed.into_iter().map(|(.., task)| task).collect()
}

/// The transfers that each op needs before it starts, once each, ascending.
///
/// # Complexity
/// O(ops + edges).
pub fn arrivals(placed: &PlacedGraph<'_>) -> Vec<Vec<TransferId>> {
    let mut arrivals = vec![Vec::new(); placed.instance().graph().op_count()];
    for id in placed.transfer_ids() {
        for consumer in placed.remote_consumers(id) {
            let needed: &mut Vec<TransferId> = &mut arrivals[consumer.index()];
            if needed.last() != Some(&id) {
                needed.push(id);
            }
        }
    }
    arrivals
}

impl CommandPlan {
    /// Plans a run. `order` has each op once, and each send op once where sends cost something, an op after its
    /// predecessors and a send after its op.
    ///
    /// Transfers are issued right behind what produces them: between two devices, they follow each other in that order.
    /// Before an op, its device waits for the last of its transfers from each other device only, since they arrive in order,
    /// and not for those that an earlier op there has waited for.
    ///
    /// # Errors
    /// [`CudaError::Order`] if the order is not such an order.
    ///
    /// # Complexity
    /// O(ops + edges + devices²).
    pub fn new(placed: &PlacedGraph<'_>, order: &[Task]) -> Result<Self, CudaError> {
        if placed.transfer_ids().any(|id| placed.has_receive(id)) {
            let reason = "the cluster's receives take time, which this executor does not emulate".to_owned();
            return Err(CudaError::Order(reason));
        }
        let mut planner = Planner::new(placed);
        for &task in order {
            match task {
                Task::Op(op) => {
                    planner.op(op)?;
                    let at_once: Vec<TransferId> = placed.transfers_of(op).filter(|&id| !placed.has_send(id)).collect();
                    planner.transfers(placed.device_of(op), at_once.into_iter());
                }
                Task::Send(id) if placed.has_send(id) => {
                    planner.send(id)?;
                    planner.transfers(placed.transfer(id).from, std::iter::once(id));
                }
                Task::Send(id) | Task::Receive(id) => {
                    let source = planner.label(placed.transfer(id).source);
                    let reason = format!("a send or receive of {source} stands in it, but takes no time");
                    return Err(CudaError::Order(reason));
                }
            }
        }
        planner.finish()
    }
}

struct Planner<'a> {
    placed: &'a PlacedGraph<'a>,
    arrivals: Vec<Vec<TransferId>>,
    /// Whether each op, and each send op, was issued.
    issued: Vec<bool>,
    sent: Vec<bool>,
    /// The copy stream of each pair of devices, row by row.
    copy_streams: Vec<Option<usize>>,
    /// For each transfer, the event of its end and its place among the transfers of its stream, from 1.
    arrived: Vec<Option<(u32, u32)>>,
    /// How many transfers each pair has, and for how many of them the receiver has waited.
    issued_of_pair: Vec<u32>,
    waited_of_pair: Vec<u32>,
    plan: CommandPlan,
}

impl<'a> Planner<'a> {
    fn new(placed: &'a PlacedGraph<'a>) -> Self {
        let devices = placed.instance().cluster().device_count();
        let streams = placed.instance().cluster().device_ids().map(Stream::Compute).collect();
        Self {
            placed,
            arrivals: arrivals(placed),
            issued: vec![false; placed.instance().graph().op_count()],
            sent: vec![false; placed.transfer_count()],
            copy_streams: vec![None; devices * devices],
            arrived: vec![None; placed.transfer_count()],
            issued_of_pair: vec![0; devices * devices],
            waited_of_pair: vec![0; devices * devices],
            plan: CommandPlan { streams, commands: Vec::new(), events: 0 },
        }
    }

    fn push(&mut self, stream: usize, action: Action) {
        self.plan.commands.push(Command { stream, action });
    }

    fn record(&mut self, stream: usize) -> u32 {
        let event = self.plan.events;
        self.plan.events += 1;
        self.push(stream, Action::Record(event));
        event
    }

    fn pair(&self, id: TransferId) -> usize {
        let transfer = self.placed.transfer(id);
        transfer.from.index() * self.placed.instance().cluster().device_count() + transfer.to.index()
    }

    fn label(&self, op: OpId) -> String {
        self.placed.instance().graph().label(op)
    }

    fn op(&mut self, op: OpId) -> Result<(), CudaError> {
        if std::mem::replace(&mut self.issued[op.index()], true) {
            return Err(CudaError::Order(format!("{} stands twice in it", self.label(op))));
        }
        let graph = self.placed.instance().graph();
        if let Some(&early) = graph.predecessor_ops(op).iter().find(|early| !self.issued[early.index()]) {
            return Err(CudaError::Order(format!("{} stands before its input {}", self.label(op), self.label(early))));
        }
        let stream = self.placed.device_of(op).index();
        // The last arrival from each sender: later transfers of a pair replace earlier ones.
        let mut waits: Vec<(usize, u32, u32)> = Vec::new();
        for index in 0..self.arrivals[op.index()].len() {
            let id = self.arrivals[op.index()][index];
            let pair = self.pair(id);
            let Some((event, place)) = self.arrived[id.index()] else {
                let source = self.label(self.placed.transfer(id).source);
                return Err(CudaError::Order(format!(
                    "{} stands before the send of its input {source}",
                    self.label(op)
                )));
            };
            if place <= self.waited_of_pair[pair] {
                continue;
            }
            match waits.iter_mut().find(|wait| wait.0 == pair) {
                Some(wait) if wait.2 < place => *wait = (pair, event, place),
                Some(_) => {}
                None => waits.push((pair, event, place)),
            }
        }
        for (pair, event, place) in waits {
            self.push(stream, Action::Wait(event));
            self.waited_of_pair[pair] = place;
        }
        self.push(stream, Action::Run(Activity::Task(Task::Op(op))));
        Ok(())
    }

    fn send(&mut self, id: TransferId) -> Result<(), CudaError> {
        let source = self.placed.transfer(id).source;
        if !self.issued[source.index()] {
            return Err(CudaError::Order(format!("a send of {} stands before it", self.label(source))));
        }
        if std::mem::replace(&mut self.sent[id.index()], true) {
            return Err(CudaError::Order(format!("a send of {} stands twice in it", self.label(source))));
        }
        self.push(self.placed.transfer(id).from.index(), Action::Run(Activity::Task(Task::Send(id))));
        Ok(())
    }

    /// Issues transfers that can start as soon as the compute stream of the sender has come this far.
    fn transfers(&mut self, from: DeviceId, ids: impl ExactSizeIterator<Item = TransferId>) {
        if ids.len() == 0 {
            return;
        }
        let produced = self.record(from.index());
        for id in ids {
            let pair = self.pair(id);
            let stream = match self.copy_streams[pair] {
                Some(stream) => stream,
                None => {
                    let stream = self.plan.streams.len();
                    self.plan.streams.push(Stream::Copy { from, to: self.placed.transfer(id).to });
                    self.copy_streams[pair] = Some(stream);
                    stream
                }
            };
            self.push(stream, Action::Wait(produced));
            self.push(stream, Action::Run(Activity::Transfer(id)));
            let event = self.record(stream);
            self.issued_of_pair[pair] += 1;
            self.arrived[id.index()] = Some((event, self.issued_of_pair[pair]));
        }
    }

    fn finish(self) -> Result<CommandPlan, CudaError> {
        if let Some(missing) = self.issued.iter().position(|&issued| !issued) {
            return Err(CudaError::Order(format!("{} is missing from it", self.label(OpId::new(missing)))));
        }
        if let Some(missing) = self.arrived.iter().position(Option::is_none) {
            let source = self.label(self.placed.transfers()[missing].source);
            return Err(CudaError::Order(format!("a send of {source} is missing from it")));
        }
        Ok(self.plan)
    }
}
