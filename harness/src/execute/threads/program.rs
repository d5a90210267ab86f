//! What each device has to do: a placed graph and an order, in nanoseconds and bytes.

use placebench_algorithms::Task;
use placebench_datasets::{PlacedGraph, Time, Transfer};
use serde::{Deserialize, Serialize};

use super::clock::{Nanos, SECOND};

/// What all devices of a run have to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Program {
    /// For each device its tasks, in the order in which it executes them.
    pub(super) devices: Vec<Vec<Step>>,
    /// All transfers, in the order of their ids.
    pub(super) moves: Vec<Move>,
}

/// A task of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Step {
    /// What it takes.
    pub(super) length: Nanos,
    /// Whether it computes, rather than reads and writes memory.
    pub(super) computes: bool,
    /// Transfers to this device that must have arrived, by index. What the device produces itself comes earlier in its order.
    pub(super) waits_for: Vec<usize>,
    /// Transfers that start when it ends, by index.
    pub(super) starts: Vec<usize>,
}

/// A transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Move {
    /// Sender.
    pub(super) from: usize,
    /// Receiver.
    pub(super) to: usize,
    /// What tells its content from that of other tensors.
    pub(super) content: u64,
    /// Size.
    pub(super) bytes: u64,
    /// From the end of what starts it until it has arrived: latency + bytes / rate.
    pub(super) length: Nanos,
}

/// The real seconds of one time unit with which the mean op takes so long; 1 if no op takes any time.
pub(super) fn time_scale(placed: &PlacedGraph<'_>, mean_op_seconds: f64) -> f64 {
    let graph = placed.instance().graph();
    let total: Time = graph.op_ids().map(|op| placed.exec_time(op)).sum();
    if total > 0.0 { mean_op_seconds * graph.op_count() as f64 / total } else { 1.0 }
}

impl Program {
    /// The program of an order. A time unit lasts `time_scale` real seconds.
    ///
    /// # Complexity
    /// O(ops + edges · log transfers of an op).
    pub(super) fn new(placed: &PlacedGraph<'_>, order: &[Vec<Task>], time_scale: f64) -> Self {
        let nanos = |time: Time| (time * time_scale * SECOND).round() as Nanos;
        let graph = placed.instance().graph();
        let mut waits_for: Vec<Vec<usize>> = vec![Vec::new(); graph.op_count()];
        // A tensor that is received is there when its receive op has ended, which comes earlier in the device's order.
        for id in placed.transfer_ids().filter(|&id| !placed.has_receive(id)) {
            for &consumer in placed.remote_consumers(id) {
                let waits = &mut waits_for[consumer.index()];
                // Parallel edges of one consumer are adjacent.
                if waits.last() != Some(&id.index()) {
                    waits.push(id.index());
                }
            }
        }
        let computes = |op: placebench_datasets::OpId| {
            let label = graph.op_types().and_then(|types| types.get(op.index()));
            label.is_none_or(computes)
        };
        let mut step = |task: &Task| match *task {
            Task::Op(op) => Step {
                length: nanos(placed.exec_time(op)),
                computes: computes(op),
                waits_for: std::mem::take(&mut waits_for[op.index()]),
                starts: placed.transfers_of(op).filter(|&id| !placed.has_send(id)).map(|id| id.index()).collect(),
            },
            Task::Send(id) => Step {
                length: nanos(placed.send_time(id)),
                computes: false,
                waits_for: Vec::new(),
                starts: vec![id.index()],
            },
            Task::Receive(id) => Step {
                length: nanos(placed.receive_time(id)),
                computes: false,
                waits_for: vec![id.index()],
                starts: Vec::new(),
            },
        };
        let devices = order.iter().map(|tasks| tasks.iter().map(&mut step).collect()).collect();
        let moved = |transfer: &Transfer| Move {
            from: transfer.from.index(),
            to: transfer.to.index(),
            content: transfer.tensor.map_or(0, |tensor| u64::from(tensor.0)),
            bytes: transfer.bytes,
            length: nanos(transfer.time),
        };
        Self { devices, moves: placed.transfers().iter().map(moved).collect() }
    }

    /// The size of the largest tensor that moves.
    pub(super) fn largest_move(&self) -> u64 {
        self.moves.iter().map(|moved| moved.bytes).max().unwrap_or(0)
    }
}

/// Whether the kernel of an op type is bound by computing rather than by memory: products of matrices and convolutions.
fn computes(label: &str) -> bool {
    ["MatMul", "Conv", "dot_general", "Einsum", "Gemm"].iter().any(|word| label.contains(word))
}

/// When everything happened in one run, in nanoseconds from its start.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RunTimes {
    /// Start and end of each step, as in [`Program::devices`].
    pub(super) steps: Vec<Vec<(Nanos, Nanos)>>,
    /// Start and end of each transfer, as in [`Program::moves`].
    pub(super) moves: Vec<(Nanos, Nanos)>,
    /// Whether all devices had the priority that lets them wake up in time.
    pub(super) is_precise: bool,
}

impl RunTimes {
    /// The end of the last step.
    pub(super) fn makespan(&self) -> Nanos {
        self.steps.iter().flatten().map(|&(_, end)| end).max().unwrap_or(0)
    }
}
