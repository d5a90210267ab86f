//! A schedule in the making: what is placed where and when, and what that means for the next op.

use std::cell::RefCell;
use std::collections::BTreeMap;

use placebench_datasets::{DeviceId, Edge, Instance, KindSet, OpId, Time, UnitId};

use super::slot::Slot;
use super::timeline::Timeline;
use super::view::{Forward, View, extreme_exec_times};
use crate::{Assignment, Decision, PlaceError, Plan};

/// Where an op may go among those that its device has already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Insertion {
    /// Behind all of them.
    None,
    /// Into a gap, if it takes time. One that takes none costs nothing anywhere, and in an early gap it would draw its unit and its
    /// successors to whichever device has one.
    Timed,
    /// Into any gap.
    All,
}

/// Picks the device of the op at hand.
pub(crate) trait Select<V> {
    /// A feasible device for the unit of `op`, which is on none yet; `None` if there is none. [`PartialSchedule::ready`]
    /// and [`PartialSchedule::exec`] are about `op`.
    ///
    /// # Errors
    /// [`PlaceError::Stopped`] if it is time to stop, for selections that take long for one op.
    fn select(&mut self, schedule: &PartialSchedule<'_, V>, op: OpId) -> Result<Option<DeviceId>, PlaceError>;
}

/// As the shortest duration of a timeline: no gap is long enough to be kept.
const NO_GAPS: Time = f64::INFINITY;

/// Ops scheduled one after the other, predecessors first. Colocated ops follow the first of them that was scheduled
/// (L §4.3).
///
/// Where transfers have overheads, their ends occupy devices: once the device of an op is chosen, the sends of the tensors that
/// it needs and that are not there yet take slots of their senders, and the receives take slots of its device. While devices
/// are compared, a transfer is a delay, as in the algorithms' papers, which know no overheads.
#[derive(Debug)]
pub(crate) struct PartialSchedule<'a, V = Forward<'a>> {
    instance: &'a Instance,
    view: V,
    insertion: Insertion,
    assignment: Assignment<'a>,
    timelines: Vec<Timeline>,
    slots: Vec<Slot>,
    scheduled: Vec<bool>,
    /// The ops in the order in which they were scheduled, if nothing is inserted.
    sequence: Option<Vec<OpId>>,
    makespan: Time,
    /// By tensor or, behind all tensors, by op that sends a control signal, and by device: when it is there, if its transfer
    /// occupied the devices at its ends. `None` where transfers have no overheads.
    arrivals: Option<BTreeMap<(usize, DeviceId), Time>>,
    /// The devices of each set of kinds, ascending.
    devices_of: [Vec<DeviceId>; 8],
    /// For the op at hand and each device: when its inputs are there.
    ready: Vec<Time>,
    /// For the op at hand and each device: how long it takes.
    exec: Vec<Time>,
    /// Whether any device has a limit of memory.
    is_limited: bool,
    /// Reused by [`PartialSchedule::earliest_finish`].
    promised: RefCell<Vec<Time>>,
}

impl<'a> PartialSchedule<'a> {
    /// A schedule as time runs. With `insertion` an op may go into a gap, without it only behind all others on its device.
    ///
    /// # Complexity
    /// As [`PartialSchedule::of`].
    pub(crate) fn new(instance: &'a Instance, insertion: bool, assignment: Assignment<'a>) -> Self {
        let insertion = if insertion { Insertion::All } else { Insertion::None };
        Self::of(Forward::new(instance), instance, insertion, assignment)
    }

