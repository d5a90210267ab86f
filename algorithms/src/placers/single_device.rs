//! Single device: everything in one place, the baseline that distribution has to beat.

use placebench_base::nearest;
use placebench_datasets::{DeviceId, Instance, Kind, Time, UnitId};

use super::load::{Fastest, LoadedAssignment, Work};
use crate::{Algorithm, Decision, Params, PlaceContext, PlaceError, Placer, SpecError};

/// Which device is to run everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The device on which the graph takes least time.
    Auto,
    /// The device of that name or, if none is named so, of that id.
    Named(String),
}

/// Puts everything that one device may run on that device.
///
/// Units that may not run on a device of that kind go to the fastest feasible device of theirs: a run on a single GPU
/// keeps its CPU-only ops on the CPU.
///
/// `auto` takes the device with the least total: the time of what it may run there, plus, for what it may not run, the
/// time on the fastest device that may. Only devices that may run at least half of the ops compete (all, if none may).
/// If the one of least total has no memory for what it may run, another device of its kind takes its place; if none of
/// that kind has it, placing fails and says where. It never goes to another kind because of memory: everything on a CPU
/// would be no baseline for GPUs.
///
/// # Reference
/// C. Bahnmüller, *Improving Google's Open-Source Machine Learning System TensorFlow*, Master's thesis, University of
/// Stuttgart 2018, §5: the runs on one GPU.
///
/// # Complexity
/// O(ops · kinds + units · devices).
///
/// # Ties
/// Of devices with equal totals (then of equally fast devices): the lowest id.
///
/// # Deviations
/// The rule for `auto` is ours.
#[derive(Clone, Debug)]
pub struct SingleDevice {
    /// Which device.
    pub device: Choice,
}

impl Algorithm for SingleDevice {
    const NAME: &str = "single_device";
    const SUMMARY: &str = "everything that one device may run on that device";
    const SOURCE: &str = "B §5";

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let expected = "auto, or a device's name or id";
        let doc = "a device's name or id, or auto: the one on which the graph takes least time";
        let parse = |text: &str| Some(if text == "auto" { Choice::Auto } else { Choice::Named(text.to_owned()) });
        Ok(Self { device: params.value("device", "auto", expected, doc, parse)? })
    }
}

impl Placer for SingleDevice {
    fn place(&self, instance: &Instance, context: &PlaceContext) -> Result<Decision, PlaceError> {
        let (cluster, units) = (instance.cluster(), instance.units());
        let home = match &self.device {
            Choice::Auto => best_device(instance),
            Choice::Named(name) => find_device(instance, name)?,
        };
        let mut placed = LoadedAssignment::new(instance);
        for (position, unit) in units.ids().enumerate() {
            context.stop.check_at(position)?;
            let device = if !units.kind_allows(unit, cluster, home) {
                placed.fastest_feasible(unit).ok_or_else(|| placed.assignment().infeasible(unit))?
            } else if placed.assignment().is_feasible(unit, home) {
                home
            } else {
                return Err(out_of_memory(&placed, instance, unit, home));
            };
            placed.assign(unit, device);
        }
        Ok(Decision::placement(placed.finish()?))
    }
}

fn find_device(instance: &Instance, name: &str) -> Result<DeviceId, PlaceError> {
    let cluster = instance.cluster();
    let id = || name.parse().ok().filter(|&id| id < cluster.device_count());
    cluster.devices().iter().position(|device| device.name == name).or_else(id).map(DeviceId::new).ok_or_else(|| {
        let hint = nearest(name, cluster.devices().iter().map(|device| device.name.as_str()))
            .map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        let last = cluster.device_count() - 1;
        PlaceError::Unsupported(format!(
            "single_device: the cluster has no device '{name}': {hint}give a device's name, an id from 0 to {last}, or auto"
        ))
    })
}

/// What devices of one kind may run.
#[derive(Clone, Copy, Default)]
struct Share {
    op_count: usize,
    /// Time of what they may not run, each unit on the fastest device that may.
    elsewhere: Time,
    demand_bytes: u64,
}

