//! Samples that follow each other through one placement: how close, and what is in memory then.

use placebench_datasets::{DeviceId, MemoryRule, PlacedGraph, Time};

use crate::memory::{MemoryUse, Stay, Stays};
use crate::timeline::Timeline;

/// The steady state of a run: a sample starts at each multiple of the period, and each goes through the same timeline. Resident
/// memory is there once, and a tensor once for each sample in flight between its producer and its last consumer.
///
/// # Deviations
/// Where samples follow each other at the period, a device executes ops of several by turns, so that a run may differ from this
/// timeline; in a pipeline of equal stages it is what 1F1B holds (D. Narayanan et al., *PipeDream*, SOSP 2019, §3.2).
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyState {
    /// The time between two samples.
    pub period: Time,
    /// The device whose memory makes the period longer than what is busy.
    pub short_of_memory: Option<DeviceId>,
    /// What is in memory at that period.
    pub memory: MemoryUse,
}

/// By what factor a period grows from one that is tried to the next.
const STEP: f64 = 1.02;

/// How often the last step is halved.
const HALVINGS: usize = 12;

impl SteadyState {
    /// The steady state of a run that keeps the busiest part `busy` for a sample.
    ///
    /// The period is `busy`; under the memory rule `peak`, the first from there on at which what is in flight fits, in steps of 2 %
    /// of which the last is halved twelve times, and at most the makespan: then samples do not overlap. The memory that is needed
    /// does not fall evenly with the period, so that a shorter one between two steps may fit, too.
    ///
    /// # Complexity
    /// O(edges + tries · (tensors + transfers) · log); one try where all fits at `busy`.
    pub fn new(placed: &PlacedGraph<'_>, timeline: &Timeline, busy: Time) -> Self {
        let (instance, cluster) = (placed.instance(), placed.instance().cluster());
        let stays = Stays::new(placed, timeline);
        let devices = || cluster.device_ids();
        let peaks = |period: Time| devices().map(|device| peak(&stays, device, period)).collect();
        if instance.memory_rule() != MemoryRule::Peak {
            let peaks = peaks(busy);
            return Self { period: busy, short_of_memory: None, memory: MemoryUse::from_peaks(stays, peaks) };
        }
        let limited: Vec<(DeviceId, u64)> =
            devices().filter_map(|device| Some((device, instance.peak_limit(device)?))).collect();
        // Whichever did not fit will be the first not to fit again.
        let (mut suspect, mut mean) = (0, busy);
        for (number, &(device, limit)) in limited.iter().enumerate() {
            let least = least_mean(&stays, device, limit);
            if least > mean {
                (suspect, mean) = (number, least);
            }
        }
        let mut fits = |period: Time| {
            let found = (0..limited.len()).map(|number| (suspect + number) % limited.len()).find(|&number| {
                let (device, limit) = limited[number];
                peak(&stays, device, period) > limit
            });
            suspect = found.unwrap_or(suspect);
            found.is_none()
        };
        let longest = timeline.makespan();
        let (mut short, mut period) = (None, mean);
        while period < longest && !fits(period) {
            short = Some(period);
            period *= STEP;
        }
        for _ in 0..HALVINGS {
            let Some(fails) = short else { break };
            let middle = fails + (period.min(longest) - fails) / 2.0;
            match fits(middle) {
                true => period = middle,
                false => short = Some(middle),
            }
        }
        let peaks = match period < longest {
            true => peaks(period),
            false => devices().map(|device| stays.peak(device, stays.of(device).iter().copied())).collect(),
        };
        let period = period.min(longest).max(busy);
        // What is within rounding of the busy time is as long as that.
        let short_of_memory = limited.get(suspect).filter(|_| period > busy * (1.0 + 1e-9)).map(|&(device, _)| device);
        Self { period, short_of_memory, memory: MemoryUse::from_peaks(stays, peaks) }
    }
}

/// The least period at which the mean of what a device holds is within its limit: no shorter one can fit. Infinite if what is
/// resident does not fit.
fn least_mean(stays: &Stays, device: DeviceId, limit: u64) -> Time {
    let held: f64 = stays.of(device).iter().map(|stay| stay.bytes as f64 * (stay.until - stay.from)).sum();
    match limit.checked_sub(stays.resident_bytes(device)) {
        // A mean that is the limit may round to above it.
        Some(free) if held > 0.0 => held / free as f64 * (1.0 - 1e-9),
        Some(_) => 0.0,
        None => Time::INFINITY,
    }
}

/// The most that a device holds at one instant when samples follow each other.
fn peak(stays: &Stays, device: DeviceId, period: Time) -> u64 {
    match period > 0.0 {
        true => stays.peak(device, stays.of(device).iter().flat_map(|&stay| phases(stay, period)).flatten()),
        false => stays.peak(device, stays.of(device).iter().copied()),
    }
}

/// A stay of each sample, seen within one period: as many whole periods as it lasts, and what is left over, which may go beyond the
/// end of the period and on at its beginning.
fn phases(stay: Stay, period: Time) -> [Option<Stay>; 3] {
    /// Stays that differ from a whole period by less than this share of it last a whole period.
    const ROUNDING: f64 = 1e-9;
    let length = stay.until - stay.from;
    let whole = (length / period + ROUNDING).floor();
    let left = (length - whole * period).max(0.0);
    let always = Stay { from: 0.0, until: Time::INFINITY, bytes: stay.bytes.saturating_mul(whole as u64) };
    let always = Some(always).filter(|stay| stay.bytes > 0);
    if whole > 0.0 && left <= ROUNDING * period {
        return [always, None, None];
    }
    let from = stay.from % period;
    let until = from + left + ROUNDING * period;
    match until < period {
        true => [always, Some(Stay { from, until, ..stay }), None],
        false => {
            let until = until - period;
            [always, Some(Stay { from, until: Time::INFINITY, ..stay }), Some(Stay { from: 0.0, until, ..stay })]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How much of a stay's bytes is there at an instant of the period, without those that come and go at it.
    fn present(stay: Stay, period: Time, at: Time) -> u64 {
        phases(stay, period)
            .into_iter()
            .flatten()
            .filter(|phase| phase.from < at && at < phase.until)
            .map(|phase| phase.bytes)
            .sum()
    }

    #[test]
    fn a_stay_is_there_once_for_each_sample_in_flight() {
        let stay = |from, until| Stay { bytes: 7, from, until };
        // 2.5 periods: two everywhere, and a third in the half that begins at 3 mod 2 = 1 and ends at 0.
        assert_eq!([0.5, 1.5].map(|at| present(stay(3.0, 8.0), 2.0, at)), [14, 21]);
        // It goes beyond the end of the period.
        assert_eq!([0.25, 0.75, 1.5].map(|at| present(stay(1.0, 2.5), 2.0, at)), [7, 0, 7]);
        // A whole number of periods has no rest, though rounding says so.
        assert_eq!([0.1, 0.2, 0.25].map(|at| present(stay(0.1, 0.1 + 0.3 * 3.0), 0.3, at)), [21, 21, 21]);
        // Empty stays are there at their instant.
        assert!(phases(stay(1.0, 1.0), 2.0)[1].is_some());
    }
}
