//! A placement in the making that also knows how long each device would be busy: exec_min of L Eq. 4.5.

use placebench_datasets::{DeviceId, Instance, KindSet, Placement, Time, UnitId};
use smallvec::SmallVec;

use crate::total::compare;
use crate::{Assignment, PlaceContext, PlaceError};

/// What a unit costs on the devices of each class.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// By class; nothing of the classes beyond.
    parts: SmallVec<[Part; 3]>,
}

/// What a unit costs on the devices of a class that may run it: the operations of the members without a given time there, the
/// given times of the others, and the number of members, since each has the device's overhead.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    ops: f64,
    given: Time,
    count: f64,
}

impl Work {
    pub(super) fn of_unit(instance: &Instance, unit: UnitId) -> Self {
        let (graph, units) = (instance.graph(), instance.units());
        let mut work = Self { parts: SmallVec::from_elem(Part::default(), instance.classes().count()) };
        for (number, class) in instance.classes().of_kinds(units.kinds(unit)) {
            let part = &mut work.parts[number];
            part.count = units.members(unit).len() as f64;
            for &op in units.members(unit) {
                match class.given_time(op) {
                    Some(time) => part.given += time,
                    None => part.ops += graph.ops(op),
                }
            }
        }
        work
    }

    /// Adds the work of another unit.
    pub(super) fn add(&mut self, other: &Self) {
        let classes = self.parts.len().max(other.parts.len());
        self.parts.resize(classes, Part::default());
        for (part, other) in self.parts.iter_mut().zip(&other.parts) {
            part.ops += other.ops;
            part.given += other.given;
            part.count += other.count;
        }
    }

    /// The part of a device's class.
    fn part(&self, instance: &Instance, device: DeviceId) -> Part {
        self.parts.get(instance.classes().number(device)).copied().unwrap_or_default()
    }

    /// Number of ops that may run on a device.
    pub(super) fn count(&self, instance: &Instance, device: DeviceId) -> f64 {
        self.part(instance, device).count
    }

    /// Operations that count on a device.
    pub(super) fn ops(&self, instance: &Instance, device: DeviceId) -> f64 {
        self.part(instance, device).ops
    }

    /// The part of the time on a device that its speed does not change: given times and overheads.
    pub(super) fn fixed(&self, instance: &Instance, device: DeviceId) -> Time {
        let part = self.part(instance, device);
        part.given + part.count * instance.cluster().op_overhead(device)
    }

    /// Time that the unit takes on a device that may run it.
    pub(super) fn time(&self, instance: &Instance, device: DeviceId) -> Time {
        self.ops(instance, device) / instance.cluster().device(device).speed + self.fixed(instance, device)
    }
}

/// Devices such that any work takes its least time on one of them.
#[derive(Clone, Debug)]
pub(super) struct Fastest<'a> {
    instance: &'a Instance,
    /// By class.
    devices: Vec<Vec<DeviceId>>,
}

impl<'a> Fastest<'a> {
    pub(super) fn of(instance: &'a Instance) -> Self {
        Self { instance, devices: instance.fastest_devices() }
    }

    /// The least time of work that may run on these kinds; infinite if there is no device of them.
    pub(super) fn time(&self, work: &Work, kinds: KindSet) -> Time {
        let devices = self.instance.classes().of_kinds(kinds).flat_map(|(class, _)| &self.devices[class]);
        devices.map(|&device| work.time(self.instance, device)).fold(f64::INFINITY, f64::min)
    }
}

/// An [`Assignment`] with exec_min of each device: the time it needs for what is assigned to it, without any idle time.
///
/// Without given times exec_min is L's `#ops(d) / speed(d)` to the bit.
#[derive(Clone, Debug)]
pub(super) struct LoadedAssignment<'a> {
    instance: &'a Instance,
    assignment: Assignment<'a>,
    ops: Vec<f64>,
    /// What speed does not change.
    fixed: Vec<Time>,
    exec_min: Vec<Time>,
}

impl<'a> LoadedAssignment<'a> {
    /// Nothing placed yet.
    pub(super) fn new(instance: &'a Instance) -> Self {
        let devices = instance.cluster().device_count();
        Self {
            instance,
            assignment: Assignment::new(instance),
            ops: vec![0.0; devices],
            fixed: vec![0.0; devices],
            exec_min: vec![0.0; devices],
        }
    }

