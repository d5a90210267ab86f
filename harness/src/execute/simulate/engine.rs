//! The engine: one loop over the instants of a run, for every device policy and network model.

use placebench_algorithms::{SimulationState, StopToken, Task};
use placebench_datasets::{DeviceId, Instance, OpId, Time, Transfer, TransferId};

use super::events::Events;
use super::network::Network;
use super::noise::CostFactors;
use crate::execute::ExecutionError;
use crate::timeline::{Choice, Interval, Timeline};

/// How many rounds pass between two looks at the stop token.
const STOP_INTERVAL: u32 = 4096;

/// The time of a transfer that has not started.
pub(super) const NEVER: Interval = Interval { start: Time::NAN, end: Time::NAN };

/// Chooses the device of each op, and on each device the next task. Which transfers a run needs follows from the devices.
pub(super) trait DevicePolicy {
    /// Before anything happens.
    fn begin(&mut self, run: &mut Run<'_>);

    /// An op has finished.
    fn op_finished(&mut self, run: &mut Run<'_>, op: OpId);

    /// Gives ops to devices, once everything that happens at this instant has been taken in. Whether it gave any.
    ///
    /// # Errors
    /// If an op cannot get the device that it was given.
    fn give(&mut self, run: &mut Run<'_>) -> Result<bool, ExecutionError>;

    /// The device of an op that has one.
    fn device_of(&self, op: OpId) -> DeviceId;

    /// A transfer, if there is one of that id.
    fn transfer(&self, id: TransferId) -> Option<&Transfer>;

    /// A transfer has started. Alone in the network it would end at `end`.
    fn transfer_started(&mut self, id: TransferId, end: Time);

    /// What a transfer carries can be used at `time`: the transfer has ended or, where that takes time, been received. That is
    /// now, or later if it is known before.
    fn transfer_arrives(&mut self, run: &mut Run<'_>, id: TransferId, time: Time);

    /// A task became executable on a device. All that become executable at an instant are announced in ascending order.
    fn ready(&mut self, device: DeviceId, task: Task, state: &SimulationState<'_>);

    /// The task that an idle device starts now.
    fn next(&mut self, device: DeviceId, state: &SimulationState<'_>) -> Option<Task>;
}

/// Where a run stands.
pub(super) struct Run<'a> {
    pub(super) instance: &'a Instance,
    pub(super) timeline: Timeline,
    pub(super) now: Time,
    /// For each op, in-edges whose producers have not finished: what schedulers see.
    pub(super) unfinished_inputs: Vec<u32>,
    /// For each op, in-edges that deliver at a time not yet known. Empty if the policy works arrivals out for itself.
    unknown_arrivals: Vec<u32>,
    pub(super) busy: Vec<bool>,
    /// What each busy device executes.
    running: Vec<Task>,
    /// Tasks announced to the policy and not yet started, by device.
    executable: Vec<u32>,
    /// Ends of what the devices execute.
    ends: Events,
    /// Ops whose last input is under way, at its arrival.
    arrivals: Events,
    /// Whether transfers can have send ops, and receive ops; ends of transfers that have the latter.
    sends_cost: bool,
    receives_cost: bool,
    receivable: Events,
    /// `None` if every transfer starts when it is ready and takes latency + bytes / rate.
    network: Option<Box<dyn Network + 'a>>,
    /// By how much what happens differs from the costs.
    draw: Option<CostFactors>,
    /// Tasks that became executable at this instant.
    pub(super) ready: Vec<Task>,
    /// Transfers that became ready to go at this instant; transfers that just started.
    ready_transfers: Vec<TransferId>,
    started_transfers: Vec<TransferId>,
    /// Devices to ask at this instant, and whether each is among them already.
    to_ask: Vec<DeviceId>,
    is_to_ask: Vec<bool>,
    finished: usize,
    /// Tasks of the run, as far as they are known.
    pub(super) total: usize,
    /// Whether some ops forward their input: they take no time, and no device.
    some_forward: bool,
}

/// Executes everything that `policy` decides, until nothing happens any more.
///
/// # Errors
/// If the policy answers what it must not, or the stop token asks for it.
pub(super) fn run_to_end<P: DevicePolicy>(
    run: &mut Run<'_>,
    policy: &mut P,
    stop: &StopToken,
) -> Result<(), ExecutionError> {
    policy.begin(run);
    let mut rounds = 0u32;
    loop {
        if rounds.is_multiple_of(STOP_INTERVAL) && stop.is_stopped() {
            return Err(ExecutionError::Stopped { time: run.now, finished: run.finished, total: run.total });
        }
        rounds = rounds.wrapping_add(1);
        run.settle(policy);
        if policy.give(run)? {
            run.settle(policy);
        }
        run.announce(policy);
        run.decide(policy)?;
        let Some(time) = run.next_time() else { return Ok(()) };
        run.now = time;
    }
}

/// How much longer a transfer takes than its costs say.
fn stretch(draw: Option<&CostFactors>, transfer: &Transfer) -> f64 {
    draw.map_or(1.0, |draw| draw.stretch(transfer))
}

impl<'a> Run<'a> {
    /// A run in which nothing has happened. Unless `tracks_arrivals`, the policy works out for itself when the last input
    /// of an op arrives, and reports that by [`Run::all_known`] instead of [`Run::deliver`].
    pub(super) fn new(
        instance: &'a Instance,
        network: Option<Box<dyn Network + 'a>>,
        draw: Option<CostFactors>,
        tracks_arrivals: bool,
    ) -> Self {
        let graph = instance.graph();
        let (ops, devices) = (graph.op_count(), instance.cluster().device_count());
        let unfinished_inputs: Vec<u32> = graph.op_ids().map(|op| graph.in_degree(op) as u32).collect();
        Self {
            instance,
            timeline: Timeline { op_start: vec![0.0; ops], op_finish: vec![Time::NAN; ops], ..Timeline::default() },
            now: 0.0,
            unknown_arrivals: if tracks_arrivals { unfinished_inputs.clone() } else { Vec::new() },
            unfinished_inputs,
            busy: vec![false; devices],
            running: vec![Task::Op(OpId(0)); devices],
            executable: vec![0; devices],
            ends: Events::default(),
            arrivals: Events::default(),
            sends_cost: instance.cluster().sends_cost(),
            receives_cost: instance.cluster().receives_cost(),
            receivable: Events::default(),
            network,
            draw,
            ready: Vec::new(),
            ready_transfers: Vec::new(),
            started_transfers: Vec::new(),
            to_ask: Vec::with_capacity(devices),
            is_to_ask: vec![false; devices],
            finished: 0,
            total: ops,
            some_forward: graph.has_forwarding_ops(),
        }
    }

    /// Whether arrivals are reported by [`Run::deliver`].
    pub(super) fn tracks_arrivals(&self) -> bool {
        !self.unknown_arrivals.is_empty()
    }

    fn next_time(&self) -> Option<Time> {
        let network = self.network.as_ref().map_or(u64::MAX, |network| network.next_bits());
        let arrivals = self.arrivals.next_bits().min(self.receivable.next_bits());
        let bits = self.ends.next_bits().min(arrivals).min(network);
        (bits != u64::MAX).then(|| Time::from_bits(bits))
    }

    /// Takes in everything that ends now, and starts the transfers that can go, until nothing is left.
    fn settle<P: DevicePolicy>(&mut self, policy: &mut P) {
        loop {
            while let Some(device) = self.ends.pop_at(self.now) {
                self.end_task(policy, DeviceId(device));
            }
            while let Some(op) = self.arrivals.pop_at(self.now) {
                self.ready.push(Task::Op(OpId(op)));
            }
            while let Some(transfer) = self.receivable.pop_at(self.now) {
                self.ready.push(Task::Receive(TransferId(transfer)));
            }
            // Both, each time.
            let (moved, forwarded) = (self.settle_network(policy), self.some_forward && self.forward(policy));
            if !moved && !forwarded {
                break;
            }
        }
    }

    /// Ends the ready ops that forward their input, at once: none of them waits for its device. Whether there was one.
    fn forward<P: DevicePolicy>(&mut self, policy: &mut P) -> bool {
        let instance = self.instance;
        let forwards = |task: &Task| matches!(task, Task::Op(op) if instance.graph().forwards(*op));
        let (mut ready, others): (Vec<Task>, Vec<Task>) =
            std::mem::take(&mut self.ready).into_iter().partition(forwards);
        self.ready = others;
        ready.sort_unstable();
        for &task in &ready {
            if let Task::Op(op) = task {
                (self.timeline.op_start[op.index()], self.timeline.op_finish[op.index()]) = (self.now, self.now);
                self.finished += 1;
                policy.op_finished(self, op);
            }
        }
        !ready.is_empty()
    }

    fn end_task<P: DevicePolicy>(&mut self, policy: &mut P, device: DeviceId) {
        self.finished += 1;
        self.busy[device.index()] = false;
        self.ask(device);
        match self.running[device.index()] {
            Task::Op(op) => policy.op_finished(self, op),
            Task::Send(transfer) => self.transfer_ready(policy, transfer),
            Task::Receive(transfer) => policy.transfer_arrives(self, transfer, self.now),
        }
    }

    /// Takes in the transfers that end now, then starts those that can go. Whether one of these ends at once.
    fn settle_network<P: DevicePolicy>(&mut self, policy: &mut P) -> bool {
        let Some(mut network) = self.network.take() else { return false };
        while let Some(id) = network.end(self.now) {
            self.timeline.transfers[id.index()].end = self.now;
            self.transfer_ends(policy, id, self.now);
        }
        self.ready_transfers.sort_unstable();
        for id in self.ready_transfers.drain(..) {
            if let Some(transfer) = policy.transfer(id) {
                network.ready(id, transfer, stretch(self.draw.as_ref(), transfer));
            }
        }
        network.start(self.now, &mut self.started_transfers);
        for id in self.started_transfers.drain(..) {
            self.timeline.transfers[id.index()].start = self.now;
            let alone = policy.transfer(id).map_or(0.0, |transfer| transfer.time);
            policy.transfer_started(id, self.now + alone);
        }
        let ends_now = network.next_bits() == self.now.to_bits();
        self.network = Some(network);
        ends_now
    }

    /// One in-edge of `consumer` has its producer finished.
    #[inline]
    pub(super) fn finish_input(&mut self, consumer: OpId) -> u32 {
        self.unfinished_inputs[consumer.index()] -= 1;
        self.unfinished_inputs[consumer.index()]
    }

    /// One input of `consumer` is there at `time`. Until an op starts, its start holds the latest arrival.
    #[inline]
    pub(super) fn deliver(&mut self, consumer: OpId, time: Time) {
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
    pub(super) fn all_known(&mut self, consumer: OpId, time: Time) {
        self.timeline.op_start[consumer.index()] = time;
        if time > self.now {
            self.arrivals.push(time, consumer.0);
        } else {
            self.ready.push(Task::Op(consumer));
        }
    }

    /// A transfer can go from now on.
    pub(super) fn transfer_ready<P: DevicePolicy>(&mut self, policy: &mut P, id: TransferId) {
        if self.network.is_some() {
            self.ready_transfers.push(id);
            return;
        }
        let time = |transfer: &Transfer| transfer.time * stretch(self.draw.as_ref(), transfer);
        let end = self.now + policy.transfer(id).map_or(0.0, time);
        if let Some(recorded) = self.timeline.transfers.get_mut(id.index()) {
            *recorded = Interval { start: self.now, end };
        }
        self.transfer_ends(policy, id, end);
    }

    /// A transfer ends at `time`, which may be later: what it carries is there then, or can be received.
    fn transfer_ends<P: DevicePolicy>(&mut self, policy: &mut P, id: TransferId, time: Time) {
        if !self.receives_cost || self.receive_time(policy, id) == 0.0 {
            policy.transfer_arrives(self, id, time);
        } else if time > self.now {
            self.receivable.push(time, id.0);
        } else {
            self.ready.push(Task::Receive(id));
        }
    }

    fn send_time<P: DevicePolicy>(&self, policy: &P, id: TransferId) -> Time {
        let time = |of: &Transfer| self.instance.cluster().send_time(of.bytes, of.from, of.to);
        policy.transfer(id).map_or(0.0, time)
    }

    fn receive_time<P: DevicePolicy>(&self, policy: &P, id: TransferId) -> Time {
        let time = |of: &Transfer| self.instance.cluster().receive_time(of.bytes, of.from, of.to);
        policy.transfer(id).map_or(0.0, time)
    }

    /// What a send or receive op takes on its device in this draw.
    fn drawn<P: DevicePolicy>(&self, policy: &P, id: TransferId, device: DeviceId, cost: Time) -> Time {
        match (self.draw, policy.transfer(id)) {
            (Some(draw), Some(transfer)) => cost * (draw.stretch(transfer) * draw.slowness(device)),
            _ => cost,
        }
    }

    #[inline]
    fn ask(&mut self, device: DeviceId) {
        if !std::mem::replace(&mut self.is_to_ask[device.index()], true) {
            self.to_ask.push(device);
        }
    }

    fn state(&self) -> SimulationState<'_> {
        SimulationState { now: self.now, unfinished_inputs: &self.unfinished_inputs, busy: &self.busy }
    }

    fn announce<P: DevicePolicy>(&mut self, policy: &mut P) {
        self.ready.sort_unstable();
        let mut ready = std::mem::take(&mut self.ready);
        for task in ready.drain(..) {
            let device = match task {
                Task::Op(op) => policy.device_of(op),
                Task::Send(id) => policy.transfer(id).map_or(DeviceId(0), |transfer| transfer.from),
                Task::Receive(id) => policy.transfer(id).map_or(DeviceId(0), |transfer| transfer.to),
            };
            self.executable[device.index()] += 1;
            if !self.busy[device.index()] {
                self.ask(device);
            }
            policy.ready(device, task, &self.state());
        }
        self.ready = ready;
    }

    fn decide<P: DevicePolicy>(&mut self, policy: &mut P) -> Result<(), ExecutionError> {
        self.to_ask.sort_unstable();
        let mut to_ask = std::mem::take(&mut self.to_ask);
        for device in to_ask.drain(..) {
            self.is_to_ask[device.index()] = false;
            if self.executable[device.index()] == 0 {
                continue;
            }
            if let Some(task) = policy.next(device, &self.state()) {
                self.start(policy, device, task)?;
            }
        }
        self.to_ask = to_ask;
        Ok(())
    }

    fn start<P: DevicePolicy>(&mut self, policy: &P, device: DeviceId, task: Task) -> Result<(), ExecutionError> {
        if !self.is_executable(policy, device, task) {
            return Err(ExecutionError::NotExecutable {
                time: self.now,
                device: self.device_name(device),
                task: self.label(policy, task),
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
                let cost = self.instance.exec_time(op, device);
                let factor = |draw: CostFactors| draw.op_factor(self.instance, op, device);
                let end = self.now + self.draw.map_or(cost, |draw| cost * factor(draw));
                self.timeline.op_start[op.index()] = self.now;
                self.timeline.op_finish[op.index()] = end;
                end
            }
            Task::Send(transfer) => {
                let end = self.now + self.drawn(policy, transfer, device, self.send_time(policy, transfer));
                self.timeline.sends[transfer.index()] = Some(Interval { start: self.now, end });
                end
            }
            Task::Receive(transfer) => {
                let end = self.now + self.drawn(policy, transfer, device, self.receive_time(policy, transfer));
                self.timeline.receives[transfer.index()] = Some(Interval { start: self.now, end });
                end
            }
        };
        self.timeline.makespan = self.timeline.makespan.max(end);
        self.busy[device.index()] = true;
        self.running[device.index()] = task;
        self.ends.push(end, device.0);
        Ok(())
    }

    /// Whether a task was announced on `device` and has not started: a policy may be wrong.
    fn is_executable<P: DevicePolicy>(&self, policy: &P, device: DeviceId, task: Task) -> bool {
        match task {
            Task::Op(op) => {
                let index = op.index();
                let unknown = self.unknown_arrivals.get(index).or(self.unfinished_inputs.get(index));
                unknown == Some(&0)
                    && policy.device_of(op) == device
                    && self.timeline.op_start[index] <= self.now
                    && self.timeline.op_finish[index].is_nan()
            }
            Task::Send(id) => {
                let has_not_started = self.timeline.sends.get(id.index()).is_some_and(Option::is_none);
                let is_produced = |transfer: &Transfer| self.timeline.op_finish[transfer.source.index()] <= self.now;
                has_not_started
                    && self.send_time(policy, id) > 0.0
                    && policy.transfer(id).is_some_and(|transfer| transfer.from == device && is_produced(transfer))
            }
            Task::Receive(id) => {
                let has_not_started = self.timeline.receives.get(id.index()).is_some_and(Option::is_none);
                let has_ended = self.timeline.transfers.get(id.index()).is_some_and(|at| at.end <= self.now);
                has_not_started
                    && has_ended
                    && self.receive_time(policy, id) > 0.0
                    && policy.transfer(id).is_some_and(|transfer| transfer.to == device)
            }
        }
    }

    /// Makes room for one more transfer, with a send and a receive op if such take time.
    pub(super) fn add_transfer(&mut self) {
        self.timeline.transfers.push(NEVER);
        if self.sends_cost {
            self.timeline.sends.push(None);
        }
        if self.receives_cost {
            self.timeline.receives.push(None);
        }
    }

    fn device_name(&self, device: DeviceId) -> String {
        self.instance.cluster().device(device).name.clone()
    }

    fn label<P: DevicePolicy>(&self, policy: &P, task: Task) -> String {
        let graph = self.instance.graph();
        match task {
            Task::Op(op) if op.index() < graph.op_count() => graph.label(op),
            Task::Op(OpId(id)) => format!("op {id}"),
            Task::Send(id) => match policy.transfer(id) {
                Some(Transfer { source, to, .. }) => {
                    format!("the send from {} to device '{}'", graph.label(*source), self.device_name(*to))
                }
                None => format!("send {id}"),
            },
            Task::Receive(id) => match policy.transfer(id) {
                Some(Transfer { source, from, .. }) => {
                    format!("the receive from {} on device '{}'", graph.label(*source), self.device_name(*from))
                }
                None => format!("receive {id}"),
            },
        }
    }

    /// An error if a device has executable tasks left.
    ///
    /// # Errors
    /// [`ExecutionError::Standstill`].
    pub(super) fn check_finished(&self) -> Result<(), ExecutionError> {
        let Some(device) = self.executable.iter().position(|&waiting| waiting > 0) else {
            debug_assert_eq!(self.finished, self.total);
            return Ok(());
        };
        Err(ExecutionError::Standstill {
            time: self.now,
            finished: self.finished,
            total: self.total,
            device: self.device_name(DeviceId::new(device)),
            waiting: self.executable[device],
        })
    }
}
