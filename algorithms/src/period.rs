//! The period: the least time between two samples that follow each other through one placement.

use std::fmt;
use std::str::FromStr;

use placebench_datasets::{DeviceId, OpId, PlacedGraph, TensorId, Time};

use crate::{Named, Params, SpecError};

/// What a search minimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Goal {
    /// The time from the start of one run to its end.
    #[default]
    Makespan,
    /// The time between two samples in the steady state: see [`period`].
    Period,
}

impl Named for Goal {
    const NAMES: &'static [(&'static str, Self)] = &[("makespan", Self::Makespan), ("period", Self::Period)];
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let goal = Self::NAMES.iter().find(|(name, _)| *name == text).map(|&(_, goal)| goal);
        goal.ok_or_else(|| format!("unknown objective '{text}': use makespan or period"))
    }
}

impl Goal {
    /// The parameter `objective` of a placer that searches; `None` where it is that of the cell.
    pub(crate) fn param(params: &mut Params) -> Result<Option<Self>, SpecError> {
        let doc = "what is minimised: makespan, period, or cell for what the suite or the command says";
        let parse = |text: &str| match text {
            "cell" => Some(None),
            _ => text.parse().ok().map(Some),
        };
        params.value("objective", "cell", "cell, makespan or period", doc, parse)
    }
}

/// Which parts of a cluster one sample keeps busy, beside the ops, sends and receives that devices execute. It is the network
/// model's word: ports, links, or nothing.
pub trait Occupancy: Send + Sync {
    /// Number of parts. The first are the devices, by their ids.
    fn parts(&self) -> usize;

    /// What a part beyond the devices is called: `the port out of 'gpu0'`.
    fn name(&self, part: usize) -> String {
        format!("part {part} of the network")
    }

    /// Calls `take` with each part that an output keeps busy, however many devices it goes to, and for how long.
    fn output(&self, from: DeviceId, bytes: u64, take: &mut dyn FnMut(usize, Time)) {
        let _ = (from, bytes, take);
    }

    /// Calls `take` with each part that a transfer keeps busy, and for how long.
    fn transfer(&self, from: DeviceId, to: DeviceId, bytes: u64, take: &mut dyn FnMut(usize, Time));
}

/// How long one sample keeps each part busy: devices with the ops, sends and receives that they execute, and what the network
/// model says of transfers.
///
/// # Complexity
/// O(ops + transfers · parts that a transfer uses).
pub fn busy_times(placed: &PlacedGraph<'_>, occupancy: &dyn Occupancy) -> Vec<Time> {
    let mut busy = vec![0.0; occupancy.parts()];
    for op in placed.instance().graph().op_ids() {
        busy[placed.device_of(op).index()] += placed.exec_time(op);
    }
    let mut sent: Option<(OpId, Option<TensorId>)> = None;
    for id in placed.transfer_ids() {
        let transfer = placed.transfer(id);
        busy[transfer.from.index()] += placed.send_time(id);
        busy[transfer.to.index()] += placed.receive_time(id);
        let take = &mut |part: usize, time: Time| busy[part] += time;
        // The transfers of an output are next to each other.
        if sent.replace((transfer.source, transfer.tensor)) != Some((transfer.source, transfer.tensor)) {
            occupancy.output(transfer.from, transfer.bytes, take);
        }
        occupancy.transfer(transfer.from, transfer.to, transfer.bytes, take);
    }
    busy
}

/// The least time between two samples that follow each other through a placement without end: how long one sample keeps the
/// busiest part busy. Samples do not wait for each other otherwise: weights that a step changes count as those of a later one.
///
/// # Reference
/// J. Tarnawski et al., *Efficient Algorithms for Device Placement of DNN Graph Operators*, NeurIPS 2020, §5: the "time-per-sample"
/// or "max-load" of a pipelined placement.
///
/// # Complexity
/// That of [`busy_times`].
pub fn period(placed: &PlacedGraph<'_>, occupancy: &dyn Occupancy) -> Time {
    busiest(&busy_times(placed, occupancy)).1
}

/// The busiest part, the first of several, and how long it is busy.
pub fn busiest(busy: &[Time]) -> (usize, Time) {
    let parts = busy.iter().copied().enumerate();
    parts.fold((0, 0.0), |most, part| if part.1 > most.1 { part } else { most })
}
