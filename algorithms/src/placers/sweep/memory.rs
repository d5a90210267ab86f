//! What is claimed of memories while units move.

use placebench_datasets::{DeviceId, UnitId};

use super::problem::Problem;
use crate::memory::fits_below;

/// What is claimed of each device's memory (L §4.1), where any is limited.
#[derive(Clone)]
pub(super) struct Memory {
    used: Vec<u64>,
}

impl Memory {
    /// What is claimed of a device.
    pub(super) fn used(&self, device: u32) -> u64 {
        self.used.get(device as usize).copied().unwrap_or(0)
    }

    /// Whether two units on two devices may change places.
    pub(super) fn can_swap(&self, problem: &Problem<'_>, (a, on_a): (u32, u32), (b, on_b): (u32, u32)) -> bool {
        let after = |device: u32, gone: u32, come: u32| {
            let used = self.used(device).saturating_sub(problem.demand(gone)).saturating_add(problem.demand(come));
            used == 0 || used < problem.limit(device)
        };
        after(on_a, a, b) && after(on_b, b, a)
    }

    /// Nothing claimed yet.
    pub(super) fn new(problem: &Problem<'_>) -> Self {
        Self { used: if problem.limits.is_some() { vec![0; problem.devices] } else { Vec::new() } }
    }

    /// What is claimed where each op is on a device.
    pub(super) fn of(problem: &Problem<'_>, devices: &[u32]) -> Self {
        let mut memory = Self::new(problem);
        if problem.limits.is_some() {
            for unit in problem.instance.units().ids() {
                memory.claim(problem, unit.0, devices[problem.members(unit.0)[0].index()]);
            }
        }
        memory
    }

    /// Whether all that is claimed stays below the limits.
    pub(super) fn is_within_limits(&self, problem: &Problem<'_>) -> bool {
        (0..problem.devices as u32).all(|device| self.used(device) == 0 || self.used(device) < problem.limit(device))
    }

    /// Whether a unit fits on a device beside what is there.
    #[inline]
    pub(super) fn fits(&self, problem: &Problem<'_>, unit: u32, device: u32) -> bool {
        let Some(limits) = &problem.limits else { return true };
        fits_below(limits.of_device(DeviceId(device)), self.used[device as usize], limits.demand(UnitId(unit)))
    }

    /// Puts a unit on a device.
    #[inline]
    pub(super) fn claim(&mut self, problem: &Problem<'_>, unit: u32, device: u32) {
        if let Some(used) = self.used.get_mut(device as usize) {
            *used = used.saturating_add(problem.demand(unit));
        }
    }

    /// Takes a unit off a device.
    #[inline]
    pub(super) fn release(&mut self, problem: &Problem<'_>, unit: u32, device: u32) {
        if let Some(used) = self.used.get_mut(device as usize) {
            *used = used.saturating_sub(problem.demand(unit));
        }
    }

    /// Moves a unit.
    #[inline]
    pub(super) fn shift(&mut self, problem: &Problem<'_>, unit: u32, from: u32, to: u32) {
        self.release(problem, unit, from);
        self.claim(problem, unit, to);
    }
}
