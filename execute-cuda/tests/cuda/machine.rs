//! A model of streams, events and device memory that executes a plan in any order that CUDA allows.

use std::collections::{HashMap, VecDeque};

use placebench_algorithms::Task;
use placebench_datasets::{PlacedGraph, TensorId};
use placebench_execute_cuda::kernels::{Mark, Marks};
use placebench_execute_cuda::memory::MemoryPlan;
use placebench_execute_cuda::plan::{Action, Activity, Command, CommandPlan, Stream};

/// Executes a plan on a number of hardware queues and answers with the order in which activities ended. `choose` gets the
/// number of queues that can go on and picks one.
///
/// What is checked knows nothing of how plans are made: the edges of the graph, and marks in memory, which a task that starts
/// too early does not find, and a tensor that lies in another's place destroys.
pub(crate) fn execute(
    placed: &PlacedGraph<'_>,
    plan: &CommandPlan,
    memory: &MemoryPlan,
    hardware_queues: usize,
    mut choose: impl FnMut(usize) -> usize,
) -> Result<Vec<Activity>, String> {
    // A wait means the last record issued before it; without one it means nothing.
    let mut recorded = vec![false; plan.events as usize];
    let mut queues = vec![VecDeque::new(); hardware_queues.min(plan.streams.len())];
    let count = queues.len();
    for command in &plan.commands {
        let holds = match command.action {
            Action::Wait(event) => recorded[event as usize],
            Action::Record(event) => {
                assert!(!std::mem::replace(&mut recorded[event as usize], true), "an event is recorded once");
                true
            }
            Action::Run(_) => true,
        };
        if holds {
            queues[command.stream % count].push_back(*command);
        }
    }
    let mut happened = vec![false; plan.events as usize];
    let mut state = State::new(placed, memory);
    loop {
        let can_go_on = |queue: &VecDeque<_>| match queue.front() {
            None => false,
            Some(Command { action: Action::Wait(event), .. }) => happened[*event as usize],
            Some(_) => true,
        };
        let ready: Vec<usize> = (0..count).filter(|&queue| can_go_on(&queues[queue])).collect();
        if ready.is_empty() {
            let left: usize = queues.iter().map(VecDeque::len).sum();
            return if left == 0 { state.finish() } else { Err(format!("a standstill with {left} commands left")) };
        }
        let queue = ready[choose(ready.len())];
        let command = queues[queue].pop_front().expect("a command");
        match command.action {
            Action::Wait(_) => {}
            Action::Record(event) => happened[event as usize] = true,
            Action::Run(activity) => state.run(activity, plan.streams[command.stream])?,
        }
    }
}

struct State<'a> {
    placed: &'a PlacedGraph<'a>,
    memory: &'a MemoryPlan,
    marks: Marks,
    /// What stands at each offset of each device.
    contents: Vec<HashMap<u64, u64>>,
    ended: Vec<Activity>,
}

impl<'a> State<'a> {
    fn new(placed: &'a PlacedGraph<'a>, memory: &'a MemoryPlan) -> Self {
        let devices = placed.instance().cluster().device_count();
        let marks = Marks::new(placed, memory);
        Self { placed, memory, marks, contents: vec![HashMap::new(); devices], ended: Vec::new() }
    }

    fn needs(&self, activity: Activity, needed: Activity) -> Result<(), String> {
        if self.ended.contains(&needed) { Ok(()) } else { Err(format!("{activity:?} ran before {needed:?} had ended")) }
    }

