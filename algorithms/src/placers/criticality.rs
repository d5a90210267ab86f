//! What cats, cpath and hybrid share: critical ops go to fast devices, the others to slow ones, when a device is idle.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use placebench_datasets::{DeviceId, Instance, KindSet, OpId, Time};

use super::load::Work;
use crate::online::{OnlinePolicy, OnlineState};
use crate::{Named, Params, SpecError};

/// Who may take what is meant for the other devices, when nothing of their own is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stealing {
    /// Fast devices take non-critical ops.
    Fast,
    /// Slow devices take critical ops, too.
    Both,
}

impl Named for Stealing {
    const NAMES: &'static [(&'static str, Self)] = &[("fast", Self::Fast), ("both", Self::Both)];
}

impl Stealing {
    /// The parameter `steal`.
    pub(super) fn param(params: &mut Params) -> Result<Self, SpecError> {
        let doc = "who takes what is meant for others when nothing else is left: fast devices (fast), or slow ones too (both)";
        params.word("steal", Self::Fast, doc)
    }
}

/// Place of an op in a queue: priority (largest first), then turn. Priorities are never negative, so that their bits order
/// as they do.
type Entry = (Reverse<u64>, u32, OpId);

/// The end of the critical path so far.
#[derive(Clone, Copy)]
struct LastCritical {
    op: OpId,
    level: f64,
    /// The largest level of its successors.
    next_level: f64,
}

/// The policy: which ready op is critical, and who executes it.
pub(super) struct Criticality<'a> {
    instance: &'a Instance,
    stealing: Stealing,
    /// How long the way to the end is, by which the critical path is recognised.
    level: Vec<f64>,
    /// By what queues are ordered.
    priority: Vec<f64>,
    /// The op that became critical last.
    last: Option<LastCritical>,
    /// Which ops were critical when they became ready, and when in the order of all they did.
    is_critical: Vec<bool>,
    turn: Vec<u32>,
    turns: u32,
    is_waiting: Vec<bool>,
    waiting: usize,
    /// Ready ops by kinds of their unit, non-critical and critical.
    queues: [[BTreeSet<Entry>; 2]; 8],
    /// Ready ops whose unit has a device.
    bound: Vec<BTreeSet<Entry>>,
    /// For units of each set of kinds, which devices are fast.
    is_fast: [Vec<bool>; 8],
    /// The order in which idle devices choose.
    order: Vec<DeviceId>,
}

impl<'a> Criticality<'a> {
    /// A policy that recognises critical ops by `level` and orders queues by `priority`; neither may be negative.
    pub(super) fn new(instance: &'a Instance, stealing: Stealing, level: Vec<f64>, priority: Vec<f64>) -> Self {
        let ops = instance.graph().op_count();
        let speeds = Speeds::new(instance);
        Self {
            instance,
            stealing,
            level,
            priority,
            last: None,
            is_critical: vec![false; ops],
            turn: vec![0; ops],
            turns: 0,
            is_waiting: vec![false; ops],
            waiting: 0,
            queues: Default::default(),
            bound: vec![BTreeSet::new(); instance.cluster().device_count()],
            is_fast: std::array::from_fn(|bits| speeds.fast_devices(instance, bits)),
            order: speeds.fastest_first(instance),
        }
    }

    /// Whether an op that becomes ready continues the critical path, or starts one that is as long.
    fn continues_critical_path(&self, op: OpId) -> bool {
        let level = self.level[op.index()];
        self.last.is_none_or(|last| {
            let predecessors = self.instance.graph().predecessor_ops(op);
            level >= last.level || (level >= last.next_level && predecessors.contains(&last.op))
        })
    }

    fn entry(&self, op: OpId) -> Entry {
        (Reverse(self.priority[op.index()].to_bits()), self.turn[op.index()], op)
    }

    fn kinds_of(&self, op: OpId) -> usize {
        let units = self.instance.units();
        usize::from(units.kinds(units.unit_of(op)).bits())
    }

    /// The queue of an op whose unit has no device.
    fn queue_of(&mut self, op: OpId) -> &mut BTreeSet<Entry> {
        let kinds = self.kinds_of(op);
        &mut self.queues[kinds][usize::from(self.is_critical[op.index()])]
    }

    fn enqueue(&mut self, op: OpId, state: &dyn OnlineState) {
        let entry = self.entry(op);
        match state.assignment().device_of(op) {
            Some(device) => self.bound[device.index()].insert(entry),
            None => self.queue_of(op).insert(entry),
        };
        self.is_waiting[op.index()] = true;
        self.waiting += 1;
    }

    /// What an idle device takes: what only it may take, then what is meant for devices like it, then what it may steal.
    fn choice(&self, device: DeviceId, state: &dyn OnlineState) -> Option<OpId> {
        if let Some(&(_, _, op)) = self.bound[device.index()].first() {
            return Some(op);
        }
        self.first_of(device, state, |is_fast, critical| is_fast == critical).or_else(|| {
            self.first_of(device, state, |is_fast, critical| match is_fast {
                true => !critical,
                false => critical && self.stealing == Stealing::Both,
            })
        })
    }

