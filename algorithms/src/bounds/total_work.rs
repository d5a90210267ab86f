//! The work that there is, divided by the devices that can do it.

use placebench_datasets::{DeviceClass, DeviceId, Instance, Kind, KindSet, Time};

/// Halvings of the step in the search for weights; each costs at most twelve passes over the measured ops.
const REFINEMENTS: usize = 8;
/// With more classes than this, moving shares between each two would take too many passes.
const MOST_PAIRED: usize = 4;
/// Passes over the ops that are made instead.
const PASSES: u32 = 200;

/// The largest share of the work that some set of device kinds cannot avoid.
///
/// Where costs are operations, this is the largest, over the sets S of kinds, of the operations that can run only on S
/// divided by the sum of the speeds of the devices of S. Times given by class make machines unrelated; the bound is
/// then that of the same proof with weights found by a search.
///
/// # Proof
/// Let each device d have a weight y(d) ≥ 0, with a sum of 1. The makespan is at least the busy time of each device, hence
/// at least their weighted mean, which is the sum over the ops of y(d) · time(op, d) for the device d of the op, hence at
/// least the sum over the ops of the least y(d) · time(op, d) over all devices allowed to the op. (This is the dual of
/// the linear program that spreads ops over devices in fractions.) Any weights will do. Those that are proportional to
/// speed on the devices of S, and 0 elsewhere, give operations over speeds, since y(d) / speed(d) is then the same for all
/// of them and ops that may run elsewhere contribute 0. What a device adds to each op counts apart: the least of a sum is at
/// least the sum of the least y(d) · operations / speed(d) and the least y(d) · overhead(d). An op and a consumer of its tensor
/// that share no kind are on two devices: the least overhead of the send is then one more task of the first, and that of the
/// receive one of the second.
///
/// # Complexity
/// O(ops · classes + devices), with overheads of transfers O(edges + devices²) more; with given times O(ops · classes) for each
/// of about 200 weights tried at most.
pub fn total_work(instance: &Instance) -> Time {
    let by_speed = Work::new(instance, false).largest_share();
    match instance.classes().have_given_times() {
        true => by_speed.max(Work::new(instance, true).largest_share()),
        false => by_speed,
    }
}

/// What a share of the weight on each class of devices makes of the work.
struct Work {
    present: KindSet,
    /// The kind of each class.
    kinds: Vec<Kind>,
    /// For each class, a weight that makes all its devices together do operations as fast as they can.
    speed: Vec<f64>,
    /// For each class, the least weighted overhead of a device whose weights sum to 1.
    overhead: Vec<Time>,
    /// For each set of kinds, the operations of ops that may run on these and have no given time, and their number.
    operations: [(f64, f64); 8],
    /// Row-major by op with a given time, and by send and receive that cannot be avoided: its weighted time on each class;
    /// `None` where it may not run.
    given: Vec<Option<Time>>,
}

impl Work {
    /// The devices of a class get weights in proportion to their speeds, or equal ones, which suits given times, as these
    /// are the same on all of them.
    fn new(instance: &Instance, equal_weights: bool) -> Self {
        let (graph, cluster, units, classes) =
            (instance.graph(), instance.cluster(), instance.units(), instance.classes());
        let count = |class: &DeviceClass| class.devices.len() as f64;
        let speeds = |class: &DeviceClass| -> Vec<f64> {
            class.devices.iter().map(|&device| cluster.device(device).speed).collect()
        };
        let sum = |class: &DeviceClass| speeds(class).into_iter().sum::<f64>();
        let present: KindSet = cluster.devices().iter().map(|device| device.kind).collect();
        // Least weight over speed, and least weight, on the devices of a class whose weights sum to 1.
        let speed = |class: &DeviceClass| match equal_weights {
            true => count(class) * speeds(class).into_iter().fold(0.0, f64::max),
            false => sum(class),
        };
        let least_weight = |class: &DeviceClass| match equal_weights {
            true => 1.0 / count(class),
            false => speeds(class).into_iter().fold(f64::INFINITY, f64::min) / sum(class),
        };
        let overhead = |class: &DeviceClass| {
            let sum = sum(class);
            let weight = |device| if equal_weights { 1.0 / count(class) } else { cluster.device(device).speed / sum };
            let added = class.devices.iter().map(|&device| weight(device) * cluster.op_overhead(device));
            added.fold(f64::INFINITY, f64::min)
        };
        let least_weights: Vec<f64> = classes.all().iter().map(least_weight).collect();
        let mut work = Self {
            present,
            kinds: classes.all().iter().map(|class| class.kind).collect(),
            speed: classes.all().iter().map(speed).collect(),
            overhead: classes.all().iter().map(overhead).collect(),
            operations: [(0.0, 0.0); 8],
            given: Vec::new(),
        };
        for op in graph.op_ids() {
            let kinds = units.kinds(units.unit_of(op)).intersection(present);
            if classes.of_kinds(kinds).all(|(_, class)| class.given_time(op).is_none()) {
                let (operations, count) = &mut work.operations[usize::from(kinds.bits())];
                (*operations, *count) = (*operations + graph.ops(op), *count + 1.0);
            } else {
                let weighted = |(number, class): (usize, &DeviceClass)| {
                    let time = match class.given_time(op) {
                        Some(time) => time * least_weights[number],
                        None => graph.ops(op) / work.speed[number],
                    };
                    kinds.contains(class.kind).then(|| time + work.overhead[number])
                };
                let row = classes.all().iter().enumerate().map(weighted);
                work.given.extend(row);
            }
        }
        if cluster.has_transfer_overheads() {
            work.add_transfers(instance, &least_weights);
        }
        work
    }

