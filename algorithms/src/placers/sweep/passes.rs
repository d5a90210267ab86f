//! List passes: one op after the other is placed with insertion, as HEFT does it, and may be guided by a schedule.

use placebench_datasets::Time;

use super::problem::{Memory, Problem, Way};
use super::schedule::{Schedule, sorted_by};
use crate::StopToken;
use crate::placers::list::Timeline;

/// What a device is chosen by, beside when the op finishes there.
pub(super) enum Guide<'g> {
    /// Nothing.
    None,
    /// When all ops of the unit are done, one after the other behind the other units of several ops that are there.
    Groups,
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
    let length = |exec: Time| if exec > 0.0 { exec } else { f64::INFINITY };
    let slot = |timeline: &Timeline, ready: Time, exec: Time| timeline.earliest(ready, length(exec));
    let longest = problem.longest_exec();
    let mut timelines: Vec<Timeline> = match insertion {
        true => longest.iter().map(|&longest| Timeline::remembering(shortest, longest)).collect(),
        false => vec![Timeline::new(shortest); count],
    };
    // What groups take together on each device.
    let mut booked = vec![0.0; if matches!(guide, Guide::Groups) { count } else { 0 }];
    let mut promised = vec![0.0; count];
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
                    Guide::Groups => {
                        ahead.fill(0.0);
                        let members = problem.members(unit);
                        for &device in problem.allowed(unit).iter().filter(|_| members.len() > 1) {
                            let y = device as usize;
                            let all: Time = members.iter().map(|member| problem.exec(member.index(), device)).sum();
                            // What is booked, less what this op waits for anyway.
                            ahead[y] = (booked[y] - ready[y]).max(0.0) + all - exec[y];
                        }
                    }
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
                // No gap can make it better than what is promised. The best promise first: what comes of it rules out most others.
                let allowed = problem.allowed(unit);
                let mut first: Option<(Time, u32)> = None;
                for &device in allowed {
                    let y = device as usize;
                    promised[y] = match memory.fits(problem, unit, device) {
                        true => timelines[y].earliest_known(ready[y], length(exec[y])) + exec[y] + ahead[y],
                        false => f64::INFINITY,
                    };
                    if promised[y] < f64::INFINITY && first.is_none_or(|(least, _)| promised[y] < least) {
                        first = Some((promised[y], device));
                    }
                }
                let mut best: Option<(Time, u32)> = None;
                for &device in first.iter().map(|(_, device)| device).chain(allowed) {
                    let y = device as usize;
                    // A tie goes to the lower id.
                    if promised[y] == f64::INFINITY || best.is_some_and(|best| (promised[y], device) >= best) {
                        continue;
                    }
                    let value = slot(&timelines[y], ready[y], exec[y]) + exec[y] + ahead[y];
                    if best.is_none_or(|best| (value, device) < best) {
                        best = Some((value, device));
                    }
                }
                let (_, device) = best?;
                if let Some(booked) = booked.get_mut(device as usize)
                    && problem.members(unit).len() > 1
                {
                    let members = problem.members(unit).iter();
                    *booked += members.map(|member| problem.exec(member.index(), device)).sum::<Time>();
                }
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