    /// Raises the `ready` time of each device to when these inputs, whose producers are scheduled, are there.
    ///
    /// All devices at once for each input, over flat rows of the cluster.
    pub(crate) fn add_arrivals(&self, inputs: impl Iterator<Item = Edge>, ready: &mut [Time]) {
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        for edge in inputs {
            let slot = self.slots[edge.op.index()];
            cluster.raise_to_arrivals(slot.finish, slot.device, graph.edge_bytes(edge), ready);
        }
    }
}

impl<'a, V: View> PartialSchedule<'a, V> {
    /// Nothing scheduled yet, and `assignment` has nothing placed.
    ///
    /// # Complexity
    /// O(ops · kinds + devices).
    pub(crate) fn of(view: V, instance: &'a Instance, insertion: Insertion, assignment: Assignment<'a>) -> Self {
        let (graph, cluster) = (instance.graph(), instance.cluster());
        let devices_of = std::array::from_fn(|bits| {
            let set = KindSet::from_bits(bits as u8).unwrap_or(KindSet::EMPTY);
            cluster.device_ids().filter(|&device| set.contains(cluster.device(device).kind)).collect()
        });
        let occupies = view.transfers_occupy_devices();
        let shortest = |least: Time| match insertion {
            Insertion::None => NO_GAPS,
            // Sends and receives may be shorter than any op.
            _ if occupies => 0.0,
            Insertion::Timed => least.max(Time::MIN_POSITIVE),
            Insertion::All => least,
        };
        let timelines = match insertion {
            Insertion::None => vec![Timeline::new(NO_GAPS); cluster.device_count()],
            Insertion::Timed | Insertion::All => {
                extreme_exec_times(instance).map(|(least, most)| Timeline::remembering(shortest(least), most)).collect()
            }
        };
        Self {
            instance,
            view,
            insertion,
            is_limited: assignment.is_limited(),
            assignment,
            timelines,
            slots: vec![Slot::default(); graph.op_count()],
            scheduled: vec![false; graph.op_count()],
            sequence: (insertion == Insertion::None).then(|| Vec::with_capacity(graph.op_count())),
            makespan: 0.0,
            arrivals: occupies.then(BTreeMap::new),
            devices_of,
            ready: vec![0.0; cluster.device_count()],
            exec: vec![0.0; cluster.device_count()],
            promised: RefCell::default(),
        }
    }

    /// Schedules an op on the device of its colocation group if that is fixed, else on the one that `selection` picks.
    ///
    /// All predecessors must be scheduled. The first op of a colocation group to be scheduled fixes the group's device,
    /// and the memory of the whole group is claimed then.
    ///
    /// # Errors
    /// [`PlaceError::Infeasible`] if no device can take the op's unit, [`PlaceError::Stopped`] if the selection says so.
    ///
    /// # Complexity
    /// O(in-degree · devices) for transfers, and what the selection takes.
    pub(crate) fn schedule(&mut self, op: OpId, selection: &mut impl Select<V>) -> Result<Slot, PlaceError> {
        let unit = self.instance.units().unit_of(op);
        let device = match self.assignment.device_of_unit(unit) {
            Some(device) => {
                self.ready[device.index()] = self.ready_time(op, device);
                self.exec[device.index()] = self.view.exec_time(op, device);
                device
            }
            None => {
                self.fill_ready_times(op);
                self.fill_exec_times(op);
                let device = selection.select(self, op)?.ok_or_else(|| self.assignment.infeasible(unit))?;
                self.assignment.assign(unit, device);
                device
            }
        };
        self.receive_inputs(op, device);
        Ok(self.reserve(op, device))
    }

    /// Schedules an op, whose inputs are there at `ready`, on a device that its unit is on or that is feasible for it.
    pub(crate) fn schedule_on(&mut self, op: OpId, device: DeviceId, ready: Time) -> Slot {
        let unit = self.instance.units().unit_of(op);
        if self.assignment.device_of_unit(unit).is_none() {
            self.assignment.assign(unit, device);
        }
        self.ready[device.index()] = ready;
        self.exec[device.index()] = self.view.exec_time(op, device);
        self.receive_inputs(op, device);
        self.reserve(op, device)
    }

