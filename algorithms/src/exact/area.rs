//! Bounds from work and capacity: what has to be done in the time that all devices together have.

use placebench_datasets::Time;

use super::problem::Problem;
use super::state::State;

/// Weights of the devices, from the dual of the linear program that lets ops be divided among devices: an op adds at
/// least the least of weight × time over the devices where it may be, a device has weight × its time. Valid for any
/// weights; they are chosen once, for the whole instance.
#[derive(Clone, Debug)]
struct Weights(Vec<f64>);

/// The test of all weights on nested sets of ops.
#[derive(Debug)]
pub(super) struct Area {
    weights: Vec<Weights>,
    /// Ops by falling tails, and by falling least starts: prefixes are the sets tested.
    orders: [Vec<usize>; 2],
    start: Vec<Time>,
    tail: Vec<Time>,
    /// The most work that each device's memory has room for.
    room: Vec<Time>,
    /// By device, units by falling work there a byte of demand; empty without memory limits.
    by_density: Vec<Vec<usize>>,
    works: Vec<Time>,
}

/// Room in memory can be exactly what the ops need: what is more than that by so little is rounding.
const ROUNDING: f64 = 1e-12;

/// Up to so many devices every set of them has weights.
const MOST_DEVICES_FOR_ALL_SETS: usize = 4;

impl Area {
    pub(super) fn new(problem: &Problem) -> Self {
        let devices = problem.devices;
        let mut sets: Vec<u64> = if devices <= MOST_DEVICES_FOR_ALL_SETS {
            (1..1 << devices).collect()
        } else {
            let allowed = (0..problem.ops).map(|op| allowed(problem, op));
            let all = if devices == 64 { u64::MAX } else { (1 << devices) - 1 };
            allowed.chain((0..devices).map(|device| 1 << device)).chain([all]).collect()
        };
        sets.sort_unstable();
        sets.dedup();
        // The largest sets first: they cut off most.
        sets.sort_by_key(|set| std::cmp::Reverse(set.count_ones()));
        let weights = sets.into_iter().map(|set| Weights::of(problem, set)).collect();
        let mut by_tail: Vec<usize> = (0..problem.ops).collect();
        let least =
            |table: &[Time], op: usize| table[op * devices..][..devices].iter().copied().fold(f64::INFINITY, Time::min);
        by_tail.sort_by(|&a, &b| least(&problem.tail, b).total_cmp(&least(&problem.tail, a)));
        let by_head = (0..problem.ops).rev().collect();
        let unknown = vec![f64::INFINITY; devices];
        Self {
            weights,
            orders: [by_tail, by_head],
            start: unknown.clone(),
            tail: unknown.clone(),
            room: unknown,
            by_density: by_density(problem),
            works: Vec::new(),
        }
    }

    /// Whether some set of unscheduled ops has more work than the devices can do before the cutoff, starting at the
    /// least starts of the set's ops and leaving room for their least tails. `start` is infinite where an op may not be.
    pub(super) fn exceeds(&mut self, problem: &Problem, state: &State, start: &[Time], cutoff: Time) -> bool {
        if cutoff == f64::INFINITY {
            return false;
        }
        let devices = problem.devices;
        self.find_room(problem, state, start);
        for Weights(weights) in &self.weights {
            for order in &self.orders {
                let mut work = 0.0;
                self.start.fill(f64::INFINITY);
                self.tail.fill(f64::INFINITY);
                for &op in order.iter().filter(|&&op| !state.is_done(op)) {
                    let own = op * devices..(op + 1) * devices;
                    let (starts, times) = (&start[own.clone()], &problem.time[own.clone()]);
                    let mut least = f64::INFINITY;
                    for ((&weight, &time), &start) in weights.iter().zip(times).zip(starts) {
                        if start < f64::INFINITY {
                            least = least.min(weight * time);
                        }
                    }
                    if least <= 0.0 {
                        continue;
                    }
                    work += least;
                    let mut capacity = 0.0;
                    for (device, &tail) in problem.tail[own].iter().enumerate() {
                        if starts[device] < f64::INFINITY {
                            self.start[device] = self.start[device].min(starts[device]);
                            self.tail[device] = self.tail[device].min(tail);
                        }
                        let time = (cutoff - self.start[device] - self.tail[device]).max(0.0);
                        // A weight of 0 times unlimited room would be no number.
                        if weights[device] > 0.0 {
                            capacity += weights[device] * time.min(self.room[device]);
                        }
                    }
                    if work > capacity * (1.0 + ROUNDING) {
                        return true;
                    }
                }
            }
        }
        false
    }

