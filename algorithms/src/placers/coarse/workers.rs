//! Which devices compete for the ops: B's GPUs, generalised.

use placebench_datasets::{DeviceId, Instance};

use crate::fairness::usable_devices;
use crate::placers::load::{Fastest, Work};

/// How many times as long as the best a device may take and still compete.
const SLOWEST: f64 = 10.0;

/// Slownesses come in steps of one part in this many.
const ROUNDING: f64 = (1_u64 << 40) as f64;

/// The devices that some op may run on, fastest first, then by id: how fast a device is follows from how much longer than the
/// fastest devices it needs for what it may run. All devices, if there are no ops.
///
/// # Complexity
/// O(ops · kinds + devices · log devices).
pub(in crate::placers) fn devices_by_speed(instance: &Instance) -> Vec<DeviceId> {
    by_slowness(instance, &slowness(instance))
}

fn by_slowness(instance: &Instance, slowness: &[f64]) -> Vec<DeviceId> {
    let mut devices = usable_devices(instance);
    devices.sort_by(|a, b| slowness[a.index()].total_cmp(&slowness[b.index()]));
    devices
}

/// How many times as long as the fastest devices would each device needs for what it may run; 1 if that takes no time.
fn slowness(instance: &Instance) -> Vec<f64> {
    let (cluster, units) = (instance.cluster(), instance.units());
    let fastest = Fastest::of(cluster);
    // Per kind, over the units that may run there: the work, and the least time anywhere.
    let (mut all, mut least_times) = (Work::default(), [0.0; 3]);
    for unit in units.ids() {
        let (work, kinds) = (Work::of_unit(instance, unit), units.kinds(unit));
        let least = fastest.time(&work, kinds);
        all.add(&work);
        for kind in kinds.iter() {
            least_times[kind.index()] += least;
        }
    }
    let of = |device: DeviceId| {
        let least = least_times[cluster.device(device).kind.index()];
        let slowness = if least > 0.0 { all.time(cluster, device) / least } else { 1.0 };
        // Sums that differ by rounding alone are equal, or the unit of costs would decide between equally fast devices.
        (slowness * ROUNDING).round() / ROUNDING
    };
    cluster.device_ids().map(of).collect()
}

/// The devices that share the work.
///
/// B distributes over equal GPUs and leaves CPUs what needs a CPU. Here a device is a worker if, for what it may run, it
/// needs at most ten times the time that the fastest devices would need: of a machine with GPUs the GPUs, of a cluster
/// with speeds in \[10, 100\] all devices. The others get only what no worker can take.
#[derive(Clone, Debug)]
pub(in crate::placers) struct Workers {
    is_worker: Vec<bool>,
    /// What some op may run on, fastest first, then by id.
    usable: Vec<DeviceId>,
    /// How many of these are workers: the first.
    workers: usize,
    relative_speed: Vec<f64>,
}

impl Workers {
    /// The workers of an instance; if no device qualifies, all that some op may run on.
    ///
    /// # Complexity
    /// O(ops · kinds + devices · log devices).
    pub(in crate::placers) fn new(instance: &Instance) -> Self {
        let slowness = slowness(instance);
        let usable = by_slowness(instance, &slowness);
        let workers = match usable.partition_point(|id| slowness[id.index()] <= SLOWEST) {
            0 => usable.len(),
            workers => workers,
        };
        let mut is_worker = vec![false; slowness.len()];
        usable[..workers].iter().for_each(|id| is_worker[id.index()] = true);
        let best = usable.first().map_or(1.0, |id| slowness[id.index()]);
        let relative_speed = slowness.into_iter().map(|slowness| best / slowness).collect();
        Self { is_worker, usable, workers, relative_speed }
    }

    /// Number of workers, at least 1.
    pub(in crate::placers) fn count(&self) -> usize {
        self.workers
    }

    /// Whether a device is a worker.
    #[inline]
    pub(in crate::placers) fn contains(&self, device: DeviceId) -> bool {
        self.is_worker[device.index()]
    }

    /// The workers, fastest first, then by id.
    pub(in crate::placers) fn by_speed(&self) -> &[DeviceId] {
        &self.usable[..self.workers]
    }

    /// The workers and then the others that some op may run on, fastest first, then by id.
    pub(in crate::placers) fn usable(&self) -> &[DeviceId] {
        &self.usable
    }

    /// The speed of a device for what it may run, as a share of the fastest worker's: exactly 1 for all of equal devices.
    #[inline]
    pub(in crate::placers) fn relative_speed(&self, device: DeviceId) -> f64 {
        self.relative_speed[device.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;
    use placebench_datasets::{Kind, OpSpec};

    fn workers(spec: &OpSpec<'_>, devices: &[(Kind, f64)]) -> Vec<u32> {
        let graph = example::graph_of(std::slice::from_ref(spec), &[], &[]);
        let instance = Instance::new(graph, example::cluster_of_kinds(devices)).unwrap();
        Workers::new(&instance).by_speed().iter().map(|device| device.0).collect()
    }

    #[test]
    fn devices_within_ten_times_the_best_compete() {
        let any = OpSpec::cost(100.0);
        assert_eq!(workers(&any, &[(Kind::Cpu, 10.0), (Kind::Gpu, 100.0)]), [1, 0]);
        assert_eq!(workers(&any, &[(Kind::Cpu, 9.0), (Kind::Gpu, 100.0)]), [1]);
        assert_eq!(workers(&any, &[(Kind::Cpu, 2.0), (Kind::Cpu, 2.0)]), [0, 1]);
    }

    #[test]
    fn measured_times_tell_how_fast_a_kind_is_and_a_kind_that_runs_nothing_does_not_compete() {
        let spec = OpSpec { times: [Some(1.0), Some(0.01), None], ..OpSpec::cost(100.0) };
        let not_tpu = OpSpec { kinds: [Kind::Cpu, Kind::Gpu].into_iter().collect(), ..spec };
        let devices = [(Kind::Cpu, 100.0), (Kind::Gpu, 1.0), (Kind::Gpu, 1.0), (Kind::Tpu, 1e9)];
        assert_eq!(workers(&not_tpu, &devices), [1, 2]);
    }

    #[test]
    fn ops_that_cost_nothing_leave_all_devices_equal() {
        assert_eq!(workers(&OpSpec::cost(0.0), &[(Kind::Cpu, 1.0), (Kind::Cpu, 5.0)]), [0, 1]);
    }
}
