//! What happened when: the outcome of one run, simulated or measured.

use placebench_datasets::{DeviceId, OpId, PlacedGraph, Time, TransferId};

use crate::draws::Draws;
use crate::measurement::Measurement;
use crate::validator::{OpRecord, Records, Route, RouteRecord};

/// From when to when something happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Start.
    pub start: Time,
    /// End, not before the start.
    pub end: Time,
}

/// One scheduling decision: when a device chose its next task, and from how many (L Fig. 7.10).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// When.
    pub time: Time,
    /// Where.
    pub device: DeviceId,
    /// Executable tasks on the device before the decision, the chosen one included: ops, and sends and receives where they
    /// take time.
    pub executable: u32,
}

/// Start and end of every op, send op, transfer and receive op of a [`PlacedGraph`].
///
/// # Memory
/// 16 bytes an op; 24 a transfer where sends take time, and where receives do; 16 a transfer if the transfers were
/// recorded, because they can wait or slow each other, are received, were measured, or devices were chosen online. Otherwise their times follow from their
/// producers. 16 bytes a task more if choices are recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// Whether the times are what they are, since clocks measured them or they were drawn; others follow from the costs.
    pub(crate) is_measured: bool,
    /// How they were measured, if the executor says so.
    pub(crate) measurement: Option<Box<Measurement>>,
    /// All draws, if it is the run of one.
    pub(crate) draws: Option<Box<Draws>>,
    pub(crate) op_start: Vec<Time>,
    pub(crate) op_finish: Vec<Time>,
    /// By transfer, `None` where it has no send op; empty where no send takes time.
    pub(crate) sends: Vec<Option<Interval>>,
    /// As `sends`, for receive ops.
    pub(crate) receives: Vec<Option<Interval>>,
    /// Empty where every transfer starts as soon as it can and takes latency + bytes / rate.
    pub(crate) transfers: Vec<Interval>,
    pub(crate) makespan: Time,
    pub(crate) decisions: u64,
    pub(crate) executable_sum: u64,
    pub(crate) choices: Option<Vec<Choice>>,
}

impl Timeline {
    /// A timeline of measured times: of ops, of send ops and of transfers, each in the order of their ids. There are as many
    /// send ops as transfers [that have one](PlacedGraph::has_send), or none if they were not measured. Receive ops are
    /// added by [`Timeline::with_measured_receives`].
    ///
    /// # Panics
    /// If there are not as many times as ops, sends and transfers.
    pub fn measured(
        placed: &PlacedGraph<'_>,
        ops: Vec<Interval>,
        sends: Vec<Interval>,
        transfers: Vec<Interval>,
    ) -> Self {
        assert_eq!(ops.len(), placed.instance().graph().op_count(), "a measured time for each op");
        assert_eq!(transfers.len(), placed.transfer_count(), "a measured time for each transfer");
        let ends = ops.iter().chain(&sends).map(|at| at.end);
        Self {
            is_measured: true,
            op_start: ops.iter().map(|at| at.start).collect(),
            op_finish: ops.iter().map(|at| at.end).collect(),
            makespan: ends.fold(0.0, Time::max),
            sends: by_transfer(placed, sends, |id| placed.has_send(id)),
            transfers,
            ..Self::default()
        }
    }

    /// The same timeline with how it was measured: it is the run of one repetition, and the measurement knows all.
    #[must_use]
    pub fn with_measurement(self, measurement: Measurement) -> Self {
        Self { measurement: Some(Box::new(measurement)), ..self }
    }

    /// How the times were measured; `None` for simulated ones, and where the executor does not say it.
    pub fn measurement(&self) -> Option<&Measurement> {
        self.measurement.as_deref()
    }

    /// The same timeline with the draws that it is one of.
    #[must_use]
    pub(crate) fn with_draws(self, draws: Draws) -> Self {
        Self { draws: Some(Box::new(draws)), ..self }
    }

    /// The makespans of all draws, if it is the run of one under noise.
    pub fn draws(&self) -> Option<&Draws> {
        self.draws.as_deref()
    }

    /// Adds measured times of receive ops, in the order of their transfers: as many as
    /// [there are](PlacedGraph::has_receive), or none.
    ///
    /// # Panics
    /// If there are not as many times as receive ops.
    pub fn with_measured_receives(mut self, placed: &PlacedGraph<'_>, receives: Vec<Interval>) -> Self {
        self.makespan = receives.iter().map(|at| at.end).fold(self.makespan, Time::max);
        self.receives = by_transfer(placed, receives, |id| placed.has_receive(id));
        self
    }

    /// When an op started.
    #[inline]
    pub fn start(&self, op: OpId) -> Time {
        self.op_start[op.index()]
    }

    /// When an op finished.
    #[inline]
    pub fn finish(&self, op: OpId) -> Time {
        self.op_finish[op.index()]
    }

    /// When an op was executed.
    #[inline]
    pub fn op(&self, op: OpId) -> Interval {
        Interval { start: self.start(op), end: self.finish(op) }
    }

