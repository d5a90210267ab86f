//! Runs in which each op's device is chosen when the op becomes ready.

use std::collections::VecDeque;

use placebench_algorithms::{Assignment, OnlinePlacer, OnlinePolicy, OnlineState, PlaceError, Task};
use placebench_datasets::{DeviceId, Edge, Instance, OpId, PlacedGraph, Placement, TensorId, Time, TransferId, UnitId};

use super::engine::{Events, STOP_INTERVAL};
use super::ports::Ports;
use super::{NetworkModel, Options, SimulationError};
use crate::timeline::Timeline;

/// Ends a list.
const NONE: u32 = u32::MAX;

/// What an online run gave.
#[derive(Clone, Debug, PartialEq)]
pub struct OnlineRun {
    /// The device of each op.
    pub placement: Placement,
    /// When everything happened, for the [`PlacedGraph`] of that placement.
    pub timeline: Timeline,
}

/// Why an online run came to no end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OnlineError {
    /// No device can take a unit beside what was placed before.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The run was stopped, or a time left the range of numbers.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// The policy gave an op to a device that it must not give it to.
    #[error("at {time} the placer gave {op} to device '{device}', but {fault}")]
    BadChoice {
        /// When.
        time: Time,
        /// The op.
        op: String,
        /// The device.
        device: String,
        /// What is wrong.
        fault: &'static str,
    },
    /// Ready ops were left though a device could take them, and nothing can happen any more.
    #[error("the placer came to a standstill at {time}: {op} is ready, and {waiting} op(s) were given to no device")]
    Standstill {
        /// The instant of the last event.
        time: Time,
        /// The first ready op that has no device.
        op: String,
        /// How many ops have none.
        waiting: usize,
    },
}

/// Executes an instance in simulated time, and lets a placer choose the device of each op once its predecessors have
/// finished.
///
/// The inputs of an op that are on other devices are sent when the op is given to its device: a tensor once for each device,
/// so that one that is there or on its way is not sent again. A device executes its ops in the order in which they were given
/// to it, each as soon as its inputs are there; where sends cost something, what it has to send comes first. Everything else
/// is as in [`simulate`](super::simulate): instants, network models, receives that cost nothing. [`Options::plan`] and
/// [`Options::record_choices`] mean nothing here, and [`Timeline::decisions`] is 0: no device chooses.
///
/// # Errors
/// If a unit fits nowhere, the policy answers what it must not, the stop token asks for it, or a time overflows.
///
/// # Complexity
/// With X transfers and a policy that decides in O(1): O((ops + X) · log + edges · devices) under `contention_free`, since
/// the transfers of a tensor are a list.
pub fn simulate_online(
    instance: &Instance,
    placer: &dyn OnlinePlacer,
    options: &Options<'_>,
) -> Result<OnlineRun, OnlineError> {
    let mut run = Run::new(instance, options.network);
    let mut policy = placer.start(instance);
    let graph = instance.graph();
    run.ready.extend(graph.op_ids().filter(|&op| graph.in_degree(op) == 0));
    let mut rounds = 0u32;
    loop {
        if rounds.is_multiple_of(STOP_INTERVAL) && options.stop.is_stopped() {
            let (time, finished, total) = (run.now, run.finished, graph.op_count());
            return Err(SimulationError::Stopped { time, finished, total }.into());
        }
        rounds = rounds.wrapping_add(1);
        run.settle();
        run.announce(&mut *policy);
        while let Some((op, device)) = policy.next(&run) {
            run.give(op, device)?;
        }
        run.settle();
        run.start_tasks()?;
        let Some(time) = run.next_time() else { return run.finish() };
        run.now = time;
    }
}

/// A tensor or control signal on its way to a device.
#[derive(Clone, Copy, Debug)]
struct Moving {
    source: OpId,
    tensor: Option<TensorId>,
    from: DeviceId,
    to: DeviceId,
    time: Time,
    send_start: Time,
    send_finish: Time,
    start: Time,
    /// When it arrives, or is expected to.
    end: Time,
    has_arrived: bool,
    /// The next transfer of the same output.
    next: u32,
    /// The first in the list of ops that wait for it.
    waiters: u32,
}

