//! MSR: maximum successor rank first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use placebench_datasets::{DeviceId, PlacedGraph};

use super::path_times::PathTimes;
use super::task_graph::TaskGraph;
use crate::total::Total;
use crate::{Algorithm, Params, Plan, Policy, Scheduler, SchedulerError, SimulationState, SpecError, Task};

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
/// O(ops + edges · log degree) to start. The formula as written takes O(out-degree) for each ready task at each decision.
/// Here points are kept up to date: O(targets · log ready tasks) when a successor comes to wait for one task only, where
/// targets are the other devices with such successors of the task. A decision takes O(devices), and O(targets + log ready
/// tasks) for each task that might beat the best one yet, which are few. 24 bytes a pair of devices.
///
/// # Ties
/// The longer path computation time (L Eq. 5.1), then ops by id, then sends by id, then receives by id.
///
/// # Deviations
/// - L leaves open whether the device that decides is idle. It is about to execute the task, so it is not counted: the 5
///   points are for *another* device that becomes active.
/// - L leaves open which predecessors count as not executed: those that have not finished, so also those being executed
///   at the moment.
/// - L's formula knows no sends and receives. Where they take time, they have as successors the ops that they serve. An op
///   makes a successor on another device executable if all that the successor still lacks is one send of this op, which
///   then gets the same points once more when it is ready; so does the receive after that, which wakes no other device.
#[derive(Clone, Copy, Debug, Default)]
pub struct Msr;

impl Algorithm for Msr {
    const NAME: &str = "msr";
    const SUMMARY: &str = "maximum successor rank first";
    const SOURCE: &str = "L §5.4";

    fn new(_: &mut Params) -> Result<Self, SpecError> {
        Ok(Self)
    }
}

impl Scheduler for Msr {
    fn start<'a>(
        &self,
        placed: &'a PlacedGraph<'a>,
        _: Option<&'a Plan>,
    ) -> Result<Box<dyn Policy + 'a>, SchedulerError> {
        Ok(Box::new(SuccessorRanks::new(placed)))
    }
}

/// A ready task with its points; the greatest goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    points: u64,
    path: Total,
    task: Reverse<Task>,
}

/// What an op still waits for: for each distinct predecessor its end or, where those take time, the end of the send or
/// receive.
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

/// A ready task.
#[derive(Clone, Debug, Default)]
struct Waiting {
    /// The points that do not depend on which devices are idle.
    points: u64,
    /// Other devices, each with how many ops there become executable after the task.
    targets: Vec<(DeviceId, u64)>,
}

impl Waiting {
    /// Counts a successor that becomes executable.
    fn add(&mut self, device: DeviceId, target: DeviceId) {
        self.points += 1;
        if target != device {
            match self.targets.iter_mut().find(|(known, _)| *known == target) {
                Some((_, count)) => *count += 1,
                None => self.targets.push((target, 1)),
            }
        }
    }

    /// The points if exactly the devices that satisfy `idle` are idle.
    fn points_if(&self, idle: impl Fn(DeviceId) -> bool) -> u64 {
        let woken = self.targets.iter().filter(|(target, _)| idle(*target)).map(|(_, count)| count);
        self.points + WAKES_A_DEVICE * woken.sum::<u64>()
    }
}

struct SuccessorRanks<'a> {
    tasks: TaskGraph<'a>,
    paths: PathTimes<'a>,
    missing: Vec<Missing>,
    /// By index of the task.
    waiting: Vec<Option<Box<Waiting>>>,
    /// The ready tasks of each device, with the points that do not depend on which devices are idle.
    ///
    /// An entry here and below is void once its task has started or has other points: then there is another entry.
    queues: Vec<BinaryHeap<Candidate>>,
    /// For each (device, other device): the ready tasks of the first that make an op of the second executable, with the
    /// points that they would have if all other devices were idle.
    wakers: Vec<BinaryHeap<Candidate>>,
    /// The last task that each device got, until it is known to have finished.
    running: Vec<Option<Task>>,
    /// Scratch space of a decision.
    set_aside: Vec<Candidate>,
}

impl<'a> SuccessorRanks<'a> {
    fn new(placed: &'a PlacedGraph<'a>) -> Self {
        let tasks = TaskGraph::new(placed);
        let devices = placed.instance().cluster().device_count();
        let mut missing = vec![Missing::default(); tasks.op_count()];
        for task in tasks.tasks() {
            let index = tasks.index(task);
            for successor in tasks.successors(task).filter(|&successor| tasks.satisfies(task, successor)) {
                missing[successor.index()].count += 1;
                missing[successor.index()].tasks ^= index;
            }
        }
        Self {
            paths: PathTimes::new(placed),
            missing,
            waiting: vec![None; tasks.task_count()],
            queues: vec![BinaryHeap::new(); devices],
            wakers: vec![BinaryHeap::new(); devices * devices],
            running: vec![None; devices],
            set_aside: Vec::new(),
            tasks,
        }
    }