    /// Where transfers have overheads: takes slots for the sends and the receives of what an op needs on its device and what
    /// is not there yet, in the order of its inputs, and raises its ready time to the last of them.
    ///
    /// # Complexity
    /// O(in-degree · log).
    fn receive_inputs(&mut self, op: OpId, device: DeviceId) {
        let Some(arrivals) = &mut self.arrivals else { return };
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        // What takes no time waits for nothing.
        let occupy = |timeline: &mut Timeline, from: Time, takes: Time| match takes > 0.0 {
            true => timeline.reserve(from, takes) + takes,
            false => from,
        };
        let ready = &mut self.ready[device.index()];
        for edge in graph.predecessors(op) {
            let slot = self.slots[edge.op.index()];
            if slot.device == device {
                *ready = ready.max(slot.finish);
                continue;
            }
            let sent = edge.tensor.map_or(graph.tensor_count() + edge.op.index(), |tensor| tensor.index());
            let arrival = *arrivals.entry((sent, device)).or_insert_with(|| {
                let bytes = graph.edge_bytes(edge);
                let sends = cluster.send_time(bytes, slot.device, device);
                let left = occupy(&mut self.timelines[slot.device.index()], slot.finish, sends);
                let there = left + cluster.transfer_time(bytes, slot.device, device);
                let receives = cluster.receive_time(bytes, slot.device, device);
                occupy(&mut self.timelines[device.index()], there, receives)
            });
            *ready = ready.max(arrival);
        }
    }

    /// The last instant at which a device is occupied by what is scheduled.
    pub(crate) fn busy_until(&self, device: DeviceId) -> Time {
        self.timelines[device.index()].tail()
    }

    /// The feasible device with the least finish time plus `extra` for the op at hand; ties: the lowest id.
    ///
    /// # Complexity
    /// O(devices), and O(log ops) for each device that would win by what is known of it.
    pub(crate) fn earliest_finish(&self, unit: UnitId, extra: impl Fn(DeviceId) -> Time) -> Option<DeviceId> {
        let devices = self.devices_of(unit);
        // No gap can make it finish before what is promised.
        let mut promised = self.promised.take();
        promised.clear();
        promised.extend(devices.iter().map(|&device| {
            if self.is_limited && !self.assignment.has_room(unit, device) {
                return f64::INFINITY;
            }
            let (ready, exec) = (self.ready[device.index()], self.exec[device.index()]);
            self.timelines[device.index()].earliest_known(ready, exec) + exec + extra(device)
        }));
        // The best promise first: what comes of it rules out most others.
        let first = (0..devices.len()).reduce(|best, at| if promised[at] < promised[best] { at } else { best });
        let mut best: Option<(Time, DeviceId)> = None;
        for (&promise, &device) in
            first.iter().map(|&at| (&promised[at], &devices[at])).chain(promised.iter().zip(devices))
        {
            // A tie goes to the lower id.
            if promise == f64::INFINITY || best.is_some_and(|best| (promise, device) >= best) {
                continue;
            }
            let value = self.earliest(device) + self.exec[device.index()] + extra(device);
            if best.is_none_or(|best| (value, device) < best) {
                best = Some((value, device));
            }
        }
        self.promised.replace(promised);
        best.map(|(_, device)| device)
    }

    /// The feasible device on which the op at hand starts first; ties: where it finishes first, then the lowest id.
    ///
    /// # Complexity
    /// As [`PartialSchedule::earliest_finish`].
    pub(crate) fn earliest_start(&self, unit: UnitId) -> Option<DeviceId> {
        let mut best: Option<((Time, Time), DeviceId)> = None;
        for &device in self.devices_of(unit) {
            let (ready, exec) = (self.ready[device.index()], self.exec[device.index()]);
            // No gap can make it start or finish before this.
            if best.is_some_and(|(least, _)| (ready, ready + exec) >= least) || !self.assignment.has_room(unit, device)
            {
                continue;
            }
            let start = self.earliest(device);
            if best.is_none_or(|(least, _)| (start, start + exec) < least) {
                best = Some(((start, start + exec), device));
            }
        }
        best.map(|(_, device)| device)
    }

    /// The devices of the kinds allowed to a unit, ascending.
    pub(crate) fn devices_of(&self, unit: UnitId) -> &[DeviceId] {
        &self.devices_of[usize::from(self.instance.units().kinds(unit).bits())]
    }

    pub(crate) fn instance(&self) -> &'a Instance {
        self.instance
    }

