//! A placement in the making that also knows how long each device would be busy: exec_min of L Eq. 4.5.

use placebench_datasets::{Cluster, DeviceId, Instance, Kind, KindSet, Placement, Time, UnitId};

use crate::total::compare;
use crate::{Assignment, PlaceContext, PlaceError};

/// What a unit costs on a device of each kind: the operations of the members without a measured time there, the measured
/// times of the others, and the number of members, since each has the device's overhead.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    ops: [f64; 3],
    measured: [Time; 3],
    count: [f64; 3],
}

impl Work {
    pub(super) fn of_unit(instance: &Instance, unit: UnitId) -> Self {
        let (graph, units) = (instance.graph(), instance.units());
        let mut work = Self::default();
        for kind in units.kinds(unit).iter() {
            work.count[kind.index()] = units.members(unit).len() as f64;
        }
        for &op in units.members(unit) {
            for kind in units.kinds(unit).iter() {
                match graph.measured_time(op, kind) {
                    Some(time) => work.measured[kind.index()] += time,
                    None => work.ops[kind.index()] += graph.ops(op),
                }
            }
        }
        work
    }

    /// Adds the work of another unit.
    pub(super) fn add(&mut self, other: &Self) {
        for kind in Kind::ALL.map(Kind::index) {
            self.ops[kind] += other.ops[kind];
            self.measured[kind] += other.measured[kind];
            self.count[kind] += other.count[kind];
        }
    }

    /// Number of ops that may run on devices of a kind.
    pub(super) fn count(&self, kind: Kind) -> f64 {
        self.count[kind.index()]
    }

    /// Operations that count on devices of a kind.
    pub(super) fn ops(&self, kind: Kind) -> f64 {
        self.ops[kind.index()]
    }

    /// The part of the time on a device that its speed does not change: measured times and overheads.
    pub(super) fn fixed(&self, cluster: &Cluster, device: DeviceId) -> Time {
        let kind = cluster.device(device).kind.index();
        self.measured[kind] + self.count[kind] * cluster.op_overhead(device)
    }

    /// Time that the unit takes on a device of a kind that may run it.
    pub(super) fn time(&self, cluster: &Cluster, device: DeviceId) -> Time {
        let of = cluster.device(device);
        self.ops(of.kind) / of.speed + self.fixed(cluster, device)
    }
}

/// Devices such that any work takes its least time on one of them.
#[derive(Clone, Debug)]
pub(super) struct Fastest<'a> {
    cluster: &'a Cluster,
    devices: [Vec<DeviceId>; 3],
}

impl<'a> Fastest<'a> {
    pub(super) fn of(cluster: &'a Cluster) -> Self {
        Self { cluster, devices: cluster.fastest_devices() }
    }

    /// The least time of work that may run on these kinds; infinite if there is no device of them.
    pub(super) fn time(&self, work: &Work, kinds: KindSet) -> Time {
        let devices = kinds.iter().flat_map(|kind| &self.devices[kind.index()]);
        devices.map(|&device| work.time(self.cluster, device)).fold(f64::INFINITY, f64::min)
    }
}

/// An [`Assignment`] with exec_min of each device: the time it needs for what is assigned to it, without any idle time.
///
/// Without measured times exec_min is L's `#ops(d) / speed(d)` to the bit.
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
        let (index, cluster) = (device.index(), self.instance.cluster());
        let target = cluster.device(device);
        (self.ops[index] + work.ops(target.kind)) / target.speed + (self.fixed[index] + work.fixed(cluster, device))
    }

    /// Puts a unit on a device; the caller has checked that it is feasible and not yet placed.
    pub(super) fn assign(&mut self, unit: UnitId, device: DeviceId) {
        self.assign_work(unit, &Work::of_unit(self.instance, unit), device);
    }

    /// [`LoadedAssignment::assign`] for callers that know the unit's work already.
    pub(super) fn assign_work(&mut self, unit: UnitId, work: &Work, device: DeviceId) {
        self.assignment.assign(unit, device);
        self.exec_min[device.index()] = self.exec_min_with(work, device);
        let cluster = self.instance.cluster();
        self.ops[device.index()] += work.ops(cluster.device(device).kind);
        self.fixed[device.index()] += work.fixed(cluster, device);
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
    /// measured times that is the fastest feasible device.
    pub(super) fn fastest_feasible(&self, unit: UnitId) -> Option<DeviceId> {
        let cluster = self.instance.cluster();
        let work = Work::of_unit(self.instance, unit);
        let time = |device: DeviceId| work.time(cluster, device);
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
    use placebench_datasets::{Device, GraphBuilder, Link, OpSpec};

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
