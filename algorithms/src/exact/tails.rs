//! How long the rest takes at least after an op has ended on a device.

use placebench_datasets::Time;

use super::tables::Tables;

/// A lower bound on the time from the end of each op on each device to the end of any schedule; infinite where the op, or an
/// op after it, cannot run.
///
/// Each consumer runs either on another device, after a transfer, or on the same device, one after the other. Only the
/// consumers that are worst off remotely are worth keeping, so the best choice is among as many splits as there are consumers.
pub(super) fn tails(tables: &Tables) -> Vec<Time> {
    let devices = tables.devices;
    let mut tail = vec![f64::INFINITY; tables.ops * devices];
    let mut consumers = Vec::new();
    for op in (0..tables.ops).rev() {
        for device in (0..devices).filter(|&device| tables.time(op, device) < f64::INFINITY) {
            consumers.clear();
            consumers.extend(tables.outputs[op].iter().map(|arc| {
                let after = |to: usize| tables.time(arc.op, to) + tail[arc.op * devices + to];
                let elsewhere = (0..devices).filter(|&to| to != device && tables.unit[arc.op] != tables.unit[op]);
                Consumer {
                    remote: elsewhere
                        .map(|to| arc.delay[device * devices + to] + after(to))
                        .fold(f64::INFINITY, Time::min),
                    work: tables.time(arc.op, device),
                    tail: tail[arc.op * devices + device],
                }
            }));
            tail[op * devices + device] = best_split(&mut consumers);
        }
    }
    tail
}

struct Consumer {
    /// Least time until all after the consumer has ended, if it runs elsewhere.
    remote: Time,
    /// Its time on this device.
    work: Time,
    /// What comes after it then.
    tail: Time,
}

/// The least time in which all after the consumers can have ended.
fn best_split(consumers: &mut [Consumer]) -> Time {
    consumers.sort_by(|a, b| b.remote.total_cmp(&a.remote));
    let mut best = f64::INFINITY;
    for kept in 0..=consumers.len() {
        let (local, remote) = consumers.split_at(kept);
        let away = remote.first().map_or(0.0, |consumer| consumer.remote);
        best = best.min(away.max(one_after_the_other(local)));
    }
    best
}

/// Ops that all can start at once on one device, longest tail first, which is optimal.
fn one_after_the_other(local: &[Consumer]) -> Time {
    let mut order: Vec<&Consumer> = local.iter().collect();
    order.sort_by(|a, b| b.tail.total_cmp(&a.tail));
    let mut end: Time = 0.0;
    order.iter().fold(0.0, |latest: Time, consumer| {
        end += consumer.work;
        latest.max(end + consumer.tail)
    })
}
