//! The policy of an online placer: an op gets its device when its predecessors have finished.

use std::collections::VecDeque;

use placebench_algorithms::{Assignment, OnlinePlacer, OnlinePolicy, OnlineState, SimulationState, StopToken, Task};
use placebench_datasets::{DeviceId, Edge, Instance, OpId, PlacedGraph, TensorId, Time, Transfer, TransferId, UnitId};

use super::Simulator;
use super::engine::{self, DevicePolicy, Run};
use crate::execute::{ExecutionError, OnlineRun};
use crate::timeline::Timeline;

/// Ends a list.
const NONE: u32 = u32::MAX;

/// Executes an instance and lets a placer choose the devices.
pub(super) fn execute(
    instance: &Instance,
    placer: &dyn OnlinePlacer,
    simulator: &Simulator,
    stop: &StopToken,
) -> Result<OnlineRun, ExecutionError> {
    let mut run = Run::new(instance, simulator.network.start(instance.cluster()), simulator.draw, true);
    let mut online = Online { placer: placer.start(instance), ready: Vec::new(), given: Given::new(instance) };
    engine::run_to_end(&mut run, &mut online, stop)?;
    let OnlineRun { placement, timeline } = online.given.finish(run)?;
    Ok(OnlineRun { placement, timeline: Timeline { is_measured: simulator.draw.is_some(), ..timeline } })
}

/// Asks the placer, and keeps what it answered.
struct Online<'a> {
    placer: Box<dyn OnlinePolicy + 'a>,
    /// Ops whose predecessors have all finished, the last of them at this instant.
    ready: Vec<OpId>,
    given: Given<'a>,
}

/// A tensor or control signal that was sent, or will be, to a device.
struct Moved {
    transfer: Transfer,
    /// When it arrives, or is expected to.
    end: Time,
    /// Whether `end` is certain.
    is_certain: bool,
    /// The next transfer of the same output.
    next: u32,
    /// The first in the list of ops that wait for it.
    waiters: u32,
}

/// What the placer has given to devices, and what is sent because of that.
struct Given<'a> {
    instance: &'a Instance,
    assignment: Assignment<'a>,
    /// Whether the placer knows that an op is ready; whether it gave the op to a device; which.
    is_ready: Vec<bool>,
    is_given: Vec<bool>,
    device_of: Vec<DeviceId>,
    given: usize,
    /// Ops that have their device and all inputs.
    is_executable: Vec<bool>,
    /// What each device was given and has not started.
    queues: Vec<VecDeque<OpId>>,
    /// Sends and receives that each device can execute.
    others: Vec<VecDeque<Task>>,
    /// When each device is expected to have executed that.
    free_at: Vec<Time>,
    moved: Vec<Moved>,
    /// The first transfer of each tensor, and of each op's control signal.
    first_of_tensor: Vec<u32>,
    first_of_control: Vec<u32>,
    /// Ops that wait for transfers, each with the next in its list.
    waiters: Vec<(OpId, u32)>,
}

/// What the placer sees when it decides.
struct View<'s, 'a> {
    now: Time,
    busy: &'s [bool],
    given: &'s Given<'a>,
}

impl OnlineState for View<'_, '_> {
    fn now(&self) -> Time {
        self.now
    }

    fn assignment(&self) -> &Assignment<'_> {
        &self.given.assignment
    }

    fn is_idle(&self, device: DeviceId) -> bool {
        let index = device.index();
        !self.busy[index] && self.given.queues[index].is_empty() && self.given.others[index].is_empty()
    }

    fn free_at(&self, device: DeviceId) -> Time {
        self.given.free_at[device.index()].max(self.now)
    }

    fn arrivals(&self, op: OpId, times: &mut [Time]) {
        let (graph, cluster) = (self.given.instance.graph(), self.given.instance.cluster());
        times.fill(self.now);
        let mut row = vec![0.0; times.len()];
        for edge in graph.predecessors(op) {
            let Some(from) = self.given.assignment.device_of(edge.op) else { continue };
            let (bytes, delay) = (graph.edge_bytes(edge), cluster.send_ops_time(from));
            let links = cluster.rates_from(from).iter().zip(cluster.latencies_from(from));
            for (time, (&rate, &latency)) in row.iter_mut().zip(links) {
                *time = self.now + delay + (latency + bytes as f64 / rate);
            }
            for (time, pair) in row.iter_mut().zip(cluster.transfer_overheads_from(from).into_iter().flatten()) {
                *time += pair.send_time(bytes) + pair.receive_time(bytes);
            }
            row[from.index()] = self.now;
            for moved in self.given.moved_of(edge) {
                row[moved.transfer.to.index()] = moved.end;
            }
            for (time, &arrival) in times.iter_mut().zip(&row) {
                *time = time.max(arrival);
            }
        }
    }
}

