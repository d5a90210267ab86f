//! The validator's input: plain records of what a run claims has happened.

use placebench_datasets::{DeviceId, OpId, TensorId, Time};

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

/// A send or receive op was executed, or a transfer took place.
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
/// 24 bytes an op, 40 a transfer, and 40 a send or receive op.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// Executions of ops.
    pub ops: Vec<OpRecord>,
    /// Executions of send ops: one for each transfer whose send takes time.
    pub sends: Vec<RouteRecord>,
    /// Executions of receive ops: one for each transfer whose receive takes time.
    pub receives: Vec<RouteRecord>,
    /// Transfers.
    pub transfers: Vec<RouteRecord>,
}