struct Run<'a> {
    instance: &'a Instance,
    network: NetworkModel,
    now: Time,
    assignment: Assignment<'a>,
    /// For each op, in-edges whose producers have not finished.
    unfinished_inputs: Vec<u32>,
    /// For each op that has a device, inputs that are not there yet.
    absent_inputs: Vec<u32>,
    /// Ops that became ready at this instant.
    ready: Vec<OpId>,
    is_ready: Vec<bool>,
    is_given: Vec<bool>,
    given: usize,
    start: Vec<Time>,
    end: Vec<Time>,
    finished: usize,
    makespan: Time,
    /// What each device executes, and what it was given and has not started.
    running: Vec<Option<Task>>,
    queues: Vec<VecDeque<OpId>>,
    sends: Vec<VecDeque<u32>>,
    free_at: Vec<Time>,
    transfers: Vec<Moving>,
    /// The first transfer of each tensor, and of each op's control signal.
    first_of_tensor: Vec<u32>,
    first_of_control: Vec<u32>,
    /// Ops that wait for transfers, each with the next in its list.
    waiters: Vec<(OpId, u32)>,
    ports: Option<Ports>,
    ready_transfers: Vec<u32>,
    started_transfers: Vec<TransferId>,
    task_ends: Events,
    transfer_ends: Events,
    /// Devices that may be able to start something.
    touched: Vec<DeviceId>,
}

impl OnlineState for Run<'_> {
    fn now(&self) -> Time {
        self.now
    }

    fn assignment(&self) -> &Assignment<'_> {
        &self.assignment
    }

    fn is_idle(&self, device: DeviceId) -> bool {
        let index = device.index();
        self.running[index].is_none() && self.queues[index].is_empty() && self.sends[index].is_empty()
    }

    fn free_at(&self, device: DeviceId) -> Time {
        self.free_at[device.index()].max(self.now)
    }

    fn arrivals(&self, op: OpId, times: &mut [Time]) {
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        times.fill(self.now);
        let mut row = vec![0.0; times.len()];
        for edge in graph.predecessors(op) {
            let Some(from) = self.assignment.device_of(edge.op) else { continue };
            let (bytes, delay) = (graph.edge_bytes(edge) as f64, cluster.send_time(from));
            let links = cluster.rates_from(from).iter().zip(cluster.latencies_from(from));
            for (time, (&rate, &latency)) in row.iter_mut().zip(links) {
                *time = self.now + delay + (latency + bytes / rate);
            }
            row[from.index()] = self.now;
            for moving in self.transfers_of(edge) {
                row[moving.to.index()] = moving.end;
            }
            for (time, &arrival) in times.iter_mut().zip(&row) {
                *time = time.max(arrival);
            }
        }
    }
}

impl<'a> Run<'a> {
    fn new(instance: &'a Instance, network: NetworkModel) -> Self {
        let (graph, devices) = (instance.graph(), instance.cluster().device_count());
        let ops = graph.op_count();
        Self {
            instance,
            network,
            now: 0.0,
            assignment: Assignment::new(instance),
            unfinished_inputs: graph.op_ids().map(|op| graph.in_degree(op) as u32).collect(),
            absent_inputs: vec![0; ops],
            ready: Vec::new(),
            is_ready: vec![false; ops],
            is_given: vec![false; ops],
            given: 0,
            start: vec![0.0; ops],
            end: vec![0.0; ops],
            finished: 0,
            makespan: 0.0,
            running: vec![None; devices],
            queues: vec![VecDeque::new(); devices],
            sends: vec![VecDeque::new(); devices],
            free_at: vec![0.0; devices],
            transfers: Vec::new(),
            first_of_tensor: vec![NONE; graph.tensor_count()],
            first_of_control: vec![NONE; ops],
            waiters: Vec::new(),
            ports: (network == NetworkModel::OnePort).then(|| Ports::new(devices)),
            ready_transfers: Vec::new(),
            started_transfers: Vec::new(),
            task_ends: Events::default(),
            transfer_ends: Events::default(),
            touched: Vec::new(),
        }
    }

    fn next_time(&self) -> Option<Time> {
        let bits = self.task_ends.next_bits().min(self.transfer_ends.next_bits());
        (bits != u64::MAX).then(|| Time::from_bits(bits))
    }

    /// The transfers so far of what an edge carries.
    fn transfers_of(&self, edge: Edge) -> impl Iterator<Item = &Moving> {
        let first = match edge.tensor {
            Some(tensor) => self.first_of_tensor[tensor.index()],
            None => self.first_of_control[edge.op.index()],
        };
        let get = |id: u32| self.transfers.get(id as usize);
        std::iter::successors(get(first), move |moving| get(moving.next))
    }

    /// Takes in everything that ends now, and starts the transfers that can go, until nothing is left.
    fn settle(&mut self) {
        loop {
            while let Some(device) = self.task_ends.pop_at(self.now) {
                self.end_task(DeviceId(device));
            }
            while let Some(transfer) = self.transfer_ends.pop_at(self.now) {
                self.end_transfer(transfer);
            }
            if !self.start_transfers() {
                break;
            }
        }
    }

