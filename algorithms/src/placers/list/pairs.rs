//! List scheduling by pairs of a ready op and a device: ETF, DLS and their kin.

use std::rc::Rc;

use placebench_datasets::{DeviceId, Instance, OpId, Time};

use super::parts::{ListScheduling, STOP_INTERVAL, Selection};
use super::priority::{Priority, Ranked};
use super::queue::{Candidate, DeviceQueue};
use super::ready::{Waiting, positions};
use super::schedule::PartialSchedule;
use crate::{Decision, PlaceContext, PlaceError, StopToken};

/// Schedules the best pair, step by step.
///
/// # Complexity
/// O(edges · devices + ops · devices · log ops): each op enters the queue of each device once, and a step looks at the
/// best of each device.
pub(super) fn schedule(
    parts: &ListScheduling,
    instance: &Instance,
    context: &PlaceContext,
) -> Result<Decision, PlaceError> {
    let table = (parts.priority == Priority::OptimisticCost).then(|| parts.table(instance));
    let ranked = Ranked::new(instance, parts.priority, parts.average, table.as_ref());
    drop(table);
    let favourites = match parts.selection {
        Selection::FavouriteChild => {
            let favourite = parts.favourites.find(instance, parts.average, &context.stop)?;
            Some(Favourites::new(&favourite, instance.cluster().device_count()))
        }
        _ => None,
    };
    let mut pairs = Pairs::new(parts, instance, ranked, favourites, &context.stop)?;
    let graph = instance.graph();
    let mut waiting = Waiting::new(graph);
    let mut after = Vec::new();
    for step in 0..graph.op_count() {
        if step % STOP_INTERVAL == 0 {
            context.stop.check()?;
        }
        let (op, device, start) = match pairs.best() {
            Some(pair) => pair,
            None => return Err(pairs.infeasible(&waiting)),
        };
        pairs.take(op, device, start);
        after.clear();
        waiting.place(graph, op, |op| after.push(op));
        for (added, &op) in after.iter().enumerate() {
            // One op may make all others ready.
            if added % STOP_INTERVAL == STOP_INTERVAL - 1 {
                context.stop.check()?;
            }
            pairs.add(op);
        }
    }
    pairs.schedule.finish()
}

/// The ready ops, as pairs with the devices on which they are feasible.
struct Pairs<'a> {
    selection: Selection,
    ranked: Ranked,
    position: Vec<u32>,
    schedule: PartialSchedule<'a>,
    queues: Vec<DeviceQueue>,
    /// When each device has done all that it has been given.
    idle_from: Vec<Time>,
    /// The best pair of each device, unless `stale`, and whether it is a favourite child that the device waits for.
    best: Vec<Option<(bool, Candidate)>>,
    stale: Vec<bool>,
    favourites: Option<Favourites>,
}

/// What SCT knows besides: a device whose last op has a favourite child waits for it.
struct Favourites {
    parent: Vec<Option<OpId>>,
    /// As the queues of the pairs, but ops are ready when their inputs are on all devices.
    urgent: Vec<DeviceQueue>,
    last: Vec<Option<OpId>>,
    wishes: Vec<Option<Wish>>,
}

/// The favourite child of the last op on a device, once it is ready and feasible there.
struct Wish {
    op: OpId,
    /// When its inputs are on each device.
    ready: Vec<Time>,
    /// A device where it could start earlier.
    rival: Option<DeviceId>,
}

impl<'a> Pairs<'a> {
    fn new(
        parts: &ListScheduling,
        instance: &'a Instance,
        ranked: Ranked,
        favourites: Option<Favourites>,
        stop: &StopToken,
    ) -> Result<Self, PlaceError> {
        let selection = parts.selection;
        let devices = instance.cluster().device_count();
        let position = positions(&ranked.order);
        let sources: Rc<[u32]> = sources(instance, &ranked.order).into();
        let queues = match selection {
            Selection::EarliestFinish | Selection::DynamicLevel => {
                source_queues(selection, instance, &ranked, &sources, stop)?
            }
            _ => (0..devices).map(|_| DeviceQueue::new(Rc::clone(&sources))).collect(),
        };
        let mut favourites = favourites;
        for queue in favourites.iter_mut().flat_map(|favourites| &mut favourites.urgent) {
            *queue = DeviceQueue::new(Rc::clone(&sources));
        }
        Ok(Self {
            selection,
            position,
            ranked,
            schedule: PartialSchedule::new(instance, false, parts.assignment(instance)),
            queues,
            idle_from: vec![0.0; devices],
            best: vec![None; devices],
            stale: vec![true; devices],
            favourites,
        })
    }