    /// Adds, for each tensor with a consumer that cannot be where its producer is, the send and the receive to the first such
    /// consumer.
    fn add_transfers(&mut self, instance: &Instance, least_weights: &[f64]) {
        let (graph, cluster, units, classes) =
            (instance.graph(), instance.cluster(), instance.units(), instance.classes());
        // By class of the sender and of the receiver: the least of send and receive, each constant and for a byte.
        let mut least = vec![[f64::INFINITY; 4]; classes.count() * classes.count()];
        let ends = |from: DeviceId, to: DeviceId| {
            let [send, send_per_byte, receive, receive_per_byte] = cluster.transfer_overheads(from, to).values();
            [send + cluster.send_ops_time(from), send_per_byte, receive, receive_per_byte]
        };
        let pair = |from: usize, to: usize| from * classes.count() + to;
        for from in cluster.device_ids() {
            for to in cluster.device_ids().filter(|&to| to != from) {
                let of_classes = &mut least[pair(classes.number(from), classes.number(to))];
                of_classes.iter_mut().zip(ends(from, to)).for_each(|(least, time)| *least = least.min(time));
            }
        }
        let kinds_of = |op| units.kinds(units.unit_of(op)).intersection(self.present);
        for op in graph.op_ids() {
            let mut counted = Vec::new();
            for edge in graph.successors(op) {
                let (from, to) = (kinds_of(op), kinds_of(edge.op));
                if !from.intersection(to).is_empty() || counted.contains(&edge.tensor) {
                    continue;
                }
                counted.push(edge.tensor);
                let bytes = graph.edge_bytes(edge) as f64;
                let time = |pair: [f64; 4], end: usize| pair[end] + bytes * pair[end + 1];
                let send = |class: usize| {
                    let times = classes.of_kinds(to).map(|(other, _)| time(least[pair(class, other)], 0));
                    times.fold(f64::INFINITY, f64::min)
                };
                let receive = |class: usize| {
                    let times = classes.of_kinds(from).map(|(other, _)| time(least[pair(other, class)], 2));
                    times.fold(f64::INFINITY, f64::min)
                };
                let ends: [(KindSet, &dyn Fn(usize) -> Time); 2] = [(from, &send), (to, &receive)];
                for (kinds, time) in ends {
                    let weighted = |(class, &kind): (usize, &Kind)| {
                        kinds.contains(kind).then(|| time(class) * least_weights[class])
                    };
                    self.given.extend(self.kinds.iter().enumerate().map(weighted));
                }
            }
        }
    }

    /// The bound that a share of the weight on each class gives, and what it grows by with each share: the times of what the
    /// class does with these shares.
    fn bound(&self, shares: &[f64]) -> (Time, Vec<Time>) {
        let mut growth = vec![0.0; shares.len()];
        // Of the classes with their weighted times and their times, the least weighted.
        let mut least = |times: &mut dyn Iterator<Item = (usize, Time, Time)>, count: f64| {
            let least = times.reduce(|least, next| if next.1 < least.1 { next } else { least });
            let Some((class, weighted, time)) = least else { return 0.0 };
            growth[class] += count * time;
            count * weighted
        };
        let mut computed = 0.0;
        for (bits, &(operations, count)) in self.operations.iter().enumerate().filter(|(_, (_, count))| *count > 0.0) {
            let kinds = KindSet::from_bits(bits as u8).unwrap_or(KindSet::EMPTY);
            let classes = || (0..shares.len()).filter(|&class| kinds.contains(self.kinds[class]));
            let rate = |class| (class, shares[class] / self.speed[class], 1.0 / self.speed[class]);
            let overhead = |class| (class, shares[class] * self.overhead[class], self.overhead[class]);
            computed += least(&mut classes().map(rate), operations) + least(&mut classes().map(overhead), count);
        }
        let mut given = 0.0;
        for row in self.given.chunks_exact(shares.len()) {
            let times =
                row.iter().enumerate().filter_map(|(class, time)| Some((class, (*time)? * shares[class], (*time)?)));
            given += least(&mut { times }, 1.0);
        }
        (computed + given, growth)
    }

