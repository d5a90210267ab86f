//! Lookahead: the device from which an op's successors finish first.

use placebench_datasets::{DeviceId, Edge, Instance, OpId, Time, UnitId};

use super::ready::positions;
use super::schedule::{PartialSchedule, Select};
use super::timeline::Timeline;
use super::view::Forward;
use crate::{PlaceError, StopToken};

/// An op with more inputs than this remembers what those that are scheduled come to. Others are looked at anew for each of
/// their predecessors, which costs less than a row of times for each of them.
const MANY_INPUTS: usize = 16;

/// Successors tried between two looks at the stop token.
const STOP_INTERVAL: usize = 1024;

/// Places the op on each device in turn and its successors after it, in the order in which they will be scheduled, each where it
/// finishes first given those before it; picks the device for which the last of them finishes first. Ties: where the op
/// itself finishes first, then the lowest id. An op without successors goes where it finishes first.
///
/// Predecessors of a successor that are neither scheduled nor on trial before it do not count.
///
/// # Complexity
/// With d devices, O(d · out-degree) for what does not depend on the op's device, and O(d + log in-degree) for each in-edge of
/// the graph; O(d² + d · log ops) a successor at worst. Devices are tried in the order in which the op would finish there, and
/// given up as soon as they cannot win, so that few are tried to the end.
pub(super) struct Lookahead {
    position: Vec<u32>,
    /// By op, for ops with many inputs that are a successor of an op scheduled already.
    gathered: Vec<Option<Box<Gathered>>>,
    stop: StopToken,
    /// Successors tried since the last look at the stop token.
    tried: usize,
    successors: Successors,
    trial: Trial,
    /// Devices on which the op at hand is feasible, with its finish there.
    candidates: Vec<(Time, DeviceId)>,
}

/// The inputs of an op that has many.
struct Gathered {
    /// In the order in which their producers are scheduled.
    inputs: Vec<Edge>,
    /// How many of them are in `ready`.
    arrived: usize,
    /// By device: when the first `arrived` inputs are there.
    ready: Vec<Time>,
}

/// The successors of the op at hand, in the order in which they are tried.
#[derive(Default)]
struct Successors {
    /// Each with the largest of the inputs that the op sends it.
    ops: Vec<(OpId, u64)>,
    /// Row-major by successor: when all other inputs are there.
    ready: Vec<Time>,
    /// Row-major by successor.
    exec: Vec<Time>,
    /// The least time of a successor that comes at or after this one.
    longest_left: Vec<Time>,
    /// By successor: the inputs from successors that are tried before it, as their rows and bytes.
    siblings: Vec<(usize, u64)>,
    /// For each successor the end of its part of `siblings`.
    sibling_ends: Vec<usize>,
}

/// What is placed on trial.
struct Trial {
    /// Slots on top of those of the schedule.
    timelines: Vec<Timeline>,
    claimed: Vec<u64>,
    touched: Vec<DeviceId>,
    device_of_group: Vec<Option<DeviceId>>,
    placed_groups: Vec<UnitId>,
    /// For the successor at hand and each device: when its inputs are there.
    ready: Vec<Time>,
    /// Finish and device of the successors tried so far.
    tried: Vec<(Time, DeviceId)>,
}

impl Lookahead {
    pub(super) fn new(instance: &Instance, order: &[OpId], insertion: bool, stop: &StopToken) -> Self {
        let devices = instance.cluster().device_count();
        let shortest = if insertion { 0.0 } else { f64::INFINITY };
        Self {
            position: positions(order),
            gathered: std::iter::repeat_with(|| None).take(order.len()).collect(),
            stop: stop.clone(),
            tried: 0,
            successors: Successors::default(),
            trial: Trial {
                timelines: vec![Timeline::new(shortest); devices],
                claimed: vec![0; devices],
                touched: Vec::new(),
                device_of_group: vec![None; instance.units().group_count()],
                placed_groups: Vec::new(),
                ready: vec![0.0; devices],
                tried: Vec::new(),
            },
            candidates: Vec::with_capacity(devices),
        }
    }

