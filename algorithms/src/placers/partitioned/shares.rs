//! What share of the work each device should get.

use placebench_datasets::{DeviceId, Instance, KindSet, Time, UnitId};

use crate::placers::load::Work;

/// The devices that get a block, the largest share first, then by id, and the share of the total weight that each should have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Targets {
    pub(super) devices: Vec<DeviceId>,
    pub(super) shares: Vec<f64>,
}

/// Shares are compared in steps of one part in this many.
const ROUNDING: f64 = 1e9;

/// Units that may run on the same devices.
#[derive(Clone, Debug, Default)]
struct Class {
    devices: Vec<DeviceId>,
    weight: f64,
    work: Work,
}

/// Shares in proportion to what devices can do in the same time.
///
/// The units are sorted into classes by the kinds that they may run on. Class by class, those with the fewest devices first,
/// work is poured onto the devices allowed as water into basins, so that all that get some end at the same time; a device
/// does a class at the speed (weight / time) that its kind's times for the class and its own speed give. A device that is
/// busy for longer with what only it may run gets nothing of the rest.
///
/// `weight_of` is the weight of a unit in the view, at least 1.
pub(super) fn targets(instance: &Instance, weight_of: impl Fn(UnitId) -> u64) -> Targets {
    let (cluster, units) = (instance.cluster(), instance.units());
    // A set of three kinds has eight values.
    let mut classes: [Class; 8] = Default::default();
    for unit in units.ids() {
        let class = &mut classes[usize::from(units.kinds(unit).bits())];
        class.weight += weight_of(unit) as f64;
        class.work.add(&Work::of_unit(instance, unit));
    }
    for (bits, class) in classes.iter_mut().enumerate() {
        let kinds = KindSet::from_bits(bits as u8).unwrap_or(KindSet::EMPTY);
        class.devices = cluster.device_ids().filter(|&device| kinds.contains(cluster.device(device).kind)).collect();
    }
    let mut order: Vec<&Class> = classes.iter().filter(|class| class.weight > 0.0).collect();
    order.sort_by_key(|class| class.devices.len());
    let mut ends: Vec<Time> = vec![0.0; cluster.device_count()];
    let mut weights = vec![0.0; cluster.device_count()];
    for class in order {
        pour(instance, class, &mut ends, &mut weights);
    }
    // Partitioners need a device at least, and shares that are numbers, whatever the costs are.
    if !weights.iter().sum::<f64>().is_normal() {
        let may_run =
            |device: DeviceId| classes.iter().any(|class| class.weight > 0.0 && class.devices.contains(&device));
        weights = cluster.device_ids().map(|device| f64::from(u8::from(may_run(device)))).collect();
    }
    let total: f64 = weights.iter().sum();
    let mut devices: Vec<DeviceId> = cluster.device_ids().filter(|device| weights[device.index()] > 0.0).collect();
    // Partitioners treat blocks by their numbers: which device is listed first must not decide what comes into its block.
    let rounded = |device: DeviceId| (weights[device.index()] / total * ROUNDING).round();
    devices.sort_by(|&a, &b| rounded(b).total_cmp(&rounded(a)));
    let shares = devices.iter().map(|device| weights[device.index()] / total).collect();
    Targets { devices, shares }
}