    /// When the send op of a transfer was executed; `None` where it would take no time and is no op.
    #[inline]
    pub fn send(&self, transfer: TransferId) -> Option<Interval> {
        self.sends.get(transfer.index()).copied().flatten()
    }

    /// When the receive op of a transfer was executed; `None` where it would take no time and is no op.
    #[inline]
    pub fn receive(&self, transfer: TransferId) -> Option<Interval> {
        self.receives.get(transfer.index()).copied().flatten()
    }

    /// All send ops, in the order of their transfers.
    pub fn sends(&self) -> impl Iterator<Item = (TransferId, Interval)> + '_ {
        (0..self.sends.len()).map(TransferId::new).filter_map(|id| Some((id, self.send(id)?)))
    }

    /// All receive ops, in the order of their transfers.
    pub fn receives(&self) -> impl Iterator<Item = (TransferId, Interval)> + '_ {
        (0..self.receives.len()).map(TransferId::new).filter_map(|id| Some((id, self.receive(id)?)))
    }

    /// From the first to the last moment of a transfer: with its latency, without the wait for a port. `placed` is what
    /// was executed.
    #[inline]
    pub fn transfer(&self, placed: &PlacedGraph<'_>, id: TransferId) -> Interval {
        if let Some(&recorded) = self.transfers.get(id.index()) {
            return recorded;
        }
        let transfer = placed.transfer(id);
        let start = self.send(id).map_or_else(|| self.finish(transfer.source), |send| send.end);
        Interval { start, end: start + transfer.time }
    }

    /// When the last device finished computing (L Eq. 2.1); 0 for a graph without ops.
    #[inline]
    pub fn makespan(&self) -> Time {
        self.makespan
    }

    /// How many times a device chose a task: once for each op, send op and receive op; 0 in an online run, where devices have no
    /// choice, and in a measured one.
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// Mean number of executable tasks on a device before it chose one (L Fig. 7.10); `None` if no device chose.
    pub fn mean_executable(&self) -> Option<f64> {
        (self.decisions > 0).then(|| self.executable_sum as f64 / self.decisions as f64)
    }

    /// Every decision in the order in which they were made, if they were recorded.
    pub fn choices(&self) -> Option<&[Choice]> {
        self.choices.as_deref()
    }

    /// The run as plain records, for [`validate`](crate::validator::validate). `placed` is what was executed.
    ///
    /// # Complexity
    /// O(ops + transfers).
    pub fn records(&self, placed: &PlacedGraph<'_>) -> Records {
        let executed = |op| {
            let Interval { start, end } = self.op(op);
            OpRecord { op, device: placed.device_of(op), start, end }
        };
        let moved = |id: TransferId, Interval { start, end }| {
            let transfer = placed.transfer(id);
            let route =
                Route { source: transfer.source, tensor: transfer.tensor, to: transfer.to, from: transfer.from };
            RouteRecord { route, start, end }
        };
        Records {
            ops: placed.instance().graph().op_ids().map(executed).collect(),
            sends: self.sends().map(|(id, interval)| moved(id, interval)).collect(),
            receives: self.receives().map(|(id, interval)| moved(id, interval)).collect(),
            transfers: placed.transfer_ids().map(|id| moved(id, self.transfer(placed, id))).collect(),
        }
    }

    /// How long an op was executed: of a simulated one exactly its cost, without the rounding of instants.
    #[inline]
    pub fn op_time(&self, placed: &PlacedGraph<'_>, op: OpId) -> Time {
        if self.is_measured { self.finish(op) - self.start(op) } else { placed.exec_time(op) }
    }

    /// How long each device executed ops, send ops and receive ops.
    ///
    /// # Complexity
    /// O(ops + transfers).
    pub fn busy_times(&self, placed: &PlacedGraph<'_>) -> Vec<Time> {
        let mut busy = vec![0.0; placed.instance().cluster().device_count()];
        let length = |at: Interval| at.end - at.start;
        for op in placed.instance().graph().op_ids() {
            busy[placed.device_of(op).index()] += self.op_time(placed, op);
        }
        for (id, at) in self.sends() {
            let time = if self.is_measured { length(at) } else { placed.send_time(id) };
            busy[placed.transfer(id).from.index()] += time;
        }
        for (id, at) in self.receives() {
            let time = if self.is_measured { length(at) } else { placed.receive_time(id) };
            busy[placed.transfer(id).to.index()] += time;
        }
        busy
    }
}

/// Times of the transfers that have a send or receive op, as times of all transfers; none of none.
fn by_transfer(
    placed: &PlacedGraph<'_>,
    times: Vec<Interval>,
    has_one: impl Fn(TransferId) -> bool,
) -> Vec<Option<Interval>> {
    if times.is_empty() {
        return Vec::new();
    }
    let mut rest = times.into_iter();
    let all = placed
        .transfer_ids()
        .map(|id| has_one(id).then(|| rest.next().expect("a measured time for each send and receive op, or none")));
    let all = all.collect();
    assert_eq!(rest.len(), 0, "a measured time for each send and receive op, or none");
    all
}