    fn candidate(&self, task: Task, points: u64) -> Candidate {
        Candidate { points, path: Total(self.paths.of(task)), task: Reverse(task) }
    }

    fn waiting(&self, task: Task) -> Option<&Waiting> {
        self.waiting[self.tasks.index(task)].as_deref()
    }

    /// Enters a ready task, or one whose points have changed.
    fn enqueue(&mut self, task: Task) {
        let Some(waiting) = self.waiting(task) else { return };
        let candidate = self.candidate(task, waiting.points);
        let as_waker = Candidate { points: waiting.points_if(|_| true), ..candidate };
        let device = self.tasks.device(task).index();
        let Self { tasks, waiting, queues, wakers, .. } = self;
        let row = device * queues.len();
        queues[device].push(candidate);
        for (target, _) in waiting[tasks.index(task)].iter().flat_map(|waiting| &waiting.targets) {
            wakers[row + target.index()].push(as_waker);
        }
    }

    /// Accounts for tasks that have finished since the last decision. Every device executes only what it gets from
    /// here, so a device that is idle has finished the last of that.
    fn see_what_finished(&mut self, busy: &[bool]) {
        for (device, _) in busy.iter().enumerate().filter(|(_, busy)| !**busy) {
            if let Some(task) = self.running[device].take() {
                self.finish(task);
            }
        }
    }

    fn finish(&mut self, task: Task) {
        let mut changed = Vec::new();
        for successor in self.tasks.successors(task).filter(|&successor| self.tasks.satisfies(task, successor)) {
            let missing = &mut self.missing[successor.index()];
            missing.count -= 1;
            missing.tasks ^= self.tasks.index(task);
            let Some(last) = missing.sole_task().map(|index| self.tasks.task(index)) else { continue };
            // The last task is ready, or it is a send or receive and what has to come before may be, or nothing is.
            for candidate in self.tasks.back_to_op(last) {
                if let Some(waiting) = &mut self.waiting[self.tasks.index(candidate)] {
                    waiting.add(self.tasks.device(candidate), self.tasks.device_of(successor));
                    changed.push(candidate);
                    break;
                }
            }
        }
        changed.sort_unstable();
        changed.dedup();
        for task in changed {
            self.enqueue(task);
        }
    }

    /// The ready task with the most points that do not depend on idle devices.
    fn first_in_queue(&mut self, device: DeviceId) -> Option<Candidate> {
        while let Some(&candidate) = self.queues[device.index()].peek() {
            if self.waiting(candidate.task.0).is_some_and(|waiting| waiting.points == candidate.points) {
                return Some(candidate);
            }
            self.queues[device.index()].pop();
        }
        None
    }

    /// The better of `best` and the best ready task that would wake `target`, an idle device.
    fn best_waker(&mut self, device: DeviceId, target: usize, busy: &[bool], mut best: Candidate) -> Candidate {
        let list = device.index() * busy.len() + target;
        while let Some(&bound) = self.wakers[list].peek() {
            let task = bound.task.0;
            match self.waiting(task) {
                Some(waiting) if waiting.points_if(|_| true) == bound.points => {
                    if bound <= best {
                        break;
                    }
                    let points = waiting.points_if(|target| !busy[target.index()]);
                    best = best.max(Candidate { points, ..bound });
                    self.set_aside.push(bound);
                }
                _ => {}
            }
            self.wakers[list].pop();
        }
        self.wakers[list].extend(self.set_aside.drain(..));
        best
    }
}

impl Policy for SuccessorRanks<'_> {
    fn ready(&mut self, device: DeviceId, task: Task, _: &SimulationState<'_>) {
        let mut waiting = Waiting::default();
        for successor in self.tasks.successors(task) {
            let target = self.tasks.device_of(successor);
            waiting.points += 1 + u64::from(target != device);
            if self.missing[successor.index()].count == 1 {
                waiting.add(device, target);
            }
        }
        let index = self.tasks.index(task);
        self.waiting[index] = Some(Box::new(waiting));
        self.enqueue(task);
    }

    fn next(&mut self, device: DeviceId, state: &SimulationState<'_>) -> Option<Task> {
        if self.queues[device.index()].is_empty() {
            return None;
        }
        self.see_what_finished(state.busy);
        let mut best = self.first_in_queue(device)?;
        for target in (0..state.busy.len()).filter(|&target| target != device.index() && !state.busy[target]) {
            best = self.best_waker(device, target, state.busy, best);
        }
        let task = best.task.0;
        let index = self.tasks.index(task);
        self.waiting[index] = None;
        self.running[device.index()] = Some(task);
        Some(task)
    }
}
