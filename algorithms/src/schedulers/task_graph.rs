//! The tasks of a placed graph and what becomes executable after them, each successor once.

use placebench_datasets::{DeviceId, OpId, PlacedGraph, TransferId};

use crate::Task;

/// Ops and, where they take time, sends and receives, with their distinct successors. Tasks are numbered ops first, then
/// sends, then receives.
pub(super) struct TaskGraph<'a> {
    placed: &'a PlacedGraph<'a>,
    /// How many numbers sends have, and receives: as many as there are transfers, or none.
    sends: usize,
    receives: usize,
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
        let cluster = placed.instance().cluster();
        let sends = if cluster.sends_cost() { placed.transfer_count() } else { 0 };
        let receives = if cluster.receives_cost() { placed.transfer_count() } else { 0 };
        Self { placed, sends, receives, offsets, successors }
    }

    pub(super) fn op_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// How many numbers tasks have. Transfers that have no send or receive op have a number for it all the same.
    pub(super) fn task_count(&self) -> usize {
        self.op_count() + self.sends + self.receives
    }

    /// All tasks, ascending.
    pub(super) fn tasks(&self) -> impl Iterator<Item = Task> + '_ {
        (0..self.task_count()).map(|index| self.task(index)).filter(|&task| self.exists(task))
    }

    fn exists(&self, task: Task) -> bool {
        match task {
            Task::Op(_) => true,
            Task::Send(id) => self.sends > 0 && self.placed.has_send(id),
            Task::Receive(id) => self.receives > 0 && self.placed.has_receive(id),
        }
    }

    pub(super) fn index(&self, task: Task) -> usize {
        match task {
            Task::Op(op) => op.index(),
            Task::Send(id) => self.op_count() + id.index(),
            Task::Receive(id) => self.op_count() + self.sends + id.index(),
        }
    }

    pub(super) fn task(&self, index: usize) -> Task {
        match (index.checked_sub(self.op_count()), index.checked_sub(self.op_count() + self.sends)) {
            (None, _) => Task::Op(OpId::new(index)),
            (Some(transfer), None) => Task::Send(TransferId::new(transfer)),
            (_, Some(transfer)) => Task::Receive(TransferId::new(transfer)),
        }
    }

    /// The device that executes a task.
    pub(super) fn device(&self, task: Task) -> DeviceId {
        match task {
            Task::Op(op) => self.placed.device_of(op),
            Task::Send(id) => self.placed.transfer(id).from,
            Task::Receive(id) => self.placed.transfer(id).to,
        }
    }

    pub(super) fn device_of(&self, op: OpId) -> DeviceId {
        self.placed.device_of(op)
    }

    /// A task and those that have to come before it so that an op's output gets where it is needed, the last first: the
    /// receive, the send, the op.
    pub(super) fn back_to_op(&self, task: Task) -> impl Iterator<Item = Task> + use<> {
        let (send, op) = match task {
            Task::Op(_) => (None, None),
            Task::Send(id) => (None, Some(Task::Op(self.placed.transfer(id).source))),
            Task::Receive(id) => {
                let send = Some(Task::Send(id)).filter(|&send| self.exists(send));
                (send, Some(Task::Op(self.placed.transfer(id).source)))
            }
        };
        std::iter::once(task).chain(send).chain(op)
    }

    /// The distinct ops that use an op's outputs, or that a send or receive serves; ascending.
    pub(super) fn successors(&self, task: Task) -> impl Iterator<Item = OpId> + '_ {
        let row = match task {
            Task::Op(op) => &self.successors[self.offsets[op.index()] as usize..self.offsets[op.index() + 1] as usize],
            Task::Send(id) | Task::Receive(id) => self.placed.remote_consumers(id),
        };
        row.chunk_by(|a, b| a == b).map(|equal| equal[0])
    }

    /// Whether it is the end of this task, not of a send or receive after it, that a successor waits for.
    pub(super) fn satisfies(&self, task: Task, successor: OpId) -> bool {
        match task {
            Task::Op(op) => {
                let to = self.device_of(successor);
                let serves = |id: TransferId| {
                    self.placed.transfer(id).to == to
                        && self.placed.remote_consumers(id).binary_search(&successor).is_ok()
                        && (self.exists(Task::Send(id)) || self.exists(Task::Receive(id)))
                };
                self.sends + self.receives == 0 || self.device_of(op) == to || !self.placed.transfers_of(op).any(serves)
            }
            Task::Send(id) => !self.exists(Task::Receive(id)),
            Task::Receive(_) => true,
        }
    }
}