    /// The largest bound over shares in proportion to speed on each set of kinds; from there, if there are given times, a
    /// search for better shares.
    fn largest_share(&self) -> Time {
        let sets = (1..8).filter_map(KindSet::from_bits).filter(|set| set.intersection(self.present) == *set);
        let shares_of = |set: KindSet| {
            let speeds = || {
                self.kinds.iter().zip(&self.speed).map(|(&kind, &speed)| if set.contains(kind) { speed } else { 0.0 })
            };
            let total: f64 = speeds().sum();
            speeds().map(|speed| speed / total).collect::<Vec<f64>>()
        };
        let candidates = sets.map(shares_of).map(|shares| (self.bound(&shares).0, shares));
        let best = candidates.reduce(|best, next| if next.0 > best.0 { next } else { best });
        let Some((mut bound, mut shares)) = best else { return 0.0 };
        if self.given.is_empty() {
            return bound;
        }
        if shares.len() > MOST_PAIRED {
            return bound.max(self.reweighed(shares_of(self.present)));
        }
        for refinement in 1..=REFINEMENTS {
            self.improve(&mut bound, &mut shares, 0.5_f64.powi(refinement as i32));
        }
        bound
    }

    /// Moves shares from class to class.
    fn improve(&self, bound: &mut Time, shares: &mut Vec<f64>, step: f64) {
        for _ in 0..2 {
            for from in 0..shares.len() {
                for to in (0..shares.len()).filter(|&to| to != from) {
                    let mut moved = shares.clone();
                    let amount = step.min(moved[from]);
                    moved[from] -= amount;
                    moved[to] += amount;
                    let found = self.bound(&moved).0;
                    if found > *bound {
                        (*bound, *shares) = (found, moved);
                    }
                }
            }
        }
    }

    /// The largest bound of shares that grow where the bound grows with them: multiplicative weights (Arora, Hazan and Kale
    /// 2012, Theory of Computing 8). One pass moves all shares, so that many classes cost no more passes than few.
    fn reweighed(&self, mut shares: Vec<f64>) -> Time {
        let mut largest: Time = 0.0;
        for pass in 1..=PASSES {
            let (bound, growth) = self.bound(&shares);
            largest = largest.max(bound);
            let most = growth.iter().copied().fold(0.0, f64::max);
            if most == 0.0 {
                break;
            }
            let step = 1.0 / f64::from(pass).sqrt();
            shares.iter_mut().zip(&growth).for_each(|(share, growth)| *share *= libm::exp(step * growth / most));
            let total: f64 = shares.iter().sum();
            shares.iter_mut().for_each(|share| *share /= total);
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{Cluster, Device, GraphBuilder, Link, OpSpec};

    use super::*;

    fn cluster(devices: &[(Kind, f64)]) -> Cluster {
        let device = |(id, &(kind, speed)): (usize, &(Kind, f64))| Device {
            name: format!("d{id}"),
            kind,
            memory_bytes: None,
            speed,
        };
        Cluster::new(devices.iter().enumerate().map(device).collect(), |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap()
    }

    #[test]
    fn work_bound_to_a_kind_is_divided_by_the_speeds_of_that_kind_alone() {
        let mut builder = GraphBuilder::default();
        builder.add_op(OpSpec { kinds: KindSet::only(Kind::Cpu), ..OpSpec::cost(60.0) }, &[]);
        builder.add_op(OpSpec::cost(30.0), &[]);
        let cluster = cluster(&[(Kind::Cpu, 2.0), (Kind::Cpu, 4.0), (Kind::Gpu, 100.0)]);
        let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
        assert_eq!(total_work(&instance), 10.0);
    }

    #[test]
    fn measured_times_are_weighted_so_that_no_kind_can_take_all() {
        // Each op takes 6 on the CPU and 3 on one of the two GPUs, whatever their speeds: together they do 1/6 + 2/3
        // ops a unit, so 10 ops take 12.
        let mut builder = GraphBuilder::default();
        for _ in 0..10 {
            builder.add_op(OpSpec { times: &[("cpu", 6.0), ("gpu", 3.0)], ..OpSpec::cost(1e9) }, &[]);
        }
        let cluster = cluster(&[(Kind::Cpu, 1.0), (Kind::Gpu, 1.0), (Kind::Gpu, 50.0)]);
        let instance = Instance::new(builder.build().unwrap(), cluster).unwrap();
        let bound = total_work(&instance);
        assert!((11.9..=12.0 + 1e-9).contains(&bound), "{bound}");
    }
}
