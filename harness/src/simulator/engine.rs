//! The event loop.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use placebench_algorithms::{Policy, SimulationState, Task};
use placebench_datasets::{DeviceId, OpId, PlacedGraph, Time, Transfer, TransferId};

use super::ports::Ports;
use super::{NetworkModel, Options, SimulationError};
use crate::timeline::{Choice, Timeline};

/// How many rounds pass between two looks at the stop token.
pub(super) const STOP_INTERVAL: u32 = 4096;

/// Events by time, then by id. Times are never negative, so that their bits order as they do, and integers compare
/// faster.
#[derive(Debug, Default)]
pub(super) struct Events(BinaryHeap<Reverse<(u64, u32)>>);

impl Events {
    pub(super) fn push(&mut self, time: Time, id: u32) {
        self.0.push(Reverse((time.to_bits(), id)));
    }

    /// The bits of the time of the next event: larger than those of any time if there is none.
    pub(super) fn next_bits(&self) -> u64 {
        self.0.peek().map_or(u64::MAX, |event| event.0.0)
    }

    /// The next event, if it happens at `time`.
    pub(super) fn pop_at(&mut self, time: Time) -> Option<u32> {
        self.0.peek().filter(|event| event.0.0 == time.to_bits())?;
        self.0.pop().map(|event| event.0.1)
    }
}

struct Engine<'a, 'o> {
    placed: &'a PlacedGraph<'a>,
    policy: Box<dyn Policy + 'a>,
    options: &'o Options<'o>,
    timeline: Timeline,
    now: Time,
    /// For each op, in-edges whose producers have not finished: what policies see.
    unfinished_inputs: Vec<u32>,
    /// For each op, in-edges of which it is not yet known when they deliver. Empty where that is known as soon as the
    /// producer finishes, and `unfinished_inputs` tells.
    unknown_arrivals: Vec<u32>,
    busy: Vec<bool>,
    /// What each busy device executes.
    running: Vec<Task>,
    /// Tasks announced to the policy and not yet started, by device.
    executable: Vec<u32>,
    /// Ends of what the devices execute.
    ends: Events,
    /// Ops whose last input is under way, at its arrival.
    arrivals: Events,
    ports: Option<Ports>,
    transfer_ends: Events,
    /// Tasks that became executable at this instant.
    ready: Vec<Task>,
    /// Transfers that became ready to go at this instant; transfers that just started.
    ready_transfers: Vec<TransferId>,
    started_transfers: Vec<TransferId>,
    /// Devices to ask at this instant, and whether each is among them already.
    to_ask: Vec<DeviceId>,
    is_to_ask: Vec<bool>,
    finished: usize,
    total: usize,
}

/// Executes every task of `placed` in the order that `policy` chooses.
pub(super) fn run<'a>(
    placed: &'a PlacedGraph<'a>,
    policy: Box<dyn Policy + 'a>,
    options: &Options<'_>,
) -> Result<Timeline, SimulationError> {
    let mut engine = Engine::new(placed, policy, options);
    let graph = placed.instance().graph();
    engine.ready.extend(graph.op_ids().filter(|&op| graph.in_degree(op) == 0).map(Task::Op));
    let mut rounds = 0u32;
    loop {
        if rounds.is_multiple_of(STOP_INTERVAL) && options.stop.is_stopped() {
            let (time, finished, total) = (engine.now, engine.finished, engine.total);
            return Err(SimulationError::Stopped { time, finished, total });
        }
        rounds = rounds.wrapping_add(1);
        engine.settle();
        engine.announce();
        engine.decide()?;
        let Some(time) = engine.next_time() else { return engine.finish() };
        engine.now = time;
    }
}

