//! What devices may hold, and what units claim of it.

use placebench_datasets::{DeviceId, Instance, UnitId};

use crate::peak_demands::PeakDemands;

/// Whether that many bytes more stay below a limit (L §4.1). Nothing always fits.
#[inline]
pub(crate) fn fits_below(limit: Option<u64>, used: u64, demand: u64) -> bool {
    limit.is_none_or(|limit| demand == 0 || used.saturating_add(demand) < limit)
}

/// What each device may hold less than, and what each unit demands of it.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// `None` where there is no limit.
    devices: Vec<Option<u64>>,
    units: Vec<u64>,
}

impl Limits {
    /// The memory of the cluster's devices under L's demands; `None` if none is limited.
    pub(crate) fn of_cluster(instance: &Instance) -> Option<Self> {
        let devices: Vec<Option<u64>> = instance.cluster().devices().iter().map(|device| device.memory_bytes).collect();
        devices.iter().any(Option::is_some).then(|| Self { devices, units: demands(instance) })
    }

    /// Limits that guess what the run will hold, where the rule `peak` leaves memory to it: what units hold when memory is
    /// shortest in a sequential run, and the largest inputs of one op.
    ///
    /// # Complexity
    /// O(ops + edges).
    pub(crate) fn estimated_peaks(instance: &Instance) -> Self {
        let demands = PeakDemands::new(instance);
        let reserve = demands.temporary.iter().copied().max().unwrap_or(0);
        Self { devices: below_peaks(instance, reserve), units: demands.permanent }
    }

    /// Limits that are sure to hold under the rule `peak`: the sum of all tensors, as if none were ever freed.
    pub(crate) fn safe_peaks(instance: &Instance) -> Self {
        Self { devices: below_peaks(instance, 0), units: demands(instance) }
    }

    /// What a device may hold less than.
    #[inline]
    pub(crate) fn of_device(&self, device: DeviceId) -> Option<u64> {
        self.devices[device.index()]
    }

    /// What a unit demands.
    #[inline]
    pub(crate) fn demand(&self, unit: UnitId) -> u64 {
        self.units[unit.index()]
    }
}

fn demands(instance: &Instance) -> Vec<u64> {
    instance.units().ids().map(|unit| instance.units().demand_bytes(unit)).collect()
}

/// The peak limits of the devices less a reserve, as bounds that are not reached themselves.
fn below_peaks(instance: &Instance, reserve: u64) -> Vec<Option<u64>> {
    let below = |most: u64| (most + 1).saturating_sub(reserve).max(1);
    instance.cluster().device_ids().map(|device| instance.peak_limit(device).map(below)).collect()
}
