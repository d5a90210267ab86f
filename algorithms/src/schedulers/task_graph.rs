//! The tasks of a placed graph and what becomes executable after them, each successor once.

use placebench_datasets::{DeviceId, OpId, PlacedGraph, TransferId};

use crate::Task;

/// Ops and, where they cost something, sends, with their distinct successors. Tasks are numbered ops first.
pub(super) struct TaskGraph<'a> {
    placed: &'a PlacedGraph<'a>,
    sends_cost: bool,
    offsets: Vec<u32>,
    successors: Vec<OpId>,
}

impl<'a> TaskGraph<'a> {
    /// # Complexity
    /// O(ops + edges · log degree) time, 4 bytes an edge.
    pub(super) fn new(placed: &'a PlacedGraph<'a>) -> Self {
        let graph = placed.instance().graph();
        let mut successors = Vec::with_capacity(graph.edge_count());
        let mut offsets = Vec::with_capacity(graph.op_count() + 1);
        offsets.push(0);
        let mut row = Vec::new();
        for op in graph.op_ids() {
            row.clear();
            row.extend_from_slice(graph.successor_ops(op));
            row.sort_unstable();
            row.dedup();
            successors.extend_from_slice(&row);
            offsets.push(successors.len() as u32);
        }
        Self { placed, sends_cost: placed.instance().cluster().send_ops() > 0.0, offsets, successors }
    }

    pub(super) fn op_count(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(super) fn task_count(&self) -> usize {
        self.op_count() + if self.sends_cost { self.placed.transfer_count() } else { 0 }
    }

    pub(super) fn index(&self, task: Task) -> usize {
        match task {
            Task::Op(op) => op.index(),
            Task::Send(id) => self.op_count() + id.index(),
        }
    }

    pub(super) fn task(&self, index: usize) -> Task {
        match index.checked_sub(self.op_count()) {
            None => Task::Op(OpId::new(index)),
            Some(transfer) => Task::Send(TransferId::new(transfer)),
        }
    }

    /// The device that executes a task.
    pub(super) fn device(&self, task: Task) -> DeviceId {
        match task {
            Task::Op(op) => self.placed.device_of(op),
            Task::Send(id) => self.placed.transfer(id).from,
        }
    }

    pub(super) fn device_of(&self, op: OpId) -> DeviceId {
        self.placed.device_of(op)
    }

    /// The op whose output a task computes or sends.
    pub(super) fn source(&self, task: Task) -> OpId {
        match task {
            Task::Op(op) => op,
            Task::Send(id) => self.placed.transfer(id).source,
        }
    }

    /// The distinct ops that use an op's outputs, or that a send serves; ascending.
    pub(super) fn successors(&self, task: Task) -> impl Iterator<Item = OpId> + '_ {
        let row = match task {
            Task::Op(op) => &self.successors[self.offsets[op.index()] as usize..self.offsets[op.index() + 1] as usize],
            Task::Send(id) => self.placed.remote_consumers(id),
        };
        row.chunk_by(|a, b| a == b).map(|equal| equal[0])
    }

    /// Whether it is the end of this task, not of a send after it, that a successor waits for.
    pub(super) fn satisfies(&self, task: Task, successor: OpId) -> bool {
        match task {
            Task::Op(op) => !self.sends_cost || self.device_of(op) == self.device_of(successor),
            Task::Send(_) => true,
        }
    }
}
