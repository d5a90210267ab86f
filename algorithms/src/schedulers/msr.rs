//! MSR: maximum successor rank first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use placebench_datasets::{DeviceId, OpId, PlacedGraph};

use super::path_times::PathTimes;
use super::queue::Total;
use super::task_graph::TaskGraph;
use crate::{Plan, Policy, Scheduler, SchedulerError, SimulationState, Task};

/// Points for a successor that becomes executable on an idle device (L Eq. 5.2).
const WAKES_A_DEVICE: u64 = 5;

/// Executes the task first whose successors gain most from it: each distinct successor counts 1, another 1 if it is on
/// another device, another 1 if it becomes executable, and another 5 if that wakes an idle device.
///
/// # Reference
/// L. Laich, *Graph Partitioning and Scheduling for Distributed Dataflow Computation*, University of Stuttgart 2017, §5.4,
/// Eq. 5.2.
///
/// # Complexity
/// O(ops + edges · log degree) to start. Points that do not depend on idle devices are kept up to date, O(log ready tasks)
/// for each change. A decision takes O(log ready tasks + devices), and O(out-degree) for each ready task that would wake
/// one of the devices that are idle at the moment; the formula as written takes that for each ready task. 24 bytes a
/// pair of devices.
///
/// # Ties
/// The longer path computation time (L Eq. 5.1), then ops by id, then sends by id.
///
/// # Deviations
/// - L leaves open whether the device that decides is idle. It is about to execute the task, so it is not counted: the 5
///   points are for *another* device that becomes active.
/// - L leaves open which predecessors count as not executed: those that have not finished, so also those being executed
///   at the moment.
/// - L's formula knows no sends. Where they cost something, a send has as successors the ops that it serves. An op
///   makes a successor on another device executable if all that the successor still lacks is one send of this op, which
///   then gets the same points once more when it is ready.
#[derive(Clone, Copy, Debug, Default)]
pub struct Msr;

impl Scheduler for Msr {
    fn start<'a>(
        &self,
        placed: &'a PlacedGraph<'a>,
        _: Option<&'a Plan>,
    ) -> Result<Box<dyn Policy + 'a>, SchedulerError> {
        Ok(Box::new(SuccessorRanks::new(placed)))
    }
}

/// A ready task with the points that do not depend on which devices are idle; the greatest goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    points: u64,
    path: Total,
    task: Reverse<Task>,
}

/// What an op still waits for: for each distinct predecessor its end or, if that costs something, the end of the send.
#[derive(Clone, Copy, Debug, Default)]
struct Missing {
    count: u32,
    /// Exclusive or of the indices of the tasks: the index itself once a single one is left.
    tasks: usize,
}

impl Missing {
    fn sole_task(self) -> Option<usize> {
        (self.count == 1).then_some(self.tasks)
    }
}

struct SuccessorRanks<'a> {
    tasks: TaskGraph<'a>,
    paths: PathTimes<'a>,
    missing: Vec<Missing>,
    /// For each task, its points without those for idle devices, while it is ready.
    points: Vec<Option<u64>>,
    /// Ready tasks. An entry whose points are no longer those of its task is void.
    queues: Vec<BinaryHeap<Candidate>>,
    /// For each (device, other device): ready tasks of the first that make an op of the second executable. Tasks that
    /// have started are dropped when the list is next read.
    wakers: Vec<Vec<Task>>,
    /// What each device was last told to execute, until that is known to have finished.
    running: Vec<Option<Task>>,
}

impl<'a> SuccessorRanks<'a> {
    fn new(placed: &'a PlacedGraph<'a>) -> Self {
        let tasks = TaskGraph::new(placed);
        let devices = placed.instance().cluster().device_count();
        let mut missing = vec![Missing::default(); tasks.op_count()];
        for index in 0..tasks.task_count() {
            let task = tasks.task(index);
            for successor in tasks.successors(task).filter(|&successor| tasks.satisfies(task, successor)) {
                missing[successor.index()].count += 1;
                missing[successor.index()].tasks ^= index;
            }
        }
        Self {
            paths: PathTimes::new(placed),
            missing,
            points: vec![None; tasks.task_count()],
            queues: vec![BinaryHeap::new(); devices],
            wakers: vec![Vec::new(); devices * devices],
            running: vec![None; devices],
            tasks,
        }
    }