impl<'a, 'o> Engine<'a, 'o> {
    fn new(placed: &'a PlacedGraph<'a>, policy: Box<dyn Policy + 'a>, options: &'o Options<'o>) -> Self {
        let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
        let (ops, transfers, devices) = (graph.op_count(), placed.transfer_count(), cluster.device_count());
        let one_port = options.network == NetworkModel::OnePort;
        let sends = if cluster.send_ops() > 0.0 { transfers } else { 0 };
        let unfinished_inputs: Vec<u32> = graph.op_ids().map(|op| graph.in_degree(op) as u32).collect();
        let unknown_arrivals = if one_port || sends > 0 { unfinished_inputs.clone() } else { Vec::new() };
        let timeline = Timeline {
            network: options.network,
            op_start: vec![0.0; ops],
            op_finish: vec![Time::NAN; ops],
            send_start: vec![Time::NAN; sends],
            send_finish: vec![Time::NAN; sends],
            transfer_start: vec![0.0; if one_port { transfers } else { 0 }],
            makespan: 0.0,
            decisions: 0,
            executable_sum: 0,
            choices: options.record_choices.then(|| Vec::with_capacity(ops + sends)),
        };
        Self {
            placed,
            policy,
            options,
            timeline,
            now: 0.0,
            unfinished_inputs,
            unknown_arrivals,
            busy: vec![false; devices],
            running: vec![Task::Op(OpId(0)); devices],
            executable: vec![0; devices],
            ends: Events::default(),
            arrivals: Events::default(),
            ports: one_port.then(|| Ports::new(cluster.device_count())),
            transfer_ends: Events::default(),
            ready: Vec::new(),
            ready_transfers: Vec::new(),
            started_transfers: Vec::new(),
            to_ask: Vec::with_capacity(devices),
            is_to_ask: vec![false; devices],
            finished: 0,
            total: ops + sends,
        }
    }

    fn next_time(&self) -> Option<Time> {
        let bits = self.ends.next_bits().min(self.arrivals.next_bits()).min(self.transfer_ends.next_bits());
        (bits != u64::MAX).then(|| Time::from_bits(bits))
    }

    /// Takes in everything that ends now, and starts what then can go without a decision, until nothing is left.
    fn settle(&mut self) {
        loop {
            while let Some(device) = self.ends.pop_at(self.now) {
                self.end_task(DeviceId(device));
            }
            while let Some(op) = self.arrivals.pop_at(self.now) {
                self.ready.push(Task::Op(OpId(op)));
            }
            while let Some(transfer) = self.transfer_ends.pop_at(self.now) {
                self.end_transfer(TransferId(transfer));
            }
            if !self.start_transfers() {
                break;
            }
        }
    }

    fn end_task(&mut self, device: DeviceId) {
        self.finished += 1;
        self.busy[device.index()] = false;
        self.ask(device);
        match self.running[device.index()] {
            Task::Op(op) if self.unknown_arrivals.is_empty() => self.end_op_and_look_back(op),
            Task::Op(op) => self.end_op(op),
            Task::Send(transfer) => self.transfer_ready(transfer),
        }
    }

    /// The end of an op where all transfers start at the end of their producers: when the last producer of a consumer
    /// ends, all arrivals follow. Consumers look back, rather than producers forward along their transfers, because what
    /// they read is compact.
    fn end_op_and_look_back(&mut self, op: OpId) {
        let placed = self.placed;
        for &consumer in placed.instance().graph().successor_ops(op) {
            self.finish_input(consumer);
            if self.unfinished_inputs[consumer.index()] == 0 {
                let arrival = self.last_arrival(consumer);
                self.all_known(consumer, arrival);
            }
        }
    }

    /// When the last input of an op arrives, if all its producers have finished and all transfers start at once.
    fn last_arrival(&self, consumer: OpId) -> Time {
        let (graph, cluster) = (self.placed.instance().graph(), self.placed.instance().cluster());
        let to = self.placed.device_of(consumer);
        let arrivals = graph.predecessors(consumer).map(|edge| {
            let (from, finish) = (self.placed.device_of(edge.op), self.timeline.op_finish[edge.op.index()]);
            if from == to { finish } else { finish + cluster.transfer_time(graph.edge_bytes(edge), from, to) }
        });
        arrivals.fold(0.0, Time::max)
    }