/// Adds a class to what the devices do already, so that those that get some of it end together.
fn pour(instance: &Instance, class: &Class, ends: &mut [Time], weights: &mut [f64]) {
    let time = |device: DeviceId| class.work.time(instance, device);
    let longest = class.devices.iter().map(|&device| time(device)).fold(0.0, Time::max);
    if longest == 0.0 {
        // It takes no time anywhere.
        for device in &class.devices {
            weights[device.index()] += class.weight / class.devices.len() as f64;
        }
        return;
    }
    // Times that differ more than a millionfold are kept apart by a millionfold.
    let speed = |device: DeviceId| class.weight / time(device).max(longest * 1e-6);
    let mut by_end = class.devices.clone();
    by_end.sort_by(|a, b| ends[a.index()].total_cmp(&ends[b.index()]));
    // With the first `count` devices at work: their speeds together, and what they would have done had they begun at 0.
    let (mut speeds, mut earlier, mut level) = (0.0, 0.0, 0.0);
    for (count, &device) in by_end.iter().enumerate() {
        speeds += speed(device);
        earlier += speed(device) * ends[device.index()];
        level = (class.weight + earlier) / speeds;
        if by_end.get(count + 1).is_none_or(|next| level <= ends[next.index()]) {
            break;
        }
    }
    for &device in &class.devices {
        let end = &mut ends[device.index()];
        if level > *end {
            weights[device.index()] += (level - *end) * speed(device);
            *end = level;
        }
    }
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{Kind, OpSpec};

    use super::*;
    use crate::placers::example;

    fn shares(specs: &[OpSpec<'_>], devices: &[(Kind, f64)]) -> Vec<(u32, f64)> {
        let instance = Instance::new(example::graph_of(specs, &[], &[]), example::cluster_of_kinds(devices)).unwrap();
        let targets = targets(&instance, |unit| instance.graph().ops(instance.units().members(unit)[0]) as u64);
        let rounded = targets.shares.iter().map(|share| (share * 1e6).round() / 1e6);
        targets.devices.iter().map(|device| device.0).zip(rounded).collect()
    }

    fn op(ops: f64, kinds: &[Kind]) -> OpSpec<'static> {
        OpSpec { kinds: kinds.iter().copied().collect(), ..OpSpec::cost(ops) }
    }

    use Kind::{Cpu, Gpu};

    #[test]
    fn without_constraints_speed_decides() {
        let all = op(12.0, &Kind::ALL);
        assert_eq!(shares(&[all], &[(Cpu, 1.0), (Cpu, 2.0), (Gpu, 3.0)]), [(2, 0.5), (1, 0.333333), (0, 0.166667)]);
    }

    #[test]
    fn a_device_that_no_op_may_run_on_gets_nothing() {
        assert_eq!(shares(&[op(4.0, &[Gpu])], &[(Cpu, 9.0), (Gpu, 1.0), (Gpu, 1.0)]), [(1, 0.5), (2, 0.5)]);
    }

    #[test]
    fn what_only_some_may_run_counts_against_their_part_of_the_rest() {
        // 6 for the CPU alone, 6 for either: equal speeds, so 6 each and nothing of the rest for the CPU.
        let specs = [op(6.0, &[Cpu]), op(6.0, &[Cpu, Gpu])];
        assert_eq!(shares(&specs, &[(Cpu, 1.0), (Gpu, 1.0)]), [(0, 0.5), (1, 0.5)]);
        // 2 and 6: level at 4, so 4 each. 9 and 3: the CPU is beyond the level that the GPU reaches.
        let specs = [op(2.0, &[Cpu]), op(6.0, &[Cpu, Gpu])];
        assert_eq!(shares(&specs, &[(Cpu, 1.0), (Gpu, 1.0)]), [(0, 0.5), (1, 0.5)]);
        let specs = [op(9.0, &[Cpu]), op(3.0, &[Cpu, Gpu])];
        assert_eq!(shares(&specs, &[(Cpu, 1.0), (Gpu, 1.0)]), [(0, 0.75), (1, 0.25)]);
    }

    #[test]
    fn measured_times_replace_speeds() {
        // 12 operations: 12 on the CPU of speed 1, measured 4 on the GPU of speed 1: one to three.
        let spec = OpSpec { times: &[("gpu", 4.0)], ..op(12.0, &[Cpu, Gpu]) };
        assert_eq!(shares(&[spec], &[(Cpu, 1.0), (Gpu, 1.0)]), [(1, 0.75), (0, 0.25)]);
    }
}
