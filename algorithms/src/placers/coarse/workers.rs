//! Which devices compete for the ops: B's GPUs, generalised.

use placebench_datasets::{DeviceId, Instance};

use crate::fairness::usable_devices;
use crate::placers::load::{Fastest, Work};

/// How many times as long as the best a device may take and still compete.
const SLOWEST: f64 = 10.0;

/// The least share of the ops that a device must be able to run to compete. Below it, a device has a chore of its own (a
/// CPU that reads the input) and is no place for a share of the graph. Ops count, not their time: a chore may take long.
const LEAST_SHARE: f64 = 0.1;

/// Slownesses come in steps of one part in this many: sums that differ by rounding alone are equal, or the unit of costs
/// would decide between equally fast devices.
const ROUNDING: f64 = (1_u64 << 40) as f64;

/// The devices that share the work.
///
/// B distributes over equal GPUs and leaves CPUs what needs a CPU. Here a device is a worker if it may run at least a tenth of
/// the ops, and needs for that at most ten times the time that the fastest devices would need: of a machine with GPUs the
/// GPUs, of a cluster with speeds in \[10, 100\] all devices. The others get only what no worker can take.
#[derive(Clone, Debug)]
pub(in crate::placers) struct Workers {
    is_worker: Vec<bool>,
    /// What some op may run on: the workers, then the others; of both the fastest first, then by id.
    usable: Vec<DeviceId>,
    /// How many of these are workers.
    workers: usize,
    relative_speed: Vec<f64>,
}

impl Workers {
    /// The workers of an instance; if no device qualifies, all that some op may run on, or all if there are no ops.
    ///
    /// # Complexity
    /// O(ops · kinds + devices · log devices).
    pub(in crate::placers) fn new(instance: &Instance) -> Self {
        let fitness = fitness(instance);
        let mut is_worker: Vec<bool> =
            fitness.iter().map(|of| of.slowness <= SLOWEST && of.share >= LEAST_SHARE).collect();
        let mut usable = usable_devices(instance);
        if !usable.iter().any(|id| is_worker[id.index()]) {
            usable.iter().for_each(|id| is_worker[id.index()] = true);
        }
        usable.sort_by(|a, b| {
            let [a, b] = [a, b].map(|id| id.index());
            is_worker[b].cmp(&is_worker[a]).then(fitness[a].slowness.total_cmp(&fitness[b].slowness))
        });
        let workers = usable.partition_point(|id| is_worker[id.index()]);
        let best = usable.first().map_or(1.0, |id| fitness[id.index()].slowness);
        let relative_speed = fitness.into_iter().map(|of| best / of.slowness).collect();
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

    /// The workers and then the others that some op may run on, of both the fastest first, then by id: how fast a device is
    /// follows from how much longer than the fastest devices it needs for what it may run.
    pub(in crate::placers) fn usable(&self) -> &[DeviceId] {
        &self.usable
    }

    /// The speed of a device for what it may run, as a share of the fastest worker's: exactly 1 for all of equal devices.
    #[inline]
    pub(in crate::placers) fn relative_speed(&self, device: DeviceId) -> f64 {
        self.relative_speed[device.index()]
    }
}

/// What a device is good for.
#[derive(Clone, Copy, Debug)]
struct Fitness {
    /// How many times as long as the fastest devices would it needs for what it may run; 1 if that takes no time.
    slowness: f64,
    /// The share of all ops that it may run; 1 if there are none.
    share: f64,
}

/// Of each device.
fn fitness(instance: &Instance) -> Vec<Fitness> {
    let (cluster, units) = (instance.cluster(), instance.units());
    let fastest = Fastest::of(instance);
    // The work that each kind may run, and the least time of it anywhere.
    let (mut all, mut least_times) = (Work::default(), [0.0; 3]);
    for unit in units.ids() {
        let (work, kinds) = (Work::of_unit(instance, unit), units.kinds(unit));
        let least = fastest.time(&work, kinds);
        all.add(&work);
        for kind in kinds.iter() {
            least_times[kind.index()] += least;
        }
    }
    let ops = instance.graph().op_count() as f64;
    let of = |device: DeviceId| {
        let kind = cluster.device(device).kind;
        let least = least_times[kind.index()];
        let slowness = if least > 0.0 { all.time(instance, device) / least } else { 1.0 };
        Fitness {
            slowness: (slowness * ROUNDING).round() / ROUNDING,
            share: if ops > 0.0 { all.count(instance, device) / ops } else { 1.0 },
        }
    };
    cluster.device_ids().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placers::example;
    use placebench_datasets::{Kind, KindSet, OpSpec};

    fn workers_of(specs: &[OpSpec<'_>], devices: &[(Kind, f64)]) -> Workers {
        let graph = example::graph_of(specs, &[], &[]);
        Workers::new(&Instance::new(graph, example::cluster_of_kinds(devices)).unwrap())
    }

    fn workers(spec: &OpSpec<'_>, devices: &[(Kind, f64)]) -> Vec<u32> {
        workers_of(std::slice::from_ref(spec), devices).by_speed().iter().map(|device| device.0).collect()
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
        let spec = OpSpec { times: &[("cpu", 1.0), ("gpu", 0.01)], ..OpSpec::cost(100.0) };
        let not_tpu = OpSpec { kinds: [Kind::Cpu, Kind::Gpu].into_iter().collect(), ..spec };
        let devices = [(Kind::Cpu, 100.0), (Kind::Gpu, 1.0), (Kind::Gpu, 1.0), (Kind::Tpu, 1e9)];
        assert_eq!(workers(&not_tpu, &devices), [1, 2]);
    }

    #[test]
    fn ops_that_cost_nothing_leave_all_devices_equal() {
        assert_eq!(workers(&OpSpec::cost(0.0), &[(Kind::Cpu, 1.0), (Kind::Cpu, 5.0)]), [0, 1]);
    }

    #[test]
    fn a_kind_that_may_run_less_than_a_tenth_of_the_ops_does_not_compete_and_comes_last() {
        let only = |kind: Kind| OpSpec { kinds: KindSet::only(kind), ..OpSpec::cost(100.0) };
        let devices = [(Kind::Cpu, 1.0), (Kind::Gpu, 10.0), (Kind::Gpu, 20.0)];
        // One op needs the CPU, and takes longer there than all others on the GPUs.
        let order = |gpu_ops: usize| {
            let mut specs = vec![only(Kind::Gpu); gpu_ops];
            specs.push(only(Kind::Cpu));
            let workers = workers_of(&specs, &devices);
            let ids = |ids: &[DeviceId]| ids.iter().map(|id| id.0).collect::<Vec<_>>();
            (ids(workers.by_speed()), ids(workers.usable()), workers.relative_speed(DeviceId(1)))
        };
        assert_eq!(order(10), (vec![2, 1], vec![2, 1, 0], 0.5), "1 of 11 ops");
        assert_eq!(order(9), (vec![0, 2, 1], vec![0, 2, 1], 0.5), "1 of 10 ops");
    }
}
