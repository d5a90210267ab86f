//! What the validator is told: plain records of what is claimed to have happened.

use placebench_datasets::{DeviceId, OpId, PlacedGraph, TensorId, Time, TransferId};

use crate::timeline::{Interval, Timeline};

/// An op was executed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpRecord {
    /// The op.
    pub op: OpId,
    /// Where.
    pub device: DeviceId,
    /// From when.
    pub start: Time,
    /// Until when.
    pub end: Time,
}

/// What is sent from where to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Route {
    /// The op whose output is sent.
    pub source: OpId,
    /// What is sent; `None` for a control signal.
    pub tensor: Option<TensorId>,
    /// Receiver.
    pub to: DeviceId,
    /// Sender.
    pub from: DeviceId,
}

/// A send op was executed, or a transfer took place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RouteRecord {
    /// What is sent.
    pub route: Route,
    /// From when.
    pub start: Time,
    /// Until when.
    pub end: Time,
}

/// The record of a run: all that is claimed to have happened, in any order.
///
/// # Memory
/// 24 bytes an op, 40 a transfer, and 40 a send op.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Executions of ops.
    pub ops: Vec<OpRecord>,
    /// Executions of send ops: one for each transfer if they cost something, else none.
    pub sends: Vec<RouteRecord>,
    /// Transfers.
    pub transfers: Vec<RouteRecord>,
}

impl Record {
    /// What a simulated run claims. `placed` is what was simulated.
    ///
    /// # Complexity
    /// O(ops + transfers).
    pub fn of(placed: &PlacedGraph<'_>, timeline: &Timeline) -> Self {
        let executed = |op| {
            let Interval { start, end } = timeline.op(op);
            OpRecord { op, device: placed.device_of(op), start, end }
        };
        let moved = |id: TransferId, Interval { start, end }| {
            let transfer = placed.transfer(id);
            let route =
                Route { source: transfer.source, tensor: transfer.tensor, to: transfer.to, from: transfer.from };
            RouteRecord { route, start, end }
        };
        let ids = || (0..placed.transfer_count()).map(TransferId::new);
        Self {
            ops: placed.instance().graph().op_ids().map(executed).collect(),
            sends: ids().filter_map(|id| timeline.send(id).map(|interval| moved(id, interval))).collect(),
            transfers: ids().map(|id| moved(id, timeline.transfer(placed, id))).collect(),
        }
    }
}