    /// The most work that each device can get: that of the units that are there, and of those without device as many as its
    /// memory has room for, filled up by fractions of units, or by the largest if only their number is limited.
    fn find_room(&mut self, problem: &Problem, state: &State, start: &[Time]) {
        let Some(memory) = &problem.memory else { return };
        let left = |unit: usize| {
            let members = problem.members[unit] & !state.done;
            (0..problem.ops).filter(move |op| members >> op & 1 == 1)
        };
        for (device, order) in self.by_density.iter().enumerate() {
            let Some(capacity) = memory.capacity[device] else { continue };
            let work = |unit: usize| left(unit).map(|op| problem.time(op, device)).sum::<Time>();
            let mut bytes_left = capacity.saturating_sub(1).saturating_sub(state.used[device]);
            let mut demand_left = bytes_left;
            let (mut fixed, mut filled) = (0.0, 0.0);
            self.works.clear();
            let mut demands = Vec::new();
            for &unit in order {
                match state.device_of_unit[unit] {
                    Some(home) if home == device => fixed += work(unit),
                    Some(_) => {}
                    None if left(unit).any(|op| start[op * problem.devices + device] == f64::INFINITY) => {}
                    None => {
                        let (work, demand) = (work(unit), memory.demand[unit]);
                        self.works.push(work);
                        demands.push(demand);
                        if demand <= bytes_left {
                            bytes_left -= demand;
                            filled += work;
                        } else {
                            filled += work * (bytes_left as f64 / demand as f64);
                            bytes_left = 0;
                        }
                    }
                }
            }
            demands.sort_unstable();
            let fits = |&&demand: &&u64| {
                let fits = demand <= demand_left;
                demand_left = if fits { demand_left - demand } else { 0 };
                fits
            };
            let number = demands.iter().take_while(fits).count();
            self.works.sort_by(|a, b| b.total_cmp(a));
            let largest: Time = self.works.iter().take(number).sum();
            self.room[device] = fixed + filled.min(largest);
        }
    }
}

/// For each device, the units by falling work there a byte of demand, those that demand nothing first.
fn by_density(problem: &Problem) -> Vec<Vec<usize>> {
    let Some(memory) = &problem.memory else { return Vec::new() };
    let order = |device: usize| {
        let density = |unit: usize| {
            let members = (0..problem.ops).filter(|&op| problem.unit[op] == unit);
            let work: Time = members.map(|op| problem.time(op, device)).sum();
            match memory.demand[unit] {
                0 => f64::INFINITY,
                demand => work / demand as f64,
            }
        };
        let mut units: Vec<usize> = (0..problem.members.len()).collect();
        units.sort_by(|&a, &b| density(b).total_cmp(&density(a)).then(a.cmp(&b)));
        units
    };
    (0..problem.devices).map(order).collect()
}

fn allowed(problem: &Problem, op: usize) -> u64 {
    let devices = (0..problem.devices).filter(|&device| problem.time(op, device) < f64::INFINITY);
    devices.fold(0, |set, device| set | 1 << device)
}

impl Weights {
    /// Weights for the ops that can run on these devices only, or for all ops if there is none: more weight to a device, step by
    /// step, as long as the ops prefer it.
    fn of(problem: &Problem, set: u64) -> Self {
        const STEPS: usize = 200;
        let count = f64::from(set.count_ones());
        let is_in = |device: usize| set >> device & 1 == 1;
        let mut weights: Vec<f64> =
            (0..problem.devices).map(|device| if is_in(device) { 1.0 / count } else { 0.0 }).collect();
        let bound: Vec<usize> = (0..problem.ops).filter(|&op| allowed(problem, op) & !set == 0).collect();
        let ops: Vec<usize> = if bound.is_empty() { (0..problem.ops).collect() } else { bound };
        let mut best = (f64::NEG_INFINITY, weights.clone());
        for step in 0..STEPS {
            let mut load = vec![0.0; problem.devices];
            let mut total = 0.0;
            for &op in &ops {
                let devices = (0..problem.devices).filter(|&device| is_in(device));
                let cost = |device: usize| weights[device] * problem.time(op, device);
                if let Some(device) = devices.min_by(|&a, &b| cost(a).total_cmp(&cost(b))) {
                    if problem.time(op, device) == f64::INFINITY {
                        continue;
                    }
                    total += cost(device);
                    load[device] += problem.time(op, device);
                }
            }
            if total > best.0 {
                best = (total, weights.clone());
            }
            let mean = load.iter().sum::<f64>() / count;
            if mean <= 0.0 {
                break;
            }
            let rate = 0.5 / (1.0 + step as f64 / 10.0);
            for device in (0..problem.devices).filter(|&device| is_in(device)) {
                weights[device] *= (rate * (load[device] / mean - 1.0)).clamp(-1.0, 1.0).exp();
            }
            let sum: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|weight| *weight /= sum);
        }
        Self(best.1)
    }
}
