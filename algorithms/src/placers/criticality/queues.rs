//! The ops that are ready and wait for a device.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use placebench_datasets::{DeviceId, Instance, KindSet, OpId};

use crate::online::OnlineState;

/// Place of an op in a queue: priority (largest first), then turn. Priorities are never negative, so that their bits order
/// as they do.
type Entry = (Reverse<u64>, u32, OpId);

/// The ready ops: a queue for each set of kinds and for critical ops or not, and one for each device.
pub(super) struct Queues<'a> {
    instance: &'a Instance,
    /// By what queues are ordered.
    priority: Vec<f64>,
    /// Which ops were critical when they became ready, and when in the order of all they did.
    is_critical: Vec<bool>,
    turn: Vec<u32>,
    turns: u32,
    is_waiting: Vec<bool>,
    waiting: usize,
    /// Ops whose unit has no device, by the unit's kinds, non-critical and critical.
    free: [[BTreeSet<Entry>; 2]; 8],
    /// Ops whose unit has a device.
    bound: Vec<BTreeSet<Entry>>,
}

impl<'a> Queues<'a> {
    /// Nothing waits. Priorities are never negative.
    pub(super) fn new(instance: &'a Instance, priority: Vec<f64>) -> Self {
        let ops = instance.graph().op_count();
        Self {
            instance,
            priority,
            is_critical: vec![false; ops],
            turn: vec![0; ops],
            turns: 0,
            is_waiting: vec![false; ops],
            waiting: 0,
            free: Default::default(),
            bound: vec![BTreeSet::new(); instance.cluster().device_count()],
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Adds an op that became ready.
    pub(super) fn push(&mut self, op: OpId, is_critical: bool, state: &dyn OnlineState) {
        self.is_critical[op.index()] = is_critical;
        self.turn[op.index()] = self.turns;
        self.turns += 1;
        let entry = self.entry(op);
        match state.assignment().device_of(op) {
            Some(device) => self.bound[device.index()].insert(entry),
            None => self.free_queue(op).insert(entry),
        };
        self.is_waiting[op.index()] = true;
        self.waiting += 1;
    }

    /// The first op that only this device may take.
    pub(super) fn first_bound(&self, device: DeviceId) -> Option<OpId> {
        self.bound[device.index()].first().map(|&(_, _, op)| op)
    }

    /// The first op without a device that fits on one, from the queues that `wants` selects by their set of kinds, as bits, and
    /// by whether they hold critical ops.
    pub(super) fn first_free(
        &self,
        device: DeviceId,
        state: &dyn OnlineState,
        wants: impl Fn(usize, bool) -> bool,
    ) -> Option<OpId> {
        let (kind, units) = (self.instance.cluster().device(device).kind, self.instance.units());
        let suits = |bits: usize| KindSet::from_bits(bits as u8).is_some_and(|kinds| kinds.contains(kind));
        let fits = |op: OpId| state.assignment().fits(units.demand_bytes(units.unit_of(op)), device);
        let mut first: Option<&Entry> = None;
        for bits in (0..8).filter(|&bits| suits(bits)) {
            for is_critical in [false, true].into_iter().filter(|&is_critical| wants(bits, is_critical)) {
                let entry = self.free[bits][usize::from(is_critical)].iter().find(|&&(_, _, op)| fits(op));
                first = first.into_iter().chain(entry).min();
            }
        }
        first.map(|&(_, _, op)| op)
    }

    /// Removes an op that goes to a device. With it the rest of its unit becomes bound to the device.
    pub(super) fn take(&mut self, op: OpId, device: DeviceId, state: &dyn OnlineState) {
        let entry = self.entry(op);
        self.is_waiting[op.index()] = false;
        self.waiting -= 1;
        let units = self.instance.units();
        let unit = units.unit_of(op);
        if state.assignment().device_of_unit(unit).is_some() {
            self.bound[device.index()].remove(&entry);
            return;
        }
        self.free_queue(op).remove(&entry);
        for &mate in units.members(unit) {
            if self.is_waiting[mate.index()] {
                let entry = self.entry(mate);
                self.free_queue(mate).remove(&entry);
                self.bound[device.index()].insert(entry);
            }
        }
    }

    fn entry(&self, op: OpId) -> Entry {
        (Reverse(self.priority[op.index()].to_bits()), self.turn[op.index()], op)
    }

    /// The queue of an op whose unit has no device.
    fn free_queue(&mut self, op: OpId) -> &mut BTreeSet<Entry> {
        let units = self.instance.units();
        let kinds = usize::from(units.kinds(units.unit_of(op)).bits());
        &mut self.free[kinds][usize::from(self.is_critical[op.index()])]
    }
}
