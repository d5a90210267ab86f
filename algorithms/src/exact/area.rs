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
}

/// Up to this number of devices, every set of them has weights.
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
        Self { weights, orders: [by_tail, by_head], start: unknown.clone(), tail: unknown }
    }

    /// Whether some set of unscheduled ops has more work than the devices can do before the cutoff, starting at the
    /// least starts of the set's ops and leaving room for their least tails. `start` is infinite where an op may not be.
    pub(super) fn exceeds(&mut self, problem: &Problem, state: &State, start: &[Time], cutoff: Time) -> bool {
        if cutoff == f64::INFINITY {
            return false;
        }
        let devices = problem.devices;
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
                        capacity += weights[device] * (cutoff - self.start[device] - self.tail[device]).max(0.0);
                    }
                    if work > capacity {
                        return true;
                    }
                }
            }
        }
        false
    }
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
