//! Devices as threads, and a scheduler that decides during the run: whenever a device is idle, it chooses among the tasks
//! that are executable then.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use placebench_algorithms::{Policy, SimulationState, StopToken, Task};
use placebench_datasets::{DeviceId, OpId, PlacedGraph, Time, TransferId};

use super::clock::{Nanos, be_precise, now, pin, wait_until};
use super::kernel::Kernels;
use super::mailbox::Mailbox;
use super::memory::{COURIER_PRIORITY, DEVICE_PRIORITY, HEAD_START};
use super::program::{Program, RunTimes};
use super::tensors::{Tensors, locked};
use super::transport::{Fault, Run, Session};
use crate::execute::Order;

/// How often a run looks at the stop token.
const POLL: Nanos = 20_000_000;

/// Devices as threads that are told what to do.
pub(super) struct Dynamic<'a> {
    pub(super) program: &'a Program,
    pub(super) placed: &'a PlacedGraph<'a>,
    /// The tasks of [`Program::devices`].
    pub(super) tasks: &'a [Vec<Task>],
    pub(super) order: Order<'a>,
    pub(super) kernels: Kernels,
    /// Whether each device keeps to a core of its own.
    pub(super) pinned: bool,
    pub(super) tensors: Tensors<'a>,
    /// Real nanoseconds of a time unit.
    pub(super) nanos_per_unit: f64,
}

/// What the threads tell.
enum Event {
    /// A device executed a step.
    Executed { device: usize, step: usize, start: Nanos, end: Nanos },
    /// The bytes of a transfer are there.
    Copied { transfer: usize },
    /// A device found the bytes of a transfer changed.
    Damaged { transfer: usize },
    /// A device gave up.
    GaveUp,
}

impl Session for Dynamic<'_> {
    fn run(&mut self, run: Run, stop: &StopToken) -> Result<RunTimes, Fault> {
        let this = &*self;
        if run.checks {
            this.tensors.clear();
        }
        let (given_up, is_precise, events) = (&AtomicBool::new(false), &Mutex::new(true), &Mailbox::new());
        // Scheduling takes place on a thread that wakes up in time, too.
        let conducted = thread::scope(|scope| {
            scope
                .spawn(|| {
                    be_precise(DEVICE_PRIORITY);
                    let policy = this.order.scheduler.start(this.placed, this.order.plan);
                    let policy = policy.map_err(|error| Fault::Other(error.to_string()))?;
                    thread::scope(|scope| {
                        let (courier, parcels) = channel::<usize>();
                        scope.spawn(move || {
                            be_precise(COURIER_PRIORITY);
                            while let Ok(transfer) = parcels.recv() {
                                this.tensors.copy(transfer);
                                events.send(Event::Copied { transfer });
                            }
                        });
                        let devices = (0..this.program.devices.len()).map(|device| {
                            let (commands, steps) = channel();
                            scope.spawn(move || {
                                if this.pinned {
                                    pin(device);
                                }
                                if !(this.kernels.sleep() && be_precise(DEVICE_PRIORITY)) {
                                    *locked(is_precise) = false;
                                }
                                this.obey(device, &steps, events, run, given_up);
                            });
                            commands
                        });
                        let mut conductor = Conductor::new(this, policy, devices.collect(), courier);
                        let result = conductor.conduct(events, stop);
                        given_up.store(true, Ordering::Relaxed);
                        result
                    })
                })
                .join()
        });
        let times = conducted.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(RunTimes { is_precise: *locked(is_precise), ..times })
    }
}

impl Dynamic<'_> {
    /// Executes the steps of a device as they are ordered.
    fn obey(&self, device: usize, steps: &Receiver<usize>, told: &Mailbox<Event>, run: Run, given_up: &AtomicBool) {
        let mut workspace = self.kernels.workspace();
        while let Ok(index) = steps.recv() {
            let step = &self.program.devices[device][index];
            if run.checks
                && let Some(&transfer) = step.waits_for.iter().find(|&&transfer| !self.tensors.is_intact(transfer))
            {
                told.send(Event::Damaged { transfer });
                return;
            }
            let start = now();
            told.send(match self.kernels.run(step, start, &mut workspace, given_up) {
                true => Event::Executed { device, step: index, start, end: now() },
                false => Event::GaveUp,
            });
        }
    }
}

