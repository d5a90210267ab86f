//! The work of a colocation group, all of which one device has to do.

use placebench_datasets::{Instance, Kind, KindSet, Time};

/// The largest, over the colocation groups, of the time that the whole group takes on the device where that is least.
///
/// # Proof
/// All ops of a group run on one device, one at a time. Among devices of one kind the fastest is best for each op: its
/// time is either the one measured for the kind or shrinks with speed.
///
/// # Complexity
/// O(colocated ops · kinds + devices).
pub fn colocated_work(instance: &Instance) -> Time {
    let (graph, cluster, units) = (instance.graph(), instance.cluster(), instance.units());
    let mut fastest = [0.0_f64; 3];
    for device in cluster.devices() {
        fastest[device.kind.index()] = fastest[device.kind.index()].max(device.speed);
    }
    let present: KindSet = cluster.devices().iter().map(|device| device.kind).collect();
    let mut bound: Time = 0.0;
    for unit in units.ids().take(units.group_count()) {
        let time_on = |kind: Kind| {
            let times = units
                .members(unit)
                .iter()
                .map(|&op| graph.measured_time(op, kind).unwrap_or_else(|| graph.ops(op) / fastest[kind.index()]));
            times.sum::<Time>()
        };
        let least = units.kinds(unit).intersection(present).iter().map(time_on).reduce(f64::min);
        bound = bound.max(least.unwrap_or(0.0));
    }
    bound
}
