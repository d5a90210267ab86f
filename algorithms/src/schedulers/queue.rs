//! Ready queues that hand out the task with the smallest key.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use placebench_datasets::DeviceId;

use crate::Task;

/// One priority queue a device; equal keys leave in ascending order of tasks.
#[derive(Clone, Debug)]
pub(super) struct ReadyQueues<K: Ord> {
    queues: Vec<BinaryHeap<Reverse<(K, Task)>>>,
}

impl<K: Ord> ReadyQueues<K> {
    pub(super) fn new(device_count: usize) -> Self {
        Self { queues: (0..device_count).map(|_| BinaryHeap::new()).collect() }
    }

    pub(super) fn push(&mut self, device: DeviceId, key: K, task: Task) {
        self.queues[device.index()].push(Reverse((key, task)));
    }

    pub(super) fn pop(&mut self, device: DeviceId) -> Option<Task> {
        self.queues[device.index()].pop().map(|Reverse((_, task))| task)
    }
}