/// Knows what is executable, asks the scheduler, and tells the devices.
struct Conductor<'a> {
    session: &'a Dynamic<'a>,
    policy: Box<dyn Policy + 'a>,
    devices: Vec<Sender<usize>>,
    courier: Sender<usize>,
    base: Nanos,
    /// For each op, send op and receive op where its step is.
    step_of_op: Vec<usize>,
    step_of_send: Vec<usize>,
    step_of_receive: Vec<usize>,
    /// In-edges from ops that have not finished.
    unfinished: Vec<u32>,
    /// In-edges whose tensor is not there.
    missing: Vec<u32>,
    busy: Vec<bool>,
    /// Executable tasks on each device that wait.
    waiting: Vec<u32>,
    ready: Vec<Task>,
    /// Tensors that are there, but not to be read before an instant.
    under_way: BinaryHeap<Reverse<(Nanos, usize)>>,
    left: usize,
    times: RunTimes,
}

impl<'a> Conductor<'a> {
    fn new(
        session: &'a Dynamic<'a>,
        policy: Box<dyn Policy + 'a>,
        devices: Vec<Sender<usize>>,
        courier: Sender<usize>,
    ) -> Self {
        let graph = session.placed.instance().graph();
        let in_degrees: Vec<u32> = graph.op_ids().map(|op| graph.in_degree(op) as u32).collect();
        let transfers = session.program.moves.len();
        let mut step_of_op = vec![0; graph.op_count()];
        let (mut step_of_send, mut step_of_receive) = (vec![0; transfers], vec![0; transfers]);
        for (index, task) in session.tasks.iter().flat_map(|tasks| tasks.iter().enumerate()) {
            match *task {
                Task::Op(op) => step_of_op[op.index()] = index,
                Task::Send(transfer) => step_of_send[transfer.index()] = index,
                Task::Receive(transfer) => step_of_receive[transfer.index()] = index,
            }
        }
        let count = devices.len();
        let steps = session.program.devices.iter().map(|steps| vec![(0, 0); steps.len()]).collect();
        Self {
            session,
            policy,
            devices,
            courier,
            base: now() + HEAD_START,
            step_of_op,
            step_of_send,
            step_of_receive,
            unfinished: in_degrees.clone(),
            missing: in_degrees,
            busy: vec![false; count],
            waiting: vec![0; count],
            ready: graph.op_ids().filter(|&op| graph.in_degree(op) == 0).map(Task::Op).collect(),
            under_way: BinaryHeap::new(),
            left: session.program.devices.iter().map(Vec::len).sum(),
            times: RunTimes { steps, moves: vec![(0, 0); session.program.moves.len()], is_precise: true },
        }
    }

    /// Runs the program to its end.
    fn conduct(&mut self, events: &Mailbox<Event>, stop: &StopToken) -> Result<RunTimes, Fault> {
        wait_until(self.base, self.session.kernels.ahead, &AtomicBool::new(false));
        loop {
            self.deliver_what_is_due();
            self.decide()?;
            if self.left == 0 {
                return Ok(self.times.clone());
            }
            if !self.busy.contains(&true) && self.under_way.is_empty() && self.waits_in_vain() {
                return Err(Fault::Other("the scheduler came to a standstill: use another scheduler".to_owned()));
            }
            let due = self.under_way.peek().map_or(POLL, |Reverse((instant, _))| (instant - now()).clamp(0, POLL));
            let mut patience = Duration::from_nanos(due as u64);
            while let Some(event) = events.receive(patience) {
                self.take(event)?;
                patience = Duration::ZERO;
            }
            if stop.is_stopped() {
                return Err(Fault::Stopped);
            }
        }
    }

    /// Whether tasks are executable, and no bytes are being copied that could change anything.
    fn waits_in_vain(&self) -> bool {
        let sent = self.times.moves.iter().filter(|&&(start, _)| start != 0).count();
        let read = self.times.moves.iter().filter(|&&(_, end)| end != 0).count();
        sent == read
    }