fn best_device(instance: &Instance) -> DeviceId {
    let (cluster, units) = (instance.cluster(), instance.units());
    let fastest_devices = Fastest::of(instance);
    let mut all = Work::default();
    let mut shares = [Share::default(); 3];
    for unit in units.ids() {
        let work = Work::of_unit(instance, unit);
        let least = fastest_devices.time(&work, units.kinds(unit));
        all.add(&work);
        for kind in Kind::ALL {
            let share = &mut shares[kind.index()];
            if units.kinds(unit).contains(kind) {
                share.op_count += units.members(unit).len();
                share.demand_bytes = share.demand_bytes.saturating_add(units.demand_bytes(unit));
            } else {
                share.elsewhere += least;
            }
        }
    }
    let share = |device: DeviceId| shares[cluster.device(device).kind.index()];
    let total = |device: DeviceId| all.time(instance, device) + share(device).elsewhere;
    let able = |device: &DeviceId| 2 * share(*device).op_count >= instance.graph().op_count();
    let roomy = |device: &DeviceId| {
        let demand = share(*device).demand_bytes;
        cluster.device(*device).memory_bytes.is_none_or(|memory| demand == 0 || demand < memory)
    };
    let fastest = |devices: Vec<DeviceId>| {
        devices.into_iter().min_by(|&a, &b| total(a).total_cmp(&total(b))).unwrap_or(DeviceId(0))
    };
    let kind = |device: DeviceId| cluster.device(device).kind;
    let mut competitors = keep_if_any(cluster.device_ids().collect(), able);
    let best = fastest(competitors.clone());
    competitors.retain(|&device| kind(device) == kind(best));
    fastest(keep_if_any(competitors, roomy))
}

/// Those that pass, or all if none does.
fn keep_if_any(devices: Vec<DeviceId>, passes: impl Fn(&DeviceId) -> bool) -> Vec<DeviceId> {
    let passing: Vec<DeviceId> = devices.iter().copied().filter(&passes).collect();
    if passing.is_empty() { devices } else { passing }
}