    fn end_task(&mut self, device: DeviceId) {
        self.touched.push(device);
        match self.running[device.index()].take() {
            Some(Task::Op(op)) => {
                self.finished += 1;
                for &consumer in self.instance.graph().successor_ops(op) {
                    self.unfinished_inputs[consumer.index()] -= 1;
                    if self.unfinished_inputs[consumer.index()] == 0 {
                        self.ready.push(consumer);
                    }
                }
            }
            Some(Task::Send(transfer)) => self.ready_transfers.push(transfer.0),
            None => {}
        }
    }

    fn end_transfer(&mut self, id: u32) {
        let Moving { from, to, waiters, .. } = self.transfers[id as usize];
        self.transfers[id as usize].has_arrived = true;
        if let Some(ports) = &mut self.ports {
            ports.release(from, to);
        }
        let mut next = waiters;
        while let Some(&(op, after)) = self.waiters.get(next as usize) {
            self.absent_inputs[op.index()] -= 1;
            next = after;
        }
        self.touched.push(to);
    }

    /// Starts what finds its ports free; whether anything that started ends at once.
    fn start_transfers(&mut self) -> bool {
        let mut started = std::mem::take(&mut self.started_transfers);
        match &mut self.ports {
            None => started.extend(self.ready_transfers.drain(..).map(TransferId)),
            Some(ports) => {
                self.ready_transfers.sort_unstable();
                for id in self.ready_transfers.drain(..) {
                    let Moving { from, to, .. } = self.transfers[id as usize];
                    ports.enqueue(TransferId(id), from, to);
                }
                ports.start_waiting(&mut started);
            }
        }
        let mut ends_now = false;
        for transfer in started.drain(..) {
            let moving = &mut self.transfers[transfer.index()];
            moving.start = self.now;
            moving.end = self.now + moving.time;
            self.transfer_ends.push(moving.end, transfer.0);
            ends_now |= moving.end == self.now;
        }
        self.started_transfers = started;
        ends_now
    }

    fn announce(&mut self, policy: &mut dyn OnlinePolicy) {
        if self.ready.is_empty() {
            return;
        }
        let mut ready = std::mem::take(&mut self.ready);
        ready.sort_unstable();
        for &op in &ready {
            self.is_ready[op.index()] = true;
        }
        policy.ready(&ready, self);
        ready.clear();
        self.ready = ready;
    }

    /// Binds an op to a device and sends what it lacks there.
    fn give(&mut self, op: OpId, device: DeviceId) -> Result<(), OnlineError> {
        self.check_choice(op, device)?;
        let (graph, unit) = (self.instance.graph(), self.instance.units().unit_of(op));
        if self.assignment.device_of_unit(unit).is_none() {
            self.assignment.assign(unit, device);
        }
        let mut arrival = self.now;
        for edge in graph.predecessors(op) {
            if self.assignment.device_of(edge.op) == Some(device) {
                continue;
            }
            let id = self.moved_to(edge, device);
            let moving = &mut self.transfers[id as usize];
            arrival = arrival.max(moving.end);
            if !moving.has_arrived {
                self.waiters.push((op, moving.waiters));
                moving.waiters = self.waiters.len() as u32 - 1;
                self.absent_inputs[op.index()] += 1;
            }
        }
        let free = &mut self.free_at[device.index()];
        *free = free.max(arrival) + self.instance.exec_time(op, device);
        self.is_given[op.index()] = true;
        self.given += 1;
        self.queues[device.index()].push_back(op);
        self.touched.push(device);
        Ok(())
    }

    fn check_choice(&self, op: OpId, device: DeviceId) -> Result<(), OnlineError> {
        let (graph, cluster, units) = (self.instance.graph(), self.instance.cluster(), self.instance.units());
        let is_known = op.index() < graph.op_count() && device.index() < cluster.device_count();
        let fault = if !is_known {
            "there is no such op or device"
        } else if !self.is_ready[op.index()] {
            "it is not ready"
        } else if self.is_given[op.index()] {
            "it was given to a device before"
        } else {
            let unit = units.unit_of(op);
            match self.assignment.device_of_unit(unit) {
                Some(bound) if bound == device => return Ok(()),
                Some(_) => "its colocation group is on another",
                None if self.assignment.is_feasible(unit, device) => return Ok(()),
                None => "the device is of another kind, or full",
            }
        };
        let op = if op.index() < graph.op_count() { graph.label(op) } else { format!("op {op}") };
        let device =
            cluster.devices().get(device.index()).map_or_else(|| device.to_string(), |found| found.name.clone());
        Err(OnlineError::BadChoice { time: self.now, op, device, fault })
    }