    fn run(&mut self, activity: Activity, stream: Stream) -> Result<(), String> {
        if self.ended.contains(&activity) {
            return Err(format!("{activity:?} ran twice"));
        }
        let (graph, placed) = (self.placed.instance().graph(), self.placed);
        match activity {
            Activity::Task(Task::Op(op)) => {
                let device = placed.device_of(op);
                assert_eq!(stream, Stream::Compute(device), "ops run on their device");
                for edge in graph.predecessors(op) {
                    self.needs(activity, Activity::Task(Task::Op(edge.op)))?;
                    if placed.device_of(edge.op) != device {
                        let carries = |id: &_| {
                            let transfer = placed.transfer(*id);
                            (transfer.source, transfer.tensor, transfer.to) == (edge.op, edge.tensor, device)
                        };
                        let id = placed.transfer_ids().find(carries).expect("a transfer");
                        self.needs(activity, Activity::Transfer(id))?;
                    }
                }
                let contents = &mut self.contents[device.index()];
                for Mark { offset, mark } in &self.marks.inputs[op.index()] {
                    if contents.get(offset) != Some(mark) {
                        return Err(format!("{activity:?} found another value at {offset}"));
                    }
                }
                contents.extend(self.marks.outputs[op.index()].iter().map(|mark| (mark.offset, mark.mark)));
            }
            Activity::Task(Task::Receive(_)) => return Err(format!("{activity:?} is never planned")),
            Activity::Task(Task::Send(id)) => {
                let transfer = placed.transfer(id);
                assert_eq!(stream, Stream::Compute(transfer.from), "sends run on the sender");
                self.needs(activity, Activity::Task(Task::Op(transfer.source)))?;
            }
            Activity::Transfer(id) => {
                let transfer = *placed.transfer(id);
                assert_eq!(stream, Stream::Copy { from: transfer.from, to: transfer.to }, "copies have their stream");
                let sends_cost = placed.instance().cluster().send_ops() > 0.0;
                self.needs(
                    activity,
                    Activity::Task(if sends_cost { Task::Send(id) } else { Task::Op(transfer.source) }),
                )?;
                if let Some(tensor) = transfer.tensor {
                    let (from, to) = (self.memory.produced(tensor), self.memory.received(id));
                    let source = &self.contents[transfer.from.index()];
                    let moved = source.iter().filter(|&(&at, _)| (from..from + transfer.bytes).contains(&at));
                    let moved: Vec<_> = moved.map(|(&at, &mark)| (at - from + to, mark)).collect();
                    self.contents[transfer.to.index()].extend(moved);
                }
            }
        }
        self.ended.push(activity);
        Ok(())
    }

    fn finish(self) -> Result<Vec<Activity>, String> {
        let sends = if self.placed.instance().cluster().send_ops() > 0.0 { self.placed.transfer_count() } else { 0 };
        let expected = self.placed.instance().graph().op_count() + sends + self.placed.transfer_count();
        if self.ended.len() == expected {
            Ok(self.ended)
        } else {
            Err(format!("{} of {expected} tasks", self.ended.len()))
        }
    }
}

/// Whether tensors that are alive at the same time lie apart on each device, told from the order alone: a tensor that is sent
/// or received is alive during the whole step, another one from its op to its last reader.
pub(crate) fn check_apart(placed: &PlacedGraph<'_>, memory: &MemoryPlan, order: &[Task]) {
    let graph = placed.instance().graph();
    let position = |op| order.iter().position(|&task| task == Task::Op(op)).expect("an op");
    let mut alive: Vec<Vec<(u64, u64, usize, usize)>> = vec![Vec::new(); memory.device_bytes().len()];
    for tensor in (0..graph.tensor_count()).map(TensorId::new) {
        let producer = graph.producer(tensor);
        let (offset, bytes) = (memory.produced(tensor), graph.tensor_bytes(tensor));
        let readers = graph.successors(producer).filter(|edge| edge.tensor == Some(tensor));
        let last = readers.map(|edge| position(edge.op)).fold(position(producer), usize::max);
        let is_sent = placed.transfers().iter().any(|transfer| transfer.tensor == Some(tensor));
        let span = if is_sent { (position(producer), usize::MAX) } else { (position(producer), last) };
        alive[placed.device_of(producer).index()].push((offset, offset + bytes, span.0, span.1));
    }
    for id in placed.transfer_ids() {
        let (transfer, offset) = (placed.transfer(id), memory.received(id));
        alive[transfer.to.index()].push((offset, offset + transfer.bytes, 0, usize::MAX));
    }
    for (device, tensors) in alive.iter().enumerate() {
        let resident: u64 =
            graph.op_ids().filter(|&op| placed.device_of(op).index() == device).map(|op| graph.memory_bytes(op)).sum();
        for (index, a) in tensors.iter().enumerate().filter(|(_, a)| a.0 < a.1) {
            assert!(a.1 <= memory.device_bytes()[device], "tensors lie within the region");
            assert!(a.0 >= resident, "resident memory lies below all tensors");
            for b in tensors[..index].iter().filter(|b| b.0 < b.1) {
                let (in_time, in_space) = (a.2 <= b.3 && b.2 <= a.3, a.0 < b.1 && b.0 < a.1);
                assert!(!(in_time && in_space), "{a:?} and {b:?} overlap on device {device}");
            }
        }
    }
}