/// The error that the device which has to run a unit is full, whatever room others have.
fn out_of_memory(placed: &LoadedAssignment<'_>, instance: &Instance, unit: UnitId, home: DeviceId) -> PlaceError {
    let used = placed.assignment().used_bytes(home);
    let free = instance.cluster().device(home).memory_bytes.map_or(u64::MAX, |memory| memory.saturating_sub(used));
    match placed.assignment().infeasible(unit) {
        PlaceError::Infeasible { unit, kinds, demand_bytes, rule, .. } => {
            PlaceError::Infeasible { unit, kinds, demand_bytes, rule, allowed: 1, free_bytes: free }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;
    use crate::placers::example;
    use placebench_datasets::{Cluster, Device, KindSet, Link, MemoryRule, OpSpec};

    fn place(device: &str, instance: &Instance) -> Result<Vec<u32>, PlaceError> {
        let device = [("device".to_owned(), device.to_owned())];
        let spec = Spec { name: "single_device".to_owned(), params: device.to_vec() };
        let placer = SingleDevice::new(&mut Params::of(&spec)).unwrap();
        placer.place(instance, &PlaceContext::default()).map(|decision| example::devices(&decision))
    }

    /// Ops of 6 operations: 0 and 1 run anywhere, 2 on CPUs only. Devices: d0 CPU of speed 1, d1 CPU of speed 2, d2 GPU of
    /// speed 3, d3 TPU of speed 9.
    fn mixed() -> Instance {
        let cpu_only = OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(6.0) };
        let not_tpu = OpSpec { kinds: [Kind::Cpu, Kind::Gpu].into_iter().collect(), ..OpSpec::cost(6.0) };
        let graph = example::graph_of(&[not_tpu.clone(), not_tpu, cpu_only], &[(0, 1, 1), (1, 2, 1)], &[]);
        let kinds = [(Kind::Cpu, 1.0), (Kind::Cpu, 2.0), (Kind::Gpu, 3.0), (Kind::Tpu, 9.0)];
        Instance::new(graph, example::cluster_of_kinds(&kinds)).unwrap()
    }

    #[test]
    fn auto_takes_the_device_of_least_total_time_and_strays_go_to_their_fastest() {
        // Totals: d0 18; d1 9; d2 2 + 2 and op2 on d1 3: 7. d3 may run nothing: it does not compete.
        assert_eq!(place("auto", &mixed()).unwrap(), [2, 2, 1]);
        assert_eq!(place("d0", &mixed()).unwrap(), [0, 0, 0]);
        assert_eq!(place("1", &mixed()).unwrap(), [1, 1, 1]);
    }

    #[test]
    fn measured_times_replace_operations_over_speed() {
        // On the GPU of speed 3 the op of 6 operations takes 7, not 2; the CPUs take 6 and 3.
        let spec = OpSpec { times: &[("gpu", 7.0)], ..OpSpec::cost(6.0) };
        let graph = example::graph_of(&[spec], &[], &[]);
        let kinds = [(Kind::Cpu, 1.0), (Kind::Cpu, 2.0), (Kind::Gpu, 3.0)];
        let instance = Instance::new(graph, example::cluster_of_kinds(&kinds)).unwrap();
        assert_eq!(place("auto", &instance).unwrap(), [1]);
    }

    #[test]
    fn auto_avoids_a_device_that_is_too_small_and_a_named_one_overflows() {
        // Two ops of 10 bytes: the fast d0 has 20, and 20 is not below 20.
        let spec = OpSpec { memory_bytes: 10, ..OpSpec::cost(1.0) };
        let graph = example::graph_of(&[spec.clone(), spec], &[], &[]);
        let cluster: Cluster = example::cluster_with_memory(&[(9.0, Some(20)), (1.0, Some(21))], 1.0);
        let instance = Instance::new(graph, cluster).unwrap();
        assert_eq!(place("auto", &instance).unwrap(), [1, 1]);
        let error = place("d0", &instance).unwrap_err();
        assert!(
            matches!(error, PlaceError::Infeasible { allowed: 1, free_bytes: 10, demand_bytes: 10, .. }),
            "{error}"
        );
    }

    #[test]
    fn auto_does_not_fall_back_to_another_kind_for_want_of_memory() {
        // Two ops of 10 bytes; the GPUs have 20, and 20 is not below 20. The CPU, a tenth as fast, has room.
        let spec = OpSpec { memory_bytes: 10, ..OpSpec::cost(1.0) };
        let graph = example::graph_of(&[spec.clone(), spec], &[], &[]);
        let device = |(id, (kind, speed, memory_bytes))| Device { name: format!("d{id}"), kind, memory_bytes, speed };
        let devices = |second: u64| {
            let list = [(Kind::Cpu, 1.0, None), (Kind::Gpu, 10.0, Some(20)), (Kind::Gpu, 9.0, Some(second))];
            Cluster::new(list.into_iter().enumerate().map(device).collect(), |_, _| Link { rate: 1.0, latency: 0.0 })
        };
        let short = Instance::new(graph.clone(), devices(20).unwrap()).unwrap();
        let error = place("auto", &short).unwrap_err();
        assert!(matches!(error, PlaceError::Infeasible { allowed: 1, free_bytes: 10, .. }), "{error}");
        let message = error.to_string();
        assert!(message.contains("memory rule static") && message.contains("choose the rule peak"), "{message}");
        assert_eq!(place("d0", &short).unwrap(), [0, 0]);
        // The slower GPU is of the same kind.
        assert_eq!(place("auto", &Instance::new(graph.clone(), devices(21).unwrap()).unwrap()).unwrap(), [2, 2]);
        let peak = Instance::with_memory_rule(graph, devices(20).unwrap(), MemoryRule::Peak).unwrap();
        assert_eq!(place("auto", &peak).unwrap(), [1, 1]);
    }

    #[test]
    fn an_unknown_device_is_named_with_the_nearest_that_exists() {
        let error = place("gpu2", &mixed()).unwrap_err().to_string();
        assert!(error.contains("no device 'gpu2'") && error.contains("0 to 3"), "{error}");
        assert!(
            place("dd1", &mixed()).unwrap_err().to_string().contains("did you mean 'd"),
            "a near name is suggested"
        );
    }
}
