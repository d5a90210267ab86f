//! A direction of time: what an op waits for, and what transfers take.

use placebench_datasets::{DeviceId, OpId, Time};

use super::links::{Edges, Links};
use super::problem::Problem;
use crate::Directed;
use crate::placers::list::{Slot, View};

/// An instance in one of the two directions of time.
#[derive(Clone, Copy)]
pub(super) struct Way<'p> {
    pub(super) problem: &'p Problem<'p>,
    /// What an op waits for.
    pub(super) before: &'p Edges,
    /// What waits for an op.
    pub(super) after: &'p Edges,
    /// Links from a fixed device, which sends.
    pub(super) from: &'p Links,
    /// Links to a fixed device, which receives.
    pub(super) to: &'p Links,
    pub(super) is_backward: bool,
}

impl Problem<'_> {
    /// As time runs.
    pub(super) fn forward(&self) -> Way<'_> {
        Way {
            problem: self,
            before: &self.before,
            after: &self.after,
            from: &self.from,
            to: &self.to,
            is_backward: false,
        }
    }

    /// With time reversed: an op comes after its consumers, and transfers run from consumers to producers.
    pub(super) fn backward(&self) -> Way<'_> {
        self.forward().reversed()
    }
}

impl Way<'_> {
    /// The other direction.
    pub(super) fn reversed(self) -> Self {
        Self {
            before: self.after,
            after: self.before,
            from: self.to,
            to: self.from,
            is_backward: !self.is_backward,
            ..self
        }
    }

    /// When each op finishes if every device executes its ops in the order given, a linear extension in this direction.
    /// Returns the makespan.
    ///
    /// # Complexity
    /// O(ops + edges).
    pub(super) fn finish_times(self, devices: &[u32], order: impl Iterator<Item = u32>, finish: &mut [Time]) -> Time {
        let mut free = vec![0.0; self.problem.devices];
        for op in order {
            let op = op as usize;
            let device = devices[op];
            let mut start: Time = free[device as usize];
            for &(before, bytes) in self.before.of(op) {
                let arrival = finish[before as usize] + self.from.time(devices[before as usize], device, bytes);
                start = if arrival > start { arrival } else { start };
            }
            finish[op] = start + self.problem.exec(op, device);
            free[device as usize] = finish[op];
        }
        free.into_iter().fold(0.0, Time::max)
    }
}

impl Directed for Way<'_> {
    fn op_count(&self) -> usize {
        self.problem.ops
    }

    fn topological_order(&self) -> impl DoubleEndedIterator<Item = OpId> {
        let mut order: Vec<OpId> = self.problem.instance.graph().topological_order().collect();
        if self.is_backward {
            order.reverse();
        }
        order.into_iter()
    }

    #[inline]
    fn before(&self, op: OpId) -> impl ExactSizeIterator<Item = (OpId, f64)> {
        self.before.of(op.index()).iter().map(|&(before, bytes)| (OpId(before), bytes))
    }

    #[inline]
    fn after(&self, op: OpId) -> impl ExactSizeIterator<Item = (OpId, f64)> {
        self.after.of(op.index()).iter().map(|&(after, bytes)| (OpId(after), bytes))
    }
}

impl View for Way<'_> {
    fn raise_to_arrivals(&self, op: OpId, slots: &[Slot], ready: &mut [Time]) {
        for &(before, bytes) in self.before.of(op.index()) {
            let slot = slots[before as usize];
            self.from.raise(slot.device.0, slot.finish, bytes, ready);
        }
    }

    fn ready_time(&self, op: OpId, device: DeviceId, slots: &[Slot]) -> Time {
        let arrivals = self.before.of(op.index()).iter().map(|&(before, bytes)| {
            let slot = slots[before as usize];
            slot.finish + self.from.time(slot.device.0, device.0, bytes)
        });
        arrivals.fold(0.0, Time::max)
    }

    fn exec_time(&self, op: OpId, device: DeviceId) -> Time {
        self.problem.exec(op.index(), device.0)
    }

    fn exec_times(&self, op: OpId, exec: &mut [Time]) {
        for (time, device) in exec.iter_mut().zip(0..) {
            *time = self.problem.exec(op.index(), device);
        }
    }

    fn transfers_occupy_devices(&self) -> bool {
        // Send and receive ops are part of their transfers here.
        false
    }
}