    pub(super) fn assignment(&self) -> &Assignment<'a> {
        &self.assignment
    }

    /// exec_min of a device if `work` were there too (L Eq. 4.12).
    #[inline]
    pub(super) fn exec_min_with(&self, work: &Work, device: DeviceId) -> Time {
        let (index, instance) = (device.index(), self.instance);
        let speed = instance.cluster().device(device).speed;
        (self.ops[index] + work.ops(instance, device)) / speed + (self.fixed[index] + work.fixed(instance, device))
    }

    /// Puts a unit on a device; the caller has checked that it is feasible and not yet placed.
    pub(super) fn assign(&mut self, unit: UnitId, device: DeviceId) {
        self.assign_work(unit, &Work::of_unit(self.instance, unit), device);
    }

    /// [`LoadedAssignment::assign`] for callers that know the unit's work already.
    pub(super) fn assign_work(&mut self, unit: UnitId, work: &Work, device: DeviceId) {
        self.assignment.assign(unit, device);
        self.exec_min[device.index()] = self.exec_min_with(work, device);
        self.ops[device.index()] += work.ops(self.instance, device);
        self.fixed[device.index()] += work.fixed(self.instance, device);
    }

    /// Of the devices of the given kinds that have memory for the demand, the one with the least exec_min so far, then
    /// the one that is done first with `work` too, then the lowest id. Times that are equal up to rounding are equal.
    pub(super) fn least_loaded(&self, kinds: KindSet, demand_bytes: u64, work: &Work) -> Option<DeviceId> {
        let cluster = self.instance.cluster();
        let mut best: Option<(Time, DeviceId)> = None;
        for (device, &time) in cluster.device_ids().zip(&self.exec_min) {
            let is_better = |&(least, other): &(Time, DeviceId)| {
                let done = |device| self.exec_min_with(work, device);
                compare(time, least).then_with(|| compare(done(device), done(other))).is_lt()
            };
            if best.as_ref().is_none_or(is_better)
                && kinds.contains(cluster.device(device).kind)
                && self.assignment.fits(demand_bytes, device)
            {
                best = Some((time, device));
            }
        }
        best.map(|(_, device)| device)
    }

    /// The feasible device on which a unit takes least time; then the highest speed, then the lowest id. Without
    /// given times that is the fastest feasible device.
    pub(super) fn fastest_feasible(&self, unit: UnitId) -> Option<DeviceId> {
        let cluster = self.instance.cluster();
        let work = Work::of_unit(self.instance, unit);
        let time = |device: DeviceId| work.time(self.instance, device);
        self.assignment.feasible_devices(unit).min_by(|&a, &b| {
            let speeds = cluster.device(b).speed.total_cmp(&cluster.device(a).speed);
            compare(time(a), time(b)).then(speeds)
        })
    }

    /// Puts every unit that is not placed yet, in the order of units, on the feasible device with the least exec_min.
    ///
    /// # Errors
    /// If a unit has no feasible device, or it is time to stop.
    pub(super) fn place_rest(&mut self, context: &PlaceContext) -> Result<(), PlaceError> {
        let units = self.instance.units();
        for (position, unit) in units.ids().enumerate() {
            context.stop.check_at(position)?;
            if self.assignment.device_of_unit(unit).is_none() {
                let work = Work::of_unit(self.instance, unit);
                let device = self
                    .least_loaded(units.kinds(unit), units.demand_bytes(unit), &work)
                    .ok_or_else(|| self.assignment.infeasible(unit))?;
                self.assign_work(unit, &work, device);
            }
        }
        Ok(())
    }

    /// The finished placement.
    ///
    /// # Errors
    /// [`PlaceError::Infeasible`] for the first unit that is not placed.
    pub(super) fn finish(self) -> Result<Placement, PlaceError> {
        self.assignment.finish()
    }
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{Cluster, Device, GraphBuilder, Kind, Link, OpSpec};

    use super::*;

    /// 0.1 + 0.2 on the first device, and 0.3 on the second: by their last bits the second has less.
    #[test]
    fn of_loads_that_rounding_tells_apart_the_lowest_id_is_the_least() {
        let mut builder = GraphBuilder::default();
        for ops in [0.1, 0.2, 0.3, 1.0] {
            builder.add_op(OpSpec::cost(ops), &[]);
        }
        let device = |id: usize| Device { name: format!("d{id}"), kind: Kind::Cpu, memory_bytes: None, speed: 1.0 };
        let cluster = Cluster::new((0..2).map(device).collect(), |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
        let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
        let mut loads = LoadedAssignment::new(&instance);
        for (unit, device) in [(0, 0), (1, 0), (2, 1)] {
            loads.assign(UnitId(unit), DeviceId(device));
        }
        assert!(loads.exec_min[0] > loads.exec_min[1]);
        let work = Work::of_unit(&instance, UnitId(3));
        assert_eq!(loads.least_loaded(KindSet::ALL, 0, &work), Some(DeviceId(0)));
    }
}
