//! An instance as flat arrays, for searches that look at the same edges again and again.

use placebench_datasets::{DeviceId, Instance, KindSet, OpId, Time, UnitId};

use super::links::{Edges, Ends, Links};
use crate::Assignment;
use crate::fairness::usable_devices;
use crate::memory::Limits;
use crate::ranks::{Average, AverageTransfer};

/// An instance as flat arrays.
pub(super) struct Problem<'a> {
    pub(super) instance: &'a Instance,
    pub(super) ops: usize,
    pub(super) devices: usize,
    pub(super) units: Vec<u32>,
    work: Vec<f64>,
    /// Given times by op and class of devices, NaN where there is none; empty if there are none at all.
    given: Vec<Time>,
    classes: Vec<u32>,
    speeds: Vec<f64>,
    /// What each device adds to each op.
    op_overheads: &'a [Time],
    /// The devices of each set of kinds, ascending.
    allowed: [Vec<u32>; 8],
    /// What each device may hold and each unit demands, if any device has a limit.
    pub(super) limits: Option<Limits>,
    /// How many devices some op may run on.
    pub(super) usable: usize,
    /// The average transfer between two of them.
    pub(super) average: AverageTransfer,
    /// What each op waits for, and what waits for it.
    pub(super) before: Edges,
    pub(super) after: Edges,
    /// Links from each device and to each device.
    pub(super) from: Links,
    pub(super) to: Links,
    /// What transfers take of the time of devices, if they do.
    pub(super) ends: Option<Ends>,
}

/// What a search under the memory rule `peak`, where the run decides, takes for a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caution {
    /// Nothing.
    None,
    /// What units hold when memory is shortest in a sequential run, and the largest inputs of one op.
    Estimate,
    /// The sum of all tensors, as if none were ever freed: what keeps to this fits.
    Sum,
}

impl<'a> Problem<'a> {
    /// The same problem with limits of memory where the instance's rule leaves them to the run.
    ///
    /// # Complexity
    /// O(ops + edges).
    pub(super) fn cautious(mut self, caution: Caution) -> Self {
        match caution {
            Caution::None => {}
            Caution::Estimate => self.limits = Some(Limits::estimated_peaks(self.instance)),
            Caution::Sum => self.limits = Some(Limits::safe_peaks(self.instance)),
        }
        self
    }

    /// Nothing placed yet, within the limits of this problem.
    pub(super) fn assignment(&self) -> Assignment<'_> {
        match &self.limits {
            Some(limits) => Assignment::within(self.instance, limits),
            None => Assignment::new(self.instance),
        }
    }

    /// What a unit demands; 0 where no device has a limit.
    #[inline]
    pub(super) fn demand(&self, unit: u32) -> u64 {
        self.limits.as_ref().map_or(0, |limits| limits.demand(UnitId(unit)))
    }

    /// What a device may hold less than.
    pub(super) fn limit(&self, device: u32) -> u64 {
        self.limits.as_ref().and_then(|limits| limits.of_device(DeviceId(device))).unwrap_or(u64::MAX)
    }

    /// Reads an instance; transfers are taken to last `factor` times as long as on an idle network.
    ///
    /// # Complexity
    /// O(ops + edges + devices²).
    pub(super) fn new(instance: &'a Instance, factor: f64) -> Self {
        let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
        let classes = instance.classes();
        let given = |op| classes.all().iter().map(move |class| class.given_time(op).unwrap_or(f64::NAN));
        Self {
            instance,
            ops: graph.op_count(),
            devices: cluster.device_count(),
            units: graph.op_ids().map(|op| units.unit_of(op).0).collect(),
            work: graph.op_ids().map(|op| graph.ops(op)).collect(),
            given: if classes.have_given_times() { graph.op_ids().flat_map(given).collect() } else { Vec::new() },
            classes: cluster.device_ids().map(|device| classes.number(device) as u32).collect(),
            speeds: cluster.devices().iter().map(|device| device.speed).collect(),
            op_overheads: cluster.op_overheads(),
            allowed: std::array::from_fn(|bits| {
                let set = KindSet::from_bits(bits as u8).unwrap_or(KindSet::EMPTY);
                let devices = cluster.device_ids().filter(|&device| set.contains(cluster.device(device).kind));
                devices.map(|device| device.0).collect()
            }),
            limits: Limits::of_cluster(instance),
            usable: usable_devices(instance).len(),
            average: AverageTransfer::new(instance, Average::Time),
            before: Edges::new(instance, |op| graph.predecessors(op)),
            after: Edges::new(instance, |op| graph.successors(op)),
            from: Links::new(instance, false, factor),
            to: Links::new(instance, true, factor),
            ends: Ends::new(instance),
        }
    }

    /// What a transfer takes of the time of its sender and of its receiver.
    #[inline]
    pub(super) fn ends(&self, from: u32, to: u32, bytes: f64) -> (Time, Time) {
        self.ends.as_ref().map_or((0.0, 0.0), |ends| ends.of(from, to, bytes))
    }

    /// Time that an op takes on a device.
    #[inline]
    pub(super) fn exec(&self, op: usize, device: u32) -> Time {
        if !self.given.is_empty() {
            let count = self.instance.classes().count();
            let time = self.given[op * count + self.classes[device as usize] as usize];
            if !time.is_nan() {
                return time + self.op_overheads[device as usize];
            }
        }
        self.work[op] / self.speeds[device as usize] + self.op_overheads[device as usize]
    }

    /// The devices of the kinds that a unit may run on, ascending.
    #[inline]
    pub(super) fn allowed(&self, unit: u32) -> &[u32] {
        &self.allowed[usize::from(self.instance.units().kinds(UnitId(unit)).bits())]
    }

    /// The ops of a unit.
    #[inline]
    pub(super) fn members(&self, unit: u32) -> &'a [OpId] {
        self.instance.units().members(UnitId(unit))
    }

    /// Makespan, starts and finish times of a linear extension on given devices, as the network model `contention_free` has
    /// them to the last bit; send and receive ops count as part of their transfers.
    pub(super) fn exact_times(&self, devices: &[u32], order: &[u32]) -> (Time, Vec<Time>, Vec<Time>) {
        let (graph, cluster) = (self.instance.graph(), self.instance.cluster());
        let (mut starts, mut finish) = (vec![0.0; self.ops], vec![0.0; self.ops]);
        let mut free = vec![0.0; self.devices];
        for &op in order {
            let device = DeviceId(devices[op as usize]);
            let arrivals = graph.predecessors(OpId(op)).map(|edge| {
                let from = DeviceId(devices[edge.op.index()]);
                let bytes = graph.edge_bytes(edge);
                let ends = match from == device {
                    true => 0.0,
                    false => cluster.send_time(bytes, from, device) + cluster.receive_time(bytes, from, device),
                };
                finish[edge.op.index()] + ends + cluster.transfer_time(bytes, from, device)
            });
            let start = arrivals.fold(free[device.index()], Time::max);
            let end = start + self.instance.exec_time(OpId(op), device);
            (starts[op as usize], finish[op as usize], free[device.index()]) = (start, end, end);
        }
        (free.into_iter().fold(0.0, Time::max), starts, finish)
    }
}
