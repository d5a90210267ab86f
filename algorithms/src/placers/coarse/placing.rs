//! Vertices on their way to devices.

use placebench_datasets::{DeviceId, Instance, Placement, UnitId};

use super::Vertices;
use super::workers::Workers;
use crate::{Assignment, PlaceError};

/// An [`Assignment`] of whole vertices, which prefers [`Workers`].
#[derive(Clone, Debug)]
pub(in crate::placers) struct VertexAssignment<'a> {
    instance: &'a Instance,
    vertices: &'a Vertices,
    workers: &'a Workers,
    assignment: Assignment<'a>,
}

impl<'a> VertexAssignment<'a> {
    /// Nothing placed yet.
    pub(in crate::placers) fn new(instance: &'a Instance, vertices: &'a Vertices, workers: &'a Workers) -> Self {
        Self { instance, vertices, workers, assignment: Assignment::new(instance) }
    }

    /// Puts the devices that may take a vertex as a whole into `candidates`, fastest first, then by id: the workers among
    /// the feasible devices or, if there are none, all of these.
    pub(in crate::placers) fn candidates(&self, vertex: u32, candidates: &mut Vec<DeviceId>) {
        candidates.clear();
        for devices in [self.workers.by_speed(), self.workers.usable()] {
            if candidates.is_empty() {
                candidates.extend(devices.iter().copied().filter(|&device| self.is_candidate(vertex, device)));
            }
        }
    }

    fn is_candidate(&self, vertex: u32, device: DeviceId) -> bool {
        self.vertices.kinds(vertex).contains(self.instance.cluster().device(device).kind)
            && self.assignment.fits(self.vertices.demand_bytes(vertex), device)
    }

    /// Puts all units of a vertex on a device that is one of its candidates.
    pub(in crate::placers) fn assign(&mut self, vertex: u32, device: DeviceId) {
        for &unit in self.vertices.units(vertex) {
            self.assignment.assign(unit, device);
        }
    }

    /// Puts a vertex that no device can take as a whole unit by unit where there is room, near `home`, and returns the
    /// device of its first unit.
    ///
    /// # Errors
    /// [`PlaceError::Infeasible`] if no device can take one of the units.
    pub(in crate::placers) fn scatter(&mut self, vertex: u32, home: DeviceId) -> Result<DeviceId, PlaceError> {
        let mut first = None;
        for &unit in self.vertices.units(vertex) {
            let device = self.put_near(unit, home)?;
            first.get_or_insert(device);
        }
        Ok(first.unwrap_or(home))
    }

    /// Puts a unit on `home` or, if that is not feasible, on the [`nearest`] feasible worker or, if there is none, device.
    ///
    /// # Errors
    /// [`PlaceError::Infeasible`] if no device can take it.
    pub(in crate::placers) fn put_near(&mut self, unit: UnitId, home: DeviceId) -> Result<DeviceId, PlaceError> {
        let nearest_of = |devices: &[DeviceId]| {
            let feasible = devices.iter().copied().filter(|&device| self.assignment.is_feasible(unit, device));
            nearest(self.instance, home, feasible)
        };
        let device = nearest_of(self.workers.by_speed())
            .or_else(|| nearest_of(self.workers.usable()))
            .ok_or_else(|| self.assignment.infeasible(unit))?;
        self.assignment.assign(unit, device);
        Ok(device)
    }

    /// Puts a vertex on `home`, or as a whole on the nearest of its candidates, or else scattered near `home`.
    ///
    /// # Errors
    /// [`PlaceError::Infeasible`] if no device can take one of its units.
    pub(in crate::placers) fn put_vertex_near(
        &mut self,
        vertex: u32,
        home: DeviceId,
        candidates: &mut Vec<DeviceId>,
    ) -> Result<DeviceId, PlaceError> {
        if self.workers.contains(home) && self.is_candidate(vertex, home) {
            self.assign(vertex, home);
            return Ok(home);
        }
        self.candidates(vertex, candidates);
        match nearest(self.instance, home, candidates.iter().copied()) {
            Some(device) => {
                self.assign(vertex, device);
                Ok(device)
            }
            None => self.scatter(vertex, home),
        }
    }

    /// The finished placement.
    ///
    /// # Errors
    /// [`PlaceError::Infeasible`] for the first unit that is not placed.
    pub(in crate::placers) fn finish(self) -> Result<Placement, PlaceError> {
        self.assignment.finish()
    }
}

/// Of some devices the one nearest to `home`: `home` itself, else the highest rate from there, then the least latency, then
/// the first.
pub(in crate::placers) fn nearest(
    instance: &Instance,
    home: DeviceId,
    devices: impl Iterator<Item = DeviceId>,
) -> Option<DeviceId> {
    let link = |device: DeviceId| instance.cluster().link(home, device);
    devices.min_by(|&a, &b| {
        let away = (a != home).cmp(&(b != home));
        away.then(link(b).rate.total_cmp(&link(a).rate)).then(link(a).latency.total_cmp(&link(b).latency))
    })
}