impl DevicePolicy for Online<'_> {
    fn begin(&mut self, _: &mut Run<'_>) {
        let graph = self.given.instance.graph();
        self.ready.extend(graph.op_ids().filter(|&op| graph.in_degree(op) == 0));
    }

    fn op_finished(&mut self, run: &mut Run<'_>, op: OpId) {
        for &consumer in self.given.instance.graph().successor_ops(op) {
            if run.finish_input(consumer) == 0 {
                self.ready.push(consumer);
            }
        }
    }

    fn give(&mut self, run: &mut Run<'_>) -> Result<bool, ExecutionError> {
        if !self.ready.is_empty() {
            self.ready.sort_unstable();
            for &op in &self.ready {
                self.given.is_ready[op.index()] = true;
            }
            self.placer.ready(&self.ready, &View { now: run.now, busy: &run.busy, given: &self.given });
            self.ready.clear();
        }
        let mut gave = false;
        while let Some((op, device)) = self.placer.next(&View { now: run.now, busy: &run.busy, given: &self.given }) {
            self.given.check_choice(run.now, op, device)?;
            self.send_inputs(run, op, device);
            gave = true;
        }
        Ok(gave)
    }

    fn device_of(&self, op: OpId) -> DeviceId {
        self.given.device_of[op.index()]
    }

    fn transfer(&self, id: TransferId) -> Option<&Transfer> {
        self.given.moved.get(id.index()).map(|moved| &moved.transfer)
    }

    fn transfer_started(&mut self, id: TransferId, end: Time) {
        let moved = &mut self.given.moved[id.index()];
        let Transfer { bytes, from, to, .. } = moved.transfer;
        moved.end = end + self.given.instance.cluster().receive_time(bytes, from, to);
    }

    fn transfer_arrives(&mut self, run: &mut Run<'_>, id: TransferId, time: Time) {
        let moved = &mut self.given.moved[id.index()];
        (moved.end, moved.is_certain) = (time, true);
        let mut next = moved.waiters;
        while let Some(&(op, after)) = self.given.waiters.get(next as usize) {
            run.deliver(op, time);
            next = after;
        }
    }

    fn ready(&mut self, device: DeviceId, task: Task, _: &SimulationState<'_>) {
        match task {
            Task::Op(op) => self.given.is_executable[op.index()] = true,
            Task::Receive(_) => self.given.others[device.index()].push_back(task),
            // It stands in its queue since its op was given.
            Task::Send(_) => {}
        }
    }

    /// Sends and receives first, in the order in which they became known, then ops in the order in which they were given.
    fn next(&mut self, device: DeviceId, _: &SimulationState<'_>) -> Option<Task> {
        let given = &mut self.given;
        if let Some(task) = given.others[device.index()].pop_front() {
            return Some(task);
        }
        let queue = &mut given.queues[device.index()];
        queue.pop_front_if(|op| given.is_executable[op.index()]).map(Task::Op)
    }
}