/// Schedules the ops in the order given, a linear extension, where each device sends one tensor at a time and receives one at a
/// time, as the network model `one_port` has it: HEFT with ports (O. Beaumont, V. Boudet, Y. Robert, *The iso-level scheduling
/// heuristic for heterogeneous processors*, PDP 2002). Nothing is inserted. With a schedule before, a device costs what is ahead of the op
/// if all its successors stay where they are. `None` if a unit finds no memory, or it is time to
/// stop.
///
/// # Complexity
/// O(edges · (devices + log in-degree)).
pub(super) fn port_pass(
    problem: &Problem<'_>,
    sequence: &[u32],
    former: Option<(&[u32], &[Time])>,
    stop: &StopToken,
) -> Option<Schedule> {
    let way = problem.forward();
    let count = problem.devices;
    let (mut free, mut sends, mut receives) = (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
    let mut memory = Memory::new(problem);
    let mut placed: Vec<Option<u32>> = vec![None; problem.instance.units().count()];
    let mut devices = vec![0u32; problem.ops];
    let (mut starts, mut finish): (Vec<Time>, Vec<Time>) = (vec![0.0; problem.ops], vec![0.0; problem.ops]);
    // Copies of each op's outputs: where they are, how large, since when.
    let mut copies: Vec<Vec<(u32, f64, Time)>> = vec![Vec::new(); problem.ops];
    let mut inputs: Vec<(u32, f64)> = Vec::new();
    let mut ahead = vec![0.0; count];
    for (&op, nth) in sequence.iter().zip(0u32..) {
        if nth.is_multiple_of(1024) && stop.is_stopped() {
            return None;
        }
        let at = op as usize;
        let unit = problem.units[at];
        inputs.clear();
        inputs.extend_from_slice(way.before.of(at));
        inputs.sort_by(|a, b| {
            finish[a.0 as usize].total_cmp(&finish[b.0 as usize]).then(a.0.cmp(&b.0)).then(b.1.total_cmp(&a.1))
        });
        ahead.fill(0.0);
        if let Some((former, tails)) = former {
            for &(after, bytes) in way.after.of(at) {
                way.to.raise(former[after as usize], tails[after as usize], bytes, &mut ahead);
            }
        }
        // When the op could start on a device, and, if it is to, the transfers that it takes.
        let arrive = |device: u32, transfers: &mut dyn FnMut(u32, f64, Time)| {
            let (mut ready, mut port) = (0.0f64, receives[device as usize]);
            for &(before, bytes) in &inputs {
                let from = devices[before as usize];
                let done = finish[before as usize];
                if from == device {
                    ready = ready.max(done);
                } else if let Some(copy) =
                    copies[before as usize].iter().find(|copy| (copy.0, copy.1) == (device, bytes))
                {
                    ready = ready.max(copy.2);
                } else {
                    let time = way.from.time(from, device, bytes);
                    let arrival = done.max(port).max(if time > 0.0 { sends[from as usize] } else { 0.0 }) + time;
                    if time > 0.0 {
                        port = arrival;
                    }
                    transfers(before, bytes, arrival);
                    ready = ready.max(arrival);
                }
            }
            ready.max(free[device as usize])
        };
        let device = match placed[unit as usize] {
            Some(device) => device,
            None => {
                let mut best: Option<(Time, u32)> = None;
                for &device in problem.allowed(unit) {
                    if !memory.fits(problem, unit, device) {
                        continue;
                    }
                    let value = arrive(device, &mut |_, _, _| {}) + problem.exec(at, device) + ahead[device as usize];
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
        let mut made: Vec<(u32, f64, Time)> = Vec::new();
        starts[at] = arrive(device, &mut |before, bytes, arrival| made.push((before, bytes, arrival)));
        for (before, bytes, arrival) in made {
            let from = devices[before as usize];
            if way.from.time(from, device, bytes) > 0.0 {
                (sends[from as usize], receives[device as usize]) = (arrival, arrival);
            }
            copies[before as usize].push((device, bytes, arrival));
        }
        finish[at] = starts[at] + problem.exec(at, device);
        (devices[at], free[device as usize]) = (device, finish[at]);
    }
    let by_finish = sorted_by(sequence.iter().copied(), |op| finish[op as usize]);
    let order = sorted_by(by_finish.into_iter(), |op| starts[op as usize]);
    Some(Schedule::new(way, devices, order))
}

/// A [`port_pass`] guided by a schedule, with the priorities of [`informed_pass`] on links that are slower because transfers wait.
pub(super) fn informed_port_pass(
    problem: &Problem<'_>,
    slower: &Problem<'_>,
    former: &Schedule,
    stop: &StopToken,
) -> Option<Schedule> {
    let mut tails = vec![0.0; former.devices.len()];
    slower.backward().finish_times(&former.devices, former.order.iter().rev().copied(), &mut tails);
    let sequence = sorted_by(former.order.iter().copied(), |op| -tails[op as usize]);
    port_pass(problem, &sequence, Some((&former.devices, &tails)), stop)
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
