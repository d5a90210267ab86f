//! What happened when: the outcome of one simulated run.

use placebench_datasets::{DeviceId, OpId, PlacedGraph, Time, TransferId};

use crate::simulator::NetworkModel;
use crate::validator::{OpRecord, Records, Route, RouteRecord};

/// From when to when something happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Start.
    pub start: Time,
    /// End, not before the start.
    pub end: Time,
}

/// One scheduling decision: the device began a task and had so many to choose from (L Fig. 7.10).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// When.
    pub time: Time,
    /// Where.
    pub device: DeviceId,
    /// Executable tasks on the device before the decision, the chosen one included: ops, and sends where they cost
    /// something.
    pub executable: u32,
}

/// Start and end of every op, send op and transfer of a [`PlacedGraph`].
///
/// # Memory
/// 16 bytes an op; 16 a transfer where sends cost something, and 8 a transfer under `one_port` or in an online run; 16 a
/// task if choices are recorded. Transfers cost nothing otherwise: when they happened follows from their producers.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    pub(crate) network: NetworkModel,
    pub(crate) op_start: Vec<Time>,
    pub(crate) op_finish: Vec<Time>,
    /// Empty where sends cost nothing.
    pub(crate) send_start: Vec<Time>,
    pub(crate) send_finish: Vec<Time>,
    /// Empty where transfers start as soon as they can: under `contention_free`, unless devices were chosen online.
    pub(crate) transfer_start: Vec<Time>,
    pub(crate) makespan: Time,
    pub(crate) decisions: u64,
    pub(crate) executable_sum: u64,
    pub(crate) choices: Option<Vec<Choice>>,
}

impl Timeline {
    /// The network model that the run was simulated under.
    pub fn network(&self) -> NetworkModel {
        self.network
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

    /// When the send op of a transfer was executed; `None` where sends cost nothing and are no ops.
    #[inline]
    pub fn send(&self, transfer: TransferId) -> Option<Interval> {
        let start = *self.send_start.get(transfer.index())?;
        Some(Interval { start, end: self.send_finish[transfer.index()] })
    }

    /// All send ops, in the order of their transfers.
    pub fn sends(&self) -> impl ExactSizeIterator<Item = (TransferId, Interval)> + '_ {
        let intervals = self.send_start.iter().zip(&self.send_finish).enumerate();
        intervals.map(|(index, (&start, &end))| (TransferId::new(index), Interval { start, end }))
    }

    /// From the first to the last moment of a transfer: latency included, waiting for a port not. `placed` is what was
    /// simulated.
    #[inline]
    pub fn transfer(&self, placed: &PlacedGraph<'_>, id: TransferId) -> Interval {
        let transfer = placed.transfer(id);
        let own = self.transfer_start.get(id.index()).or(self.send_finish.get(id.index()));
        let start = own.copied().unwrap_or_else(|| self.finish(transfer.source));
        Interval { start, end: start + transfer.time }
    }

    /// When the last device finished computing (L Eq. 2.1); 0 for a graph without ops.
    #[inline]
    pub fn makespan(&self) -> Time {
        self.makespan
    }

    /// How many times a device chose a task: once for each op, and once for each send op; 0 in an online run, where devices
    /// have no choice.
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    /// Mean number of executable tasks on a device before it chose one (L Fig. 7.10); `None` if no device chose.
    pub fn mean_executable(&self) -> Option<f64> {
        (self.decisions > 0).then(|| self.executable_sum as f64 / self.decisions as f64)
    }

    /// Every decision in the order in which they were made, if the run was told to record them.
    pub fn choices(&self) -> Option<&[Choice]> {
        self.choices.as_deref()
    }

    /// The run as plain records, for [`validate`](crate::validator::validate). `placed` is what was simulated.
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
        let ids = || (0..placed.transfer_count()).map(TransferId::new);
        Records {
            ops: placed.instance().graph().op_ids().map(executed).collect(),
            sends: self.sends().map(|(id, interval)| moved(id, interval)).collect(),
            transfers: ids().map(|id| moved(id, self.transfer(placed, id))).collect(),
        }
    }

    /// How long each device executed ops and send ops.
    ///
    /// # Complexity
    /// O(ops + transfers).
    pub fn busy_times(&self, placed: &PlacedGraph<'_>) -> Vec<Time> {
        let mut busy = vec![0.0; placed.instance().cluster().device_count()];
        for op in placed.instance().graph().op_ids() {
            busy[placed.device_of(op).index()] += placed.exec_time(op);
        }
        if !self.send_start.is_empty() {
            for (index, transfer) in placed.transfers().iter().enumerate() {
                busy[transfer.from.index()] += placed.send_time(TransferId::new(index));
            }
        }
        busy
    }
}
