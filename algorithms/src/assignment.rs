//! A placement in the making: which units are placed, and what memory is left.

use placebench_datasets::{DeviceId, Instance, MemoryRule, OpId, Placement, UnitId};

use crate::PlaceError;
use crate::memory::{Limits, fits_below};
use crate::peak_demands::PeakDemands;

/// The units placed so far and the memory that they claim on each device (L §4.1).
#[derive(Clone, Debug)]
pub struct Assignment<'a> {
    instance: &'a Instance,
    device_of_unit: Vec<Option<DeviceId>>,
    used_bytes: Vec<u64>,
    room: Room<'a>,
}

/// What units demand, and what devices have for it.
#[derive(Clone, Debug)]
enum Room<'a> {
    /// L's demands, and the memory of the cluster's devices.
    Static,
    /// The demands of the memory rule `peak`, and the limits that it leaves to the run.
    Peak {
        demands: PeakDemands,
        /// The most temporary memory of a unit on each device.
        temporary_bytes: Vec<u64>,
    },
    /// Demands and limits of the caller's.
    Given(&'a Limits),
}

impl<'a> Assignment<'a> {
    /// Nothing placed yet.
    pub fn new(instance: &'a Instance) -> Self {
        Self {
            instance,
            device_of_unit: vec![None; instance.units().count()],
            used_bytes: vec![0; instance.cluster().device_count()],
            room: Room::Static,
        }
    }

    /// As [`Assignment::new`], within other limits than those of the instance.
    pub(crate) fn within(instance: &'a Instance, limits: &'a Limits) -> Self {
        Self { room: Room::Given(limits), ..Self::new(instance) }
    }

    /// As [`Assignment::new`], but under the memory rule `peak` devices have their memory too: the permanent memory of all units
    /// there and the most temporary memory of one have to fit. See [`PeakDemands`].
    pub(crate) fn within_peaks(instance: &'a Instance) -> Self {
        let limited = instance.cluster().device_ids().any(|device| instance.peak_limit(device).is_some());
        if !limited || instance.memory_rule() != MemoryRule::Peak {
            return Self::new(instance);
        }
        let temporary_bytes = vec![0; instance.cluster().device_count()];
        Self { room: Room::Peak { demands: PeakDemands::new(instance), temporary_bytes }, ..Self::new(instance) }
    }

    fn memory_bytes(&self, device: DeviceId) -> Option<u64> {
        match &self.room {
            Room::Static => self.instance.cluster().device(device).memory_bytes,
            Room::Peak { .. } => self.instance.peak_limit(device),
            Room::Given(limits) => limits.of_device(device),
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
        match &self.room {
            Room::Static => self.fits(self.instance.units().demand_bytes(unit), device),
            Room::Peak { demands, temporary_bytes } => self.memory_bytes(device).is_none_or(|memory| {
                let temporary = temporary_bytes[device.index()].max(demands.temporary[unit.index()]);
                let permanent = self.used_bytes(device).saturating_add(demands.permanent[unit.index()]);
                permanent.saturating_add(temporary) <= memory
            }),
            Room::Given(limits) => fits_below(limits.of_device(device), self.used_bytes(device), limits.demand(unit)),
        }
    }

    /// Whether that many more bytes stay below the memory of a device. Nothing always fits.
    #[inline]
    pub fn fits(&self, demand_bytes: u64, device: DeviceId) -> bool {
        fits_below(self.instance.cluster().device(device).memory_bytes, self.used_bytes(device), demand_bytes)
    }

    /// The devices that are feasible for a unit, ascending.
    pub fn feasible_devices(&self, unit: UnitId) -> impl Iterator<Item = DeviceId> + '_ {
        self.instance.cluster().device_ids().filter(move |&device| self.is_feasible(unit, device))
    }

    /// Puts a unit on a device; the caller has checked that it is feasible and not yet placed.
    pub fn assign(&mut self, unit: UnitId, device: DeviceId) {
        debug_assert!(self.device_of_unit(unit).is_none() && self.is_feasible(unit, device));
        self.device_of_unit[unit.index()] = Some(device);
        let demand = match &mut self.room {
            Room::Static => self.instance.units().demand_bytes(unit),
            Room::Peak { demands, temporary_bytes } => {
                let temporary = &mut temporary_bytes[device.index()];
                *temporary = demands.temporary[unit.index()].max(*temporary);
                demands.permanent[unit.index()]
            }
            Room::Given(limits) => limits.demand(unit),
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
            demand_bytes: match &self.room {
                Room::Static => units.demand_bytes(unit),
                Room::Peak { demands, .. } => {
                    demands.permanent[unit.index()].saturating_add(demands.temporary[unit.index()])
                }
                Room::Given(limits) => limits.demand(unit),
            },
            rule: if matches!(self.room, Room::Peak { .. }) { MemoryRule::Peak } else { MemoryRule::Static },
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