    pub(crate) fn assignment(&self) -> &Assignment<'a> {
        &self.assignment
    }

    pub(crate) fn is_scheduled(&self, op: OpId) -> bool {
        self.scheduled[op.index()]
    }

    /// The device of an op that is scheduled.
    pub(crate) fn device_of(&self, op: OpId) -> DeviceId {
        self.slots[op.index()].device
    }

    pub(crate) fn timeline(&self, device: DeviceId) -> &Timeline {
        &self.timelines[device.index()]
    }

    /// For the op at hand and each device: when its inputs are there.
    pub(crate) fn ready(&self) -> &[Time] {
        &self.ready
    }

    /// For the op at hand and each device: how long it takes.
    pub(crate) fn exec(&self) -> &[Time] {
        &self.exec
    }

    /// The earliest time at which the op at hand can start on a device.
    #[inline]
    fn earliest(&self, device: DeviceId) -> Time {
        let (ready, exec) = (self.ready[device.index()], self.exec[device.index()]);
        let timeline = &self.timelines[device.index()];
        if self.goes_behind(exec) { ready.max(timeline.tail()) } else { timeline.earliest(ready, exec) }
    }

    /// Whether an op that takes so long may not go into a gap, though others may.
    #[inline]
    fn goes_behind(&self, exec: Time) -> bool {
        self.insertion == Insertion::Timed && exec <= 0.0
    }

    fn reserve(&mut self, op: OpId, device: DeviceId) -> Slot {
        let (ready, exec) = (self.ready[device.index()], self.exec[device.index()]);
        let from = if self.goes_behind(exec) { self.earliest(device) } else { ready };
        let start = self.timelines[device.index()].reserve(from, exec);
        let slot = Slot { device, start, finish: start + exec };
        self.slots[op.index()] = slot;
        self.scheduled[op.index()] = true;
        if let Some(sequence) = &mut self.sequence {
            sequence.push(op);
        }
        self.makespan = self.makespan.max(slot.finish);
        slot
    }

    /// When the inputs of an op are on one device.
    pub(crate) fn ready_time(&self, op: OpId, device: DeviceId) -> Time {
        self.view.ready_time(op, device, &self.slots)
    }

    /// Takes an op at hand whose predecessors are all scheduled: [`PartialSchedule::ready`] is about it from now on.
    ///
    /// # Complexity
    /// O(in-degree · devices).
    pub(crate) fn fill_ready_times(&mut self, op: OpId) {
        let mut ready = std::mem::take(&mut self.ready);
        ready.fill(0.0);
        self.view.raise_to_arrivals(op, &self.slots, &mut ready);
        self.ready = ready;
    }

    fn fill_exec_times(&mut self, op: OpId) {
        let mut exec = std::mem::take(&mut self.exec);
        self.exec_times(op, &mut exec);
        self.exec = exec;
    }

    /// Writes how long an op takes on each device.
    pub(crate) fn exec_times(&self, op: OpId, exec: &mut [Time]) {
        self.view.exec_times(op, exec);
    }

    /// The view of the instance.
    pub(crate) fn view(&self) -> &V {
        &self.view
    }

    /// Where and when each op runs, once all are scheduled.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The placement and the plan, once all ops are scheduled.
    ///
    /// # Errors
    /// [`PlaceError::Infeasible`] for the first unit that is not placed.
    ///
    /// # Complexity
    /// O(ops · log ops).
    pub(crate) fn finish(self) -> Result<Decision, PlaceError> {
        // Without insertion ops lie on their device in the order in which they came, those that take no time too.
        let order = match self.sequence {
            Some(sequence) => planned_order(sequence.into_iter(), &self.slots),
            None => planned_order(self.instance.graph().topological_order(), &self.slots),
        };
        let plan = Plan::of_ops(order, self.makespan);
        Ok(Decision { plan: Some(plan), ..Decision::placement(self.assignment.finish()?) })
    }
}

/// The ops by start, then finish, then in the order given, a linear extension. An op without duration so comes before one
/// that starts when it does, which is where it lies on its device, and after those that it waits for.
pub(crate) fn planned_order(ops: impl Iterator<Item = OpId>, slots: &[Slot]) -> Vec<OpId> {
    let mut keyed: Vec<(Time, Time, u32, OpId)> = ops
        .enumerate()
        .map(|(position, op)| (slots[op.index()].start, slots[op.index()].finish, position as u32, op))
        .collect();
    keyed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    keyed.into_iter().map(|(_, _, _, op)| op).collect()
}