impl Online<'_> {
    /// Binds an op to a device and sends what it lacks there.
    fn send_inputs(&mut self, run: &mut Run<'_>, op: OpId, device: DeviceId) {
        let (graph, unit) = (self.given.instance.graph(), self.given.instance.units().unit_of(op));
        if self.given.assignment.device_of_unit(unit).is_none() {
            self.given.assignment.assign(unit, device);
        }
        if graph.in_degree(op) == 0 {
            run.ready.push(Task::Op(op));
        }
        let mut arrival = run.now;
        for edge in graph.predecessors(op) {
            if self.given.assignment.device_of(edge.op) == Some(device) {
                run.deliver(op, run.now);
                continue;
            }
            let id = self.moved_to(run, edge, device);
            let moved = &mut self.given.moved[id.index()];
            arrival = arrival.max(moved.end);
            if moved.is_certain {
                run.deliver(op, moved.end);
            } else {
                self.given.waiters.push((op, moved.waiters));
                moved.waiters = self.given.waiters.len() as u32 - 1;
            }
        }
        let given = &mut self.given;
        let free = &mut given.free_at[device.index()];
        *free = free.max(arrival) + given.instance.exec_time(op, device);
        given.is_given[op.index()] = true;
        given.device_of[op.index()] = device;
        given.given += 1;
        given.queues[device.index()].push_back(op);
    }

    /// The transfer of what an edge carries to a device, made now if there is none.
    fn moved_to(&mut self, run: &mut Run<'_>, edge: Edge, to: DeviceId) -> TransferId {
        let given = &mut self.given;
        let first = given.first_of(edge);
        let mut id = first;
        while let Some(moved) = given.moved.get(id as usize) {
            if moved.transfer.to == to {
                return TransferId(id);
            }
            id = moved.next;
        }
        let (graph, cluster) = (given.instance.graph(), given.instance.cluster());
        // A producer has finished, so it has a device.
        let from = given.assignment.device_of(edge.op).unwrap_or(to);
        let bytes = graph.edge_bytes(edge);
        let (time, delay) = (cluster.transfer_time(bytes, from, to), cluster.send_time(bytes, from, to));
        let after = cluster.receive_time(bytes, from, to);
        let id = TransferId::new(given.moved.len());
        let transfer = Transfer { source: edge.op, tensor: edge.tensor, from, to, bytes, time };
        let end = run.now + delay + time + after;
        given.moved.push(Moved { transfer, end, is_certain: false, next: first, waiters: NONE });
        match edge.tensor {
            Some(tensor) => given.first_of_tensor[tensor.index()] = id.0,
            None => given.first_of_control[edge.op.index()] = id.0,
        }
        run.add_transfer();
        if after > 0.0 {
            run.total += 1;
            given.free_at[to.index()] = given.free_at[to.index()].max(run.now) + after;
        }
        if delay > 0.0 {
            run.total += 1;
            given.free_at[from.index()] = given.free_at[from.index()].max(run.now) + delay;
            given.others[from.index()].push_back(Task::Send(id));
            run.ready.push(Task::Send(id));
        } else {
            run.transfer_ready(self, id);
        }
        id
    }
}

impl<'a> Given<'a> {
    fn new(instance: &'a Instance) -> Self {
        let (graph, devices) = (instance.graph(), instance.cluster().device_count());
        let ops = graph.op_count();
        Self {
            instance,
            assignment: Assignment::new(instance),
            is_ready: vec![false; ops],
            is_given: vec![false; ops],
            device_of: vec![DeviceId(0); ops],
            given: 0,
            is_executable: vec![false; ops],
            queues: vec![VecDeque::new(); devices],
            others: vec![VecDeque::new(); devices],
            free_at: vec![0.0; devices],
            moved: Vec::new(),
            first_of_tensor: vec![NONE; graph.tensor_count()],
            first_of_control: vec![NONE; ops],
            waiters: Vec::new(),
        }
    }

    /// The first transfer so far of what an edge carries.
    fn first_of(&self, edge: Edge) -> u32 {
        match edge.tensor {
            Some(tensor) => self.first_of_tensor[tensor.index()],
            None => self.first_of_control[edge.op.index()],
        }
    }

    /// The transfers so far of what an edge carries.
    fn moved_of(&self, edge: Edge) -> impl Iterator<Item = &Moved> {
        let get = |id: u32| self.moved.get(id as usize);
        std::iter::successors(get(self.first_of(edge)), move |moved| get(moved.next))
    }

    fn check_choice(&self, time: Time, op: OpId, device: DeviceId) -> Result<(), ExecutionError> {
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
        Err(ExecutionError::BadChoice { time, op, device, fault })
    }

    /// Nothing will happen any more: either everything is executed, or ready ops were left.
    fn finish(self, run: Run<'_>) -> Result<OnlineRun, ExecutionError> {
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
            let (time, op, waiting) = (run.now, graph.label(op), ops - self.given);
            return Err(ExecutionError::PlacerStandstill { time, op, waiting });
        }
        run.check_finished()?;
        let placement = self.assignment.finish()?;
        // The order of a placed graph's transfers.
        let mut order: Vec<usize> = (0..self.moved.len()).collect();
        order.sort_unstable_by_key(|&id| {
            let Transfer { source, tensor, to, .. } = self.moved[id].transfer;
            (source, tensor.map_or(u32::MAX, |TensorId(tensor)| tensor), to)
        });
        debug_assert_eq!(order.len(), PlacedGraph::new(self.instance, &placement).transfer_count());
        fn in_order<T: Copy>(order: &[usize], times: &[T]) -> Vec<T> {
            order.iter().filter_map(|&id| times.get(id).copied()).collect()
        }
        let timeline = Timeline {
            sends: in_order(&order, &run.timeline.sends),
            receives: in_order(&order, &run.timeline.receives),
            transfers: in_order(&order, &run.timeline.transfers),
            decisions: 0,
            executable_sum: 0,
            ..run.timeline
        };
        Ok(OnlineRun { placement, timeline })
    }
}
