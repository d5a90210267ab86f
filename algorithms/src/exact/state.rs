//! A partial schedule, to which ops are appended.

use placebench_datasets::Time;

use super::tables::Tables;

/// An op on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) op: usize,
    pub(super) device: usize,
}

/// What a partial schedule leaves for the rest to know.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Scheduled ops.
    pub(super) done: u64,
    /// When the op appended last starts; no op appended later may start earlier.
    pub(super) latest_start: Time,
    /// When the last op of each device ends.
    pub(super) free: Vec<Time>,
    /// The last op of each device and its start.
    pub(super) last: Vec<Option<(usize, Time)>>,
    /// When the data of all scheduled producers of an op is on a device.
    pub(super) ready: Vec<Time>,
    /// Devices of the units that have one.
    pub(super) device_of_unit: Vec<Option<usize>>,
    /// Bytes claimed on each device.
    pub(super) used: Vec<u64>,
}

impl State {
    /// Nothing scheduled.
    pub(super) fn new(tables: &Tables) -> Self {
        Self {
            done: 0,
            latest_start: 0.0,
            free: vec![0.0; tables.devices],
            last: vec![None; tables.devices],
            ready: vec![0.0; tables.ops * tables.devices],
            device_of_unit: vec![None; tables.members.len()],
            used: vec![0; tables.devices],
        }
    }

    /// Becomes a copy of another state, without new memory.
    pub(super) fn copy(&mut self, other: &Self) {
        self.done = other.done;
        self.latest_start = other.latest_start;
        self.free.clone_from(&other.free);
        self.last.clone_from(&other.last);
        self.ready.clone_from(&other.ready);
        self.device_of_unit.clone_from(&other.device_of_unit);
        self.used.clone_from(&other.used);
    }

    #[inline]
    pub(super) fn is_done(&self, op: usize) -> bool {
        self.done >> op & 1 == 1
    }

    /// Whether all inputs of an op are scheduled, and the op is not.
    pub(super) fn is_ready(&self, tables: &Tables, op: usize) -> bool {
        !self.is_done(op) && tables.inputs[op].iter().all(|arc| self.is_done(arc.op))
    }

    /// Whether an op may go to a device: kind, colocation, memory.
    #[inline]
    pub(super) fn allows(&self, tables: &Tables, op: usize, device: usize) -> bool {
        if tables.time(op, device) == f64::INFINITY {
            return false;
        }
        match (self.device_of_unit[tables.unit[op]], &tables.memory) {
            (Some(fixed), _) => fixed == device,
            (None, None) => true,
            (None, Some(memory)) => memory.fits(tables.unit[op], device, &self.used),
        }
    }

    /// When an op would start on a device, whatever was appended before on others.
    #[inline]
    pub(super) fn start(&self, tables: &Tables, Step { op, device }: Step) -> Time {
        self.free[device].max(self.ready[op * tables.devices + device])
    }

    /// When a device can start something that is appended in order.
    #[inline]
    pub(super) fn available(&self, device: usize) -> Time {
        self.free[device].max(self.latest_start)
    }

    /// Appends an op to a device, at its [`State::start`], which it returns.
    pub(super) fn append(&mut self, tables: &Tables, step: Step) -> Time {
        let Step { op, device } = step;
        let start = self.start(tables, step);
        let end = start + tables.time(op, device);
        self.done |= 1 << op;
        self.latest_start = self.latest_start.max(start);
        self.free[device] = end;
        self.last[device] = Some((op, start));
        for arc in &tables.outputs[op] {
            for (to, ready) in self.ready[arc.op * tables.devices..][..tables.devices].iter_mut().enumerate() {
                *ready = ready.max(end + arc.delay[device * tables.devices + to]);
            }
        }
        self.assign(tables, tables.unit[op], device);
        start
    }

    /// Gives a unit its device, if it has none yet.
    pub(super) fn assign(&mut self, tables: &Tables, unit: usize, device: usize) {
        if self.device_of_unit[unit].is_none() {
            self.device_of_unit[unit] = Some(device);
            if let Some(memory) = &tables.memory {
                self.used[device] = self.used[device].saturating_add(memory.demand[unit]);
            }
        }
    }
}