    /// When the last successor finishes if the op finishes on `device` at `finish`; `None` if that is not before
    /// `limit`.
    fn last_finish(
        &mut self,
        schedule: &PartialSchedule<'_>,
        op: OpId,
        (finish, device): (Time, DeviceId),
        limit: Time,
    ) -> Result<Option<Time>, PlaceError> {
        let unit = schedule.instance().units().unit_of(op);
        let exec = schedule.exec()[device.index()];
        let trial = &mut self.trial;
        // The very start, not finish − exec, which may differ by a rounding error.
        let start = schedule.timeline(device).earliest(schedule.ready()[device.index()], exec);
        trial.place(schedule, unit, device, start, exec);
        let (mut last, devices) = (finish, schedule.exec().len());
        for (row, &(successor, bytes)) in self.successors.ops.iter().enumerate() {
            self.tried += 1;
            if self.tried.is_multiple_of(STOP_INTERVAL) {
                self.stop.check()?;
            }
            if finish + self.successors.longest_left[row] >= limit {
                return Ok(None);
            }
            let sent = (finish, device, bytes);
            let found = trial.earliest_finish(schedule, &self.successors, row, sent, limit);
            let Some((start, end, device)) = found else { return Ok(None) };
            trial.tried.push((end, device));
            last = last.max(end);
            let exec = self.successors.exec[row * devices + device.index()];
            trial.place(schedule, schedule.instance().units().unit_of(successor), device, start, exec);
        }
        Ok(Some(last))
    }
}

impl<'a> Select<Forward<'a>> for Lookahead {
    fn select(
        &mut self,
        schedule: &PartialSchedule<'_, Forward<'a>>,
        op: OpId,
    ) -> Result<Option<DeviceId>, PlaceError> {
        let unit = schedule.instance().units().unit_of(op);
        self.gathered[op.index()] = None;
        if schedule.instance().graph().out_degree(op) == 0 {
            return Ok(schedule.earliest_finish(unit, |_| 0.0));
        }
        let demand = schedule.instance().units().demand_bytes(unit);
        self.candidates.clear();
        for &device in schedule.devices_of(unit) {
            if schedule.assignment().fits(demand, device) {
                let (ready, exec) = (schedule.ready()[device.index()], schedule.exec()[device.index()]);
                self.candidates.push((schedule.timeline(device).earliest(ready, exec) + exec, device));
            }
        }
        // Where it finishes first is where it is likely to stay, and a good first limit.
        self.candidates.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.successors.fill(schedule, op, &self.position, &mut self.gathered, &self.stop)?;
        let mut best: Option<(Time, DeviceId)> = None;
        for at in 0..self.candidates.len() {
            let candidate = self.candidates[at];
            let limit = best.map_or(f64::INFINITY, |(last, _)| last);
            // No later candidate can do better: the longest successor alone takes too long from here.
            if best.is_some() && candidate.0 + self.successors.longest_left[0] >= limit {
                break;
            }
            let last = self.last_finish(schedule, op, candidate, limit)?;
            self.trial.clear();
            if let Some(last) = last {
                best = Some((last, candidate.1));
            }
        }
        // Without a device that leaves room for all successors, the one where the op finishes first.
        Ok(best.or(self.candidates.first().copied()).map(|(_, device)| device))
    }
}

impl Gathered {
    fn new(schedule: &PartialSchedule<'_>, op: OpId, position: &[u32]) -> Self {
        let mut inputs: Vec<Edge> = schedule.instance().graph().predecessors(op).collect();
        inputs.sort_unstable_by_key(|edge| position[edge.op.index()]);
        Self { inputs, arrived: 0, ready: vec![0.0; schedule.ready().len()] }
    }

    /// Takes in the inputs whose producers have been scheduled since the last time.
    fn update(&mut self, schedule: &PartialSchedule<'_>) {
        let waiting = &self.inputs[self.arrived..];
        let new = waiting.iter().take_while(|edge| schedule.is_scheduled(edge.op)).count();
        schedule.add_arrivals(waiting[..new].iter().copied(), &mut self.ready);
        self.arrived += new;
    }

