//! List passes: one op after the other is placed with insertion, as HEFT does it, and may be guided by a schedule.

use placebench_datasets::Time;

use super::problem::{Memory, Way};
use super::schedule::{Schedule, sorted_by};
use crate::placers::list::Timeline;

/// What a device is chosen by, beside when the op finishes there.
pub(super) enum Guide<'g> {
    /// Nothing.
    None,
    /// What an op still has ahead of it on each device, row-major by op.
    Table(&'g [Time]),
    /// A schedule before: its devices, and for each op the time from its start to the end.
    Former {
        devices: &'g [u32],
        tails: &'g [Time],
        /// What it costs to leave the former device.
        penalty: Time,
    },
}

/// Schedules the ops in the order given, a linear extension in this direction; the first op of a unit decides for all.
/// `None` if a unit finds no memory. With `insertion` an op that takes time may go into a gap. One that takes none never does: it
/// costs nothing anywhere, and in an early gap it would draw its unit and its successors to whichever device has one.
///
/// # Complexity
/// O(edges · devices + ops · devices · log ops).
pub(super) fn list_pass(way: Way<'_>, sequence: &[u32], guide: &Guide<'_>, insertion: bool) -> Option<Schedule> {
    let problem = way.problem;
    let count = problem.devices;
    // Without insertion no gap is long enough to be kept.
    let shortest = if insertion { f64::MIN_POSITIVE } else { f64::INFINITY };
    let slot = |timeline: &Timeline, ready: Time, exec: Time| {
        timeline.earliest(ready, if exec > 0.0 { exec } else { f64::INFINITY })
    };
    let mut timelines = vec![Timeline::new(shortest); count];
    let mut memory = Memory::new(problem);
    let mut placed: Vec<Option<u32>> = vec![None; problem.instance.units().count()];
    let mut devices = vec![0u32; problem.ops];
    let (mut starts, mut finish) = (vec![0.0; problem.ops], vec![0.0; problem.ops]);
    let (mut ready, mut exec, mut ahead) = (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
    for &op in sequence {
        let at = op as usize;
        let unit = problem.units[at];
        let device = match placed[unit as usize] {
            Some(device) => {
                let arrivals = way.before.of(at).iter().map(|&(before, bytes)| {
                    finish[before as usize] + way.from.time(devices[before as usize], device, bytes)
                });
                ready[device as usize] = arrivals.fold(0.0, Time::max);
                exec[device as usize] = problem.exec(at, device);
                device
            }
            None => {
                ready.fill(0.0);
                for &(before, bytes) in way.before.of(at) {
                    way.from.raise(devices[before as usize], finish[before as usize], bytes, &mut ready);
                }
                problem.exec_times(at, &mut exec);
                match guide {
                    Guide::None => {}
                    Guide::Table(table) => ahead.copy_from_slice(&table[at * count..(at + 1) * count]),
                    Guide::Former { devices: former, tails, penalty } => {
                        ahead.fill(0.0);
                        for &(after, bytes) in way.after.of(at) {
                            way.to.raise(former[after as usize], tails[after as usize], bytes, &mut ahead);
                        }
                        ahead.iter_mut().for_each(|ahead| *ahead += penalty);
                        ahead[former[at] as usize] -= penalty;
                    }
                }
                let mut best: Option<(Time, u32)> = None;
                for &device in problem.allowed(unit) {
                    let y = device as usize;
                    let least = ready[y] + exec[y] + ahead[y];
                    // No gap can make it better than this, and a tie goes to the lower id, which came before.
                    if best.is_some_and(|(best, _)| least >= best) || !memory.fits(problem, unit, device) {
                        continue;
                    }
                    let value = slot(&timelines[y], ready[y], exec[y]) + exec[y] + ahead[y];
                    if best.is_none_or(|(best, _)| value < best) {
                        best = Some((value, device));
                    }
                }
                let (_, device) = best?;
                memory.claim(problem, unit, device);
                placed[unit as usize] = Some(device);
                device
            }
        };
        let y = device as usize;
        let start = slot(&timelines[y], ready[y], exec[y]);
        starts[at] = timelines[y].reserve(start, exec[y]);
        finish[at] = starts[at] + exec[y];
        devices[at] = device;
    }
    let by_finish = sorted_by(sequence.iter().copied(), |op| finish[op as usize]);
    let order = sorted_by(by_finish.into_iter(), |op| starts[op as usize]);
    Some(Schedule::new(way, devices, order))
}

/// A list pass guided by a schedule: priority is the time from an op's start to the end in it, and a device costs what
/// is ahead of the op if all its successors stay where they are.
pub(super) fn informed_pass(way: Way<'_>, former: &Schedule) -> Option<Schedule> {
    /// What leaving the former device costs, as a share of the makespan.
    const PENALTY: f64 = 1e-4;
    let mut tails = vec![0.0; former.devices.len()];
    let makespan = way.reversed().finish_times(&former.devices, former.order.iter().rev().copied(), &mut tails);
    let sequence = sorted_by(former.order.iter().copied(), |op| -tails[op as usize]);
    let guide = Guide::Former { devices: &former.devices, tails: &tails, penalty: PENALTY * makespan };
    list_pass(way, &sequence, &guide, true)
}

/// The ops of this direction by the longest average path from them, longest first.
pub(super) fn by_upward_rank(way: Way<'_>, exec_averages: &[Time], topological: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0.0; way.problem.ops];
    for &op in topological.iter().rev() {
        let behind = way.after.of(op as usize).iter().map(|&(after, bytes)| {
            way.problem.average.latency + bytes * way.problem.average.inverse_rate + ranks[after as usize]
        });
        ranks[op as usize] = behind.fold(0.0, Time::max) + exec_averages[op as usize];
    }
    sorted_by(topological.iter().copied(), |op| -ranks[op as usize])
}

/// The optimistic cost table of PEFT in this direction: what is at least ahead of an op on each device, if transfers between
/// different devices cost their average. Also its mean over the devices allowed.
///
/// # Complexity
/// O(edges · devices).
pub(super) fn optimistic_costs(way: Way<'_>, topological: &[u32]) -> (Vec<Time>, Vec<Time>) {
    let problem = way.problem;
    let count = problem.devices;
    let mut table: Vec<Time> = vec![0.0; problem.ops * count];
    // The same with the op itself, infinite where it may not run, and the least of them.
    let mut through: Vec<Time> = vec![f64::INFINITY; problem.ops * count];
    let mut least = vec![0.0; problem.ops];
    let mut means = vec![0.0; problem.ops];
    for &op in topological.iter().rev() {
        let op = op as usize;
        let row = op * count..(op + 1) * count;
        for &(after, bytes) in way.after.of(op) {
            let after = after as usize;
            let elsewhere = least[after] + problem.average.latency + bytes * problem.average.inverse_rate;
            for (most, &here) in table[row.clone()].iter_mut().zip(&through[after * count..]) {
                let shorter = if here < elsewhere { here } else { elsewhere };
                *most = if shorter > *most { shorter } else { *most };
            }
        }
        let (table, through) = (&table[row.clone()], &mut through[row]);
        let allowed = problem.allowed(problem.units[op]);
        for &y in allowed {
            through[y as usize] = table[y as usize] + problem.exec(op, y);
        }
        least[op] = allowed.iter().map(|&y| through[y as usize]).fold(f64::INFINITY, Time::min);
        means[op] = allowed.iter().map(|&y| table[y as usize]).sum::<Time>() / allowed.len() as f64;
    }
    (table, means)
}

/// The ops of this direction, of those whose predecessors are taken the one of the largest rank first.
pub(super) fn most_urgent_first(way: Way<'_>, ranks: &[Time]) -> Vec<u32> {
    use std::collections::BinaryHeap;
    /// Ranks are finite: a total order.
    #[derive(PartialEq)]
    struct Urgent(Time, std::cmp::Reverse<u32>);
    impl Eq for Urgent {}
    impl PartialOrd for Urgent {
        fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
            Some(self.cmp(other))
        }
    }
    impl Ord for Urgent {
        fn cmp(&self, other: &Self) -> std::cmp::Ordering {
            self.0.total_cmp(&other.0).then(self.1.cmp(&other.1))
        }
    }
    let ops = way.problem.ops;
    let mut missing: Vec<u32> = (0..ops).map(|op| way.before.of(op).len() as u32).collect();
    let urgent = |op: u32| Urgent(ranks[op as usize], std::cmp::Reverse(op));
    let mut ready: BinaryHeap<Urgent> = (0..ops as u32).filter(|&op| missing[op as usize] == 0).map(urgent).collect();
    let mut sequence = Vec::with_capacity(ops);
    while let Some(Urgent(_, std::cmp::Reverse(op))) = ready.pop() {
        sequence.push(op);
        for &(after, _) in way.after.of(op as usize) {
            missing[after as usize] -= 1;
            if missing[after as usize] == 0 {
                ready.push(urgent(after));
            }
        }
    }
    sequence
}