    /// Accounts for tasks that have finished since the last decision. Every device executes only what it was told to
    /// here, so a device that is idle has finished the last of that.
    fn see_what_finished(&mut self, busy: &[bool]) {
        for device in 0..busy.len() {
            if !busy[device]
                && let Some(task) = self.running[device].take()
            {
                self.finish(task);
            }
        }
    }

    fn finish(&mut self, task: Task) {
        let Self { tasks, paths, missing, points, queues, wakers, .. } = self;
        for successor in tasks.successors(task).filter(|&successor| tasks.satisfies(task, successor)) {
            let missing = &mut missing[successor.index()];
            missing.count -= 1;
            missing.tasks ^= tasks.index(task);
            let Some(last) = missing.sole_task().map(|index| tasks.task(index)) else { continue };
            // The last task is ready, or it is a send and the op before it may be, or neither is.
            for candidate in [last, Task::Op(tasks.source(last))] {
                if let Some(current) = &mut points[tasks.index(candidate)] {
                    *current += 1;
                    let device = tasks.device(candidate);
                    let path = Total(paths.of(candidate));
                    let entry = Candidate { points: *current, path, task: Reverse(candidate) };
                    queues[device.index()].push(entry);
                    let target = tasks.device_of(successor);
                    if target != device {
                        wakers[device.index() * queues.len() + target.index()].push(candidate);
                    }
                    break;
                }
            }
        }
    }

    /// Whether an op lacks nothing but a ready task of which it is a successor.
    fn becomes_executable(&self, successor: OpId) -> bool {
        self.missing[successor.index()].count == 1
    }

    /// The points that a ready task gets for waking devices.
    fn points_for_waking(&self, task: Task, busy: &[bool]) -> u64 {
        let device = self.tasks.device(task);
        let wakes = |&successor: &OpId| {
            let target = self.tasks.device_of(successor);
            target != device && !busy[target.index()] && self.becomes_executable(successor)
        };
        WAKES_A_DEVICE * self.tasks.successors(task).filter(wakes).count() as u64
    }

    /// The first ready task of a device by points that do not depend on idle devices.
    fn first_in_queue(&mut self, device: DeviceId) -> Option<Candidate> {
        let queue = &mut self.queues[device.index()];
        while let Some(&candidate) = queue.peek() {
            if self.points[self.tasks.index(candidate.task.0)] == Some(candidate.points) {
                return Some(candidate);
            }
            queue.pop();
        }
        None
    }

    /// The first of the ready tasks that would wake one of the idle devices.
    fn first_waker(&mut self, device: DeviceId, busy: &[bool]) -> Option<Candidate> {
        let mut first = None;
        for target in (0..busy.len()).filter(|&target| target != device.index() && !busy[target]) {
            let list = device.index() * busy.len() + target;
            let mut wakers = std::mem::take(&mut self.wakers[list]);
            wakers.retain(|&task| {
                let Some(points) = self.points[self.tasks.index(task)] else { return false };
                let points = points + self.points_for_waking(task, busy);
                first = first.max(Some(Candidate { points, path: Total(self.paths.of(task)), task: Reverse(task) }));
                true
            });
            self.wakers[list] = wakers;
        }
        first
    }
}

impl Policy for SuccessorRanks<'_> {
    fn ready(&mut self, device: DeviceId, task: Task, _: &SimulationState<'_>) {
        let mut points = 0;
        for successor in self.tasks.successors(task) {
            let (target, is_last) = (self.tasks.device_of(successor), self.becomes_executable(successor));
            points += 1 + u64::from(target != device) + u64::from(is_last);
            if is_last && target != device {
                let wakers = &mut self.wakers[device.index() * self.queues.len() + target.index()];
                if wakers.last() != Some(&task) {
                    wakers.push(task);
                }
            }
        }
        let index = self.tasks.index(task);
        self.points[index] = Some(points);
        self.queues[device.index()].push(Candidate { points, path: Total(self.paths.of(task)), task: Reverse(task) });
    }

    fn next(&mut self, device: DeviceId, state: &SimulationState<'_>) -> Option<Task> {
        self.see_what_finished(state.busy);
        let first = self.first_in_queue(device).max(self.first_waker(device, state.busy))?;
        let task = first.task.0;
        let index = self.tasks.index(task);
        self.points[index] = None;
        self.running[device.index()] = Some(task);
        Some(task)
    }
}