    /// The end of an op whose transfers wait for a send op or a port.
    fn end_op(&mut self, op: OpId) {
        let placed = self.placed;
        for &consumer in placed.local_consumers(op) {
            self.finish_input(consumer);
            self.deliver(consumer, self.now);
        }
        for transfer in placed.transfers_of(op) {
            for &consumer in placed.remote_consumers(transfer) {
                self.finish_input(consumer);
            }
            if self.timeline.send_start.is_empty() {
                self.transfer_ready(transfer);
            } else {
                self.ready.push(Task::Send(transfer));
            }
        }
    }

    #[inline]
    fn finish_input(&mut self, consumer: OpId) {
        self.unfinished_inputs[consumer.index()] -= 1;
    }

    /// One input of `consumer` is known to be there at `time`. Until an op starts, its start holds the latest arrival.
    #[inline]
    fn deliver(&mut self, consumer: OpId, time: Time) {
        let index = consumer.index();
        let latest = self.timeline.op_start[index].max(time);
        self.timeline.op_start[index] = latest;
        self.unknown_arrivals[index] -= 1;
        if self.unknown_arrivals[index] == 0 {
            self.all_known(consumer, latest);
        }
    }

    /// The last input of `consumer` will be there at `time`.
    #[inline]
    fn all_known(&mut self, consumer: OpId, time: Time) {
        self.timeline.op_start[consumer.index()] = time;
        if time > self.now {
            self.arrivals.push(time, consumer.0);
        } else {
            self.ready.push(Task::Op(consumer));
        }
    }

    fn transfer_ready(&mut self, transfer: TransferId) {
        match self.options.network {
            NetworkModel::ContentionFree => {
                let arrival = self.now + self.placed.transfer(transfer).time;
                for &consumer in self.placed.remote_consumers(transfer) {
                    self.deliver(consumer, arrival);
                }
            }
            NetworkModel::OnePort => self.ready_transfers.push(transfer),
        }
    }

    /// Starts what finds its ports free; whether anything that started ends at once.
    fn start_transfers(&mut self) -> bool {
        let Some(ports) = &mut self.ports else { return false };
        self.ready_transfers.sort_unstable();
        for &transfer in &self.ready_transfers {
            let Transfer { from, to, .. } = *self.placed.transfer(transfer);
            ports.enqueue(transfer, from, to);
        }
        self.ready_transfers.clear();
        ports.start_waiting(&mut self.started_transfers);
        let mut started = std::mem::take(&mut self.started_transfers);
        let mut ends_now = false;
        for transfer in started.drain(..) {
            let end = self.now + self.placed.transfer(transfer).time;
            self.timeline.transfer_start[transfer.index()] = self.now;
            self.transfer_ends.push(end, transfer.0);
            ends_now |= end == self.now;
        }
        self.started_transfers = started;
        ends_now
    }

    fn end_transfer(&mut self, transfer: TransferId) {
        let placed = self.placed;
        if let Some(ports) = &mut self.ports {
            let Transfer { from, to, .. } = *placed.transfer(transfer);
            ports.release(from, to);
        }
        for &consumer in placed.remote_consumers(transfer) {
            self.deliver(consumer, self.now);
        }
    }

    #[inline]
    fn ask(&mut self, device: DeviceId) {
        if !std::mem::replace(&mut self.is_to_ask[device.index()], true) {
            self.to_ask.push(device);
        }
    }

    fn announce(&mut self) {
        self.ready.sort_unstable();
        let mut ready = std::mem::take(&mut self.ready);
        for task in ready.drain(..) {
            let device = self.device_of(task);
            self.executable[device.index()] += 1;
            if !self.busy[device.index()] {
                self.ask(device);
            }
            let state = SimulationState { now: self.now, unfinished_inputs: &self.unfinished_inputs, busy: &self.busy };
            self.policy.ready(device, task, &state);
        }
        self.ready = ready;
    }

