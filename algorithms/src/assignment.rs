//! A placement in the making: which units are placed, and what memory is left.

use placebench_datasets::{DeviceId, Instance, MemoryRule, OpId, Placement, UnitId};

use crate::PlaceError;
use crate::peak_demands::PeakDemands;

/// The units placed so far and the memory that they claim on each device (L §4.1).
#[derive(Clone, Debug)]
pub struct Assignment<'a> {
    instance: &'a Instance,
    device_of_unit: Vec<Option<DeviceId>>,
    used_bytes: Vec<u64>,
    /// What units demand under the rule `peak`, if that is kept.
    peaks: Option<PeakDemands>,
    /// The most temporary memory of a unit on each device, if the rule `peak` is kept.
    temporary_bytes: Vec<u64>,
}

impl<'a> Assignment<'a> {
    /// Nothing placed yet.
    pub fn new(instance: &'a Instance) -> Self {
        Self {
            instance,
            device_of_unit: vec![None; instance.units().count()],
            used_bytes: vec![0; instance.cluster().device_count()],
            peaks: None,
            temporary_bytes: vec![0; instance.cluster().device_count()],
        }
    }

    /// As [`Assignment::new`], but under the memory rule `peak` devices have their memory too: the permanent memory of all units
    /// there and the most temporary memory of one have to fit. See [`PeakDemands`].
    pub(crate) fn within_peaks(instance: &'a Instance) -> Self {
        let limited = instance.cluster().device_ids().any(|device| instance.peak_limit(device).is_some());
        let keeps = limited && instance.memory_rule() == MemoryRule::Peak;
        Self { peaks: keeps.then(|| PeakDemands::new(instance)), ..Self::new(instance) }
    }

    fn memory_bytes(&self, device: DeviceId) -> Option<u64> {
        match self.peaks {
            Some(_) => self.instance.peak_limit(device),
            None => self.instance.cluster().device(device).memory_bytes,
        }
    }

    /// Whether `device` is of an allowed kind and the unit's demand leaves its sum below the device's memory.
    #[inline]
    pub fn is_feasible(&self, unit: UnitId, device: DeviceId) -> bool {
        let units = self.instance.units();
        units.kind_allows(unit, self.instance.cluster(), device) && self.has_room(unit, device)
    }

    /// Whether any device has a limit of memory.
    pub(crate) fn is_limited(&self) -> bool {
        self.instance.cluster().device_ids().any(|device| self.memory_bytes(device).is_some())
    }

    /// Whether a device has memory left for a unit.
    #[inline]
    pub(crate) fn has_room(&self, unit: UnitId, device: DeviceId) -> bool {
        let Some(peaks) = &self.peaks else { return self.fits(self.instance.units().demand_bytes(unit), device) };
        self.memory_bytes(device).is_none_or(|memory| {
            let temporary = self.temporary_bytes[device.index()].max(peaks.temporary[unit.index()]);
            let permanent = self.used_bytes(device).saturating_add(peaks.permanent[unit.index()]);
            permanent.saturating_add(temporary) <= memory
        })
    }

    /// Whether that many more bytes stay below the memory of a device. Nothing always fits.
    #[inline]
    pub fn fits(&self, demand_bytes: u64, device: DeviceId) -> bool {
        match self.instance.cluster().device(device).memory_bytes {
            None => true,
            Some(memory) => demand_bytes == 0 || self.used_bytes(device).saturating_add(demand_bytes) < memory,
        }
    }

    /// The devices that are feasible for a unit, ascending.
    pub fn feasible_devices(&self, unit: UnitId) -> impl Iterator<Item = DeviceId> + '_ {
        self.instance.cluster().device_ids().filter(move |&device| self.is_feasible(unit, device))
    }

    /// Puts a unit on a device; the caller has checked that it is feasible and not yet placed.
    pub fn assign(&mut self, unit: UnitId, device: DeviceId) {
        debug_assert!(self.device_of_unit(unit).is_none() && self.is_feasible(unit, device));
        self.device_of_unit[unit.index()] = Some(device);
        let demand = match &self.peaks {
            Some(peaks) => {
                let temporary = &mut self.temporary_bytes[device.index()];
                *temporary = peaks.temporary[unit.index()].max(*temporary);
                peaks.permanent[unit.index()]
            }
            None => self.instance.units().demand_bytes(unit),
        };
        let used = &mut self.used_bytes[device.index()];
        *used = used.saturating_add(demand);
    }

    /// Puts a unit on the first of some devices that is feasible for it.
    ///
    /// # Errors
    /// [`PlaceError::Infeasible`] if none is.
    pub fn assign_first(
        &mut self,
        unit: UnitId,
        mut devices: impl Iterator<Item = DeviceId>,
    ) -> Result<(), PlaceError> {
        let device = devices.find(|&device| self.is_feasible(unit, device)).ok_or_else(|| self.infeasible(unit))?;
        self.assign(unit, device);
        Ok(())
    }

    /// The device of a unit, if it is placed.
    #[inline]
    pub fn device_of_unit(&self, unit: UnitId) -> Option<DeviceId> {
        self.device_of_unit[unit.index()]
    }

    /// The device of an op, if its unit is placed.
    #[inline]
    pub fn device_of(&self, op: OpId) -> Option<DeviceId> {
        self.device_of_unit(self.instance.units().unit_of(op))
    }

    /// Bytes claimed on a device.
    #[inline]
    pub fn used_bytes(&self, device: DeviceId) -> u64 {
        self.used_bytes[device.index()]
    }

    /// The error that no device is feasible for a unit.
    pub fn infeasible(&self, unit: UnitId) -> PlaceError {
        let (graph, cluster, units) = (self.instance.graph(), self.instance.cluster(), self.instance.units());
        let allowed: Vec<DeviceId> =
            cluster.device_ids().filter(|&device| units.kind_allows(unit, cluster, device)).collect();
        let free = |device: DeviceId| match self.memory_bytes(device) {
            None => u64::MAX,
            Some(memory) => memory.saturating_sub(self.used_bytes(device)),
        };
        let members = units.members(unit);
        let label = graph.label(members[0]);
        PlaceError::Infeasible {
            unit: if members.len() > 1 { format!("the group of {} with {label}", members.len()) } else { label },
            kinds: units.kinds(unit),
            demand_bytes: match &self.peaks {
                Some(peaks) => peaks.permanent[unit.index()].saturating_add(peaks.temporary[unit.index()]),
                None => units.demand_bytes(unit),
            },
            rule: if self.peaks.is_some() { MemoryRule::Peak } else { MemoryRule::Static },
            allowed: allowed.len(),
            free_bytes: allowed.into_iter().map(free).max().unwrap_or(0),
        }
    }

    /// The finished placement.
    ///
    /// # Errors
    /// [`PlaceError::Infeasible`] for the first unit that is not placed.
    pub fn finish(self) -> Result<Placement, PlaceError> {
        if let Some(unit) = self.instance.units().ids().find(|&unit| self.device_of_unit(unit).is_none()) {
            return Err(self.infeasible(unit));
        }
        let devices = self.instance.graph().op_ids().filter_map(|op| self.device_of(op)).collect();
        Ok(Placement::new(devices))
    }
}