    /// Writes the inputs that come from `siblings`, which are in the order of their positions, as their rows and bytes.
    fn note_siblings(
        &self,
        schedule: &PartialSchedule<'_>,
        siblings: &[(OpId, u64)],
        position: &[u32],
        found: &mut Vec<(usize, u64)>,
    ) {
        let (graph, waiting) = (schedule.instance().graph(), &self.inputs[self.arrived..]);
        if waiting.len() <= siblings.len() {
            return note_siblings(schedule, waiting.iter().copied(), siblings, position, found);
        }
        for (row, &(sibling, _)) in siblings.iter().enumerate() {
            let at = position[sibling.index()];
            let first = waiting.partition_point(|edge| position[edge.op.index()] < at);
            let from_it = waiting[first..].iter().take_while(|edge| edge.op == sibling);
            found.extend(from_it.map(|&edge| (row, graph.edge_bytes(edge))));
        }
    }
}

/// Writes those of the inputs that come from `siblings`, which are in the order of their positions, as their rows and bytes.
fn note_siblings(
    schedule: &PartialSchedule<'_>,
    inputs: impl Iterator<Item = Edge>,
    siblings: &[(OpId, u64)],
    position: &[u32],
    found: &mut Vec<(usize, u64)>,
) {
    for edge in inputs {
        let at = position[edge.op.index()];
        if let Ok(row) = siblings.binary_search_by_key(&at, |&(sibling, _)| position[sibling.index()]) {
            found.push((row, schedule.instance().graph().edge_bytes(edge)));
        }
    }
}

impl Successors {
    fn fill(
        &mut self,
        schedule: &PartialSchedule<'_>,
        op: OpId,
        position: &[u32],
        gathered: &mut [Option<Box<Gathered>>],
        stop: &StopToken,
    ) -> Result<(), PlaceError> {
        let (graph, devices) = (schedule.instance().graph(), schedule.ready().len());
        self.ops.clear();
        self.ops.extend(graph.successors(op).map(|edge| (edge.op, graph.edge_bytes(edge))));
        self.ops.sort_unstable_by_key(|&(after, bytes)| (position[after.index()], std::cmp::Reverse(bytes)));
        self.ops.dedup_by_key(|&mut (after, _)| after);
        let cells = self.ops.len() * devices;
        self.ready.clear();
        self.ready.resize(cells, 0.0);
        self.exec.clear();
        self.exec.resize(cells, 0.0);
        self.longest_left.clear();
        self.siblings.clear();
        self.sibling_ends.clear();
        for (row, &(after, _)) in self.ops.iter().enumerate() {
            if row % STOP_INTERVAL == STOP_INTERVAL - 1 {
                stop.check()?;
            }
            let cells = row * devices..(row + 1) * devices;
            let (ready, siblings) = (&mut self.ready[cells.clone()], &self.ops[..row]);
            if graph.in_degree(after) > MANY_INPUTS {
                let gathered =
                    gathered[after.index()].get_or_insert_with(|| Box::new(Gathered::new(schedule, after, position)));
                gathered.update(schedule);
                ready.copy_from_slice(&gathered.ready);
                gathered.note_siblings(schedule, siblings, position, &mut self.siblings);
            } else {
                schedule.add_arrivals(graph.predecessors(after).filter(|edge| schedule.is_scheduled(edge.op)), ready);
                let waiting = graph.predecessors(after).filter(|edge| !schedule.is_scheduled(edge.op));
                note_siblings(schedule, waiting, siblings, position, &mut self.siblings);
            }
            self.sibling_ends.push(self.siblings.len());
            let exec = &mut self.exec[cells];
            schedule.exec_times(after, exec);
            let unit = schedule.instance().units().unit_of(after);
            let shortest =
                schedule.devices_of(unit).iter().map(|device| exec[device.index()]).fold(f64::INFINITY, f64::min);
            self.longest_left.push(shortest);
        }
        for row in (1..self.longest_left.len()).rev() {
            self.longest_left[row - 1] = self.longest_left[row - 1].max(self.longest_left[row]);
        }
        Ok(())
    }
}