    fn take(&mut self, event: Event) -> Result<(), Fault> {
        match event {
            Event::GaveUp => return Err(Fault::Stopped),
            Event::Damaged { transfer } => return Err(Fault::Damaged { transfer }),
            Event::Copied { transfer } => {
                let length = self.session.program.moves[transfer].length;
                let instant = now().max(self.base + self.times.moves[transfer].0 + length);
                self.under_way.push(Reverse((instant, transfer)));
            }
            Event::Executed { device, step, start, end } => {
                self.times.steps[device][step] = (start - self.base, end - self.base);
                self.busy[device] = false;
                self.left -= 1;
                for &transfer in &self.session.program.devices[device][step].starts {
                    self.times.moves[transfer].0 = end - self.base;
                    // The courier waits until this is dropped.
                    let _ = self.courier.send(transfer);
                }
                match self.session.tasks[device][step] {
                    Task::Op(op) => self.op_ended(op),
                    Task::Send(_) => {}
                    Task::Receive(transfer) => self.arrived(transfer),
                }
            }
        }
        Ok(())
    }

    fn op_ended(&mut self, op: OpId) {
        let placed = self.session.placed;
        for &consumer in placed.instance().graph().successor_ops(op) {
            self.unfinished[consumer.index()] -= 1;
        }
        for &consumer in placed.local_consumers(op) {
            self.arrive(consumer);
        }
        self.ready.extend(placed.transfers_of(op).filter(|&id| placed.has_send(id)).map(Task::Send));
    }

    /// A tensor can be used where it was sent to.
    fn arrived(&mut self, transfer: TransferId) {
        let placed = self.session.placed;
        for &consumer in placed.remote_consumers(transfer) {
            self.arrive(consumer);
        }
    }

    /// An input of an op is there.
    fn arrive(&mut self, op: OpId) {
        self.missing[op.index()] -= 1;
        if self.missing[op.index()] == 0 {
            self.ready.push(Task::Op(op));
        }
    }

    /// Tensors whose time has passed may be read.
    fn deliver_what_is_due(&mut self) {
        while let Some(&Reverse((instant, transfer))) = self.under_way.peek()
            && instant <= now()
        {
            self.under_way.pop();
            self.times.moves[transfer].1 = instant - self.base;
            let id = TransferId::new(transfer);
            match self.session.placed.has_receive(id) {
                true => self.ready.push(Task::Receive(id)),
                false => self.arrived(id),
            }
        }
    }

    /// Announces what became executable, and asks for each idle device.
    fn decide(&mut self) -> Result<(), Fault> {
        let time: Time = (now() - self.base) as f64 / self.session.nanos_per_unit;
        let placed = self.session.placed;
        let mut ready = std::mem::take(&mut self.ready);
        ready.sort_unstable();
        for task in ready {
            let device = match task {
                Task::Op(op) => placed.device_of(op),
                Task::Send(transfer) => placed.transfer(transfer).from,
                Task::Receive(transfer) => placed.transfer(transfer).to,
            };
            self.waiting[device.index()] += 1;
            let state = SimulationState { now: time, unfinished_inputs: &self.unfinished, busy: &self.busy };
            self.policy.ready(device, task, &state);
        }
        for device in 0..self.devices.len() {
            if self.busy[device] || self.waiting[device] == 0 {
                continue;
            }
            let state = SimulationState { now: time, unfinished_inputs: &self.unfinished, busy: &self.busy };
            let Some(task) = self.policy.next(DeviceId::new(device), &state) else { continue };
            let step = match task {
                Task::Op(op) => self.step_of_op[op.index()],
                Task::Send(transfer) => self.step_of_send[transfer.index()],
                Task::Receive(transfer) => self.step_of_receive[transfer.index()],
            };
            if self.session.tasks[device].get(step) != Some(&task) {
                return Err(Fault::Other(
                    "the scheduler chose a task of another device: use another scheduler".to_owned(),
                ));
            }
            self.waiting[device] -= 1;
            self.busy[device] = true;
            if self.devices[device].send(step).is_err() {
                return Err(Fault::Stopped);
            }
        }
        Ok(())
    }
}