    /// The first op that fits on a device, of those queues that `wants` selects by whether the device is fast for their kinds
    /// and whether they hold critical ops.
    fn first_of(&self, device: DeviceId, state: &dyn OnlineState, wants: impl Fn(bool, bool) -> bool) -> Option<OpId> {
        let (kind, units) = (self.instance.cluster().device(device).kind, self.instance.units());
        let assignment = state.assignment();
        let suits = |bits: usize| KindSet::from_bits(bits as u8).is_some_and(|kinds| kinds.contains(kind));
        let queues = (0..8).filter(|&bits| suits(bits)).flat_map(|bits| {
            let is_fast = self.is_fast[bits][device.index()];
            let wants = &wants;
            [false, true]
                .into_iter()
                .filter(move |&critical| wants(is_fast, critical))
                .map(move |critical| (bits, critical))
        });
        let fits = |op: OpId| assignment.fits(units.demand_bytes(units.unit_of(op)), device);
        let firsts = queues.filter_map(|(bits, critical)| {
            self.queues[bits][usize::from(critical)].iter().find(|&&(_, _, op)| fits(op))
        });
        firsts.min().map(|&(_, _, op)| op)
    }

    /// An op leaves the queues, and with it its unit becomes bound to the device.
    fn take(&mut self, op: OpId, device: DeviceId, state: &dyn OnlineState) {
        let entry = self.entry(op);
        self.is_waiting[op.index()] = false;
        self.waiting -= 1;
        let units = self.instance.units();
        let unit = units.unit_of(op);
        if state.assignment().device_of_unit(unit).is_some() {
            self.bound[device.index()].remove(&entry);
            return;
        }
        self.queue_of(op).remove(&entry);
        for &mate in units.members(unit) {
            if self.is_waiting[mate.index()] {
                let entry = self.entry(mate);
                self.queue_of(mate).remove(&entry);
                self.bound[device.index()].insert(entry);
            }
        }
    }
}

impl OnlinePolicy for Criticality<'_> {
    fn ready(&mut self, ops: &[OpId], state: &dyn OnlineState) {
        let mut ops = ops.to_vec();
        ops.sort_by(|a, b| self.level[b.index()].total_cmp(&self.level[a.index()]));
        for op in ops {
            let critical = self.continues_critical_path(op);
            if critical {
                let after = self.instance.graph().successor_ops(op).iter();
                let next_level = after.map(|after| self.level[after.index()]).fold(0.0, f64::max);
                self.last = Some(LastCritical { op, level: self.level[op.index()], next_level });
            }
            self.is_critical[op.index()] = critical;
            self.turn[op.index()] = self.turns;
            self.turns += 1;
            self.enqueue(op, state);
        }
    }

    fn next(&mut self, state: &dyn OnlineState) -> Option<(OpId, DeviceId)> {
        if self.waiting == 0 {
            return None;
        }
        let idle = || self.order.iter().copied().filter(|&device| state.is_idle(device));
        let chosen = idle().find_map(|device| Some((self.choice(device, state)?, device))).or_else(|| {
            // Only memory can keep ops from the devices that they are meant for while all are idle: then any will do.
            let stuck = self.order.iter().all(|&device| state.is_idle(device));
            stuck.then(|| idle().find_map(|device| Some((self.first_of(device, state, |_, _| true)?, device))))?
        });
        let (op, device) = chosen?;
        self.take(op, device, state);
        Some((op, device))
    }
}

/// How long devices take for the units of each set of kinds.
struct Speeds {
    /// By set of kinds.
    work: [Work; 8],
    /// Ops by set of kinds.
    ops: [usize; 8],
}

impl Speeds {
    fn new(instance: &Instance) -> Self {
        let units = instance.units();
        let mut speeds = Self { work: [Work::default(); 8], ops: [0; 8] };
        for unit in units.ids() {
            let (kinds, work) = (units.kinds(unit), Work::of_unit(instance, unit));
            speeds.ops[usize::from(kinds.bits())] += units.members(unit).len();
            speeds.work[usize::from(kinds.bits())].add(&work);
        }
        speeds
    }

    fn time(&self, instance: &Instance, bits: usize, device: DeviceId) -> Time {
        self.work[bits].time(instance.cluster(), device)
    }

    /// For each device, whether it takes at most the mean time for all units of a set of kinds together.
    fn fast_devices(&self, instance: &Instance, bits: usize) -> Vec<bool> {
        let cluster = instance.cluster();
        let kinds = KindSet::from_bits(bits as u8).unwrap_or(KindSet::EMPTY);
        let allowed = |device: DeviceId| kinds.contains(cluster.device(device).kind);
        let times: Vec<Time> = cluster
            .device_ids()
            .filter(|&device| allowed(device))
            .map(|device| self.time(instance, bits, device))
            .collect();
        let mean = times.iter().sum::<Time>() / times.len() as Time;
        // The mean of equal numbers may differ from them by rounding.
        let is_fast = |device| allowed(device) && self.time(instance, bits, device) <= mean * (1.0 + 1e-9);
        cluster.device_ids().map(is_fast).collect()
    }

    /// The devices by mean time of the ops that they may run, then by id.
    fn fastest_first(&self, instance: &Instance) -> Vec<DeviceId> {
        let cluster = instance.cluster();
        let mean = |device: DeviceId| {
            let kind = cluster.device(device).kind;
            let sets = (0..8usize).filter(|&bits| KindSet::from_bits(bits as u8).is_some_and(|set| set.contains(kind)));
            let (time, ops) = sets
                .fold((0.0, 0), |(time, ops), bits| (time + self.time(instance, bits, device), ops + self.ops[bits]));
            if ops > 0 { time / ops as Time } else { Time::INFINITY }
        };
        let mut devices: Vec<(Time, DeviceId)> = cluster.device_ids().map(|device| (mean(device), device)).collect();
        devices.sort_by(|a, b| a.0.total_cmp(&b.0));
        devices.into_iter().map(|(_, device)| device).collect()
    }
}