impl Trial {
    /// Start, finish and device of a successor where it finishes first, ties at the lowest id; `None` if that is not
    /// before `limit`, or if it fits nowhere.
    fn earliest_finish(
        &mut self,
        schedule: &PartialSchedule<'_>,
        successors: &Successors,
        row: usize,
        (finish, from, bytes): (Time, DeviceId, u64),
        limit: Time,
    ) -> Option<(Time, Time, DeviceId)> {
        let (cluster, units) = (schedule.instance().cluster(), schedule.instance().units());
        let devices = self.ready.len();
        let base = &successors.ready[row * devices..][..devices];
        let exec = &successors.exec[row * devices..][..devices];
        self.ready.copy_from_slice(base);
        cluster.raise_to_arrivals(finish, from, bytes, &mut self.ready);
        let first = row.checked_sub(1).map_or(0, |before| successors.sibling_ends[before]);
        for &(sibling, bytes) in &successors.siblings[first..successors.sibling_ends[row]] {
            let (finish, from) = self.tried[sibling];
            cluster.raise_to_arrivals(finish, from, bytes, &mut self.ready);
        }
        let unit = units.unit_of(successors.ops[row].0);
        let fixed = schedule.assignment().device_of_unit(unit);
        let fixed = fixed.or(self.device_of_group.get(unit.index()).copied().flatten());
        let demand = units.demand_bytes(unit);
        let mut best: Option<(Time, Time, DeviceId)> = None;
        let mut limit = limit;
        for &device in fixed.as_ref().map_or(schedule.devices_of(unit), std::slice::from_ref) {
            let (ready, exec) = (self.ready[device.index()], exec[device.index()]);
            if ready + exec >= limit || (fixed.is_none() && !self.fits(schedule, demand, device)) {
                continue;
            }
            let start = self.earliest(schedule.timeline(device), device, ready, exec);
            if start + exec < limit {
                limit = start + exec;
                best = Some((start, limit, device));
            }
        }
        best
    }

    fn fits(&self, schedule: &PartialSchedule<'_>, demand: u64, device: DeviceId) -> bool {
        match self.claimed[device.index()] {
            0 => schedule.assignment().fits(demand, device),
            _ if demand == 0 => true,
            claimed => schedule.assignment().fits(demand.saturating_add(claimed), device),
        }
    }

    /// The earliest time at which both the schedule and the trial leave room.
    fn earliest(&self, scheduled: &Timeline, device: DeviceId, ready: Time, duration: Time) -> Time {
        let tried = &self.timelines[device.index()];
        let mut start = scheduled.earliest(ready, duration);
        loop {
            let later = tried.earliest(start, duration);
            if later == start {
                return start;
            }
            start = scheduled.earliest(later, duration);
            if start == later {
                return start;
            }
        }
    }

    fn place(&mut self, schedule: &PartialSchedule<'_>, unit: UnitId, device: DeviceId, start: Time, duration: Time) {
        self.timelines[device.index()].reserve(start, duration);
        self.touched.push(device);
        if schedule.assignment().device_of_unit(unit).is_some() {
            return;
        }
        let demand = schedule.instance().units().demand_bytes(unit);
        if let Some(fixed) = self.device_of_group.get_mut(unit.index()) {
            if fixed.is_some() {
                return;
            }
            *fixed = Some(device);
            self.placed_groups.push(unit);
        }
        let claimed = &mut self.claimed[device.index()];
        *claimed = claimed.saturating_add(demand);
    }

    fn clear(&mut self) {
        self.tried.clear();
        for device in self.touched.drain(..) {
            self.timelines[device.index()].clear();
            self.claimed[device.index()] = 0;
        }
        for unit in self.placed_groups.drain(..) {
            self.device_of_group[unit.index()] = None;
        }
    }
}
