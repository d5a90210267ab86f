//! The work of a colocation group: one device has to do it all.

use placebench_datasets::{DeviceId, Instance, Time};

/// The largest, over the colocation groups, of the time that the whole group takes on the device where that is least.
///
/// # Proof
/// All ops of a group run on one device, one at a time. Among devices of one class the fastest is best for each op: its
/// time is either the one given for the class or shrinks with speed. Where slower devices add less to each op, each that
/// no other excels in both is looked at.
///
/// # Complexity
/// O(colocated ops · classes + devices · log devices); where slower devices add less to each op, ops times their number.
pub fn colocated_work(instance: &Instance) -> Time {
    let units = instance.units();
    let fastest = instance.fastest_devices();
    let mut bound: Time = 0.0;
    for unit in units.ids().take(units.group_count()) {
        let time_on =
            |&device: &DeviceId| units.members(unit).iter().map(|&op| instance.exec_time(op, device)).sum::<Time>();
        let devices = instance.classes().of_kinds(units.kinds(unit)).flat_map(|(class, _)| &fastest[class]);
        let least = devices.map(time_on).reduce(f64::min);
        bound = bound.max(least.unwrap_or(0.0));
    }
    bound
}