    /// Adds an op whose predecessors are all scheduled.
    fn add(&mut self, op: OpId) {
        let unit = self.schedule.instance().units().unit_of(op);
        let fixed = self.schedule.assignment().device_of_unit(unit);
        match fixed {
            Some(device) => {
                let ready = self.schedule.ready_time(op, device);
                self.push(op, device, ready);
                if let Some(favourites) = &mut self.favourites {
                    let idle_from = self.idle_from[device.index()];
                    favourites.urgent[device.index()].push(ready, 0.0, self.position[op.index()], idle_from);
                }
            }
            None => {
                self.schedule.fill_ready_times(op);
                for at in 0..self.schedule.devices_of(unit).len() {
                    let device = self.schedule.devices_of(unit)[at];
                    self.push(op, device, self.schedule.ready()[device.index()]);
                }
                if let Some(favourites) = &mut self.favourites {
                    let (devices, ready) = (self.schedule.devices_of(unit), self.schedule.ready());
                    let everywhere = devices.iter().map(|device| ready[device.index()]).fold(0.0, f64::max);
                    for device in devices {
                        let idle_from = self.idle_from[device.index()];
                        favourites.urgent[device.index()].push(everywhere, 0.0, self.position[op.index()], idle_from);
                    }
                }
            }
        }
        self.wish_for(op, fixed);
    }

    fn push(&mut self, op: OpId, device: DeviceId, ready: Time) {
        let (at, addend) = (device.index(), self.addend(op, device));
        let candidate = self.queues[at].push(ready, addend, self.position[op.index()], self.idle_from[at]);
        // With favourite children a new op may end a wait.
        if self.favourites.is_some() {
            self.stale[at] = true;
        } else if self.best[at].as_ref().is_none_or(|(_, best)| candidate.precedes(best)) && self.may_take(op, device) {
            self.best[at] = Some((false, candidate));
        }
    }

    /// What is added to the start of an op on a device to make it a value: less is better.
    fn addend(&self, op: OpId, device: DeviceId) -> Time {
        addend(self.selection, self.schedule.instance(), &self.ranked, op, device)
    }

    fn may_take(&self, op: OpId, device: DeviceId) -> bool {
        may_take(&self.schedule, op, device)
    }

    /// The best pair of all: by value, favourite children first, by priority, by finish, by device id.
    fn best(&mut self) -> Option<(OpId, DeviceId, Time)> {
        let mut best: Option<((bool, Candidate), DeviceId)> = None;
        for device in (0..self.queues.len()).map(DeviceId::new) {
            if self.stale[device.index()] {
                self.refresh(device);
            }
            if let Some(pair) = self.best[device.index()] {
                let better = |&(other, other_device): &((bool, Candidate), DeviceId)| {
                    let by_value = pair.1.value.total_cmp(&other.1.value);
                    let by_op = by_value.then(other.0.cmp(&pair.0)).then(pair.1.position.cmp(&other.1.position));
                    by_op
                        .then_with(|| self.finish(pair.1, device).total_cmp(&self.finish(other.1, other_device)))
                        .is_lt()
                };
                if best.as_ref().is_none_or(better) {
                    best = Some((pair, device));
                }
            }
        }
        best.map(|((_, candidate), device)| (self.op(candidate), device, candidate.start))
    }

    fn op(&self, candidate: Candidate) -> OpId {
        self.ranked.order[candidate.position as usize]
    }

