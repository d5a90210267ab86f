//! How long the longest path behind a task takes: the priority of PCT, and the tie-breaker of MSR.

use placebench_datasets::{PlacedGraph, Time, TransferId};

use crate::Task;
use crate::ranks::path_computation_times;

/// Path computation times of ops (L Eq. 5.1), and of sends and receives, as if they were nodes of the graph.
#[derive(Clone, Debug)]
pub(super) struct PathTimes<'a> {
    placed: &'a PlacedGraph<'a>,
    of_op: Vec<Time>,
}

impl<'a> PathTimes<'a> {
    pub(super) fn new(placed: &'a PlacedGraph<'a>) -> Self {
        Self { placed, of_op: path_computation_times(placed) }
    }

    /// The path computation time of an op; for a receive its own time and the longest path behind; for a send its own time,
    /// the transfer, the receive and the longest path behind.
    pub(super) fn of(&self, task: Task) -> Time {
        let placed = self.placed;
        let from_receive = |id: TransferId| {
            let behind = placed.remote_consumers(id).iter().map(|op| self.of_op[op.index()]);
            placed.receive_time(id) + behind.fold(0.0, f64::max)
        };
        match task {
            Task::Op(op) => self.of_op[op.index()],
            Task::Send(id) => placed.send_time(id) + placed.transfer(id).time + from_receive(id),
            Task::Receive(id) => from_receive(id),
        }
    }
}
