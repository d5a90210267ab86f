//! Which devices are fast, and for what.

use placebench_datasets::{DeviceId, Instance, KindSet, Time};

use crate::placers::load::Work;

/// How long devices take for the units of each set of kinds.
pub(super) struct Speeds {
    /// By set of kinds.
    work: [Work; 8],
    /// Ops by set of kinds.
    ops: [usize; 8],
}

impl Speeds {
    pub(super) fn new(instance: &Instance) -> Self {
        let units = instance.units();
        let mut speeds = Self { work: std::array::from_fn(|_| Work::default()), ops: [0; 8] };
        for unit in units.ids() {
            let (kinds, work) = (units.kinds(unit), Work::of_unit(instance, unit));
            speeds.ops[usize::from(kinds.bits())] += units.members(unit).len();
            speeds.work[usize::from(kinds.bits())].add(&work);
        }
        speeds
    }

    fn time(&self, instance: &Instance, bits: usize, device: DeviceId) -> Time {
        self.work[bits].time(instance, device)
    }

    /// For each device, whether it takes at most the mean time for all units of a set of kinds together.
    pub(super) fn fast_devices(&self, instance: &Instance, bits: usize) -> Vec<bool> {
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
    pub(super) fn fastest_first(&self, instance: &Instance) -> Vec<DeviceId> {
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