    fn finish(&self, candidate: Candidate, device: DeviceId) -> Time {
        candidate.start + self.schedule.instance().exec_time(self.op(candidate), device)
    }

    fn refresh(&mut self, device: DeviceId) {
        self.stale[device.index()] = false;
        self.best[device.index()] = match self.awaited(device) {
            Some(wish) => Some(wish),
            None => {
                let (schedule, ranked, selection) = (&self.schedule, &self.ranked, self.selection);
                let op = |position: u32| ranked.order[position as usize];
                let found = self.queues[device.index()].best(
                    self.idle_from[device.index()],
                    |position| addend(selection, schedule.instance(), ranked, op(position), device),
                    |position| may_take(schedule, op(position), device),
                );
                found.map(|candidate| (false, candidate))
            }
        };
    }

    /// If the device waits for a favourite child: that or an urgent op, whichever starts first.
    fn awaited(&mut self, device: DeviceId) -> Option<(bool, Candidate)> {
        let favourites = self.favourites.as_mut()?;
        let (schedule, idle_from, order) = (&self.schedule, &self.idle_from, &self.ranked.order);
        let wish = favourites.wishes[device.index()].as_mut()?;
        let start = |device: DeviceId| wish.ready[device.index()].max(idle_from[device.index()]);
        if !may_take(schedule, wish.op, device) {
            return None;
        }
        let here = start(device);
        let unit = schedule.instance().units().unit_of(wish.op);
        let mut others = schedule.devices_of(unit).iter().copied();
        wish.rival = others.find(|&other| start(other) < here && may_take(schedule, wish.op, other));
        if wish.rival.is_some() {
            return None;
        }
        let child = Candidate { value: here, position: self.position[wish.op.index()], start: here };
        let urgent = favourites.urgent[device.index()].best(
            idle_from[device.index()],
            |_| 0.0,
            |position| may_take(schedule, order[position as usize], device),
        );
        Some(match urgent.filter(|urgent| urgent.value < here) {
            Some(urgent) => (false, urgent),
            None => (true, child),
        })
    }

    /// Notes that a device may wait for an op that has just become ready.
    fn wish_for(&mut self, op: OpId, fixed: Option<DeviceId>) {
        let Some(favourites) = &mut self.favourites else { return };
        let Some(parent) = favourites.parent[op.index()] else { return };
        let device = self.schedule.device_of(parent);
        if favourites.last[device.index()] == Some(parent) && may_take(&self.schedule, op, device) {
            let ready = match fixed {
                Some(_) => vec![self.schedule.ready_time(op, device); self.idle_from.len()],
                None => self.schedule.ready().to_vec(),
            };
            favourites.wishes[device.index()] = Some(Wish { op, ready, rival: None });
        }
    }

    fn take(&mut self, op: OpId, device: DeviceId, start: Time) {
        let instance = self.schedule.instance();
        let unit = instance.units().unit_of(op);
        let fixes_group =
            unit.index() < instance.units().group_count() && self.schedule.assignment().device_of_unit(unit).is_none();
        // An urgent op was chosen for when its inputs are everywhere, but starts when they are here.
        let ready = if self.favourites.is_some() { self.schedule.ready_time(op, device) } else { start };
        let slot = self.schedule.schedule_on(op, device, ready);
        self.idle_from[device.index()] = self.idle_from[device.index()].max(slot.finish);
        if instance.cluster().has_transfer_overheads() {
            // Sends occupied the devices of its predecessors.
            for edge in instance.graph().predecessors(op) {
                let sender = self.schedule.device_of(edge.op);
                let busy_until = self.schedule.busy_until(sender);
                self.stale[sender.index()] |= busy_until > self.idle_from[sender.index()];
                self.idle_from[sender.index()] = self.idle_from[sender.index()].max(busy_until);
            }
        }
        for (stale, best) in self.stale.iter_mut().zip(&self.best) {
            let same = |(_, candidate): &(bool, Candidate)| candidate.position == self.position[op.index()];
            *stale |= fixes_group || best.as_ref().is_some_and(same);
        }
        self.stale[device.index()] = true;
        if let Some(favourites) = &mut self.favourites {
            favourites.last[device.index()] = Some(op);
            favourites.wishes[device.index()] = None;
            for (stale, wish) in self.stale.iter_mut().zip(&mut favourites.wishes) {
                if let Some(ended) = wish.as_ref() {
                    *stale |= ended.rival == Some(device) || ended.op == op;
                    if ended.op == op {
                        *wish = None;
                    }
                }
            }
        }
    }