    /// The transfer of what an edge carries to a device, made now if there is none.
    fn moved_to(&mut self, edge: Edge, to: DeviceId) -> u32 {
        let first = match edge.tensor {
            Some(tensor) => self.first_of_tensor[tensor.index()],
            None => self.first_of_control[edge.op.index()],
        };
        let mut id = first;
        while let Some(moving) = self.transfers.get(id as usize) {
            if moving.to == to {
                return id;
            }
            id = moving.next;
        }
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        // A producer has finished, so it has a device.
        let from = self.assignment.device_of(edge.op).unwrap_or(to);
        let (time, delay) = (cluster.transfer_time(graph.edge_bytes(edge), from, to), cluster.send_time(from));
        let id = self.transfers.len() as u32;
        self.transfers.push(Moving {
            source: edge.op,
            tensor: edge.tensor,
            from,
            to,
            time,
            send_start: self.now,
            send_finish: self.now,
            start: self.now,
            end: self.now + delay + time,
            has_arrived: false,
            next: first,
            waiters: NONE,
        });
        match edge.tensor {
            Some(tensor) => self.first_of_tensor[tensor.index()] = id,
            None => self.first_of_control[edge.op.index()] = id,
        }
        if cluster.send_ops() > 0.0 {
            self.free_at[from.index()] = self.free_at[from.index()].max(self.now) + delay;
            self.sends[from.index()].push_back(id);
            self.touched.push(from);
        } else {
            self.ready_transfers.push(id);
        }
        id
    }

    /// Every device that does nothing starts what it can.
    fn start_tasks(&mut self) -> Result<(), OnlineError> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable();
        touched.dedup();
        for device in touched.drain(..) {
            self.start_task(device)?;
        }
        self.touched = touched;
        Ok(())
    }

    fn start_task(&mut self, device: DeviceId) -> Result<(), OnlineError> {
        let index = device.index();
        if self.running[index].is_some() {
            return Ok(());
        }
        let (task, end) = if let Some(id) = self.sends[index].pop_front() {
            let end = self.now + self.instance.cluster().send_time(device);
            let moving = &mut self.transfers[id as usize];
            (moving.send_start, moving.send_finish) = (self.now, end);
            (Task::Send(TransferId(id)), end)
        } else {
            let Some(&op) = self.queues[index].front().filter(|op| self.absent_inputs[op.index()] == 0) else {
                return Ok(());
            };
            self.queues[index].pop_front();
            let end = self.now + self.instance.exec_time(op, device);
            (self.start[op.index()], self.end[op.index()]) = (self.now, end);
            (Task::Op(op), end)
        };
        if !end.is_finite() {
            let task = match task {
                Task::Op(op) => self.instance.graph().label(op),
                Task::Send(id) => {
                    format!("the send from {}", self.instance.graph().label(self.transfers[id.index()].source))
                }
            };
            return Err(SimulationError::Overflow { task }.into());
        }
        self.makespan = self.makespan.max(end);
        self.running[index] = Some(task);
        self.task_ends.push(end, device.0);
        Ok(())
    }

    /// Nothing will happen any more: either all is executed, or ready ops were left.
    fn finish(self) -> Result<OnlineRun, OnlineError> {
        let (graph, ops) = (self.instance.graph(), self.instance.graph().op_count());
        let left = || graph.op_ids().filter(|op| self.is_ready[op.index()] && !self.is_given[op.index()]);
        let fits_nowhere = |unit: &UnitId| {
            let is_bound = self.assignment.device_of_unit(*unit).is_some();
            !is_bound && self.assignment.feasible_devices(*unit).next().is_none()
        };
        if let Some(unit) = left().map(|op| self.instance.units().unit_of(op)).find(fits_nowhere) {
            return Err(self.assignment.infeasible(unit).into());
        }
        if let Some(op) = left().next() {
            let (time, op, waiting) = (self.now, graph.label(op), ops - self.given);
            return Err(OnlineError::Standstill { time, op, waiting });
        }
        let placement = self.assignment.finish()?;
        let mut transfers = self.transfers;
        // The order of a placed graph's transfers.
        transfers.sort_unstable_by_key(|moving| {
            (moving.source, moving.tensor.map_or(u32::MAX, |tensor| tensor.0), moving.to)
        });
        debug_assert_eq!(transfers.len(), PlacedGraph::new(self.instance, &placement).transfer_count());
        let has_sends = self.instance.cluster().send_ops() > 0.0;
        let sends = if has_sends { transfers.as_slice() } else { &[] };
        let timeline = Timeline {
            network: self.network,
            op_start: self.start,
            op_finish: self.end,
            send_start: sends.iter().map(|moving| moving.send_start).collect(),
            send_finish: sends.iter().map(|moving| moving.send_finish).collect(),
            transfer_start: transfers.iter().map(|moving| moving.start).collect(),
            makespan: self.makespan,
            decisions: 0,
            executable_sum: 0,
            choices: None,
        };
        Ok(OnlineRun { placement, timeline })
    }
}
