//! How long the longest path behind a task takes: the priority of PCT, and the tie-breaker of MSR.

use placebench_datasets::{PlacedGraph, Time};

use crate::Task;
use crate::ranks::path_computation_times;

/// Path computation times of ops (L Eq. 5.1), and of sends, as if they were nodes of the graph.
#[derive(Clone, Debug)]
pub(super) struct PathTimes<'a> {
    placed: &'a PlacedGraph<'a>,
    of_op: Vec<Time>,
}

impl<'a> PathTimes<'a> {
    pub(super) fn new(placed: &'a PlacedGraph<'a>) -> Self {
        Self { placed, of_op: path_computation_times(placed) }
    }

    /// The path computation time of an op; for a send its own time, the transfer and the longest path behind that.
    pub(super) fn of(&self, task: Task) -> Time {
        match task {
            Task::Op(op) => self.of_op[op.index()],
            Task::Send(id) => {
                let behind = self.placed.remote_consumers(id).iter().map(|op| self.of_op[op.index()]);
                self.placed.send_time(id) + self.placed.transfer(id).time + behind.fold(0.0, f64::max)
            }
        }
    }
}