    /// The error about the most urgent of the ready ops, where none fits anywhere.
    fn infeasible(&self, waiting: &Waiting) -> PlaceError {
        let ready = |op: &&OpId| waiting.is_ready(**op) && !self.schedule.is_scheduled(**op);
        let op = self.ranked.order.iter().find(ready).copied().unwrap_or_default();
        self.schedule.assignment().infeasible(self.schedule.instance().units().unit_of(op))
    }
}

impl Favourites {
    fn new(child: &[Option<OpId>], devices: usize) -> Self {
        let mut parent = vec![None; child.len()];
        for (op, child) in child.iter().enumerate() {
            if let Some(child) = child {
                parent[child.index()] = Some(OpId::new(op));
            }
        }
        Self {
            parent,
            urgent: (0..devices).map(|_| DeviceQueue::default()).collect(),
            last: vec![None; devices],
            wishes: (0..devices).map(|_| None).collect(),
        }
    }
}

/// The positions of the ops without predecessors, ascending.
fn sources(instance: &Instance, order: &[OpId]) -> Vec<u32> {
    let is_source = |position: &u32| instance.graph().in_degree(order[*position as usize]) == 0;
    (0..order.len() as u32).filter(is_source).collect()
}

/// A queue for each device with the sources in the order of their addends there, which devices share on which all ops take
/// equally long.
///
/// # Errors
/// [`PlaceError::Stopped`]: sorting tens of thousands of sources for each of many devices takes long.
fn source_queues(
    selection: Selection,
    instance: &Instance,
    ranked: &Ranked,
    sources: &[u32],
    stop: &StopToken,
) -> Result<Vec<DeviceQueue>, PlaceError> {
    let cluster = instance.cluster();
    let mut keyed: Vec<(Time, u32)> = Vec::with_capacity(sources.len());
    let mut sorted: Vec<(DeviceId, Rc<[u32]>)> = Vec::new();
    let queue = |id: DeviceId| {
        let same = |(other, _): &&(DeviceId, Rc<[u32]>)| instance.runs_alike(*other, id);
        if let Some((_, first)) = sorted.iter().find(same) {
            return Ok(DeviceQueue::new(Rc::clone(first)));
        }
        stop.check()?;
        keyed.clear();
        keyed.extend(
            sources
                .iter()
                .map(|&position| (addend(selection, instance, ranked, ranked.order[position as usize], id), position)),
        );
        keyed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let first: Rc<[u32]> = keyed.iter().map(|&(_, position)| position).collect();
        sorted.push((id, Rc::clone(&first)));
        Ok(DeviceQueue::new(first))
    };
    cluster.device_ids().map(queue).collect()
}

fn may_take(schedule: &PartialSchedule<'_>, op: OpId, device: DeviceId) -> bool {
    if schedule.is_scheduled(op) {
        return false;
    }
    let unit = schedule.instance().units().unit_of(op);
    match schedule.assignment().device_of_unit(unit) {
        Some(fixed) => fixed == device,
        None => schedule.assignment().is_feasible(unit, device),
    }
}

fn addend(selection: Selection, instance: &Instance, ranked: &Ranked, op: OpId, device: DeviceId) -> Time {
    match selection {
        Selection::EarliestFinish => instance.exec_time(op, device),
        // The dynamic level is level − start + (average − time); less is better here.
        Selection::DynamicLevel => instance.exec_time(op, device) - ranked.exec[op.index()] - ranked.ranks[op.index()],
        _ => 0.0,
    }
}

#[cfg(test)]
#[path = "sct_tests.rs"]
mod tests;