    fn decide(&mut self) -> Result<(), SimulationError> {
        self.to_ask.sort_unstable();
        let mut to_ask = std::mem::take(&mut self.to_ask);
        for device in to_ask.drain(..) {
            self.is_to_ask[device.index()] = false;
            if self.executable[device.index()] == 0 {
                continue;
            }
            let state = SimulationState { now: self.now, unfinished_inputs: &self.unfinished_inputs, busy: &self.busy };
            if let Some(task) = self.policy.next(device, &state) {
                self.start(device, task)?;
            }
        }
        self.to_ask = to_ask;
        Ok(())
    }

    fn start(&mut self, device: DeviceId, task: Task) -> Result<(), SimulationError> {
        if !self.is_executable(device, task) {
            return Err(SimulationError::NotExecutable {
                time: self.now,
                device: self.device_name(device),
                task: self.label(task),
            });
        }
        let executable = self.executable[device.index()];
        if let Some(choices) = &mut self.timeline.choices {
            choices.push(Choice { time: self.now, device, executable });
        }
        self.timeline.decisions += 1;
        self.timeline.executable_sum += u64::from(executable);
        self.executable[device.index()] -= 1;
        let end = match task {
            Task::Op(op) => {
                let end = self.now + self.placed.exec_time(op);
                self.timeline.op_start[op.index()] = self.now;
                self.timeline.op_finish[op.index()] = end;
                end
            }
            Task::Send(transfer) => {
                let end = self.now + self.placed.send_time(transfer);
                self.timeline.send_start[transfer.index()] = self.now;
                self.timeline.send_finish[transfer.index()] = end;
                end
            }
        };
        if !end.is_finite() {
            return Err(SimulationError::Overflow { task: self.label(task) });
        }
        self.timeline.makespan = self.timeline.makespan.max(end);
        self.busy[device.index()] = true;
        self.running[device.index()] = task;
        self.ends.push(end, device.0);
        Ok(())
    }

    /// Whether a task was announced on `device` and has not started: a policy may be wrong.
    fn is_executable(&self, device: DeviceId, task: Task) -> bool {
        match task {
            Task::Op(op) => {
                let index = op.index();
                let unknown = self.unknown_arrivals.get(index).or(self.unfinished_inputs.get(index));
                unknown == Some(&0)
                    && self.placed.device_of(op) == device
                    && self.timeline.op_start[index] <= self.now
                    && self.timeline.op_finish[index].is_nan()
            }
            Task::Send(transfer) => {
                self.timeline.send_start.get(transfer.index()).is_some_and(|start| start.is_nan())
                    && self.placed.transfer(transfer).from == device
                    && self.timeline.op_finish[self.placed.transfer(transfer).source.index()] <= self.now
            }
        }
    }

    #[inline]
    fn device_of(&self, task: Task) -> DeviceId {
        match task {
            Task::Op(op) => self.placed.device_of(op),
            Task::Send(transfer) => self.placed.transfer(transfer).from,
        }
    }

    fn device_name(&self, device: DeviceId) -> String {
        self.placed.instance().cluster().device(device).name.clone()
    }

    fn label(&self, task: Task) -> String {
        let graph = self.placed.instance().graph();
        match task {
            Task::Op(op) if op.index() < graph.op_count() => graph.label(op),
            Task::Send(id) if id.index() < self.placed.transfer_count() => {
                let transfer = self.placed.transfer(id);
                format!("the send from {} to device '{}'", graph.label(transfer.source), self.device_name(transfer.to))
            }
            Task::Op(OpId(id)) => format!("op {id}"),
            Task::Send(TransferId(id)) => format!("send {id}"),
        }
    }

    /// Nothing will happen any more: either all is executed, or the policy left something waiting.
    fn finish(self) -> Result<Timeline, SimulationError> {
        match self.executable.iter().position(|&waiting| waiting > 0) {
            None => {
                debug_assert_eq!(self.finished, self.total);
                Ok(self.timeline)
            }
            Some(device) => Err(SimulationError::Standstill {
                time: self.now,
                finished: self.finished,
                total: self.total,
                device: self.device_name(DeviceId::new(device)),
                waiting: self.executable[device],
            }),
        }
    }
}
